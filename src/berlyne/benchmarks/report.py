"""The report of a benchmark: one self-contained HTML page with tables, figures and a table for LaTeX."""

from __future__ import annotations

import base64
import io
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from berlyne.benchmarks.measures import MEASURES
from berlyne.benchmarks.scores import AREA, MEASURE, Scoreboard, count_rows, fluid_bound, split_of
from berlyne.benchmarks.suite import suite
from berlyne.experiments.results import Results, open_results
from berlyne.plotting import figures_package
from berlyne.serialization import atomic_write
from berlyne.stats import Interval, optimality_gap, performance_profile, stratified_bootstrap
from berlyne.validation import FloatArray

SECTIONS = {
    "scores": "Who explores best",
    "figures": "Figures",
    "tasks": "Task by task",
    "latex": "Table for LaTeX",
    "making": "How this page was made",
}
"""Titles of the sections, by id."""
COLUMNS = ("missing_information", "area", "mean_l1", "reward_loss", "share_tried", "steps_to_tenth", "microseconds")
"""Measures in the table of a task."""
THRESHOLDS = np.linspace(-0.5, 1.1, 81)
"""Thresholds of the performance profiles."""
MAX_CURVES = 12
"""Largest number of tasks whose curves are drawn."""
MAX_CURVE_ROWS = 200
"""Largest number of rows, in a task without a horizon, for which the bound is computed at all times."""
EMPTY = "\N{EN DASH}"
"""Content of an empty cell."""
_ALT = "Figure with the numbers of the tables of this page."


def report(
    results: str | os.PathLike[str] | Results,
    output: str | os.PathLike[str] = "report.html",
    *,
    baselines: str | os.PathLike[str] | None = None,
    bounds: bool = True,
) -> Path:
    """Write the report of a finished benchmark, and return its path.

    Parameters
    ----------
    results : path-like or Results
        Store of the benchmark.
    output : path-like
        File to write.
    baselines : path-like, optional
        JSON file with frozen results, such as `benchmarks/baselines.json`. Their agents and bounds are added. The
        benchmark must have been run with the same preset.
    bounds : bool
        Whether to compute bounds at the end that are not in `baselines`, except those of large worlds. The bounds of
        areas are never computed here; they are in `baselines`.

    Returns
    -------
    Path
        The file.
    """
    opened = results if isinstance(results, Results) else open_results(results)
    board = Scoreboard.from_results(opened)
    board = board if baselines is None else board.join(Scoreboard.load(baselines))
    board = board.with_bounds() if bounds else board
    atomic_write(Path(output), _page(board, opened).encode())
    return Path(output)


def _page(board: Scoreboard, results: Results) -> str:
    environment = Environment(
        loader=PackageLoader("berlyne.benchmarks"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    means = board.interquartile_means() if board.scored_tasks() else {}
    areas = board.interquartile_means(AREA) if board.scored_tasks(AREA) else {}
    return environment.get_template("report.html").render(
        title=f"Benchmark of explorers, {board.suite}",
        style=files("berlyne.paper.reproduction").joinpath("report.css").read_text(encoding="utf-8"),
        board=board,
        split=split_of(board.seed),
        sections=SECTIONS,
        EMPTY=EMPTY,
        scored=board.scored_tasks(),
        scored_areas=board.scored_tasks(AREA),
        score_heads=[
            "explorer",
            "score",
            "95 % interval",
            "gap to the bound",
            "score of the area",
            "its interval",
            "µs per step",
        ],
        ranked=_ranked(board, means, areas),
        figures=_figures(board, results, means),
        parts=[_task(board, i) for i in range(len(board.tasks))],
        latex=latex(board),
    )


def _ranked(board: Scoreboard, means: dict[str, Interval], areas: dict[str, Interval]) -> list[list[str]]:
    """Return the lines of the table of scores, the best first."""
    if not means:
        return []
    gap = dict(zip(board.agents, optimality_gap(board.scores()), strict=True))
    cost = _microseconds(board)
    order = sorted(means, key=lambda name: -float(means[name].value))
    of_area = {name: _score_cells(areas[name]) if areas else [EMPTY, EMPTY] for name in order}
    return [
        [name, *_score_cells(means[name]), f"{float(gap[name]):.3f}", *of_area[name], f"{cost[name]:.1f}"]
        for name in order
    ]


def _score_cells(interval: Interval) -> list[str]:
    """Return the text of a score, and that of its interval."""
    value, low, high = (float(x) for x in interval)
    return [f"{value:.3f}", f"{low:.3f} to {high:.3f}"]


def _microseconds(board: Scoreboard) -> dict[str, float]:
    """Return the median over tasks of the mean time per step of each agent, in µs."""
    per_task = board.values["microseconds"].mean(axis=2)
    return {name: float(np.nanmedian(per_task[i])) for i, name in enumerate(board.agents)}


def _task(board: Scoreboard, i: int) -> dict[str, Any]:
    """Return the table of one task: means and half intervals of the measures of every agent."""
    task = board.tasks[i]
    described, bound = suite(board.suite)[task], board.bounds.get(task)
    horizon = "continuing" if described.horizon is None else f"episodes of {described.horizon} steps"
    limit = "The bound is not computed." if bound is None else f"The bound is {bound:,.2f} bits."
    gap = board.gaps.get(task, 0.0)
    limit += f" It is proved by prices of looks; the smallest loss of the program is at most {gap:.1%} larger." * (
        gap > 0
    )
    order = np.argsort(board.values[MEASURE][:, i].mean(axis=1), kind="stable")
    heads = ["explorer", *(MEASURES[name].label for name in COLUMNS)]
    heads.insert(2, "gap to the bound (bits)")
    rows = []
    for agent in order.tolist():
        cells = [mean_and_half(board.values[name][agent, i]) for name in COLUMNS]
        left = float(board.values[MEASURE][agent, i].mean())
        cells.insert(1, EMPTY if bound is None else f"{left - bound:,.2f}")
        rows.append([board.agents[agent], *cells])
    text = f"{described.source}; {board.n_steps[i]:,} steps, {horizon}. {limit}"
    return {"task": task, "text": text, "heads": heads, "rows": rows, "caption": f"Measures in {task}, the best first"}


def mean_and_half(values: FloatArray) -> str:
    """Return "mean ± half interval" of the runs that have a value, and how many if some have none."""
    known = values[~np.isnan(values)]
    if not len(known):
        return EMPTY
    mean = float(known.mean())
    digits = 0 if abs(mean) >= 1000 else 2 if abs(mean) >= 1 else 3
    half = "" if len(known) < 2 else f" ± {1.96 * known.std(ddof=1) / np.sqrt(len(known)):,.{digits}f}"
    share = "" if len(known) == len(values) else f" ({len(known)} of {len(values)})"
    return f"{mean:,.{digits}f}{half}{share}"


def latex(board: Scoreboard) -> str:
    """Return a LaTeX table (booktabs) of the missing information at the end: a line per task, a column per agent."""
    escaped = [name.replace("_", r"\_").replace("√", r"$\surd$") for name in board.agents]
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(escaped) + 1)}}}", r"\toprule"]
    lines += [" & ".join(["task", *escaped, "bound"]) + r" \\", r"\midrule"]
    for i, task in enumerate(board.tasks):
        values = board.values[MEASURE][:, i]
        best = int(np.nanargmin(values.mean(axis=1)))
        texts = [mean_and_half(runs).replace(" ± ", r" \pm ").replace(",", "{,}") for runs in values]
        cells = [f"${text}$" for text in texts]
        cells[best] = rf"\boldmath{cells[best]}"
        bound = f"{board.bounds[task]:,.2f}" if task in board.bounds else "--"
        lines.append(" & ".join([task, *cells, bound]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _figures(board: Scoreboard, results: Results, means: dict[str, Interval]) -> list[dict[str, str]]:
    """Draw the figures of the report."""
    figures = figures_package()
    drawn = []
    if means:
        drawn.append(("scores", figures.draw_interquartile_means(means), "Interquartile means and 95 % intervals."))
        profile = stratified_bootstrap(
            lambda scores: performance_profile(scores, THRESHOLDS), board.scores(), seed=0, n_resamples=500
        )
        profiles = {name: Interval(*(array[i] for array in profile)) for i, name in enumerate(board.agents)}
        drawing = figures.draw_performance_profiles(profiles, THRESHOLDS)
        drawn.append(("profiles", drawing, "Share of runs whose score exceeds a threshold, with 95 % bands."))
        drawing = figures.draw_cost_and_quality(_microseconds(board), means, "interquartile mean of the score")
        drawn.append(("cost", drawing, "Score against processor time per step; 95 % intervals."))
    drawing = figures.draw_benchmark_curves(_curves(results), _bound_lines(board, results))
    caption = (
        "Missing information over time: means, bands of one standard error, and the bound. A flat line is the bound at "
        "the end alone."
    )
    drawn.append(("curves", drawing, caption))
    return [
        {"name": name, "url": _as_url(drawing.figure), "caption": caption, "alt": f"{caption} {_ALT}"}
        for name, drawing, caption in drawn
    ]


def _curves(results: Results) -> dict[str, dict[str, FloatArray]]:
    """Return the learning curves of the first tasks, by task and agent."""
    curves: dict[str, dict[str, FloatArray]] = {}
    for task in results.classes[:MAX_CURVES]:
        data = results.of(task)[MEASURE].transpose("strategy", "world", "time")
        curves[task] = dict(zip(results.strategies, data.values.astype(float), strict=True))
    return curves


def _bound_lines(board: Scoreboard, results: Results) -> dict[str, FloatArray]:
    """Return the bound over time of tasks with one small world, and a line at the bound at the end of other tasks."""
    steps, lines = dict(zip(board.tasks, board.n_steps, strict=True)), {}
    for name in results.classes[:MAX_CURVES]:
        task = suite(board.suite)[name]
        has_curve = task.horizon is None and count_rows(task) <= MAX_CURVE_ROWS and not task.is_random
        if name in board.bounds and has_curve:
            lines[name] = fluid_bound(task.world(board.seed), steps[name]).curve
        elif name in board.bounds:
            lines[name] = np.full(steps[name] + 1, board.bounds[name])
    return lines


def _as_url(figure: Any) -> str:
    """Return a figure as the URL of a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
