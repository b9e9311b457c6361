"""Table of strategies, each composed of a utility and a coordination method; the paper's names are listed.

`get_strategy("PMC(Q)")` combines any built-in utility with any built-in method. For your own utility or method, call
`Strategy` directly.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.strategies import bonuses, drives  # noqa: F401  # register their utilities
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import (
    METHODS_BY_NAME,
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
from berlyne.strategies.fluid_plan import FluidPlan
from berlyne.strategies.own_methods import OWN_METHODS, RegisteredMethod
from berlyne.strategies.planning import HopefulIteration, PosteriorSampling, RewardFree, RMax
from berlyne.strategies.utilities import TWO_NOVELTIES, UTILITIES, as_row_function
from berlyne.validation import OWN_METHOD, OWN_UTILITY, check_number

TEXTS = ("ties", "after_end", "replan", "bonus")
"""Parameters that are texts; all others are numbers. A number of steps for `replan` is one, too."""
MAX_TEMPERATURE = 1e12
"""Highest temperature of a softmax."""


@dataclass(frozen=True)
class Strategy:
    """Strategy of an explorer: a coordination method, usually with a utility.

    Parameters
    ----------
    name : str
        Name of the strategy, such as "PIG(VI)".
    coordinate : object or callable
        A method of `berlyne.strategies.coordination`, any object with `values(view, s)` or `choose(view, s, u)`, or a
        function of the arguments `(view, s, u)`. It is used as it is, not copied.
    utility : str, callable or None
        Name of a utility, or a function that returns the utility of one row. The function takes `theta_hat` (N,) and
        `theta_hat_after` (N, N), and also `counts` (N,) if it has such a parameter. None for methods that need no
        utility.
    untried : float or None
        PEIG of a pair that was never tried. None for its prior PIG (reading R6).
    ties : {"uniform", "first"}
        "uniform" breaks ties at random. "first" takes the lowest action (or state and action). Use "first" to see how
        much depends on the random ties (reading R8).
    temperature : float
        Temperature of a softmax over the method's values, in their unit. 0 takes the best action.
    lapse : float
        Probability of a uniform choice. It adds to the epsilon of Q-learning: the total probability is
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
        if self.utility == "novelty" and self.utility not in UTILITIES:
            raise ValueError(TWO_NOVELTIES)
        if isinstance(self.utility, str) and self.utility not in UTILITIES:
            raise ValueError(f"there is no utility {self.utility!r}; there are {', '.join(UTILITIES)}{OWN_UTILITY}")
        if callable(self.utility):
            as_row_function(self.utility)
        elif self.utility is not None and not isinstance(self.utility, str):
            raise ValueError(f"utility is {self.utility!r}; it must be a name or a function{OWN_UTILITY}")
        pairs = self.relocates
        can_choose = hasattr(self.coordinate, "choose_pair" if pairs else "choose")
        if not (can_choose or has_values(self.coordinate) or (callable(self.coordinate) and not pairs)):
            required = (
                "it relocates, so it must have a method pair_values or choose_pair"
                if pairs
                else "it must be a function, or an object with a method values or choose"
            )
            raise ValueError(f"coordinate is {self.coordinate!r}; {required}{OWN_METHOD}")
        if self.ties not in ("uniform", "first"):
            raise ValueError(f"ties is {self.ties!r}; it must be 'uniform' or 'first'")
        if self.ties == "first" and isinstance(self.coordinate, UniformChoice | QLearning):
            raise ValueError(f"{self.name} acts at random, so ties='first' cannot be used; use ties='uniform'")
        if self.untried is not None:
            check_number("untried", self.untried, -1e12, 1e12)
        self._check_chance()

    def _check_chance(self) -> None:
        """Raise `ValueError` if the temperature or the lapse is invalid for this strategy."""
        check_number("temperature", self.temperature, 0.0, MAX_TEMPERATURE)
        check_number("lapse", self.lapse, 0.0, 1.0)
        if self.temperature == 0.0 and self.lapse == 0.0:
            return
        if isinstance(self.coordinate, UniformChoice):
            raise ValueError(f"{self.name} has no action values, so temperature and lapse cannot be set")
        if not has_values(self.coordinate):
            raise ValueError(f"{self.name} needs a method values(view, s) for a temperature or a lapse{OWN_METHOD}")
        if self.ties == "first":
            raise ValueError(f"{self.name} acts at random, so ties='first' cannot be used; use ties='uniform'")

    def __str__(self) -> str:
        return self.name

    @property
    def rule(self) -> ChoiceRule:
        """Rule that turns the values into actions."""
        epsilon = self.coordinate.exploration_rate if isinstance(self.coordinate, ValueMethod) else 0.0
        lapse = epsilon + (1.0 - epsilon) * float(self.lapse)
        return ChoiceRule(float(self.temperature), lapse, self.ties == "first")

    @property
    def sees_world(self) -> bool:
        """Whether the strategy plans with the true world (a positive control)."""
        return bool(getattr(self.coordinate, "sees_world", False))

    @property
    def relocates(self) -> bool:
        """Whether the strategy may act in any state at any time (a positive control)."""
        return bool(getattr(self.coordinate, "relocates", False))


def table(*strategies: Strategy) -> dict[str, Strategy]:
    """Return a dict of strategies by name."""
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
    Strategy("BEB(VI)", ValueIteration(), "BEB"),
    Strategy("1/√n(VI)", ValueIteration(), "count_bonus"),
    Strategy("R-max(VI)", RMax()),
    Strategy("RF-UCRL", RewardFree(bonus="ucrl")),
    Strategy("RF-Express", RewardFree(bonus="express")),
    Strategy("MaxEnt", RewardFree(bonus="entropy")),
    Strategy("MaxEnt(states)", RewardFree(bonus="state_entropy")),
    Strategy("FW-AME", ValueIteration(steps_back=100, replan="cubic"), "AME"),
    Strategy("PSRL(PIG)", PosteriorSampling(), "PIG"),
    Strategy("PIG(hopeful VI)", HopefulIteration(), "PIG"),
    Strategy("Generative", Relocating(), "log_count"),  # control: may relocate
)
"""All built-in strategies, by name.

After the fifteen of the paper come explorers of other literatures. Their sources are those of their utilities
(`berlyne.strategies.bonuses`, `berlyne.strategies.drives`) and methods (`berlyne.strategies.planning`).

- R-max(VI) is R-max itself (`RMax`): an unknown row leads to an imagined state of highest reward. With other methods,
  as in R-max(greedy), an unknown row has utility 1 and leads where the estimate says.
- MaxEnt is EntGame of Tiapkin et al. (2023), Fast rates for maximum entropy exploration, with its optimism: the reward
  of a pair is the logarithm of its inverse frequency, and a plan is made for each episode. MaxEnt(states) seeks the
  entropy of states, as Hazan et al. (2019) did, by the same game (`RewardFree`).
- FW-AME follows Tarbouriech et al. (2020): plan k is followed from step (k - 1)^3 to k^3. A plan sees 101 steps where
  the source solves for the average, and uses the estimate where the source is optimistic.
- Generative samples all rows evenly, without moving between them, as a generative model allows.
"""

SLOW_STRATEGIES = table(Strategy("PIG(fluid)", FluidPlan(), "PIG"))
"""Strategies for small worlds only, by name. They are not compiled, and lists of strategies leave them out."""

PAPER_STRATEGIES = (
    "Random", "Unembodied", "LTA", "CB",
    "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PIG(Q)",
    "PEIG(greedy)", "PEIG(VI)", "PEIG(Q)",
    "PMC(greedy)", "PMC(VI)", "PLC(greedy)", "PLC(VI)",
)  # fmt: skip
"""Names of the fifteen strategies of the paper. Strategies added to `STRATEGIES` are not added here."""


def get_strategy(name: str | Strategy, **parameters: Any) -> Strategy:
    """Return the strategy called `name`, with parameters that differ from the paper's if given.

    Any built-in utility combines with any built-in method: `"PMC(Q)"`, `"parameter_gain(VI)"`. Upper and lower case are
    the same, unless two names differ in nothing else.

    Parameters
    ----------
    name : str or Strategy
        Name of a strategy, which may contain parameters, as in `"PIG(VI, gamma=0.9)"`. A `Strategy` is returned as it
        is.
    **parameters : float, int or str
        Parameters of the method (`steps_back`, `gamma`, `after_end` and `replan` of VI; `hope` of hopeful VI; `window`
        of fluid; `learning_rate`, `gamma`, `epsilon` and `initial` of Q; `m` of R-max; `scale` of MaxEnt), of the
        utility (`beta` of BEB, `untried` for PEIG), and `ties`, `temperature` and `lapse`. They become part of the
        strategy's name.

    Returns
    -------
    Strategy
        The strategy of that name.

    Raises
    ------
    ValueError
        If there is no such strategy, or if it has no such parameter.

    Examples
    --------
    >>> get_strategy("PIG(VI)", steps_back=30, gamma=0.95).name
    'PIG(VI, steps_back=30, gamma=0.95)'
    >>> get_strategy("PIG(VI)", temperature=0.1, lapse=0.02).name
    'PIG(VI, temperature=0.1, lapse=0.02)'
    """
    if isinstance(name, Strategy):
        if parameters:
            raise ValueError("parameters are allowed only with the name of a strategy, not with a Strategy object")
        return name
    name = str(name).strip()
    if not parameters and name in STRATEGIES:
        return STRATEGIES[name]
    plain_name, parsed = _parse(name)
    plain_name, parameters = _with_case(plain_name), {**parsed, **parameters}
    base = STRATEGIES.get(plain_name) or SLOW_STRATEGIES.get(plain_name) or _compose(plain_name)
    return _with_parameters(base, parameters) if parameters else base


def check_defined(strategy: Strategy) -> None:
    """Raise a `ValueError` if a strategy from another process uses an index or a method that is not registered here."""
    if isinstance(strategy.utility, str) and strategy.utility not in UTILITIES:
        raise ValueError(
            f"the utility {strategy.utility} of {strategy} is not defined here; import the module that registers it "
            f"with berlyne.index{OWN_UTILITY}"
        )
    if isinstance(strategy.coordinate, RegisteredMethod):
        assert strategy.coordinate.definition  # raises


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
        raise ValueError(f"{name!r} sets {max(keys, key=keys.count)} more than once; set it once")
    try:
        parameters = {key: _as_text(value) if key in TEXTS else _number(value) for key, value in pairs}
    except ValueError:
        raise ValueError(f"the parameters in {name!r} must be numbers") from None
    return (f"{match[1]}({method})" if method else match[1]), parameters


def _with_case(name: str) -> str:
    """Return the name of a strategy with upper and lower case as defined, such as "PIG(VI)" for "pig(vi)"."""
    whole = _find_name(name, (*STRATEGIES, *SLOW_STRATEGIES, *OWN_METHODS))
    match = re.fullmatch(r"([^()]+)\(([^()]+)\)", name)
    if whole != name or match is None:
        return whole
    return f"{_find_name(match[1], UTILITIES)}({_find_name(match[2], METHODS_BY_NAME)})"


def _find_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that differs from `name` in case only; `name` itself if it is known or there is none."""
    names = list(known)
    same = [other for other in names if other.casefold() == name.casefold()]
    return same[0] if len(same) == 1 and name not in names else name


def _number(text: str) -> int | float:
    return int(text) if text.strip().isdigit() else float(text)


def _as_text(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _as_float(value: Any) -> Any:
    """Convert an integer to a float, so that 1 and 1.0 give the same name."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return float(value) if is_integer else value


def _compose(name: str) -> Strategy:
    """Compose a strategy from the names of a utility and a method, such as "PMC(Q)"."""
    match = re.fullmatch(r"([^()]+)\(([^()]+)\)", name)
    if match and match[1] in UTILITIES and match[2] in METHODS_BY_NAME:
        return Strategy(name, METHODS_BY_NAME[match[2]](), match[1])
    if name in OWN_METHODS:
        return Strategy(name, RegisteredMethod(name))
    if match and match[1].casefold() == "novelty":
        raise ValueError(f"there is no strategy {name!r}: {TWO_NOVELTIES}")
    names = [*STRATEGIES, *OWN_METHODS, *(f"{u}({m})" for u in UTILITIES for m in METHODS_BY_NAME)]
    near = difflib.get_close_matches(name, dict.fromkeys(names), n=3, cutoff=0.4)
    parts = [] if match is None else [(match[1], UTILITIES), (match[2], METHODS_BY_NAME)]
    unknown = [part for part, known in parts if part not in known]
    own = f", or is the module that registers {unknown[0]} not imported" if unknown else ""
    hint = f"did you mean {' or '.join(near)}{own}?" if near else f"there are {', '.join(STRATEGIES)}{OWN_METHOD}"
    raise ValueError(f"there is no strategy {name!r}; {hint}")


def _with_parameters(base: Strategy, parameters: dict[str, Any]) -> Strategy:
    """Return `base` with some parameters changed; the new name contains them."""
    sees_world = isinstance(base.coordinate, TrueModel)
    method = base.coordinate.inner if sees_world else base.coordinate
    allowed = [] if isinstance(method, RegisteredMethod) else [f.name for f in dataclasses.fields(method)]
    of_utility = UTILITIES.parameters(base.utility if isinstance(base.utility, str) else None)
    allowed = [*of_utility, *allowed]
    of_strategy = [*(["untried"] if base.utility == "PEIG" else []), "ties"]
    of_strategy += [] if isinstance(method, UniformChoice) else ["temperature", "lapse"]
    allowed += of_strategy
    for key in parameters:
        if key not in allowed:
            raise ValueError(f"{base.name} has no parameter {key!r}; it takes {', '.join(allowed)}")
    floats = {f.name for f in dataclasses.fields(method) if f.type == "float"} | {"untried", "temperature", "lapse"}
    parameters = {key: _as_float(value) if key in floats else value for key, value in parameters.items()}
    of_method = {k: value for k, value in parameters.items() if k not in of_strategy and k not in of_utility}
    method = dataclasses.replace(method, **of_method)
    text = ", ".join(f"{key}={parameters[key]}" for key in allowed if key in parameters)
    name = f"{base.name[:-1]}, {text})" if base.name.endswith(")") else f"{base.name}({text})"
    changes = {key: parameters[key] for key in of_strategy if key in parameters}
    if of_utility.keys() & parameters.keys():
        chosen = {key: parameters.get(key, default) for key, default in of_utility.items()}
        changes["utility"] = f"{base.utility}[{', '.join(f'{key}={value}' for key, value in chosen.items())}]"
        UTILITIES[changes["utility"]]  # raises if a parameter is invalid
    return dataclasses.replace(base, name=name, coordinate=TrueModel(method) if sees_world else method, **changes)
