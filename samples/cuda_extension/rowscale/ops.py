"""The kernel behind an autograd function, and what does the same without it."""

import warnings

import torch
import torch.nn.functional as F

try:
    from rowscale import _C
except ImportError:
    _C = None
    if torch.cuda.is_available():
        warnings.warn("rowscale was built without its CUDA kernel, falling back to PyTorch")


def has_kernel():
    return _C is not None and torch.cuda.is_available()


class RMSGateFunction(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
    def forward(ctx, x, gate, eps):
        x, gate = x.contiguous(), gate.contiguous()
        y, rstd = _C.rms_gate_forward(x, gate, eps)
        ctx.save_for_backward(x, gate, rstd)
        return y

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        x, gate, rstd = ctx.saved_tensors
        dx, dgate = _C.rms_gate_backward(grad.contiguous(), x, gate, rstd)
        return dx, dgate, None


def rms_gate_reference(x, gate, eps):
    rstd = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (x * rstd).to(x.dtype) * F.silu(gate)


def rms_gate(x, gate, eps=1e-6):
    """x divided by its root mean square along the last dimension, times silu(gate)."""
    if x.is_cuda and has_kernel():
        return RMSGateFunction.apply(x, gate, eps)
    return rms_gate_reference(x, gate, eps)
