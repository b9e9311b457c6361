"""HTML elements that several sections use. Arguments named `html` are HTML already; other text is escaped."""

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
"""CSS class and mark of a verdict or of its group."""
WORDS = {True: HOLDS, False: FAILS, None: UNDECIDED}
"""Text for whether a finding agrees."""

POOL_NAMES = {
    "curves": f"the {len(CURVE_POOL)} of the learning curves",
    "figure": "the figure alone",
    "all": f"all {len(PAPER_STRATEGIES)}",
}
"""Short names of the pools of strategies."""

EMPTY_CELL = "&ndash;"
"""Content of an empty cell; narrow screens do not show such cells."""
HtmlCell = str | tuple[str, str]
"""A cell of a table: HTML, or a class and HTML."""


def section(id_: str, title: str, *html: str) -> str:
    """Return a section with a heading."""
    return f'<section aria-labelledby="{id_}"><h2 id="{id_}">{escape(title)}</h2>{"".join(html)}</section>'


def paragraph(html: str, class_: str = "") -> str:
    """Return a paragraph."""
    return f"<p{_class(class_)}>{html}</p>"


def bullets(items: Iterable[str], class_: str = "") -> str:
    """Return a bullet list of HTML items; empty if there are none."""
    html = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul{_class(class_)}>{html}</ul>" if html else ""


def details(summary_html: str, html: str, id_: str = "", class_: str = "") -> str:
    """Return a details element, which opens on click and is printed open."""
    attribute = f' id="{id_}"' if id_ else ""
    return f"<details{attribute}{_class(class_)}><summary>{summary_html}</summary>{html}</details>"


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[HtmlCell]], class_: str = "") -> str:
    """Return a table whose rows become cards on narrow screens, where every cell but the first shows its heading."""
    head = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(_row(heads, row) for row in rows)
    return (
        f"<table{_class(class_)}><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _row(heads: Sequence[str], row: Sequence[HtmlCell]) -> str:
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
    """Return a link to the evidence of a claim."""
    return f'<a href="#claim-{id_}">{escape(id_)}</a>'


def reading_link(id_: str) -> str:
    """Return a link to a reading."""
    return f'<a href="#reading-{id_}">{escape(id_)}</a>'


def figure_link(name: str) -> str:
    """Return a link to a figure."""
    return f'<a href="#figure-{name}">{escape(name)}</a>'


def text_html(text: str) -> str:
    """Return text as HTML, without line breaks between numbers and their signs or units."""
    html = re.sub(r"\bp (&lt;|&gt;|=) \d[\d.e-]*(?<![.])", r'<span class="whole">\g<0></span>', escape(text))
    return html.replace(" %", "&nbsp;%")


def join_html(html: Iterable[str]) -> str:
    """Join pieces of HTML with commas; return a dash if there are none."""
    return ", ".join(html) or EMPTY_CELL


def verdict_html(word: str) -> str:
    """Return a verdict or its group, with its mark and colour."""
    class_, mark = VERDICT_STYLES[word]
    return f'<span class="verdict {class_}">{mark}&nbsp;{escape(word)}</span>'


def agreement_cell(ok: bool | None) -> HtmlCell:
    """Return the cell that shows whether a finding agrees."""
    word = WORDS[ok]
    class_, mark = VERDICT_STYLES[word]
    return class_, f'<span title="{word}">{mark}</span><span class="hidden"> {word}</span>'


def p_html(p: float | None) -> str:
    """Return a p-value; a dash if there is none."""
    return EMPTY_CELL if p is None else text_html(f"p {p_text(p)}")


def flip_link(variant: str, kind: str) -> str:
    """Return a link to a variant that flips a verdict, in a frame that depends on the kind of flip."""
    sign, reason = FLIPS[kind]
    return (
        f'<a class="flip {kind}" href="#variant-{variant}" title="flips {reason}">{sign}&nbsp;'
        f'{escape(VARIANT_TEXTS.get(variant, variant))}<span class="hidden"> (flips {reason})</span></a>'
    )


def flip_links(kinds: Mapping[str, str]) -> str:
    """Return links to all variants that flip a verdict, sorted by kind of flip."""
    in_order = sorted(kinds.items(), key=lambda item: list(FLIPS).index(item[1]))
    return " ".join(flip_link(variant, kind) for variant, kind in in_order)
