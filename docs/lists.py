"""Docstrings for the site: lines `name : what it is` become lists, and the headings above them bold words.

In this house what follows the colon is a sentence, not a type; types are in the signature.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ITEM = re.compile(r"^(?P<names>[A-Za-z_*][\w.*]*(?:, [A-Za-z_*][\w.*]*)*) : (?P<said>.*)$")
RULE = re.compile(r"^-{3,}$")
LEFT_ALONE = ("Examples",)
"""Sections that the site knows how to show."""


def with_lists(text: str) -> str:
    """The text with such lines as items; what follows an item and is indented belongs to it."""
    lines, out, inside, alone = text.splitlines(), [], False, False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and RULE.match(lines[i + 1]):
            alone, inside = line in LEFT_ALONE, False
            out.extend([line] if alone else ["", f"**{line}**", ""])
        elif alone:
            out.append(line)
        elif not RULE.match(line):
            item = ITEM.match(line)
            if item:
                names = ", ".join(f"`{name}`" for name in item["names"].split(", "))
                out.extend([""] * (not inside) + [f"- {names}: {item['said']}"])
            else:
                out.append(f"  {line.strip()}" if inside and line.startswith(" ") else line)
            inside = item is not None or (inside and line.startswith(" "))
    return "\n".join(out)


class Lists(griffe.Extension):
    """Goes over every docstring."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = with_lists(obj.docstring.value)
