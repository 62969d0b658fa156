import argparse
import torch
from neuron_device import distributed_backend

backend = distributed_backend()
parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default=distributed_backend(), help="nccl or gloo")
