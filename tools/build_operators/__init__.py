"""Builds what ``rules/operators/torch/`` says about PyTorch itself: schemas, what each composite
operator calls, what each gradient calls, what a Python name reaches. Run it as
``python -m tools.build_operators``; ``docs/operator-tables.md`` says what the tables mean."""
