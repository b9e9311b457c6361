"""Expected contents of the page, computed in Python: beliefs from counts, values from an explorer, colours."""

from __future__ import annotations

from typing import Any

import numpy as np

import berlyne
from berlyne.validation import FloatArray


def model_at(run: berlyne.Run, t: int) -> berlyne.InternalModel:
    """Return the model after t steps, learned from the path."""
    model = berlyne.InternalModel(run.world.prior, n_states=run.world.n_states, n_actions=run.world.n_actions)
    lines = np.stack([run.states[:t], run.actions[:t], run.next_states[:t]], axis=1)
    model.observe_many(lines.astype(np.int64))
    return model


def missing_of_rows(run: berlyne.Run, t: int) -> FloatArray:
    """D(theta || theta_hat) of each row in bits, [a, s], written out."""
    theta, theta_hat = run.world.theta, model_at(run, t).theta_hat
    bits = np.zeros(theta.shape[:2])
    for a, s, s_next in np.argwhere(theta > 0):
        bits[a, s] += theta[a, s, s_next] * np.log2(theta[a, s, s_next] / theta_hat[a, s, s_next])
    return bits


def visits(run: berlyne.Run, t: int) -> FloatArray:
    """How often each state was occupied, counted."""
    times = np.zeros(run.world.n_states)
    times[run.states[0]] += 1
    for i in range(t):
        times[run.next_states[i]] += 1
        if run.states[i + 1] != run.next_states[i]:
            times[run.states[i + 1]] += 1
    return times


def explorer_at(run: berlyne.Run, t: int) -> berlyne.Explorer:
    """An explorer that was told the first t steps."""
    world = run.world
    explorer = berlyne.Explorer(world.prior, run.strategy, n_states=world.n_states, n_actions=world.n_actions)
    for i in range(t):
        explorer.observe(int(run.states[i]), int(run.actions[i]), int(run.next_states[i]))
    return explorer


def colour(share: float, ramp: Any) -> FloatArray:
    """Red, green and blue of a share between 0 and 1, by interpolation between the colours of a ramp."""
    place = np.linspace(0.0, 1.0, len(ramp))
    return np.array([np.interp(share, place, [stop[k] for stop in ramp]) for k in range(3)])


def brief(x: float) -> str:
    """A number as the page writes it."""
    size = abs(x)
    if size < 1e-9:
        return "0"
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    if size >= 1000:
        return f"{x:,.0f}".replace("-", "\N{MINUS SIGN}")
    if size < 0.001:
        return "less than 0.001" if x > 0 else "between \N{MINUS SIGN}0.001 and 0"
    return f"{x:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def number(text: str) -> float:
    """A number that the page wrote; the middle of its range if it is given in words."""
    words = {"less than 0.001": 0.0005, "between \N{MINUS SIGN}0.001 and 0": -0.0005}
    return words[text] if text in words else float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))


def mulberry32(seed: int) -> Any:
    """The uniform numbers that the page draws."""
    a = seed & 0xFFFFFFFF

    def imul(x: int, y: int) -> int:
        return (x * y) & 0xFFFFFFFF

    while True:
        a = (a + 0x6D2B79F5) & 0xFFFFFFFF
        t = imul(a ^ (a >> 15), 1 | a)
        t = ((t + imul(t ^ (t >> 7), 61 | t)) & 0xFFFFFFFF) ^ t
        yield ((t ^ (t >> 14)) & 0xFFFFFFFF) / 4294967296
