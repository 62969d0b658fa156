"""What is left out of a tree unless the user says otherwise."""

NEVER = frozenset(
    {
        *(".git", ".hg", ".svn", ".bzr", "CVS"),
        *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"),
        *(".ipynb_checkpoints", ".neuronport", ".pytype", ".pyre"),
    }
)
"""Folders that tools keep for themselves: by construction no source of the project is in them, so
they are not even listed (one row for each ``__pycache__`` would hide the rows that matter)."""

DEFAULT_EXCLUDES = (
    ".venv/",
    "venv/",
    ".virtualenv/",
    ".direnv/",
    ".tox/",
    ".nox/",
    "__pypackages__/",
    "site-packages/",
    "node_modules/",
    "build/",
    "dist/",
    "_build/",
    "buck-out/",
    ".eggs/",
    "*.egg-info/",
)
"""Patterns as in ``.gitignore``; what they leave out is listed, one row for each folder."""

OUTPUT_OR_PACKAGE = frozenset({"build", "dist"})
"""Usually output of a build; a project's own package when ``__init__.py`` is directly inside."""

ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
"""What a folder holds when it is a Python environment, whatever its name."""
