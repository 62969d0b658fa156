"""What people and programs read of a result: one file per form, found by being there.

A form has ``render(result) -> str``. Each names the compiler with its seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronport.reporting.forms import Forms

if TYPE_CHECKING:
    from neuronport.compile.result import Result

_FORMS: Forms[Result] = Forms(__name__, __path__)
forms = _FORMS.names
named = _FORMS.named
