"""The likelihood of choices in plain NumPy, and simulated choices; shares no code with the package."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class People(NamedTuple):
    """Values, allowed actions and choices of each of several people."""

    x: list[Any]
    allowed: list[Any]
    chosen: list[Any]


def probabilities(theta: Any, x: Any, allowed: Any) -> Any:
    """Probability of each action, (T, A): a mixture of the softmax of x w and a uniform choice of allowed actions.

    The last entry of theta is the logit of the lapse, if there is one more than there are values.
    """
    w, lapse = theta[: x.shape[2]], 0.0
    if len(theta) > x.shape[2]:
        lapse = 1 / (1 + np.exp(-theta[-1]))
    value = np.where(allowed, np.einsum("tak,k->ta", x, w), -np.inf)
    p = np.exp(value - value.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return (1 - lapse) * p + lapse * allowed / allowed.sum(axis=1, keepdims=True)


def log_likelihood(theta: Any, x: Any, allowed: Any, chosen: Any) -> float:
    """Sum of the log probability of the choices; those below 0 are not scored."""
    scored = chosen >= 0
    p = probabilities(theta, x, allowed)[scored]
    with np.errstate(divide="ignore"):  # extreme weights give probability 0
        return float(np.log(p[np.arange(len(p)), chosen[scored]]).sum())


def gradient(theta: Any, x: Any, allowed: Any, chosen: Any) -> Any:
    """Derivatives of the log-likelihood by the weights and the logit of the lapse; all choices are scored."""
    n_values, rows = x.shape[2], np.arange(len(x))
    lapse = 1 / (1 + np.exp(-theta[-1]))
    p = probabilities(theta[:n_values], x, allowed)
    q = (1 - lapse) * p[rows, chosen] + lapse / allowed.sum(axis=1)
    slope = p[rows, chosen, None] * (x[rows, chosen] - np.einsum("ta,tak->tk", p, x))
    by_weight = ((1 - lapse) * slope / q[:, None]).sum(axis=0)
    by_lapse = ((1 / allowed.sum(axis=1) - p[rows, chosen]) / q).sum() * lapse * (1 - lapse)
    return np.append(by_weight, by_lapse)


def simulate(
    n_people: int, seed: int, sizes: tuple[int, int] = (150, 300), scale: tuple[float, ...] = (1, 0.1, 10)
) -> People:
    """Simulate choices among 2 to 4 allowed actions of people of unequal length, weight and lapse."""
    rng, people = np.random.default_rng(seed), People([], [], [])
    for _ in range(n_people):
        n = rng.integers(*sizes)
        x = rng.normal(size=(n, 4, len(scale))) * scale
        allowed = rng.permuted(np.arange(4) < rng.integers(2, 5, (n, 1)), axis=1)
        lapse = rng.choice([1e-9, 0.02, 0.1, 0.2])
        theta = np.append(rng.normal(0, 1.5, len(scale)) / scale, np.log(lapse / (1 - lapse)))
        cumulative = probabilities(theta, x, allowed).cumsum(axis=1)
        people.x.append(x)
        people.allowed.append(allowed)
        people.chosen.append((rng.random((n, 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1))
    return people


def simulate_harsh(n_people: int, seed: int) -> People:
    """Simulate people whose likelihood has many maxima: 8 to 119 choices, lapses up to 0.9, weights of any size.

    The values are random numbers; for every fourth person they have ties, and for another they are nearly collinear.
    """
    rng, people, scale = np.random.default_rng(seed), People([], [], []), np.array([1.0, 0.1, 10.0])
    for i in range(n_people):
        n = rng.integers(8, 120)
        x = rng.normal(size=(n, 4, 3)) * scale
        if i % 4 == 1:
            x = np.where(rng.random((n, 4, 3)) < 0.5, 0, np.round(x / scale)) * scale
        if i % 4 == 2:
            x[:, :, 2] = x[:, :, 0] * 10 + rng.normal(size=(n, 4)) * 0.3
        allowed = rng.permuted(np.arange(4) < rng.integers(2, 5, (n, 1)), axis=1)
        lapse = rng.choice([1e-9, 0.1, 0.4, 0.7, 0.9])
        theta = np.append(rng.normal(0, rng.choice([0.5, 2, 8]), 3) / scale, np.log(lapse / (1 - lapse)))
        cumulative = probabilities(theta, x, allowed).cumsum(axis=1)
        people.x.append(x)
        people.allowed.append(allowed)
        people.chosen.append((rng.random((n, 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1))
    return people
