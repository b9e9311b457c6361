"""Every figure of the paper, and a few of ours, composed from the numbers of a study; in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from berlyne import figures
from berlyne.claims.published import FIGURE_POOLS, PUBLISHED_INDEX, TASK_LEVELS
from berlyne.claims.usefulness import task_ranks
from berlyne.claims.verdict import FAILS, HOLDS, OPEN
from berlyne.figures import Drawing
from berlyne.reproduction.sensitivity import AS_READ, VARIANTS, verdicts
from berlyne.reproduction.study import Study
from berlyne.stats import critical_difference, embodiment_index
from berlyne.worlds import PAPER_WORLDS, WORLDS, World

VERDICT_MARKS = {HOLDS: ("o", "#1a9641"), FAILS: ("X", "#d7191c"), OPEN: ("_", "#777777")}


@dataclass(frozen=True)
class FigureOfPaper:
    """One figure: where in the paper it belongs, what the paper says of it, and how to draw it from a study.

    needs : the stages whose numbers it draws.
    """

    name: str
    title: str
    place: str
    says: str
    draw: Callable[[Study], Drawing]
    needs: tuple[str, ...] = ()


def _example_maze(study: Study) -> Drawing:
    world = study.world("maze", 0)
    return figures.draw_maze_and_rows(world, _two_rows(world))


def _two_rows(world: World) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two actions worth drawing: in rooms with walls and transporters, well apart."""
    maze = world.geometry
    assert maze is not None
    faces = maze.transporters.any(axis=1) & maze.passages.any(axis=1) & (np.arange(world.n_states) != maze.base)
    walls = (~maze.passages & ~maze.transporters).any(axis=1)
    rooms = np.flatnonzero(faces & walls)
    if len(rooms) < 2:
        rooms = np.arange(world.n_states)
    first = int(rooms[0])
    line, column = np.divmod(rooms, maze.side)
    apart = np.abs(line - first // maze.side) + np.abs(column - first % maze.side)
    return (0, first), (3, int(rooms[np.argmax(apart)]))


def _dense_world(study: Study) -> Drawing:
    return figures.draw_graph(study.world("dense", 0))


def _one_two_three(study: Study) -> Drawing:
    return figures.draw_graph(study.world("1-2-3", 0), "action {a}: targets {a}", marked=0)


def _prediction(study: Study) -> Drawing:
    return figures.draw_prediction(study.stage("gains"), above_only=("1-2-3",))


def _curves(name: str, measure: str = "missing_information") -> Callable[[Study], Drawing]:
    def draw(study: Study) -> Drawing:
        return figures.draw_curves(study.results, FIGURE_POOLS[name], measure)

    return draw


def _structure(study: Study) -> Drawing:
    stage = study.stage("structure")
    areas = [study.results.areas(str(name)) for name in stage["world_class"].values]
    greedy, free = (np.stack([a.sel(strategy=s).values for a in areas]) for s in ("PIG(greedy)", "Unembodied"))
    return figures.draw_structure(
        stage.assign(embodiment_index=(("world_class", "world"), embodiment_index(greedy, free)))
    )


def _index_by_length(study: Study) -> Drawing:
    stage = study.stage("lengths")
    greedy, free = (stage["area"].sel(strategy=s) for s in ("PIG(greedy)", "Unembodied"))
    index = greedy.copy(data=embodiment_index(greedy.values, free.values))
    used = {name: WORLDS[name].n_steps for name in PAPER_WORLDS}
    return figures.draw_index_by_length(stage.assign(embodiment_index=index), PUBLISHED_INDEX, used)


def _ranks(study: Study) -> Drawing:
    ranks = task_ranks(study.stage("tasks"))
    reaches = [critical_difference(ranks.sizes["strategy"], ranks.sizes["world"], alpha) for alpha in TASK_LEVELS]
    return figures.draw_ranks(ranks, "PIG(VI)", reaches)


def _concentration(study: Study) -> Drawing:
    return figures.draw_concentration(study.stage("learned"))


def _sensitivity(study: Study) -> Drawing:
    labels = {AS_READ: AS_READ, **{v.id: f"{v.text} ({v.reading})" for v in VARIANTS}}
    return figures.draw_verdicts(verdicts(study), labels, VERDICT_MARKS)


FIGURES: dict[str, FigureOfPaper] = {
    figure.name: figure
    for figure in (
        FigureOfPaper(
            "fig1",
            "Example maze",
            "Fig. 1, Sec. 2.4",
            "36 rooms, four noisy translations; flat heads lead into walls, dashed arrows through transporters (blue) "
            "to the base (target); darker arrows are more probable.",
            _example_maze,
        ),
        FigureOfPaper(
            "fig2",
            "Accuracy of predicted information gain",
            "Fig. 2, Sec. 3.1",
            "Average PIG lies on the unity line against the average realised gain, and falls with every observation "
            "(none at the top right, 19 at the bottom left).",
            _prediction,
            ("gains",),
        ),
        FigureOfPaper(
            "fig3",
            "Learning curves for control strategies",
            "Fig. 3, Sec. 3.2",
            "Random action is as good as the unembodied control in Dense Worlds, and far from it in the others.",
            _curves("fig3"),
            ("explorations",),
        ),
        FigureOfPaper(
            "fig4",
            "Coordinating exploration using predicted information gain",
            "Fig. 4, Sec. 3.3",
            "Greedy PIG helps in 1-2-3 Worlds only; value iteration helps most in Mazes, moderately in 1-2-3 Worlds, "
            "and knowing the true world (VI+) adds little, in Mazes only.",
            _curves("fig4"),
            ("explorations",),
        ),
        FigureOfPaper(
            "fig5",
            "Quantifying the structure of the worlds",
            "Fig. 5, Sec. 3.4",
            "(a) The embodiment index correlates strongly with the structure index. (b) An action has more impact on "
            "future states in Mazes and 1-2-3 Worlds than in Dense Worlds, in Mazes far into the future.",
            _structure,
            ("explorations", "structure"),
        ),
        FigureOfPaper(
            "fig6",
            "Comparison to previous exploration strategies",
            "Fig. 6, Sec. 3.5",
            "PIG(VI) outperforms least taken action, counter-based exploration and PEIG(Q) in structured worlds.",
            _curves("fig6"),
            ("explorations",),
        ),
        FigureOfPaper(
            "fig7",
            "Comparison between utility functions",
            "Fig. 7, Sec. 3.6",
            "PIG(VI) is the best overall: better than PMC(VI) in all worlds and than PLC(VI) in 1-2-3 Worlds.",
            _curves("fig7"),
            ("explorations",),
        ),
        FigureOfPaper(
            "fig8",
            "Demonstration of generalized utility",
            "Fig. 8, Sec. 3.7",
            "PIG(VI) always groups with the top performers in navigation and reward, positive controls excepted, and "
            "is the only strategy to do so. Vertical bounds around PIG(VI) are for navigation, horizontal ones for "
            "reward; solid for p = 0.001 (text), dashed for p = 0.0001 (caption).",
            _ranks,
            ("tasks",),
        ),
        FigureOfPaper(
            "figS1",
            "Example Dense World",
            "Fig. S1, Sec. 2.4",
            "A complete directed graph of 10 states under each of four actions; darker arrows are more probable.",
            _dense_world,
        ),
        FigureOfPaper(
            "figS2",
            "Example 1-2-3 World",
            "Fig. S2, Sec. 2.4",
            "20 states; action a leads to one of a targets with equal probability, state 1 (blue) is often among them.",
            _one_two_three,
        ),
        FigureOfPaper(
            "figS3",
            "Crossing utilities and coordination: PIG(Q) and PEIG(VI)",
            "Fig. S3, Sec. 3.5",
            "PIG(Q) is like PEIG(Q), short of PIG(VI); PEIG(VI) matches PIG(VI) in Mazes but not in 1-2-3 Worlds.",
            _curves("figS3"),
            ("explorations",),
        ),
        FigureOfPaper(
            "figS4",
            "Utility functions measured by L1 distance",
            "Fig. S4, Sec. 3.6",
            "Measured by L1 distance, PIG(VI) still outperforms PMC(VI) and PLC(VI) in 1-2-3 Worlds.",
            _curves("figS4", "l1_distance"),
            ("explorations",),
        ),
        FigureOfPaper(
            "figS5",
            "Exploring while learning the prior",
            "Fig. S5, Sec. 4.1",
            "Maximum-likelihood estimation of the concentration enables exploration that quickly matches that of "
            "agents given accurate priors.",
            _concentration,
            ("learned",),
        ),
        FigureOfPaper(
            "index-by-length",
            "Embodiment index against run length",
            "reading R12",
            "The paper does not give run lengths; its averages are 0.02, 2.59 and 1.27.",
            _index_by_length,
            ("lengths",),
        ),
        FigureOfPaper(
            "sensitivity",
            "What depends on how the paper is read",
            "readings R3 to R16",
            "The paper leaves these choices open, or prints something else.",
            _sensitivity,
            ("explorations", "sensitivity"),
        ),
    )
}
