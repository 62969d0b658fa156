"""Libraries and compiled extensions made for CUDA."""
