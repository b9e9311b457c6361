"""Introduction of the report: the question, the worlds, the strategies, and how to read a learning curve."""

from __future__ import annotations

from html import escape

from berlyne.paper.claims.published import POSITIVE_CONTROLS
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.figure_cards import card
from berlyne.paper.reproduction.page.html import paragraph, section, table
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import title

PICTURES = {"dense": "figS1", "maze": "fig1", "1-2-3": "figS2"}
"""Figure that shows a world of each class."""

UTILITIES = {
    "PIG": "predicted information gain: the number of bits by which missing information is expected to fall",
    "PEIG": "posterior expected information gain: the number of bits that the last try of this action in this state "
    "gained, estimated after the try",
    "PMC": "predicted mode change: the expected increase of the largest estimated probability",
    "PLC": "predicted L1 change: the expected sum of absolute changes of the estimated probabilities",
}
"""Meaning of each utility."""


def question(context: PageContext) -> str:
    """Render the section for readers who do not know the paper."""
    return section(
        "question",
        "The question",
        paragraph(
            "An agent explores a world that it does not know. The world has a few states. In each state the agent "
            "chooses one of a few actions, and the next state is random, with probabilities that depend on the state "
            "and the action. There is no reward. The agent has to learn these probabilities, and it can act only in "
            "the state to which its last action has led. The paper asks how such an embodied agent should act in order "
            "to learn fast. Its answer is PIG(VI): estimate the probabilities by Bayes' rule, value an action in a "
            "state by its predicted information gain (PIG), and plan ahead by value iteration (VI)."
        ),
        _worlds(context.paper_run),
        _strategies(context.paper_run),
        _curves(),
    )


def _worlds(paper_run: PaperRun) -> str:
    cards = "".join(card(paper_run, name, escape(title(c)), world_text(paper_run, c)) for c, name in PICTURES.items())
    return (
        "<h3>Three classes of worlds</h3>"
        + paragraph(
            "The worlds of a class are drawn from a known distribution, which the agent uses as its prior. All "
            "strategies explore the same worlds."
        )
        + f'<div class="cards worlds">{cards}</div>'
    )


def world_text(paper_run: PaperRun, world_class: str) -> str:
    """Return a short description of the worlds of a class."""
    world, assumptions = paper_run.world(world_class, 0), paper_run.assumptions
    n_steps = assumptions.n_steps(world_class)
    size = f"{world.n_states} states, {world.n_actions} actions, {n_steps} steps of exploration."
    if world_class == "dense":
        alpha = assumptions["dense.alpha"]
        return f"{size} Every action can lead to every state, with probabilities drawn from Dir({alpha:g})."
    if world_class == "maze":
        return (
            f"{size} The states are rooms, and the actions are noisy moves in four directions. An agent that walks "
            f"against a wall stays in its room. {assumptions['maze.n_transporters']} transporters on the walls lead to "
            "one base."
        )
    p_escape = assumptions["1-2-3.p_escape"]
    odds = ", ".join(f"{1 - p_escape ** (a + 1):.0%}" for a in range(world.n_actions))
    return (
        f"{size} Action 1 has one target, action 2 two and action 3 three, all equally probable. State 1 is among the "
        f"targets of these actions with a probability of {odds}, so the agent often returns to it."
    )


def methods(paper_run: PaperRun) -> dict[str, str]:
    """Return the meaning of each method, by its name in the names of strategies."""
    assumptions = paper_run.assumptions
    return {
        "greedy": "the action with the largest utility in the current state",
        "VI": "value iteration: the action with the largest utility summed over this and the next "
        f"{assumptions['steps_back']} steps (discount {assumptions['gamma']:g}), planned with the agent's own estimate "
        "of the world",
        "VI+": "value iteration planned with the true world; a control, because no explorer knows the true world",
        "Q": "Q-learning, which tries actions and learns the utility that follows them, without planning",
        "Random": "no utility: all actions are equally probable (the baseline)",
        "LTA": "no utility; the least taken action in the current state",
        "CB": "no utility; counter-based: the action expected to lead to the least visited state",
        "Unembodied": "the largest PIG over all states and actions, after moving to that state at no cost (a control)",
    }


def combined_strategies() -> list[str]:
    """Return the strategies of the paper that combine a utility and a method."""
    return [name for name in PAPER_STRATEGIES if "(" in name]


def _strategies(paper_run: PaperRun) -> str:
    utility_table = table("Utilities", ("utility", "of an action in a state"), _rows(UTILITIES))
    method_table = table("Methods", ("method", "chooses"), _rows(methods(paper_run)))
    return (
        f"<h3>{len(PAPER_STRATEGIES)} strategies</h3>"
        + paragraph(
            "The name of a strategy consists of its utility and, in brackets, its method. For example, PIG(VI) "
            f"maximises PIG by value iteration. The paper has {', '.join(combined_strategies())}, and four strategies "
            f"with other names: Random, Unembodied, LTA and CB. {' and '.join(POSITIVE_CONTROLS)} have advantages "
            "that no real explorer has, so they are positive controls."
        )
        + f'<div class="pair">{utility_table}{method_table}</div>'
    )


def _rows(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"<b>{escape(name)}</b>", escape(text)) for name, text in lines.items()]


def _curves() -> str:
    return "<h3>How to read a learning curve</h3>" + paragraph(
        "A learning curve shows missing information, in bits, against the number of steps. Missing information is the "
        "Kullback-Leibler divergence of the agent's estimate from the true probabilities, summed over all states and "
        "actions. It is zero for an agent that knows its world. The lower and the earlier a curve falls, the faster "
        "the agent learns. The area under the curve summarises a run: <b>a larger area means slower learning</b>. "
        "“A against B: areas differ by +10 %” means that the area of A is larger than that of B by 10 % of the area of "
        "B, on average over worlds. Square brackets contain 95 % confidence intervals. As in the paper, strategies are "
        "ranked in each world by their areas, and p-values compare mean ranks. So a small difference can be "
        "significant, and a large one may not be."
    )
