"""The forms in which portability is shown: every module here, with ``render``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronport.reporting.forms import Forms

if TYPE_CHECKING:
    from neuronport.portability.verdict import Portability

_FORMS: Forms[Portability] = Forms(__name__, __path__)
forms = _FORMS.names
named = _FORMS.named
