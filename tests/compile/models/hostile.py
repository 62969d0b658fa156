"""Models whose code does what code can do to the process that runs it."""

import ctypes
import os
import sys
import time

import torch
from torch import nn


def hangs():
    time.sleep(600)


def allocates():
    kept = []
    while True:
        kept.append(torch.ones(16 << 20))


def ends():
    os._exit(0)


def exits():
    sys.exit("no model today")


def crashes():
    ctypes.string_at(0)


def raises():
    raise RuntimeError("\x1b[31mred\x1b[0m \u202e and more")


class Loud(nn.Module):
    def forward(self, x):
        while True:
            os.write(1, b"x" * 65536)


def floods():
    return Loud()
