"""Exploration under a false prior: what is explored, what is concluded, and whether the explorer notices.

Every world is drawn from its true prior and explored under several false ones. The path of each exploration is
evaluated twice. Its *conclusion* is the estimate under the explorer's own prior. Its *data* are evaluated under the
true prior, as a second explorer would that learned from the same path. So the area of the conclusion contains both
harms of a false prior, and the area of the data contains only the harm of the choices. See
docs/explanation/false-priors.md.

Labels of transitions are knowledge, too, and can be wrong. For these explorers (`LABELS`), the labels of moves take the
place of the true prior: data are evaluated as an explorer with the right labels would evaluate them.

To add a false prior, add a line to `FALSE_PRIORS`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from berlyne.agents.make import make_agent
from berlyne.experiments.measures import Measure
from berlyne.experiments.results import Results
from berlyne.experiments.spec import Experiment
from berlyne.experiments.worlds import fingerprint, stream
from berlyne.exploration.run import Run
from berlyne.models.internal_model import InternalModel
from berlyne.models.prior_check import FIRST_CHECK, MAX_Z, best_concentration
from berlyne.priors import ChineseRestaurant, Dirichlet, OneTwoThree, SharedDirichlet
from berlyne.priors.predictive import Scores, log_scores, observations_of
from berlyne.priors.protocols import discovers_states
from berlyne.priors.transition_labels import NO_LABEL, TransitionLabels
from berlyne.sparse import Counts
from berlyne.strategies.registry import get_strategy
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.labels_of import labels_of
from berlyne.worlds.registry import WORLDS
from berlyne.worlds.world import World

STRATEGIES = ("PIG(VI)", "parameter_gain(VI)", "CB", "Random")
"""Two that use the prior for their utility and for planning, one that uses its estimates only, and one that uses
nothing."""
REFERENCE = "PIG(VI)"
"""Areas are relative to that of this strategy with the true prior, in the same world."""
TRUE = "true prior"
LABELS = "maze, labels"
"""The class of mazes whose explorers share between rows by labels of moves, right or wrong."""
RIGHT_LABELS = "labels right"
FACTORS = (64, 16, 4)
PRESETS = {"full": (200, 1.0), "quick": (20, 1.0), "smoke": (2, 0.04)}
"""Number of worlds of each class, and share of the paper's steps."""


@dataclass(frozen=True)
class FalsePrior:
    """A false prior.

    Parameters
    ----------
    name : str
        Short name, such as "alpha 4x too large".
    make : callable
        Function of a world with its true prior that returns the false prior.
    """

    name: str
    make: Callable[[World], Any]


def _scaled(factor: float) -> Callable[[World], Any]:
    def make(world: World) -> Dirichlet:
        prior: Any = world.prior
        return Dirichlet(prior.alpha * factor, prior.support)

    return make


def _over_all_states(alpha: Any) -> Callable[[World], Any]:
    return lambda world: Dirichlet(alpha(world), n_states=world.n_states, n_actions=world.n_actions)


def _escaping(p_escape: float) -> Callable[[World], Any]:
    return lambda world: OneTwoThree(world.n_states, world.n_actions, p_escape)


def _true(world: World) -> Any:
    return world.prior


def _sharing(labels: TransitionLabels, world: World) -> SharedDirichlet:
    prior: Any = world.prior
    return SharedDirichlet(labels, prior.alpha)


def _wrong(share: float) -> Callable[[World], Any]:
    """Return a function that makes priors in which a share of the transitions has exchanged its labels at random."""

    def make(world: World) -> SharedDirichlet:
        right, rng = labels_of(world, "moves"), np.random.default_rng(stream(0, fingerprint(world)))
        wrong = np.flatnonzero(rng.random(right.labels.shape[1]) < share)
        labels = right.labels.copy()
        labels[:, wrong] = labels[:, rng.permutation(wrong)]
        return _sharing(TransitionLabels(right.support, labels, right.names), world)

    return make


def _unlabelled(world: World) -> SharedDirichlet:
    """Return a prior without any label: all pseudo-counts are fixed, as in the paper."""
    right = labels_of(world, "moves")
    return _sharing(TransitionLabels(right.support, np.full_like(right.labels, NO_LABEL), right.names), world)


WRONG_ALPHA = (
    *(FalsePrior(f"alpha {k}x too small", _scaled(1 / k)) for k in FACTORS),
    FalsePrior(TRUE, _true),
    *(FalsePrior(f"alpha {k}x too large", _scaled(k)) for k in reversed(FACTORS)),
    FalsePrior("alpha learned", lambda world: Dirichlet("ml", world.prior.support)),  # type: ignore[union-attr]
)
UNKNOWN_STATES = FalsePrior("states unknown", lambda world: ChineseRestaurant("ml"))

FALSE_PRIORS: dict[str, tuple[FalsePrior, ...]] = {
    "dense": (*WRONG_ALPHA, UNKNOWN_STATES),
    "maze": (
        *WRONG_ALPHA,
        FalsePrior("all states", _over_all_states(lambda world: world.prior.alpha)),
        FalsePrior("all states, total alpha 1", _over_all_states(lambda world: 1.0 / world.n_states)),
        FalsePrior("all states, alpha learned", _over_all_states(lambda world: "ml")),
        UNKNOWN_STATES,
    ),
    "1-2-3": (
        FalsePrior("p_escape 0.25", _escaping(0.25)),
        FalsePrior(TRUE, _true),
        FalsePrior("p_escape 0.98", _escaping(0.98)),
        FalsePrior("Dirichlet, total alpha 1", _over_all_states(lambda world: 1.0 / world.n_states)),
        FalsePrior("Dirichlet, alpha 1", _over_all_states(lambda world: 1.0)),
        FalsePrior("Dirichlet, alpha learned", _over_all_states(lambda world: "ml")),
        UNKNOWN_STATES,
    ),
    LABELS: (
        FalsePrior(RIGHT_LABELS, _wrong(0.0)),
        FalsePrior("10 % of labels wrong", _wrong(0.1)),
        FalsePrior("50 % of labels wrong", _wrong(0.5)),
        FalsePrior("labels random", _wrong(1.0)),
        FalsePrior("no labels", _unlabelled),
    ),
}
"""The false priors of each class of worlds, in the order of tables; the true prior is one of them."""

TRUE_PRIORS: dict[str, Callable[[World], Any]] = {
    "Dense World": lambda world: Dirichlet(1.0, n_states=world.n_states, n_actions=world.n_actions),
    "Maze": lambda world: Dirichlet(0.25, world.rows.support),
    "1-2-3 World": lambda world: OneTwoThree(world.n_states, world.n_actions),
}
"""The true prior of a world by its name; a run under a false prior does not contain it."""


def kind_of(world_class: str) -> str:
    """Return the kind of worlds of a class, in `berlyne.worlds.WORLDS`."""
    return "maze" if world_class == LABELS else world_class


def true_name(world_class: str) -> str:
    """Return the name of the prior of a class that others are compared with."""
    return RIGHT_LABELS if world_class == LABELS else TRUE


def experiment(
    worlds: Iterable[str] | None = None,
    strategies: Iterable[str] = STRATEGIES,
    *,
    preset: str = "full",
    n_worlds: int | None = None,
    seed: int = 0,
) -> Experiment:
    """Return the study: the same worlds under each prior, one class of worlds for each prior.

    Parameters
    ----------
    worlds : iterable of str, optional
        Classes of worlds, among "dense", "maze", "1-2-3" and "maze, labels"; by default all of them.
    strategies : iterable of str
        Strategies; `REFERENCE` must be one of them.
    preset : {"full", "quick", "smoke"}
        Number of worlds and share of the steps.
    n_worlds : int, optional
        Number of worlds, if it differs from that of the preset.
    seed : int
        Seed of the worlds and of the explorations.

    Returns
    -------
    Experiment
        The study; its classes are named "maze, alpha 4x too large".
    """
    if preset not in PRESETS:
        raise ValueError(f"preset is {preset!r}; it must be {' or '.join(PRESETS)}")
    size, share = PRESETS[preset]
    classes, n_steps = {}, {}
    for world_class in FALSE_PRIORS if worlds is None else worlds:
        if world_class not in FALSE_PRIORS:
            raise ValueError(
                f"worlds contains {world_class!r}; it must contain only {', '.join(map(repr, FALSE_PRIORS))}"
            )
        kind = WORLDS[kind_of(world_class)]
        numbers = range(size if n_worlds is None else n_worlds)
        drawn = [kind.make(stream(seed, f"{kind.name}/{i}")) for i in numbers]
        for false in FALSE_PRIORS[world_class]:
            name = class_name(world_class, false.name)
            classes[name] = [world.with_prior(false.make(world)) for world in drawn]
            n_steps[name] = max(1, round(share * kind.n_steps))
    chosen = list(strategies)
    if REFERENCE not in chosen:
        raise ValueError(f"strategies is {chosen}; it must contain {REFERENCE}, which others are compared with")
    return Experiment(worlds=classes, strategies=chosen, n_steps=n_steps, seed=seed, measures=list(MEASURES))


def class_name(world_class: str, prior: str) -> str:
    """Return the name that a class of worlds has in the study under a prior."""
    return f"{world_class}, {prior}"


def true_prior(world: World) -> Any:
    """Return the prior that a world of the paper was drawn from."""
    if world.name not in TRUE_PRIORS:
        raise ValueError(f"the true prior of {world.name!r} is unknown; it must be {' or '.join(TRUE_PRIORS)}")
    return TRUE_PRIORS[world.name](world)


# Measures of a run under a false prior


def area_of_data(run: Run) -> float:
    """Area under the missing information of the true prior on the path of a run, in bits.

    If the explorer shares between rows, the true prior is that with the right labels.
    """
    world = run.world
    assert world is not None
    true = world.with_prior(true_prior(world))
    if isinstance(run.prior, SharedDirichlet):
        return float(shared_curve_on_path(true.with_prior(_wrong(0.0)(true)), run).sum())
    return float(curve_on_path(true, run).sum())


def curve_on_path(world: World, run: Run) -> FloatArray:
    """Missing information under the prior of `world` before the first and after every step of a path, in bits.

    Parameters
    ----------
    world : World
        The world of the run, with a Dirichlet prior of one alpha or a `OneTwoThree` prior.
    run : Run
        A run in this world; its own prior is not used.

    Returns
    -------
    ndarray of shape (n_steps + 1,)
        The curve.
    """
    prior: Any = world.prior
    begin = run.states[: run.n_steps].astype(np.int64)
    row, s_next = begin * world.n_actions + run.actions, run.next_states.astype(np.int64)
    seen = observations_of(row, s_next)
    gain = np.zeros(run.n_steps)
    if isinstance(prior, OneTwoThree):
        gain[seen.time] = _gains_of_targets(world, prior, seen)
    else:
        theta = world.theta[seen.row % world.n_actions, seen.row // world.n_actions, seen.s_next]
        kappa = prior.alpha * prior.support.sizes[seen.row] + seen.total
        nats = theta * np.log1p(1.0 / (prior.alpha + seen.n)) - np.log1p(1.0 / kappa)
        gain[seen.time] = nats / math.log(2.0)
    counts = world.measured_rows[row]
    initial = InternalModel(prior).missing_information(world)
    return np.asarray(initial - np.concatenate([[0.0], np.cumsum(np.where(counts, gain, 0.0))]))


def shared_curve_on_path(world: World, run: Run) -> FloatArray:
    """Missing information under the prior of `world` along a path, as `curve_on_path`; the prior is `SharedDirichlet`.

    Weights are refitted as by an explorer. Between refits, only observed rows change, and their gains are added up.
    """
    times, priors = _refits(world, run)
    start = np.array(
        [
            InternalModel.from_counts(prior, run.path_counts.counts(t), {}).missing_information(world)
            for t, prior in zip(times.tolist(), priors, strict=True)
        ]
    )
    support, alphas = priors[0].support, np.stack([prior.alphas for prior in priors])
    totals = np.add.reduceat(alphas, support.entries()[0][:-1], axis=1)
    row = run.states[: run.n_steps].astype(np.int64) * world.n_actions + run.actions
    seen = observations_of(row, run.next_states.astype(np.int64))
    now = np.searchsorted(times, seen.time, side="right") - 1
    theta = world.theta[seen.row % world.n_actions, seen.row // world.n_actions, seen.s_next]
    c, kappa = alphas[now, support.positions(seen.row, seen.s_next)] + seen.n, totals[now, seen.row] + seen.total
    gain = np.zeros(run.n_steps)
    gain[seen.time] = (theta * np.log1p(1.0 / c) - np.log1p(1.0 / kappa)) / math.log(2.0)
    gained = np.concatenate([[0.0], np.cumsum(np.where(world.measured_rows[row], gain, 0.0))])
    now = np.searchsorted(times, np.arange(run.n_steps + 1), side="right") - 1
    return np.asarray(start[now] - (gained - gained[times[now]]))


def _refits(world: World, run: Run) -> tuple[IntArray, list[Any]]:
    """Return the times at which the prior of `world` changes along a path, from 0, and the priors in force then."""
    prior: Any = world.prior
    times, priors = [0], [prior]
    agent = make_agent(InternalModel(prior), get_strategy("Random"), None)
    steps = zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False)
    for t, (s, a, s_next) in enumerate(steps, start=1):
        agent.observe(s, a, s_next)
        prior = agent.prior
        if prior is not priors[-1]:
            times.append(t)
            priors.append(prior)
    return np.array(times), priors


def _gains_of_targets(world: World, prior: OneTwoThree, seen: Any) -> FloatArray:
    """Return the bits gained by each observation of a 1-2-3 World: only a target that is new to its row teaches."""
    gain = np.zeros(len(seen.row))
    known = np.zeros(world.n_states, dtype=np.int64)
    for i in np.flatnonzero(seen.n == 0).tolist():
        s, a = divmod(int(seen.row[i]), world.n_actions)
        if seen.n_seen[i] == 0:
            known[:] = 0
        before = _row_divergence(world, prior, known, a, s)
        known[seen.s_next[i]] = 1
        gain[i] = before - _row_divergence(world, prior, known, a, s)
    return gain


def _row_divergence(world: World, prior: OneTwoThree, known: Any, a: int, s: int) -> float:
    theta, theta_hat = world.theta[a, s], prior.row_estimate(known, a, s)
    possible = theta > 0.0
    return float(np.sum(theta[possible] * np.log2(theta[possible] / theta_hat[possible])))


def _scores(run: Run) -> tuple[Scores, Any, Counts]:
    """Return the log scores of a run in the order of time, under the prior in force at its end; and that prior."""
    prior: Any = run.prior
    states, actions = run.labels
    begin, s_next = run.states[: run.n_steps].astype(np.int64), run.next_states.astype(np.int64)
    n_states = states.size
    if run.learned is not None:
        prior = prior.with_learned(run.learned[-1])
    if discovers_states(prior):
        met = np.concatenate([run.states[:1], run.next_states])
        discovered = met[np.sort(np.unique(met, return_index=True)[1])]
        cell = np.zeros(n_states, dtype=np.int64)
        cell[discovered] = np.arange(len(discovered))
        begin, s_next, n_states = cell[begin], cell[s_next], len(discovered) + 1
        prior = prior.sized(n_states, actions.size)
    row = begin * actions.size + run.actions
    seen = observations_of(row, s_next)
    scores = log_scores(prior, seen, (actions.size, n_states), True)
    order = np.argsort(seen.time)
    counts = Counts.from_keys(actions.size, n_states, *np.unique(row * n_states + s_next, return_counts=True))
    return Scores(*(values[order] for values in scores)), prior, counts


def z_curve(run: Run) -> FloatArray:
    """Return the z-score of `check_prior` after every step, (n_steps,), under the prior in force at the end."""
    scores, _, _ = _scores(run)
    variance = np.cumsum(scores.variance)
    deviation = np.cumsum(scores.x - scores.mean)
    return np.asarray(deviation / np.sqrt(np.where(variance > 0.0, variance, np.inf)))


def z_at_end(run: Run) -> float:
    """Return the z-score of `check_prior` at the end."""
    return float(z_curve(run)[-1])


def noticed_at(run: Run) -> float:
    """Return the first step after which `check_prior` does not agree with the prior any more; NaN if it always does.

    As for the warnings of `Explorer`, the first check is after 20 observations.
    """
    disagrees = np.abs(z_curve(run)) > MAX_Z
    disagrees[: FIRST_CHECK - 1] = False
    return float(np.argmax(disagrees) + 1) if np.any(disagrees) else math.nan


def best_alpha(run: Run) -> float:
    """Return the concentration that `check_prior` recommends at the end."""
    _, prior, counts = _scores(run)
    return best_concentration(prior, counts)


def expected_at_end(run: Run) -> float:
    """Return the missing information that the explorer expects at the end, in bits; NaN if states are discovered."""
    if discovers_states(run.prior):
        return math.nan
    _, prior, counts = _scores(run)
    return float(prior.expected_missing_information(counts).sum())


def missing_at_end(run: Run) -> float:
    """Return the missing information of the conclusion at the end, in bits."""
    return float(run.missing_information[-1])


MEASURES = (
    Measure("area_of_data", area_of_data, "bits", "area under the true prior on the same path", ()),
    Measure("z", z_at_end, "1", "z-score of check_prior at the end", ()),
    Measure("noticed", noticed_at, "steps", "first step at which check_prior disagrees", ()),
    Measure("best_alpha", best_alpha, "1", "concentration that fits best at the end", ()),
    Measure("expected_at_end", expected_at_end, "bits", "missing information that the explorer expects", ()),
    Measure("missing_at_end", missing_at_end, "bits", "missing information at the end", ()),
)


# Summary


class Line(NamedTuple):
    """Summary of one strategy under one prior in one class of worlds.

    Attributes
    ----------
    world_class, prior, strategy : str
        Which.
    conclusion, conclusion_error : float
        Mean area of the estimates under the explorer's prior, relative to `REFERENCE` with the true prior in the same
        world, and its standard error.
    data, data_error : float
        The same for estimates under the true prior on the same path.
    harm, harm_error : float
        Mean difference of `data` from the same strategy with the true prior in the same world, and its standard error.
    noticed, noticed_at : float
        Share of runs in which `check_prior` disagrees at some time, and the median step, NaN if it is below one half.
    best_alpha : float
        Geometric mean of the concentration that fits best.
    expected, missing : float
        Mean missing information at the end, as the explorer expects it and in truth, in bits.
    n_worlds : int
        Number of worlds.
    """

    world_class: str
    prior: str
    strategy: str
    conclusion: float
    conclusion_error: float
    data: float
    data_error: float
    harm: float
    harm_error: float
    noticed: float
    noticed_at: float
    best_alpha: float
    expected: float
    missing: float
    n_worlds: int


def summarize(results: Results) -> list[Line]:
    """Return a line for each class of worlds, prior and strategy of a study; a `ValueError` if it is not finished."""
    if not results.is_complete:
        raise ValueError(f"{results!r} is not finished; run the study again to continue it")
    lines = []
    for kind, priors in FALSE_PRIORS.items():
        names = [false.name for false in priors if class_name(kind, false.name) in results.classes]
        if not names:
            continue
        truth = results.of(class_name(kind, true_name(kind)))
        reference = truth["area_of_data"].sel(strategy=REFERENCE).values
        for name in names:
            of_prior = results.of(class_name(kind, name))
            for strategy in results.strategies:
                same = truth["area_of_data"].sel(strategy=strategy).values / reference
                lines.append(_line((kind, name, strategy), of_prior.sel(strategy=strategy), reference, same))
    return lines


def _line(names: tuple[str, str, str], runs: Any, reference: FloatArray, same: FloatArray) -> Line:
    conclusion, data = runs["area"].values / reference, runs["area_of_data"].values / reference
    noticed = runs["noticed"].values
    share = float(np.mean(~np.isnan(noticed)))
    median = float(np.median(np.where(np.isnan(noticed), np.inf, noticed)))
    alpha = runs["best_alpha"].values
    alpha = alpha[alpha > 0.0]
    return Line(
        *names,
        *_mean_and_error(conclusion),
        *_mean_and_error(data),
        *_mean_and_error(data - same),
        share,
        median if np.isfinite(median) else math.nan,
        float(np.exp(np.mean(np.log(alpha)))) if len(alpha) else math.nan,
        float(np.mean(runs["expected_at_end"].values)),
        float(np.mean(runs["missing_at_end"].values)),
        len(conclusion),
    )


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), float(error)


def run(path: str | os.PathLike[str], *, preset: str = "full", **options: Any) -> Results:
    """Run the study, or what the store at `path` lacks of it.

    Parameters
    ----------
    path : path-like
        Directory of the store.
    preset : {"full", "quick", "smoke"}
        As for `experiment`.
    **options : Any
        Keyword arguments of `Experiment.run`, such as `jobs` and `progress`.

    Returns
    -------
    Results
        The results, for `summarize`.
    """
    return experiment(preset=preset).run(path, **options)
