"""``model.generate(…)`` with the default cache, which grows by one token a step; loops that do it
by hand: ``out = model(ids, past_key_values=past)``, ``past = out.past_key_values``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import LIKELY, POSSIBLE, local_name
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("generate",)
KEYWORDS = ("past_key_values",)
EVENTS = ("method", "pair")
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
_EMBEDDING = frozenset(["images", "inputs_embeds", "pixel_values", "pixel_values_videos"])
"""Arguments that tell that the prompt is as long as what embeds it makes it."""
_EMBEDDED = (
    "a cache of fixed length, and a fixed total length of inputs_embeds with a mask: "
    'cache_implementation="static" where the model has one (most decoder-only ones from transformers '
    "4.38); else its decoder compiled for fixed lengths, which an inference server for Neuron does"
)
_BY_HAND = (
    "a cache of the longest length made before the loop, given in every step: "
    "StaticCache(config=model.config, max_cache_len=N) with cache_position where the model is one of "
    "transformers, else keys and values written at the position by index_copy_ and a mask of N"
)
_WRAPPERS = frozenset(["torch.compile", "torch.nn.DataParallel"])
_MAX_DEPTH = 4

_PACKAGES = ("transformers", "peft", "optimum", "trl", "unsloth")
"""Whose models generate this way; elsewhere the method is somebody's own."""


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.kind == "pair":
        yield from _passed_back(event, view)
        return
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
    if known.kind not in ("module", "unknown") or _of_the_project(event.value, view, 0):
        return
    unsure = None in given or "generation_config" in given or "past_key_values" in given
    unsure = unsure or not any(view.imports(package) for package in _PACKAGES)
    # The method of transformers takes the prompt alone by position: others are somebody's own.
    unsure = unsure or len(event.args or ()) > 1
    yield Hit(
        event.span,
        "generate: the default cache grows by one token a step, each a new shape",
        POSSIBLE if unsure else LIKELY,
        replacement=_EMBEDDED if given & _EMBEDDING else "",
    )


def _of_the_project(value: Value, view: ModuleView, depth: int) -> bool:
    """Whether the model is of a class of the tree with a ``generate`` of its own: what that keeps
    from step to step is its business."""
    if depth > _MAX_DEPTH:
        return False
    for atom in view.follow(value):
        made = atom.value
        if made is None or made[0] != "call":
            continue
        name = view.name(made[1]).removesuffix(".from_pretrained")
        if name in _WRAPPERS and made[2] and _of_the_project(made[2][0], view, depth + 1):
            return True
        if view.index.class_(name) and view.index.function(f"{name}.generate"):
            return True
    return False


def _passed_back(event: Event, view: ModuleView) -> Iterator[Hit]:
    """A cache that a model is given in a loop, and that comes out of a model there."""
    if event.name not in KEYWORDS or event.role[0] != "keyword":
        return
    scope, loops = view.ctx(event).scope, view.ctx(event).loops
    name = local_name(view, event.value)
    if not name or not any(view.facts.loops[i].kind in ("for", "while") for i in loops):
        return
    written = [d.value for d in view.summary.definitions if d.scope == scope and d.name == name]
    if any(v is not None and v[0] == "call" for v in written):
        # Made by the program: a cache of fixed length, perhaps.
        return
    if any(v is not None and v[0] == "attr" and v[2] in KEYWORDS for v in written):
        yield Hit(
            event.span,
            f"{name} comes back one token longer in every step: a new shape",
            LIKELY,
            replacement=_BY_HAND,
        )
