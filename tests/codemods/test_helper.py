"""A project's own function for its device is asked where it is at hand, the seam elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.codemods.porting import plant, port

HELPER = """import torch


def get_device():
    \"\"\"Where to run.\"\"\"
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def test_the_helper_asks_the_seam_and_its_users_ask_the_helper(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "utils.py": HELPER,
            "train.py": "import torch\nfrom utils import get_device as where\n\n\n"
            "def train(model, x):\n    model.to(where())\n    return model(x.cuda())\n",
            "other.py": "import torch\n\n\ndef f(x):\n    return x.cuda()\n",
        },
    )
    new = port(tmp_path)
    assert "return model(x.to(where()))" in new["train.py"]
    assert "neuron_device" not in new["train.py"]
    assert "neuron_device import get_device as port_get_device" in new["utils.py"]
    assert "    return port_get_device()\n" in new["utils.py"]
    assert "from neuron_device import get_device" in new["other.py"]
    assert port(tmp_path) == {}
    # Once ported, the helper is still taken.
    (tmp_path / "train.py").write_text(new["train.py"] + "\n\ny = torch.ones(1).cuda()\n")
    assert "y = torch.ones(1).to(where())" in port(tmp_path)["train.py"]


def test_in_a_package_and_in_its_own_file(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/utils.py": HELPER + "\n\nx = torch.ones(1).cuda()\n",
            "app/net.py": "import torch\nfrom .utils import get_device\n\n\n"
            "def run(x):\n    return x.cuda(), torch.zeros(1, device='cuda'), get_device()\n",
        },
    )
    new = port(tmp_path)
    assert "x.to(get_device()), torch.zeros(1, device=get_device())" in new["app/net.py"]
    assert "neuron_device" not in new["app/net.py"]
    assert "x = torch.ones(1).to(get_device())" in new["app/utils.py"]
    assert "return port_get_device()" in new["app/utils.py"]
    assert port(tmp_path) == {}


def test_what_decides_otherwise_is_no_helper(tmp_path: Path) -> None:
    helpers = {
        "a": "def get_device(index=0):\n    return torch.device('cuda', index)\n",
        "b": "def get_device():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n",
        "c": "def get_device():\n    log()\n"
        "    return torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
        "d": "def get_device():\n    return torch.device('cpu')\n",
    }
    for name, code in helpers.items():
        root = tmp_path / name
        root.mkdir()
        plant(
            root,
            {
                "utils.py": f"import torch\n\n\n{code}",
                "use.py": "import torch\nfrom utils import get_device\n\n\n"
                "def run(x):\n    return x.cuda(), get_device()\n",
            },
        )
        new = port(root)
        assert "x.to(port_get_device())" in new["use.py"], name


def test_a_name_that_means_something_else_somewhere_is_not_taken(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "utils.py": HELPER,
            "use.py": "import torch\nfrom utils import get_device\n\n\n"
            "def run(x, get_device):\n    return x.cuda(), get_device\n",
        },
    )
    assert "x.to(port_get_device())" in port(tmp_path)["use.py"]
