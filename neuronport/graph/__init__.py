"""What a traced model really executes, mapped back to source lines.

::

    request ── child process ── record ─┬─ verdicts ── findings ─┐
              (capture/, torch)         ├─ costs, partitions ────┼─ reports
                                        └─ calls for torch_xla ──┘

Only ``capture/`` imports torch, and only in a child process with limits (``run.py``): it runs the
user's code, traces it on tensors without storage and writes a neutral record (``record.py``).
Everything else reads the record: no torch, no user code.

======================  ===========================================================================
``run.py``              starts the child, with limits, and reads what it leaves
``record.py``           the record: graphs, nodes, sites, failures
``capture/``            naming a model, capturing it, back to source lines
``verdicts.py``         every node asked of the operator table, per target and stage
``findings.py``         nodes of one line and one operator as one finding; merging with an audit
``costs.py``            bytes, FLOPs, what fits on which chip, bounds
``flops.py``            multiply-adds of one node
``shapes.py``           how many graphs given inputs make, and the buckets that make fewer
``partitions.py``       regions per device, crossings, what to replace first
``chips.py``            the limits of the chips, from ``rules/targets/chips.toml``
``reports/``            terminal, JSON, analyze, dot, SVG
======================  ===========================================================================
"""
