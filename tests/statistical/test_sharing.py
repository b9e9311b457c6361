"""Sharing between rows: it helps if labels mean something, and does little harm if they are random."""

import numpy as np
import pytest

from amounts import amount
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


@pytest.fixture(scope="module")
def harm():
    """Relative areas less that of the paper's prior, by prior; labels are exchanged at random between transitions."""
    values = {"moves": [], "effects": [], "effects, same number": []}
    for seed in range(amount(80, 1000)):
        world, rng = maze(8000 + seed), np.random.default_rng(seed)
        labels = {"moves": labels_of(world, "moves").labels, "effects": labels_of(world).labels}
        number = np.sum(labels["effects"] >= 0, axis=0)
        values_of = {name: one[:, rng.permutation(one.shape[1])] for name, one in labels.items()}
        in_groups, at_random = np.argsort(number, kind="stable"), rng.permutation(len(number))
        same_number = labels["effects"].copy()
        same_number[:, in_groups] = same_number[:, at_random[np.argsort(number[at_random], kind="stable")]]
        values_of["effects, same number"] = same_number
        unembodied = explore(world, "Unembodied", 2500, seed).area
        paper = explore(world, "PIG(VI)", 2500, seed).area
        for name, one in values_of.items():
            prior = SharedDirichlet(one, 0.25, support=world.prior.support)
            values[name].append((explore(world.with_prior(prior), "PIG(VI)", 2500, seed).area - paper) / unembodied)
    return {name: np.array(of_worlds) for name, of_worlds in values.items()}


@pytest.mark.parametrize("labels", ["moves", "effects, same number"])
def test_random_labels_do_little_harm(harm, labels):
    """Their harm is not significantly above 1 % of the paper's area, which is 2.2."""
    values = harm[labels]
    assert values.mean() < 0.022 + 3 * values.std(ddof=1) / len(values) ** 0.5


def test_the_number_of_labels_cannot_be_unlearned(harm):
    """Weights of all labels of a transition are added, so a random number of labels does harm."""
    more = harm["effects"] - harm["effects, same number"]
    assert more.mean() > 3 * more.std(ddof=1) / len(more) ** 0.5
