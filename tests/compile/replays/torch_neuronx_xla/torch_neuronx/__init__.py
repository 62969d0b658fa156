"""Plays torch_neuronx of the xla path: ``trace`` with the documented parameters.

Folder of intermediates (``model/graph.hlo``, ``graph.neff``, ``command.txt``) and what is raised when
the compiler fails (``RuntimeError: neuronx-cc failed with STATUS``) as a public copy of the package has
them. ``REPLAY_TRACE`` names what happens.
"""

import ctypes
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import torch

_HOW = os.environ.get("REPLAY_TRACE", "compiles")


def _trace(func, example_inputs, compiler_workdir, compiler_args, cpu_backend):
    assert isinstance(example_inputs, (torch.Tensor, tuple))
    arguments = (
        shlex.split(compiler_args) if isinstance(compiler_args, str) else list(compiler_args or ())
    )
    assert not cpu_backend or "--target" in arguments, "cpu_backend needs a target"
    if _HOW == "exits":
        sys.exit(3)
    if _HOW == "crashes":
        ctypes.string_at(0)
    if _HOW == "not-lowered":
        raise RuntimeError("torch_xla/csrc/aten_fallback.cpp: aten::something has no lowering")
    time.sleep(0.3)
    folder = Path(compiler_workdir)
    (folder / "model").mkdir(parents=True, exist_ok=True)
    (folder / "model" / "graph.hlo").write_bytes(b"hlo module")
    neff = folder / "graph.neff"
    command = ["neuronx-cc", "compile", str(folder / "model" / "graph.hlo"), "--framework", "XLA"]
    if "--target" not in arguments:
        command += ["--target", "trn1"]
    command += ["--output", str(neff), *arguments]
    (folder / "command.txt").write_text(" ".join(os.path.basename(c) for c in command))
    status = subprocess.run(command, cwd=folder).returncode
    if status:
        raise RuntimeError(f"neuronx-cc failed with {status}")
    return torch.jit.trace(func, example_inputs, strict=False)


if _HOW == "without-cpu-backend":

    def trace(
        func,
        example_inputs,
        *_,
        input_output_aliases=None,
        compiler_workdir=None,
        compiler_args=None,
        partitioner_config=None,
    ):
        return _trace(func, example_inputs, compiler_workdir, compiler_args, False)

else:

    def trace(
        func,
        example_inputs,
        *_,
        input_output_aliases=None,
        compiler_workdir=None,
        compiler_args=None,
        partitioner_config=None,
        inline_weights_to_neff=True,
        cpu_backend=False,
    ):
        assert not _, "arguments after the second are given by name"
        return _trace(func, example_inputs, compiler_workdir, compiler_args, cpu_backend)
