# neuronport: ignore-file[*] the one place of this project that knows which devices there are
"""Where this project runs: on CUDA where there is CUDA, else on AWS Neuron, else on the CPU.

Written by ``neuronport port``; yours to change. Other accelerators are not asked for, so that
machines without CUDA and without Neuron do what they did before: name them in ``device_name`` if
the project is to use them.
"""

import contextlib
import inspect
import time

import torch


def device_name(index=None):
    """The device as text: ``cuda``, ``cuda:1``, ``neuron`` or ``cpu``.

    ``index`` is for CUDA: a Neuron process has one device, and there is one CPU.
    """
    if torch.cuda.is_available():
        return "cuda" if index is None else f"cuda:{index}"
    if hasattr(torch, "neuron") and torch.neuron.is_available():
        return "neuron"
    return "cpu"


def get_device(index=None):
    """The device; a device or the name of one is taken as it is, a number may be text."""
    if isinstance(index, torch.device) or (isinstance(index, str) and not index.isdigit()):
        return torch.device(index)
    return torch.device(device_name(index))


def device_module():
    """``torch.cuda``, ``torch.neuron`` or ``torch.cpu``, in every PyTorch."""
    return getattr(torch, device_name())


def is_accelerated():
    """Whether there is a device besides the CPU."""
    return device_name() != "cpu"


def _of(device):
    """The device as an argument for CUDA; a Neuron process has one, whatever its number."""
    return [device] if device is not None and torch.cuda.is_available() else []


def device_count():
    """How many devices this process sees; 0 where there is only the CPU, as CUDA counts."""
    return device_module().device_count() if is_accelerated() else 0


def synchronize(device=None):
    """Wait for the device; the CPU is never behind."""
    if is_accelerated():
        device_module().synchronize(*_of(device))


def empty_cache():
    """Give unused memory back, where there is a cache."""
    if hasattr(device_module(), "empty_cache"):
        device_module().empty_cache()


def manual_seed(seed):
    """Seed the device's generator; the CPU's is ``torch.manual_seed``'s."""
    if is_accelerated():
        device_module().manual_seed(seed)


def manual_seed_all(seed):
    """Seed the generators of all devices; the CPU's is ``torch.manual_seed``'s."""
    if is_accelerated():
        device_module().manual_seed_all(seed)


def memory_allocated(device=None):
    """Bytes held by tensors on the device; 0 where nobody counts."""
    count = getattr(device_module(), "memory_allocated", None)
    return count(*_of(device)) if count else 0


def max_memory_allocated(device=None):
    """The most bytes ever held by tensors on the device; 0 where nobody counts."""
    count = getattr(device_module(), "max_memory_allocated", None)
    return count(*_of(device)) if count else 0


def memory_reserved(device=None):
    """Bytes held by the device's allocator; 0 where nobody counts."""
    count = getattr(device_module(), "memory_reserved", None)
    return count(*_of(device)) if count else 0


def max_memory_reserved(device=None):
    """The most bytes ever held by the device's allocator; 0 where nobody counts."""
    count = getattr(device_module(), "max_memory_reserved", None)
    return count(*_of(device)) if count else 0


def reset_peak_memory_stats(device=None):
    """Begin to count the most bytes anew, where somebody counts."""
    reset = getattr(device_module(), "reset_peak_memory_stats", None)
    if reset:
        reset(*_of(device))


def on_neuron(model):
    """A model that a loader placed: moved where there is Neuron, which loaders may not know of."""
    return model.to(get_device()) if device_name() == "neuron" else model


def is_bf16_supported():
    """Whether to compute in bfloat16: what CUDA says, and yes on Neuron."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return device_name() == "neuron"


def half_dtype():
    """float16 where it was float16, bfloat16 on Neuron, which needs no loss scaling with it."""
    return torch.bfloat16 if device_name() == "neuron" else torch.float16


def device_rng_state(device=None):
    """The state of the device's generator; the CPU's where there is only the CPU."""
    if is_accelerated():
        return device_module().get_rng_state(*_of(device))
    return torch.get_rng_state()


def device_rng_states():
    """The states of the generators of all devices; none where there is only the CPU."""
    if torch.cuda.is_available():
        return torch.cuda.get_rng_state_all()
    return [device_rng_state()] if is_accelerated() else []


def set_device_rng_state(state, device=None):
    """Set the device's generator; a state that another kind of device left says nothing to it."""
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(state, *_of(device))
    elif state.numel() == device_rng_state().numel():
        module = device_module() if is_accelerated() else torch
        module.set_rng_state(state)


def set_device_rng_states(states):
    """Set the generators of all devices."""
    if torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states)
    elif is_accelerated() and states:
        set_device_rng_state(states[0])


class HostEvent:
    """Stands in for a CUDA event: the device is done when it is recorded, and the clock is the host's."""

    def __init__(self):
        self.time = None

    def record(self, stream=None):
        synchronize()
        self.time = time.perf_counter()

    def elapsed_time(self, end_event):
        """Milliseconds."""
        return (end_event.time - self.time) * 1e3

    def query(self):
        return True

    def wait(self, stream=None):
        pass

    def synchronize(self):
        pass


class OneStream:
    """Stands in for a stream where there is one queue: what comes later waits for what came before."""

    def __eq__(self, other):
        return isinstance(other, OneStream)

    def __hash__(self):
        return 0

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = HostEvent() if event is None else event
        event.record()
        return event

    def query(self):
        return True

    def synchronize(self):
        synchronize()


def device_event(*args, **words):
    """``torch.cuda.Event(…)`` with CUDA; elsewhere an event by the host's clock."""
    return torch.cuda.Event(*args, **words) if torch.cuda.is_available() else HostEvent()


def device_stream(*args, **words):
    """``torch.cuda.Stream(…)`` with CUDA; elsewhere the one queue there is."""
    return torch.cuda.Stream(*args, **words) if torch.cuda.is_available() else OneStream()


def current_stream(device=None):
    """The CUDA stream in use; elsewhere the one queue there is."""
    return torch.cuda.current_stream(device) if torch.cuda.is_available() else OneStream()


def default_stream(device=None):
    """The CUDA stream that is there from the start; elsewhere the one queue there is."""
    return torch.cuda.default_stream(device) if torch.cuda.is_available() else OneStream()


def on_stream(stream):
    """A context in which CUDA takes another stream."""
    if torch.cuda.is_available():
        return torch.cuda.stream(stream)
    return contextlib.nullcontext(stream)


def set_device(device):
    """Choose the CUDA device of this process; a Neuron process has its core from LOCAL_RANK."""
    if torch.cuda.is_available():
        torch.cuda.set_device(device)


def distributed_backend():
    """The backend of process groups."""
    return {"cuda": "nccl", "neuron": "neuron"}.get(device_name(), "gloo")


def compile_backend():
    """The backend of ``torch.compile``: Neuron's on Neuron, elsewhere PyTorch's own default."""
    if device_name() == "neuron":
        return "neuron"
    return inspect.signature(torch.compile).parameters["backend"].default


def number(x):
    """The number in a tensor of one element; a number as it is."""
    return x.item() if isinstance(x, torch.Tensor) else x


def masked_mean(x, mask):
    """``x[mask].mean()`` over the full length, so that no shape depends on the data."""
    mask = mask.expand_as(x)
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    return (torch.where(mask, x, 0).sum(dtype=wide) / mask.sum()).to(x.dtype)


def _over(mask, x, dim):
    """A mask of some dimensions of ``x`` from ``dim`` on, laid out to be combined with ``x``."""
    return mask.reshape(mask.shape + (1,) * (x.dim() - dim - mask.dim()))


def fill_by_mask(x, mask, value, dim=0):
    """``x[mask] = value`` without a list of indices; ``dim`` is where the mask's dimensions begin."""
    plain = isinstance(value, (bool, int, float))
    single = isinstance(value, torch.Tensor) and value.dim() == 0
    if getattr(mask, "dtype", None) is not torch.bool or not (plain or single):
        x[(slice(None),) * dim + (mask,)] = value
    elif plain:
        x.masked_fill_(_over(mask, x, dim), value)
    else:
        x.copy_(torch.where(_over(mask, x, dim), value.to(x), x))


def copy_by_mask(x, mask, y, dim=0):
    """``x[mask] = y[mask]`` over the full length; ``dim`` is where the mask's dimensions begin."""
    if getattr(mask, "dtype", None) is not torch.bool or x.shape != y.shape:
        at = (slice(None),) * dim + (mask,)
        x[at] = y[at]
    else:
        x.copy_(torch.where(_over(mask, x, dim), y.to(x.dtype), x))


def true_rows(mask):
    """The rows of a mask in which anything is true, as a mask: ``torch.where(mask)[0]``."""
    return mask.reshape(mask.shape[0], -1).any(1)


def first_true(mask):
    """``mask.nonzero()[0, 0]``; on Neuron without a list of indices, and 0 where nothing is true."""
    if device_name() != "neuron":
        return mask.nonzero()[0, 0]
    return true_rows(mask).int().argmax()


def only_true(mask):
    """``mask.nonzero().item()``, as a number; on Neuron the first, without a list of indices."""
    return mask.nonzero().item() if device_name() != "neuron" else first_true(mask).item()


def expert_rows(mask, dim):
    """``torch.where(mask)`` of an expert's tokens; on Neuron all tokens, whose dimension is ``dim``.

    A token that did not choose the expert is given zero by ``chosen_only``.
    """
    if device_name() != "neuron":
        return torch.where(mask)
    rows = torch.arange(mask.shape[dim], device=mask.device)
    place = (mask != 0).int().argmax(1 - dim)
    return (rows, place) if dim == 0 else (place, rows)


def chosen_only(weights, mask, first, second):
    """Weights read by ``expert_rows``: zero for the tokens that did not choose the expert."""
    if device_name() != "neuron":
        return weights
    chosen = mask[first, second] != 0
    return weights * chosen.reshape(chosen.shape + (1,) * (weights.dim() - 1))


def hit_experts(hit):
    """``hit.nonzero()``; on Neuron every expert, whether it was hit or not."""
    if device_name() != "neuron":
        return hit.nonzero()
    return torch.arange(hit.shape[0]).unsqueeze(-1)


def turned(pairs, angles):
    """Pairs of numbers, in a last dimension of two, turned by angles: times ``exp(1j * angles)``."""
    if angles.dtype in (torch.float16, torch.bfloat16):
        raise TypeError("angles in half precision are rounded too much: keep them in float32")
    x, y = pairs.unbind(-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1)


def narrow_index(index):
    """An index of gather or scatter: int32 on Neuron, which has no int64; elsewhere as it is."""
    if device_name() != "neuron":
        return index
    if not hasattr(narrow_index, "dtype"):
        try:
            torch.zeros(1).gather(0, torch.zeros(1, dtype=torch.int32))
            narrow_index.dtype = torch.int32
        except RuntimeError:  # this PyTorch insists on int64
            narrow_index.dtype = torch.int64
    return index.to(narrow_index.dtype)


def dense_attention(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    alibi_slopes=None,
    deterministic=False,
):
    """``flash_attn_func`` by scaled_dot_product_attention: tensors are (batch, length, heads, size).

    Causal is aligned to the last query and key, as there; rows that see no key are zero; fewer key
    than query heads are shared. ``deterministic`` is for torch.use_deterministic_algorithms to say.
    """
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    if k.shape[1] != q.shape[1]:
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
    rows, columns = q.shape[2], k.shape[2]
    left, right = window_size[0], 0 if causal else window_size[1]
    square = causal and left < 0 and rows == columns and alibi_slopes is None
    mask = empty = None
    if not square and (left >= 0 or right >= 0 or alibi_slopes is not None):
        row = torch.arange(rows, device=q.device)[:, None] + (columns - rows)
        column = torch.arange(columns, device=q.device)[None]
        mask = column - row <= right if right >= 0 else column >= 0
        if left >= 0:
            mask = mask & (row - column <= left)
        mask = mask.expand(rows, columns)
        if 0 <= right < rows - columns:
            empty = ~mask.any(dim=1, keepdim=True)
            mask = mask | empty
        if alibi_slopes is not None:
            slopes = alibi_slopes.reshape(-1, alibi_slopes.shape[-1], 1, 1)
            mask = (-slopes * (column - row).abs()).masked_fill(~mask, float("-inf")).to(q.dtype)
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=dropout_p, is_causal=square, scale=softmax_scale
    )
    if empty is not None:
        out = out.masked_fill(empty, 0.0)
    return out.transpose(1, 2)


def biased_attention(query, key, value, attn_bias=None, p=0.0, scale=None, causal=False):
    """xFormers' ``memory_efficient_attention`` by scaled_dot_product_attention.

    Tensors are (batch, length, heads, size) or (batch, length, size), ``attn_bias`` is a tensor that
    is added to the scores; ``causal`` is its LowerTriangularMask, aligned to the first query and key.
    """
    if query.dim() == 3:
        bias = attn_bias.unsqueeze(1) if attn_bias is not None else None
        query, key, value = query.unsqueeze(2), key.unsqueeze(2), value.unsqueeze(2)
        return biased_attention(query, key, value, bias, p, scale, causal).squeeze(2)
    return torch.nn.functional.scaled_dot_product_attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        attn_mask=attn_bias,
        dropout_p=p,
        is_causal=causal,
        scale=scale,
    ).transpose(1, 2)
