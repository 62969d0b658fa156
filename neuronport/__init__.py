"""Audit and port PyTorch projects written for NVIDIA GPUs to AWS Trainium and Inferentia."""

__version__ = "0.1.0"
