"""The study of false priors: its priors, its measures against plain loops and the library, its summary and command."""

from __future__ import annotations

import csv
import math
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from berlyne import (
    Dirichlet,
    Explorer,
    OneTwoThree,
    SharedDirichlet,
    dense_world,
    explore,
    labels_of,
    maze,
    one_two_three_world,
)
from berlyne.cli import commands
from berlyne.experiments import work_unit
from berlyne.figures import draw_false_priors
from berlyne.studies import false_priors as study
from messages import raises
from parity.random_worlds import estimate_123

MAKERS = {"dense": dense_world, "maze": maze, "1-2-3": one_two_three_world, study.LABELS: maze}


def divergence(theta, theta_hat):
    return sum(p * math.log2(p / q) for p, q in zip(theta, theta_hat, strict=True) if p > 0)


def curve_by_hand(world, run, estimate):
    """Missing information along a path, row by row, with `estimate(a, s, counts)`."""
    counts = np.zeros(world.theta.shape)
    rows = {
        (a, s): divergence(world.theta[a, s], estimate(a, s, counts[a, s])) for a, s in np.ndindex(*counts.shape[:2])
    }
    curve = [sum(rows.values())]
    for s, a, s_next in zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False):
        counts[a, s, s_next] += 1
        rows[a, s] = divergence(world.theta[a, s], estimate(a, s, counts[a, s]))
        curve.append(sum(rows.values()))
    return np.array(curve)


def test_the_data_of_a_path_are_measured_under_the_true_prior():
    for kind, prior in (
        ("dense", Dirichlet(30.0, n_states=10, n_actions=4)),
        ("maze", Dirichlet(0.01, maze(2).prior.support)),
    ):
        world = MAKERS[kind](2)
        alpha, mask = world.prior.alpha, (world.theta > 0).astype(float)
        run = explore(world.with_prior(prior), "PIG(VI)", n_steps=80, seed=1)

        def estimate(a, s, n, alpha=alpha, mask=mask):
            return (n + alpha) * mask[a, s] / ((n + alpha) * mask[a, s]).sum()

        expected = curve_by_hand(world, run, estimate)
        assert study.curve_on_path(world, run) == pytest.approx(expected, rel=1e-10)
        assert study.area_of_data(run) == pytest.approx(expected.sum(), rel=1e-10)
        assert run.area != pytest.approx(expected.sum(), rel=0.05)


def test_the_data_of_a_path_in_a_1_2_3_world():
    world = one_two_three_world(1, n_states=8)
    run = explore(world.with_prior(Dirichlet(0.1, n_states=8, n_actions=3)), "Random", n_steps=60, seed=1)
    expected = curve_by_hand(world, run, lambda a, s, n: estimate_123(0.75, a + 1, n))
    assert study.curve_on_path(world, run) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def false_prior(world_class, name):
    return next(false for false in study.FALSE_PRIORS[world_class] if false.name == name)


def test_the_data_of_a_path_are_measured_with_the_right_labels():
    """The explorer of the oracle observes the path again, and its estimates are compared with the truth row by row."""
    world = maze(2, side=3, n_transporters=4)
    wrong = world.with_prior(false_prior(study.LABELS, "50 % of labels wrong").make(world))
    run = explore(wrong, "PIG(VI)", n_steps=120, seed=1)
    explorer, curve = Explorer(SharedDirichlet(labels_of(world, "moves"), 0.25), "Random", engine="numpy"), []
    for t in range(run.n_steps + 1):
        theta_hat = explorer.model.theta_hat
        curve.append(sum(divergence(world.theta[i], theta_hat[i]) for i in np.ndindex(*theta_hat.shape[:2])))
        if t < run.n_steps:
            explorer.observe(*(int(path[t]) for path in (run.states, run.actions, run.next_states)))
    right = world.with_prior(false_prior(study.LABELS, study.RIGHT_LABELS).make(world))
    assert study.shared_curve_on_path(right, run) == pytest.approx(np.array(curve), rel=1e-7)
    assert study.area_of_data(run) == pytest.approx(sum(curve), rel=1e-7)
    assert run.area != pytest.approx(sum(curve), rel=0.05)


def test_with_the_right_labels_conclusion_and_data_are_the_same():
    world = maze(3)
    run = explore(world.with_prior(false_prior(study.LABELS, study.RIGHT_LABELS).make(world)), "CB", 400, seed=0)
    assert study.area_of_data(run) == pytest.approx(run.area, rel=1e-9)


def test_labels_are_as_wrong_as_their_names_say():
    shares = {study.RIGHT_LABELS: [], "10 % of labels wrong": [], "50 % of labels wrong": [], "labels random": []}
    for seed in range(8):
        world = maze(seed)
        right = labels_of(world, "moves").labels
        by_chance = np.sum((np.bincount(right[0]) / right.size) ** 2)  # the same label, after an exchange
        for name, share in shares.items():
            prior = false_prior(study.LABELS, name).make(world)
            assert prior.alpha == 0.25 and prior.support.same_entries(world.prior.support)
            assert np.array_equal(np.sort(prior.labels), np.sort(right))  # exchanged, not replaced
            share.append(np.mean(prior.labels != right) / (1 - by_chance))
            again = false_prior(study.LABELS, name).make(world)
            assert np.array_equal(prior.labels, again.labels)
    means = [np.mean(share) for share in shares.values()]
    assert means == pytest.approx([0.0, 0.1, 0.5, 1.0], abs=0.03) and means[0] == 0.0
    assert len(set(shares["50 % of labels wrong"])) > 4  # each world has wrong labels of its own


def test_without_labels_the_explorer_is_that_of_the_paper():
    world = maze(3)
    runs = [
        explore(world.with_prior(prior), "PIG(VI)", n_steps=200, seed=5)
        for prior in (false_prior(study.LABELS, "no labels").make(world), world.prior)
    ]
    assert np.array_equal(runs[0].states, runs[1].states) and runs[0].area == pytest.approx(runs[1].area, rel=1e-9)
    assert study.area_of_data(runs[0]) < study.area_of_data(runs[1])  # its data are measured with the right labels


@pytest.mark.parametrize("kind", ["dense", "maze", "1-2-3"])
def test_with_the_true_prior_conclusion_and_data_are_the_same(kind):
    world = MAKERS[kind](3)
    assert study.true_prior(world).describe()[:2] == world.prior.describe()[:2]
    run = explore(world.with_prior(study.true_prior(world)), "CB", n_steps=150, seed=0)
    assert study.area_of_data(run) == pytest.approx(run.area, rel=1e-9)


@pytest.mark.parametrize(
    "name", ["alpha 16x too small", "alpha learned", "all states", "states unknown", "50 % of labels wrong"]
)
def test_the_check_is_that_of_an_explorer(name):
    world = maze(4)
    false = false_prior(study.LABELS if "labels" in name else "maze", name)
    run = explore(world.with_prior(false.make(world)), "PIG(VI)", n_steps=300, seed=2)
    explorer = Explorer(run.prior, "Random", n_actions=4)
    for s, a, s_next in zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False):
        explorer.observe(s, a, s_next)
    check = explorer.check_prior()
    assert study.z_at_end(run) == pytest.approx(check.z, abs=1e-6)
    assert study.best_alpha(run) == pytest.approx(check.best_alpha, rel=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the prior is false
        expected = explorer.expected_missing_information().bits
    if name != "states unknown":
        assert study.expected_at_end(run) == pytest.approx(expected, rel=1e-6)


def test_a_false_prior_is_noticed_and_a_true_one_is_not():
    world = maze(5)
    at = {}
    for factor in (1.0, 64.0):
        prior = Dirichlet(0.25 * factor, world.prior.support)
        run = explore(world.with_prior(prior), "PIG(VI)", n_steps=800, seed=2)
        at[factor] = study.noticed_at(run)
        z = study.z_curve(run)
        assert np.all(np.abs(z[19 : int(at[factor]) - 1 if at[factor] == at[factor] else None]) <= 4)
    assert math.isnan(at[1.0]) and 20 <= at[64.0] < 800
    assert study.z_at_end(run) > 4


def test_the_first_twenty_observations_are_not_checked(monkeypatch):
    z = np.zeros(60)
    z[3], z[18], z[30], z[40] = 9.0, -9.0, 4.0, -4.1
    monkeypatch.setattr(study, "z_curve", lambda run: z.copy())
    assert study.noticed_at(None) == 41
    z[19] = 5.0
    assert study.noticed_at(None) == 20


def test_priors_are_what_their_names_say():
    for kind, priors in study.FALSE_PRIORS.items():
        world = MAKERS[kind](0)
        made = {false.name: false.make(world) for false in priors}
        assert study.true_name(kind) in made
        if kind == study.LABELS:
            continue
        assert made[study.TRUE] is world.prior and "states unknown" in made
        if kind != "1-2-3":
            assert made["alpha 64x too small"].alpha * 64 == made["alpha 16x too large"].alpha / 16 == world.prior.alpha
            assert made["alpha 4x too large"].support.same_entries(world.prior.support)
            assert made["alpha learned"].schedule is not None
    world = one_two_three_world(0)
    made = {false.name: false.make(world) for false in study.FALSE_PRIORS["1-2-3"]}
    assert made["p_escape 0.98"].p_escape == 0.98 and isinstance(made["p_escape 0.98"], OneTwoThree)
    assert made["Dirichlet, total alpha 1"].alpha == 1 / 20


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The smallest study, of two classes."""
    path = tmp_path_factory.mktemp("study") / "results.zarr"
    made = study.experiment(["maze", "1-2-3", study.LABELS], ["PIG(VI)", "Random"], preset="smoke")
    return made, made.run(path, progress=False, jobs=1), path


def test_every_prior_meets_the_same_worlds(small):
    made, _, _ = small
    by_name = {kind.name: kind for kind in made.classes}
    one, other = by_name["maze, true prior"], by_name["maze, alpha 64x too large"]
    for i in range(2):
        assert np.array_equal(one.worlds[i].theta, other.worlds[i].theta)
        assert np.array_equal(one.worlds[i].theta, by_name["maze, labels, labels random"].worlds[i].theta)
    assert not np.array_equal(one.worlds[0].theta, one.worlds[1].theta)


def test_the_summary_is_of_paired_ratios(small):
    _, results, _ = small
    lines = {line[:3]: line for line in study.summarize(results)}
    assert len(lines) == 2 * (12 + 7 + 5)
    reference = results.of("maze, true prior")["area"].sel(strategy="PIG(VI)").values
    false = results.of("maze, alpha 16x too small").sel(strategy="Random")
    line = lines["maze", "alpha 16x too small", "Random"]
    ratio = false["area"].values / reference
    assert line.conclusion == pytest.approx(np.mean(ratio))
    assert line.conclusion_error == pytest.approx(abs(ratio[0] - ratio[1]) / 2)
    assert line.data == pytest.approx(np.mean(false["area_of_data"].values / reference))
    own = results.of("maze, true prior")["area"].sel(strategy="Random").values
    assert line.harm == pytest.approx(np.mean((false["area_of_data"].values - own) / reference), abs=1e-9)
    truth = lines["1-2-3", study.TRUE, "PIG(VI)"]
    assert truth.conclusion == pytest.approx(1.0) and truth.data == pytest.approx(1.0) and truth.harm == 0.0
    truth = lines[study.LABELS, study.RIGHT_LABELS, "PIG(VI)"]
    assert truth.conclusion == pytest.approx(1.0) and truth.data == pytest.approx(1.0) and truth.harm == 0.0


def test_a_study_that_is_run_again_explores_nothing_again(small, monkeypatch):
    made, results, path = small
    explored = []
    monkeypatch.setattr(work_unit, "_explore", lambda *arguments: explored.append(arguments) or explore(*arguments[:2]))
    again = made.run(path, progress=False, jobs=1)
    assert again.is_complete and study.summarize(again)[3] == study.summarize(results)[3]
    assert len(explored) <= 1  # the first run of all, for the shapes of measures


def test_the_figure_contains_its_numbers(small):
    lines = study.summarize(small[1])
    drawing = draw_false_priors(lines)
    assert len(drawing.figure.axes) == 3 and len(drawing.lines) == len(lines)
    labels = [text.get_text() for text in drawing.figure.axes[1].get_yticklabels()]
    assert labels == [false.name for false in study.FALSE_PRIORS["1-2-3"]]
    assert drawing.figure.axes[2].get_title() == "Mazes, labels of moves (1 is PIG(VI) with the right labels)"


def test_the_command_writes_a_figure_and_a_table(tmp_path, monkeypatch):
    small = study.FALSE_PRIORS["maze"][3:5]
    monkeypatch.setattr(
        study,
        "FALSE_PRIORS",
        {"dense": study.FALSE_PRIORS["dense"][3:5], "maze": small, "1-2-3": study.FALSE_PRIORS["1-2-3"][:2]},
    )
    arguments = [
        "study",
        "false-priors",
        str(tmp_path / "r.zarr"),
        "-o",
        str(tmp_path / "out"),
        "--preset",
        "smoke",
        "--quiet",
    ]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0 and "alpha 4x too large" in result.output
    with (tmp_path / "out" / "summary.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 4 * 6 and float(lines[0]["conclusion"]) == pytest.approx(1.0)
    assert (tmp_path / "out" / "false-priors.png").stat().st_size > 10_000


def test_messages():
    with raises(ValueError, "preset", "'large'", "full"):
        study.experiment(preset="large")
    with raises(ValueError, "worlds", "'forest'", "'dense'", "'maze, labels'"):
        study.experiment(["forest"], preset="smoke")
    with raises(ValueError, "strategies", "['Random']", "PIG(VI)"):
        study.experiment(["dense"], ["Random"], preset="smoke")
