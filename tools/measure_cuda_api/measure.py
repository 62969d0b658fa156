"""Call PyTorch's CUDA names on this build of torch, one process each, and write what happens.

See README.md. Linux only: a call runs in a forked child so that torch is imported once and a call
that changes global state, hangs or crashes spoils no other.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import signal
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
SECONDS_PER_CALL = 30
LONGEST_DETAIL = 160
SCRATCH = tempfile.TemporaryDirectory()  # some calls write files


def enumerated(modules: list[str]) -> list[str]:
    """The public names of ``modules``: listed in ``__all__`` or defined there, without underscore."""
    names = []
    for module_name in modules:
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError:  # not in this version of torch
            continue
        listed = set(getattr(module, "__all__", ()))
        for name in sorted(dir(module)):
            value = getattr(module, name, None)
            if name.startswith("_") or inspect.ismodule(value):
                continue
            if name in listed or getattr(value, "__module__", None) == module_name:
                names.append(f"{module_name}.{name}")
    return names


def expression_for(name: str, arguments: dict[str, str]) -> str:
    """What to evaluate for ``name``: a call if it can be called, else the name itself."""
    if name in arguments:
        return f"{name}{arguments[name]}"
    module, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(module), last)
    return f"{name}()" if callable(value) else name


def told(value: object) -> str:
    text = f"{type(value).__name__}: {value!r}"
    text = re.sub(r" at 0x[0-9a-f]+", "", text.splitlines()[0] if text else "")
    text = re.sub(r"(/[\w.+-]+){3,}", "<path>", text)
    return text[:LONGEST_DETAIL]


def is_missing(error: BaseException, expression: str) -> bool:
    """Whether the name written in ``expression`` is what is not there, not one that it needs."""
    if not isinstance(error, (AttributeError, ImportError)):
        return False
    absent = re.search(r"(?:no attribute|cannot import name) '(\w+)'", str(error))
    return absent is not None and re.search(rf"\b{absent[1]}\b", expression) is not None


def evaluated(expression: str) -> tuple[str, str]:
    """The outcome and its detail, in this process."""
    scope: dict[str, Any] = {"torch": torch}
    for match in re.findall(r"torch(?:\.\w+)+", expression):
        parts = match.split(".")
        for end in range(2, len(parts)):  # submodules that `import torch` does not load
            try:
                importlib.import_module(".".join(parts[:end]))
            except ImportError:
                break
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            try:
                code = compile(expression, "<call>", "eval")
            except SyntaxError:
                exec(compile(expression, "<call>", "exec"), scope)
                outcome, detail = "returns", "no value"
            else:
                outcome, detail = "returns", told(eval(code, scope))
        except BaseException as error:  # a measured call may raise anything
            first = (str(error).strip().splitlines() or [""])[0]
            first = re.sub(r"(/[\w.+-]+){3,}", "<path>", first)[:LONGEST_DETAIL]
            outcome = "missing" if is_missing(error, expression) else "raises"
            detail = f"{type(error).__name__}: {first}"
    if shown:
        first = str(shown[0].message).strip().splitlines()[0]
        first = re.sub(r"(/[\w.+-]+){3,}", "<path>", first)[:LONGEST_DETAIL]
        detail += f" [{shown[0].category.__name__}: {first}]"
    return outcome, re.sub(r"\s+", " ", detail)


def measured(expression: str) -> tuple[str, str]:
    """``evaluated`` in a forked child; ``dies`` when the child does not come back."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS_PER_CALL)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(tempfile.mkdtemp(prefix="measure-", dir=SCRATCH.name))
        os.write(writing, "\0".join(evaluated(expression)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if not answer:
        return "dies", f"wait status {status}"
    outcome, _, detail = answer.partition("\0")
    return outcome, detail


def main() -> None:
    data = tomllib.loads((HERE / "calls.toml").read_text(encoding="utf-8"))
    arguments: dict[str, str] = data["arguments"]
    calls = {n: expression_for(n, arguments) for n in enumerated(data["modules"])}
    calls |= {n: f"{n}{given}" for n, given in arguments.items()}
    calls |= data["expressions"]
    rows = ["name\texpression\toutcome\tdetail"]
    for name, expression in sorted(calls.items()):
        rows.append("\t".join((name, expression.replace("\n", "; "), *measured(expression))))
    target = HERE / "results" / f"torch-{torch.__version__.replace('+', '-')}.tsv"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows) - 1} calls written to {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
