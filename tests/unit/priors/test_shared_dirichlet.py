"""Shared Dirichlet priors: input, worked examples, files, and every way to use them."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, InternalModel, Refit, SharedDirichlet, World, explore, load_world, maze
from berlyne.agents.make import make_agent
from berlyne.experiments.worlds import fingerprint
from berlyne.exploration import explore as explore_module
from berlyne.priors.registry import prior_from_description
from berlyne.sparse import Rows, Support
from berlyne.strategies.registry import get_strategy
from messages import raises

MASK = np.array([[[1, 1, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [1, 0, 1]]]) > 0
LABELS = np.where(MASK, np.arange(18).reshape(2, 3, 3) % 4, -1)
FLAT = [0, 1, 3, 0, 0, 1, 2, 2, 3, 0, 3, 1]
"""LABELS on MASK, by state and then by action."""
COUNTS = np.array([[[3, 1, 0], [0, 5, 0], [0, 0, 2]], [[0, 0, 1], [2, 0, 0], [4, 0, 0]]])


def test_a_fit_by_hand():
    """One observation of the first of two outcomes, each with a class of its own.

    In the first sweep w = 1 for both, so T = 1 / (1 + 1). S = l (1 / l) = 1 for the class that was seen. With mean and
    shape fixed at 1, the distributions are Gamma(2, 1.5) and Gamma(1, 1.5). In later sweeps only T changes.
    """
    prior = SharedDirichlet(np.array([[[0, 1], [0, 1]]]), 1.0, 1.0, 1e12, schedule=Refit(growth=0.0))
    refitted = prior.refit(np.array([[[1, 0], [0, 0]]]))
    w = 2.0 / 1.5, 1.0 / 1.5
    for _ in range(19):
        rate = 1.0 + 1.0 / (w[0] + w[1])
        change = abs(2.0 / rate - w[0]) / w[0]
        w = 2.0 / rate, 1.0 / rate
        if change <= 1e-3:
            break
    assert refitted.weights == pytest.approx(w, rel=1e-9)
    assert refitted.weight_sd == pytest.approx([np.sqrt(2.0) / rate, 1.0 / rate], rel=1e-9)
    assert refitted.estimate(np.zeros((1, 2, 2), dtype=int))[0, 1] == pytest.approx([2 / 3, 1 / 3], rel=1e-9)


def test_what_one_row_did_is_expected_of_the_others():
    labels = np.where(np.eye(5, dtype=bool), 0, 1)[None]
    counts = np.zeros((1, 5, 5), dtype=int)
    counts[0, :3, :3] = 10 * np.eye(3, dtype=int)
    prior = SharedDirichlet(labels, 0.5)
    learned = prior.fit(counts)
    assert prior.estimate(counts)[0, 4, 4] == pytest.approx(0.2)
    assert learned.estimate(counts)[0, 4, 4] > 0.8
    assert learned.weights[0] > 5 * learned.weights[1]
    assert np.array_equal(prior.weights, [0.5, 0.5]) and (prior.mean_weight, prior.weight_shape) == (0.5, 1.0)
    assert prior.weight_sd == pytest.approx([0.5, 0.5])


def test_a_class_of_which_nothing_is_known_has_the_mean_of_all():
    labels = np.array([[[0, 1, 0], [1, 0, 1], [2, 2, 2]]])
    learned = SharedDirichlet(labels, 0.5).fit(np.array([[[9, 0, 9], [0, 9, 0], [0, 0, 0]]]))
    assert learned.weights[2] == pytest.approx(learned.mean_weight, rel=1e-6) != 0.5


def test_a_row_with_one_possible_outcome_teaches_nothing():
    labels = np.array([[[0, -1, -1], [-1, 0, -1], [0, 1, 0]]])
    prior = SharedDirichlet(labels, 0.5)
    counts = np.zeros((1, 3, 3), dtype=int)
    counts[0, 0, 0], counts[0, 1, 1] = 30, 12
    assert prior.refit(counts) is prior and np.array_equal(prior.fit(counts).weights, prior.weights)
    for engine in ("compiled", "numpy"):
        agent = make_agent(InternalModel(prior), get_strategy("PIG(VI)"), None, engine)
        for s in (0, 1, 0, 0, 1):
            agent.observe(s, 0, s)
        assert np.array_equal(agent.prior.weights, prior.weights)
        agent.observe(2, 0, 1)
        assert not np.array_equal(agent.prior.weights, prior.weights)


def test_labels_may_be_dense_or_of_possible_transitions():
    dense = SharedDirichlet(LABELS, 0.5)
    assert dense.support.same_entries(Support.from_mask(MASK)) and dense.labels.tolist() == [FLAT]
    assert dense.classes.tolist() == [0, 1, 2, 3] and dense.alphas.tolist() == [0.5] * 12
    rows = Rows.from_dense(MASK / MASK.sum(axis=2, keepdims=True))
    for labels, support in [
        (LABELS[None], None), (LABELS, MASK), (np.where(MASK, LABELS, 3), MASK), (np.array(FLAT), MASK),
        (np.array([FLAT]), dense.support), (FLAT, rows), (np.array(FLAT, dtype=np.uint8), rows.support),
    ]:  # fmt: skip
        same = SharedDirichlet(labels, 0.5, support=support)
        assert same.labels.tolist() == [FLAT] and same.support.same_entries(dense.support)
        assert np.array_equal(same.fit(COUNTS).weights, dense.fit(COUNTS).weights)
    wide = SharedDirichlet(np.zeros(27, dtype=int), 0.5, support=Support(3, 3))
    assert wide.support.is_full and wide.alphas.shape == (27,)


def test_possible_transitions_without_a_label_keep_alpha():
    labels = np.where(LABELS == 3, -1, LABELS)
    prior = SharedDirichlet(labels, 0.7, support=MASK)
    learned = prior.fit(COUNTS)
    is_free = np.array(FLAT) == 3
    assert prior.classes.tolist() == [0, 1, 2] and np.all(learned.alphas[is_free] == 0.7)
    assert np.array_equal(learned.alphas[~is_free], learned.weights[np.array(FLAT)[~is_free]])
    labels[1, 0, 2] = 0  # every row must reach some state
    assert SharedDirichlet(labels, 0.7).alphas.shape == (12 - is_free.sum() + 1,)


def test_pseudo_counts_are_sums_over_features():
    second = np.where(MASK, 10, -1)
    second[0] = -1
    learned = SharedDirichlet(np.stack([LABELS, second]), 0.5).fit(COUNTS)
    weights = dict(zip(learned.classes.tolist(), learned.weights, strict=True))
    action = learned.support.row_numbers() % 2
    expected = [weights[c] + (weights[10] if a else 0.0) for c, a in zip(FLAT, action, strict=True)]
    assert learned.alphas == pytest.approx(expected, rel=1e-12)
    twice = SharedDirichlet(np.stack([LABELS, LABELS]), 0.5)
    assert np.all(twice.alphas == 1.0)


def test_classes_may_be_any_numbers():
    names = np.array([10**12, 7, 5, 123_456])
    learned = SharedDirichlet(np.where(MASK, names[LABELS], -1), 0.5).fit(COUNTS)
    plain = SharedDirichlet(LABELS, 0.5).fit(COUNTS)
    assert learned.classes.tolist() == sorted(names.tolist())
    assert learned.alphas == pytest.approx(plain.alphas, rel=1e-9)


@pytest.mark.parametrize(
    ("labels", "options", "names"),
    [
        (LABELS + 0.5, {}, ("labels", "float64")),
        (LABELS > 0, {}, ("labels", "bool")),
        (np.where(MASK, LABELS, -2), {"support": np.ones((2, 3, 3))}, ("label", -2, -1)),
        (LABELS[:, :2], {}, ("support", "(2, 2, 3)")),
        (LABELS, {"support": np.ones((2, 4, 4))}, ("labels", "(2, 3, 3)", "(2, 4, 4)")),
        (np.array(FLAT), {}, ("support",)),
        (np.array(FLAT[1:]), {"support": MASK}, ("labels", "(11,)", "(12,)")),
        (np.zeros((0, 12), dtype=int), {"support": MASK}, ("labels", "(0, 12)")),
        (5, {"support": MASK}, ("labels", "()")),
        (np.full((2, 3, 3), -1), {}, ("row (a=0, s=0)", "empty")),
        (LABELS, {"alpha": 0.0}, ("alpha", 0.0, "1e-09")),
        (LABELS, {"alpha": "ml"}, ("alpha", "'ml'")),
        (LABELS, {"shape": 0.0}, ("shape", 0.0, 0.01)),
        (LABELS, {"strength": 0.0}, ("strength", 0.0, "1e-06")),
        (LABELS, {"strength": np.inf}, ("strength", np.inf)),
    ],
)
def test_invalid_arguments_are_refused(labels, options, names):
    with raises(ValueError, *names):
        SharedDirichlet(labels, **{"alpha": 0.5, **options})


def test_invalid_counts_and_weights_are_refused():
    prior = SharedDirichlet(LABELS, 0.5)
    impossible = np.zeros((2, 3, 3), dtype=int)
    impossible[0, 0, 2] = 1
    for method in (prior.fit, prior.refit):
        with raises(ValueError, "row (a=0, s=0)", "state 2", "support"):
            method(impossible)
    assert prior.lower_bound(impossible) == prior.log_marginal_likelihood(impossible) == -np.inf
    for weights in (np.ones(3), [1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, np.nan]):
        with raises(ValueError, "weights", np.shape(weights), 4):
            prior.with_learned(weights)


def test_drawn_weights_follow_their_distribution():
    learned, rng = SharedDirichlet(LABELS, 0.5).fit(COUNTS), np.random.default_rng(0)
    drawn = np.array([learned.draw_weights(rng).weights for _ in range(4000)])
    assert drawn.mean(axis=0) == pytest.approx(learned.weights, abs=5 * np.max(learned.weight_sd) / np.sqrt(4000))
    assert drawn.std(axis=0) == pytest.approx(learned.weight_sd, rel=0.15)
    with raises(ValueError, "weights", "unknown"):
        learned.draw_weights(0).draw_weights(0)
    fixed = Dirichlet(learned.alphas, learned.support)
    assert np.array_equal(learned.sample(3, COUNTS).data, fixed.sample(3, COUNTS).data)
    assert np.array_equal(learned.sample(3).data, fixed.sample(3).data)


def test_unknown_deviations_start_again():
    prior = SharedDirichlet(LABELS, 0.5)
    other = prior.with_learned([1.0, 2.0, 3.0, 4.0])
    assert np.all(np.isnan(other.weight_sd)) and other.weights.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert other.alphas.tolist() == [1.0 + c for c in FLAT]
    assert np.array_equal(other.refit(COUNTS).weights, prior.refit(COUNTS).weights)


def test_a_refit_begins_where_the_last_one_ended():
    prior = SharedDirichlet(LABELS, 0.5)
    target, learned = prior.fit(COUNTS), prior
    for _ in range(200):
        learned = learned.refit(COUNTS)
    assert learned.weights == pytest.approx(target.weights, rel=1e-3)
    assert prior.refit(COUNTS).weights != pytest.approx(target.weights, rel=1e-3)


NEW = SharedDirichlet(LABELS, 0.5, 2.0, 0.25, schedule=Refit(3, 0.5, 0.01))
PRIORS = {
    "new": NEW,
    "fitted": NEW.fit(COUNTS),
    "weights only": NEW.with_learned([1.0, 2.0, 3.0, 4.0]),
    "full": SharedDirichlet(np.zeros((2, 27), dtype=int), 0.5, support=Support(3, 3)),
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_description_restores_the_prior(name):
    prior = PRIORS[name]
    description = prior.describe()
    stored = {"kind": description.kind, **description.parameters, "n_states": 3, "n_actions": prior.n_actions}
    restored = prior_from_description(stored, {**description.arrays, "unrelated": np.ones(3)})
    copies = restored, copy.deepcopy(prior), copy.copy(prior), pickle.loads(pickle.dumps(prior))
    for same in copies:
        assert type(same) is SharedDirichlet and same.schedule == prior.schedule and repr(same) == repr(prior)
        for part in ("labels", "classes", "weights", "weight_sd", "alphas", "mean_weight", "weight_shape"):
            assert np.array_equal(getattr(same, part), getattr(prior, part), equal_nan=True), part
        assert same.support.same_entries(prior.support)


def test_damaged_descriptions_are_refused():
    description = SharedDirichlet(LABELS, 0.5).fit(COUNTS).describe()
    for name, values, message in (
        ("prior_labels", description.arrays["prior_labels"][:, 1:], "labels"),
        ("prior_weights", -description.arrays["prior_weights"], "weights"),
        ("prior_moments", np.array([1.0, -1.0]), "prior_moments"),
    ):
        damaged = description._replace(arrays={**description.arrays, name: values})
        with raises(ValueError, message):
            SharedDirichlet.from_description(3, 2, damaged)


def test_replacing_an_argument_starts_again():
    prior = SharedDirichlet(LABELS, 0.5, schedule=Refit(3, 0.5))
    other = dataclasses.replace(prior.fit(COUNTS), strength=2.0)
    assert other.strength == 2.0 and other.schedule == prior.schedule and np.all(other.weights == 0.5)
    assert np.array_equal(other.labels, prior.labels)
    for name in ("weights", "alphas", "labels", "alpha"):
        with raises(AttributeError, name, "SharedDirichlet"):
            setattr(prior, name, 1.0)
    for name in ("weights", "alphas", "labels", "classes"):
        assert not getattr(prior, name).flags.writeable


def test_worlds_with_this_prior_can_be_saved(tmp_path):
    world = maze(2, side=3, n_transporters=2)
    labels = np.arange(int(world.prior.support.sizes.sum())) % 5
    world = world.with_prior(SharedDirichlet(labels, 0.25, support=world.prior.support))
    world.save(tmp_path / "w.npz")
    same = load_world(tmp_path / "w.npz")
    assert np.array_equal(same.prior.labels, world.prior.labels) and same.prior.schedule == world.prior.schedule
    assert fingerprint(same) == fingerprint(world)
    other = world.with_prior(SharedDirichlet((labels + 1) % 5, 0.25, support=world.prior.support))
    assert fingerprint(other) != fingerprint(world)
    run, again = (explore(w, "PIG(VI)", n_steps=80, seed=1) for w in (world, same))
    assert np.array_equal(run.missing_information, again.missing_information)


def test_resets_are_added_without_a_label():
    theta = np.array([[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]])
    world = World(theta, SharedDirichlet(np.where(theta > 0, 4, -1), 0.3), terminal=[2], start=0)
    prior = world.prior.fit(np.array([[[5, 1, 0], [0, 3, 3], [0, 0, 0]]]))
    joined = prior.with_support(Support.from_mask(np.ones((1, 3, 3), dtype=bool)))
    assert np.sum(joined.labels == -1) == 4 and np.sum(joined.alphas == 0.3) == 4
    assert np.array_equal(joined.weights, prior.weights) and np.array_equal(joined.weight_sd, prior.weight_sd)
    assert isinstance(world.with_resets().prior, SharedDirichlet)


def test_nothing_to_learn():
    """Without any label it is the Dirichlet prior with one alpha."""
    prior = SharedDirichlet(np.full((2, 3, 3), -1), 0.5, support=MASK)
    assert prior.fit(COUNTS) is prior and len(prior.classes) == 0
    plain = Dirichlet(0.5, MASK)
    assert prior.estimate(COUNTS) == pytest.approx(plain.estimate(COUNTS), rel=1e-12)
    theta = np.where(MASK, 1.0, 0.0) / MASK.sum(axis=2, keepdims=True)
    run, same = (explore(World(theta, p), "PIG(VI)", n_steps=60, seed=0) for p in (plain, prior))
    assert np.array_equal(run.actions, same.actions) and same.learned is None


def test_a_run_records_no_more_weights_than_fit(monkeypatch):
    world = maze(2, side=3, n_transporters=2)
    labels = np.arange(int(world.prior.support.sizes.sum()))
    world = world.with_prior(SharedDirichlet(labels, 0.25, support=world.prior.support))
    run = explore(world, "PIG(VI)", n_steps=50, seed=1)
    monkeypatch.setattr(explore_module, "MAX_LEARNED", 51 * len(labels) - 1)
    short = explore(world, "PIG(VI)", n_steps=50, seed=1)
    assert run.learned.shape == (51, len(labels)) and short.learned is None
    for engine in ("compiled", "numpy"):
        assert np.array_equal(explore(world, "PIG(VI)", n_steps=50, seed=1, engine=engine).actions, run.actions)
    assert short.model.missing_information(world) == pytest.approx(run.missing_information[-1], rel=1e-9)


def test_the_prior_is_public():
    assert berlyne.SharedDirichlet is SharedDirichlet and "SharedDirichlet" in berlyne.__all__
    assert InternalModel(SharedDirichlet(LABELS, 0.5)).expected_missing_information().bits > 0.0
