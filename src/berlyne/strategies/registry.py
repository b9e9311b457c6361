"""Strategies: one table that composes utilities and coordination, and which of them are the paper's.

A strategy is a utility and a way to coordinate actions towards it. `strategy("PMC(Q)")` puts
together any of them; a utility or a method of your own goes into `Strategy` directly.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import (
    METHODS,
    CounterBased,
    Greedy,
    LeastTaken,
    QLearning,
    Relocating,
    TrueModel,
    UniformChoice,
    ValueIteration,
    ValueMethod,
    has_values,
)
from berlyne.strategies.utilities import UTILITIES, as_row_function
from berlyne.validation import OWN_METHOD, OWN_UTILITY, check_number

MOST_HEAT = 1e12
"""Highest temperature."""


@dataclass(frozen=True)
class Strategy:
    """How an explorer acts.

    Parameters
    ----------
    name : the paper's, such as "PIG(VI)".
    coordinate : a method of `berlyne.strategies.coordination`, any object with `values(view, s)` or
        `choose(view, s, u)`, or a function of the latter's arguments; used as it is, not copied.
    utility : the name of a utility, or a function of `theta_hat` (N,) and `theta_hat_after` (N, N), and if it
        asks for them of `counts` (N,), that returns the value of one row; None for heuristics that need none.
    untried : PEIG of a pair never tried; None for its prior PIG (reading R6).
    ties : "uniform" breaks ties at random, "first" takes the lowest action (or state and action);
        the second is for seeing how much depends on the first (reading R8).
    temperature : of a softmax over the method's values, in their unit; 0 takes the best.
    lapse : the chance of a uniform choice instead, on top of the epsilon of Q-learning: together
        epsilon + (1 - epsilon) lapse.
    """

    name: str
    coordinate: Any
    utility: str | Callable[..., float] | None = None
    untried: float | None = None
    ties: str = "uniform"
    temperature: float = 0.0
    lapse: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.utility, str) and self.utility not in UTILITIES:
            raise ValueError(f"there is no utility {self.utility!r}; there are {', '.join(UTILITIES)}{OWN_UTILITY}")
        if callable(self.utility):
            as_row_function(self.utility)
        elif self.utility is not None and not isinstance(self.utility, str):
            raise ValueError(f"utility is {self.utility!r}; it must be a name or a function{OWN_UTILITY}")
        pairs = self.relocates
        chooses_without_values = (
            hasattr(self.coordinate, "choose_pair") if pairs else hasattr(self.coordinate, "choose")
        )
        if not (chooses_without_values or has_values(self.coordinate) or (callable(self.coordinate) and not pairs)):
            wanted = "relocate by a method pair_values or choose_pair" if pairs else "have a method values or choose"
            function = "" if pairs else "be a function or "
            raise ValueError(f"coordinate is {self.coordinate!r}; it must {function}{wanted}{OWN_METHOD}")
        if self.ties not in ("uniform", "first"):
            raise ValueError(f"ties is {self.ties!r}; it must be 'uniform' or 'first'")
        if self.ties == "first" and isinstance(self.coordinate, UniformChoice | QLearning):
            raise ValueError(f"{self.name} acts at random, which ties='first' would undo")
        if self.untried is not None:
            check_number("untried", self.untried, -1e12, 1e12)
        self._check_chance()

    def _check_chance(self) -> None:
        """Refuse a temperature or lapse that would not mean anything."""
        check_number("temperature", self.temperature, 0.0, MOST_HEAT)
        check_number("lapse", self.lapse, 0.0, 1.0)
        if self.temperature == 0.0 and self.lapse == 0.0:
            return
        if isinstance(self.coordinate, UniformChoice):
            raise ValueError(f"{self.name} has no values, so it takes no temperature and no lapse")
        if not has_values(self.coordinate):
            raise ValueError(f"{self.name} needs a method values(view, s) for a temperature or a lapse{OWN_METHOD}")
        if self.ties == "first":
            raise ValueError(f"{self.name} acts at random, which ties='first' would undo")

    def __str__(self) -> str:
        return self.name

    @property
    def rule(self) -> ChoiceRule:
        """How its values become actions."""
        epsilon = self.coordinate.exploration_rate if isinstance(self.coordinate, ValueMethod) else 0.0
        lapse = epsilon + (1.0 - epsilon) * float(self.lapse)
        return ChoiceRule(float(self.temperature), lapse, self.ties == "first")

    @property
    def sees_world(self) -> bool:
        """Whether it plans with the true world (a positive control)."""
        return bool(getattr(self.coordinate, "sees_world", False))

    @property
    def relocates(self) -> bool:
        """Whether it may act in any state at any time (a positive control)."""
        return bool(getattr(self.coordinate, "relocates", False))


def table(*strategies: Strategy) -> dict[str, Strategy]:
    """Strategies by name."""
    return {s.name: s for s in strategies}


STRATEGIES = table(
    Strategy("Random", UniformChoice()),
    Strategy("Unembodied", Relocating(), "PIG"),  # control: may relocate
    Strategy("LTA", LeastTaken()),
    Strategy("CB", CounterBased()),
    Strategy("PIG(greedy)", Greedy(), "PIG"),
    Strategy("PIG(VI)", ValueIteration(), "PIG"),
    Strategy("PIG(VI+)", TrueModel(ValueIteration()), "PIG"),  # control: plans with the true world
    Strategy("PIG(Q)", QLearning(), "PIG"),
    Strategy("PEIG(greedy)", Greedy(), "PEIG"),
    Strategy("PEIG(VI)", ValueIteration(), "PEIG"),
    Strategy("PEIG(Q)", QLearning(), "PEIG"),
    Strategy("PMC(greedy)", Greedy(), "PMC"),
    Strategy("PMC(VI)", ValueIteration(), "PMC"),
    Strategy("PLC(greedy)", Greedy(), "PLC"),
    Strategy("PLC(VI)", ValueIteration(), "PLC"),
)
"""The strategies there are, by name."""

PAPER_STRATEGIES = (
    "Random", "Unembodied", "LTA", "CB",
    "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PIG(Q)",
    "PEIG(greedy)", "PEIG(VI)", "PEIG(Q)",
    "PMC(greedy)", "PMC(VI)", "PLC(greedy)", "PLC(VI)",
)  # fmt: skip
"""Names of the fifteen strategies of the paper. One of one's own does not join them."""


def get_strategy(name: str | Strategy, **parameters: Any) -> Strategy:
    """The strategy called `name`, with other parameters than the paper's if given.

    Any utility goes with any method: `"PMC(Q)"`, `"novelty(VI)"`. Parameters are those of
    the method (`steps_back`, `gamma`; `learning_rate`, `gamma`, `epsilon`, `initial`), for PEIG
    `untried`, and `ties`, `temperature` and `lapse`. They become part of the strategy's name.

    Examples
    --------
    >>> get_strategy("PIG(VI)", steps_back=30, gamma=0.95).name
    'PIG(VI, steps_back=30, gamma=0.95)'
    >>> get_strategy("PIG(VI)", temperature=0.1, lapse=0.02).name
    'PIG(VI, temperature=0.1, lapse=0.02)'
    """
    if isinstance(name, Strategy):
        if parameters:
            raise ValueError("parameters go with the name of a strategy, not with a Strategy object")
        return name
    name = str(name).strip()
    if not parameters and name in STRATEGIES:
        return STRATEGIES[name]
    plain, said = _parse(name)
    parameters = {**said, **parameters}
    found = STRATEGIES.get(plain) or _compose(plain)
    return _with(found, parameters) if parameters else found


def _parse(name: str) -> tuple[str, dict[str, Any]]:
    """Split "PIG(VI, gamma=0.9)" into "PIG(VI)" and its parameters."""
    match = re.fullmatch(r"([^()]+)\(([^()]*)\)", name)
    if match is None:
        return name, {}
    inside = [part.strip() for part in match[2].split(",")]
    method = ", ".join(part for part in inside if "=" not in part)
    pairs = [[side.strip() for side in part.split("=", 1)] for part in inside if "=" in part]
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{name!r} says {max(keys, key=keys.count)} more than once; say it once")
    try:
        said = {key: value if key == "ties" else _number(value) for key, value in pairs}
    except ValueError:
        raise ValueError(f"the parameters in {name!r} must be numbers") from None
    return (f"{match[1]}({method})" if method else match[1]), said


def _number(said: str) -> int | float:
    return int(said) if said.strip().isdigit() else float(said)


def _real(value: Any) -> Any:
    """A whole number as a real one, so that 1 and 1.0 have one name."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return float(value) if whole else value


def _compose(name: str) -> Strategy:
    match = re.fullmatch(r"([^()]+)\(([^()]+)\)", name)
    if match and match[1] in UTILITIES and match[2] in METHODS:
        return Strategy(name, METHODS[match[2]](), match[1])
    known = [*STRATEGIES, *(f"{u}({m})" for u in UTILITIES for m in METHODS)]
    near = difflib.get_close_matches(name, dict.fromkeys(known), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(STRATEGIES)}{OWN_METHOD}"
    raise ValueError(f"there is no strategy {name!r}; {hint}")


def _with(base: Strategy, parameters: dict[str, Any]) -> Strategy:
    """`base` with some parameters of its own changed, and its name saying so."""
    knows = isinstance(base.coordinate, TrueModel)
    method = base.coordinate.inner if knows else base.coordinate
    allowed = [f.name for f in dataclasses.fields(method)]
    general = [*(["untried"] if base.utility == "PEIG" else []), "ties"]
    general += [] if isinstance(method, UniformChoice) else ["temperature", "lapse"]
    allowed += general
    for key in parameters:
        if key not in allowed:
            raise ValueError(f"{base.name} has no parameter {key!r}; it takes {', '.join(allowed)}")
    real = {f.name for f in dataclasses.fields(method) if f.type == "float"} | {"untried", "temperature", "lapse"}
    parameters = {key: _real(value) if key in real else value for key, value in parameters.items()}
    mine = {key: value for key, value in parameters.items() if key not in general}
    method = dataclasses.replace(method, **mine)
    said = ", ".join(f"{key}={parameters[key]}" for key in allowed if key in parameters)
    name = f"{base.name[:-1]}, {said})" if base.name.endswith(")") else f"{base.name}({said})"
    said_here = {key: parameters[key] for key in general if key in parameters}
    return dataclasses.replace(base, name=name, coordinate=TrueModel(method) if knows else method, **said_here)
