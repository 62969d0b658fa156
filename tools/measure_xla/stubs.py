"""Empty CUDA libraries, so that PyPI's torch imports without three gigabytes of CUDA wheels.

PyPI's torch 2.9 for Linux on x86_64 is linked against CUDA; torch_xla has to be used with exactly
that build. Nothing here ever calls CUDA, but the dynamic linker wants every library and every
symbol version. What the libraries of torch ask for is read out of them, and answered by functions
that return an error.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

_WANTED = re.compile(r"lib(cu|nv|nccl)")
_LIBRARY = re.compile(r"NEEDED.*\[(.*)\]")
ERROR = 35
"""``cudaErrorInsufficientDriver``: torch then says that there is no usable CUDA."""

# what has no symbol version is told apart by how it begins
PREFIXES: Mapping[str, str] = {
    "libcublas": r"cublas(?!Lt)",
    "libcublasLt": r"cublasLt",
    "libcudart": r"cuda",
    "libcudnn": r"cudnn",
    "libcufft": r"cufft",
    "libcufile": r"cuFile",
    "libcupti": r"cupti",
    "libcurand": r"curand",
    "libcusparse": r"cusparse(?!Lt)",
    "libcusparseLt": r"cusparseLt",
    "libcusolver": r"cusolver",
    "libnccl": r"nccl",
    "libnvrtc": r"nvrtc",
    "libnvshmem_host": r"nvshmem",
}


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(library: Path) -> set[str]:
    """The CUDA libraries ``library`` is linked against."""
    found = _LIBRARY.findall(_output("readelf", "-d", str(library)))
    return {name for name in found if _WANTED.match(name)}


def undefined(library: Path) -> dict[str, set[str]]:
    """Symbol version → symbols that ``library`` expects of others; version ``""``: none."""
    symbols: dict[str, set[str]] = defaultdict(set)
    for line in _output("nm", "-D", "--undefined-only", str(library)).splitlines():
        name, _, version = line.split()[-1].partition("@")
        symbols[version.lstrip("@")].add(name)
    return symbols


def defined(library: Path) -> set[str]:
    lines = _output("nm", "-D", "--defined-only", str(library)).splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines}


def stem_of(name: str) -> str:
    return name.partition(".so")[0]


def belongs(version: str, library: str) -> bool:
    """Whether symbol version ``version`` (``libcublas.so.12``, ``NVSHMEM``) is of ``library``."""
    if version == "NVSHMEM":
        return "nvshmem" in library
    return stem_of(version) == stem_of(library)


def contents(
    library: str, wanted: Mapping[str, Iterable[str]]
) -> tuple[list[str], dict[str, list[str]]]:
    """The symbols ``library`` must have, and which of them under which version."""
    versions = {v: sorted(names) for v, names in wanted.items() if v and belongs(v, library)}
    symbols = {name for names in versions.values() for name in names}
    prefix = PREFIXES.get(stem_of(library))
    if prefix:
        symbols |= {name for name in wanted.get("", ()) if re.match(prefix, name)}
    return sorted(symbols), versions


def make(torch_lib: Path, target: Path) -> list[str]:
    """Write the libraries that those in ``torch_lib`` need into ``target``; their names."""
    target.mkdir(parents=True, exist_ok=True)
    wanted: dict[str, set[str]] = defaultdict(set)
    libraries: set[str] = set()
    own: set[str] = set()
    for file in sorted(torch_lib.glob("lib*.so")):
        libraries |= needed(file)
        own |= defined(file)
        for version, names in undefined(file).items():
            wanted[version] |= names
    wanted[""] -= own
    with tempfile.TemporaryDirectory() as scratch:
        for library in sorted(libraries):
            _compile(library, *contents(library, wanted), Path(scratch), target)
    return sorted(libraries)


def _compile(
    library: str,
    symbols: list[str],
    versions: Mapping[str, list[str]],
    scratch: Path,
    target: Path,
) -> None:
    source = scratch / "stub.c"
    source.write_text("".join(f"int {name}(void) {{ return {ERROR}; }}\n" for name in symbols))
    command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{library}"]
    if versions:
        script = scratch / "stub.map"
        script.write_text(
            "\n".join(
                f"{version} {{ global: {' '.join(f'{n};' for n in names)} }};"
                for version, names in versions.items()
            )
        )
        command.append(f"-Wl,--version-script={script}")
    subprocess.run([*command, "-o", str(target / library), str(source)], check=True)
