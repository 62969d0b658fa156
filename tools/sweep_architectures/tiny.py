"""A small configuration of an architecture: its own defaults, sizes replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WIDTH = 32
_HEADS = 4
_SIZES = {
    "hidden_size": _WIDTH,
    "d_model": _WIDTH,
    "dim": _WIDTH,
    "n_embd": _WIDTH,
    "embed_dim": _WIDTH,
    "embedding_size": _WIDTH,
    "hidden_dim": _WIDTH,
    "hidden_size_per_layer_input": 8,
    "word_embed_proj_dim": _WIDTH,
    "projection_dim": _WIDTH,
    "out_hidden_size": _WIDTH,
    "intermediate_size": 64,
    "ffn_dim": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "d_ff": 64,
    "d_kv": 8,
    "n_inner": 64,
    "moe_intermediate_size": _WIDTH,
    "shared_expert_intermediate_size": _WIDTH,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "depth": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_layers": 2,
    "num_attention_heads": _HEADS,
    "num_heads": _HEADS,
    "n_head": _HEADS,
    "n_heads": _HEADS,
    "encoder_attention_heads": _HEADS,
    "decoder_attention_heads": _HEADS,
    "num_key_value_heads": 2,
    "num_global_key_value_heads": 2,
    "head_dim": 8,
    "global_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "mamba_d_state": 16,
    "mamba_d_head": 8,
    "mamba_n_heads": 8,
    "rotary_dim": 4,
    "vocab_size": 160,
    "vocab_size_per_layer_input": 160,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "num_experts_per_token": 2,
    "num_kv_shared_layers": 0,
    "attention_hidden_size": 64,
    "attention_head_dim": 16,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "qk_head_dim": 16,
    "v_head_dim": 8,
    "image_size": _WIDTH,
    "crop_size": _WIDTH,
    "frames_per_clip": 4,
    "num_frames": 4,
    "patch_size": 8,
}
_LEAST_SIZES = {k: v for k, v in _SIZES.items() if "layer" in k or k == "depth"}
_TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "sep_token_id")
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
_PERIODS = {
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "layer_group_size": 2,
    "full_attention_interval": 2,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
}
"""Every how many layers there is one of another kind: two layers are to have both."""
_AT = ("attn_layer_indices", "full_attn_layers", "hybrid_layer_ids")
"""Numbers of layers of another kind: the last is to be one."""
_KINDS = 4
"""At most so many kinds of layers are kept."""
_LEFT_OPEN: Mapping[str, Mapping[str, Any]] = {
    "autoformer": {"prediction_length": 8},
    "bamba": {"attn_layer_indices": [1]},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 2},
    "hunyuan_v1_moe": {"head_dim": 8},
    "hunyuan_vl": {"head_dim": 8},
    "hunyuan_vl_text": {"head_dim": 8},
    "informer": {"prediction_length": 8},
    "ministral": {"head_dim": 8},
    "reformer": {"is_decoder": True},
    "time_series_transformer": {"prediction_length": 8},
    "wav2vec2-bert": {"vocab_size": 32},
    "wav2vec2-conformer": {"vocab_size": 32},
    "wav2vec2_bert": {"vocab_size": 32},
    "xmod": {"default_language": "en_XX"},
}
"""What an architecture's own defaults leave open and its model needs."""


def variants(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Configurations to try, the smallest first; the last is the architecture's own."""
    return [
        _shrunk(data, _SIZES),
        _shrunk(data, {**_SIZES, "num_key_value_heads": _HEADS}),
        _shrunk(data, _LEAST_SIZES),
        _completed(data),
    ]


def _completed(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, **_LEFT_OPEN.get(str(data.get("model_type", "")), {})}


def _shrunk(data: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    """Also of configurations within a configuration."""
    kept = _kept(data, sizes)
    found: dict[str, Any] = {}
    count = _layers(data)
    for key, value in data.items():
        if kept and _by_layer(value, count):
            found[key] = _of_layers(value, kept, sizes.get(key))
        elif isinstance(value, dict) and (key.endswith("_config") or "model_type" in value):
            found[key] = _shrunk(value, sizes)
        elif key in sizes and isinstance(value, int) and not isinstance(value, bool):
            found[key] = min(sizes[key], value)
        elif key in _PERIODS and isinstance(value, int) and not isinstance(value, bool):
            found[key] = min(_PERIODS[key], value)
        elif key in _TOKENS and isinstance(value, int) and "vocab_size" in sizes:
            found[key] = min(value, 3)
        elif key in _AT and isinstance(value, list) and kept:
            found[key] = [len(kept) - 1]
        else:
            found[key] = value
    kinds = found.get("layer_types")
    if kept and isinstance(kinds, list) and set(kinds) == {"linear_attention"}:
        kinds[-1] = "full_attention"  # with a cache, no model is made of the others alone
    for key in _LAYERS:
        if kept and isinstance(found.get(key), int):
            found[key] = len(kept)
    found = _completed(found)
    _rotary_sections(found, "vision_config" in data)
    return found


def _layers(data: dict[str, Any]) -> int:
    found = (data.get(key) for key in _LAYERS)
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool)), 0)


def _kept(data: dict[str, Any], sizes: dict[str, int]) -> list[int]:
    """The layers that stay: one of each kind, of two kinds or none the first two."""
    count = _layers(data)
    if not count or not any(key in sizes for key in _LAYERS):
        return []
    kinds = [v for v in data.values() if isinstance(v, list) and len(v) == count]
    words = [v for v in kinds if all(isinstance(x, str) for x in v)]
    seen: dict[Any, int] = {}
    for place in range(count):
        seen.setdefault(tuple(v[place] for v in words), place)
    kept = sorted(list(seen.values())[:_KINDS])
    rest = (place for place in range(count) if place not in kept)
    while len(kept) < min(2, count):
        kept.append(next(rest))
    return sorted(kept)


def _by_layer(value: Any, count: int) -> bool:
    """Whether something is said of each layer, or of some by their numbers."""
    if isinstance(value, list):
        return len(value) == count > 1
    return (
        isinstance(value, dict)
        and bool(value)
        and all(str(key).isdecimal() and int(key) < count for key in value)
    )


def _of_layers(value: Any, kept: list[int], size: int | None) -> Any:
    """The same of those that stay."""
    if isinstance(value, list):
        chosen = [value[place] for place in kept]
        return [min(size, v) if size and type(v) is int else v for v in chosen]
    new = {place: i for i, place in enumerate(kept)}
    return {type(k)(new[int(k)]): v for k, v in value.items() if int(k) in new}


def _rotary_sections(data: dict[str, Any], of_images: bool) -> None:
    """Shares of the rotary dimensions among axes, scaled with the head; models of images and text
    have them where nothing is said, too."""
    for config in (data, data.get("text_config") if of_images else None):
        if not isinstance(config, dict):
            continue
        width, heads = config.get("hidden_size"), config.get("num_attention_heads")
        if not (isinstance(width, int) and isinstance(heads, int) and heads):
            continue
        head = config.get("head_dim") or width // heads
        for key in [k for k in config if k.startswith("rope_") and isinstance(config[k], dict)]:
            rope = config[key] = dict(config[key])
            if not rope or any(isinstance(value, dict) for value in rope.values()):
                continue
            parts = len(rope.get("mrope_section") or ()) or (3 if config is not data else 0)
            if not parts:
                continue
            factor = rope.get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1.0
            total = int(head * factor) // 2
            share = total // parts
            rope["mrope_section"] = [total - share * (parts - 1)] + [share] * (parts - 1)
