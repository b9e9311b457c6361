"""Simulate people: the same terms as in a fit choose, learn and choose again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.data import Data, pandas, read
from berlyne.behaviour.fitting import Fit, check_fit, to_natural
from berlyne.behaviour.terms import Model
from berlyne.exploration.stopping import StoppingRule
from berlyne.validation import FloatArray, check_count
from berlyne.worlds.world import World, check_world

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 10_000
"""Steps of a person, at most, if episodes do not end."""


@dataclass(frozen=True)
class Person:
    """A person who chooses by a model.

    Attributes
    ----------
    model : Model
        The model.
    settings : mapping of str to float
        Settings, such as "PIG(VI): gamma".
    weights : ndarray of shape (K,)
        Weights of the values.
    lapse : float
        Probability of a lapse.
    """

    model: Model
    settings: Mapping[str, float]
    weights: FloatArray
    lapse: float = 0.0

    def explore(
        self, world: World, rng: np.random.Generator, stop: StoppingRule, n_steps: int = MAX_STEPS
    ) -> list[dict[str, Any]]:
        """Explore a world until a rule stops it; return a line for each choice.

        A line has episode, trial, s, a, s_next and ended; also allowed, a tuple of actions, if the world forbids some.
        An episode that is cut by the horizon of the world has not ended, but another one begins.
        """
        states, actions, allowed = world.state_labels.all, tuple(world.action_labels.all), world.allowed
        terms = enumerate(self.model.terms)
        memories = [term.memory(actions, self.model.of_term(i, self.settings)) for i, term in terms]
        lines: list[dict[str, Any]] = []
        n_finished, left, s = 0, 0, 0
        while len(lines) < n_steps:
            if left == 0:
                s, left = world.episodes.draw(rng.random()), world.horizon or n_steps
                for memory in memories:
                    memory.begin_episode()
            values = np.concatenate([memory.values(states[s]) for memory in memories], axis=1) @ self.weights
            a = self._choose(np.where(allowed[:, s], values, -np.inf), rng)
            s_next = world.sample(a, s, rng.random())
            ended = bool(world.episodes.is_terminal[s_next])
            for memory in memories:
                memory.learn(states[s], a, states[s_next], ended)
            step = {"s": states[s], "a": actions[a], "s_next": states[s_next], "ended": ended}
            lines.append({"episode": n_finished + 1, "trial": len(lines) + 1, **step})
            if not allowed.all():
                lines[-1]["allowed"] = tuple(actions[i] for i in np.flatnonzero(allowed[:, s]))
            s, left = s_next, 0 if ended else left - 1
            n_finished += left == 0
            if stop.stops(states[s_next], n_finished):
                break
        return lines

    def _choose(self, values: FloatArray, rng: np.random.Generator) -> int:
        """Draw an action from the softmax of the values, or at random in a lapse; -inf if it is not allowed."""
        from scipy.special import softmax

        allowed = values > -np.inf
        p = (1.0 - self.lapse) * softmax(values) + self.lapse * allowed / allowed.sum()
        return int(rng.choice(len(values), p=p / p.sum()))


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated people.

    Attributes
    ----------
    frame : pandas.DataFrame
        A line for each choice: subject, episode, trial, s, a, s_next and ended; allowed, if the world forbids actions.
    parameters : pandas.DataFrame
        Weights and lapse of each person.
    world : World
        The world that they explored.
    """

    frame: pd.DataFrame
    parameters: pd.DataFrame
    world: World

    def __repr__(self) -> str:
        return f"Simulation({len(self.parameters)} people, {len(self.frame):,} choices)"

    @cached_property
    def data(self) -> Data:
        """The choices, as `bb.read` returns them."""
        return read(self.frame, actions=self.world.action_labels.all, keep=["trial"])


def simulate(
    fit: Fit,
    world: World,
    *,
    n_episodes: int | None = None,
    n_steps: int | None = None,
    until: Any = None,
    seeds: Iterable[int] = range(100),
) -> Simulation:
    """Simulate people like those of a fit: the same model, settings and nuisance terms.

    Parameters
    ----------
    fit : Fit
        A fit. As a group, each simulated person is drawn from the group distribution. Fitted alone, each is a copy of a
        person drawn at random. Fitted together, all have the same parameters.
    world : World
        The world that they explore; its actions are those of the data. Its horizon cuts episodes, and people take only
        actions that are possible in it.
    n_episodes : int, optional
        Each person stops after this number of episodes, as in `berlyne.explore`. Episodes end in terminal states, or
        are cut by the horizon of the world.
    n_steps : int, optional
        Largest number of choices of a person. By default 10,000, if `until` is set, or if `n_episodes` is set and
        episodes end or are cut; otherwise it is needed.
    until : object or callable, optional
        Each person stops when a step leads to this state, or to one for which this function of its label returns true.
    seeds : iterable of int
        A seed for each person.

    Returns
    -------
    Simulation
        The choices in `frame` and `data`, and the `parameters` of each person.
    """
    check_fit(fit)
    if len(check_world(world).action_labels.all) != len(fit.data.actions):
        raise ValueError(
            f"the world has {world.n_actions} actions, but the fit has {len(fit.data.actions)}; use another world"
        )
    return simulate_people(
        fit.model, fit.best_settings, lambda rng: draw_person(fit, rng), world, (n_steps, n_episodes, until), seeds
    )


def draw_person(fit: Fit, rng: np.random.Generator) -> FloatArray:
    """Draw the weights and the lapse of a person, (P,)."""
    if fit.group_fit is None:
        return np.asarray(np.nan_to_num(fit.estimates[int(rng.integers(len(fit.estimates)))]))
    theta = rng.normal(fit.group_fit.mean, fit.group_fit.sd)
    return np.array([float(to_natural(x, scale)) for x, scale in zip(theta, fit.scales, strict=True)])


def simulate_people(
    model: Model,
    settings: Mapping[str, float],
    draw: Any,
    world: World,
    limits: tuple[Any, ...],
    seeds: Iterable[int],
) -> Simulation:
    """Simulate a person for each seed, whose parameters are drawn by `draw(rng)`.

    `limits` are `n_steps`, `n_episodes` and optionally `until`, as in `simulate`.
    """
    n_steps, n_episodes, until = (*limits, None)[:3]
    if n_steps is None and until is None and (n_episodes is None or not world.episodes.begin_again):
        raise ValueError(
            "set n_steps, until, or n_episodes and a world with terminal states or a horizon; otherwise it never ends"
        )
    stop = StoppingRule(world.state_labels, n_episodes, until)
    n_steps = MAX_STEPS if n_steps is None else check_count("n_steps", n_steps, 1)
    actions = tuple(world.action_labels.all)
    names = [*model.weight_names(actions), *(["lapse"] if model.has_lapse else [])]
    n_weights, frames, parameters = len(names) - model.has_lapse, [], {}
    seeds = list(seeds)
    if not seeds:
        raise ValueError("no people are simulated; pass at least one seed, or n_people of at least 1")
    for seed in seeds:
        rng = np.random.default_rng(seed)
        theta = np.asarray(draw(rng), dtype=float)
        person = Person(model, settings, theta[:n_weights], float(theta[-1]) if model.has_lapse else 0.0)
        lines = person.explore(world, rng, stop, n_steps)
        frames.append(pandas().DataFrame(lines).assign(subject=seed))
        parameters[seed] = dict(zip(names, theta.tolist(), strict=True))
    table = pandas().DataFrame.from_dict(parameters, orient="index").rename_axis("subject")
    return Simulation(pandas().concat(frames, ignore_index=True), table, world)
