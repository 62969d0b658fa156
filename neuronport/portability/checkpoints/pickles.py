"""What a checkpoint's pickle would build, found out without building it.

The opcodes are read by ``pickletools`` and interpreted here, on values of Python's own simple types.
A name means something only when it is in :data:`KNOWN`: the ones that make tensors and plain
containers. Any other is noted and stands for itself; nothing is imported, called or constructed.
"""

from __future__ import annotations

import io
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neuronport.portability.checkpoints.tensors import SIZES, CheckpointError

_MOST_OPCODES = 20_000_000
_MARK = object()


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a pickle imports."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, eq=False, slots=True)
class StorageRef:
    dtype: str
    """Empty: bytes, whose dtype the tensor says."""
    key: str
    location: str
    count: int


@dataclass(frozen=True, eq=False, slots=True)
class TensorRef:
    storage: StorageRef
    dtype: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    location: str


@dataclass(frozen=True, eq=False, slots=True)
class Opaque:
    """What only running the pickle could make."""

    name: str


class _Ordered(dict[Any, Any]):
    """What stands for a dictionary that is called for; it can be filled like one."""


STORAGES: Mapping[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "",
}


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)) or any(type(n) is not int for n in value):
        raise CheckpointError("a tensor's shape or stride is no list of numbers")
    return tuple(value)


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> TensorRef:
    if not isinstance(storage, StorageRef) or type(offset) is not int:
        raise CheckpointError("a tensor is made of something else than a storage")
    return TensorRef(
        storage, storage.dtype, offset, _numbers(size), _numbers(stride), storage.location
    )


def _tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *rest: Any
) -> TensorRef:
    plain = _tensor(storage, offset, size, stride)
    return TensorRef(
        plain.storage, _dtype(dtype), plain.offset, plain.shape, plain.stride, plain.location
    )


def _dtype(value: Any) -> str:
    if isinstance(value, Name) and value.module == "torch" and value.name in SIZES:
        return value.name
    raise CheckpointError(f"a tensor has the unknown dtype {_word(value)}")


def _inside(data: Any, *rest: Any) -> Any:
    """A parameter is its tensor."""
    return data


def _on_device(data: Any, dtype: Any, device: Any, *rest: Any) -> Any:
    """A tensor of a device without storages of its own (XLA), saved from a copy on the CPU."""
    if not isinstance(data, TensorRef):
        raise CheckpointError("a tensor of a device is made of something else than a tensor")
    return TensorRef(data.storage, data.dtype, data.offset, data.shape, data.stride, _word(device))


def _word(value: Any) -> str:
    """For messages and names. Text of a container could be endless: it may hold itself many times
    over."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, (int, Name, float)) else f"a {type(value).__name__}"


def _key(value: Any) -> Any:
    """A key of a dictionary or an element of a set; of nested tuples even the hash could be endless.

    Raises CheckpointError: it is none.
    """
    simple = (str, int, float, bytes, type(None), Name)
    if isinstance(value, simple) or (
        isinstance(value, tuple) and all(isinstance(v, simple) for v in value)
    ):
        return value
    raise CheckpointError(f"its pickle has {_word(value)} for a key")


def _items(value: Any) -> Any:
    if not isinstance(value, (list, tuple, dict, set, frozenset)):
        raise CheckpointError(f"its pickle makes a container of {_word(value)}")
    return value


def _dictionary(value: Any = ()) -> dict[Any, Any]:
    pairs = value.items() if isinstance(value, dict) else _items(value)
    return _Ordered((_key(k), v) for k, v in pairs)


def _bytes(value: Any = b"", *encoding: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    raise CheckpointError(f"its pickle makes bytes of {_word(value)}")


def _number(value: Any = 0) -> Any:
    if isinstance(value, (int, float)):
        return value
    raise CheckpointError(f"its pickle makes a number of {_word(value)}")


def _device(*words: Any) -> str:
    return ":".join(_word(w) for w in words)


def _encoded(value: Any = b"", *encoding: Any) -> bytes:
    """The first protocols spell bytes as text."""
    return _encode(value) if isinstance(value, str) else _bytes(value)


def _encode(text: Any, *encoding: Any) -> bytes:
    if not isinstance(text, str):
        raise CheckpointError("_codecs.encode is called with something else than text")
    return text.encode("latin-1", "replace")


KNOWN: Mapping[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _inside,
    "torch._utils._rebuild_parameter_with_state": _inside,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _on_device,
    "torch.Size": lambda v=(): tuple(_items(v)),
    "torch.device": _device,
    "collections.OrderedDict": _dictionary,
    "collections.defaultdict": lambda factory=None, value=(): _dictionary(value),
    "collections.Counter": _dictionary,
    "_codecs.encode": _encode,
    **{
        f"{module}.{name}": made
        for module in ("builtins", "__builtin__")
        for name, made in (
            ("set", lambda v=(): {_key(x) for x in _items(v)}),
            ("frozenset", lambda v=(): frozenset(_key(x) for x in _items(v))),
            ("list", lambda v=(): list(_items(v))),
            ("tuple", lambda v=(): tuple(_items(v))),
            ("dict", _dictionary),
            ("bytes", _bytes),
            ("bytearray", _encoded),
            ("complex", lambda real=0, imaginary=0: complex(_number(real), _number(imaginary))),
            ("int", _number),
            ("float", _number),
            ("bool", _number),
        )
    },
}
"""Names that may be called, and what stands for them: containers, and what makes tensors. As in
PyTorch's own ``weights_only``, no class of a program and no function that does anything."""


UNREAD = re.compile(
    r"torch\.(cuda\.|sparse\.|cuda\.sparse\.)?\w*(Tensor|Storage)"
    r"|torch\.(storage\.TypedStorage|nn\.parameter\.Parameter|serialization\._get_layout)"
    r"|torch\.(qu?int\d\w*|u?int[1-7]|bits\w+|complex32|float4\w+|per_(tensor|channel)_\w+)"
    r"|torch\._utils\._rebuild_\w+|torch\._tensor\._rebuild_from_type_v2"
)
"""Names of tensors that PyTorch loads with ``weights_only`` and that are not understood here: sparse,
quantized, nested ones, subclasses. They are no programs."""


@dataclass(slots=True)
class Built:
    value: Any
    refused: list[str]
    """Names that only running the pickle could give, in the order they come."""
    unread: list[str]
    """Those of :data:`UNREAD`."""


def interpret(data: bytes) -> Built:
    """What a pickle would build.

    Raises CheckpointError: it is no pickle, is cut off or does what none of PyTorch's does.
    """
    return _Machine().run(data)


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.refused: dict[str, None] = {}

    def run(self, data: bytes) -> Built:
        count = 0
        try:
            for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
                count += 1
                if count > _MOST_OPCODES:
                    raise CheckpointError(f"its pickle has more than {_MOST_OPCODES:,} steps")
                if opcode.name == "STOP":
                    unread = [n for n in self.refused if UNREAD.fullmatch(n)]
                    refused = [n for n in self.refused if n not in unread]
                    return Built(self.stack[-1], refused, unread)
                handler = getattr(self, f"_{opcode.name.lower()}", None)
                if handler is None:
                    raise CheckpointError(
                        f"its pickle uses {opcode.name}, which no checkpoint of PyTorch does"
                    )
                handler(argument)
        except CheckpointError:
            raise
        except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
            # pickletools says with ValueError that it is cut off; a stack that does not fit shows
            # as one of the others.
            raise CheckpointError(f"its pickle is malformed or cut off ({error})") from None
        raise CheckpointError("its pickle does not end")

    # ---- values

    def _push(self, value: Any) -> None:
        self.stack.append(value)

    _int = _binint = _binint1 = _binint2 = _long = _long1 = _long4 = _push
    _float = _binfloat = _push
    _string = _binstring = _short_binstring = _push
    _unicode = _short_binunicode = _binunicode = _binunicode8 = _push
    _binbytes = _short_binbytes = _binbytes8 = _bytearray8 = _push

    def _none(self, _: Any) -> None:
        self.stack.append(None)

    def _newtrue(self, _: Any) -> None:
        self.stack.append(True)

    def _newfalse(self, _: Any) -> None:
        self.stack.append(False)

    def _proto(self, _: Any) -> None:
        pass

    _frame = _proto

    # ---- the stack

    def _mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def _marked(self) -> list[Any]:
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at] is _MARK:
                items = self.stack[at + 1 :]
                del self.stack[at:]
                return items
        raise CheckpointError("its pickle is malformed (no mark)")

    def _pop(self, _: Any) -> None:
        self.stack.pop()

    def _pop_mark(self, _: Any) -> None:
        self._marked()

    def _dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _put(self, index: Any) -> None:
        self.memo[int(index)] = self.stack[-1]

    _binput = _long_binput = _put

    def _memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _get(self, index: Any) -> None:
        self.stack.append(self.memo[int(index)])

    _binget = _long_binget = _get

    # ---- containers

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_set(self, _: Any) -> None:
        self.stack.append(set())

    def _empty_tuple(self, _: Any) -> None:
        self.stack.append(())

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._marked()))

    def _list(self, _: Any) -> None:
        self.stack.append(self._marked())

    def _frozenset(self, _: Any) -> None:
        self.stack.append(frozenset(_key(v) for v in self._marked()))

    def _dict(self, _: Any) -> None:
        items = self._marked()
        keys = [_key(k) for k in items[::2]]
        self.stack.append(dict(zip(keys, items[1::2], strict=True)))

    def _tuple1(self, _: Any) -> None:
        self.stack[-1:] = [tuple(self.stack[-1:])]

    def _tuple2(self, _: Any) -> None:
        self.stack[-2:] = [tuple(self.stack[-2:])]

    def _tuple3(self, _: Any) -> None:
        self.stack[-3:] = [tuple(self.stack[-3:])]

    def _append(self, _: Any) -> None:
        value = self.stack.pop()
        self._extend([value])

    def _appends(self, _: Any) -> None:
        self._extend(self._marked())

    def _extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(values)
        elif not isinstance(target, Opaque):
            raise CheckpointError("its pickle appends to what is no list")

    def _setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._update([key, value])

    def _setitems(self, _: Any) -> None:
        self._update(self._marked())

    def _update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            target.update(zip([_key(k) for k in items[::2]], items[1::2], strict=True))
        elif not isinstance(target, Opaque):
            raise CheckpointError("its pickle sets an item of what is no dictionary")

    def _additems(self, _: Any) -> None:
        values, target = self._marked(), self.stack[-1]
        if isinstance(target, set):
            target.update(_key(v) for v in values)

    # ---- names and calls

    def _global(self, argument: Any) -> None:
        module, _, name = str(argument).partition(" ")
        self.stack.append(self._named(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self._named(_word(module), _word(name)))

    def _named(self, module: str, name: str) -> Name:
        found = Name(module, name)
        storage = module in ("torch", "torch.storage") and name in STORAGES
        dtype = module == "torch" and name in SIZES
        if str(found) not in KNOWN and not storage and not dtype:
            self.refused[str(found)] = None
        return found

    def _binpersid(self, _: Any) -> None:
        self.stack.append(_storage(self.stack.pop()))

    def _reduce(self, _: Any) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if not isinstance(arguments, tuple):
            raise CheckpointError("its pickle calls something with what are no arguments")
        self.stack.append(self._called(called, arguments))

    def _newobj(self, _: Any) -> None:
        self._reduce(None)

    def _newobj_ex(self, _: Any) -> None:
        self.stack.pop()
        self._reduce(None)

    def _called(self, called: Any, arguments: tuple[Any, ...]) -> Any:
        if isinstance(called, Opaque):
            return called
        known = KNOWN.get(str(called)) if isinstance(called, Name) else None
        if known is None:
            # Noted when it was named, unless it is a storage or a dtype, which are not called.
            self.refused.setdefault(_word(called))
            return Opaque(_word(called))
        return known(*arguments)

    def _build(self, _: Any) -> None:
        # A state, for what is on the stack: metadata of a state_dict, or that of a refused object.
        self.stack.pop()


def _storage(pid: Any) -> StorageRef:
    if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
        raise CheckpointError("its pickle refers to something else than a storage")
    _, kind, key, location, count = pid[:5]
    if not isinstance(kind, Name) or not (kind.name in STORAGES or UNREAD.fullmatch(str(kind))):
        raise CheckpointError(f"a storage of the unknown type {_word(kind)}")
    if not isinstance(key, str) or type(count) is not int:
        raise CheckpointError("a storage has no key or no size")
    return StorageRef(STORAGES.get(kind.name, ""), key, _word(location), count)
