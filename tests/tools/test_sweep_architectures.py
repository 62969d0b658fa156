from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.sweep_architectures.components import diffusers_components, is_component, named
from tools.sweep_architectures.sweep import read
from tools.sweep_architectures.tiny import variants
from tools.sweep_architectures.write import components_section, page


def row(name: str, **more: Any) -> dict[str, Any]:
    return {"architecture": name, "transformers": "5", "torch": "2", "seconds": 1.0, **more}


def captured(**bad: str) -> dict[str, Any]:
    return {
        "how": ["export"],
        "graphs": ["forward"],
        "operators": {"native@2.33": bad, "xla@2.31": {}},
        "reason": "",
    }


def test_sizes_are_made_small_and_the_rest_kept() -> None:
    own = {
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "vocab_size": 50000,
        "pad_token_id": 49999,
        "layer_types": ["full"] * 32,
        "hidden_act": "silu",
        "tie": True,
        "text_config": {"num_heads": 64, "eos_token_id": None},
    }
    small, _, fewer, same = variants(own)
    assert small["hidden_size"] == 32
    assert small["num_hidden_layers"] == len(small["layer_types"]) == 2
    assert small["pad_token_id"] < small["vocab_size"]
    assert small["text_config"] == {"num_heads": 4, "eos_token_id": None}
    assert (small["hidden_act"], small["tie"]) == ("silu", True)
    assert (fewer["hidden_size"], fewer["num_hidden_layers"]) == (4096, 2)
    assert same == own


def test_one_layer_of_each_kind_stays() -> None:
    own = {
        "num_hidden_layers": 6,
        "layer_types": ["linear"] * 3 + ["full"] + ["linear"] * 2,
        "intermediate_size": [512] * 6,
        "per_layer": {"3": "full", "4": "linear"},
        "full_attention_interval": 4,
    }
    small = variants(own)[0]
    assert small["layer_types"] == ["linear", "full"]
    assert small["intermediate_size"] == [64, 64]
    assert small["per_layer"] == {"1": "full"}
    assert small["full_attention_interval"] == small["num_hidden_layers"] == 2


def test_a_cache_needs_a_layer_with_attention() -> None:
    own = {"num_hidden_layers": 40, "layer_types": ["linear_attention"] * 40}
    assert variants(own)[0]["layer_types"] == ["linear_attention", "full_attention"]


def test_rotary_sections_fill_half_of_a_head() -> None:
    text = {
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24]},
    }
    small = variants({"text_config": text, "vision_config": {"depth": 32}})[0]
    assert sum(small["text_config"]["rope_parameters"]["mrope_section"]) == 32 // 4 // 2
    assert small["vision_config"]["depth"] == 2
    assert text["rope_parameters"]["mrope_section"] == [16, 24, 24]


def test_what_an_architecture_leaves_open_is_filled_in() -> None:
    own = {"model_type": "esm", "vocab_size": None}
    assert all(v["vocab_size"] == 33 for v in variants(own))


def test_the_chain_counts_and_every_miss_has_its_reason() -> None:
    rows = [
        row("good", instantiated=True, eager=True, cls="Good", inference=captured()),
        row(
            "sorts",
            instantiated=True,
            eager=True,
            cls="Sorts",
            inference=captured(**{"aten::sort": "falls-back"}),
            training=captured(**{"aten::sort": "falls-back", "aten::histc": "falls-back"}),
        ),
        row("broken", reason="instantiation: ValueError: no | such /home/someone/thing.py"),
        row(
            "parts",
            instantiated=True,
            eager=True,
            cls="Parts",
            inference={**captured(), "graphs": [], "reason": "export: data"},
        ),
    ]
    text = page(rows, 10)
    assert "| in the library | 10 | |" in text
    assert "| tried | 4 | 40% |" in text
    assert "| instantiated | 3 | 75% |" in text
    assert "| run on the CPU | 3 | 100% |" in text
    assert "| captured whole | 2 | 67% |" in text
    assert "| captured in parts | 1 | 33% |" in text
    assert (
        "| `sorts` | Sorts | 1 export | falls-back: `sort` | none | native: falls-back: `histc` |"
        in text
    )
    assert "| `broken` | instantiation: ValueError: no \\| such …/thing.py |" in text
    assert "| `parts` | export: data |" in text
    assert "| `good` | export" not in text.partition("Not captured whole")[2]


def test_components_are_counted_by_library() -> None:
    rows = [
        row("timm:good", instantiated=True, eager=True, cls="Good", inference=captured()),
        row("timm:large", instantiated=True, eager=False, cls="Large", reason="eager: not run"),
        row("diffusers:Broken", reason="instantiation: KeyError: 'norm_type'"),
    ]
    rows = [{**r, "library": "timm 1"} for r in rows]
    text = components_section(rows, {"timm": 98, "diffusers": 161})
    assert "| timm | 98 | 2 | 2 | 1 | 1 | 0 |" in text
    assert "| diffusers | 161 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| `timm:large` | eager: not run |" in text
    assert "| `diffusers:Broken` | instantiation: KeyError: 'norm_type' |" in text


def test_a_component_is_named_as_the_command_names_it(tmp_path: Path) -> None:
    assert named("timm:resnet18", tmp_path) == "timm:resnet18"
    for name in diffusers_components():
        assert is_component(name)
        config = json.loads(Path(named(name, tmp_path)).read_text("utf-8"))
        if name.startswith("transformers:"):
            assert [name.partition(":")[2]] == config["architectures"]
        else:
            assert f"diffusers:{config['_class_name']}" == name


def test_the_later_row_of_an_architecture_counts(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [row("a", reason="old"), row("b"), row("a", reason="new")]
    file.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert {r["architecture"]: r.get("reason") for r in read(file)} == {"a": "new", "b": None}
