"""Tiny random models of every architecture in the installed transformers: does a graph come out?

::

    python -m tools.sweep_architectures run sweep.jsonl          # hours; goes on where it stopped
    python -m tools.sweep_architectures write sweep.jsonl docs/architectures.md

A model is made small (``tiny.py``), run on the CPU, and captured in a process of its own with
limits (``sweep.py``). The table (``write.py``) counts the chain all → instantiated → run → captured
and says for each miss why.
"""
