"""The page: templates filled, the policy that lets nothing but its own script and style act."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from neuronport.data import data_folder
from neuronport.reporting.escape import visible
from neuronport.reporting.html import plots
from neuronport.reporting.html.island import encode, island
from neuronport.reporting.joined import wording
from neuronport.reporting.joined.compiles import COMPILERS, another_ran
from neuronport.reporting.joined.figures import shown
from neuronport.reporting.joined.levels import reason
from neuronport.reporting.joined.model import Report
from neuronport.reporting.summary import duration

_GROUPS = 300
"""How many causes the table has; the findings of the rest are in the list all the same."""
_DIFF_LINES = 400
_DIFF_FILES = 60


def render(report: Report) -> Iterator[str]:
    """The whole page, in order."""
    style, script = _part("page.css"), _part("page.js")
    # A stylesheet or script that a name of an audited file could reach would defeat the policy;
    # both are constant, and the policy names their digests.
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    data = report.data
    template = _environment().get_template("page.html.j2")
    packed = island(report)
    yield from template.generate(
        data=data,
        style=Markup(style),
        script=Markup(script),
        policy=policy,
        island=Markup(encode(packed)),
        frames_missing=packed.get("without_frame", 0),
        fig=partial(figure, data),
        quoted=quoted,
        code=code,
        words=wording,
        plots=plots,
        effort_rows=effort_rows,
        reason=reason,
        compilers=COMPILERS,
        another_ran=another_ran,
        groups_shown=_GROUPS,
        diff_lines=_DIFF_LINES,
        diff_files=_DIFF_FILES,
    )


def figure(data: Mapping[str, Any], path: str, kind: str = "count") -> Markup:
    """A figure of the report by its path in :attr:`Report.data`: the only way a number gets here."""
    value: Any = data
    for step in path.split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return Markup('<data class="figure" data-figure="{}" data-as="{}" value="{}">{}</data>').format(
        visible(path), kind, "" if value is None else value, shown(value, kind)
    )


def as_step(key: str) -> str:
    """A key that the records chose as one step of a path, as JSON pointers have it."""
    return str(key).replace("~", "~0").replace("/", "~1")


def quoted(text: object) -> Markup:
    """Text that the records hold, as it stands there."""
    return Markup("<span data-quoted>{}</span>").format(visible(str(text)))


def code(text: object) -> Markup:
    return Markup('<code data-quoted dir="ltr">{}</code>').format(visible(str(text)))


def effort_rows(effort: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    return [
        (f"l-{level}", row["low_minutes"], row["high_minutes"])
        for level, row in effort["by_level"].items()
    ]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(data_folder("templates") / "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["step"] = as_step
    environment.filters["duration"] = duration
    return environment


@cache
def _part(name: str) -> str:
    return (data_folder("templates") / "report" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
