import argparse
import torch

backend = "nccl" if torch.cuda.is_available() else "gloo"
parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="nccl", help="nccl or gloo")
