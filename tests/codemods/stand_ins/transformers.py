"""Stands in for what the sample uses of transformers: small, on the CPU, and it says what it is given."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch import nn


def say(what: str, words: dict[str, Any]) -> None:
    print(what, ", ".join(f"{k}={v!r}" for k, v in sorted(words.items())))


def set_seed(seed: int) -> None:
    torch.manual_seed(seed)


class BitsAndBytesConfig:
    def __init__(self, **words: Any) -> None:
        say("BitsAndBytesConfig", words)

    def __repr__(self) -> str:
        return "BitsAndBytesConfig()"


class Encoded(dict[str, Any]):
    def __getattr__(self, name: str) -> Any:
        return self[name]


class AutoTokenizer:
    """A token is a character."""

    pad_token: str | None = None
    pad_token_id = eos_token_id = 3
    eos_token = "\x03"
    padding_side = "left"

    @classmethod
    def from_pretrained(cls, name: str, use_fast: bool = False) -> AutoTokenizer:
        return cls()

    def __call__(
        self, text: str, truncation: bool = False, max_length: int = 1024, return_tensors: str = ""
    ) -> Encoded:
        ids = [min(ord(c), 127) for c in text][:max_length]
        return Encoded(input_ids=torch.tensor([ids]) if return_tensors else ids)

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool = False) -> str:
        return "".join(chr(int(i)) for i in ids)

    def save_pretrained(self, folder: str) -> None:
        pass


class AutoModelForCausalLM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.set_num_threads(1)
        self.config = types.SimpleNamespace(use_cache=True)
        self.embed = nn.Embedding(128, 16)
        self.q_proj = nn.Linear(16, 16)
        self.lm_head = nn.Linear(16, 128)

    @classmethod
    def from_pretrained(cls, name: str, **words: Any) -> AutoModelForCausalLM:
        say("from_pretrained", words)
        return cls()

    def forward(
        self,
        input_ids: torch.Tensor,
        labels: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        **words: Any,
    ) -> Any:
        hidden = torch.tanh(self.q_proj(self.embed(input_ids)))
        logits = self.lm_head(hidden)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return types.SimpleNamespace(logits=logits, loss=loss, past_key_values=None)

    def save_pretrained(self, folder: str) -> None:
        pass


class TrainerCallback:
    pass


class TrainingArguments:
    def __init__(self, **words: Any) -> None:
        words = {"bf16": False, **words}
        say("TrainingArguments", words)
        self.words = words


class Trainer:
    def __init__(
        self,
        model: nn.Module,
        args: TrainingArguments,
        train_dataset: Any,
        data_collator: Any,
        callbacks: list[Any],
    ) -> None:
        self.model, self.args, self.callbacks = model, args, callbacks
        self.data, self.collator = train_dataset, data_collator

    def train(self) -> None:
        size = self.args.words["per_device_train_batch_size"]
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        for step in range(len(self.data) // size):
            rows = [self.data[i] for i in range(step * size, (step + 1) * size)]
            loss = self.model(**self.collator(rows)).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = types.SimpleNamespace(global_step=step)
            for callback in self.callbacks:
                callback.on_log(self.args, state, None, logs={})
