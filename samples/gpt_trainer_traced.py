"""What `neuronport graph` and `neuronport compile` trace of gpt_trainer: its model as the defaults of
config.py have it, on one batch."""

import sys
from pathlib import Path

TRAINER = Path(__file__).parent / "gpt_trainer"
sys.path.insert(0, str(TRAINER))

import torch
from config import TrainConfig
from data import Vocabulary
from model import GPT, GPTConfig

CFG = TrainConfig()
CHARACTERS = len(Vocabulary((TRAINER / CFG.corpus).read_text()))


def model():
    return GPT(
        GPTConfig(CHARACTERS, CFG.block_size, CFG.n_layer, CFG.n_head, CFG.n_embd, bias=CFG.bias)
    )


def inputs():
    tokens = torch.randint(0, CHARACTERS, (CFG.batch_size, CFG.block_size))
    return {"idx": tokens, "targets": tokens}
