"""torch.compile and what stands in code that is compiled."""
