"""Rules about the runtime: environment, memory, random numbers, errors, starting processes."""
