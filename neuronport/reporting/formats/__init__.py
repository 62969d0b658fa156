"""One module per output format, found by being here.

Each has ``NAME``, ``DESCRIPTION`` (one line, for ``--help``) and
``render(audit, options) -> Iterator[str]``, which yields pieces of the whole text in order.
"""
