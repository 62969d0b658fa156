import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
if args.cuda and not torch.cuda.is_available():
    raise RuntimeError("No GPU found, please run without --cuda")
assert torch.cuda.is_available(), "needs a GPU"
