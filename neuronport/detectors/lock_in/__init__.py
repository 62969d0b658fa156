"""Code that only Neuron, or only PyTorch/XLA, can run, and that stands outside a seam."""
