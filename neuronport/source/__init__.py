"""Understanding Python across the files of a tree, from facts alone.

``index``   every module's exports, definitions and classes; canonical names through re-exports
``values``  what a symbolic value can be: followed through variables, branches, calls, attributes
``kinds``   tensor, module, optimizer, array …: what a receiver is
``truth``   what a condition evaluates to on a Neuron host, hence what is skipped there
``view``    one module as detectors see it: its events, with all of the above at hand

Nothing here knows a rule; what is known about PyTorch's API is data in ``rules/understanding``.
"""
