"""Replays of explorations: one world of each class, assembled in the browser when it is opened."""

from __future__ import annotations

from berlyne.paper.reproduction.page.context import PageContext
from berlyne.watch import page_data, page_template, script_safe_json
from berlyne.worlds import PAPER_WORLDS

STRATEGIES = ("PIG(VI)", "Random")
"""Strategies that are replayed."""


def replay_data(context: PageContext) -> dict[str, str]:
    """Return the data of the replays as JSON, by id of the element: the page once, and the runs of each class."""
    if not context.has_explorations:
        return {}
    data = {"replay-shell": script_safe_json(page_template())}
    results = context.paper_run.results
    for name in PAPER_WORLDS:
        first = str(results.of(name)["world"].values[0])
        runs = [results.run(first, strategy) for strategy in STRATEGIES]
        data[f"replay-{name}-data"] = script_safe_json(page_data(runs))
    return data
