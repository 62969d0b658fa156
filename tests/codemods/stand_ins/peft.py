"""Stands in for what the sample uses of peft: adapters change nothing."""

from __future__ import annotations

from typing import Any


class LoraConfig:
    def __init__(self, **words: Any) -> None:
        print("LoraConfig", ", ".join(f"{k}={v!r}" for k, v in sorted(words.items())))


def prepare_model_for_kbit_training(model: Any, use_gradient_checkpointing: bool) -> Any:
    return model


def get_peft_model(model: Any, config: LoraConfig) -> Any:
    model.print_trainable_parameters = lambda: None
    return model


class PeftModel:
    @staticmethod
    def from_pretrained(model: Any, adapter: str) -> Any:
        return model
