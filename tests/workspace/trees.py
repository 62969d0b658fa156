"""Growing small trees for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuronport.workspace import Workspace


def grow(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make the files, the folders they are in too; a file in the place of a folder gives way."""
    for name, content in files.items():
        path = root / name
        if path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
    return root


def shown(workspace: Workspace) -> list[str]:
    return [file.path for file in workspace.files]


def reasons(workspace: Workspace) -> dict[str, str]:
    return {row.path: row.reason for row in workspace.not_looked_at}
