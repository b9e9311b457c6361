"""Figures as cards: each opens to show its caption, the paper's statement, and the claims that it shows."""

from __future__ import annotations

import base64
from html import escape

from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    VERDICT_STYLES,
    bullets,
    claim_link,
    figure_link,
    join_html,
    paragraph,
    section,
    verdict_html,
)
from berlyne.paper.reproduction.paper_run import PaperRun

IN_OPENING = ("figS1", "fig1", "figS2")
"""Figures shown in the introduction of worlds."""


def picture(paper_run: PaperRun, name: str) -> str:
    """Return a figure as an embedded image, with its version for dark screens if there is one."""
    dark = paper_run.folder / "figures" / f"{name}-dark.png"
    media = 'media="screen and (prefers-color-scheme: dark)"'
    source = f'<source {media} srcset="{_data_url(dark.read_bytes())}" />' if dark.is_file() else ""
    plain = _data_url((paper_run.folder / "figures" / f"{name}.png").read_bytes())
    class_ = ' class="both"' if source else ""
    return f'<picture{class_}>{source}<img alt="{escape(FIGURES[name].text.alt)}" src="{plain}"></picture>'


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def card(paper_run: PaperRun, name: str, title_html: str, below: str, extra_html: str = "") -> str:
    """Return a figure with a short text, which opens to show its caption."""
    spec = FIGURES[name].text
    caption = spec.caption.replace("{n}", str(paper_run.n_worlds))
    files = " ".join(f'<a href="figures/{name}.{kind}">{kind}</a>' for kind in ("png", "svg", "csv"))
    content = (
        (paragraph(escape(caption)) if caption else "")
        + paragraph(f"<b>The paper says:</b> {escape(spec.paper_says)}")
        + extra_html
        + paragraph(f"{escape(spec.place)}: {escape(spec.title)}. Files: {files}", "small")
    )
    short = f'<span class="below">{escape(below)}</span>' if below else ""
    return (
        f'<details class="figure" id="figure-{name}"><summary>{picture(paper_run, name)}<b>{title_html}</b>{short}'
        f'</summary><div class="caption">{content}</div></details>'
    )


def figures(context: PageContext) -> str:
    """Render the section."""
    cards = "".join(_with_claims(context, name) for name in FIGURES if name not in IN_OPENING)
    world_figures = join_html(figure_link(name) for name in IN_OPENING if name in FIGURES)
    return section(
        "figures",
        "Figures",
        paragraph(
            "Click a figure to enlarge it and to read its caption. The three figures of worlds "
            f"({world_figures}) are at the beginning of the page."
        ),
        f'<div class="cards">{cards}</div>',
    )


def _with_claims(context: PageContext, name: str) -> str:
    """Return the card of a figure with the verdicts on its claims."""
    ids = [id_ for id_ in context.verdicts if name in CLAIMS[id_].figures]
    lines = [f"{claim_link(id_)} {verdict_html(context.group(id_))}: {escape(_agreement(context, id_))}" for id_ in ids]
    marks = "".join(_mark(context.group(id_)) for id_ in ids)
    spec = FIGURES[name].text
    title_html = f"{escape(_short_place(spec.place))}: {escape(spec.title)}{f' <span>{marks}</span>' if marks else ''}"
    results = f"<p><b>In this reproduction:</b></p>{bullets(lines)}" if lines else ""
    return card(context.paper_run, name, title_html, "", results)


def _short_place(place: str) -> str:
    """Return the place of a figure without the section, capitalised for a title."""
    first = place.split(",")[0]
    return first[:1].upper() + first[1:]


def _mark(group: str) -> str:
    class_, sign = VERDICT_STYLES[group]
    return f'<span class="{class_}" title="{group}">{sign}</span>'


def _agreement(context: PageContext, id_: str) -> str:
    """Return the number of findings that agree, and the text of those that do not."""
    verdict = context.verdicts[id_]
    n_agree = sum(finding.ok is True for finding in verdict.findings)
    text = f"{n_agree} of {len(verdict.findings)} findings agree"
    return f"{text}; {verdict.reason}" if verdict.against else text
