"""What pins CUDA in the settings of frameworks: placement, accelerators, configurations."""
