"""Compiling a model with what is here, and saying of each graph what came of it.

::

    request ─ tools here ─ driver ─┬─ worker in the user's environment (Neuron's compilers)
                                   └─ graph capture ─ worker with torch_xla ─ neuronx-cc or XLA:CPU
                                                            │
                                              attempts ─ diagnosis ─ reports

Neuron's seconds and XLA's on the CPU are never in the same field: an attempt knows which compiler it
was, and every report names it with the seconds.

==================  ==============================================================================
``drivers/``        one way to compile a file, found by being there
``workers/``        what runs in other interpreters: probing, tracing, lowering
``here.py``         what can compile here, and how to get what is missing
``job.py``          what is asked
``result.py``       what came of it: attempts, seconds, memory, cache, artifacts
``run.py``          chooses drivers and runs them
``neff.py``         the header of a NEFF
``diagnosis.py``    errors with code, cause and remedy, from ``rules/compile``
``reports/``        text, JSON, Markdown
==================  ==============================================================================
"""
