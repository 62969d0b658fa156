"""Naming, choosing, moving to, gating on and defaulting to CUDA."""
