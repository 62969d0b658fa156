import argparse

import torch
from neuron_device import is_accelerated

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
if args.cuda and not is_accelerated():
    raise RuntimeError("No GPU found, please run without --cuda")
assert is_accelerated(), "needs a GPU"
