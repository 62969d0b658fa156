"""A package of that name with nothing in it, as PyPI has one."""
