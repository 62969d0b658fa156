"""``python -m tools.build_operators``: survey PyTorch and write ``rules/operators/torch/``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from neuronport.operators.tables import folder

from .survey import survey
from .write import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="also keep the survey in this file")
    parser.add_argument("--write-only", type=Path, help="write the tables from a kept survey")
    options = parser.parse_args()
    if options.write_only:
        found = json.loads(options.write_only.read_text(encoding="utf-8"))
    else:
        found = json.loads(json.dumps(survey()))
        if options.keep:
            options.keep.write_text(json.dumps(found), encoding="utf-8")
    write(found, folder())


if __name__ == "__main__":
    main()
