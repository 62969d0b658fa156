"""What a page says, read as a person reads it: its text, and where each figure of it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "br", "input", "link", "img", "hr"}
_UNREAD = {"script", "style", "title"}


@dataclass
class Page(HTMLParser):
    """Figures by path, sections by id, and the digits that nobody vouches for."""

    figures: list[tuple[str, str, str]] = field(default_factory=list)
    """Path, kind, text as shown."""
    sections: dict[str, str] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)
    """Texts with digits that are neither a figure nor quoted from a record."""
    attributes: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, dict[str, str]]] = []
        self._figure: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {k: v or "" for k, v in attrs}
        self.attributes += [(tag, k, v) for k, v in found.items()]
        if tag not in _VOID:
            self._open.append((tag, found))
        if "data-figure" in found:
            self._figure = []
            self._of = found

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, k, v or "") for k, v in attrs]

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, attributes = self._open.pop()
            if "data-figure" in attributes and self._figure is not None:
                self.figures.append(
                    (self._of["data-figure"], self._of["data-as"], "".join(self._figure))
                )
                self._figure = None
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        names = [name for name, _ in self._open]
        if any(name in _UNREAD for name in names):
            return
        if self._figure is not None:
            self._figure.append(data)
        for name, attributes in self._open:
            if name == "section":
                key = attributes.get("id", "")
                self.sections[key] = self.sections.get(key, "") + data
        vouched = any("data-quoted" in a or "data-figure" in a for _, a in self._open)
        if not vouched and any(c.isdigit() for c in data):
            self.loose.append(data.strip())


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def words(text: str) -> str:
    return " ".join(text.split())
