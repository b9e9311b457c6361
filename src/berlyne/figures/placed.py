"""The states of a model among those of a world: by label where both have labels, by number otherwise.

An explorer that discovers its states has a cell for each of them and a last one, elsewhere, for all others.
"""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray, IntArray
from berlyne.labels import ELSEWHERE, Labels
from berlyne.model import InternalModel
from berlyne.priors import ChineseRestaurant
from berlyne.rows import by_action
from berlyne.worlds import World


def discovers(model: InternalModel) -> bool:
    """Whether the last state of a model is elsewhere."""
    return isinstance(model.prior, ChineseRestaurant) and bool(model.states[-1] == ELSEWHERE)


def cells_of(world: World, model: InternalModel) -> IntArray:
    """The model's number of each state of a world, (N,); of those that are not discovered, that of elsewhere."""
    if not discovers(model):
        return _matched(world.state_labels, model.state_labels)
    cells = np.full(world.n_states, model.n_states - 1)
    number = {label: s for s, label in enumerate(world.states)}
    for cell, label in enumerate(model.states[:-1]):
        if label not in number:
            raise ValueError(f"the model has discovered the state {label!r}; the world must have it, too")
        cells[number[label]] = cell
    return cells


def actions_of(world: World, model: InternalModel) -> IntArray:
    """The model's number of each action of a world, (M,)."""
    return _matched(world.action_labels, model.action_labels)


def missing_by_row(model: InternalModel, world: World) -> FloatArray:
    """D(theta || theta_hat) of each row of a world, in bits, `[a, s]` in the world's order; 0 in terminal states.

    What the model expects elsewhere is spread evenly over the states that are not discovered.
    """
    cells, actions, rows = cells_of(world, model), actions_of(world, model), world.rows
    s, a = np.divmod(rows.numbers(), rows.n_actions)
    s, a, s_next = cells[s], actions[a], cells[rows.indices]
    if model.exact is None:
        theta_hat = np.asarray(model.theta_hat[a, s, s_next])
    else:
        theta_hat = model.exact.estimate_at(model.sparse_counts, s * model.n_actions + a, s_next)
    theta_hat = theta_hat / np.bincount(cells, minlength=model.n_states)[s_next]
    with np.errstate(divide="ignore"):
        bits = rows.data * (np.log2(rows.data) - np.log2(theta_hat))
    per_row: FloatArray = by_action(rows.row_sums(bits), rows.n_actions)
    per_row[:, world.terminal] = 0.0
    return per_row


def _matched(world: Labels, model: Labels) -> IntArray:
    """The model's number of each label of the world."""
    kind = f"{world.kind}s"
    if world.size != model.size:
        raise ValueError(f"the world has {world.size} {kind} and the model {model.size}; they must be the same")
    if world.given is None or model.given is None:
        return np.arange(world.size)
    number = {label: i for i, label in enumerate(model.given)}
    strange = [label for label in world.given if label not in number]
    if strange:
        raise ValueError(
            f"the world has the {world.kind} {strange[0]!r}, which the model has not; {kind} must be the same"
        )
    return np.array([number[label] for label in world.given])
