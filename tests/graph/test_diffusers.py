"""Components of diffusers: inputs from their configurations."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from neuronport.graph.capture.model import NamingError  # noqa: E402
from neuronport.graph.capture.sources import Request, find  # noqa: E402
from neuronport.graph.capture.sources._diffusers import CALLS, Sizes  # noqa: E402

CONFIGURATIONS = Path(__file__).parents[2] / "tools" / "sweep_architectures" / "diffusers.toml"


def call(name: str, batch: int = 1, **config: object) -> dict[str, object]:
    return dict(CALLS[name](Sizes(SimpleNamespace(**config), Request("", batch=batch))))


def test_an_image_of_flux_is_a_sequence_of_patches() -> None:
    given = call(
        "FluxTransformer2DModel",
        batch=3,
        sample_size=16,
        in_channels=64,
        joint_attention_dim=4096,
        pooled_projection_dim=768,
        guidance_embeds=True,
    )
    assert {k: tuple(v.shape) for k, v in given.items()} == {
        "hidden_states": (3, 64, 64),
        "encoder_hidden_states": (3, 16, 4096),
        "timestep": (3,),
        "img_ids": (64, 3),
        "txt_ids": (16, 3),
        "guidance": (3,),
        "pooled_projections": (3, 768),
    }


def test_the_condition_of_a_controlnet_is_larger_than_its_latents() -> None:
    given = call(
        "ControlNetModel",
        sample_size=8,
        in_channels=4,
        cross_attention_dim=32,
        conditioning_embedding_out_channels=[16, 32, 96, 256],
    )
    assert tuple(given["sample"].shape) == (1, 4, 8, 8)
    assert tuple(given["controlnet_cond"].shape) == (1, 3, 64, 64)


def test_sdxl_gets_its_sizes_and_pooled_prompt() -> None:
    given = call(
        "UNet2DConditionModel",
        sample_size=8,
        in_channels=4,
        cross_attention_dim=2048,
        addition_embed_type="text_time",
        addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=2816,
    )
    added = given["added_cond_kwargs"]
    assert tuple(added["text_embeds"].shape) == (1, 1280)
    assert tuple(added["time_ids"].shape) == (1, 6)


def _small() -> dict[str, dict[str, object]]:
    with CONFIGURATIONS.open("rb") as stream:
        return tomllib.load(stream)


def _config(folder: Path, name: str) -> Request:
    file = folder / "config.json"
    file.write_text(json.dumps({"_class_name": name, **_small()[name]}), encoding="utf-8")
    return Request(str(file))


FAST = (
    "DiTTransformer2DModel",
    "SD3Transformer2DModel",
    "WanTransformer3DModel",
    "ControlNetModel",
)


@pytest.mark.parametrize("name", FAST)
def test_a_component_runs_with_the_inputs_of_its_configuration(name: str, tmp_path: Path) -> None:
    pytest.importorskip("diffusers", reason="components are diffusers' own")
    model = find(_config(tmp_path, name))
    module = model.build().eval()
    (given,) = model.inputs(module)
    with torch.no_grad():
        assert module(*given.args, **given.kwargs)


def test_what_no_configuration_says_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("diffusers", reason="components are diffusers' own")
    file = tmp_path / "config.json"
    config = {"_class_name": "UniDiffuserTextDecoder", "prefix_length": 4, "prefix_inner_dim": 16}
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 32}
    file.write_text(json.dumps({**config, **sizes}), encoding="utf-8")
    model = find(Request(str(file)))
    with pytest.raises(NamingError, match=r"UniDiffuserTextDecoder takes prefix_embeds.*--input"):
        model.inputs(model.build())


def test_a_size_can_be_set(tmp_path: Path) -> None:
    pytest.importorskip("diffusers", reason="components are diffusers' own")
    request = _config(tmp_path, "SD3Transformer2DModel")
    module = find(Request(request.named, overrides=["num_layers=3"])).build()
    assert module.config.num_layers == 3
