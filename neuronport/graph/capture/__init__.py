"""Capturing a model. Runs in a child process; imports torch and the user's code.

Nothing in here imports anything of neuronport outside this package: the child may run in the
user's own environment, which has none of neuronport's dependencies.
"""
