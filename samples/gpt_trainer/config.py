"""Everything a run can be told, in one dataclass and on the command line."""

import argparse
import dataclasses
from dataclasses import dataclass

import torch


@dataclass
class TrainConfig:
    # data
    corpus: str = "data/corpus.txt"
    block_size: int = 64
    batch_size: int = 16  # per GPU
    num_workers: int = 0
    val_fraction: float = 0.1

    # model
    n_layer: int = 4
    n_head: int = 4
    n_embd: int = 128
    dropout: float = 0.0
    bias: bool = False

    # optimisation
    steps: int = 500
    grad_accum: int = 1
    lr: float = 1e-3
    min_lr: float = 1e-4
    warmup: int = 10
    weight_decay: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.95
    grad_clip: float = 1.0

    # system
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    dtype: str = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float16"
    compile: bool = False
    compile_mode: str = "max-autotune"
    flash: bool = True
    seed: int = 1337
    deterministic: bool = False
    cpu_threads: int = 1  # with --device cpu; the model is too small to gain from more

    # logging and checkpoints
    out_dir: str = "out"
    log_every: int = 1
    eval_every: int = 100
    eval_batches: int = 8
    save_every: int = 250
    resume: bool = False
    profile: bool = False


def parse_config(argv=None) -> TrainConfig:
    parser = argparse.ArgumentParser(description="Train a small GPT on a text file.")
    for field in dataclasses.fields(TrainConfig):
        flag = "--" + field.name.replace("_", "-")
        if field.type is bool or field.type == "bool":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default)
        else:
            parser.add_argument(flag, type=type(field.default), default=field.default)
    return TrainConfig(**vars(parser.parse_args(argv)))
