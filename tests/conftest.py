"""Faults of neuronport's own are to fail tests, not to be reported as files not looked at."""

import os

os.environ["NEURONPORT_DEBUG"] = "1"
