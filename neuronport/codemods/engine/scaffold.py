"""Scaffolds: programs a project needs on a path, written beside its code for people to complete.

A scaffold is a folder of ``templates/scaffolds/``, found by being there. Files are taken as they are;
those that end in ``.j2`` are filled with what is known of the project.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

import jinja2

from neuronport.codemods.engine.model import Rewritten
from neuronport.codemods.engine.project import Project
from neuronport.data import data_folder
from neuronport.findings import Role

_MOST = 12


class Candidate(NamedTuple):
    """A module of the project that may be the model."""

    module: str
    name: str
    arguments: str
    inputs: str
    bare: bool
    """Whether it can be made without arguments."""


def scaffolds() -> tuple[str, ...]:
    """The paths there are scaffolds for."""
    folder = data_folder("templates") / "scaffolds"
    return tuple(sorted(p.name for p in folder.iterdir() if p.is_dir()))


def scaffold(project: Project, path: str) -> tuple[list[Rewritten], list[str]]:
    """The files of a path's scaffold that the project lacks, and those that are there already."""
    folder = data_folder("templates") / "scaffolds" / path
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(folder)),
        autoescape=False,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    candidates = _candidates(project)
    bare = [c for c in candidates if c.bare]
    chosen = bare[0] if len(bare) == 1 else None
    new: list[Rewritten] = []
    there: list[str] = []
    for file in sorted(folder.iterdir()):
        target = f"neuron_{path}/{file.name.removesuffix('.j2')}"
        if target in project.files:
            there.append(target)
            continue
        if file.suffix == ".j2":
            text = environment.get_template(file.name).render(
                candidates=candidates[:_MOST], chosen=chosen
            )
        else:
            text = file.read_text(encoding="utf-8")
        ast.parse(text)
        new.append(Rewritten(target, None, text))
    return new, there


def _candidates(project: Project) -> list[Candidate]:
    """Classes of the project's own code that are modules with a ``forward`` and no part of another."""
    found: list[Candidate] = []
    made: set[str] = set()
    for path in project.python:
        if project.files[path].role is not Role.CODE:
            continue
        source = project.source(path)
        if source is None:
            continue
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                    made.add(inner.func.id)
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and any(_is_module(b) for b in node.bases):
                candidate = _candidate(module, node)
                if candidate is not None:
                    found.append(candidate)
    return [c for c in found if c.name not in made]


def _is_module(base: ast.expr) -> bool:
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    return name in ("Module", "PreTrainedModel", "LightningModule", "ModelMixin")


def _candidate(module: str, node: ast.ClassDef) -> Candidate | None:
    methods = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    forward, init = methods.get("forward"), methods.get("__init__")
    if forward is None:
        return None
    inputs = ", ".join(a.arg for a in forward.args.args[1:])
    if init is None:
        return Candidate(module, node.name, "", inputs, True)
    names = [a.arg for a in init.args.args[1:]]
    required = len(names) - len(init.args.defaults)
    missing = any(d is None for d in init.args.kw_defaults)
    return Candidate(module, node.name, ", ".join(names), inputs, required <= 0 and not missing)
