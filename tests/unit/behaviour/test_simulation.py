"""Simulated people choose by the same values and probabilities by which they are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import berlyne
import berlyne.behaviour as bb
from berlyne.behaviour.fitting import choice_probabilities
from berlyne.behaviour.simulation import simulate_people
from berlyne.behaviour.terms import Term
from messages import raises
from unit.behaviour.people import WORLD, walkers

NUISANCE = bb.bias() + bb.repeat() + bb.habit()
CORRIDOR = berlyne.World(
    np.array([np.eye(5)[[0, 0, 1, 2, 4]], np.eye(5)[[1, 2, 3, 4, 4]]]),
    berlyne.Dirichlet(0.5, n_states=5, n_actions=2),
    start=0,
    terminal=[4],
    actions=["left", "right"],
)


@pytest.mark.parametrize("prior", [CORRIDOR, CORRIDOR.prior, bb.crp(c=0.3)])
def test_choices_are_calibrated_against_the_probabilities_of_a_fit(prior: Any) -> None:
    """The log-likelihood of the choices minus its expectation has mean 0, and variance as predicted."""
    model = bb.model("PIG(VI)", prior) + NUISANCE + bb.lapse()
    theta = np.array([2.0, 0.3, 0.8, -0.5, 0.1])
    settings = {name: grid.values[0] for name, grid in model.settings().items()}
    sim = simulate_people(model, settings, lambda rng: theta, CORRIDOR, (60, 6), range(25))
    p = choice_probabilities(sim.data, model, settings, np.tile(theta, (25, 1)))
    log_p = np.log(p)
    taken = log_p[np.arange(len(p)), sim.data.chosen]
    mean = (p * log_p).sum(axis=1)
    variance = (p * log_p**2).sum(axis=1) - mean**2
    assert abs((taken - mean).sum() / np.sqrt(variance.sum())) < 3
    assert (taken - mean).std() > 0.2


def test_without_noise_the_best_value_of_the_replay_is_chosen() -> None:
    model = bb.model("PIG(VI)", WORLD) + NUISANCE
    theta = np.array([1e4, 20.0, 30.0, 40.0, 25.0, -35.0])
    sim = simulate_people(model, {}, lambda rng: theta, WORLD, (80, None), range(3))
    values = model.values(sim.data, {}) @ theta
    assert (np.diff(np.sort(values, axis=1)[:, -2:], axis=1) > 1).mean() > 0.9
    chosen = values[np.arange(len(values)), sim.data.chosen]
    assert (chosen > values.max(axis=1) - 30).all()  # ties apart


def test_episodes_end_in_terminal_states() -> None:
    fit = bb.fit(bb.read(walkers(2, 40).assign(a=lambda d: d.a % 2), keep=["rt"]), bb.bias())
    sim = bb.simulate(fit, CORRIDOR, n_episodes=3, seeds=range(4))
    assert sim.frame.groupby("subject").ended.sum().tolist() == [3] * 4
    assert sim.frame.groupby(["subject", "episode"]).s.first().tolist() == [0] * 12
    assert set(sim.frame.a) == {"left", "right"}
    assert sim.frame[sim.frame.ended].s_next.tolist() == [4] * 12
    assert bb.simulate(fit, CORRIDOR, n_episodes=3, n_steps=5, seeds=[1]).frame.trial.max() <= 5


@pytest.mark.parametrize("pool", ["none", "all", "group"])
def test_people_are_drawn_from_the_fit(pool: Any) -> None:
    data = bb.read(walkers(4, 60), keep=["rt"])
    fit = bb.fit(data, bb.model("PIG(VI)", WORLD) + bb.lapse(), weights="positive", pool=pool)
    drawn = bb.simulate(fit, WORLD, n_steps=3, seeds=range(60)).parameters["PIG(VI)"]
    if pool == "group":
        line = fit.group.loc["PIG(VI)"]
        assert np.log(drawn).mean() == pytest.approx(line["mean"], abs=4 * line["sd"] / np.sqrt(60))
        assert (drawn > 0).all() and drawn.nunique() == 60
    else:
        assert set(drawn) == set(fit.people["PIG(VI)"])


def test_simulations_that_cannot_end_are_refused() -> None:
    fit = bb.fit(bb.read(walkers(2, 40), keep=["rt"]), bb.bias())
    with pytest.raises(ValueError, match="n_steps"):
        bb.simulate(fit, WORLD, n_episodes=3)
    with pytest.raises(ValueError, match=r"2 actions.* 4"):
        bb.simulate(fit, CORRIDOR, n_episodes=3)


def test_parameters_are_recovered() -> None:
    model = bb.model("PIG(VI)", WORLD) + bb.repeat()
    recovery = bb.recover(model, WORLD, n_people=15, n_steps=200)
    assert list(recovery.table.index) == ["PIG(VI)", "repeat"]
    assert (recovery.table.r > 0.8).all()
    assert recovery.true.shape == recovery.estimated.shape == (15, 2)
    assert recovery.estimated.std()["repeat"] < 2


def test_recovery_like_data_uses_their_group_and_length() -> None:
    model = bb.model("PIG(VI)", WORLD) + bb.repeat()
    data = bb.read(walkers(6, 120), keep=["rt"])
    recovery = bb.recover(model, WORLD, n_people=10, like=data)
    fit = bb.fit(data, model, weights="positive", pool="group")
    assert recovery.true["PIG(VI)"].median() == pytest.approx(fit.group.loc["PIG(VI)", "typical"], rel=0.5)
    with pytest.raises(ValueError, match="like is a fit of"):
        bb.recover(bb.repeat(), WORLD, like=fit)


def test_the_table_of_a_recovery_is_computed_from_its_numbers() -> None:
    true = pd.DataFrame({"w": [1.0, 2.0, 3.0]})
    recovery = bb.Recovery(true, pd.DataFrame({"w": [1.5, 2.0, 4.0]}), pd.DataFrame({"w": [True, False, False]}))
    line = recovery.table.loc["w"]
    assert line["bias"] == pytest.approx(0.5) and line["at_bound"] == pytest.approx(1 / 3)
    assert line["r"] == pytest.approx(np.corrcoef([1, 2, 3], [1.5, 2, 4])[0, 1])


def test_models_are_confused_only_where_they_agree() -> None:
    models = {"PIG": bb.model("PIG(VI)", WORLD), "CB": bb.model("CB", WORLD), "bias": bb.bias()}
    confusion = bb.confuse(models, WORLD, n_people=6, n_steps=150)
    assert confusion.table.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
    assert list(confusion.table.index) == list(confusion.table.columns) == list(models)
    assert confusion.table.loc["PIG", "PIG"] > 0.8 and confusion.table.loc["CB", "CB"] > 0.8
    table = pd.DataFrame([[0.75, 0.25], [0.25, 0.75]])
    assert bb.Confusion(table, "bic").inverse.to_numpy() == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))
    skew = bb.Confusion(pd.DataFrame([[1.0, 0.0], [0.5, 0.5]]), "bic").inverse
    assert skew.to_numpy() == pytest.approx(np.array([[2 / 3, 0.0], [1 / 3, 1.0]]))
    with pytest.raises(ValueError, match="at least two"):
        bb.confuse({"PIG": bb.bias()}, WORLD)


def test_predictive_checks_find_a_model_that_ignores_repetition() -> None:
    """The people repeat nearly always; a model of biases does not."""
    rng = np.random.default_rng(0)
    frames = []
    for i in range(12):
        actions = np.cumsum(rng.random(80) < 0.1) % 2
        frames.append(pd.DataFrame({"s": 0, "a": actions, "s_next": 0, "subject": i}))
    data, world = bb.read(pd.concat(frames)), berlyne.World(np.ones((2, 1, 1)), start=0)
    repeats = {"repeats": lambda d: np.mean(np.diff(d.a) == 0)}
    poor, good = (
        bb.predictive(bb.fit(data, m, pool="all"), world, repeats, n_steps=80, seeds=range(40))
        for m in (bb.bias(), bb.repeat())
    )
    assert not poor.table.inside.iloc[0] and good.table.inside.iloc[0]
    assert good.table.observed.iloc[0] == pytest.approx(np.median([repeats["repeats"](f) for f in frames]))


def test_predictions_are_as_long_as_the_data_by_default() -> None:
    walks = bb.read(walkers(3, 40), keep=["rt"])
    result = bb.predictive(bb.fit(walks, bb.bias(), pool="all"), WORLD, {"n": len}, seeds=range(2))
    assert result.simulated["n"].tolist() == [[40.0], [40.0]]
    sim = simulate_people(bb.bias(), {}, lambda rng: np.array([1.0]), CORRIDOR, (None, 4), range(3))
    fit = bb.fit(sim.data, bb.bias(), pool="all")
    ends = bb.predictive(fit, CORRIDOR, {"ends": lambda d: d.ended.sum()}, seeds=range(3))
    assert ends.simulated["ends"].tolist() == [[4.0]] * 3


def test_curves_of_unequal_length_are_padded() -> None:
    data = bb.read(walkers(3, 30).query("subject > 0 or rt < 20"), keep=["rt"])
    fit = bb.fit(data, bb.bias(), pool="all")
    blocks = {"blocks": lambda d: [1.0] * (len(d) // 10)}
    result = bb.predictive(fit, WORLD, blocks, n_steps=40, seeds=range(3))
    assert np.isnan(result.observed["blocks"]).tolist() == [[False, False, True, True]] + [[False] * 3 + [True]] * 2
    assert result.simulated["blocks"].shape == (3, 4)
    with pytest.raises(ValueError, match="statistics"):
        bb.predictive(fit, WORLD, {}, n_steps=4)


def test_separation_is_small_for_strategies_that_agree() -> None:
    near = bb.separate(["PIG(VI)", "PIG(VI, gamma=0.999)"], [WORLD], n_people=3, n_steps=80)
    far = bb.separate(["PIG(VI)", "CB"], {"maze": WORLD, "corridor": CORRIDOR}, n_people=3, n_steps=80)
    assert near.table["hardest pair"].iloc[0] < 0.02 < far.table["hardest pair"].loc["maze"]
    assert np.diag(far.matrices["maze"]).tolist() == [0.0, 0.0]
    assert far.table["hardest pair"].is_monotonic_decreasing
    assert far.table["hardest pair"].loc["maze"] == min(far.matrices["maze"][0, 1], far.matrices["maze"][1, 0])
    with pytest.raises(ValueError, match="at least two"):
        bb.separate(["PIG(VI)"], [WORLD])
    with pytest.raises(ValueError, match="candidates"):
        bb.separate(["PIG(VI)", "CB"], [])


def test_lapses_are_uniform() -> None:
    """Without lapses the action would always be right."""
    theta = np.array([50.0, 0.4])
    sim = simulate_people(bb.bias() + bb.lapse(), {}, lambda rng: theta, CORRIDOR, (2000, None), [0])
    assert (sim.frame.a == "left").mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / 2000))


def test_a_new_episode_forgets_the_last_action() -> None:
    """Who repeats left stays in the corridor for ever; each new episode is a new chance to do so."""
    sim = simulate_people(bb.repeat(), {}, lambda rng: np.array([50.0]), CORRIDOR, (120, None), range(8))
    assert (sim.frame.groupby("subject").a.last() == "left").all()
    assert (sim.frame.groupby("subject").a.first() == "right").any()


def test_explorers_of_a_world_know_its_ends_as_in_a_replay() -> None:
    model = bb.model("PIG(VI)", CORRIDOR)
    sim = simulate_people(model, {}, lambda rng: np.array([1.0]), CORRIDOR, (60, None), range(2))
    (drive,) = model.terms
    assert drive.values(sim.data, {}) == pytest.approx(Term.values(drive, sim.data, {}))


def fit_of_two_actions() -> bb.Fit:
    return bb.fit(bb.read(walkers(2, 40).assign(a=lambda d: d.a % 2), keep=["rt"]), bb.bias())


def test_people_stop_when_they_reach_a_state_as_explorers_do() -> None:
    fit = fit_of_two_actions()
    sim = bb.simulate(fit, CORRIDOR, until=2, seeds=range(5))
    for _, lines in sim.frame.groupby("subject"):
        assert lines.s_next.iloc[-1] == 2 and not (lines.s_next.iloc[:-1] == 2).any()
    by_label = bb.simulate(fit, CORRIDOR, until=lambda s: s >= 2, seeds=range(5))
    assert by_label.frame.equals(sim.frame)
    assert bb.simulate(fit, CORRIDOR, until=4, n_steps=2, seeds=[0]).frame.trial.tolist() == [1, 2]
    with raises(ValueError, "until", 9):
        bb.simulate(fit, CORRIDOR, until=9)


def test_a_horizon_cuts_the_episodes_of_people() -> None:
    world = CORRIDOR.with_horizon(3)
    sim = bb.simulate(fit_of_two_actions(), world, n_episodes=4, seeds=range(6))
    lengths = sim.frame.groupby(["subject", "episode"]).size()
    assert (lengths == 3).all() and len(lengths) == 24  # the end is four steps away
    assert not sim.frame.ended.any() and (sim.frame.groupby(["subject", "episode"]).s.first() == 0).all()
    endless = berlyne.World(CORRIDOR.theta, CORRIDOR.prior, start=1, actions=["left", "right"], horizon=2)
    assert len(bb.simulate(fit_of_two_actions(), endless, n_episodes=3, seeds=[0]).frame) == 6


def test_people_take_only_possible_actions_and_their_fit_knows_it() -> None:
    world = berlyne.World(
        CORRIDOR.theta, CORRIDOR.prior, start=0, terminal=[4], actions=["left", "right"], possible={1: ["right"]}
    )
    model = bb.model("PIG(VI)", world) + bb.bias() + bb.lapse()
    theta = np.array([1.0, -2.0, 0.5])
    sim = simulate_people(model, {}, lambda rng: theta, world, (80, None), range(3))
    assert set(sim.frame[sim.frame.s == 1].a) == {"right"} and set(sim.frame[sim.frame.s != 1].a) == {"left", "right"}
    assert set(sim.frame[sim.frame.s == 1].allowed) == {("right",)}
    assert not sim.data.allowed[sim.data.frame.s == 1, 0].any() and sim.data.allowed[sim.data.frame.s != 1].all()
    (drive, *_) = model.terms
    assert drive.values(sim.data, {}) == pytest.approx(Term.values(drive, sim.data, {}))
    assert np.isfinite(bb.fit(sim.data, model).log_likelihood).all()


def test_explorers_of_a_world_know_its_horizon_and_starts_as_in_a_replay() -> None:
    world = berlyne.World(
        CORRIDOR.theta, CORRIDOR.prior, start={0: 0.5, 2: 0.5}, terminal=[4], actions=["left", "right"], horizon=3
    )
    model = bb.model("PIG(VI)", world)
    sim = simulate_people(model, {}, lambda rng: np.array([1.0]), world, (60, None), range(2))
    (drive,) = model.terms
    assert drive.values(sim.data, {}) == pytest.approx(Term.values(drive, sim.data, {}))


def test_arguments_of_wrong_types_are_named() -> None:
    with raises(TypeError, "fit", "dict"):
        bb.simulate({}, WORLD, n_steps=3)  # type: ignore[arg-type]
    with raises(TypeError, "fit", "dict"):
        bb.predictive({}, WORLD, {"n": len})  # type: ignore[arg-type,dict-item]
    with raises(TypeError, "prior", 1.0):
        bb.model("PIG(VI)", 1.0)  # type: ignore[arg-type]
    data = bb.read(walkers(2, 30))
    with raises(TypeError, "models", "list"):
        bb.compare(data, [bb.bias()])  # type: ignore[arg-type]
    with raises(ValueError, "by", "cv"):
        bb.compare(data, {"bias": bb.bias()}, by=bb.cv)  # type: ignore[arg-type]
