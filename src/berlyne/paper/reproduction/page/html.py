"""Pieces of HTML that several sections use. Arguments called `html` are marked up already, other text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from berlyne.paper.claims.compare import p_text
from berlyne.paper.claims.published import CURVE_POOL
from berlyne.paper.claims.verdict import FAILS, HOLDS, INDEPENDENT, UNDECIDED, USED_FOR_FITTING
from berlyne.paper.reproduction.page.context import VARIANT_TEXTS
from berlyne.paper.reproduction.robustness import FLIPS
from berlyne.strategies.registry import PAPER_STRATEGIES

VERDICT_STYLES: Mapping[str, tuple[str, str]] = {
    INDEPENDENT: ("yes", "✓"),
    HOLDS: ("yes", "✓"),
    USED_FOR_FITTING: ("helped", "(✓)"),
    FAILS: ("no", "✗"),
    UNDECIDED: ("open", "?"),
}
"""Class and mark of a verdict, or of what it counts as."""
WORDS = {True: HOLDS, False: FAILS, None: UNDECIDED}
"""What is said of a finding."""

POOL_NAMES = {
    "curves": f"the {len(CURVE_POOL)} of the curves",
    "figure": "the figure alone",
    "all": f"all {len(PAPER_STRATEGIES)}",
}
"""What a pool of strategies is called."""

EMPTY_CELL = "&ndash;"
"""What stands in a cell that has nothing to say; on a narrow screen such cells are left out."""
HtmlCell = str | tuple[str, str]
"""A cell of a table: HTML, or a class and HTML."""


def section(id_: str, title: str, *html: str) -> str:
    """A section under a heading of its own."""
    return f'<section aria-labelledby="{id_}"><h2 id="{id_}">{escape(title)}</h2>{"".join(html)}</section>'


def paragraph(html: str, class_: str = "") -> str:
    """A paragraph."""
    return f"<p{_class(class_)}>{html}</p>"


def bullets(items: Iterable[str], class_: str = "") -> str:
    """A list of pieces of HTML; nothing if there are none."""
    inside = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul{_class(class_)}>{inside}</ul>" if inside else ""


def details(summary_html: str, html: str, id_: str = "", class_: str = "") -> str:
    """What is unfolded on demand, and printed unfolded."""
    named = f' id="{id_}"' if id_ else ""
    return f"<details{named}{_class(class_)}><summary>{summary_html}</summary>{html}</details>"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[HtmlCell]], class_: str = "") -> str:
    """A table whose lines become cards on a narrow screen: there every cell but the first carries its heading."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(_line(heads, row) for row in rows)
    return (
        f"<table{_class(class_)}><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _line(heads: Sequence[str], row: Sequence[HtmlCell]) -> str:
    cells = []
    for i, cell in enumerate(row):
        class_, html = ("", cell) if isinstance(cell, str) else cell
        class_ = f"{class_} none".strip() if html == EMPTY_CELL else class_
        label = f' data-label="{escape(heads[i])}"' if i and heads[i] else ""
        cells.append(f"<td{_class(class_)}{label}>{html}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _class(class_: str) -> str:
    return f' class="{class_}"' if class_ else ""


def claim_link(id_: str) -> str:
    """A claim's id that leads to its evidence."""
    return f'<a href="#claim-{id_}">{escape(id_)}</a>'


def reading_link(id_: str) -> str:
    """A reading's number that leads to what it says."""
    return f'<a href="#reading-{id_}">{escape(id_)}</a>'


def figure_link(name: str) -> str:
    """A figure's name that leads to it."""
    return f'<a href="#figure-{name}">{escape(name)}</a>'


def text_html(said: str) -> str:
    """Text as HTML, in which numbers stay with their signs and units."""
    whole = re.sub(r"\bp (&lt;|&gt;|=) \d[\d.e-]*(?<![.])", r'<span class="whole">\g<0></span>', escape(said))
    return whole.replace(" %", "&nbsp;%")


def join_html(html: Iterable[str]) -> str:
    """Pieces of HTML with commas between; a dash if there are none."""
    return ", ".join(html) or EMPTY_CELL


def verdict_html(word: str) -> str:
    """A verdict, or what it counts as, with its mark and in its colour."""
    class_, agreement_cell = VERDICT_STYLES[word]
    return f'<span class="verdict {class_}">{agreement_cell}&nbsp;{escape(word)}</span>'


def agreement_cell(ok: bool | None) -> HtmlCell:
    """The cell that says whether a finding agrees."""
    word = WORDS[ok]
    class_, sign = VERDICT_STYLES[word]
    return class_, f'<span title="{word}">{sign}</span><span class="hidden"> {word}</span>'


def p_html(p: float | None) -> str:
    """A p-value; a dash if there is none."""
    return EMPTY_CELL if p is None else text_html(f"p {p_text(p)}")


def flip(variant: str, how: str) -> str:
    """What flips a verdict: framed if by its effect, else dotted."""
    sign, words = FLIPS[how]
    return (
        f'<a class="flip {how}" href="#variant-{variant}" title="flips {words}">{sign}&nbsp;'
        f'{escape(VARIANT_TEXTS.get(variant, variant))}<span class="hidden"> (flips {words})</span></a>'
    )


def flip_links(found: Mapping[str, str]) -> str:
    """All that flips a verdict, effects first."""
    return " ".join(flip(v, how) for v, how in sorted(found.items(), key=lambda item: list(FLIPS).index(item[1])))
