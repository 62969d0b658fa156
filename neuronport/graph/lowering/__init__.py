"""The calls of a captured graph, run by torch_xla on the CPU: what is lowered, what falls back.

``calls.py`` makes of a graph a list of calls, which ``program.py`` reads in the environment that
``--xla-python`` names (see ``neuronport/xla_environment``); there ``worker.py`` runs them, one call
after the other with the arguments that the CPU has computed, then all together. ``measured.py`` is
what comes back; ``agreement.py`` holds it against the operator table.

XLA's CPU compiler is not neuronx-cc: that a call is lowered means that there is HLO for it.
"""
