"""What a model of transformers takes, from its configuration and the names of its arguments."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from neuronport.graph.capture.model import NamingError
from neuronport.graph.capture.sources import Request

_FRAMES = 64
"""Of sound, where a configuration names no length."""
_BINS = 128
"""Of a spectrogram, where a configuration names none."""
_SAMPLES = 16000
_SIDE = 4
"""Patches of an image that comes as a list of them, along an edge."""
_WHOLE_GRIDS = 2
"""How many patches are merged into one, along an edge, by most models that merge."""


def parameters(module: torch.nn.Module) -> set[str]:
    return set(inspect.signature(module.forward).parameters)


def text_of(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def main_input(module: torch.nn.Module) -> str:
    """What a model is about; a model that asks for nothing by that name, its first argument."""
    named = str(getattr(module, "main_input_name", "input_ids"))
    every = list(inspect.signature(module.forward).parameters.values())
    if named in {p.name for p in every} or not every:
        return named
    first = every[0]
    return first.name if first.default is first.empty and first.name != "args" else named


def tensors(module: torch.nn.Module, config: Any, request: Request) -> dict[str, Any]:
    """The arguments of a call.

    Raises NamingError: what it is about is nothing that a configuration describes.
    """
    main = main_input(module)
    names = parameters(module)
    if "grid_thw" in names:
        found = _listed(config, main, names)
    elif "spatial_shapes" in names and main == "pixel_values":
        found = _sized(config, request)
    elif main == "pixel_values":
        found = _pixels(module, config, request, names)
    elif main == "pixel_values_videos":
        found = {main: _video(config, request)}
    elif main == "input_features":
        found = _features(config, request, names)
    elif main == "input_values":
        found = {main: _sound(config, request)}
    elif main == "past_values":
        length = getattr(config, "context_length", None) or request.sequence
        width = int(getattr(config, "num_input_channels", 0) or getattr(config, "input_size", 1))
        found = {main: torch.randn(request.batch, length, width)}
    elif main == "input_ids":
        found = _tokens(config, request, names)
    else:
        raise NamingError(f"no inputs for a main input {main!r}: give --input NAME=EXPRESSION")
    for name in _required(module) - set(found):
        made = _other(name, config, request)
        if made is not None:
            found[name] = made
    return found


def _required(module: torch.nn.Module) -> set[str]:
    every = inspect.signature(module.forward).parameters.values()
    return {p.name for p in every if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}


def _other(name: str, config: Any, request: Request) -> torch.Tensor | None:
    """What a model asks for besides what it is about; ``None``: it is not known."""
    if name in ("input_ids", "decoder_input_ids"):
        return _ids(config, request)
    if name == "attention_mask":
        return torch.ones(request.batch, request.sequence, dtype=torch.long)
    if name == "pixel_values":
        return _image(_part(config, "vision_config"), request)
    if name == "pixel_values_videos":
        return _video(_part(config, "video_config", "vision_config"), request)
    if name == "input_values":
        return _sound(_part(config, "audio_config"), request)
    return None


def _part(config: Any, *names: str) -> Any:
    return next((found for n in names if (found := getattr(config, n, None)) is not None), config)


def _ids(config: Any, request: Request) -> torch.Tensor:
    vocabulary = getattr(text_of(config), "vocab_size", None) or 32
    return torch.randint(0, vocabulary, (request.batch, request.sequence))


def _tokens(config: Any, request: Request, names: set[str]) -> dict[str, Any]:
    tokens = _ids(config, request)
    found: dict[str, Any] = {"input_ids": tokens}
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in names:
        found["decoder_input_ids"] = tokens.clone()
    if not names & {"return_loss", "pixel_mask"}:  # else it holds one thing against another
        return found
    found["attention_mask"] = torch.ones_like(tokens)
    if "pixel_values" in names and getattr(config, "vision_config", None) is not None:
        found["pixel_values"] = _image(config.vision_config, request)
    if "input_features" in names:
        sound = getattr(config, "speech_config", None) or getattr(config, "audio_config", config)
        found["input_features"] = torch.randn(request.batch, _bins(sound), _FRAMES)
    return found


# -- images -----------------------------------------------------------------------------------------


def _image(config: Any, request: Request) -> torch.Tensor:
    size = getattr(config, "image_size", None) or 224
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    return torch.randn(request.batch, _channels(config), height, width)


def _channels(config: Any) -> int:
    for name in ("num_channels", "in_channels", "in_chans"):
        found = getattr(config, name, None)
        if isinstance(found, int):
            return found
    return 3


def _pixels(
    module: torch.nn.Module, config: Any, request: Request, names: set[str]
) -> dict[str, Any]:
    vision = _part(config, "vision_config")
    image = _image(vision, request)
    if isinstance(getattr(vision, "num_frames", None), int) or "Video" in type(module).__name__:
        image = _video(vision, request)
    elif "KeypointMatching" in type(module).__name__:
        image = torch.stack([image, image], dim=1)
    found = {"pixel_values": image}
    if "input_ids" in names and "decoder_input_ids" not in names:
        found["input_ids"] = _ids(config, request)
    if "qformer_input_ids" in names:
        found["input_ids"] = _ids(config, request)
        qformer = getattr(config, "qformer_config", config)
        shape = (request.batch, request.sequence)
        found["qformer_input_ids"] = torch.randint(0, qformer.vocab_size, shape)
    return found


def _video(config: Any, request: Request) -> torch.Tensor:
    """Frames before channels."""
    frames = getattr(config, "num_frames", None) or getattr(config, "frames_per_clip", None) or 4
    size = getattr(config, "image_size", None) or getattr(config, "crop_size", None) or 224
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    return torch.randn(request.batch, frames, _channels(config), height, width)


def _listed(config: Any, main: str, names: set[str]) -> dict[str, Any]:
    """Patches of one image as a list, and how many there are along time, height and width."""
    patch = getattr(config, "patch_size", 14)
    merged = getattr(config, "spatial_merge_size", None) or _WHOLE_GRIDS
    side = max(_SIDE, merged * 2)
    thick = getattr(config, "temporal_patch_size", None) or getattr(config, "patch_temporal", 0)
    width = _channels(config) * patch * patch * int(thick or 1)
    found: dict[str, Any] = {
        main: torch.randn(side * side, width),
        "grid_thw": torch.tensor([[1, side, side]]),
    }
    if "merge_sizes" in names:
        found["merge_sizes"] = torch.tensor([merged])
    return found


def _sized(config: Any, request: Request) -> dict[str, Any]:
    """The same of a batch, padded to one length."""
    patch = getattr(config, "patch_size", 16)
    count = _SIDE * _SIDE
    return {
        "pixel_values": torch.randn(request.batch, count, _channels(config) * patch * patch),
        "pixel_attention_mask": torch.ones(request.batch, count, dtype=torch.long),
        "spatial_shapes": torch.tensor([[_SIDE, _SIDE]] * request.batch),
    }


# -- sound ------------------------------------------------------------------------------------------


def _bins(config: Any) -> int:
    for part in (
        config,
        getattr(config, "encoder_config", None),
        getattr(config, "audio_config", None),
    ):
        for name in ("num_mel_bins", "feature_size", "input_feat_size", "n_mels"):
            found = getattr(part, name, None)
            if isinstance(found, int):
                return found
    return _BINS


def _features(config: Any, request: Request, names: set[str]) -> dict[str, Any]:
    """A spectrogram: bins before time in what follows Whisper, which says how long it is."""
    bins = _bins(config)
    positions = getattr(config, "max_source_positions", None)
    if isinstance(positions, int):
        length = 2 * positions
        found = {"input_features": torch.randn(request.batch, bins, length)}
    else:
        length = _FRAMES
        found = {"input_features": torch.randn(request.batch, length, bins)}
    if "input_features_mask" in names:
        found["input_features_mask"] = torch.ones(request.batch, length, dtype=torch.long)
    if "decoder_input_ids" in names:
        found["decoder_input_ids"] = _ids(config, request)
    return found


def _sound(config: Any, request: Request) -> torch.Tensor:
    """Samples; those who put them together again take channels, too."""
    channels = getattr(config, "audio_channels", None)
    if isinstance(channels, int) or hasattr(config, "codebook_size"):
        return torch.randn(request.batch, channels or 1, _SAMPLES)
    return torch.randn(request.batch, _SAMPLES)
