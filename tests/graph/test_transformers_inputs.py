"""What models of transformers take, from configurations and the names of arguments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from neuronport.graph.capture.model import NamingError  # noqa: E402
from neuronport.graph.capture.sources import Request  # noqa: E402
from neuronport.graph.capture.sources._transformers import main_input, tensors  # noqa: E402

REQUEST = Request("", batch=2, sequence=8)


def given(forward: Any, main: str | None = None, name: str = "Model", **config: Any) -> Any:
    body: dict[str, Any] = {"forward": forward}
    if main is not None:
        body["main_input_name"] = main
    module = type(name, (torch.nn.Module,), body)()
    found = tensors(module, SimpleNamespace(**config), REQUEST)
    return {key: tuple(value.shape) for key, value in found.items()}


def test_tokens() -> None:
    found = given(lambda self, input_ids=None: None, vocab_size=32)
    assert found == {"input_ids": (2, 8)}


def test_what_holds_images_against_text_takes_both() -> None:
    def forward(
        self: Any, input_ids: Any = None, pixel_values: Any = None, return_loss: Any = None
    ) -> None: ...

    vision = SimpleNamespace(image_size=32, num_channels=3)
    found = given(forward, vocab_size=32, vision_config=vision)
    assert found["input_ids"] == found["attention_mask"] == (2, 8)
    assert found["pixel_values"] == (2, 3, 32, 32)


def test_a_film_has_frames() -> None:
    def forward(self: Any, pixel_values: Any = None) -> None: ...

    found = given(forward, "pixel_values", image_size=32, num_frames=4)
    assert found == {"pixel_values": (2, 4, 3, 32, 32)}


def test_patches_as_a_list_with_their_grid() -> None:
    def forward(self: Any, hidden_states: Any, grid_thw: Any) -> None: ...

    found = given(
        forward, "pixel_values", patch_size=14, temporal_patch_size=2, spatial_merge_size=2
    )
    assert found == {"hidden_states": (16, 3 * 14 * 14 * 2), "grid_thw": (1, 3)}


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        ({"num_mel_bins": 80, "max_source_positions": 1500}, (2, 80, 3000)),
        ({"num_mel_bins": 80}, (2, 64, 80)),
        ({}, (2, 64, 128)),
    ],
)
def test_sound_as_a_spectrogram(config: dict[str, Any], shape: tuple[int, ...]) -> None:
    def forward(self: Any, input_features: Any, input_features_mask: Any) -> None: ...

    found = given(forward, "input_features", **config)
    assert found["input_features"] == shape
    assert found["input_features_mask"] == (2, max(shape[1:]) if "max" in str(config) else 64)


def test_sound_as_samples() -> None:
    def forward(self: Any, input_values: Any) -> None: ...

    assert given(forward, "input_values")["input_values"] == (2, 16000)
    found = given(forward, "input_values", audio_channels=1)
    assert found["input_values"] == (2, 1, 16000)


def test_what_is_asked_for_besides() -> None:
    def forward(self: Any, input_ids: Any, input_values: Any, pixel_values: Any) -> None: ...

    found = given(forward, vocab_size=32)
    assert set(found) == {"input_ids", "input_values", "pixel_values"}


def test_what_a_model_is_about_is_its_first_argument_if_not_what_it_says() -> None:
    class Odd(torch.nn.Module):
        main_input_name = "input_ids"

        def forward(self, latents: Any) -> None: ...

    assert main_input(Odd()) == "latents"
    with pytest.raises(NamingError, match="a main input 'latents': give --input"):
        tensors(Odd(), SimpleNamespace(), REQUEST)
