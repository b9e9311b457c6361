"""Texts of the introduction that depend on the assumptions: worlds, utilities and methods."""

from __future__ import annotations

from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.strategies.registry import PAPER_STRATEGIES

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
