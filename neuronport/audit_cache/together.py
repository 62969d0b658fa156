"""Files that lie together in a tree: mostly all of them hold, which one look then tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_SIZE = 32


class Together:
    """The files of a tree in groups, and what was asked for the groups that are judged in one go."""

    def __init__(self, paths: Iterable[str]) -> None:
        ordered = sorted(paths)
        self.groups = [ordered[i : i + _SIZE] for i in range(0, len(ordered), _SIZE)]
        self._number = {path: i // _SIZE for i, path in enumerate(ordered)}
        self._waiting: dict[int, int] = {}
        """Groups of which all is judged, and how many files of each are left."""
        self._begun: dict[int, tuple[dict[str, bytes], set[int]]] = {}

    def expect(self, judged: Collection[str], held: Collection[str]) -> None:
        """Files that will be judged, perhaps, and files that hold, of which some may be judged, too."""
        for number, group in enumerate(self.groups):
            wanted = [path for path in group if path in judged]
            if wanted and all(path in judged for path in group if path in held):
                self._waiting[number] = len(wanted)

    def add(self, path: str, key: bytes, asked: set[int]) -> tuple[list[bytes], set[int]] | None:
        """The keys of a whole group, by path, and all that was asked for it, if this was the last."""
        number = self._number[path]
        if number not in self._waiting:
            return None
        keys, all_asked = self._begun.setdefault(number, ({}, set()))
        keys[path] = key
        all_asked |= asked
        if len(keys) < self._waiting[number]:
            return None
        del self._waiting[number], self._begun[number]
        return [key for _, key in sorted(keys.items())], all_asked
