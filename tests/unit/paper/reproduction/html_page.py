"""Read the report as a tree of elements: tables by their headings, text without tags, and invalid HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser

VOID = ("meta", "img", "br", "source")
IN_SUMMARY = {"h3", "b", "span", "img", "a"}
"""What a summary may hold: phrases and headings."""


def plain(text: str) -> str:
    """Text with ordinary spaces, each once, and none before a stop."""
    return re.sub(r" ([.,;:)])", r"\1", re.sub(r"\s+", " ", text.replace("\xa0", " ")).strip())


class Element:
    """An element with its attributes, and the elements and texts in it."""

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: Element | None) -> None:
        self.tag, self.parent = tag, parent
        self.attributes = {name: value or "" for name, value in attributes.items()}
        self.parts: list[Element | str] = []

    @property
    def text(self) -> str:
        space = " " if self.tag in ("br", "li", "p", "th", "td", "caption", "tr") else ""
        return space + "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def walk(self) -> Iterator[Element]:
        yield self
        for part in self.parts:
            if isinstance(part, Element):
                yield from part.walk()

    def all(self, tag: str, class_: str = "") -> list[Element]:
        """Elements of a kind in this one, in their order."""
        return [e for e in self.walk() if e.tag == tag and (not class_ or class_ in e.classes)]

    def within(self) -> str:
        """The id of the nearest element around this one that has an id."""
        place: Element | None = self
        while place is not None and not place.attributes.get("id"):
            place = place.parent
        return "" if place is None else place.attributes["id"]


class Page(HTMLParser):
    """Parse a page; `wrong` lists what is not valid, and `open` the elements that are not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = Element("", {}, None)
        self._open, self.wrong = [self.root], list[str]()
        self.feed(html)
        self.close()
        self.open = [element.tag for element in self._open[1:]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(e.tag == "summary" for e in self._open) and tag not in IN_SUMMARY:
            self.wrong.append(f"{tag} in a summary")
        element = Element(tag, dict(attrs), self._open[-1])
        self._open[-1].parts.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if len(self._open) < 2 or self._open.pop().tag != tag:
            self.wrong.append(f"</{tag}> out of place")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].parts.append(data)

    @cached_property
    def by_id(self) -> dict[str, Element]:
        return {e.attributes["id"]: e for e in self.root.walk() if e.attributes.get("id")}

    @property
    def ids(self) -> list[str]:
        return [e.attributes["id"] for e in self.root.walk() if e.attributes.get("id")]

    def text(self, id_: str = "") -> str:
        """The text of an element, or of the page."""
        return plain((self.by_id[id_] if id_ else self.root).text)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The id around each link, and where it leads."""
        return [(e.within(), e.attributes["href"]) for e in self.root.walk() if e.attributes.get("href")]

    @property
    def headings(self) -> list[int]:
        return [int(e.tag[1]) for e in self.root.walk() if re.fullmatch("h[1-6]", e.tag)]

    @cached_property
    def tables(self) -> list[tuple[str, list[dict[str, str]]]]:
        """Caption and lines of each table; a line is a dict of text by heading."""
        return [(plain(table.all("caption")[0].text), _lines(table)) for table in self.root.all("table")]

    def lines(self, caption: str) -> list[dict[str, str]]:
        """The lines of all tables of this caption."""
        return [line for title, lines in self.tables if title.startswith(caption) for line in lines]


def _lines(table: Element) -> list[dict[str, str]]:
    heads = [plain(head.text) for head in table.all("th")]
    rows = [[plain(cell.text) for cell in row.all("td")] for row in table.all("tr")]
    return [dict(zip(heads, row, strict=True)) for row in rows if row]
