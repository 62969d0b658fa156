"""What is asked of a driver."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from neuronport.compile import neff
from neuronport.compile.result import Artifact
from neuronport.graph import run as graph_run
from neuronport.graph.findings import user_files
from neuronport.graph.record import Record
from neuronport.targets import Target


@dataclass
class Job:
    request: graph_run.Request
    target: Target
    folder: Path
    """For everything that is made on the way."""
    flags: tuple[str, ...] = ()
    """For Neuron's compiler."""
    kept: Path | None = None
    """Where artifacts stay; ``None``: they do not."""
    files: set[str] = field(default_factory=set)
    """Of the user's code, as far as they are known."""
    _captured: tuple[Record, Path] | None = field(default=None, repr=False)

    @property
    def chip(self) -> str:
        """The chip that is compiled for: the one named, else the first that the path reaches."""
        return self.target.chips[0]

    def captured(self) -> tuple[Record, Path]:
        """The model's graphs, and the file of what their inputs hold.

        Raises RecordError.
        """
        if self._captured is None:
            values = self.folder / "values"
            record = graph_run.run(self.request, values)
            self.files.update(user_files(record))
            self._captured = record, values
        return self._captured

    @property
    def captured_class(self) -> str:
        return self._captured[0].cls if self._captured else ""

    @property
    def captured_notes(self) -> list[str]:
        """What is known of the capture that the graphs do not show: what was not captured."""
        if self._captured is None:
            return []
        record = self._captured[0]
        redirected = sum(r.count for r in record.redirects)
        notes = list(record.notes)
        if redirected:
            notes.append(
                f"{redirected} times the model asked for CUDA: it was given the default device"
            )
        return notes

    @property
    def in_parts(self) -> list[tuple[str, str]]:
        """Name and mode of what was not captured as a whole, but submodule by submodule."""
        if self._captured is None:
            return []
        return list(dict.fromkeys((g.name, g.mode) for g in self._captured[0].graphs if g.module))

    @property
    def first_failure(self) -> str:
        if self._captured is None or not self._captured[0].failures:
            return ""
        failure = self._captured[0].failures[-1]
        site = failure.user or failure.library
        where = f" ({site.file}:{site.line})" if site else ""
        return f"{failure.reason}{where}"

    def workdir(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def keep(self, file: Path, kind: str, name: str) -> Artifact:
        """What is known of a file that a compiler made; a NEFF's header is read."""
        header, note = None, ""
        if kind == "neff":
            try:
                header = neff.read(file)
            except neff.NeffError as error:
                note = f"no header of the documented form: {error}"
        where = ""
        size = file.stat().st_size
        if self.kept is not None:
            place = self.kept / name
            try:
                shutil.copyfile(file, place)
                where = str(place)
            except OSError as error:
                note = f"{note}; " if note else ""
                note += f"not kept: {place}: {error.strerror}"
        return Artifact(kind, size, where, header, note)
