"""Comments are found where Python's tokenizer finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronport.codemods.engine.comments import comments, tokenized

HARD = [
    "x = 1  # one\n",
    "s = '#'; t = \"# no\"  # yes '\"\n",
    "s = '''\n# no\n\"\"\"\n'''  # yes\n",
    "s = r'\\'  # '\n",
    "s = r'\\' # no' # yes\n",
    "s = 'a\\\n# no'  # yes\n",
    "s = b'\\\\'  # yes\n",
    "# größer ''' \n'''#''' # ü\n",
    's = \'\'  # empty\nt = """"# no"""  # yes\n',
    "s = f'{x}#{y!r:>{w}}'  # yes\r\nt = 1 # two\r\n",
    "#!/usr/bin/env python\n#\n\x0c\n# after a form feed\n",
    "if x:  # a\n\t# b\n\ty = 1\\\n\t+ 2  # c",
]


@pytest.mark.parametrize("text", HARD)
def test_hard_ones(text: str) -> None:
    compile(text, "case", "exec")
    assert comments(text) == tokenized(text)


def test_a_whole_tree() -> None:
    files = sorted((Path(__file__).parents[2] / "neuronport").rglob("*.py"))
    assert len(files) > 100
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert comments(text) == tokenized(text), file
