"""Sharing between rows: it helps if labels mean something, and does little harm if they are random."""

import numpy as np
import pytest

from berlyne import SharedDirichlet, explore, labels_of, maze
from berlyne.priors.transition_labels import TransitionLabels

pytestmark = pytest.mark.slow
N_WORLDS, N_STEPS = 12, 1000


def test_labels_of_mazes_are_worth_more_the_more_they_mean():
    areas = {"paper": [], "moves": [], "effects": [], "random": []}
    for seed in range(N_WORLDS):
        world, rng = maze(7000 + seed), np.random.default_rng(seed)
        effects = labels_of(world)
        shuffled = TransitionLabels(effects.support, rng.permuted(effects.labels, axis=1), effects.names)
        priors = {"paper": world.prior, "moves": SharedDirichlet(labels_of(world, "moves"), 0.25)}
        priors |= {"effects": SharedDirichlet(effects, 0.25), "random": SharedDirichlet(shuffled, 0.25)}
        unembodied = explore(world, "Unembodied", N_STEPS, seed).area
        for name, prior in priors.items():
            areas[name].append(explore(world.with_prior(prior), "PIG(VI)", N_STEPS, seed).area / unembodied)
    values = {name: np.array(of_worlds) for name, of_worlds in areas.items()}
    for better, worse in (("moves", "paper"), ("effects", "moves"), ("effects", "random")):
        gap = values[worse] - values[better]
        assert gap.mean() > 4 * gap.std(ddof=1) / N_WORLDS**0.5, (better, worse)
    harm = values["random"] - values["paper"]
    assert harm.mean() < 0.1 + 3 * harm.std(ddof=1) / N_WORLDS**0.5
