"""Read the report as text: tables by their headings, text without tags, and invalid HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = ("meta", "img", "br", "source")
IN_SUMMARY = {"h3", "b", "span", "picture", "source", "img", "a"}
"""What a summary may hold: phrases and headings."""


def plain(text: str) -> str:
    """Text with ordinary spaces, each once."""
    return re.sub(r"\s+", " ", text.replace("\xa0", " ")).strip()


class Page(HTMLParser):
    """Parse a page.

    Attributes
    ----------
    tables : list
        Caption and lines of each table; a line is a dict of text by heading.
    classes : list
        Classes of the cells, line by line.
    text : dict
        Text within each element that has an id, by id.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.images: list[dict[str, str | None]] = []
        self.headings: list[int] = []
        self.wrong: list[str] = []
        self.tables: list[tuple[str, list[dict[str, str]]]] = []
        self.classes: list[list[str]] = []
        self.within: list[tuple[int, str]] = []
        self.text: dict[str, str] = {}
        self._heads: list[str] = []
        self._into: list[str] | None = None
        self._line: list[list[str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if "summary" in self.open and tag not in IN_SUMMARY:
            self.wrong.append(f"{tag} in a summary")
        if tag not in VOID:
            self.open.append(tag)
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
            self.within.append((len(self.open), str(attributes["id"])))
            self.text[str(attributes["id"])] = ""
        if attributes.get("href"):
            self.links.append((self.within[-1][1] if self.within else "", str(attributes["href"])))
        if tag in ("br", "li", "p"):
            self.handle_data(" ")
        if tag == "img":
            self.images.append(attributes)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "table":
            self.tables.append(("", []))
            self.classes.append([])
            self._heads = []
        elif tag == "tr":
            self._line = []
        elif tag in ("caption", "th", "td"):
            self._into = []
            if tag == "td":
                self.classes[-1].append(str(attributes.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> out of place")
        while self.within and self.within[-1][0] > len(self.open):
            self.within.pop()
        if tag in ("caption", "th", "td") and self._into is not None:
            text, self._into = plain("".join(self._into)), None
            if tag == "caption":
                self.tables[-1] = (text, self.tables[-1][1])
            elif tag == "th":
                self._heads.append(text)
            else:
                self._line.append([text])
        elif tag == "tr" and self._line:
            cells = [cell[0] for cell in self._line]
            self.tables[-1][1].append(dict(zip(self._heads, cells, strict=True)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into.append(data)
        for _, id_ in self.within:
            self.text[id_] += data

    def lines(self, caption: str) -> list[dict[str, str]]:
        """The lines of all tables of this caption."""
        return [line for title, lines in self.tables if title.startswith(caption) for line in lines]
