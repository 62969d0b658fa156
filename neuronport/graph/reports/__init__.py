"""What people and programs read of a result: one file per form, found by being there.

A form has ``render(result) -> str``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronport.reporting.forms import Forms

if TYPE_CHECKING:
    from neuronport.graph.result import GraphResult

_FORMS: Forms[GraphResult] = Forms(__name__, __path__)
forms = _FORMS.names
named = _FORMS.named
