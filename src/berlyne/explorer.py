"""An explorer for worlds that are not ours: an experiment, a robot, somebody's environment.

The explorer is told the state, says what to try next, and is told what happened. It knows its
prior and its history, and nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from berlyne.arrays import FloatArray, Seed, check_count
from berlyne.explore import make_mind, streams
from berlyne.model import InternalModel
from berlyne.plain import PlainMind
from berlyne.priors import Prior
from berlyne.priors.prior import Description
from berlyne.strategies import Strategy, strategy

FORMAT = 1


class Explorer:
    """Chooses actions for a world that answers by itself.

    Given the same draws it takes the same actions as `explore`: with the same seed, and the states
    that an exploration went through, it repeats that exploration.

    Parameters
    ----------
    prior : what may be assumed of the world.
    strategy : a name such as "PIG(VI)", or a `Strategy`; not one that needs the true world.
    seed : int, `SeedSequence` or `Generator`, for breaking ties and for random actions.
    n_states, n_actions : needed only for a prior that does not carry them.

    Examples
    --------
    >>> import berlyne
    >>> explorer = berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=3, n_actions=2), seed=0)
    >>> a = explorer.act(0)
    >>> explorer.observe(0, a, 2)
    """

    def __init__(
        self,
        prior: Prior,
        strategy: str | Strategy = "PIG(VI)",
        seed: Seed = 0,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
    ) -> None:
        self._begin(InternalModel(prior, n_states=n_states, n_actions=n_actions), strategy)
        self._rng = streams(seed)[1]

    def _begin(self, model: InternalModel, how: str | Strategy) -> None:
        self.prior = model.prior
        self.strategy = strategy(how)
        self.n_states, self.n_actions = model.n_states, model.n_actions
        self.n_obs = 0
        self._last: dict[int, int] = {}
        self._mind = make_mind(model, self.strategy, None)

    def __repr__(self) -> str:
        size = f"{self.n_states:,} states, {self.n_actions} actions"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    def act(self, s: int) -> int:
        """The action to try in state `s`."""
        if self.strategy.relocates:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call choose_pair()")
        return self._mind.act(self._checked("s", s, self.n_states), self._draw())

    def choose_pair(self) -> tuple[int, int]:
        """The pair (s, a) to try, for a strategy that may go to any state: Unembodied."""
        if not self.strategy.relocates:
            raise ValueError(f"{self.strategy} acts in the state it is in; call act(s)")
        return self._mind.choose_pair(self._draw())

    def _draw(self) -> FloatArray:
        u = self._rng.random(2)
        if self.strategy.ties == "first":
            u[0] = 0.0
        return u

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn that action `a` in state `s` led to `s_next`."""
        s, s_next = self._checked("s", s, self.n_states), self._checked("s_next", s_next, self.n_states)
        a = self._checked("a", a, self.n_actions)
        self._mind.observe(s, a, s_next)
        self.n_obs += 1
        self._last[s * self.n_actions + a] = s_next

    def utility(self) -> FloatArray:
        """What the explorer values, `[a, s]`: why it acts as it does. Zero for heuristics."""
        return self._mind.utility()

    @property
    def model(self) -> InternalModel:
        """A copy of the internal model: estimates, counts and all measures."""
        return InternalModel.from_counts(self.prior, self._mind.counts(), self._last)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, without pickle; a loaded explorer goes on exactly as this one would.

        The prior and the strategy must be berlyne's own: code cannot be saved.
        """
        if isinstance(self._mind, PlainMind):
            raise ValueError(f"{self.strategy} with {self.prior!r} has a part of your own, which cannot be saved")
        prior: Description = self.prior.describe()  # type: ignore[attr-defined]
        sizes = {"n_states": self.n_states, "n_actions": self.n_actions}
        settings = {
            "format": FORMAT,
            "strategy": _describe_strategy(self.strategy),
            "prior": {"kind": prior.kind, **prior.parameters, **sizes},
            "n_obs": self.n_obs,
            "rng": self._rng.bit_generator.state,
        }
        arrays = {f"mind_{name}": values for name, values in self._mind.memory().items()} | prior.arrays
        arrays["last"] = np.array(list(self._last.items()), dtype=np.int64).reshape(-1, 2)
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        with open(partial, "wb") as file:
            np.savez_compressed(file, settings=np.array(json.dumps(settings, default=np.generic.item)), **arrays)
        os.replace(partial, target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explorer:
        """Read an explorer that `save` wrote."""
        with open(path, "rb") as file:
            try:
                settings, arrays = _read(file)
                if settings["format"] == FORMAT:
                    return cls._restored(settings, arrays)
            except Exception as error:  # there is no end to what a damaged file can lead to
                raise ValueError(f"{os.fspath(path)} is not an explorer saved by berlyne, or it is damaged") from error
        raise ValueError(
            f"{os.fspath(path)} has format {settings['format']}; this version of berlyne reads format {FORMAT}"
        )

    @classmethod
    def _restored(cls, settings: dict[str, Any], arrays: dict[str, Any]) -> Explorer:
        explorer = cls.__new__(cls)
        model = InternalModel(_prior_from(settings["prior"], arrays))
        explorer._begin(model, _strategy_from(settings["strategy"]))
        assert not isinstance(explorer._mind, PlainMind)
        explorer._mind.remember({k.removeprefix("mind_"): v for k, v in arrays.items() if k.startswith("mind_")})
        explorer.n_obs = int(settings["n_obs"])
        explorer._last = dict(arrays["last"].tolist())
        explorer._rng = np.random.default_rng()
        explorer._rng.bit_generator.state = settings["rng"]
        return explorer

    @staticmethod
    def _checked(name: str, value: int, size: int) -> int:
        if check_count(name, value, 0) >= size:
            raise ValueError(f"{name} is {value}; it must be 0 to {size - 1}")
        return int(value)


def _read(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(str(arrays.pop("settings"))), arrays


def _describe_strategy(how: Strategy) -> dict[str, Any]:
    """What the strategy does, whatever it is called."""
    said = {field.name: getattr(how, field.name) for field in dataclasses.fields(how) if field.name != "coordinate"}
    method = {"method": type(how.coordinate).__name__, "parameters": dataclasses.asdict(how.coordinate)}
    return {"said": said, **method}


def _strategy_from(stored: dict[str, Any]) -> Strategy:
    from berlyne.engine.mind import restored_method  # here, so that `import berlyne` need not import Numba

    return Strategy(coordinate=restored_method(stored["method"], stored["parameters"]), **stored["said"])


def _prior_from(said: dict[str, Any], arrays: dict[str, Any]) -> Prior:
    from berlyne.engine.mind import restored_prior

    parameters = {name: value for name, value in said.items() if name not in ("kind", "n_states", "n_actions")}
    own = {name: values for name, values in arrays.items() if name != "last" and not name.startswith("mind_")}
    return restored_prior(said["n_states"], said["n_actions"], Description(said["kind"], parameters, own))
