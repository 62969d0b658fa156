"""Finding rules and rows by what a person types: an id, a part of one, an API in any spelling."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from neuronport.rulebook.match import candidates
from neuronport.rulebook.model import Rulebook, Spec

_NEAR = 6
_ALIASES = {
    "F": "torch.nn.functional",
    "dist": "torch.distributed",
    "DDP": "torch.nn.parallel.DistributedDataParallel",
    "FSDP": "torch.distributed.fsdp.FullyShardedDataParallel",
    "xm": "torch_xla.core.xla_model",
    "cp": "cupy",
    "tl": "triton.language",
    "bnb": "bitsandbytes",
    "te": "transformer_engine.pytorch",
    "ds": "deepspeed",
    "pl": "pytorch_lightning",
}
"""What people import things as."""


def find_rule(text: str, book: Rulebook) -> list[Spec]:
    """The rules or rows that ``text`` names: an id, or a row's id without ``api/`` or what follows
    ``#`` or ``:``. Several when a name has several rows."""
    text = text.strip()
    spec = book.get(text) or book.get(text.lower().replace("_", "-").replace(" ", "-"))
    if spec is not None:
        return [spec]
    named = text.removeprefix("api/")
    return [row for row in book.rows.values() if named in (row.name, _base(row))]


def near_rules(text: str, book: Rulebook) -> list[str]:
    """Ids that ``text`` may have meant, the likeliest first."""
    named = text.strip().removeprefix("api/").partition("#")[0]
    ids = {spec.id: spec.name or spec.id for spec in book.all()}
    return _near(named, ids)


def _near(text: str, names: dict[str, str]) -> list[str]:
    """Keys whose name is like ``text`` as a whole, holds it, or ends alike."""
    wanted = text.lower()
    found: dict[str, None] = {}
    by_name: dict[str, list[str]] = {}
    by_last: dict[str, list[str]] = {}
    for key, name in names.items():
        name = name.lower().removesuffix(".*")
        by_name.setdefault(name, []).append(key)
        by_last.setdefault(name.rpartition(".")[2], []).append(key)
    for like in difflib.get_close_matches(wanted, by_name, _NEAR, 0.75):
        found.update(dict.fromkeys(by_name[like]))
    if len(wanted) > 2:
        for name in sorted(by_name, key=lambda n: (len(n), n)):
            if wanted in name:
                found.update(dict.fromkeys(by_name[name]))
    last = wanted.rpartition(".")[2]
    for like in difflib.get_close_matches(last, by_last, _NEAR, 0.75):
        found.update(dict.fromkeys(by_last[like]))
    return list(found)[:_NEAR]


@dataclass(frozen=True)
class Answer:
    """What is known of an API."""

    spelled: str
    """The name that was understood."""
    exact: Sequence[Spec] = ()
    """Rows of the name itself, or of names that end in it."""
    below: Sequence[Spec] = ()
    """Rows of names below it."""
    catch_all: Sequence[Spec] = ()
    """Rows that speak for names they do not name; only where nothing else is known."""
    near: Sequence[str] = ()
    """Names like it; only where nothing else is known."""


def spelling(text: str) -> str:
    """The dotted name in what a person pastes: ``@torch.no_grad()``, ``from a import b``, ``x.y(z)``."""
    text = text.strip().removeprefix("api/")
    from_import = re.match(r"from\s+([\w.]+)\s+import\s+(\w+)", text)
    if from_import:
        text = f"{from_import[1]}.{from_import[2]}"
    text = re.sub(r"^import\s+", "", text)
    text = re.split(r"\s+as\s|[(\[\s]", text.lstrip("@"), maxsplit=1)[0]
    return text.strip(".").removesuffix(".*")


def look_up(text: str, book: Rulebook) -> Answer:
    """What the tables say of an API, by its full name, an alias, or the end of a name."""
    name = spelling(text)
    if not name:
        return Answer(name)
    rows = sorted(book.rows.values(), key=lambda s: (s.name, s.id))
    spellings = [name]
    head, dot, rest = name.partition(".")
    if head in _ALIASES:
        spellings.append(_ALIASES[head] + dot + rest)
    for fold in (str, str.lower):
        for spelled in spellings:
            for known in (_whole, _end):
                answer = known(fold(spelled), rows, fold)
                if answer is not None:
                    return answer
    for spelled in reversed(spellings):
        caught = candidates(spelled, book) or _imported(spelled, book)
        if caught:
            return Answer(spelled, catch_all=tuple(caught), near=_names_near(spelled, rows))
    return Answer(name, near=_names_near(name, rows))


def _base(spec: Spec) -> str:
    return spec.name.removesuffix(".*")


def _whole(name: str, rows: Sequence[Spec], fold: Callable[[str], str]) -> Answer | None:
    """Rows of the name itself and of what is below it."""
    exact = [row for row in rows if fold(_base(row)) == name]
    below = [row for row in rows if fold(row.name).startswith(name + ".") and row not in exact]
    return Answer(name, exact, below) if exact or below else None


def _end(name: str, rows: Sequence[Spec], fold: Callable[[str], str]) -> Answer | None:
    """Rows of names that end in it; of names that have it inside when none does."""
    exact = [row for row in rows if fold(_base(row)).endswith("." + name)]
    if exact:
        return Answer(name, exact)
    below = [row for row in rows if f".{name}." in fold(row.name)]
    return Answer(name, (), below) if below else None


def _imported(name: str, book: Rulebook) -> Sequence[Spec]:
    """The import row of the nearest package that has one."""
    while name:
        if name in book.imports:
            return book.imports[name]
        name = name.rpartition(".")[0]
    return ()


def _names_near(name: str, rows: Iterable[Spec]) -> list[str]:
    return _near(name, {_base(row): _base(row) for row in rows})
