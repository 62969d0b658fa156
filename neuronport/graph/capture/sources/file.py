"""A Python file: its ``model()`` and ``inputs()``, else the one class that needs nothing.

``loss(output, …)`` and ``training_inputs()`` are used when they are there. A file with neither is
searched for a ``torch.nn.Module`` whose constructor can be called with a configuration made of the
defaults and annotations of the same file (see ``_guess``).
"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from neuronport.graph.capture.model import InputSet, Model, NamingError
from neuronport.graph.capture.sources import Request
from neuronport.graph.capture.sources._given import for_model, returned

ORDER = 30
_SMALL = {
    "vocab_size": 256,
    "n_vocab": 256,
    "vocab": 256,
    "block_size": 64,
    "max_seq_len": 64,
    "context_length": 64,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "depth": 2,
    "n_head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "n_embd": 64,
    "dim": 64,
    "d_model": 64,
    "hidden_size": 64,
}


def accepts(request: Request) -> bool:
    return request.named.endswith(".py") and request.is_path


def model(request: Request) -> Model:
    path = os.path.abspath(request.named)
    module = _load(path)
    made: Callable[[], Any] | None = getattr(module, "inputs", None)
    training = getattr(module, "training_inputs", None)
    factory = getattr(module, "model", None)
    if callable(factory) and not isinstance(factory, ModuleType):

        def build() -> torch.nn.Module:
            built = factory if isinstance(factory, torch.nn.Module) else factory()
            if not isinstance(built, torch.nn.Module):
                raise NamingError(f"model() gives a {type(built).__name__}, no torch.nn.Module")
            return built

        return Model(
            request.named,
            "file",
            build,
            for_model(request, made),
            training_inputs=(
                (lambda _: returned(training())) if training and not request.inputs else None
            ),
            loss=getattr(module, "loss", None),
            on_meta=not isinstance(factory, torch.nn.Module),
        )
    return _guess(request, module)


def _load(path: str) -> ModuleType:
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NamingError(f"{path}: not importable")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# -- files that were not written for this -----------------------------------------------------------


def _guess(request: Request, module: ModuleType) -> Model:
    """The outermost module class of the file, built with small sizes.

    Sizes are invented, which is said; the operators do not depend on them.
    """
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, torch.nn.Module)
        and value.__module__ == module.__name__
    ]
    inner = {
        name for c in classes for name in _names_in(c) if name != c.__name__
    }  # classes that others build
    outer = [c for c in classes if c.__name__ not in inner]
    if len(outer) != 1:
        names = ", ".join(c.__name__ for c in (outer or classes)) or "none"
        raise NamingError(
            f"{request.named} has no model(), and not one outermost torch.nn.Module ({names}):"
            " write model() and inputs(), or name module:factory"
        )
    (chosen,) = outer
    arguments = _arguments(chosen, module)

    def build() -> torch.nn.Module:
        built = chosen(**arguments)
        assert isinstance(built, torch.nn.Module)
        return built

    def sets(built: torch.nn.Module) -> list[InputSet]:
        if request.inputs:
            return list(for_model(request, None)(built))
        embedding = next((m for m in built.modules() if isinstance(m, torch.nn.Embedding)), None)
        if embedding is None:
            raise NamingError("no inputs: give --input, for example --input 'randn(1,3,224,224)'")
        length = min(
            [request.sequence]
            + [m.num_embeddings for m in built.modules() if isinstance(m, torch.nn.Embedding)]
        )
        tokens = torch.randint(0, embedding.num_embeddings, (request.batch, length))
        names = list(inspect.signature(built.forward).parameters.values())
        targets = next((p.name for p in names[1:2] if p.name in ("targets", "labels")), None)
        found = [InputSet("forward", (tokens,))]
        if targets:
            found.append(InputSet("training", (tokens, tokens.clone()), training=True))
        return found

    note = ", ".join(f"{k}={_shown(v)}" for k, v in arguments.items())
    return Model(
        f"{request.named}: {chosen.__name__}({note})",
        "guessed",
        build,
        lambda m: [s for s in sets(m) if not s.training],
        training_inputs=lambda m: (
            [s for s in sets(m) if s.training] or [s for s in sets(m) if not s.training]
        ),
    )


def _names_in(cls: type) -> set[str]:
    names: set[str] = set()
    for value in vars(cls).values():
        code = getattr(value, "__code__", None)
        stack = [code] if code is not None else []
        while stack:
            current = stack.pop()
            names |= set(current.co_names)
            stack += [c for c in current.co_consts if hasattr(c, "co_names")]
    return names


def _arguments(cls: type, module: ModuleType) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for parameter in list(inspect.signature(cls).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty:
            continue
        kind = parameter.annotation
        if isinstance(kind, str):
            kind = getattr(module, kind, kind)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            arguments[parameter.name] = _configuration(kind)
        elif parameter.name in _SMALL:
            arguments[parameter.name] = _SMALL[parameter.name]
        else:
            raise NamingError(
                f"{cls.__name__} needs {parameter.name!r}: write model() and inputs(), or name"
                " module:factory"
            )
    return arguments


def _configuration(cls: type) -> Any:
    given = {}
    for field in dataclasses.fields(cls):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            if field.name not in _SMALL:
                raise NamingError(f"{cls.__name__} needs {field.name!r}")
            given[field.name] = _SMALL[field.name]
    return cls(**given)


def _shown(value: Any) -> str:
    return type(value).__name__ if dataclasses.is_dataclass(value) else repr(value)
