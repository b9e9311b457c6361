"""Every number that a reproduction stores, computed again independently."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne.experiments.store import StoreError
from berlyne.paper.reproduction import robustness
from berlyne.paper.reproduction.assumptions import DEFAULT
from berlyne.paper.reproduction.claims_file import verdicts_as_data
from berlyne.paper.reproduction.evidence import gather_evidence, verdicts_of
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.report import rebuild_report
from berlyne.paper.reproduction.robustness import variant_evidence
from berlyne.paper.reproduction.run import reproduce
from berlyne.paper.reproduction.stages import STAGES
from berlyne.paper.reproduction.variants import VARIANTS, Variant
from oracles import tasks_by_enumeration, tasks_by_iteration
from unit.paper.reproduction.test_stages import CHANGES

from . import by_hand
from .by_hand import ALPHA, CLASSES, N_STEPS, N_WORLDS, SNAPSHOTS, STRATEGIES, counts_after, run, stage, stored, world

pytestmark = pytest.mark.slow
every_class = pytest.mark.parametrize("world_class", CLASSES)


@every_class
def test_explorations(world_class: str, folder: Path) -> None:
    i = 1 + CLASSES.index(world_class)
    for name in STRATEGIES:
        own_run, here = run(world_class, i, name), stored(folder)[world_class].isel(world=i).sel(strategy=name)
        assert float(here["area"]) == pytest.approx(own_run.missing_information.sum(), rel=1e-12)
        np.testing.assert_allclose(
            here["missing_information"].values, own_run.missing_information, rtol=1e-6, atol=1e-6
        )
        np.testing.assert_allclose(here["l1_distance"].values, own_run.l1_distance, rtol=1e-6, atol=1e-6)
        size = own_run.world.theta.size
        for k, share in enumerate(SNAPSHOTS):
            counts = counts_after(own_run, round(share * N_STEPS[world_class])).ravel()
            assert np.array_equal(here["counts"].values[k, :size], counts)


def test_structure(folder: Path) -> None:
    stage_data = stage(folder, "structure")
    assert stage_data["lag"].values.tolist() == list(range(1, 21))
    assert stage_data.sizes["world"] == N_WORLDS
    for name in CLASSES:
        for i in range(N_WORLDS):
            here, theta = stage_data.sel(world_class=name).isel(world=i), world(name, i).theta
            assert float(here["structure_index"]) == pytest.approx(by_hand.structure_index(theta), abs=1e-9)
            for lag in range(1, 21):
                expected = by_hand.controllability(theta, lag)
                assert float(here["controllability"].sel(lag=lag)) == pytest.approx(expected, abs=1e-12)


@every_class
def test_gains(world_class: str, folder: Path) -> None:
    stage_data = stage(folder, "gains").sel(world_class=world_class)
    assert stage_data["n_obs"].values.tolist() == list(range(20))
    samples = np.stack([by_hand.gains(world_class, i) for i in range(N_WORLDS)])  # [world, 2, row, trial, n_obs]
    for j, name in enumerate(("pig", "gain")):
        assert stage_data[name].values == pytest.approx(samples[:, j].mean(axis=(1, 2)), abs=1e-12)
        assert stage_data[f"sd_{name}"].values == pytest.approx(samples[:, j].std(axis=(0, 1, 2)), abs=1e-7)


def estimate(world_class: str, counts: np.ndarray, theta: np.ndarray) -> np.ndarray:
    if world_class == "1-2-3":
        model = berlyne.InternalModel.from_counts(berlyne.OneTwoThree(20), berlyne.sparse.Counts.from_dense(counts), {})
        return model.theta_hat
    c = np.where(theta > 0, counts + ALPHA[world_class], 0.0)
    return np.asarray(c / c.sum(axis=2, keepdims=True))


JUDGED = [
    (name, i, STRATEGIES[s], k)
    for c, name in enumerate(CLASSES)
    for i, s, k in [(0, c, 0), (1, 4 + c, 2), (2, 7 + c, 5), (3, 10 + c, 3), (c, 5, 4), (c + 1, 14 - c, 1)]
]


@pytest.mark.parametrize(("world_class", "i", "strategy", "k"), JUDGED)
def test_tasks(world_class: str, i: int, strategy: str, k: int, folder: Path) -> None:
    stage_data = stage(folder, "tasks")
    assert stage_data["snapshot"].values.tolist() == list(SNAPSHOTS)
    here = stage_data.sel(world_class=world_class, strategy=strategy, snapshot=SNAPSHOTS[k]).isel(world=i)
    theta = world(world_class, i).theta
    counts = counts_after(run(world_class, i, strategy), round(SNAPSHOTS[k] * N_STEPS[world_class]))
    theta_hat = estimate(world_class, counts, theta)
    n_states = theta.shape[1]
    rewards = np.random.default_rng(by_hand.stream(f"{world_class}/{i:03d}/rewards")).standard_normal((10, n_states))
    steps = tasks_by_iteration.navigation_loss(theta, theta_hat, cap=20 * n_states)
    assert float(here["navigation_loss"]) == pytest.approx(steps, abs=2e-5)
    reward = tasks_by_iteration.reward_loss(theta, theta_hat, rewards, horizon=100)
    assert float(here["reward_loss"]) == pytest.approx(reward, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_tasks_by_iteration_are_tasks_by_enumeration(seed: int) -> None:
    theta, theta_hat = np.random.default_rng(seed).dirichlet(np.ones(3), size=(2, 2, 3))
    lost = []
    for target in range(3):
        chains = [
            tasks_by_enumeration.mixed_chain(theta, tasks_by_enumeration.best_navigation(t, target)[1])
            for t in (theta_hat, theta)
        ]
        mine, best = (tasks_by_enumeration.capped_steps(chain, target, 40) for chain in chains)
        lost.append(mine - best)
    assert tasks_by_iteration.navigation_loss(theta, theta_hat, 40) == pytest.approx(np.mean(lost), abs=1e-9)
    reward = np.array([1.0, -2.0, 0.5])
    mine, best = (
        tasks_by_enumeration.reward_of(theta, reward, tasks_by_enumeration.best_reward_policy(t, reward, 3))
        for t in (theta_hat, theta)
    )
    assert tasks_by_iteration.reward_loss(theta, theta_hat, reward[None], 3) == pytest.approx(np.mean(best - mine))


@pytest.mark.parametrize(("world_class", "i"), [("dense", 0), ("dense", 3), ("maze", 1), ("maze", 2)])
def test_learned(world_class: str, i: int, folder: Path) -> None:
    stage_data = stage(folder, "learned").sel(world_class=world_class)
    assert float(stage_data["true_alpha"]) == ALPHA[world_class]
    here, n_times = stage_data.isel(world=i), N_STEPS[world_class] + 1
    seed = by_hand.stream(f"{world_class}/{i:03d}/learned prior")
    schedule = berlyne.Refit(always=200, growth=0.0, tolerance=1e-3)
    assert stage_data["start"].values.tolist() == [1.0, 10.0]
    for start in (1.0, 10.0):
        support = world(world_class, i).prior.support
        prior = berlyne.Dirichlet("ml", support, start=start, bounds=(1e-3, 1e3), schedule=schedule)
        mine = berlyne.explore(world(world_class, i).with_prior(prior), "PIG(VI)", n_times - 1, seed)
        learned = here["learned"].sel(start=start).values
        assert learned[:n_times] == pytest.approx(mine.missing_information, rel=1e-6)
        assert here["alpha"].sel(start=start).values[:n_times] == pytest.approx(mine.learned, rel=1e-6)
        assert np.all(np.isnan(learned[n_times:]))
    informed = run(world_class, i, "PIG(VI)")
    assert here["given"].values[:n_times] == pytest.approx(informed.missing_information, rel=1e-6)
    assert np.all(np.isnan(here["given"].values[n_times:]))


@every_class
def test_lengths(world_class: str, folder: Path) -> None:
    stage_data, n_steps, i = stage(folder, "lengths").sel(world_class=world_class), N_STEPS[world_class], 2
    lengths = np.array([round(n_steps * (0.02 + 0.02 * k)) for k in range(150)])
    assert stage_data["length"].values.tolist() == lengths.tolist()
    for name in ("PIG(greedy)", "Unembodied"):
        missing = run(world_class, i, name, length=3).missing_information
        expected = [missing[: n + 1].sum() for n in lengths]
        assert stage_data["area"].sel(strategy=name).isel(world=i).values == pytest.approx(expected, rel=1e-12)


Q = ("PIG(Q)", "PEIG(Q)")
PEIG = ("PEIG(greedy)", "PEIG(VI)", "PEIG(Q)")
ALTERED = {  # variant: strategies, and what is said of them
    "ties": (tuple(n for n in STRATEGIES if n not in ("Random", *Q)), {"ties": "first"}),
    "peig-0": (PEIG, {"untried": 0.0}),
    "q-rate": (Q, {"learning_rate": 0.1, "epsilon": 0.3}),
    "q-epsilon": (Q, {"epsilon": 0.1}),
    "q-initial": (Q, {"initial": 1.0}),
}
REDRAWN = {"maze-law": ("maze", {"law": "directions"}), "printed-1-2-3": ("1-2-3", {"formula": "printed"})}
JUDGED_ONLY = {"index", "pool-figure", "pool-all", "average-loss"}
TASKS_ONLY = {"cap": "navigation_loss", "leaving": "reward_loss"}


def explored(world_: berlyne.World, name: str, i: int, world_class: str, **parameters: object) -> berlyne.Run:
    strategy = berlyne.strategy(name, **parameters)
    seed = by_hand.stream(f"{world_class}/{i:03d}/{strategy.name}")
    return berlyne.explore(world_, strategy, n_steps=N_STEPS[world_class], seed=seed)


def losses(exploration: berlyne.Run, world_class: str, i: int, t: int, **options: int) -> tuple[float, float]:
    """Navigation and reward loss after t steps, by iteration."""
    theta = exploration.world.theta
    theta_hat = estimate(world_class, counts_after(exploration, t), theta)
    n = theta.shape[1]
    rewards = np.random.default_rng(by_hand.stream(f"{world_class}/{i:03d}/rewards")).standard_normal((10, n))
    return (
        tasks_by_iteration.navigation_loss(theta, theta_hat, cap=options.get("cap_per_state", 20) * n),
        tasks_by_iteration.reward_loss(theta, theta_hat, rewards, horizon=options.get("horizon", 100)),
    )


def test_every_variant_is_tested_here() -> None:
    known = {*ALTERED, *REDRAWN, *JUDGED_ONLY, *TASKS_ONLY, "half-length"}
    assert {v.id for v in VARIANTS} == known


@pytest.mark.parametrize("variant", ALTERED)
def test_variants_with_other_strategies(variant: str, folder: Path) -> None:
    stage_data, (names, parameters) = stage(folder, "sensitivity").sel(variant=variant), ALTERED[variant]
    for c, world_class in enumerate(CLASSES):
        here = stage_data.sel(world_class=world_class)
        assert set(here["strategy"].values[here["area"].notnull().any("world").values]) == set(names)
        name = names[c % len(names)]
        mine = explored(world(world_class, c), name, c, world_class, **parameters)
        one = here.sel(strategy=name).isel(world=c)
        assert float(one["area"]) == pytest.approx(mine.missing_information.sum(), rel=1e-12)
        assert float(one["l1_area"]) == pytest.approx(mine.l1_distance.sum(), rel=1e-12)
        if name in Q or variant == "ties":  # where tasks are not set again
            assert one["navigation_loss"].isnull().all()
        else:
            expected = losses(mine, world_class, c, round(SNAPSHOTS[c + 1] * N_STEPS[world_class]))
            shown = [float(one[loss][c + 1]) for loss in ("navigation_loss", "reward_loss")]
            assert shown == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("variant", REDRAWN)
def test_variants_with_other_worlds(variant: str, folder: Path) -> None:
    world_class, parameters = REDRAWN[variant]
    stage_data = stage(folder, "sensitivity").sel(variant=variant)
    assert stage_data["area"].sel(world_class=world_class).notnull().all()
    assert stage_data["area"].drop_sel(world_class=world_class).isnull().all()
    other = by_hand.MAKE[world_class](by_hand.stream(f"{world_class}/003"), **parameters)
    here = stage_data.sel(world_class=world_class).isel(world=3)
    for name in ("Random", "PIG(VI)", "PLC(VI)"):
        mine = explored(other, name, 3, world_class)
        assert float(here["area"].sel(strategy=name)) == pytest.approx(mine.missing_information.sum(), rel=1e-12)
    assert float(here["structure_index"]) == pytest.approx(by_hand.structure_index(other.theta), abs=1e-9)
    assert float(here["controllability"].sel(lag=7)) == pytest.approx(
        by_hand.controllability(other.theta, 7), abs=1e-12
    )


@pytest.mark.parametrize("world_class", CLASSES)
def test_the_variant_of_shorter_runs(world_class: str, folder: Path) -> None:
    stage_data = stage(folder, "sensitivity").sel(variant="half-length", world_class=world_class)
    i, n = CLASSES.index(world_class), N_STEPS[world_class] // 2
    for name in ("Random", "PIG(VI)"):
        whole, here = run(world_class, i, name), stage_data.sel(strategy=name).isel(world=i)
        assert float(here["area"]) == pytest.approx(whole.missing_information[: n + 1].sum(), rel=1e-12)
        k = 2 + i
        expected = losses(whole, world_class, i, round(SNAPSHOTS[k] * n))
        shown = [float(here[loss][k]) for loss in ("navigation_loss", "reward_loss")]
        assert shown == pytest.approx(expected, abs=2e-5)
    curves = [run(world_class, j, "Random").missing_information[: n + 1] for j in range(N_WORLDS)]
    assert stage_data["curve"].sel(strategy="LTA").isnull().all()  # no claim looks at it
    drawn = stage_data["curve"].sel(strategy="Random").values
    assert drawn[: n + 1] == pytest.approx(np.mean(curves, axis=0), rel=1e-6)
    assert np.all(np.isnan(drawn[n + 1 :]))


@every_class
def test_variants_of_the_tasks(world_class: str, folder: Path) -> None:
    stage_data, i, k = stage(folder, "sensitivity").sel(world_class=world_class), CLASSES.index(world_class), 3
    mine = run(world_class, i, "PMC(VI)")
    t = round(SNAPSHOTS[k] * N_STEPS[world_class])
    for variant, loss in TASKS_ONLY.items():
        here = stage_data.sel(variant=variant)
        assert here["area"].isnull().all()
        assert here[({*TASKS_ONLY.values()} - {loss}).pop()].isnull().all()
        expected = losses(mine, world_class, i, t, cap_per_state=5, horizon=99)[loss == "reward_loss"]
        assert float(here[loss].sel(strategy="PMC(VI)").isel(world=i)[k]) == pytest.approx(expected, abs=2e-5)


def test_evidence(folder: Path, paper_run: PaperRun) -> None:
    evidence = gather_evidence(paper_run)
    for name, here in stored(folder).items():
        for s in STRATEGIES:
            of = here.sel(strategy=s)
            assert evidence.areas[name][s].tolist() == of["area"].values.tolist()
            assert evidence.l1_areas[name][s] == pytest.approx(of["l1_distance"].values.sum(axis=1), rel=1e-6)
            mean = of["missing_information"].values.mean(axis=0)
            np.testing.assert_allclose(evidence.curves[name][s], mean, rtol=1e-5)
    for name in ("structure", "gains", "tasks", "learned"):
        assert evidence.stages[name].equals(stage(folder, name))


@pytest.mark.parametrize("variant", [v.id for v in VARIANTS])
def test_evidence_of_a_variant_has_its_numbers_in_the_place_of_ours(
    variant: str, folder: Path, paper_run: PaperRun
) -> None:
    (chosen,) = (v for v in VARIANTS if v.id == variant)
    base, evidence = gather_evidence(paper_run), variant_evidence(paper_run, chosen)
    stage_data = stage(folder, "sensitivity").sel(variant=variant)
    for world_class in CLASSES:
        n = N_STEPS[world_class] // (2 if variant == "half-length" else 1) + 1
        for s in STRATEGIES:
            new = stage_data.sel(world_class=world_class, strategy=s)
            altered = bool(new["area"].notnull().all())
            for ours, name, old in (
                (evidence.areas, "area", base.areas),
                (evidence.l1_areas, "l1_area", base.l1_areas),
            ):
                expected = new[name].values if altered else old[world_class][s]
                assert ours[world_class][s].tolist() == expected.tolist()
            altered = altered and s in ("Random", "PEIG(Q)")  # the curves that a claim looks at
            curve = new["curve"].values[:n] if altered else base.curves[world_class][s]
            assert evidence.curves[world_class][s].tolist() == curve.tolist()
            for loss in TASKS_ONLY.values():
                ours, old = (e.stages["tasks"][loss].sel(world_class=world_class, strategy=s) for e in (evidence, base))
                expected = new[loss].values if new[loss].notnull().all() else old.values
                assert ours.values.tolist() == expected.tolist()
        here = stage_data.sel(world_class=world_class)["structure_index"].values
        old = base.stages["structure"]["structure_index"].sel(world_class=world_class).values
        expected = old if np.isnan(here).all() else here
        assert evidence.stages["structure"]["structure_index"].sel(world_class=world_class).values.tolist() == (
            expected.tolist()
        )
    judged = evidence.pool, evidence.ranking, evidence.index
    assert judged == {
        "pool-figure": ("figure", "each time", "per world"),
        "pool-all": ("all", "each time", "per world"),
        "average-loss": ("curves", "average loss", "per world"),
        "index": ("curves", "each time", "ratio of means"),
    }.get(variant, ("curves", "each time", "per world"))


def plain(verdicts: dict) -> str:
    return json.dumps(verdicts_as_data(verdicts), sort_keys=True)


def test_verdicts_under_the_default_are_those_of_the_claims_file(folder: Path, paper_run: PaperRun) -> None:
    claims = {claim["id"]: claim for claim in json.loads((folder / "claims.json").read_text())}
    for by in robustness.cells(paper_run).values():
        for claim, cell in by.items():
            assert json.loads(plain({claim: cell.before}))[0] == claims[claim]
    with (folder / "figures" / "sensitivity.csv").open() as file:
        drawn = {line["claim"]: line["verdict"] for line in csv.DictReader(file) if line["variant"] == "as read"}
    assert drawn == {claim: claims[claim]["verdict"] for claim in robustness.REEVALUATED}


@pytest.mark.parametrize("variant", amount(["cap"], ["q-epsilon", "cap"]))
def test_a_variant_is_what_setting_its_assumptions_gives(variant: str, paper_run: PaperRun, tmp_path: Path) -> None:
    """The results under the default, with which the variant is compared, are computed again only with `--full`."""
    (chosen,) = (v for v in VARIANTS if v.id == variant)
    if amount(True, False):
        shutil.copytree(paper_run.folder, tmp_path / "other" / "default")
    done = reproduce(tmp_path / "other", N_WORLDS, only=("claims",), assumptions=DEFAULT.replace(chosen.changes))
    claims = {claim["id"]: claim for claim in json.loads((tmp_path / "other" / "claims.json").read_text())}
    for claim, cell in robustness.cells(paper_run)[variant].items():
        ours = json.loads(plain({claim: cell.after}))[0]
        assert ours["verdict"] == claims[claim]["verdict"] == done.verdicts[claim]
        for mine, theirs in zip(ours["findings"], claims[claim]["findings"], strict=True):
            assert (mine["about"], mine["ok"]) == (theirs["about"], theirs["ok"])
            assert mine["effect"] == pytest.approx(theirs["effect"], rel=1e-6)
            assert mine["p"] == pytest.approx(theirs["p"])
    assert set(done.default_verdicts) == set(done.verdicts)
    assert done.default_verdicts == {id_: verdict.word for id_, verdict in verdicts_of(paper_run).items()}


def alone(label: str, items: list, function) -> list:
    return [function(item) for item in items]


SMALL = {"sensitivity": {"variants": (Variant("gamma", "R5", "a discount", {"gamma": 0.95}),)}}


@pytest.mark.parametrize("name", STAGES)
def test_every_setting_of_a_stage_decides_some_number(name: str, folder: Path) -> None:
    paper_run = PaperRun(folder, 2, 0)
    usual = replace(STAGES[name], **SMALL.get(name, {})).compute(paper_run, alone)
    for setting, other in ((s, value) for (stage_, s), value in CHANGES.items() if stage_ == name):
        changed = replace(STAGES[name], **{**SMALL.get(name, {}), setting: other}).compute(paper_run, alone)
        assert not changed.equals(usual), setting


def test_a_changed_setting_recomputes_its_stage_and_nothing_else(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    data = {name: copy / "data" / f"{name}.zarr" for name in STAGES}
    before = {name: place.stat().st_ino for name, place in data.items()}
    monkeypatch.setitem(STAGES, "structure", replace(STAGES["structure"], horizon=25))
    done = reproduce(copy, N_WORLDS, jobs=1, only=tuple(name for name in STAGES if name != "sensitivity"))
    assert set(done.seconds) == {"explorations", "structure", "figures"}
    assert [name for name, place in data.items() if place.stat().st_ino != before[name]] == ["structure"]
    assert stage(copy, "structure").sizes["lag"] == 25


def test_no_report_is_written_from_results_of_other_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGES, "gains", replace(STAGES["gains"], n_trials=51))
    with pytest.raises(StoreError, match=r"gains.*n_trials.*berlyne reproduce"):
        rebuild_report(folder)


def test_verdicts_on_variants_are_those_of_the_numbers_at_hand(
    folder: Path, paper_run: PaperRun, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = robustness.cells(paper_run)
    other = PaperRun(copy, N_WORLDS, 0)
    changed = other.stage("sensitivity")
    changed["area"].loc[{"variant": "maze-law", "strategy": "PIG(greedy)"}] *= 100
    other.save_stage(STAGES["sensitivity"], changed)
    after = robustness.cells(PaperRun(copy, N_WORLDS, 0))
    assert after["maze-law"]["embodiment-index"].after.word == "does not hold"
    assert after["maze-law"]["embodiment-index"].largest.effect_change > 100
    assert [
        v
        for v in after
        if plain({c: x.after for c, x in after[v].items()}) != plain({c: x.after for c, x in before[v].items()})
    ] == ["maze-law"]
