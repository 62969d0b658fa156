"""What is in a tree: which files, of what kind and role, how to read them and how to write one back.

Nothing here knows Neuron, a rule or what a Python program means. Nothing is executed. Only regular
files are opened: those below the named paths, and git's own notes on what it ignores and tracks.
"""

from neuronport.workspace.decode import (
    Decoded,
    Undecodable,
    decode_python,
    decode_text,
    encode,
    split_lines,
)
from neuronport.workspace.files import (
    DEFAULT_MAX_BYTES,
    NamedPathError,
    SourceFile,
    StdinFile,
    Unreadable,
    Workspace,
    WorkspaceError,
    as_named,
    printable,
    read_source,
)
from neuronport.workspace.kinds import KINDS, PYTHON_KINDS, READ_KINDS, kind_of
from neuronport.workspace.packages import Modules, module_names, modules
from neuronport.workspace.walk import open_workspace
from neuronport.workspace.write import NotWritable, atomic_write, atomic_write_all

__all__ = [
    "DEFAULT_MAX_BYTES",
    "KINDS",
    "PYTHON_KINDS",
    "READ_KINDS",
    "Decoded",
    "Modules",
    "NamedPathError",
    "NotWritable",
    "SourceFile",
    "StdinFile",
    "Undecodable",
    "Unreadable",
    "Workspace",
    "WorkspaceError",
    "as_named",
    "atomic_write",
    "atomic_write_all",
    "decode_python",
    "decode_text",
    "encode",
    "kind_of",
    "module_names",
    "modules",
    "open_workspace",
    "printable",
    "read_source",
    "split_lines",
]
