"""A small configuration of an architecture: its own defaults, sizes replaced."""

from __future__ import annotations

from typing import Any

_SIZES = {
    "hidden_size": 32,
    "d_model": 32,
    "dim": 32,
    "n_embd": 32,
    "embed_dim": 32,
    "embedding_size": 32,
    "hidden_dim": 32,
    "word_embed_proj_dim": 32,
    "projection_dim": 32,
    "intermediate_size": 64,
    "ffn_dim": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "d_ff": 64,
    "d_kv": 8,
    "n_inner": 64,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_layers": 2,
    "num_attention_heads": 4,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 160,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "qk_head_dim": 16,
    "v_head_dim": 8,
    "image_size": 32,
    "patch_size": 8,
}
_LEAST_SIZES = {k: v for k, v in _SIZES.items() if "layer" in k}
_TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "sep_token_id")
_PER_LAYER = ("layer_types", "mlp_layer_types", "layers_block_type", "attention_layers")


def variants(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Configurations to try, the smallest first; the last is the architecture's own."""
    return [
        _shrunk(data, _SIZES),
        _shrunk(data, {**_SIZES, "num_key_value_heads": 4}),
        _shrunk(data, _LEAST_SIZES),
        data,
    ]


def _shrunk(data: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and key.endswith("_config"):
            found[key] = _shrunk(value, sizes)
        elif key in sizes and isinstance(value, int) and not isinstance(value, bool):
            found[key] = min(sizes[key], value)
        elif key in _TOKENS and isinstance(value, int) and "vocab_size" in sizes:
            found[key] = min(value, 3)
        elif key in _PER_LAYER and isinstance(value, list):
            found[key] = value[: sizes.get("num_hidden_layers", len(value))]
        else:
            found[key] = value
    return found
