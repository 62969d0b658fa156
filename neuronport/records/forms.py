"""From what is in a file to the newest form: old envelopes, old bodies, and bodies without one.

Each step takes one form to the next, so that a file of any age goes through all that came since.
Form 0 is the bare output of a command with ``--format json``, kept before there were records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuronport.records.kinds import kinds
from neuronport.records.model import FORM, Change, Kind, Step


class FormError(ValueError):
    """A document that is no record; says why, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Brought:
    """A document in the newest form."""

    envelope: dict[str, Any]
    kind: Kind
    form: int
    """The form it had."""
    newer: tuple[Change, ...]
    """What of it is newer than what is known here."""


def _wrapped(document: dict[str, Any]) -> dict[str, Any]:
    """Form 0 → 1: a bare output gets an envelope that says what nobody noted."""
    kind = _kind_of(document)
    tool = document.get("tool")
    return {
        "record": kind.name,
        "form": 1,
        "tool": tool if isinstance(tool, dict) else {"name": "neuronport", "version": ""},
        "made": "",
        "tree": {},
        "inputs": {},
        "not_looked_at": None,
        "body": document,
    }


STEPS: Mapping[int, Step] = {0: _wrapped}
"""Form of an envelope → what makes the next one of it."""


def bring(document: Any) -> Brought:
    """A document in the newest form.

    Raises FormError: it is no record.
    """
    if not isinstance(document, dict):
        raise FormError("not a record: no JSON object", "remove it or record again")
    form = document.get("form", 0) if "record" in document else 0
    if type(form) is not int or form < 0:
        raise FormError(f"its form {form!r} is no number", "record again")
    newer: list[Change] = []
    for number in range(form, FORM):
        document = STEPS[number](document)
    if form > FORM:
        newer.append(Change("newer-form", "the record", f"form {form}, known: {FORM}"))
    kind = kinds().get(str(document.get("record")))
    if kind is None:
        raise FormError(
            f"a record of the unknown kind {document.get('record')!r}",
            f"upgrade neuronport, or remove it; known: {', '.join(kinds())}",
        )
    _check_envelope(document, kind)
    document = {**document, "body": _body(document["body"], kind, newer)}
    return Brought(document, kind, form, tuple(newer))


_ENVELOPE: Mapping[str, type] = {"tool": dict, "made": str, "tree": dict, "inputs": dict}


def _check_envelope(document: Mapping[str, Any], kind: Kind) -> None:
    again = f"record again with {kind.command} --record"
    for key, expected in _ENVELOPE.items():
        if not isinstance(document.get(key), expected):
            raise FormError(f"`{key}` is missing or of the wrong type", again)
    if not isinstance(document.get("body"), dict):
        raise FormError("it has no body", again)
    if not all(isinstance(v, str) for v in document["inputs"].values()):
        raise FormError("an input has no digest", again)
    missed = document.get("not_looked_at")
    if missed is not None and not (
        isinstance(missed, list) and all(isinstance(row, dict) for row in missed)
    ):
        raise FormError("`not_looked_at` is of the wrong type", again)


def _body(body: dict[str, Any], kind: Kind, newer: list[Change]) -> dict[str, Any]:
    again = f"record again with {kind.command} --record"
    version = _version(body, kind)
    if version is None:
        raise FormError(f"its body names the schema {body.get('schema')!r}", again)
    for number in range(version, kind.version):
        step = kind.steps.get(number)
        if step is None:
            raise FormError(f"version {number} of its body is no longer known", again)
        body = step(body)
    if version > kind.version:
        newer.append(
            Change("newer-form", f"its {kind.name}", f"version {version}, known: {kind.version}")
        )
    for key, expected in kind.needs.items():
        if key not in body or not isinstance(body[key], expected):
            raise FormError(f"`{key}` of its body is missing or of the wrong type", again)
    return body


def _version(body: Mapping[str, Any], kind: Kind) -> int | None:
    """The version of a body; 0: it names no schema; None: it is of another kind."""
    schema = body.get("schema")
    if schema is None:
        return 0
    if not isinstance(schema, str) or not schema.startswith(kind.schema):
        return None
    number = schema[len(kind.schema) :]
    return int(number) if number.isdecimal() and len(number) < 6 else None


def _kind_of(document: Mapping[str, Any]) -> Kind:
    """The kind of a bare output: by its schema, else by the keys it cannot be without."""
    for kind in kinds().values():
        if document.get("schema") is not None and _version(document, kind) is not None:
            return kind
    if document.get("schema") is None:
        for kind in kinds().values():
            if 0 in kind.steps and kind.needs.keys() <= document.keys():
                return kind
    raise FormError(
        "not a record, nor the JSON of a command that makes one",
        "remove it, or record again with --record",
    )
