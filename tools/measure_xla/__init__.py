"""What torch_xla does with each operator, measured call by call. See README.md."""
