"""Checkpoints: read without running anything that is in them, written again, loaded elsewhere.

A pickle is a program. Nothing here hands one to Python's unpickler: its opcodes are interpreted, and
only those names that build tensors mean something (``pickles.py``).
"""
