"""A switch that stands for CUDA, read or set: ``args.cuda``, ``opt.gpu_ids``, ``self.use_cuda``."""

from __future__ import annotations

from collections.abc import Iterator

from neuronport.detectors import Hit
from neuronport.detectors.device import _strings, _switches
from neuronport.findings import Confidence
from neuronport.readers.python.facts import Event
from neuronport.source.values import is_part
from neuronport.source.view import ModuleView

_COUNTS = frozenset(
    [
        "gpus",
        "ngpu",
        "n_gpu",
        "ngpus",
        "num_gpus",
        "n_gpus",
        "gpu_num",
        "gpu_index",
        "gpu_list",
        "device_ids",
        "ngpus_per_node",
        "gpus_per_node",
        "multi_gpu",
    ]
)
"""How many or which: what a port has to look at, but not a choice of CUDA in itself."""
NAMES = _COUNTS | frozenset(
    [
        "cuda",
        "no_cuda",
        "use_cuda",
        "nocuda",
        "gpu",
        "gpus",
        "use_gpu",
        "no_gpu",
        "gpu_id",
        "gpu_ids",
        "gpuid",
        "ngpu",
        "n_gpu",
        "ngpus",
        "num_gpus",
        "n_gpus",
        "cuda_device",
        "cuda_id",
        "on_gpu",
        "with_cuda",
        "enable_cuda",
        "gpu_num",
        "gpu_index",
        "use_gpus",
        "gpu_list",
        "device_ids",
        "multi_gpu",
        "ngpus_per_node",
        "gpus_per_node",
        "cuda_available",
        "has_cuda",
    ]
)
_SAID = frozenset(("print", "format", "info", "debug", "warning", "warn", "error", "log"))
_TAKES_NUMBERS = ("torch.cuda.", "torch.device", "torch.nn.DataParallel", "torch.nn.parallel.")
_GIVEN = frozenset(("device_ids", "output_device"))
_CALL_LINES = 12
"""How far above an argument its call may begin."""
_MAX_DEPTH = 6
EVENTS = ("attr", "param")
STRINGS = _strings.STRINGS
ONLY = NAMES


def check(event: Event, view: ModuleView) -> Iterator[Hit]:
    if event.name not in NAMES:
        return
    if event.kind == "param":
        if event.name in ("device_ids", "cuda"):
            return
        says, instead = _switches.by_name(event.name)
        yield Hit(
            event.span,
            f"the parameter {event.name} {says}",
            Confidence.POSSIBLE,
            replacement=instead,
        )
        return
    if view.kind(event.value).kind in ("tensor", "module", "array", "device", "class", "name"):
        return
    base = event.value
    if base is not None and base[0] == "ref":
        return
    likely = event.name not in _COUNTS and _is_settings(event, view)
    confidence = Confidence.LIKELY if likely else Confidence.POSSIBLE
    says, instead = _stands_for(event, view)
    if event.role == "load":
        if _again(event, view):
            return
        handed = _handed(event, view)
        if handed == "told":
            return
        if handed == "said":
            confidence = Confidence.POSSIBLE
    yield Hit(
        event.span,
        f"{view.text(event.value, whole=True)}.{event.name} {says}",
        confidence,
        replacement=instead,
    )


def _stands_for(event: Event, view: ModuleView) -> tuple[str, str]:
    """What a setting stands for, by what it holds where that is known, else by its name."""
    if event.name not in _switches.NUMBERS and event.name not in _switches.LISTS:
        return _switches.by_name(event.name)
    atoms = view.follow(("attr", event.value, event.name))
    held = [a.value[1] for a in atoms if a.value is not None and a.value[0] == "const"]
    return _switches.by_value(event.name, held)


def _again(event: Event, view: ModuleView) -> bool:
    """Whether another place of the line says the same: the setting is set there, or read before."""
    return any(
        (other.name in NAMES and other.role == "store")
        or (other.name == event.name and other.value == event.value and other.at < event.at)
        for other in view.events_at.get(event.at[0], ())
    )


def _handed(event: Event, view: ModuleView) -> str:
    """What a setting is for that is given to a call: ``told`` where a finding of the call, or of the
    text of a device beside it, says the same; ``said`` where it is only printed. Empty: neither."""
    this, line = ("attr", event.value, event.name), event.at[0]
    if line in _device_texts(view):
        return "told"
    said = False
    for n in range(line, line - _CALL_LINES, -1):
        for call in view.calls_at.get(n, ()):
            if call.at[2] < line:
                continue
            positional = any(is_part(this, v, _MAX_DEPTH) for v in call.args or ())
            named = [key for key, v in call.kwargs if is_part(this, v, _MAX_DEPTH)]
            if not positional and not named:
                continue
            if not _GIVEN.isdisjoint(named):
                return "told"
            if call.kind == "method":
                if call.name == "cuda":
                    return "told"
                said = said or call.name in _SAID
            elif call.kind == "use":
                name = view.index.canonical(call.name, view.summary)
                if name.startswith(_TAKES_NUMBERS):
                    return "told"
                said = said or name.rpartition(".")[2] in _SAID
    return "said" if said else ""


def _device_texts(view: ModuleView) -> frozenset[int]:
    """The lines in which the text of a CUDA device is made: ``f"cuda:{args.gpu}"``."""
    return view.once("device texts", lambda: _find_device_texts(view))


def _find_device_texts(view: ModuleView) -> frozenset[int]:
    return frozenset(
        event.at[0]
        for event in view.facts.events
        if event.kind == "str"
        and event.name.lstrip().startswith("cuda:")
        and _strings.DEVICE.search(event.name)
        and not _strings.is_compared(_strings.unwrap(event.role)[0])
    )


def _is_settings(event: Event, view: ModuleView) -> bool:
    """Whether the base is what holds settings: parsed arguments, a configuration, self."""
    base = event.value
    if base is None:
        return False
    if base[0] == "self":
        return True
    text = view.text(base).rpartition(".")[2].lower()
    if base[0] == "v":
        text = view.summary.definitions[base[1]].name.lower()
    return any(
        word in text
        for word in ("arg", "opt", "conf", "cfg", "param", "flag", "setting", "hparam", "self")
    )
