"""Values followed over files keep to the file they stand in."""

from tests.rules.judging import judge_files


def test_attribute_of_an_object_made_in_another_file(tmp_path):
    part = judge_files(
        tmp_path,
        {
            "pad.py": "a = 1\n" * 30,
            "holder.py": "import torch\nclass Holder:\n    def __init__(self, kind):\n"
            "        self.inner = torch.device(kind)\n        self.other = kind\n",
            "main.py": "from holder import Holder\nh = Holder('cuda')\n"
            "def f(x):\n    if h.inner.type == 'cuda':\n        return x.to(h.inner.missing.thing)\n",
        },
    )
    assert not part.not_looked_at
    assert {(f.location.path, f.location.line) for f in part.findings} >= {("main.py", 4)}
