"""Small records for tests, and the schemas that records have to fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry, Resource

from neuronport.data import data_folder
from neuronport.records import Snapshot, write


def schemas() -> Registry[Any]:
    registry: Registry[Any] = Registry()
    for file in sorted(data_folder("schemas").glob("*.json")):
        resource = Resource.from_contents(json.loads(file.read_text("utf-8")))
        registry = resource @ registry
    return registry


def check(record: Any, name: str = "record") -> None:
    """Raises ValidationError: ``record`` is not as ``schemas/NAME.json`` says."""
    schema = json.loads((data_folder("schemas") / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema, registry=schemas()).validate(record)


GRAPH: dict[str, Any] = {
    "schema": "neuronport/graph/1",
    "model": {"name": "model.py"},
    "targets": [],
    "graphs": [],
    "summary": {},
    "findings": [],
    "failures": [],
}


def graph(folder: Path, name: str, *files: Path) -> Path:
    """A record of a graph called ``name``, of ``files`` in the folder above."""
    body = {**GRAPH, "model": {"name": name}}
    snapshot = Snapshot.of_named(str(folder.parent), map(str, files))
    return Path(write(str(folder), "graph", json.dumps(body), snapshot))
