"""Explorations to watch: one world of each class, folded, put together in the browser when it is unfolded."""

from __future__ import annotations

from html import escape

from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import folded, paragraph, section
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.watch import inert_json, page_data, shell
from berlyne.worlds import PAPER_WORLDS, title

STRATEGIES = ("PIG(VI)", "Random")
"""Who is watched."""


def replays(shown: PageContext) -> str:
    """The section; empty if there are no explorations."""
    if not _is_there(shown.paper_run):
        return ""
    return section(
        "watch",
        "Watch",
        paragraph(
            f"{' and '.join(STRATEGIES)} explore the first world of each class side by side. Unfold one and press "
            "play; point at a state to see what the explorers believe of it; or take over, and try to learn faster."
        ),
        *(_folded(shown.paper_run, name) for name in PAPER_WORLDS),
    )


def _is_there(paper_run: PaperRun) -> bool:
    return (paper_run.folder / "results.zarr").is_dir()


def _folded(paper_run: PaperRun, name: str) -> str:
    about = f"{title(name)}: {paper_run.assumptions.n_steps(name)} steps"
    frame = f'<div class="frame" data-title="{escape(title(name))}, replayed">This needs JavaScript.</div>'
    return folded(f"<b>{escape(about)}</b>", frame, f"replay-{name}", "replay")


def replay_data(shown: PageContext) -> str:
    """What the folded pages are made of: the page once, and what it shows of each class; inert until unfolded."""
    if not _is_there(shown.paper_run):
        return ""
    parts = [_kept("replay-shell", inert_json(shell()))]
    for name in PAPER_WORLDS:
        first = str(shown.paper_run.results.of(name)["world"].values[0])
        runs = [shown.paper_run.results.run(first, strategy) for strategy in STRATEGIES]
        parts.append(_kept(f"replay-{name}-data", inert_json(page_data(runs))))
    return "".join(parts)


def _kept(id_: str, content: str) -> str:
    return f'<script type="application/json" id="{id_}">{content}</script>'
