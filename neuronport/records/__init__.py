"""Records: what a command leaves in ``.neuronport/`` when it is asked to, and reading them again.

A record is one JSON file: an envelope that says which tool made it when, of which tree and of which
bytes, around exactly what the command prints with ``--format json``. The envelope's form is
``schemas/record.json``. Commands do not call one another; they meet here.
"""

from neuronport.records.model import Change, Problem, Record, Records
from neuronport.records.store import (
    DEFAULT_FOLDER,
    FolderError,
    Snapshot,
    check_folder,
    load,
    read,
    write,
)

__all__ = [
    "DEFAULT_FOLDER",
    "Change",
    "FolderError",
    "Problem",
    "Record",
    "Records",
    "Snapshot",
    "check_folder",
    "load",
    "read",
    "write",
]
