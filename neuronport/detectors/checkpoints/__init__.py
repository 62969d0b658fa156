"""Saving and loading: where tensors come back to, what a file depends on."""
