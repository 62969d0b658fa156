"""A Hugging Face configuration: a folder or ``config.json``, built without weights.

The task is the first class that ``architectures`` names, else the configuration's model with a
head for language. Inputs are those the configuration calls for: tokens, pixels, audio features.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from neuronport.graph.capture import containers
from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources import _given as given
from neuronport.graph.capture.sources._transformers import parameters, tensors

ORDER = 25
_SPOKEN = 4
"""Tokens that are said in a recording: fewer than it has frames."""


def _config_file(request: Request) -> str:
    if os.path.isdir(request.named):
        return os.path.join(request.named, "config.json")
    return request.named


def accepts(request: Request) -> bool:
    file = _config_file(request)
    if not (file.endswith(".json") and os.path.isfile(file)):
        return False
    with open(file, encoding="utf-8") as stream:
        data = json.load(stream)
    return isinstance(data, dict) and ("model_type" in data or "architectures" in data)


def model(request: Request) -> Model:
    try:
        import transformers
    except ImportError:
        raise NamingError("a transformers configuration needs the package transformers") from None
    with open(_config_file(request), encoding="utf-8") as stream:
        data = json.load(stream)
    data = given.overridden(data, request)
    kind = data.get("model_type", "")
    if not isinstance(kind, str):
        raise NamingError(f"model_type is {kind!r}, no name")
    names = data.get("architectures") or []
    if not (isinstance(names, list) and all(isinstance(n, str) for n in names)):
        raise NamingError(f"architectures is {names!r}, no list of class names")
    if kind not in transformers.models.auto.configuration_auto.CONFIG_MAPPING:
        raise NamingError(
            f"transformers {transformers.__version__} has no model type {kind!r}: name the"
            " interpreter of an environment that has it (--python)"
        )
    try:
        # pops what names the class; a copy keeps the rest as it is
        config = transformers.AutoConfig.for_model(**{**data, "model_type": kind})
    except (ValueError, KeyError) as error:
        raise NamingError(f"transformers {transformers.__version__}: {error}") from None
    return of_config(config, request)


def of_config(config: Any, request: Request, cls: Any = None) -> Model:
    """The model of a configuration object."""
    chosen = cls or _class(config)
    dtype = getattr(torch, request.dtype, None) if request.dtype else _dtype(config)
    if not isinstance(dtype, torch.dtype):
        raise NamingError(f"torch has no dtype {request.dtype!r}")

    if request.dtype:
        config.dtype = dtype

    def build() -> torch.nn.Module:
        previous = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            built = (
                chosen._from_config(config) if hasattr(chosen, "_from_config") else chosen(config)
            )
        finally:
            torch.set_default_dtype(previous)
        assert isinstance(built, torch.nn.Module)
        return built

    def sets(module: torch.nn.Module) -> Sequence[InputSet]:
        if request.inputs:
            return given.written(request)
        return _inputs(module, config, request)

    def training(module: torch.nn.Module) -> Sequence[InputSet]:
        if request.inputs:
            return given.written(request)
        return _training(module, config, request)

    return Model(f"{config.model_type}: {chosen.__name__}", "transformers", build, sets, training)


def _class(config: Any) -> Any:
    import transformers

    for name in config.architectures or ():
        found = getattr(transformers, name, None)
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            return found
    # the part that handles text of what handles images, too, has a configuration of its own
    whole = ("AutoModelForImageTextToText",) if hasattr(config, "vision_config") else ()
    for auto in (
        *whole,
        "AutoModelForCausalLM",
        "AutoModelForSeq2SeqLM",
        "AutoModelForImageTextToText",
        "AutoModelForMaskedLM",
        "AutoModelForImageClassification",
        "AutoModelForSpeechSeq2Seq",
        "AutoModelForCTC",
        "AutoModel",
    ):
        mapping = getattr(transformers, auto)._model_mapping
        if type(config) in mapping:
            found = mapping[type(config)]
            return found[0] if isinstance(found, tuple) else found
    raise NamingError(f"transformers has no model for {type(config).__name__}")


def _dtype(config: Any) -> torch.dtype:
    found = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    if isinstance(found, str):
        found = getattr(torch, found.removeprefix("torch."), None)
    return found if isinstance(found, torch.dtype) else torch.float32


# -- inputs -----------------------------------------------------------------------------------------


def _inputs(module: torch.nn.Module, config: Any, request: Request) -> list[InputSet]:
    given_ = tensors(module, config, request)
    if "input_ids" in given_ and _generates(module, config):
        return _generation(module, request, given_)
    if "use_cache" in parameters(module):
        given_["use_cache"] = False
    return [InputSet("forward", (), given_)]


def _training(module: torch.nn.Module, config: Any, request: Request) -> list[InputSet]:
    given_ = tensors(module, config, request)
    names = parameters(module)
    if "use_cache" in names:
        given_["use_cache"] = False
    if "labels" in names:
        labels = _labels(module, config, request, given_)
        if labels is not None:
            given_["labels"] = labels
    return [InputSet("training", (), given_, training=True)]


def _cache_name(module: torch.nn.Module) -> str:
    """What a model calls its KV cache; empty: it takes none."""
    names = parameters(module)
    return next((n for n in ("past_key_values", "cache") if n in names), "")


def _labels(
    module: torch.nn.Module, config: Any, request: Request, given_: dict[str, Any]
) -> Any | None:
    """``None``: what they are like is not known; the loss is then made of the outputs, and said."""
    name = type(module).__name__
    if "SequenceClassification" in name or "ImageClassification" in name:
        return torch.randint(0, config.num_labels, (request.batch,))
    if name.endswith("ForCTC"):
        return torch.randint(1, config.vocab_size, (request.batch, _SPOKEN))
    like = given_.get("decoder_input_ids", given_.get("input_ids"))
    return None if like is None else like.clone()


def _generates(module: torch.nn.Module, config: Any) -> bool:
    import transformers

    if getattr(config, "is_encoder_decoder", False):
        return False
    mapping = transformers.AutoModelForCausalLM._model_mapping
    return (
        type(config) in mapping
        and _cache_name(module) != ""
        and hasattr(module, "generate")
        and module.__class__.__name__ == getattr(mapping[type(config)], "__name__", "")
    )


def _generation(
    module: torch.nn.Module, request: Request, given_: dict[str, Any]
) -> list[InputSet]:
    """A prefill, and one decode step over the cache that it leaves, whatever its form."""
    name = _cache_name(module)
    _caches()

    def decode(output: Any) -> InputSet | None:
        cache = getattr(output, "past_key_values", None) or getattr(output, name, None)
        if cache is None:
            return None
        if request.cache:
            cache = containers.mapped(cache, _resized(request.sequence, request.cache))
        step = {"input_ids": given_["input_ids"][:, :1], name: cache, "use_cache": True}
        return InputSet("decode", (), step, cache=True)

    return [InputSet("prefill", (), {**given_, "use_cache": True}, following=decode)]


def _caches() -> None:
    """Tells torch how to take caches apart before it finds out that it cannot, at the end of a
    whole trace."""
    from transformers import cache_utils

    for value in list(vars(cache_utils).values()):
        if isinstance(value, type) and issubclass(value, cache_utils.Cache):
            containers.known(value)


def _resized(old: int, new: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """What a cache of ``old`` tokens would hold for ``new`` ones."""

    def resize(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < 3 or tensor.shape[-2] != old:
            return tensor
        return tensor.new_zeros((*tensor.shape[:-2], new, tensor.shape[-1]))

    return resize
