"""Operators that the device does not run, or runs badly."""
