"""Environment of the templates: everything that they insert is escaped, unless a filter returns HTML."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from PIL import Image

from berlyne.experiments.schema import versions
from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.compare import POOLS, p_text
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.claims.published import CURVE_POOL, FIGURE_POOLS, POSITIVE_CONTROLS
from berlyne.paper.claims.verdict import FAILS, HOLDS, INDEPENDENT, UNDECIDED, USED_FOR_FITTING, group_text
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.page import comparisons, introduction, misfit, replays
from berlyne.paper.reproduction.page.context import VARIANT_TEXTS, PageContext, command, format_value
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.paper_text import READINGS
from berlyne.paper.reproduction.robustness import FLIPS, effect_text
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS, title

EMPTY = Markup("&ndash;")
"""Content of an empty cell; narrow screens do not show such cells."""
STYLES: Mapping[str, tuple[str, str]] = {
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
P_VALUE = re.compile(r"\bp (&lt;|&gt;|=) \d[\d.e-]*(?<![.])")


def whole(text: str) -> Markup:
    """Return text as HTML without line breaks between numbers and their signs or units."""
    html = P_VALUE.sub(r'<span class="whole">\g<0></span>', str(escape(text)))
    return Markup(html.replace(" %", "&nbsp;%"))


def p_value(p: float | None) -> Markup:
    """Return a p-value as HTML; a dash if there is none."""
    return EMPTY if p is None else whole(f"p {p_text(p)}")


def image_url(paper_run: PaperRun, name: str) -> str:
    """Return a figure as a data URL: the pixels of its PNG in lossless WebP, which is less than half as large."""
    content = io.BytesIO()
    with Image.open(paper_run.folder / "figures" / f"{name}.png") as image:
        image.convert("RGB").save(content, "webp", lossless=True, quality=50, method=2)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode()}"


def short_place(place: str) -> str:
    """Return the place of a figure without the section, capitalised for a title."""
    first = place.split(",")[0]
    return first[:1].upper() + first[1:]


def sorted_flips(kinds: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return variants and their kinds of flip, the most important kind first."""
    return sorted(kinds.items(), key=lambda item: list(FLIPS).index(item[1]))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("berlyne.paper.reproduction", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    filters: dict[str, Any] = {
        "whole": whole, "p_value": p_value, "value": format_value, "effect": effect_text, "short_place": short_place,
        "change_text": comparisons.change_text, "command": command, "title_of": title, "group_text": group_text,
    }  # fmt: skip
    environment.filters.update(filters)
    environment.globals.update(
        CLAIMS=CLAIMS, FIGURES=FIGURES, FITTED=FITTED, READINGS=READINGS, VARIANTS=VARIANTS, KEYS=KEYS, FLIPS=FLIPS,
        VARIANT_TEXTS=VARIANT_TEXTS, STYLES=STYLES, WORDS=WORDS, POOLS=POOLS, POOL_NAMES=POOL_NAMES, EMPTY=EMPTY,
        PAPER_STRATEGIES=PAPER_STRATEGIES, PAPER_WORLDS=PAPER_WORLDS, POSITIVE_CONTROLS=POSITIVE_CONTROLS,
        CURVE_POOL=CURVE_POOL, FIGURE_POOLS=FIGURE_POOLS, FAILS=FAILS, UNDECIDED=UNDECIDED, INDEPENDENT=INDEPENDENT,
        comparisons=comparisons, introduction=introduction, misfit=misfit, replays=replays, versions=versions,
        image_url=image_url, sorted_flips=sorted_flips,
    )  # fmt: skip
    return environment


def render(template: str, context: PageContext, **variables: Any) -> str:
    """Render a template of the report.

    Parameters
    ----------
    template : str
        Name of the template, without suffix.
    context : PageContext
        Data of the page.
    **variables : Any
        Further variables of the template.

    Returns
    -------
    str
        HTML.
    """
    names = {"context": context, "paper_run": context.paper_run, "assumptions": context.paper_run.assumptions}
    return _environment().get_template(f"{template}.html").render(**names, **variables)


def static_file(name: str) -> str:
    """Return the content of a file beside the templates, such as the style sheet."""
    return files("berlyne.paper.reproduction").joinpath(name).read_text(encoding="utf-8")
