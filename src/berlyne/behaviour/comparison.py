"""Compare models of choices: information criteria, evidence of group fits, and cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.data import Data, pandas
from berlyne.behaviour.fitting import (
    POOLS,
    WEIGHTS,
    Fit,
    Pool,
    check_data_and_model,
    check_option,
    choice_probabilities,
    design_of,
    fit_with_progress,
    pointwise_log_likelihood,
    positive_weights,
)
from berlyne.behaviour.group import posterior
from berlyne.behaviour.logit import make_parameters
from berlyne.behaviour.model_selection import ModelFrequencies, bms
from berlyne.behaviour.search import usual_number
from berlyne.behaviour.terms import Model
from berlyne.behaviour.threads import map_items, progress_bar, replay_on_grids
from berlyne.plotting import figures_package
from berlyne.validation import FloatArray, IntArray, check_count, short_repr

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class CrossValidation:
    """Cross-validation over people or over blocks of each person's choices; create it with `bb.cv`.

    Attributes
    ----------
    over : {"people", "blocks"}
        What is held out: people, or consecutive parts of each person's choices.
    n_folds : int
        Number of parts.
    stratify : str or None
        A column by which people are distributed evenly over the folds.
    pool : {"none", "all", "group"}
        How the other choices are fitted.
    seed : int
        Seed by which people are distributed.
    """

    over: str
    n_folds: int
    stratify: str | None
    pool: Pool
    seed: int

    def __str__(self) -> str:
        return f"cv({self.over}, {self.n_folds})"


def cv(
    over: str, n_folds: int = 3, *, stratify: str | None = None, pool: Pool | None = None, seed: int = 0
) -> CrossValidation:
    """Cross-validation, as a criterion of `bb.compare`.

    Parameters
    ----------
    over : {"people", "blocks"}
        "people" fits some people and scores the others. "blocks" divides the choices of each person into consecutive
        blocks, fits all but one and scores this one; people learn from all of their transitions.
    n_folds : int
        Number of folds.
    stratify : str, optional
        A column that is the same for all lines of a person, such as their group; only with "people".
    pool : {"none", "all", "group"}, optional
        How to fit, as in `bb.fit`; by default "all" for people and "group" for blocks. With "group" a held-out person
        is scored by the Laplace approximation of the evidence under the group distribution.
    seed : int
        Seed by which people are distributed over folds.

    Returns
    -------
    CrossValidation
        The criterion.
    """
    check_option("over", over, ("people", "blocks"))
    chosen: Pool = pool or ("all" if over == "people" else "group")
    check_option("pool", chosen, POOLS)
    if over == "people" and chosen == "none":
        raise ValueError("pool is 'none', but held-out people need parameters of others; use 'all' or 'group'")
    if over == "blocks" and stratify is not None:
        raise ValueError(f"stratify is {stratify!r}; blocks cannot be stratified, so leave it out")
    return CrossValidation(over, check_count("n_folds", n_folds, 2), stratify, chosen, seed)


@dataclass(frozen=True)
class Difference:
    """Difference between two models in nats; positive if the first is better.

    Attributes
    ----------
    first, second : str
        Names of the models.
    nats, se : float
        Sum over people, and its standard error from the differences of people.
    n_for, n_against : int
        People for whom the first model is better, and worse.
    criterion : str
        Name of the criterion.
    """

    first: str
    second: str
    nats: float
    se: float
    n_for: int
    n_against: int
    criterion: str

    def __str__(self) -> str:
        people = f"{self.n_for} people for, {self.n_against} against"
        return f"{self.first} - {self.second}: {self.nats:+.1f} ± {self.se:.1f} nats ({people}; {self.criterion})"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of models for each person, in nats; larger is better.

    Attributes
    ----------
    pointwise : pandas.DataFrame
        A line for each person, and a column (criterion, model) for each score.
    """

    pointwise: pd.DataFrame

    def __repr__(self) -> str:
        return repr(self.table)

    @property
    def criteria(self) -> list[str]:
        """Names of the criteria."""
        return list(dict.fromkeys(self.pointwise.columns.get_level_values(0)))

    def scores(self, by: str | None = None) -> pd.DataFrame:
        """Return the scores of one criterion, (people, models); the first one by default."""
        name = self.criteria[0] if by is None else str(by)
        if name not in self.criteria:
            raise ValueError(f"by is {name!r}; it must be one of {', '.join(self.criteria)}")
        return self.pointwise[name]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A line for each model and, for each criterion, the total, its distance from the best, and its standard error.

        All of them are in nats. The distance is negative; the standard error is that of the distance.
        """
        columns: dict[tuple[str, str], Any] = {}
        for name in self.criteria:
            scores = self.scores(name)
            best = scores.sum().idxmax()
            distances = [self.difference(model, best, name) for model in scores]
            columns[name, "nats"] = scores.sum()
            columns[name, "from best"] = [d.nats for d in distances]
            columns[name, "se"] = [d.se for d in distances]
        return pandas().DataFrame(columns)

    def difference(self, first: str, second: str, by: str | None = None) -> Difference:
        """Return the difference between two models, by one criterion; the first criterion by default."""
        scores = self.scores(by)
        for name in (first, second):
            if name not in scores:
                raise ValueError(f"there is no model {name!r}; there are {', '.join(scores)}")
        d = (scores[first] - scores[second]).to_numpy()
        se = float(np.sqrt(len(d)) * d.std(ddof=1)) if len(d) > 1 else np.nan
        name = self.criteria[0] if by is None else str(by)
        return Difference(first, second, float(d.sum()), se, int((d > 0).sum()), int((d < 0).sum()), name)

    def plot(self, first: str, second: str, by: str | None = None) -> Figure:
        """Draw the difference between two models for each person, sorted."""
        drawn: Figure = figures_package().draw_differences(self, first, second, by)
        return drawn

    def bms(
        self,
        prior_count: float = 1.0,
        *,
        by: str | None = None,
        families: Mapping[str, Sequence[str]] | None = None,
    ) -> ModelFrequencies:
        """Return the random-effects model selection of one criterion, as `bb.bms` does; the first one by default."""
        return bms(self.scores(by), prior_count, families=families)


def compare(
    data: Data,
    models: Mapping[str, Model],
    by: Sequence[str | CrossValidation] = ("bic",),
    *,
    weights: str = "free",
    jobs: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare models by how well they explain or predict choices.

    Parameters
    ----------
    data : Data
        Choices, from `bb.read`.
    models : mapping of str to Model
        Models by name.
    by : sequence of {"bic", "laplace"} or CrossValidation
        Criteria. "bic" fits each person alone and is -BIC/2. "laplace" fits people as a group and is the Laplace
        approximation of the log evidence, minus the penalty of BIC for the means and standard deviations of the group.
        The penalty for settings is shared equally by all people. `bb.cv` holds out people or blocks.
    weights : {"free", "positive"}
        Whether weights of drives must be at least 0, as in `bb.fit`.
    jobs : int, optional
        Number of threads; by default the number of cores. The scores do not depend on it.
    progress : bool, optional
        Whether to show a progress bar on standard error; by default only if it is a terminal.

    Returns
    -------
    Comparison
        Scores for each person, with `table`, `difference` and `bms`.
    """
    if not isinstance(models, Mapping):
        raise TypeError(f"models is a {type(models).__name__}; it must be a dict of models by name")
    if not models:
        raise ValueError("models is empty; it must contain at least one model by name")
    for model in models.values():
        check_data_and_model(data, model)
    check_option("weights", weights, WEIGHTS)
    criteria: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    for criterion in criteria:
        if not isinstance(criterion, CrossValidation) and criterion not in ("bic", "laplace"):
            raise ValueError(f"by contains {short_repr(criterion)}; a criterion is 'bic', 'laplace' or bb.cv(...)")
    replay_on_grids(data, models.values(), jobs, progress)
    pairs = [(criterion, name) for criterion in criteria for name in models]
    n_folds = [criterion.n_folds if isinstance(criterion, CrossValidation) else 1 for criterion, _ in pairs]
    n_fits = sum(n * usual_number(models[name].settings()) for n, (_, name) in zip(n_folds, pairs, strict=True))
    with progress_bar("fits", n_fits, progress) as advance:

        def score(pair: tuple[str | CrossValidation, str]) -> FloatArray:
            return _score(pair[0], data, models[pair[1]], weights, advance)

        scored = map_items(score, pairs, jobs)
    scores = {(str(criterion), name): score for (criterion, name), score in zip(pairs, scored, strict=True)}
    return Comparison(pandas().DataFrame(scores, index=pandas().Index(data.subjects, name="subject")))


def _score(
    criterion: str | CrossValidation, data: Data, model: Model, weights: str, advance: Callable[[], None]
) -> FloatArray:
    """Return the score of each person, (people,); `advance` is called after each setting of each fit."""
    if isinstance(criterion, CrossValidation):
        held_out = _held_out_people if criterion.over == "people" else _held_out_blocks
        return held_out(criterion, data, model, weights, advance)
    n_settings = sum(len(grid.values) > 1 for grid in model.settings().values())
    penalty = 0.5 * n_settings * np.log(data.scored.sum()) / len(data.subjects)
    if criterion == "bic":
        alone = fit_with_progress(data, model, weights, "none", advance)
        k, n = alone.people["k"].to_numpy(), alone.people["n"].to_numpy()
        return np.asarray(alone.log_likelihood - 0.5 * k * np.log(n) - penalty)
    group = fit_with_progress(data, model, weights, "group", advance).group_fit
    assert group is not None
    n_people = len(data.subjects)
    return np.asarray(group.log_evidence - len(group.mean) * np.log(n_people) / n_people - penalty)


def _held_out_people(
    criterion: CrossValidation, data: Data, model: Model, weights: str, advance: Callable[[], None]
) -> FloatArray:
    """Return the log-likelihood of each person under a fit of people in other folds."""
    scores = np.empty(len(data.subjects))
    fold = assign_folds(criterion, data)
    for i in range(criterion.n_folds):
        train, test = data.select(np.flatnonzero(fold != i)), data.select(np.flatnonzero(fold == i))
        fitted = fit_with_progress(train, model, weights, criterion.pool, advance)
        scores[fold == i] = predict_people(fitted, test)
    return scores


def predict_people(fitted: Fit, data: Data) -> FloatArray:
    """Return the log-likelihood of people who were not fitted, (people,); as a group, their log evidence."""
    if fitted.group_fit is None:
        estimates = np.broadcast_to(np.nan_to_num(fitted.estimates[:1]), (len(data.subjects), len(fitted.names)))
        p = choice_probabilities(data, fitted.model, fitted.best_settings, estimates)
        return np.add.reduceat(np.nan_to_num(pointwise_log_likelihood(data, p)), data.begin[:-1])
    design = design_of(data, fitted.model, fitted.best_settings)
    positive = positive_weights(data, fitted.model, fitted.weights)
    parameters = make_parameters(design, positive, fitted.model.has_lapse, log=True)
    mean, sd = fitted.group_fit.mean, fitted.group_fit.sd
    return posterior(design, parameters, mean, sd, np.tile(mean, (design.n_people, 1)))[1]


def assign_folds(criterion: CrossValidation, data: Data) -> IntArray:
    """Return the fold of each person: drawn at random, evenly within each stratum."""
    n_people = len(data.subjects)
    if n_people < criterion.n_folds:
        raise ValueError(f"n_folds is {criterion.n_folds}, but there are {n_people} people; use fewer folds")
    strata = [0] * n_people if criterion.stratify is None else data.groups(criterion.stratify)
    order = np.random.default_rng(criterion.seed).permutation(n_people)
    order = np.array(sorted(order.tolist(), key=lambda i: str(strata[i])), dtype=np.int64)  # the sort is stable
    fold = np.empty(n_people, dtype=np.int64)
    fold[order] = np.arange(n_people) % criterion.n_folds
    return fold


def _held_out_blocks(
    criterion: CrossValidation, data: Data, model: Model, weights: str, advance: Callable[[], None]
) -> FloatArray:
    """Return the log-likelihood of each person's blocks under a fit of the other blocks."""
    block, scores = assign_blocks(criterion.n_folds, data), np.zeros(len(data.subjects))
    for i in range(criterion.n_folds):
        train = replace(data, scored=data.scored & (block != i))
        test = replace(data, scored=data.scored & (block == i))
        fitted = fit_with_progress(train, model, weights, criterion.pool, advance)
        pointwise = pointwise_log_likelihood(test, fitted.probabilities)
        scores += np.add.reduceat(np.nan_to_num(pointwise), data.begin[:-1])
    return scores


def assign_blocks(n_blocks: int, data: Data) -> IntArray:
    """Return the block of each line, (T,): consecutive parts of each person's scored choices."""
    block = np.zeros(len(data.steps), dtype=np.int64)
    for begin, end in zip(data.begin[:-1], data.begin[1:], strict=True):
        scored = data.scored[begin:end]
        n = int(scored.sum())
        if n < n_blocks:
            raise ValueError(f"n_folds is {n_blocks}, but a person has only {n} scored choices; use fewer folds")
        block[begin:end] = np.maximum(np.cumsum(scored) - 1, 0) * n_blocks // n
    return block
