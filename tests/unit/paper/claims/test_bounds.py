"""Thresholds of the checks: a verdict changes exactly at its threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, studentized_range
from scipy.stats import t as student

from berlyne.paper.claims import CLAIMS, Evidence, Finding, task_ranks, theorems
from berlyne.stats import Friedman

from .borderline import (
    FIG8,
    NAMES,
    all_tasks,
    invented,
    ranked,
    standard,
    swaps,
    with_areas,
    with_curve,
    with_losses,
    with_stage,
)
from .invented import LEVELS

JUST = 0.01
PUBLISHED = {"dense": 0.02, "maze": 2.59, "1-2-3": 1.27}
TASKS = [(world_class, task) for world_class in LEVELS for task in ("navigation", "reward")]


def finding(claim: str, evidence: Evidence, place: int) -> Finding:
    return CLAIMS[claim].verdict(evidence).findings[place]


def index_off(world_class: str, by: float, n: int, sd: float = 0.05) -> bool | None:
    """Return whether an average index passes that lies a number of standard errors from the published one."""
    error = sd * np.sqrt(1 / n + 1 / 200)  # ours and that of the paper's 200 worlds
    off = np.sign(by) * (0.005 + abs(by) * error)  # and two digits are printed
    index = PUBLISHED[world_class] + off + sd * standard(n)
    areas = {"Unembodied": np.full(n, 50.0), "PIG(greedy)": 50.0 * (1 + index)}
    return finding("embodiment-index", with_areas(invented(n), world_class, areas), list(LEVELS).index(world_class)).ok


@pytest.mark.parametrize("world_class", LEVELS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_index_is_the_published_one_within_the_error_of_one_in_a_hundred(world_class: str, sign: int) -> None:
    assert index_off(world_class, sign * 2.576 * (1 - JUST), 200) is True
    assert index_off(world_class, sign * 2.576 * (1 + JUST), 200) is False
    assert index_off(world_class, sign * 2.576 * (1 - JUST), 100) is True
    assert index_off(world_class, sign * 2.576 * (1 - JUST), 99) is None
    assert index_off(world_class, sign * 2.576 * (1 + JUST), 99) is False


def saved_most(z: float, n: int) -> bool | None:
    """Whether Mazes save most, if they save more by z standard errors, in units of the unembodied area."""
    sd, free = {"maze": 0.4, "1-2-3": 0.1}, {"maze": 20.0, "1-2-3": 3.0}
    gap = z * np.sqrt((sd["maze"] ** 2 + sd["1-2-3"] ** 2) / n)
    e = invented(n)
    for i, (name, units) in enumerate({"maze": 2.0 + gap, "1-2-3": 2.0}.items()):
        saved = free[name] * (units + sd[name] * standard(n, seed=i))
        greedy = np.full(n, 500.0 * (i + 1))
        e = with_areas(
            e, name, {"Unembodied": np.full(n, free[name]), "PIG(greedy)": greedy, "PIG(VI)": greedy - saved}
        )
    return finding("vi-gain", e, 3).ok


def test_most_is_saved_in_mazes_if_the_chance_of_less_is_one_in_a_thousand() -> None:
    assert saved_most(3.29 * (1 + JUST), 200) is True
    assert saved_most(3.29 * (1 - JUST), 200) is False
    assert saved_most(3.29 * (1 - JUST), 100) is False
    assert saved_most(3.29 * (1 + JUST), 99) is True
    assert saved_most(3.29 * (1 - JUST), 99) is None
    assert saved_most(-3.29 * (1 - JUST), 99) is None
    assert saved_most(-3.29 * (1 + JUST), 99) is False


@pytest.mark.parametrize(("least", "other"), [("Random", "PIG(greedy)"), ("PIG(greedy)", "Random")])
def test_the_gap_to_vi_plus_is_small_up_to_half_of_the_least_gain(least: str, other: str) -> None:
    def little(lacking: float, gain: float = 10.0) -> bool | None:
        levels = {"PIG(VI+)": 100.0, "PIG(VI)": 100.0 + lacking}
        levels |= {least: 100.0 + lacking + gain, other: 100.0 + lacking + 3 * abs(gain)}
        areas = {name: level + standard(200, seed=i) for i, (name, level) in enumerate(levels.items())}
        return finding("vi-plus", with_areas(invented(200), "maze", areas), 3).ok

    assert little(5.0 * (1 - JUST)) is True
    assert little(5.0 * (1 + JUST)) is False
    assert little(1.0, gain=-10.0) is False


@pytest.mark.parametrize("world_class", LEVELS)
def test_peig_q_is_behind_after_a_tenth_and_has_caught_up_by_half_at_the_end(world_class: str) -> None:
    def caught_up(tenth: float, last: float, n: int = 200, beside: float | None = None) -> bool | None:
        lag = np.interp(np.arange(101), [0, 9, 10, 11, 50, 100], [0, 0, 0, 0, 20.0, last])
        lag[[9, 11]] = tenth if beside is None else beside
        lag[10] = tenth
        e = invented(n)
        random = e.curves[world_class]["Random"]
        return finding(
            "peig-q", with_curve(e, world_class, "PEIG(Q)", random + lag), 3 + list(LEVELS).index(world_class)
        ).ok

    assert caught_up(0.1, 10.0 * (1 - JUST)) is True
    assert caught_up(0.1, 10.0 * (1 + JUST)) is False
    assert caught_up(-0.1, 0.0) is False
    assert caught_up(0.1, 0.0, beside=-0.1) is True
    assert caught_up(-0.1, 0.0, beside=0.1) is False
    assert caught_up(-0.1, 0.0, n=100) is False
    assert caught_up(-0.1, 0.0, n=99) is None
    assert caught_up(0.1, 10.0 * (1 + JUST), n=99) is None


def correlated(r: float, n: int) -> bool | None:
    """Whether so strong a correlation over all classes counts as strong."""
    x, e = standard(3 * n), standard(3 * n, seed=1)
    e -= x * np.dot(x, e) / np.dot(x, x)
    y = 2.0 + 0.3 * (r * x + np.sqrt(1 - r**2) * e / e.std(ddof=1))
    evidence = invented(n)
    for name, part in zip(LEVELS, np.split(y, 3), strict=True):
        areas = {"Unembodied": np.full(n, 70.0), "PIG(greedy)": 70.0 * (1 + part)}
        evidence = with_areas(evidence, name, areas)
    structure = evidence.stages["structure"].assign(
        structure_index=(("world_class", "world"), 0.5 + 0.1 * x.reshape(3, n))
    )
    return finding("structure", with_stage(evidence, "structure", structure), 0).ok


def test_a_correlation_is_strong_from_seven_tenths() -> None:
    assert correlated(0.7 * (1 + JUST), 200) is True
    assert correlated(0.7 * (1 - JUST), 200) is False
    assert correlated(0.7 * (1 + JUST), 100) is True
    assert correlated(0.7 * (1 + JUST), 99) is None


def test_few_worlds_decide_a_correlation_whose_interval_excludes_seven_tenths() -> None:
    reach = 1.96 / np.sqrt(60 - 3)  # Fisher's, of 20 worlds of each class
    bounds = np.tanh(np.arctanh(0.7) + reach * np.array([-1 - JUST, -1 + JUST, 1 - JUST, 1 + JUST]))
    assert [correlated(r, 20) for r in bounds] == [False, None, None, True]


REACHES = [("maze", "dense", 1), ("1-2-3", "dense", 1), ("maze", "1-2-3", 10), ("maze", "dense", 10)]


@pytest.mark.parametrize("place", range(4))
def test_influence_is_greater_if_welchs_test_is_significant_at_its_lag(place: int) -> None:
    def greater(p: float, n: int = 200, sign: int = 1) -> bool | None:
        one, other, lag = REACHES[place]
        variances = 0.09 / n, 0.01 / n
        df = sum(variances) ** 2 / sum(v**2 / (n - 1) for v in variances)
        gap = sign * student.isf(p / 2, df) * np.sqrt(sum(variances))
        stage = invented(n).stages["structure"].copy(deep=True)
        reach = stage["controllability"]
        for name in LEVELS:  # at other lags it is plain, and the other way round
            reach.loc[{"world_class": name}] = (5.0 if name == other else 1.0) + 0.1 * standard(n, 7)[:, None]
        reach.loc[{"world_class": one, "lag": lag}] = 2.0 + gap + 0.3 * standard(n, 0)
        reach.loc[{"world_class": other, "lag": lag}] = 2.0 + 0.1 * standard(n, 1)
        return finding("control-horizon", with_stage(invented(n), "structure", stage), place).ok

    assert greater(0.001 * (1 - JUST)) is True
    assert greater(0.001 * (1 + JUST)) is False
    assert greater(0.001 * (1 + JUST), n=100) is False
    assert greater(0.001 * (1 + JUST), n=99) is None
    assert greater(0.5, n=99, sign=-1) is False


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_gains_are_on_the_line_within_four_standard_errors(place: int, sign: int) -> None:
    def on_line(z: float) -> bool | None:
        e = invented(200)
        gains = e.stages["gains"].copy(deep=True)
        off = 0.02 * (sign * z / np.sqrt(200) + standard(200))
        gains["gain"][place, :, 7] = gains["pig"][place, :, 7] + off
        for other in set(range(20)) - {7}:
            gains["gain"][place, :, other] = gains["pig"][place, :, other] + 0.02 * standard(200, other)
        return finding("pig-predicts", with_stage(e, "gains", gains), place).ok

    assert on_line(4.0 * (1 - JUST)) is True
    assert on_line(4.0 * (1 + JUST)) is False


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("n_obs", [1, 19])
def test_pig_falls_only_if_it_falls_every_time(place: int, n_obs: int) -> None:
    def falls(step: float, n: int = 200) -> bool | None:
        e = invented(n)
        gains = e.stages["gains"].copy(deep=True)
        gains["pig"][place, :, n_obs] = gains["pig"][place, :, n_obs - 1] + step
        gains["pig"][place, :, n_obs + 1 :] -= 1.0
        return finding("pig-falls", with_stage(e, "gains", gains), place).ok

    assert falls(-1e-6) is True
    assert falls(0.0) is False
    assert falls(0.0, n=100) is False
    assert falls(0.0, n=99) is None


def learned_apart(place: int, at: int, by: float, n: int = 200) -> bool | None:
    """Whether a learned prior passes that makes the mean curve differ by a share at one time."""
    e = invented(n)
    informed = np.broadcast_to(100 * np.exp(-2 * np.linspace(0, 1, 101)), (2, n, 101))
    apart = np.ones(101)
    apart[at] += by
    mine = informed.copy()
    mine[place // 2] *= apart * (1 + 0.3 * standard(n))[:, None]  # worlds differ; their mean counts
    two = np.stack([informed, informed], axis=2)
    two[:, :, place % 2] = mine
    learned = e.stages["learned"].assign(
        given=(("world_class", "world", "time"), informed),
        learned=(("world_class", "world", "start", "time"), two),
    )
    return finding("learned-prior", with_stage(e, "learned", learned), place).ok


@pytest.mark.parametrize("place", range(4))
def test_a_learned_prior_matches_from_a_quarter_of_the_run_on_within_a_twentieth(place: int) -> None:
    for late in (25, 60, 100):
        for sign in (-1, 1):
            assert learned_apart(place, late, sign * 0.05 * (1 - JUST)) is True
            assert learned_apart(place, late, sign * 0.05 * (1 + JUST)) is False
    assert learned_apart(place, 24, 0.5) is True
    assert learned_apart(place, 25, 0.06, n=100) is False
    assert learned_apart(place, 25, 0.06, n=99) is None


CONTROLS = ("Unembodied", "PIG(VI+)")


def with_rival(m: int, n: int = 200, rival: str = "PLC(VI)", pool: tuple[str, ...] = FIG8) -> dict[str, np.ndarray]:
    """Losses in which PIG(VI) loses more than a rival in m worlds; only controls are between them."""
    between = [name for name in CONTROLS if name != rival]
    rest = [name for name in pool if name not in (*CONTROLS, "PIG(VI)", rival)]
    return ranked([*between, *rest, "PIG(VI)", rival], "PIG(VI)", rival, n, m, len(between))


@pytest.mark.parametrize("place", range(6))
def test_pig_vi_is_among_the_best_unless_another_is_better_at_the_level_of_the_text(place: int) -> None:
    def among(m: int, n: int = 200, rival: str = "PLC(VI)") -> Finding:
        return finding("tasks-top", with_losses(invented(n), *TASKS[place], with_rival(m, n, rival)), place)

    text, caption = (swaps(13, 200, alpha, between=2) for alpha in (0.001, 0.0001))
    assert among(text - 1).ok is True
    assert among(text).ok is False
    assert among(text).measured.endswith(", significantly worse at p < 0.001 but not at p < 0.0001")
    assert "not at p < 0.0001" in among(caption - 1).measured
    assert "not at" not in among(caption).measured
    gap = 3 * (2 * text / 200 - 1)  # two controls lie between
    assert among(text).effect == pytest.approx(gap)
    assert f"{gap:.2f} ranks behind PLC(VI) (p = " in among(text).measured
    q = gap / np.sqrt(13 * 14 / 12 / 200)
    assert among(text).p == pytest.approx(studentized_range.sf(q, 13, np.inf), rel=1e-3)
    assert [among(200, rival=control).ok for control in CONTROLS] == [True, True]
    assert among(50, n=100).ok is True
    assert among(50, n=99).ok is None


def test_the_number_of_pig_vi_is_among_those_that_are_no_controls() -> None:
    e = with_losses(invented(200), *TASKS[0], with_rival(200))
    message = "mean rank 4.00 of 13, place 2 without controls; 3.00 ranks behind PLC(VI) (p = 1e-12)"
    assert finding("tasks-top", e, 0).measured == message


def test_the_best_of_those_that_beat_pig_vi_is_named() -> None:
    order = ("Unembodied", "PMC(VI)", "CB", "PLC(VI)", "LTA")
    losses = {name: np.full(200, 110.0 + i) for i, name in enumerate(FIG8)}
    losses |= {name: np.full(200, 100.0 + i) for i, name in enumerate(order)}
    e = with_losses(invented(200), *TASKS[0], losses)
    assert "ranks behind PMC(VI) (p" in finding("tasks-top", e, 0).measured


@pytest.mark.parametrize("place", range(6))
def test_tasks_are_judged_in_the_pool_of_all_if_asked(place: int) -> None:
    def among(m: int) -> bool | None:
        e = with_losses(invented(200), *TASKS[place], with_rival(m, pool=NAMES))
        return finding("tasks-top", replace(e, pool="all"), place).ok

    m = swaps(15, 200, 0.001, between=2)
    assert (among(m), among(m - 1)) == (False, True)


RIVALS = tuple(name for name in FIG8 if name not in CONTROLS)


def only_one(m: int, n: int, elsewhere: tuple[str, str] | None = None, m_there: int = 0) -> dict[str, Finding]:
    """Return the findings on each strategy if PIG(VI) beats PLC(VI) in m worlds, and all others everywhere."""

    def losses(m: int) -> dict[str, np.ndarray]:
        order = [name for name in FIG8 if name not in ("PLC(VI)", "PIG(VI)", "Unembodied", "PIG(VI+)")]
        losses_by_strategy = ranked(
            ["Unembodied", "PIG(VI+)", *order, "PLC(VI)", "PIG(VI)"], "PLC(VI)", "PIG(VI)", n, m, between=2
        )
        return {name: values + (50.0 if name in order else 0.0) for name, values in losses_by_strategy.items()}

    e = all_tasks(invented(n), losses(m))
    if elsewhere is not None:
        e = with_losses(e, *elsewhere, losses(m_there))
    findings = CLAIMS["tasks-only"].verdict(e).findings
    assert [f.about for f in findings] == [f"{name}, in its worst class and task" for name in RIVALS]
    return dict(zip(RIVALS, findings, strict=True))


@pytest.mark.parametrize("where", TASKS)
def test_pig_vi_is_alone_if_every_other_is_beaten_somewhere(where: tuple[str, str]) -> None:
    m = swaps(13, 200, 0.001, between=2)
    assert all(f.ok is True for f in only_one(100, 200, where, m).values())
    place = f"{ {'dense': 'Dense Worlds', 'maze': 'Mazes', '1-2-3': '1-2-3 Worlds'}[where[0]] }, {where[1]}"
    measured = only_one(100, 200, where, m)["PLC(VI)"].measured
    assert measured.startswith(f"beaten in {place}: +{3 * (2 * m / 200 - 1):.2f} ranks behind PIG(VI) (p = ")
    shared = only_one(100, 200, where, m - 1)
    assert [name for name, f in shared.items() if f.ok is not True] == ["PLC(VI)"]
    assert shared["PLC(VI)"].ok is False
    assert shared["PLC(VI)"].measured.startswith(f"not beaten in any class or task; worst in {place}: +")


@pytest.mark.parametrize("where", TASKS)
def test_pig_vi_is_not_alone_where_it_is_beaten(where: tuple[str, str]) -> None:
    m = swaps(13, 200, 0.001, between=2)
    beaten = only_one(100, 200, where, 200 - m)["PIG(VI)"]
    assert beaten.ok is False
    assert "ranks behind PLC(VI)" in beaten.measured
    assert only_one(100, 200, where, 200 - m + 1)["PIG(VI)"].ok is True


def test_few_worlds_do_not_decide_whether_pig_vi_is_alone() -> None:
    assert only_one(50, 100)["PLC(VI)"].ok is False
    assert only_one(50, 100)["PIG(VI)"].ok is True
    assert only_one(50, 99)["PLC(VI)"].ok is None
    assert only_one(50, 99)["PIG(VI)"].ok is None


def test_no_strategy_is_beaten_if_friedmans_test_is_not_significant() -> None:
    square = np.array([[(i + j) % 13 for j in range(13)] for i in range(13)], dtype=float)
    values = np.tile(square, (20, 1))
    mine, rival = FIG8.index("PIG(VI)"), FIG8.index("PLC(VI)")

    def leaning(lean: float) -> dict[str, np.ndarray]:
        lower = np.flatnonzero(values[:, mine] < values[:, rival])
        gaps = 2 * (values[lower, rival] - values[lower, mine]) / len(values)
        chosen = lower[: np.searchsorted(np.cumsum(gaps), lean) + 1]
        lent = values.copy()
        lent[np.ix_(chosen, [mine, rival])] = lent[np.ix_(chosen, [rival, mine])]
        return dict(zip(FIG8, 100 + lent.T, strict=True))

    for lean, ok in ((1.8, True), (2.1, False)):
        losses = leaning(lean)
        test = friedmanchisquare(*losses.values())
        assert bool(test.pvalue > 0.001) is ok
        assert studentized_range.sf(lean / np.sqrt(13 * 14 / 12 / 260), 13, np.inf) < 0.001
        e = all_tasks(invented(260), losses)
        top = finding("tasks-top", e, 0)
        assert top.ok is ok
        assert top.friedman == pytest.approx((test.statistic, 12, test.pvalue))
        assert all(f.friedman.p == pytest.approx(test.pvalue) for f in CLAIMS["tasks-only"].verdict(e).findings)


def test_losses_are_ranked_at_each_time_and_ranks_averaged() -> None:
    """PIG(VI) is far behind a rival at the first time of six, and just ahead of it at the others."""
    names = list(FIG8)
    losses = np.tile(np.arange(13.0), (6, 200, 1))  # [time, world, strategy]
    mine, rival = names.index("PIG(VI)"), names.index("PLC(VI)")
    losses[:, :, [mine, rival]] = [-2.0, -1.0]
    losses[0, :, [mine, rival]] = [[-1.0], [-1000.0]]
    e = invented(200)
    tasks = e.stages["tasks"].copy(deep=True)
    for i, name in enumerate(names):
        tasks["reward_loss"].loc[{"world_class": "maze", "strategy": name}] = losses[:, :, i].T
    e = with_stage(e, "tasks", tasks)
    each, average = (finding("tasks-top", replace(e, ranking=ranking), 3) for ranking in ("each time", "average loss"))
    ranked_by_hand = losses.argsort(axis=2).argsort(axis=2).mean(axis=(0, 1)) + 1
    assert each.effect == pytest.approx(ranked_by_hand[mine] - ranked_by_hand[rival])
    assert each.effect == pytest.approx(-4 / 6)
    by_average = losses.mean(axis=0).argsort(axis=1).argsort(axis=1).mean(axis=0)
    assert average.effect == pytest.approx(by_average[mine] - by_average[rival])
    assert average.effect == pytest.approx(1.0)


@pytest.mark.parametrize(("off", "holds"), [(0.5e-12, True), (2e-12, False)])
def test_theorem_1_bears_rounding_and_no_more(off: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = np.full(theorems.N_STATES, 1 / theorems.N_STATES)

    def expected(other: np.ndarray) -> float:
        return 0.0 if other is estimate else -off

    monkeypatch.setattr(theorems, "_enumerated", lambda: [(expected, estimate)])
    monkeypatch.setattr(theorems, "_in_closed_form", list)
    assert finding("theorem-1", invented(200), 0).ok is holds


@pytest.mark.parametrize(("off", "holds"), [(0.5e-12, True), (2e-12, False)])
def test_theorem_2_bears_rounding_and_no_more(off: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = theorems.pig
    monkeypatch.setattr(theorems, "_simulated_z", lambda rng: np.zeros(1))
    monkeypatch.setattr(theorems, "pig", lambda model: exact(model) + off)
    assert finding("theorem-2", invented(200), 0).ok is holds


@pytest.mark.parametrize(("z", "holds"), [(3.99, True), (4.01, False), (-3.99, True), (-4.01, False)])
def test_theorem_2_bears_four_standard_errors(z: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorems, "_simulated_z", lambda rng: np.array([0.0, z]))
    assert finding("theorem-2", invented(200), 1).ok is holds


def test_a_strategy_is_shown_where_it_is_beaten_even_if_a_larger_gap_elsewhere_is_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sure, chance = Friedman(300.0, 12, 1e-30), Friedman(9.0, 12, 0.7)

    def rival(e: Evidence, world_class: str, task: str, strategy: str) -> task_ranks.Rival:
        where = {("maze", "reward"): (1.5, 1e-5, sure), ("dense", "navigation"): (2.5, 1e-9, chance)}
        return task_ranks.Rival("LTA", *where.get((world_class, task), (-1.0, 0.5, sure)))

    monkeypatch.setattr(task_ranks, "best_rival", rival)
    shown = finding("tasks-only", invented(200), 0)
    assert shown.measured == "beaten in Mazes, reward: +1.50 ranks behind LTA (p = 1e-05)"
    assert shown.ok is True


def test_the_index_of_average_areas_and_its_error() -> None:
    rng = np.random.default_rng(0)
    free = rng.uniform(20, 80, 200)
    greedy = free * (3.59 + 0.3 * rng.normal(size=200)) + 5.0
    e = with_areas(invented(200), "maze", {"Unembodied": free, "PIG(greedy)": greedy})
    each, of_means = (
        finding("embodiment-index", replace(e, index=index), 1) for index in ("per world", "ratio of means")
    )
    assert each.effect == pytest.approx(np.mean(greedy / free - 1))
    assert of_means.effect == pytest.approx(greedy.sum() / free.sum() - 1)
    drawn = rng.integers(200, size=(4000, 200))
    bootstrap = greedy[drawn].sum(axis=1) / free[drawn].sum(axis=1)
    assert (of_means.high - of_means.low) / 3.92 == pytest.approx(bootstrap.std(), rel=0.05)
    error = np.std(greedy / free, ddof=1) / np.sqrt(200)
    off = abs(np.mean(greedy / free) - 3.59) / error
    assert f"{off:.1f} standard errors from the published value" in each.measured
    assert f"with standard error {error:.3f}" in each.measured


def test_the_correlation_is_reported_within_each_class_too() -> None:
    e = invented(200)
    index = e.stages["structure"]["structure_index"]
    within = {name: np.corrcoef(index.sel(world_class=name), e.embodiment_index(name))[0, 1] for name in LEVELS}
    measured = finding("structure", e, 0).measured
    titles = {"dense": "Dense Worlds", "maze": "Mazes", "1-2-3": "1-2-3 Worlds"}
    assert measured.endswith(
        "Within each class, r = " + ", ".join(f"{within[name]:.2f} ({title})" for name, title in titles.items())
    )
    assert len({f"{r:.2f}" for r in within.values()}) > 1
