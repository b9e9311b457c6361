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

from berlyne.arrays import check_number
from berlyne.coordination import (
    METHODS,
    CounterBased,
    Greedy,
    KnowingWorld,
    LeastTaken,
    QLearning,
    Relocating,
    UniformChoice,
    ValueIteration,
)
from berlyne.utilities import UTILITIES


@dataclass(frozen=True)
class Strategy:
    """How an explorer acts.

    Parameters
    ----------
    name : the paper's, such as "PIG(VI)".
    coordinate : a method of `berlyne.coordination`, any object with `choose(view, s, u)`,
        or a function of the same arguments.
    utility : the name of a utility, or a function of `theta_hat` (N,) and `theta_hat_after` (N, N)
        that returns the value of one row; None for heuristics that need none.
    untried : PEIG of a pair never tried; None for its prior PIG (reading R6).
    ties : "uniform" breaks ties at random, "first" takes the lowest action (or state and action);
        the second is for seeing how much depends on the first (reading R8).
    """

    name: str
    coordinate: Any
    utility: str | Callable[..., float] | None = None
    untried: float | None = None
    ties: str = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.utility, str) and self.utility not in UTILITIES:
            raise ValueError(f"there is no utility {self.utility!r}; there are {', '.join(UTILITIES)}")
        if not (callable(self.coordinate) or hasattr(self.coordinate, "choose")):
            raise ValueError(f"coordinate is {self.coordinate!r}; it must be a function or have a method choose")
        if self.ties not in ("uniform", "first"):
            raise ValueError(f"ties is {self.ties!r}; it must be 'uniform' or 'first'")
        if self.ties == "first" and isinstance(self.coordinate, UniformChoice | QLearning):
            raise ValueError(f"{self.name} acts at random, which ties='first' would undo")
        if self.untried is not None:
            check_number("untried", self.untried, -1e12, 1e12)

    def __str__(self) -> str:
        return self.name

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
    Strategy("PIG(VI+)", KnowingWorld(ValueIteration()), "PIG"),  # control: plans with the true world
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


def strategy(name: str | Strategy, **parameters: Any) -> Strategy:
    """The strategy called `name`, with other parameters than the paper's if given.

    Any utility goes with any method: `"PMC(Q)"`, `"novelty(VI)"`. Parameters are those of
    the method (`steps_back`, `gamma`; `learning_rate`, `gamma`, `epsilon`, `initial`), for PEIG
    `untried`, and `ties`. They become part of the strategy's name.

    Examples
    --------
    >>> strategy("PIG(VI)", steps_back=30, gamma=0.95).name
    'PIG(VI, steps_back=30, gamma=0.95)'
    """
    if isinstance(name, Strategy):
        if parameters:
            raise ValueError("parameters go with the name of a strategy, not with a Strategy object")
        return name
    if not parameters and str(name) in STRATEGIES:
        return STRATEGIES[str(name)]
    plain, said = _parse(str(name))
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
    pairs = [part.split("=", 1) for part in inside if "=" in part]
    try:
        said = {key: value if key == "ties" else _number(value) for key, value in pairs}
    except ValueError:
        raise ValueError(f"the parameters in {name!r} must be numbers") from None
    return (f"{match[1]}({method})" if method else match[1]), said


def _number(said: str) -> int | float:
    return int(said) if said.strip().isdigit() else float(said)


def _compose(name: str) -> Strategy:
    match = re.fullmatch(r"([^()]+)\(([^()]+)\)", name)
    if match and match[1] in UTILITIES and match[2] in METHODS:
        return Strategy(name, METHODS[match[2]](), match[1])
    known = [*STRATEGIES, *(f"{u}({m})" for u in UTILITIES for m in METHODS)]
    near = difflib.get_close_matches(name, dict.fromkeys(known), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(STRATEGIES)}"
    raise ValueError(f"there is no strategy {name!r}; {hint}")


def _with(base: Strategy, parameters: dict[str, Any]) -> Strategy:
    """`base` with some parameters of its own changed, and its name saying so."""
    knows = isinstance(base.coordinate, KnowingWorld)
    method = base.coordinate.inner if knows else base.coordinate
    allowed = [f.name for f in dataclasses.fields(method)] + (["untried"] if base.utility == "PEIG" else []) + ["ties"]
    for key in parameters:
        if key not in allowed:
            raise ValueError(f"{base.name} has no parameter {key!r}; it takes {', '.join(allowed)}")
    mine = {key: value for key, value in parameters.items() if key not in ("untried", "ties")}
    method = dataclasses.replace(method, **mine)
    said = ", ".join(f"{key}={parameters[key]}" for key in allowed if key in parameters)
    name = f"{base.name[:-1]}, {said})" if base.name.endswith(")") else f"{base.name}({said})"
    return Strategy(
        name,
        KnowingWorld(method) if knows else method,
        base.utility,
        parameters.get("untried", base.untried),
        parameters.get("ties", base.ties),
    )
