"""Internal model of an explorer: a prior and the counts of observed transitions (paper, Sec. 2.3).

Only observed transitions are stored, so the memory of a model grows with its history, not with its number of states.

A model can be compared with the true world. States and actions are matched by label if both have labels, and by number
otherwise. A model with discovered states has a cell for each of them, and a last cell for all others. The probability
of that last cell is divided evenly among the states of the world that are not discovered.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from berlyne.frozen import Frozen
from berlyne.information import entropy
from berlyne.labels import MAX_LABELS_SHOWN, DiscoveredLabels, Labelled, Labels, impossible_transition
from berlyne.models.frames import ColumnNames
from berlyne.models.history import UNKNOWN, read_raw_history, read_single_subject
from berlyne.models.history_checks import warn_unused
from berlyne.models.prior_check import CHECK_PRIOR, FIRST_CHECK, PriorCheck, check_prior
from berlyne.models.uncertainty import MissingInformationEstimate
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.protocols import as_exact, checked_estimate, counts_after_each_outcome
from berlyne.priors.protocols import check_prior as check_is_prior
from berlyne.priors.pseudo_counts import PseudoCountPrior
from berlyne.sparse import Counts, by_action
from berlyne.validation import OWN_PRIOR, BoolArray, FloatArray, IntArray, Seed, check_count, check_dense, generator
from berlyne.worlds.world import MeasuredRows, World

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROUNDING = 1e-12
"""Estimates that differ by at most this are taken as equal."""


class InternalModel(Labelled, HtmlReprMixin, Frozen):
    """Belief of an explorer about its world, Eqs. 3 (`eq:be`) and 4 (`eq:be2`).

    Parameters
    ----------
    prior : Prior
        Prior over transition probabilities.
    n_states, n_actions : int or None
        Number of states N and actions M. Needed only if the prior does not define them.
    states, actions : iterable of hashable, or None
        Labels in order, to be used instead of numbers. Arrays are in the order of the labels. None for 0, 1, 2, ...

    Attributes
    ----------
    prior : Prior
        The prior. It cannot be changed.
    exact : ExactPrior or None
        The prior if it has closed forms, else None.
    n_states, n_actions : int
        Number of states and actions.
    state_labels, action_labels : Labels
        Labels of states and actions.

    Examples
    --------
    >>> from berlyne import Dirichlet
    >>> model = InternalModel(Dirichlet(1.0, n_states=2, n_actions=1))
    >>> model.observe(s=0, a=0, s_next=1)
    >>> model.theta_hat[0, 0].round(3)
    array([0.333, 0.667])
    """

    _fixed = ("prior", "exact", "n_states", "n_actions")

    def __init__(
        self,
        prior: Prior,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        states: Iterable[Hashable] | None = None,
        actions: Iterable[Hashable] | None = None,
    ) -> None:
        self.prior = prior
        self.state_labels = make_labels("state", n_states, prior, states)
        self.action_labels = make_labels("action", n_actions, prior, actions)
        self.n_states, self.n_actions = self.state_labels.size, self.action_labels.size
        self.exact = as_exact(prior)
        self._seen: dict[int, dict[int, int]] = {}  # observations of each outcome, by row
        self._last: dict[int, int] = {}  # last outcome, by row
        self._sparse: Counts | None = None
        self._prior_warned, self._next_prior_check = False, FIRST_CHECK

    @classmethod
    def from_counts(
        cls, prior: Prior, counts: Counts, last: dict[int, int], labels: tuple[Labels, Labels] | None = None
    ) -> InternalModel:
        """Create a model that has observed `counts`.

        Parameters
        ----------
        prior : Prior
            Prior over transition probabilities.
        counts : Counts
            Observed transitions.
        last : dict of int to int
            Last outcome of each row that was tried.
        labels : tuple of (Labels, Labels) or None
            Labels of states and of actions.
        """
        model = cls(prior, n_states=counts.n_states, n_actions=counts.n_actions)
        if labels is not None:
            model.state_labels, model.action_labels = labels
        for row, s_next, n in zip(counts.row.tolist(), counts.s_next.tolist(), counts.n.tolist(), strict=True):
            model._seen.setdefault(row, {})[s_next] = n
        model._last = dict(last)
        model._sparse = counts
        return model

    def _remedy(self, name: str) -> str:
        return "create a new InternalModel(prior)"

    def __repr__(self) -> str:
        return f"InternalModel({self.prior!r}, {self.n_obs:,} observations)"

    @property
    def n_obs(self) -> int:
        """Number of transitions observed so far."""
        return sum(sum(outcomes.values()) for outcomes in self._seen.values())

    def observe(self, s: Any, a: Any, s_next: Any) -> None:
        """Learn that action `a` in state `s` led to `s_next`."""
        states, actions = self.state_labels, self.action_labels
        self._learn([[states.number(s, "s"), actions.number(a, "a"), states.number(s_next, "s_next")]], "")

    def observe_many(self, history: Any, **columns: Unpack[ColumnNames]) -> None:
        """Learn a history of transitions in their order, in any form that `berlyne.replay` takes.

        If any line is impossible, nothing is learned. A line without its action or next state teaches nothing.

        Parameters
        ----------
        history : object
            The history.
        **columns : str
            Names of the columns of a frame, as in `berlyne.replay`.

        Raises
        ------
        ValueError
            If a line is invalid or impossible, or if there are several subjects.
        """
        raw = read_raw_history(history, columns)
        lines = read_single_subject(raw, self.state_labels, self.action_labels)
        warn_unused(raw)
        self.learn(lines.steps)

    def learn(self, steps: IntArray) -> None:
        """Learn lines of numbers s, a, s_next, (T, 3); those with a missing action or next state are left out.

        Raises
        ------
        ValueError
            If a line is impossible; the message contains its number, and nothing is learned.
        """
        self._learn(steps.tolist(), "line {} of the history, counted from 0: ")

    def _learn(self, lines: list[list[int]], where: str) -> None:
        """Learn lines s, a, s_next, all or none; `where` is a format string that opens the message of an error."""
        seen: dict[int, dict[int, int]] = {}
        last: dict[int, int] = {}
        for i, (s, a, s_next) in enumerate(lines):
            if UNKNOWN in (a, s_next):
                continue
            r = s * self.n_actions + a
            if r not in seen:
                seen[r] = dict(self._seen.get(r, {}))
            if s_next not in seen[r] and not self._admits(a, s, seen[r], s_next):
                error = impossible_transition(s, a, s_next, self._earlier_outcomes(seen[r]))
                raise ValueError(f"{where.format(i)}{error.with_labels(self.state_labels, self.action_labels)}")
            seen[r][s_next] = seen[r].get(s_next, 0) + 1
            last[r] = s_next
        self._seen.update(seen)
        self._last.update(last)
        self._sparse = None

    def _earlier_outcomes(self, seen: dict[int, int]) -> str:
        """Format the states that the same action in the same state led to earlier, for a message."""
        states = [repr(self.states[z]) for z in sorted(seen)]
        more = f" and {len(states) - MAX_LABELS_SHOWN} more" if len(states) > MAX_LABELS_SHOWN else ""
        return f" (in earlier observations it led to {', '.join(states[:MAX_LABELS_SHOWN])}{more})" if states else ""

    @property
    def sparse_counts(self) -> Counts:
        """Counts of the observed transitions, sparse."""
        if self._sparse is None:
            entries = [(r * self.n_states + s_next, n) for r, seen in self._seen.items() for s_next, n in seen.items()]
            keys, n = np.array(entries, dtype=np.int64).reshape(-1, 2).T
            self._sparse = Counts.from_keys(self.n_actions, self.n_states, keys, n)
        return self._sparse

    @property
    def counts(self) -> IntArray:
        """Number of observations of each transition, a new `(M, N, N)` array `[a, s, s_next]`."""
        return self.sparse_counts.dense()

    @property
    def theta_hat(self) -> FloatArray:
        """Bayesian estimate `theta_hat[a, s, s_next]`, `(M, N, N)`; rows sum to one."""
        check_dense("theta_hat", self.n_actions, self.n_states, "model.theta_hat_row(a, s)")
        return self._estimate(self.counts)

    def theta_hat_row(self, a: Any, s: Any) -> FloatArray:
        """Return the estimate of row (a, s), `(N,)`."""
        a, s = self.action_labels.number(a, "a"), self.state_labels.number(s, "s")
        if self.exact is None:
            return np.asarray(self.theta_hat[a, s])
        row = np.full(self.n_states, s * self.n_actions + a)
        return self.exact.estimate_at(self.sparse_counts, row, np.arange(self.n_states))

    def theta_hat_after(self, a: Any, s: Any) -> FloatArray:
        """Return the estimates of row (a, s) after one more outcome, `(N, N)`; row s_star for outcome s_star.

        Rows of impossible outcomes hold the current estimate.
        """
        a, s = self.action_labels.number(a, "a"), self.state_labels.number(s, "s")
        if self.exact is not None:
            return self.exact.estimate_after(self.counts, a, s)
        now = self.theta_hat[a, s]
        after = [
            self._estimate(c)[a, s] if p > 0 else now
            for c, p in zip(counts_after_each_outcome(self.counts, a, s), now, strict=True)
        ]
        return np.stack(after)

    @property
    def rows_are_independent(self) -> bool:
        """Whether an outcome of one row does not change the estimates of other rows, as the paper assumes (Sec. 2.3).

        A prior can define this by an attribute of the same name. Otherwise it is tested with an imagined outcome.
        """
        declared = getattr(self.prior, "rows_are_independent", None)
        if declared is not None or self.exact is not None:
            return bool(declared is None or declared)
        now, imagined = self.theta_hat, self.counts
        imagined[0, 0, int(np.argmax(now[0, 0]))] += 1
        moved = np.abs(self._estimate(imagined) - now).max(axis=-1) > ROUNDING
        moved[0, 0] = False
        return not bool(np.any(moved))

    @property
    def last_outcomes(self) -> IntArray:
        """Last outcome observed in each row r = s M + a, -1 if untried, `(M N,)`."""
        last = np.full(self.n_actions * self.n_states, -1, dtype=np.int64)
        if self._last:
            last[list(self._last.keys())] = list(self._last.values())
        return last

    def expected_missing_information(
        self, level: float = 0.95, without: Collection[int] | BoolArray = ()
    ) -> MissingInformationEstimate:
        """Compute the missing information that the model itself expects, in bits, with an interval.

        This is E[D(theta || theta_hat)] over worlds drawn from the posterior. `berlyne.parameter_gain` returns it for
        each row. Your own prior needs a method `expected_missing_information(counts)`, which returns bits `[a, s]`. For
        an interval it also needs `missing_information_variance(counts)`, which returns bits squared `[a, s]`. If a few
        rows dominate the sum, an interval from the variance is inaccurate. To improve it, the prior can define
        `draw_missing_information(counts)`, which returns random draws of the sum.

        One warning is given if the prior does not agree with the observations, see `check_prior`. A model warns only if
        its prior has pseudo-counts, as `Dirichlet` and `ChineseRestaurant` have. Under `OneTwoThree` a strategy can
        know a row for certain and leave it. The number of observations of a row then depends on their outcomes, and z
        is too low, since the model does not know their order: its mean was -1.9 for Unembodied after 100 steps, and
        below 0.25 in absolute value in Dense Worlds and Mazes. An `Explorer` knows the order, and warns with any prior.

        Parameters
        ----------
        level : float
            Probability that the interval contains the missing information.
        without : collection of int, or ndarray of bool and shape (M, N)
            Rows that are left out: numbers of states, such as the terminal states `world.terminal`; or a mask `[a, s]`,
            such as `~world.possible`.

        Returns
        -------
        MissingInformationEstimate
            Mean, variance and interval of the sum, and the mean of each row `[a, s]`.
        """
        self._warn_if_prior_disagrees()
        return self._expected_missing_information(level, without)

    def _warn_if_prior_disagrees(self) -> None:
        """Give one warning if the prior does not agree with the observations; called by methods of the user's call."""
        if self._prior_warned or not isinstance(self.prior, PseudoCountPrior) or self.n_obs < self._next_prior_check:
            return
        self._next_prior_check = CHECK_PRIOR.next_refit(self.n_obs)
        check = self.check_prior()
        self._prior_warned = not check.agrees
        if not check.agrees:
            warnings.warn(check.sentence, UserWarning, stacklevel=3)

    def _expected_missing_information(
        self, level: float = 0.95, without: Collection[int] | BoolArray = ()
    ) -> MissingInformationEstimate:
        """Compute the missing information that the model itself expects, without a check of the prior."""
        prior, rows = self.prior, expected_missing_by_row(self)
        counts = self.sparse_counts if self.exact is not None else self.counts
        variance = getattr(prior, "missing_information_variance", None)
        spread = np.full(rows.shape, np.nan) if variance is None else _check_by_row(self, "variance", variance(counts))
        if isinstance(without, np.ndarray) and without.dtype == np.bool_:
            excluded = without
        else:
            excluded = np.zeros(rows.shape, dtype=np.bool_)
            excluded[:, list(without)] = True
        rows[excluded] = spread[excluded] = 0.0
        draw = None if np.any(excluded) else getattr(prior, "draw_missing_information", None)
        draws = None if draw is None else np.asarray(draw(counts))
        return MissingInformationEstimate(float(rows.sum()), float(spread.sum()), rows, level, draws)

    def check_prior(self) -> PriorCheck:
        """Check how well the prior predicted the observations.

        Let x_t be the log predictive probability of observation t given the earlier ones, and m_t and v_t its mean and
        variance under the prediction, m = sum p log p and v = sum p (log p)^2 - m^2. Then
        z = sum (x_t - m_t) / sqrt(sum v_t) has mean 0 and variance about 1 if the world was drawn from the prior,
        because the sum is a martingale. A model does not know the order of its observations. The sum of the x_t is the
        same for all orders, but the m_t and v_t are not. Under the prior all orders of the outcomes of a row are
        equally likely, so a random one is used, with a fixed seed. This is exact if the number of observations of a row
        does not depend on their outcomes. Strategies that leave a row once they know it bias z a little;
        `Explorer.check_prior` does not have this bias, because it uses the order of its history. Parameters that the
        prior has learned are those in force.

        Returns
        -------
        PriorCheck
            `z`, the concentration `best_alpha` that would have fitted best, and a `sentence`.

        Examples
        --------
        >>> from berlyne import Dirichlet
        >>> model = InternalModel(Dirichlet(1.0, n_states=64, n_actions=1))
        >>> model.observe_many([(0, 0, 1)] * 20)
        >>> model.check_prior().z > 4  # outcomes are more regular than a flat prior expects
        True
        """
        return check_prior(self)

    def sample(self, seed: Seed) -> World:
        """Draw a world from the posterior of the model, with the labels and the prior of the model.

        On average, the transition probabilities of the draws are `theta_hat`. Your own prior needs a method
        `sample(seed, counts)`, which returns transition probabilities `[a, s, s_next]`. If states are discovered, the
        last state of the world stands for all others.

        Parameters
        ----------
        seed : int, SeedSequence or Generator
            Seed. A generator continues its stream, so that each call returns another world.

        Returns
        -------
        World
            The world, without terminal states.

        Raises
        ------
        ValueError
            If the prior has no method `sample`.
        """
        draw: Any = getattr(self.prior, "sample", None)
        if not callable(draw):
            raise ValueError(
                f"{type(self.prior).__name__} cannot draw worlds; "
                f"add a method sample(seed, counts) that returns probabilities [a, s, s_next]{OWN_PRIOR}"
            )
        theta = draw(generator(seed), self.sparse_counts if self.exact is not None else self.counts)
        labels = self.state_labels.custom, self.action_labels.custom
        return World(theta, self.prior, name="posterior sample", states=labels[0], actions=labels[1])

    def plot(self, what: Any = "expected missing information", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw states coloured by a quantity: rooms of a maze, squares of a grid, nodes of a graph, or a matrix.

        Parameters
        ----------
        what : str or array
            "expected missing information", "visits", "utility" (PIG) or the name of another utility, an array (N,) or
            (M, N), or "missing information", which needs `world`.
        ax : matplotlib Axes or None
            Axes to draw into. None for new ones.
        **options : object
            `world`, the world whose map is drawn; `rows`, whether to draw each action separately (slices of a node,
            clockwise from the top, action 0 first); `labels`, whether to write labels; `bar`, whether to draw a colour
            bar.

        Returns
        -------
        matplotlib Axes
            Axes with the picture.
        """
        drawn: Axes = figures_package().draw_model(self, what, ax, **options)
        return drawn

    def entropy(self) -> FloatArray:
        """Compute the entropy of each estimated row, in bits, `[a, s]`."""
        return np.asarray(entropy(self.theta_hat))

    def _estimate(self, counts: IntArray) -> FloatArray:
        return checked_estimate(self.prior, counts)

    def _admits(self, a: int, s: int, seen: dict[int, int], s_next: int) -> bool:
        """Whether `s_next` can follow in row (a, s) after the outcomes in `seen`."""
        if self.exact is not None:
            return self.exact.admits(a, s, seen, s_next)
        counts = np.zeros((self.n_actions, self.n_states, self.n_states), dtype=np.int64)
        counts[a, s, list(seen)] = list(seen.values())
        return bool(self._estimate(counts)[a, s, s_next] > 0)

    def missing_information(self, world: World, rows: MeasuredRows | None = None) -> float:
        """Compute the missing information about `world`, in bits (Eq. 2, `eq:IM`), from sparse rows.

        Rows that are not possible are left out, those of terminal states and of forbidden actions, and so are rows of
        states that cannot be reached from where exploration starts.

        Parameters
        ----------
        world : World
            The true world.
        rows : {"reachable", "all"}, optional
            Rows that count; by default `world.measured`, which is "reachable" unless you change it.
        """
        world = world if rows is None else world.with_measured(rows)
        missing = self._missing(world)
        if not world.measures_all:
            missing = missing[world.measured_rows[world.rows.row_numbers()]]
        return float(np.sum(missing))

    def missing_information_by_row(self, world: World) -> FloatArray:
        """Compute D(theta || theta_hat) of each row of the world, in bits, `[a, s]`; 0 if `world` does not count it."""
        per_row: FloatArray = by_action(world.rows.row_sums(self._missing(world)), self.n_actions)
        if not world.measures_all:
            per_row[~by_action(world.measured_rows, self.n_actions)] = 0.0
        return per_row

    def _missing(self, world: World) -> FloatArray:
        """Compute theta log2(theta / theta_hat) of every possible transition of `world`."""
        theta, theta_hat = world.rows.data, self._estimate_of(world)
        with np.errstate(divide="ignore"):
            return np.asarray(theta * (np.log2(theta) - np.log2(theta_hat)))

    def l1_distance(self, world: World) -> float:
        """Compute the sum over rows of |theta - theta_hat| from sparse rows (Fig. S4)."""
        return float(np.sum(self.l1_distances(world)))

    def l1_distances(self, world: World) -> FloatArray:
        """Compute |theta - theta_hat| of each row of the world, `[a, s]`; 0 if `world` does not count the row."""
        theta_hat = self._estimate_of(world)
        impossible = 1.0 - world.rows.row_sums(theta_hat)  # probability of outcomes that are impossible in the world
        distance = world.rows.row_sums(np.abs(world.rows.data - theta_hat)) + np.maximum(impossible, 0.0)
        per_row: FloatArray = by_action(distance, self.n_actions)
        if not world.measures_all:
            per_row[~by_action(world.measured_rows, self.n_actions)] = 0.0
        return per_row

    def estimate_at(self, row: IntArray, s_next: IntArray) -> FloatArray:
        """Return theta_hat of single transitions to `s_next` in the row r = s M + a, elementwise."""
        if self.exact is not None:
            return self.exact.estimate_at(self.sparse_counts, row, s_next)
        s, a = np.divmod(row, self.n_actions)
        return np.asarray(self.theta_hat[a, s, s_next])

    def _estimate_of(self, world: World) -> FloatArray:
        """Compute theta_hat of every possible transition of `world`."""
        cells, actions, rows = match_states(world, self), match_actions(world, self), world.rows
        theta_hat = np.empty(len(rows.data))
        n_rows = len(rows.indptr) - 1
        for first in range(0, n_rows, CHUNK):  # in chunks: the intermediate arrays would be larger than the world
            last = min(first + CHUNK, n_rows)
            begin, end = rows.indptr[first], rows.indptr[last]
            s, a = np.divmod(np.arange(first, last), rows.n_actions)
            row = np.repeat(cells[s] * self.n_actions + actions[a], np.diff(rows.indptr[first : last + 1]))
            theta_hat[begin:end] = self.estimate_at(row, cells[rows.indices[begin:end]])
        if isinstance(self.state_labels, DiscoveredLabels):
            theta_hat /= np.bincount(cells, minlength=self.n_states)[cells[rows.indices]]
        return theta_hat


def expected_missing_by_row(model: InternalModel) -> FloatArray:
    """Compute E[D(theta || theta_hat)] of every row, in bits, `[a, s]`."""
    prior, counts = model.prior, model.sparse_counts if model.exact is not None else model.counts
    if not hasattr(prior, "expected_missing_information"):
        raise ValueError(
            f"{type(prior).__name__} has no expected missing information; "
            f"add a method expected_missing_information(counts) that returns bits [a, s]{OWN_PRIOR}"
        )
    return _check_by_row(model, "expectation", prior.expected_missing_information(counts))


def _check_by_row(model: InternalModel, quantity: str, returned: Any) -> FloatArray:
    """Return values that a prior returned for every row as an array `[a, s]`; raise `ValueError` for another shape."""
    values, shape = np.array(returned, dtype=float), (model.n_actions, model.n_states)
    if values.shape != shape:
        raise ValueError(
            f"the {quantity} of missing information that {type(model.prior).__name__} returns has shape "
            f"{values.shape}; it must be {shape}, one number for each row{OWN_PRIOR}"
        )
    return values


def make_labels(kind: str, number: int | None, prior: Prior, labels: Iterable[Hashable] | None) -> Labels:
    """Create the labels of states or actions; their number is defined by the prior, by `number`, or by the labels.

    Raises
    ------
    ValueError
        If `prior` is not a prior, or if the number is undefined or contradictory.
    """
    check_is_prior(prior)
    name = f"n_{kind}s"
    of_prior: int | None = getattr(prior, name, None)
    size = number if of_prior is None else of_prior
    if labels is not None and not isinstance(labels, str):
        labels = tuple(labels)
        size = len(labels) if size is None else size
    if size is None:
        raise ValueError(f"{prior!r} does not define the number of {kind}s; set {name}=")
    if of_prior is not None and number is not None and of_prior != number:
        raise ValueError(f"{name} is {number} but the prior has {name}={of_prior}")
    return Labels(kind, check_count(name, size, 1), labels)


CHUNK = 1 << 18
"""Number of rows whose estimates are computed at a time."""


def match_states(world: World, model: InternalModel) -> IntArray:
    """Return the model's number of each state of a world, (N,); undiscovered states have that of the last cell."""
    if not isinstance(model.state_labels, DiscoveredLabels):
        return _match_labels(world.state_labels, model.state_labels)
    cells = np.full(world.n_states, model.n_states - 1)
    number = {label: s for s, label in enumerate(world.states)}
    for cell, label in enumerate(model.states[:-1]):
        if label not in number:
            raise ValueError(f"the model has discovered the state {label!r}; the world must have this state, too")
        cells[number[label]] = cell
    return cells


def match_actions(world: World, model: InternalModel) -> IntArray:
    """Return the model's number of each action of a world, (M,)."""
    return _match_labels(world.action_labels, model.action_labels)


def _match_labels(world: Labels, model: Labels) -> IntArray:
    """Return the model's number of each label of the world."""
    kind = f"{world.kind}s"
    if world.size != model.size:
        raise ValueError(f"the world has {world.size} {kind} and the model {model.size}; they must be the same")
    if world.custom is None or model.custom is None:
        return np.arange(world.size)
    number = {label: i for i, label in enumerate(model.custom)}
    unknown = [label for label in world.custom if label not in number]
    if unknown:
        raise ValueError(
            f"the world has the {world.kind} {unknown[0]!r}, which the model does not have; {kind} must be the same"
        )
    return np.array([number[label] for label in world.custom])
