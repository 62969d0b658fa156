"""Parameters that can only be tensors, from what the body does with them."""

from __future__ import annotations

from neuronport.readers.python.facts import ModuleFacts, Value
from neuronport.source.kinds import constructed, table

_MAX_DEPTH = 5


def tensor_params(facts: ModuleFacts) -> frozenset[tuple[str, str]]:
    """``(function, parameter)`` of parameters that are passed to PyTorch as tensors, have methods
    called that only tensors have, or are indexed over several axes where NumPy is not imported."""
    usage = table()["usage"]
    methods = frozenset(usage["methods"])
    of_comparisons = frozenset(usage["of-comparisons"])
    takes_other = frozenset(usage["takes-other"])
    packages = {e.name.partition(".")[0] for e in facts.events if e.kind == "import"}
    numpy = "numpy" in packages
    # A random generator of NumPy's draws from a ``multinomial`` too.
    arrays = numpy and "torch" not in packages
    found: set[tuple[str, str]] = set()

    def add(value: Value) -> None:
        # A loop: a function that calls itself would keep the facts alive, the collector being off.
        for _ in range(_MAX_DEPTH):
            if value is None:
                return
            if value[0] == "param":
                found.add((value[1], value[2]))
                return
            if value[0] == "item":
                value = value[1]  # what is picked from a tensor is one
            elif value[0] == "v":
                value = facts.definitions[value[1]].value
            else:
                return

    for event in facts.events:
        if event.kind == "use" and event.role == "call" and event.args:
            if (
                event.name.startswith("torch.")
                and event.name not in takes_other
                and constructed(event.name) == "tensor"
            ):
                add(event.args[0])
        elif event.kind == "method":
            if event.name in methods and not arrays:
                add(event.value)
            elif (
                event.name in of_comparisons
                and not numpy
                and event.value is not None
                and event.value[0] == "cmp"
            ):
                add(event.value[1])
        elif event.kind == "item" and not numpy and event.args:
            index = event.args[0]
            if index is not None and index[0] == "tuple" and any(map(_is_axis, index[1])):
                add(event.value)
    return frozenset(found)


def _is_axis(value: Value) -> bool:
    """What only arrays and tensors are indexed with: a slice, a new axis, an ellipsis."""
    return value is not None and (
        value[0] == "slice" or (value[0] == "const" and (value[1] is None or value[1] is ...))
    )
