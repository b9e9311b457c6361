"""Table of the figures of the paper and a few of ours, drawn from the numbers of a reproduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne import figures
from berlyne.figures import Drawing
from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.published import FIGURE_POOLS, PUBLISHED_INDEX, TASK_LEVELS
from berlyne.paper.claims.task_ranks import TASKS, ranks_at_times, task_critical_difference, task_ranks
from berlyne.paper.reproduction.captions import CAPTIONS
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.robustness import AS_READ, REEVALUATED, cells
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.stats import embodiment_index
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class FigureOfPaper:
    """One figure: its place in the paper, the paper's statement about it, and the function that draws it.

    Parameters
    ----------
    name : str
        Name of its files.
    title : str
        Title.
    place : str
        Figure and section of the paper, or the reading it belongs to.
    paper_says : str
        Statement of the paper about it.
    draw : callable
        Function of a `PaperRun` that returns the drawing.
    needs : tuple of str
        Stages whose numbers it shows.
    caption : str
        Caption that explains it without the paper; `{n}` stands for the number of worlds.
    """

    name: str
    title: str
    place: str
    paper_says: str
    draw: Callable[[PaperRun], Drawing]
    needs: tuple[str, ...] = ()
    caption: str = ""


def _example_maze(paper_run: PaperRun) -> Drawing:
    world = paper_run.world("maze", 0)
    return figures.draw_maze_and_rows(world, figures.telling_rows(world))


def _dense_world(paper_run: PaperRun) -> Drawing:
    return figures.draw_graph(paper_run.world("dense", 0))


def _one_two_three(paper_run: PaperRun) -> Drawing:
    return figures.draw_graph(paper_run.world("1-2-3", 0), marked=0, centred=0)


def _prediction(paper_run: PaperRun) -> Drawing:
    return figures.draw_prediction(paper_run.stage("gains"), above_only=("1-2-3",))


def _curves(name: str, measure: str = "missing_information", minus: str | None = None) -> Callable[[PaperRun], Drawing]:
    def draw(paper_run: PaperRun) -> Drawing:
        return figures.draw_curves(paper_run.results, FIGURE_POOLS[name], measure, minus)

    return draw


def _structure(paper_run: PaperRun) -> Drawing:
    stage = paper_run.stage("structure")
    areas = [paper_run.results.areas(str(name)) for name in stage["world_class"].values]
    greedy, unembodied = (np.stack([a.sel(strategy=s).values for a in areas]) for s in ("PIG(greedy)", "Unembodied"))
    return figures.draw_structure(
        stage.assign(embodiment_index=(("world_class", "world"), embodiment_index(greedy, unembodied)))
    )


def _index_by_length(paper_run: PaperRun) -> Drawing:
    stage = paper_run.stage("lengths")
    greedy, unembodied = (stage["area"].sel(strategy=s) for s in ("PIG(greedy)", "Unembodied"))
    index = greedy.copy(data=embodiment_index(greedy.values, unembodied.values))
    n_steps = {name: paper_run.assumptions.n_steps(name) for name in PAPER_WORLDS}
    return figures.draw_index_by_length(stage.assign(embodiment_index=index), PUBLISHED_INDEX, n_steps)


def _ranks(paper_run: PaperRun) -> Drawing:
    ranks = task_ranks(paper_run.stage("tasks"), paper_run.assumptions["tasks.ranking"])
    return figures.draw_ranks(
        ranks, "PIG(VI)", {alpha: task_critical_difference(ranks, alpha) for alpha in TASK_LEVELS}
    )


def _ranks_by_time(paper_run: PaperRun) -> Drawing:
    import xarray as xr

    tasks = paper_run.stage("tasks")
    dims = ("world_class", "snapshot", "world", "strategy")
    ranked = {
        task: (dims, np.stack([ranks_at_times(tasks, name, task, FIGURE_POOLS["fig8"]) for name in PAPER_WORLDS]))
        for task in TASKS
    }
    labels = {"world_class": list(PAPER_WORLDS), "strategy": list(FIGURE_POOLS["fig8"])}
    return figures.draw_ranks_by_time(xr.Dataset(ranked, {**labels, "snapshot": tasks["snapshot"].values}))


def _concentration(paper_run: PaperRun) -> Drawing:
    return figures.draw_concentration(paper_run.stage("learned"))


def _sensitivity(paper_run: PaperRun) -> Drawing:
    variants = {AS_READ: AS_READ, **{v.id: f"{v.text} ({v.reading})" for v in VARIANTS}}
    return figures.draw_sensitivity(_cells(paper_run), {id_: CLAIMS[id_].short for id_ in REEVALUATED}, variants)


def _cells(paper_run: PaperRun) -> xr.Dataset:
    """Return verdict, largest change of an effect and kind of flip, by variant and claim; "as read" comes first."""
    import xarray as xr

    dims = ("variant", "claim")
    table: dict[str, list[list[Any]]] = {
        "verdict": [[paper_run.verdicts[id_].word for id_ in REEVALUATED]],
        "change": [[0.0] * len(REEVALUATED)],
        "flip": [[""] * len(REEVALUATED)],
    }
    for by_claim in cells(paper_run).values():
        table["verdict"].append([by_claim[id_].after.word if id_ in by_claim else "" for id_ in REEVALUATED])
        table["change"].append([by_claim[id_].size if id_ in by_claim else np.nan for id_ in REEVALUATED])
        table["flip"].append([by_claim[id_].flip if id_ in by_claim else "" for id_ in REEVALUATED])
    labels = {"variant": [AS_READ, *cells(paper_run)], "claim": list(REEVALUATED)}
    return xr.Dataset({name: (dims, rows) for name, rows in table.items()}, labels)


def _figure(
    name: str, title: str, place: str, paper_says: str, draw: Callable[[PaperRun], Drawing], needs: tuple[str, ...] = ()
) -> FigureOfPaper:
    return FigureOfPaper(name, title, place, paper_says, draw, needs, CAPTIONS[name])


FIGURES: dict[str, FigureOfPaper] = {
    figure.name: figure
    for figure in (
        _figure(
            "fig1",
            "Example maze",
            "Fig. 1, Sec. 2.4",
            "36 rooms, four noisy translations; flat-headed arrows lead into walls, dashed ones through portals (blue "
            "lines) to the base state (blue target); darker arrows are more probable.",
            _example_maze,
        ),
        _figure(
            "fig2",
            "Accuracy of predicted information gain",
            "Fig. 2, Sec. 3.1",
            "Average PIG lies on the unity line against the average realised gain, and falls with every observation "
            "(none at the top right, 19 at the bottom left).",
            _prediction,
            ("gains",),
        ),
        _figure(
            "fig3",
            "Learning curves for control strategies",
            "Fig. 3, Sec. 3.2",
            "The margin between random action and the unembodied control is significant in Mazes and 1-2-3 Worlds "
            "(p < 0.001), but not in Dense Worlds (p > 0.01).",
            _curves("fig3"),
            ("explorations",),
        ),
        _figure(
            "fig4",
            "Coordinating exploration using predicted information gain",
            "Fig. 4, Sec. 3.3",
            "PIG(greedy) improves on random action in 1-2-3 Worlds only; PIG(VI) gains most in Mazes, moderately in "
            "1-2-3 Worlds; PIG(VI+), which knows the true world, differs from PIG(VI) only in Mazes, by little.",
            _curves("fig4"),
            ("explorations",),
        ),
        _figure(
            "fig5",
            "Quantifying the structure of the worlds",
            "Fig. 5, Sec. 3.4",
            "(a) The embodiment index correlates strongly with the structure index. (b) An action has more impact on "
            "future states in Mazes and 1-2-3 Worlds than in Dense Worlds, in Mazes far into the future.",
            _structure,
            ("explorations", "structure"),
        ),
        _figure(
            "fig6",
            "Comparison to previous exploration strategies",
            "Fig. 6, Sec. 3.5",
            "PIG(VI) outperforms least taken action, counter-based exploration and PEIG(Q) in structured worlds.",
            _curves("fig6"),
            ("explorations",),
        ),
        _figure(
            "fig7",
            "Comparison between utility functions",
            "Fig. 7, Sec. 3.6",
            "PIG(VI) is the best overall: better than PMC(VI) in all worlds and than PLC(VI) in 1-2-3 Worlds.",
            _curves("fig7", minus="PIG(VI)"),
            ("explorations",),
        ),
        _figure(
            "fig8",
            "Demonstration of generalized utility",
            "Fig. 8, Sec. 3.7",
            "Apart from positive controls, PIG(VI) always groups with the top performers in navigation and reward, and "
            "is the only strategy to do so. Strategies outside the bounds around PIG(VI) differ significantly from it. "
            "The level is p = 0.001 in the text and p < 0.0001 in the caption.",
            _ranks,
            ("tasks",),
        ),
        _figure(
            "fig8-times",
            "Ranks at each time point",
            "reading R19",
            "At several time points during exploration, the agent is stopped and its internal model is assessed.",
            _ranks_by_time,
            ("tasks",),
        ),
        _figure(
            "figS1",
            "Example Dense World",
            "Fig. S1, Sec. 2.4",
            "A complete directed probability graph with 10 states and 4 actions.",
            _dense_world,
        ),
        _figure(
            "figS2",
            "Example 1-2-3 World",
            "Fig. S2, Sec. 2.4",
            "20 states; action a leads to one of a targets with equal probability, and state 1 is among them with "
            "probability 1 - 0.75^a.",
            _one_two_three,
        ),
        _figure(
            "figS3",
            "Crossing utilities and coordination: PIG(Q) and PEIG(VI)",
            "Fig. S3, Sec. 3.5",
            "PIG(Q) is like PEIG(Q) and worse than PIG(VI). PEIG(VI) matches PIG(VI) in Mazes but not in 1-2-3 Worlds.",
            _curves("figS3"),
            ("explorations",),
        ),
        _figure(
            "figS4",
            "Utility functions measured by L1 distance",
            "Fig. S4, Sec. 3.6",
            "Measured by L1 distance, PIG(VI) still outperforms PMC(VI) and PLC(VI) in 1-2-3 Worlds.",
            _curves("figS4", "l1_distance", "PIG(VI)"),
            ("explorations",),
        ),
        _figure(
            "figS5",
            "Exploring while learning the prior",
            "Fig. S5, Sec. 4.1",
            "Maximum-likelihood estimation of the concentration enables exploration that quickly matches that of "
            "agents given accurate priors.",
            _concentration,
            ("learned",),
        ),
        _figure(
            "index-by-length",
            "Embodiment index against run length",
            "reading R12",
            "The embodiment index averages 0.02 for Dense Worlds, 2.59 for Mazes and 1.27 for 1-2-3 Worlds. The paper "
            "does not give the run lengths.",
            _index_by_length,
            ("lengths",),
        ),
        _figure(
            "sensitivity",
            "Verdicts under other readings of the paper",
            "readings R3 to R20",
            "The paper has no such figure. It leaves these choices open, or prints a formula that we do not use.",
            _sensitivity,
            ("explorations", "structure", "tasks", "sensitivity"),
        ),
    )
}
