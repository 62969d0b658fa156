"""Code of neuronport's own, run by an interpreter that has torch_xla.

torch_xla 2.9 is the last version of the `xla` path and works with torch 2.9 alone, so that it lives
in an environment of its own, named with ``--xla-python``. Nothing there knows neuronport; nothing
here imports torch.

::

    from neuronport.xla_environment import XlaPython, run
    python = XlaPython("/opt/xla/bin/python")
    python.versions()                      # {"torch": "2.9.0", "torch_xla": "2.9.0", …}
    done = run(python, "neuronport.graph.lowering.worker", request, seconds=600, megabytes=8192)
    done.rows, done.why

A *worker* is a module with ``main(request, write)``: ``request`` is what was given to ``run``,
``write(row)`` appends a row, which survives whatever ends the process. It imports the standard
library, torch, torch_xla and other workers' modules, nothing else of neuronport.

==================  ==============================================================================
``interpreter.py``  the environment: its variables, its versions
``running.py``      starts a worker with limits and reads its rows
``start.py``        what the interpreter is started with: limits, then the worker
``hlo.py``          what a text of HLO says; read on both sides
``metrics.py``      torch_xla's counters; in the environment only
==================  ==============================================================================
"""

from __future__ import annotations

from neuronport.xla_environment.interpreter import XlaEnvironmentError, XlaPython
from neuronport.xla_environment.running import Done, run

__all__ = ["Done", "XlaEnvironmentError", "XlaPython", "run"]
