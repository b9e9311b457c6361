"""Explorations to watch: one world of each class, folded, put together in the browser when it is unfolded."""

from __future__ import annotations

from html import escape

from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import details, paragraph, section
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.watch import page_data, page_template, script_safe_json
from berlyne.worlds import PAPER_WORLDS, title

STRATEGIES = ("PIG(VI)", "Random")
"""Who is watched."""


def replays(context: PageContext) -> str:
    """The section; empty if there are no explorations."""
    if not _is_there(context.paper_run):
        return ""
    return section(
        "watch",
        "Watch",
        paragraph(
            f"{' and '.join(STRATEGIES)} explore the first world of each class side by side. Unfold one and press "
            "play; point at a state to see what the explorers believe of it; or take over, and try to learn faster."
        ),
        *(_folded(context.paper_run, name) for name in PAPER_WORLDS),
    )


def _is_there(paper_run: PaperRun) -> bool:
    return (paper_run.folder / "results.zarr").is_dir()


def _folded(paper_run: PaperRun, name: str) -> str:
    about = f"{title(name)}: {paper_run.assumptions.n_steps(name)} steps"
    frame = f'<div class="frame" data-title="{escape(title(name))}, replayed">This needs JavaScript.</div>'
    return details(f"<b>{escape(about)}</b>", frame, f"replay-{name}", "replay")


def replay_data(context: PageContext) -> str:
    """What the folded pages are made of: the page once, and what it shows of each class; inert until unfolded."""
    if not _is_there(context.paper_run):
        return ""
    parts = [_kept("replay-shell", script_safe_json(page_template()))]
    for name in PAPER_WORLDS:
        first = str(context.paper_run.results.of(name)["world"].values[0])
        runs = [context.paper_run.results.run(first, strategy) for strategy in STRATEGIES]
        parts.append(_kept(f"replay-{name}-data", script_safe_json(page_data(runs))))
    return "".join(parts)


def _kept(id_: str, content: str) -> str:
    return f'<script type="application/json" id="{id_}">{content}</script>'
