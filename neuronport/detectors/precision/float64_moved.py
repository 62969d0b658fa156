"""NumPy's doubles, or other float64 tensors, moved to the device before they are converted."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors._tensors import CERTAIN, LIKELY
from neuronport.detectors.precision._dtypes import CASTS, formats
from neuronport.readers.python.facts import Event, Value
from neuronport.source.view import ModuleView

METHODS = ("to", "cuda")
EVENTS = ("method",)
_MAX_DEPTH = 8
_WRAPPING = frozenset(
    (
        "torch.from_numpy",
        "torch.as_tensor",
        "torch.tensor",
        "torch.utils.data.default_convert",
    )
)
_DOUBLES = frozenset(
    f"numpy.{n}"
    for n in (
        "loadtxt",
        "genfromtxt",
        "linspace",
        "logspace",
        "geomspace",
        "zeros",
        "ones",
        "empty",
        "eye",
        "identity",
        "random.rand",
        "random.randn",
        "random.random",
        "random.uniform",
        "random.normal",
        "random.standard_normal",
        "random.random_sample",
        "random.multivariate_normal",
        "random.exponential",
        "random.beta",
        "random.dirichlet",
    )
)
"""What gives float64 unless told otherwise."""
_KEEPING = frozenset(
    (
        "reshape",
        "copy",
        "transpose",
        "flatten",
        "ravel",
        "squeeze",
        "view",
        "unsqueeze",
        "clone",
        "contiguous",
        "permute",
        "repeat",
        "expand",
        "t",
        "cumsum",
        "clip",
        "detach",
        "pin_memory",
    )
)
_MAPS = frozenset(
    f"numpy.{n}"
    for n in (
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "abs",
        "concatenate",
        "stack",
        "mean",
        "ascontiguousarray",
    )
)


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in METHODS or event.args is None:
        return
    value = event.value
    if value is None or value[0] in ("self", "param", "const", "attr"):
        return
    if event.name == "to":
        if not event.args and not any(key == "device" for key, _ in event.kwargs):
            return
        if any(key == "dtype" for key, _ in event.kwargs):
            return
        if any(formats(view, arg) and formats(view, arg) != [""] for arg in event.args):
            return
        if any("cpu" in text for arg in event.args for text, _ in view.strings(arg)):
            return
    found = _double(view, value)
    if found:
        yield Hit(
            event.span,
            f"{found} is moved to the device as float64; convert on the host first",
            CERTAIN if found.startswith("numpy") else LIKELY,
        )


def _double(view: ModuleView, value: Value, depth: int = 0) -> str:
    """Where the doubles of a host tensor come from; '': it holds none, as far as is known."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    tag = value[0]
    if tag == "v":
        return _double(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag == "item":
        return _double(view, value[1], depth + 1)
    if tag != "call" or value[1] is None:
        return ""
    func = value[1]
    if func[0] == "attr":
        if func[2] == "double":
            return "a tensor made double"
        if func[2] in CASTS:
            return ""
        return _double(view, func[1], depth + 1) if func[2] in _KEEPING else ""
    if func[0] != "ref":
        return ""
    name = view.index.canonical(func[1], view.summary)
    given = [f for k, v in value[3] if k == "dtype" for f in formats(view, v)]
    if any(k == "dtype" for k, _ in value[3]):
        return "a float64 tensor" if given == ["float64"] and name.startswith("torch.") else ""
    if name in _WRAPPING and value[2]:
        source = _array(view, value[2][0], depth + 1)
        return f"numpy's array of {source}" if source else ""
    return ""


def _array(view: ModuleView, value: Value, depth: int = 0) -> str:
    """The NumPy function that made an array of doubles."""
    if value is None or depth > _MAX_DEPTH:
        return ""
    tag = value[0]
    if tag == "v":
        return _array(view, view.summary.definitions[value[1]].value, depth + 1)
    if tag in ("item", "neg"):
        return _array(view, value[1], depth + 1)
    if tag == "attr":
        return _array(view, value[1], depth + 1) if value[2] == "T" else ""
    if tag == "bin":
        return _array(view, value[2], depth + 1) or _array(view, value[3], depth + 1)
    if tag != "call" or value[1] is None:
        return ""
    func = value[1]
    if func[0] == "attr":
        if func[2] == "astype":
            wanted = value[2][0] if value[2] else None
            return "astype" if wanted in _NUMPY_DOUBLES else ""
        return _array(view, func[1], depth + 1) if func[2] in _KEEPING else ""
    if func[0] != "ref":
        return ""
    name = view.index.canonical(func[1], view.summary)
    wanted = next((v for k, v in value[3] if k == "dtype"), None)
    if wanted is not None:
        return name.rpartition(".")[2] if wanted in _NUMPY_DOUBLES else ""
    if name in _DOUBLES:
        if name in ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.eye") and len(value[2]) > 1:
            return ""
        return name.rpartition(".")[2]
    if name in ("numpy.array", "numpy.asarray") and len(value[2]) == 1:
        items = value[2][0]
        if items is not None and items[0] in ("list", "tuple"):
            flat = [
                i for item in items[1] for i in (item[1] if item and item[0] == "list" else (item,))
            ]
            if any(i is not None and i[0] == "const" and isinstance(i[1], float) for i in flat):
                return "array"
        return _array(view, items, depth + 1)
    if name in _MAPS and value[2]:
        return _array(view, value[2][0], depth + 1)
    return ""


_NUMPY_DOUBLES = (
    ("ref", "numpy.float64"),
    ("ref", "numpy.double"),
    ("ref", "builtins.float"),
    ("const", "float64"),
    ("const", "double"),
)
