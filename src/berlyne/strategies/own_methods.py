"""Coordination methods that are registered by name, and compiled.

A method is written once, as a function of a `View` and a state. It is compiled for the engine, and plain NumPy agents
call the same function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from berlyne.strategies.coordination import METHODS_BY_NAME, ValueMethod, View
from berlyne.strategies.indices import F, check_name
from berlyne.validation import OWN_METHOD, FloatArray, check_number


class OwnMethod(NamedTuple):
    """The functions of a registered method.

    Attributes
    ----------
    values : Callable
        `values(view, s)` returns the value of each action in state `s`, (M,).
    learn : Callable or None
        `learn(view, s, a, s_next, reward)` changes `view.memory` after an observation; None if nothing is learned.
    initial : float
        Initial value of every entry of `view.memory`.
    """

    values: Callable[..., Any]
    learn: Callable[..., None] | None
    initial: float


OWN_METHODS: dict[str, OwnMethod] = {}
"""Methods by name that `berlyne.method` has registered."""


@dataclass(frozen=True)
class RegisteredMethod(ValueMethod):
    """A method that `berlyne.method` has registered. Only its name is stored and sent to other processes.

    Parameters
    ----------
    method : str
        Name of the method.
    """

    method: str

    @property
    def definition(self) -> OwnMethod:
        """The functions of the method; a `ValueError` if it is not registered in this process."""
        if self.method not in OWN_METHODS:
            raise ValueError(
                f"the method {self.method} is not defined here; import the module that registers it with "
                f"berlyne.method{OWN_METHOD}"
            )
        return OWN_METHODS[self.method]

    def start(self, view: View) -> None:
        """Store a table of initial values in `view.memory`, `[a, s]`."""
        view.memory = np.full(view.utility.shape, self.definition.initial)

    def values(self, view: View, s: int) -> FloatArray:
        """Return the value of each action in state `s`."""
        values: FloatArray = self.definition.values(view, s)
        return values

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """Learn from one transition, if the method learns."""
        if self.definition.learn is not None:
            self.definition.learn(view, s, a, s_next, reward)

    def grow(self, view: View, memory: FloatArray) -> None:
        """Copy the memory; the new state and the undiscovered states keep the initial value."""
        view.memory[:, : memory.shape[1]] = memory


def method(name: str, *, learn: Callable[..., None] | None = None, initial: float = 0.0) -> Callable[[F], F]:
    """Register a function of a view and a state as a coordination method, which then combines with every utility.

    The function takes a `View` and a state, and returns the value of each action in that state, (M,). It is compiled if
    Numba can compile it; otherwise it runs in plain NumPy, with a warning.

    Parameters
    ----------
    name : str
        Name of the method, such as "rare" for the strategies "PIG(rare)" and "PMC(rare)". "rare" alone is the strategy
        without a utility.
    learn : callable, optional
        Function `learn(view, s, a, s_next, reward)`, which may change `view.memory` after each observation. `reward` is
        the utility of the observation.
    initial : float
        Initial value of every entry of `view.memory`, an array `[a, s]`.

    Returns
    -------
    callable
        A decorator, which returns the function as it is.

    Examples
    --------
    >>> import berlyne
    >>> @berlyne.method("rare")
    ... def rare(view, s):
    ...     return view.utility[:, s] / (1.0 + view.expected(view.visits, s))
    >>> berlyne.explore(berlyne.maze(0), "PIG(rare)", n_steps=100).n_steps
    100
    """
    check_name("method", name, OWN_METHOD)
    if name in METHODS_BY_NAME and name not in OWN_METHODS:
        raise ValueError(f"the name of a method is {name!r}, which is a built-in method; use another name{OWN_METHOD}")
    if learn is not None:
        _check_function(name, "learn", learn, 5)
    initial = check_number("initial", initial, -1e12, 1e12)

    def register(function: F) -> F:
        _check_function(name, "values", function, 2)
        OWN_METHODS[name] = OwnMethod(function, learn, initial)
        METHODS_BY_NAME[name] = partial(RegisteredMethod, name)
        return function

    return register


_FORMS = {"values": "a function of view and s", "learn": "a function of view, s, a, s_next and reward"}


def _check_function(name: str, kind: str, function: Any, n_arguments: int) -> None:
    """Raise a `ValueError` unless a function of a method can be called with this number of arguments."""
    try:
        inspect.signature(function).bind(*[None] * n_arguments)
    except (TypeError, ValueError):
        raise ValueError(
            f"{kind} of the method {name} is {function!r}; it must be {_FORMS[kind]}{OWN_METHOD}"
        ) from None
