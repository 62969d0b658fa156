"""Compare the compiled model with the original on the CPU: ``python check_model.py``.

Full and part-filled buckets; exit 1 where an output is further off than the tolerances allow. The
compiler casts to bfloat16 by default, hence their size: tighten them with ``--auto-cast none``.
"""

import argparse
import sys

import torch
from neuron_model import crop, example, length, load
from run_model import Compiled


def tensors(output):
    """The tensors of an output, in order."""
    if isinstance(output, torch.Tensor):
        return [output]
    values = output.values() if isinstance(output, dict) else output
    if not isinstance(output, (dict, list, tuple)):
        return []
    return [t for value in values for t in tensors(value)]


def compare(expected, actual, rtol, atol):
    """The largest difference, and whether every element is close enough."""
    worst, close = 0.0, len(expected) == len(actual) and bool(expected)
    for a, b in zip(expected, actual, strict=False):
        if a.shape != b.shape:
            return float("inf"), False
        a, b = a.float(), b.float()
        worst = max(worst, (a - b).abs().max().item() if a.numel() else 0.0)
        close = close and torch.allclose(a, b, rtol=rtol, atol=atol)
    return worst, close


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compiled", help="the folder of compile_model.py")
    parser.add_argument("--rtol", type=float, default=1e-2)
    parser.add_argument("--atol", type=float, default=1e-2)
    arguments = parser.parse_args()
    compiled = Compiled(arguments.compiled)
    model = load()
    failed = False
    for bucket in compiled.buckets:
        whole = example(bucket)
        for inputs in (whole, crop(list(whole), max(1, length(whole) * 3 // 4))):
            with torch.no_grad():
                expected = tensors(model(*inputs))
            worst, close = compare(
                expected, tensors(compiled(*inputs)), arguments.rtol, arguments.atol
            )
            failed = failed or not close
            mark = "ok" if close else "TOO FAR"
            print(f"bucket {bucket}, length {length(inputs)}: at most {worst:.3g} off  {mark}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
