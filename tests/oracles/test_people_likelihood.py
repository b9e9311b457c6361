"""The likelihood of people's choices against a plain NumPy replay that shares no code with the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb
from oracles.choice_likelihood import log_likelihood
from oracles.plain_replay import Step, nuisance, replay

C, GAMMA = 0.4, 0.8


def people(n_people: int = 3, n_steps: int = 60) -> pd.DataFrame:
    """People who walk at random in a ring of nine states with a random action and an end, for several episodes."""
    lines = []
    for subject in range(n_people):
        rng, s, episode = np.random.default_rng(subject), 0, 1
        for trial in range(n_steps):
            a = int(rng.choice(3, p=[0.5, 0.2, 0.3]))
            s_next = int(rng.integers(1, 8)) if a == 2 else (s + (1, 8)[a]) % 9
            ended = s_next == 5
            lines.append((subject, episode, trial, s, a, s_next, ended))
            s, episode = (int(rng.integers(2)), episode + 1) if ended else (s_next, episode)
    return pd.DataFrame(lines, columns=["subject", "episode", "trial", "s", "a", "s_next", "ended"])


def steps_of(frame: pd.DataFrame) -> list[Step]:
    begins = frame.episode.ne(frame.episode.shift())
    columns = frame.s, frame.a, frame.s_next, frame.ended, begins
    return [Step(*line) for line in zip(*(column.tolist() for column in columns), strict=True)]


@pytest.mark.parametrize("drive", ["rarity", "PIG"])
def test_likelihoods_of_people_are_those_of_a_plain_replay(drive: str) -> None:
    frame = people()
    model = bb.model(f"{drive}(VI)", bb.crp(c=C), gamma=GAMMA) + bb.bias() + bb.repeat() + bb.habit() + bb.lapse()
    fit = bb.fit(bb.read(frame, order="trial"), model, pool="all")
    theta = fit.estimates[0].copy()
    theta[-1] = np.log(theta[-1] / (1 - theta[-1]))
    for i, (_, one) in enumerate(frame.groupby("subject")):
        steps = steps_of(one)
        values: Any = np.concatenate([replay(steps, drive, C, GAMMA, 3)[:, :, None], nuisance(steps, 3)], axis=2)
        chosen = one.a.to_numpy()
        plain = log_likelihood(theta, values, np.ones(values.shape[:2], dtype=bool), chosen)
        assert fit.log_likelihood[i] == pytest.approx(plain, abs=1e-8)
        assert np.std(values[:, :, 0]) > 0.01
