"""``model.generate(…)`` with the default cache, which grows by one token a step."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE
from neuronport.readers.python.facts import Event
from neuronport.source.view import ModuleView

METHODS = ("generate",)
EVENTS = ("method",)
_TELLING = frozenset(
    [
        "max_new_tokens",
        "min_new_tokens",
        "num_beams",
        "do_sample",
        "top_k",
        "top_p",
        "temperature",
        "pad_token_id",
        "eos_token_id",
        "repetition_penalty",
        "generation_config",
        "num_return_sequences",
        "attention_mask",
        "use_cache",
        "logits_processor",
        "stopping_criteria",
    ]
)
"""Arguments that tell the method of transformers from others of its name."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name != "generate":
        return
    given = {key for key, _ in event.kwargs}
    if not given & _TELLING and not ("max_length" in given and "input_ids" in given):
        return
    if "cache_implementation" in given:
        return
    if any(key == "use_cache" and view.constant(v) == (True, False) for key, v in event.kwargs):
        return
    known = view.kind(event.value)
    if known.kind not in ("module", "unknown"):
        return
    unsure = None in given or "generation_config" in given or "past_key_values" in given
    yield Hit(
        event.span,
        "generate: the default cache grows by one token a step, each a new shape",
        POSSIBLE if unsure else LIKELY,
    )
