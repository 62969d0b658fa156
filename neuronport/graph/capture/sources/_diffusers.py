"""Inputs of diffusers' components: one line per class, sizes from its configuration.

Shapes are those of one small image or clip; where a configuration says for what size it is made,
that size. A class that is not here is asked by the names of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from neuronport.graph.capture.sources import Request

_TEXT = 16
"""Tokens of a prompt."""
_FRAMES = 2


class Sizes:
    """A configuration, and tensors of its sizes."""

    def __init__(self, config: Any, request: Request) -> None:
        self.config = config
        self.batch = request.batch
        side = self("sample_size", "image_size", default=32)
        sides = (side, side) if isinstance(side, int) else tuple(side)[-2:]
        self.height = int(self("sample_height", default=sides[0]))
        self.width = int(self("sample_width", default=sides[-1]))

    def __call__(self, *names: str, default: Any = None) -> Any:
        for name in names:
            value = getattr(self.config, name, None)
            if value is not None:
                return value
        return default

    @property
    def channels(self) -> int:
        return int(self("in_channels", "latent_channels", "input_channels", default=4))

    def tensor(self, *shape: int) -> torch.Tensor:
        return torch.randn(self.batch, *shape)

    def image(self, channels: int | None = None) -> torch.Tensor:
        return self.tensor(channels or self.channels, self.height, self.width)

    def clip(self, channels: int | None = None, frames: int = _FRAMES) -> torch.Tensor:
        """Channels before frames."""
        return self.tensor(channels or self.channels, frames, self.height, self.width)

    def frames(self, channels: int | None = None) -> torch.Tensor:
        """Frames before channels."""
        return self.tensor(_FRAMES, channels or self.channels, self.height, self.width)

    def tokens(self, patch: int = 2) -> torch.Tensor:
        """An image as a sequence of patches."""
        return self.tensor(self.height // patch * (self.width // patch), self.channels)

    def text(self, *names: str, length: int = _TEXT, default: int = 32) -> torch.Tensor:
        width = self(*names, default=default)
        return self.tensor(length, width if isinstance(width, int) else int(width[0]))

    def mask(self, length: int = _TEXT, dtype: torch.dtype = torch.bool) -> torch.Tensor:
        return torch.ones(self.batch, length, dtype=dtype)

    def step(self, dtype: torch.dtype = torch.long) -> torch.Tensor:
        return torch.zeros(self.batch, dtype=dtype)

    def flow(self) -> torch.Tensor:
        """A time between 0 and 1."""
        return self.step(torch.float32)

    def ids(self, length: int, axes: int = 3) -> torch.Tensor:
        """Positions of a sequence, all at the beginning."""
        return torch.zeros(length, axes)

    def guidance(self) -> dict[str, torch.Tensor]:
        given = self("guidance_embeds", default=False)
        return {"guidance": torch.ones(self.batch)} if given else {}


Call = Mapping[str, Any]


def _flux(s: Sizes, axes: int = 3) -> dict[str, Any]:
    image = s.tokens()
    found = {
        "hidden_states": image,
        "encoder_hidden_states": s.text("joint_attention_dim"),
        "timestep": s.flow(),
        "img_ids": s.ids(image.shape[1], axes),
        "txt_ids": s.ids(_TEXT, axes),
        **s.guidance(),
    }
    pooled = s("pooled_projection_dim")
    return {**found, "pooled_projections": s.tensor(pooled)} if pooled else found


def _flux_of_text(s: Sizes) -> dict[str, Any]:
    """Flux without the pooled prompt."""
    return {k: v for k, v in _flux(s).items() if k != "pooled_projections"}


def _flux_control(s: Sizes) -> dict[str, Any]:
    return {**_flux(s), "controlnet_cond": s.tokens()}


def _sd3(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "encoder_hidden_states": s.text("joint_attention_dim"),
        "pooled_projections": s.tensor(s("pooled_projection_dim")),
        "timestep": s.step(),
    }


def _sd3_control(s: Sizes) -> dict[str, Any]:
    return {
        **_sd3(s),
        "controlnet_cond": s.image(s.channels + s("extra_conditioning_channels", default=0)),
    }


def _captioned(s: Sizes) -> dict[str, Any]:
    """PixArt, Sana and their like: an image and a caption."""
    return {
        "hidden_states": s.image(),
        "encoder_hidden_states": s.text("caption_channels", "cross_attention_dim"),
        "timestep": s.step(),
    }


def _pixart(s: Sizes) -> dict[str, Any]:
    extra: dict[str, Any] = {"resolution": None, "aspect_ratio": None}
    if s("use_additional_conditions") or (
        s("use_additional_conditions") is None and s("sample_size") == 128
    ):
        extra = {"resolution": s.tensor(2), "aspect_ratio": s.tensor(1)}
    return {**_captioned(s), "added_cond_kwargs": extra}


def _clip_and_text(s: Sizes, *text: str) -> dict[str, Any]:
    return {
        "hidden_states": s.clip(),
        "encoder_hidden_states": s.text(*text),
        "timestep": s.step(),
    }


def _wan(s: Sizes) -> dict[str, Any]:
    found = _clip_and_text(s, "text_dim")
    if s("image_dim"):
        found["encoder_hidden_states_image"] = s.tensor(257, s("image_dim"))
    return found


def _wan_vace(s: Sizes) -> dict[str, Any]:
    return {**_wan(s), "control_hidden_states": s.clip(s("vace_in_channels"))}


def _hunyuan_video(s: Sizes) -> dict[str, Any]:
    return {
        **_clip_and_text(s, "text_embed_dim"),
        "encoder_attention_mask": s.mask(),
        "pooled_projections": s.tensor(s("pooled_projection_dim")),
        **s.guidance(),
    }


def _hunyuan_video15(s: Sizes) -> dict[str, Any]:
    return {
        **_clip_and_text(s, "text_embed_dim"),
        "timestep": s.flow(),
        "encoder_attention_mask": s.mask(),
        "encoder_hidden_states_2": s.text("text_embed_2_dim"),
        "encoder_attention_mask_2": s.mask(),
        "image_embeds": s.tensor(4, s("image_embed_dim")),
    }


def _hunyuan_image(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "timestep": s.flow(),
        "encoder_hidden_states": s.text("text_embed_dim"),
        "encoder_attention_mask": s.mask(),
        **s.guidance(),
    }


def _hunyuan_dit(s: Sizes) -> dict[str, Any]:
    head = s("attention_head_dim", default=88)
    patch = s("patch_size", default=2)
    places = s.height // patch * (s.width // patch)
    text, t5 = s("text_len", default=77), s("text_len_t5", default=256)
    return {
        "hidden_states": s.image(),
        "timestep": s.step(torch.float32),
        "encoder_hidden_states": s.text("cross_attention_dim", length=text),
        "text_embedding_mask": s.mask(text),
        "encoder_hidden_states_t5": s.text("cross_attention_dim_t5", length=t5),
        "text_embedding_mask_t5": s.mask(t5),
        "image_meta_size": s.tensor(6),
        "style": s.step(),
        "image_rotary_emb": (torch.randn(places, head), torch.randn(places, head)),
    }


def _hunyuan_dit_control(s: Sizes) -> dict[str, Any]:
    return {**_hunyuan_dit(s), "controlnet_cond": s.image()}


def _ltx(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.tensor(_FRAMES * s.height * s.width, s.channels),
        "encoder_hidden_states": s.text("caption_channels"),
        "timestep": s.step(),
        "encoder_attention_mask": s.mask(dtype=torch.long),
        "num_frames": _FRAMES,
        "height": s.height,
        "width": s.width,
    }


def _ltx2(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.tensor(_FRAMES * s.height * s.width, s.channels),
        "audio_hidden_states": s.tensor(_FRAMES, s("audio_in_channels")),
        "encoder_hidden_states": s.text("caption_channels"),
        "audio_encoder_hidden_states": s.text("caption_channels"),
        "timestep": s.step(),
        "encoder_attention_mask": s.mask(dtype=torch.long),
        "audio_encoder_attention_mask": s.mask(dtype=torch.long),
        "num_frames": _FRAMES,
        "height": s.height,
        "width": s.width,
        "fps": 25.0,
        "audio_num_frames": _FRAMES,
    }


def _qwen(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.tokens(),
        "encoder_hidden_states": s.text("joint_attention_dim"),
        "encoder_hidden_states_mask": s.mask(),
        "timestep": s.flow(),
        "img_shapes": [[(1, s.height // 2, s.width // 2)]] * s.batch,
        **s.guidance(),
    }


def _qwen_control(s: Sizes) -> dict[str, Any]:
    extra = s.channels + s("extra_condition_channels", default=0)
    return {**_qwen(s), "controlnet_cond": s.tensor(s.height // 2 * (s.width // 2), extra)}


def _cogvideox(s: Sizes) -> dict[str, Any]:
    frames = (s("sample_frames", default=49) - 1) // s("temporal_compression_ratio", default=4) + 1
    found: dict[str, Any] = {
        "hidden_states": s.tensor(frames, s.channels, s.height, s.width),
        "encoder_hidden_states": s.text(
            "text_embed_dim", length=s("max_text_seq_length", default=226)
        ),
        "timestep": s.step(),
    }
    if s("use_rotary_positional_embeddings"):
        patch = s("patch_size", default=2)
        places = frames * (s.height // patch) * (s.width // patch)
        head = s("attention_head_dim", default=64)
        found["image_rotary_emb"] = (torch.randn(places, head), torch.randn(places, head))
    return found


def _cogview(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "encoder_hidden_states": s.text("text_embed_dim"),
        "timestep": s.step(),
        "original_size": s.tensor(2),
        "target_size": s.tensor(2),
        "crop_coords": s.tensor(2),
    }


def _mochi(s: Sizes) -> dict[str, Any]:
    return {**_clip_and_text(s, "text_embed_dim"), "encoder_attention_mask": s.mask()}


def _allegro(s: Sizes) -> dict[str, Any]:
    patch = s("patch_size", default=2)
    axes = (_FRAMES, s.height // patch, s.width // patch)
    grid = torch.cartesian_prod(*(torch.arange(n) for n in axes)).T.reshape(3, 1, -1)
    head = s("attention_head_dim", default=96) // 3
    rotary = tuple((torch.randn(n, head), torch.randn(n, head)) for n in axes)
    return {
        **_clip_and_text(s, "caption_channels"),
        "attention_mask": torch.ones(s.batch, _FRAMES, s.height, s.width),
        "encoder_attention_mask": s.mask(dtype=torch.long),
        "image_rotary_emb": (rotary, tuple(g.contiguous() for g in grid)),
    }


def _cosmos(s: Sizes) -> dict[str, Any]:
    return {
        **_clip_and_text(s, "text_embed_dim"),
        "timestep": s.flow(),
        "fps": 24,
        "padding_mask": torch.zeros(1, 1, s.height, s.width),
    }


def _lumina2(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "timestep": s.flow(),
        "encoder_hidden_states": s.text("cap_feat_dim"),
        "encoder_attention_mask": s.mask(),
    }


def _lumina_next(s: Sizes) -> dict[str, Any]:
    from diffusers.models.embeddings import get_2d_rotary_pos_embed_lumina

    head = s("hidden_size") // s("num_attention_heads")
    side = max(s.height, s.width)
    return {
        "hidden_states": s.image(),
        "timestep": s.flow(),
        "encoder_hidden_states": s.text("cross_attention_dim"),
        "encoder_mask": s.mask(),
        "image_rotary_emb": get_2d_rotary_pos_embed_lumina(head, side, side),
        "cross_attention_kwargs": {},
    }


def _z_image(s: Sizes) -> dict[str, Any]:
    return {
        "x": [torch.randn(s.channels, 1, s.height, s.width) for _ in range(s.batch)],
        "t": s.flow(),
        "cap_feats": [torch.randn(_TEXT, s("cap_feat_dim")) for _ in range(s.batch)],
    }


def _stable_audio(s: Sizes) -> dict[str, Any]:
    length = s("sample_size", default=1024)
    head = s("attention_head_dim", default=64) // 2
    rotary = (torch.randn(length + 1, head), torch.randn(length + 1, head))
    return {
        "hidden_states": s.tensor(s.channels, length),
        "timestep": s.step(),
        "encoder_hidden_states": s.text("cross_attention_input_dim"),
        "global_hidden_states": s.tensor(1, s("global_states_input_dim")),
        "rotary_embedding": rotary,
    }


def _kandinsky5(s: Sizes) -> dict[str, Any]:
    patch = s("patch_size", default=(1, 2, 2))
    channels = s("in_visual_dim", default=4)
    if s("visual_cond"):
        channels = 2 * channels + 1
    axes = (_FRAMES // patch[0], s.height // patch[1], s.width // patch[2])
    return {
        "hidden_states": s.tensor(_FRAMES, s.height, s.width, channels),
        "encoder_hidden_states": s.text("in_text_dim"),
        "timestep": s.flow(),
        "pooled_projections": s.tensor(s("in_text_dim2")),
        "visual_rope_pos": [torch.arange(n) for n in axes],
        "text_rope_pos": torch.arange(_TEXT),
    }


def _omnigen(s: Sizes) -> dict[str, Any]:
    patch = s("patch_size", default=2)
    length = _TEXT + 1 + s.height // patch * (s.width // patch)
    return {
        "hidden_states": s.image(),
        "timestep": s.flow(),
        "input_ids": torch.zeros(s.batch, _TEXT, dtype=torch.long),
        "input_img_latents": [],
        "input_image_sizes": {},
        "attention_mask": torch.ones(s.batch, length, length, dtype=torch.long),
        "position_ids": torch.arange(length).repeat(s.batch, 1),
    }


def _hidream(s: Sizes) -> dict[str, Any]:
    layers = len(s("llama_layers", default=()))
    llama, t5 = s("caption_channels")[-1], s("caption_channels")[0]
    return {
        "hidden_states": s.image(),
        "timesteps": s.step(),
        "encoder_hidden_states_t5": s.tensor(_TEXT, t5),
        "encoder_hidden_states_llama3": torch.randn(layers, s.batch, _TEXT, llama),
        "pooled_embeds": s.tensor(s("text_emb_dim")),
    }


# -- UNets and what belongs to them -----------------------------------------------------------------


def _unet(s: Sizes) -> dict[str, Any]:
    found: dict[str, Any] = {
        "sample": s.image(),
        "timestep": s.step(),
        "encoder_hidden_states": s.text(
            "encoder_hid_dim", "cross_attention_dim", length=77, default=1280
        ),
    }
    if s("time_cond_proj_dim"):
        found["timestep_cond"] = s.tensor(s("time_cond_proj_dim"))
    if s("addition_embed_type") == "text_time":
        ids = 6 * s("addition_time_embed_dim", default=256)
        pooled = s("projection_class_embeddings_input_dim") - ids
        found["added_cond_kwargs"] = {
            "text_embeds": s.tensor(pooled),
            "time_ids": s.tensor(6),
        }
    return found


def _unet_of_clips(s: Sizes) -> dict[str, Any]:
    return {**_unet(s), "sample": s.clip()}


def _controlnet(s: Sizes) -> dict[str, Any]:
    widths = s(
        "conditioning_embedding_out_channels",
        "ctrl_conditioning_embedding_out_channels",
        default=(16, 32, 96, 256),
    )
    scale = 2 ** (len(widths) - 1)
    channels = s("conditioning_channels", "ctrl_conditioning_channels", default=3)
    condition = s.tensor(channels, scale * s.height, scale * s.width)
    return {**_unet(s), "controlnet_cond": condition}


def _controlnet_union(s: Sizes) -> dict[str, Any]:
    found = _controlnet(s)
    kinds = s("num_control_type", default=6)
    return {
        **found,
        "controlnet_cond": [found["controlnet_cond"]],
        "control_type": torch.nn.functional.one_hot(s.step(), kinds).float(),
        "control_type_idx": [0],
        "conditioning_scale": [1.0],
    }


def _motion(s: Sizes) -> dict[str, Any]:
    """A prompt for each frame."""
    found = _unet_of_clips(s)
    text = found["encoder_hidden_states"].repeat_interleave(_FRAMES, 0)
    return {**found, "encoder_hidden_states": text}


def _sparse_control(s: Sizes) -> dict[str, Any]:
    return {
        **_motion(s),
        "controlnet_cond": s.clip(s("conditioning_channels", default=4)),
        "conditioning_mask": s.clip(1),
    }


def _video_diffusion(s: Sizes) -> dict[str, Any]:
    return {
        "sample": s.frames(),
        "timestep": s.step(),
        "encoder_hidden_states": s.text("cross_attention_dim", length=1),
        "added_time_ids": s.tensor(3),
    }


def _i2vgen(s: Sizes) -> dict[str, Any]:
    return {
        **_unet_of_clips(s),
        "fps": torch.full((s.batch,), 16),
        "image_latents": s.clip(),
        "image_embeddings": s.tensor(s("cross_attention_dim")),
    }


def _cascade(s: Sizes) -> dict[str, Any]:
    found = {
        "sample": s.image(),
        "timestep_ratio": s.flow(),
        "clip_text_pooled": s.tensor(1, s("clip_text_pooled_in_channels", default=1280)),
    }
    if s("clip_text_in_channels"):
        found["clip_text"] = s.tensor(77, s("clip_text_in_channels"))
    if s("clip_image_in_channels"):
        found["clip_img"] = s.tensor(1, s("clip_image_in_channels"))
    if s("effnet_in_channels"):
        found["effnet"] = s.image(s("effnet_in_channels"))
    return found


def _uvit(s: Sizes) -> dict[str, Any]:
    return {
        "input_ids": torch.zeros(s.batch, s.height, s.width, dtype=torch.long),
        "encoder_hidden_states": s.text("encoder_hidden_size"),
        "pooled_text_emb": s.tensor(s("cond_embed_dim")),
        "micro_conds": s.tensor(5),
    }


def _prior(s: Sizes) -> dict[str, Any]:
    width = s("embedding_dim")
    return {
        "hidden_states": s.tensor(width),
        "timestep": s.step(),
        "proj_embedding": s.tensor(s("embedding_proj_dim", default=width)),
        "encoder_hidden_states": s.tensor(s("num_embeddings"), width),
    }


def _dit(s: Sizes) -> dict[str, Any]:
    return {"hidden_states": s.image(), "timestep": s.step(), "class_labels": s.step()}


def _patches_of_text(s: Sizes) -> dict[str, Any]:
    found = {"hidden_states": s.image(), "timestep": s.step()}
    if s("caption_channels", "cross_attention_dim"):
        found["encoder_hidden_states"] = s.text("caption_channels", "cross_attention_dim")
    return found


def _aura(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "encoder_hidden_states": s.text("joint_attention_dim"),
        "timestep": s.flow(),
    }


def _prx(s: Sizes) -> dict[str, Any]:
    return {
        "hidden_states": s.image(),
        "timestep": s.flow(),
        "encoder_hidden_states": s.text("context_in_dim"),
    }


def _sana_control(s: Sizes) -> dict[str, Any]:
    return {**_captioned(s), "controlnet_cond": s.image()}


def _easy_animate(s: Sizes) -> dict[str, Any]:
    return {
        **_clip_and_text(s, "text_embed_dim"),
        "timestep": s.step(torch.float32),
    }


# -- autoencoders -----------------------------------------------------------------------------------


def _pixels(s: Sizes) -> dict[str, Any]:
    return {"sample": s.image()}


def _movie(s: Sizes) -> dict[str, Any]:
    """A clip whose frames a temporal compression of 8 divides, with a first of its own."""
    return {"sample": s.clip(frames=9)}


def _movie_of(frames: int) -> Callable[[Sizes], Call]:
    return lambda s: {"sample": s.clip(frames=frames)}


def _sound(s: Sizes) -> dict[str, Any]:
    return {"sample": s.tensor(s("audio_channels", default=2), 4096)}


CALLS: Mapping[str, Callable[[Sizes], Call]] = {
    "AllegroTransformer3DModel": _allegro,
    "AsymmetricAutoencoderKL": _pixels,
    "AuraFlowTransformer2DModel": _aura,
    "AutoencoderKLAllegro": _movie_of(8),
    "AutoencoderKLCogVideoX": _movie,
    "AutoencoderKLCosmos": _movie,
    "AutoencoderKLHunyuanImageRefiner": _movie,
    "AutoencoderKLHunyuanVideo": _movie,
    "AutoencoderKLHunyuanVideo15": _movie,
    "AutoencoderKLLTX2Video": _movie,
    "AutoencoderKLLTXVideo": _movie,
    "AutoencoderKLMagvit": _movie,
    "AutoencoderKLMochi": lambda s: {"sample": s.clip(3, frames=7)},
    "AutoencoderKLQwenImage": lambda s: {"sample": s.clip(3, frames=1)},
    "AutoencoderKLTemporalDecoder": lambda s: {"sample": s.image(), "num_frames": 1},
    "AutoencoderKLWan": lambda s: {"sample": s.clip(3, frames=9)},
    "AutoencoderOobleck": _sound,
    "BriaTransformer2DModel": _flux_of_text,
    "ChromaTransformer2DModel": lambda s: {
        **_flux_of_text(s),
        "attention_mask": s.mask(_TEXT + s.tokens().shape[1]),
    },
    "ChronoEditTransformer3DModel": _wan,
    "CogVideoXTransformer3DModel": _cogvideox,
    "CogView3PlusTransformer2DModel": _cogview,
    "CogView4Transformer2DModel": _cogview,
    "ConsisIDTransformer3DModel": _cogvideox,
    "ControlNetModel": _controlnet,
    "ControlNetUnionModel": _controlnet_union,
    "CosmosTransformer3DModel": _cosmos,
    "DiTTransformer2DModel": _dit,
    "EasyAnimateTransformer3DModel": _easy_animate,
    "Flux2Transformer2DModel": lambda s: _flux(s, 4),
    "FluxControlNetModel": _flux_control,
    "FluxTransformer2DModel": _flux,
    "HiDreamImageTransformer2DModel": _hidream,
    "HunyuanDiT2DControlNetModel": _hunyuan_dit_control,
    "HunyuanDiT2DModel": _hunyuan_dit,
    "HunyuanImageTransformer2DModel": _hunyuan_image,
    "HunyuanVideo15Transformer3DModel": _hunyuan_video15,
    "HunyuanVideoTransformer3DModel": _hunyuan_video,
    "I2VGenXLUNet": _i2vgen,
    "Kandinsky5Transformer3DModel": _kandinsky5,
    "LTX2VideoTransformer3DModel": _ltx2,
    "LTXVideoTransformer3DModel": _ltx,
    "LatteTransformer3DModel": lambda s: {
        **_clip_and_text(s, "caption_channels"),
        "hidden_states": s.clip(frames=s("video_length", default=16)),
    },
    "LongCatImageTransformer2DModel": _flux_of_text,
    "Lumina2Transformer2DModel": _lumina2,
    "LuminaNextDiT2DModel": _lumina_next,
    "MochiTransformer3DModel": _mochi,
    "OmniGenTransformer2DModel": _omnigen,
    "OvisImageTransformer2DModel": _flux_of_text,
    "PRXTransformer2DModel": _prx,
    "PixArtTransformer2DModel": _pixart,
    "PriorTransformer": _prior,
    "QwenImageControlNetModel": _qwen_control,
    "QwenImageTransformer2DModel": _qwen,
    "SD3ControlNetModel": _sd3_control,
    "SD3Transformer2DModel": _sd3,
    "SanaControlNetModel": _sana_control,
    "SanaTransformer2DModel": lambda s: {**_captioned(s), **s.guidance()},
    "SanaVideoTransformer3DModel": lambda s: {
        **_clip_and_text(s, "caption_channels"),
        **s.guidance(),
    },
    "SkyReelsV2Transformer3DModel": _wan,
    "SparseControlNetModel": _sparse_control,
    "StableAudioDiTModel": _stable_audio,
    "StableCascadeUNet": _cascade,
    "T2IAdapter": lambda s: {"x": s.image()},
    "Transformer2DModel": _patches_of_text,
    "UNet1DModel": lambda s: {
        "sample": s.tensor(s.channels, s("sample_size", default=65536)),
        "timestep": s.step(),
    },
    "UNet2DConditionModel": _unet,
    "UNet3DConditionModel": _unet_of_clips,
    "UNetControlNetXSModel": _controlnet,
    "UNetMotionModel": _motion,
    "UNetSpatioTemporalConditionModel": _video_diffusion,
    "UVit2DModel": _uvit,
    "WanTransformer3DModel": _wan,
    "WanVACETransformer3DModel": _wan_vace,
    "ZImageTransformer2DModel": _z_image,
}
"""Class → the arguments of a call."""
