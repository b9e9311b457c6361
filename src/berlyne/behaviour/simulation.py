"""Simulate people: the same terms as in a fit choose, learn and choose again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.data import Data, pandas, read
from berlyne.behaviour.fitting import Fit, to_natural
from berlyne.behaviour.terms import Model
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
        self, world: World, rng: np.random.Generator, *, n_steps: int = MAX_STEPS, n_episodes: int | None = None
    ) -> list[dict[str, Any]]:
        """Explore a world; return a line for each choice, with episode, trial, s, a, s_next and ended."""
        states, actions = world.state_labels.all, tuple(world.action_labels.all)
        terms = enumerate(self.model.terms)
        memories = [term.memory(actions, self.model.of_term(i, self.settings)) for i, term in terms]
        lines: list[dict[str, Any]] = []
        episode, begins, s = 1, True, 0
        while len(lines) < n_steps and (n_episodes is None or episode <= n_episodes):
            if begins:
                s = world.episodes.draw(rng.random())
                for memory in memories:
                    memory.begin_episode()
            values = np.concatenate([memory.values(states[s]) for memory in memories], axis=1) @ self.weights
            a = self._choose(values, rng)
            s_next = world.sample(a, s, rng.random())
            ended = bool(world.episodes.is_terminal[s_next])
            for memory in memories:
                memory.learn(states[s], a, states[s_next], ended)
            step = {"s": states[s], "a": actions[a], "s_next": states[s_next], "ended": ended}
            lines.append({"episode": episode, "trial": len(lines) + 1, **step})
            s, begins, episode = s_next, ended, episode + ended
        return lines

    def _choose(self, values: FloatArray, rng: np.random.Generator) -> int:
        """Draw an action from the softmax of the values, or at random in a lapse."""
        from scipy.special import softmax

        p = (1.0 - self.lapse) * softmax(values) + self.lapse / len(values)
        return int(rng.choice(len(values), p=p / p.sum()))


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated people.

    Attributes
    ----------
    frame : pandas.DataFrame
        A line for each choice: subject, episode, trial, s, a, s_next and ended.
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
    seeds: Iterable[int] = range(100),
) -> Simulation:
    """Simulate people like those of a fit: the same model, settings and nuisance terms.

    Parameters
    ----------
    fit : Fit
        A fit. As a group, each simulated person is drawn from the group distribution. Fitted alone, each is a copy of a
        person drawn at random. Fitted together, all have the same parameters.
    world : World
        The world that they explore; its actions are those of the data.
    n_episodes : int, optional
        Number of episodes, which end in terminal states of the world.
    n_steps : int, optional
        Largest number of choices of a person; needed if the world has no terminal states.
    seeds : iterable of int
        A seed for each person.

    Returns
    -------
    Simulation
        The choices in `frame` and `data`, and the `parameters` of each person.
    """
    if len(check_world(world).action_labels.all) != len(fit.data.actions):
        raise ValueError(
            f"the world has {world.n_actions} actions, but the fit has {len(fit.data.actions)}; use another world"
        )
    return simulate_people(
        fit.model, fit.best_settings, lambda rng: draw_person(fit, rng), world, (n_steps, n_episodes), seeds
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
    limits: tuple[int | None, int | None],
    seeds: Iterable[int],
) -> Simulation:
    """Simulate a person for each seed, whose parameters are drawn by `draw(rng)`; limits are steps and episodes."""
    n_steps, n_episodes = limits
    if n_steps is None and (n_episodes is None or len(world.terminal) == 0):
        raise ValueError("set n_steps, or n_episodes and a world with terminal states, so that the simulation ends")
    n_steps = MAX_STEPS if n_steps is None else check_count("n_steps", n_steps, 1)
    n_episodes = None if n_episodes is None else check_count("n_episodes", n_episodes, 1)
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
        lines = person.explore(world, rng, n_steps=n_steps, n_episodes=n_episodes)
        frames.append(pandas().DataFrame(lines).assign(subject=seed))
        parameters[seed] = dict(zip(names, theta.tolist(), strict=True))
    table = pandas().DataFrame.from_dict(parameters, orient="index").rename_axis("subject")
    return Simulation(pandas().concat(frames, ignore_index=True), table, world)
