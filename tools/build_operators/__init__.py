"""Builds what `rules/operators/torch/` says about PyTorch itself: schemas, what each composite
operator calls, what each backward calls. See `README.md` there and `__main__.py` here."""
