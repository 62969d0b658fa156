# neuronport: ignore-file[*] written by `neuronport port --scaffold xla`, for the xla path alone
"""Compile the model once per bucket and save it: ``python compile_model.py [--out FOLDER]``.

Runs where torch-neuronx is installed. ``--cpu-backend`` compiles without a device; the compiler has
to be told the chip then: ``--compiler-args="--target inf2"``.
"""

import argparse
import json
import shlex
import time
from pathlib import Path

import torch
from neuron_model import BUCKETS, example, load


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "compiled")
    parser.add_argument("--bucket", type=int, action="append", help="only this one; repeatable")
    parser.add_argument("--compiler-args", default="", help="for neuronx-cc")
    parser.add_argument("--cpu-backend", action="store_true", help="compile without a device")
    arguments = parser.parse_args()
    import torch_neuronx

    options = {}
    if arguments.compiler_args:
        options["compiler_args"] = shlex.split(arguments.compiler_args)
    if arguments.cpu_backend:
        options["cpu_backend"] = True
    model = load()
    arguments.out.mkdir(parents=True, exist_ok=True)
    seconds = {}
    for bucket in sorted(set(arguments.bucket or BUCKETS)):
        inputs = example(bucket)
        start = time.perf_counter()
        with torch.no_grad():
            traced = torch_neuronx.trace(model, inputs, **options)
        seconds[str(bucket)] = round(time.perf_counter() - start, 1)
        torch.jit.save(traced, str(arguments.out / f"model_{bucket}.pt"))
        print(f"bucket {bucket}: compiled in {seconds[str(bucket)]} s")
    (arguments.out / "buckets.json").write_text(json.dumps(seconds, indent=1) + "\n")


if __name__ == "__main__":
    main()
