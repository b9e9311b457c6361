"""The first half page: the question, the worlds, the strategies, and how to read a learning curve."""

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
"""The figure that shows a world of each class."""

UTILITIES = {
    "PIG": "predicted information gain: the bits by which missing information is expected to fall",
    "PEIG": "posterior expected information gain: the bits that the last try of this action in this state gained, as "
    "judged after it",
    "PMC": "predicted mode change: the expected rise of the largest estimated probability",
    "PLC": "predicted L1 change: the expected change of the estimated probabilities, summed without sign",
}
"""What a strategy maximises, by the name of its utility."""


def question(context: PageContext) -> str:
    """The section that a reader without the paper needs."""
    return section(
        "question",
        "The question",
        paragraph(
            "An agent is put into a world that it does not know. The world has a few states. In each the agent "
            "chooses one of a few actions, and chance decides which state comes next, with probabilities that belong "
            "to the state and the action. There is no reward: the agent is to learn these probabilities, and it "
            "can act only in the state that its last action has brought it to. The paper asks how such an embodied "
            "agent should act in order to learn fast. Its answer is PIG(VI): estimate the probabilities by Bayes' "
            "rule, value an action in a state by the information that it is predicted to gain (PIG), and plan ahead by "
            "value iteration (VI)."
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
            "An agent is told the distribution that the worlds of its class are drawn from, and starts from it as its "
            "prior. All strategies explore the same worlds."
        )
        + f'<div class="cards worlds">{cards}</div>'
    )


def world_text(paper_run: PaperRun, world_class: str) -> str:
    """What the worlds of a class are, in a sentence or two."""
    world, how = paper_run.world(world_class, 0), paper_run.assumptions
    size = f"{world.n_states} states, {world.n_actions} actions, {how.n_steps(world_class)} steps of exploration."
    if world_class == "dense":
        return (
            f"{size} Every action can lead to every state, with probabilities drawn from Dir({how['dense.alpha']:g})."
        )
    if world_class == "maze":
        return (
            f"{size} The states are rooms and the actions noisy moves in four directions. Against a wall the agent "
            f"stays where it is; {how['maze.n_transporters']} transporters among the walls lead to one base."
        )
    stay = how["1-2-3.p_escape"]
    odds = ", ".join(f"{1 - stay ** (a + 1):.0%}" for a in range(world.n_actions))
    return (
        f"{size} Action 1 has one target, action 2 two and action 3 three, all equally probable. State 1 is among the "
        f"targets of these actions with a probability of {odds}, so it draws the agent in."
    )


def methods(paper_run: PaperRun) -> dict[str, str]:
    """How actions are chosen, by the name that a method has in the names of strategies."""
    how = paper_run.assumptions
    return {
        "greedy": "the action of largest utility in the present state",
        "VI": f"value iteration: the action of largest utility summed over this and the next {how['steps_back']} steps "
        f"(discount {how['gamma']:g}), planned with the agent's own estimate of the world",
        "VI+": "the same, planned with the true world: a control, since no explorer knows it",
        "Q": "Q-learning, which tries actions and learns what utility follows them, without planning",
        "Random": "no utility: any action, all equally probable; the baseline",
        "LTA": "no utility: the action least taken in the present state",
        "CB": "no utility: counter-based, the action expected to lead to the state least visited",
        "Unembodied": "PIG, greedily, over all states and actions: it may go to any state first; a control",
    }


def combined_strategies() -> list[str]:
    """The paper's strategies that put together a utility and a method."""
    return [name for name in PAPER_STRATEGIES if "(" in name]


def _strategies(paper_run: PaperRun) -> str:
    worth = table("What a strategy may maximise", ("utility", "of an action in a state"), _rows(UTILITIES))
    how = table("How it chooses actions", ("method", "chooses"), _rows(methods(paper_run)))
    return (
        f"<h3>{len(PAPER_STRATEGIES)} strategies</h3>"
        + paragraph(
            "The name of a strategy has its utility first and its method in brackets: PIG(VI) maximises PIG by value "
            f"iteration. The paper has {', '.join(combined_strategies())}, and four that stand alone: Random, Unembodied, LTA and "
            f"CB. {' and '.join(POSITIVE_CONTROLS)} may do what an explorer cannot; they are positive controls."
        )
        + f'<div class="pair">{worth}{how}</div>'
    )


def _rows(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"<b>{escape(name)}</b>", escape(text)) for name, text in lines.items()]


def _curves() -> str:
    return "<h3>How to read a learning curve</h3>" + paragraph(
        "A learning curve shows missing information, in bits, against the number of steps. Missing information is the "
        "Kullback-Leibler divergence of the agent's estimate from the true probabilities, summed over all states and "
        "actions; it is zero for an agent that knows its world. The lower and the earlier a curve falls, the faster "
        "the agent learns. A run is summed up by the area under its curve: <b>a larger area is slower learning</b>. "
        "“A against B: +10 % of the area” says that the area of A is larger by 10 % of that of B, on average over "
        "worlds; square brackets hold 95 % confidence intervals. Following the paper, strategies are ranked in each "
        "world by their areas, and p-values compare mean ranks, so that a difference may be small and sure, or large "
        "and unsure."
    )
