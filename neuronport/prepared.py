"""What a wheel brings along so that the first run does not make it: the rules and the tables of
operators in the forms in which an audit wants them.

Whoever reads one makes sure that it is of the very rules that are installed; where it is not, or is
not there (a checkout, an editable install), the first run makes it in the user's cache folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

RULEBOOK = "rulebook.json"
OPERATORS = "operators"


def file(*parts: str) -> Path:
    """Where one of them is, if it is anywhere."""
    return Path(__file__).resolve().parent.joinpath("_data", "prepared", *parts)


def make(folder: Path) -> None:
    """Make all of them; needs nothing but Python."""
    from neuronport.operators.index import open_index
    from neuronport.rulebook.load import compact_form

    folder.mkdir(parents=True, exist_ok=True)
    (folder / RULEBOOK).write_text(compact_form(), encoding="utf-8")
    open_index(folder=folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
