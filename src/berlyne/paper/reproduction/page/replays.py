"""Replays of explorations: one world of each class, assembled in the browser when it is opened."""

from __future__ import annotations

from html import escape

from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import details, paragraph, section
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.watch import page_data, page_template, script_safe_json
from berlyne.worlds import PAPER_WORLDS, title

STRATEGIES = ("PIG(VI)", "Random")
"""Strategies that are replayed."""


def replays(context: PageContext) -> str:
    """Render the section; empty if there are no explorations."""
    if not _has_explorations(context.paper_run):
        return ""
    return section(
        "watch",
        "Watch",
        paragraph(
            f"{' and '.join(STRATEGIES)} explore the first world of each class side by side. Open one and press play. "
            "Point at a state to see what the explorers believe about it. Or take over, and try to learn faster."
        ),
        *(_replay(context.paper_run, name) for name in PAPER_WORLDS),
    )


def _has_explorations(paper_run: PaperRun) -> bool:
    return (paper_run.folder / "results.zarr").is_dir()


def _replay(paper_run: PaperRun, name: str) -> str:
    summary = f"{title(name)}: {paper_run.assumptions.n_steps(name)} steps"
    frame = f'<div class="frame" data-title="{escape(title(name))}, replayed">This needs JavaScript.</div>'
    return details(f"<b>{escape(summary)}</b>", frame, f"replay-{name}", "replay")


def replay_data(context: PageContext) -> str:
    """Return the data of the replays: the page once, and the runs of each class; not executed until opened."""
    if not _has_explorations(context.paper_run):
        return ""
    parts = [_json_element("replay-shell", script_safe_json(page_template()))]
    for name in PAPER_WORLDS:
        first = str(context.paper_run.results.of(name)["world"].values[0])
        runs = [context.paper_run.results.run(first, strategy) for strategy in STRATEGIES]
        parts.append(_json_element(f"replay-{name}-data", script_safe_json(page_data(runs))))
    return "".join(parts)


def _json_element(id_: str, content: str) -> str:
    return f'<script type="application/json" id="{id_}">{content}</script>'
