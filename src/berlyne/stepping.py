"""Reset and step an environment, and check what it returns."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from berlyne.arrays import in_short

RESET = "it must return (observation, info), as in Gymnasium"
STEP = "it must return (observation, reward, terminated, truncated, info), as in Gymnasium"


class Outcome(NamedTuple):
    """What an environment returned for an action.

    observation : object
        As the environment returned it.
    reward : float
        May be NaN or infinite.
    terminated, truncated : bool
        Whether the episode ended, and whether it was cut short.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool


def reset(env: Any, **options: Any) -> Any:
    """Begin an episode and return its first observation; a ValueError if that fails."""
    try:
        answer = env.reset(**options)
    except Exception as error:
        raise ValueError(f"reset() raised {in_short(error)}; {RESET}") from error
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ValueError(f"reset() returned {in_short(answer)}; {RESET}")
    return answer[0]


def step(env: Any, action: Any) -> Outcome:
    """Take an action; a ValueError if that fails or if the answer is not that of an environment."""
    try:
        answer = env.step(action)
    except Exception as error:
        raise ValueError(f"step() raised {in_short(error)}; {STEP}") from error
    if not isinstance(answer, tuple) or len(answer) != 5:
        raise ValueError(f"step() returned {in_short(answer)}; {STEP}")
    observation, reward, terminated, truncated, _ = answer
    return Outcome(observation, _real(reward), _bool("terminated", terminated), _bool("truncated", truncated))


def _real(reward: Any) -> float:
    """A reward as a float. Text is no number, and complex numbers and times would lose a part without a word."""
    number = _single(reward)
    if isinstance(number, Real | Decimal):
        try:
            return float(number)
        except (ArithmeticError, ValueError):  # too large, or a NaN that signals
            pass
    raise ValueError(f"the reward is {in_short(reward)}; it must be a real number")


def _bool(name: str, value: Any) -> bool:
    """A flag as a bool. Other values are refused: the text 'False' would count as true, and a reward as an end."""
    flag = _single(value)
    if isinstance(flag, bool):
        return flag
    raise ValueError(f"{name} is {in_short(value)}; it must be True or False")


def _single(value: Any) -> Any:
    """The element of an array or tensor of one number or bool; None for other arrays, and other values as they are."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biufO":
        return None
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "item"):
        return value.item() if math.prod(shape) == 1 else None
    return value
