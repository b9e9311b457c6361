"""The explorer's internal model: a prior and the counts of observed transitions (paper, Sec. 2.3).

Only observed transitions are stored, so a model of a million states costs as much as its history.

A model can be compared with the true world. States and actions are matched by label if both have labels, and by number
otherwise. A model with discovered states has a cell for each of them, and a last one for all others. The probability of
that last cell is divided evenly among the states of the world that are not discovered.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.frozen import Frozen
from berlyne.information import entropy
from berlyne.labels import MAX_LABELS_SHOWN, DiscoveredLabels, Labelled, Labels, impossible_transition
from berlyne.models.history import read_single_subject
from berlyne.models.uncertainty import MissingInformationEstimate
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.protocols import as_exact, check_prior, checked_estimate, counts_after_each_outcome
from berlyne.sparse import Counts, by_action
from berlyne.validation import OWN_PRIOR, FloatArray, IntArray, check_count, check_dense
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROUNDING = 1e-12
"""Estimates that differ by less are the same."""


class InternalModel(Labelled, HtmlReprMixin, Frozen):
    """What an explorer believes of its world: Eqs. 3 (`eq:be`) and 4 (`eq:be2`).

    Parameters
    ----------
    prior : any `Prior`.
    n_states, n_actions : needed only for a prior that does not carry them.
    states, actions : labels in order, any hashable values, by which to speak of states and actions; None for
        0, 1, 2, ... Arrays are in the order of the labels.

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

    @classmethod
    def from_counts(
        cls, prior: Prior, counts: Counts, last: dict[int, int], labels: tuple[Labels, Labels] | None = None
    ) -> InternalModel:
        """A model that has observed `counts`; `last` holds the last outcome of each row tried.

        `labels` are those of states and of actions, if they have any.
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
        return "make another InternalModel(prior)"

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

    def observe_many(self, history: Any) -> None:
        """Learn a history of transitions in their order, in any form that `berlyne.replay` takes.

        Of a frame the columns s, a and s_next count; lines of several subjects are refused. If any line is impossible
        nothing is learned.
        """
        self.learn(read_single_subject(history, self.state_labels, self.action_labels).steps)

    def learn(self, steps: IntArray) -> None:
        """Learn lines of numbers s, a, s_next, (T, 3), all or none; a `ValueError` names the line."""
        self._learn(steps.tolist(), "line {} of the history, counted from 0, says that ")

    def _learn(self, lines: list[list[int]], where: str) -> None:
        seen: dict[int, dict[int, int]] = {}
        last: dict[int, int] = {}
        for i, (s, a, s_next) in enumerate(lines):
            r = s * self.n_actions + a
            if r not in seen:
                seen[r] = dict(self._seen.get(r, {}))
            if s_next not in seen[r] and not self._admits(a, s, seen[r], s_next):
                error = impossible_transition(s, a, s_next).with_labels(self.state_labels, self.action_labels)
                raise ValueError(f"{where.format(i)}{error}{self._before(seen[r])}")
            seen[r][s_next] = seen[r].get(s_next, 0) + 1
            last[r] = s_next
        self._seen.update(seen)
        self._last.update(last)
        self._sparse = None

    def _before(self, seen: dict[int, int]) -> str:
        """Where the same action in the same state led before, for a message."""
        states = [repr(self.states[z]) for z in sorted(seen)]
        more = f" and {len(states) - MAX_LABELS_SHOWN} more" if len(states) > MAX_LABELS_SHOWN else ""
        return f"; before, it led to {', '.join(states[:MAX_LABELS_SHOWN])}{more}" if states else ""

    @property
    def sparse_counts(self) -> Counts:
        """Observed transitions only."""
        if self._sparse is None:
            entries = [(r * self.n_states + s_next, n) for r, seen in self._seen.items() for s_next, n in seen.items()]
            keys, n = np.array(entries, dtype=np.int64).reshape(-1, 2).T
            self._sparse = Counts.from_keys(self.n_actions, self.n_states, keys, n)
        return self._sparse

    @property
    def counts(self) -> IntArray:
        """How often each transition was observed, a fresh `(M, N, N)` array `[a, s, s_next]`."""
        return self.sparse_counts.dense()

    @property
    def theta_hat(self) -> FloatArray:
        """The Bayesian estimate `theta_hat[a, s, s_next]`, `(M, N, N)`; rows sum to one."""
        check_dense("theta_hat", self.n_actions, self.n_states, "model.theta_hat_row(a, s)")
        return self._estimate(self.counts)

    def theta_hat_row(self, a: Any, s: Any) -> FloatArray:
        """The estimate of row (a, s), `(N,)`."""
        a, s = self.action_labels.number(a, "a"), self.state_labels.number(s, "s")
        if self.exact is None:
            return np.asarray(self.theta_hat[a, s])
        row = np.full(self.n_states, s * self.n_actions + a)
        return self.exact.estimate_at(self.sparse_counts, row, np.arange(self.n_states))

    def theta_hat_after(self, a: Any, s: Any) -> FloatArray:
        """The estimate of row (a, s) after one more outcome, `(N, N)`; line s_star for outcome s_star.

        Lines of impossible outcomes hold the current estimate.
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
        """Whether an outcome of one row leaves the estimates of others as they are, as the paper assumes (Sec. 2.3).

        A prior can say so by an attribute of this name; of another it is found out with an imagined outcome.
        """
        said = getattr(self.prior, "rows_are_independent", None)
        if said is not None or self.exact is not None:
            return bool(said is None or said)
        now, imagined = self.theta_hat, self.counts
        imagined[0, 0, int(np.argmax(now[0, 0]))] += 1
        moved = np.abs(self._estimate(imagined) - now).max(axis=-1) > ROUNDING
        moved[0, 0] = False
        return not bool(np.any(moved))

    @property
    def last_outcomes(self) -> IntArray:
        """The last outcome observed in each row r = s M + a, -1 if untried, `(M N,)`."""
        last = np.full(self.n_actions * self.n_states, -1, dtype=np.int64)
        if self._last:
            last[list(self._last.keys())] = list(self._last.values())
        return last

    def expected_missing_information(
        self, level: float = 0.95, without: Collection[int] = ()
    ) -> MissingInformationEstimate:
        """What the model itself expects to be missing, in bits: in all with an interval, and per row `[a, s]`.

        E[D(theta || theta_hat)] over worlds from the posterior (`berlyne.novelty` is this of each row). A prior of your
        own says it by a method `expected_missing_information(counts)`, bits `[a, s]`, and if there is to be
        an interval by `missing_information_variance(counts)`, bits squared `[a, s]`; where few rows decide, which
        a variance does not tell well, `draw_missing_information(counts)` gives draws of the sum.

        without : numbers of states whose rows do not count, such as `world.terminal`, where episodes end.
        """
        prior, rows = self.prior, expected_missing_by_row(self)
        counts = self.sparse_counts if self.exact is not None else self.counts
        variance = getattr(prior, "missing_information_variance", None)
        spread = np.full(rows.shape, np.nan) if variance is None else _of_rows(self, "variance", variance(counts))
        rows[:, list(without)] = spread[:, list(without)] = 0.0
        draw = None if len(without) else getattr(prior, "draw_missing_information", None)
        draws = None if draw is None else np.asarray(draw(counts))
        return MissingInformationEstimate(float(rows.sum()), float(spread.sum()), rows, level, draws)

    def plot(self, what: Any = "expected missing information", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw states coloured by a quantity: rooms of a maze, squares of a grid, nodes of a graph, or a matrix.

        what : "expected missing information", "visits", "utility" (PIG) or the name of another, an array (N,) or
            (M, N) of your own, or "missing information", which needs `world=`.
        options : `world`, whose map is drawn; `rows`, whether each action has a part of its own (of a node, slices
            clockwise from the top, action 0 first); `labels`; `bar`.
        """
        drawn: Axes = figures_package().draw_model(self, what, ax, **options)
        return drawn

    def entropy(self) -> FloatArray:
        """Entropy of each estimated row, in bits, `[a, s]`."""
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

    def missing_information(self, world: World) -> float:
        """Missing information about `world`, in bits (Eq. 2, `eq:IM`), from sparse rows.

        Rows of terminal states, which nobody can try, do not count.
        """
        missing = self._missing(world)
        if len(world.terminal):
            missing = missing[~world.episodes.is_terminal[world.rows.row_numbers() // world.n_actions]]
        return float(np.sum(missing))

    def missing_information_by_row(self, world: World) -> FloatArray:
        """D(theta || theta_hat) of each row of the world, in bits, `[a, s]`; 0 in terminal states."""
        per_row: FloatArray = by_action(world.rows.row_sums(self._missing(world)), self.n_actions)
        per_row[:, world.terminal] = 0.0
        return per_row

    def _missing(self, world: World) -> FloatArray:
        """The term theta log2(theta / theta_hat) of every transition that is possible in `world`."""
        theta, theta_hat = world.rows.data, self._estimate_of(world)
        with np.errstate(divide="ignore"):
            return np.asarray(theta * (np.log2(theta) - np.log2(theta_hat)))

    def l1_distance(self, world: World) -> float:
        """Sum over rows of |theta - theta_hat| from sparse rows (Fig. S4)."""
        return float(np.sum(self.l1_distances(world)))

    def l1_distances(self, world: World) -> FloatArray:
        """|theta - theta_hat| of each row of the world, `[a, s]`; 0 in terminal states."""
        theta_hat = self._estimate_of(world)
        elsewhere = 1.0 - world.rows.row_sums(theta_hat)  # believed possible, but it is not
        distance = world.rows.row_sums(np.abs(world.rows.data - theta_hat)) + np.maximum(elsewhere, 0.0)
        per_row: FloatArray = by_action(distance, self.n_actions)
        per_row[:, world.terminal] = 0.0
        return per_row

    def estimate_at(self, row: IntArray, s_next: IntArray) -> FloatArray:
        """theta_hat of single transitions, of `s_next` in the row r = s M + a, elementwise."""
        if self.exact is not None:
            return self.exact.estimate_at(self.sparse_counts, row, s_next)
        s, a = np.divmod(row, self.n_actions)
        return np.asarray(self.theta_hat[a, s, s_next])

    def _estimate_of(self, world: World) -> FloatArray:
        """theta_hat at every transition that is possible in `world`."""
        cells, actions, rows = match_states(world, self), match_actions(world, self), world.rows
        theta_hat = np.empty(len(rows.data))
        n_rows = len(rows.indptr) - 1
        for first in range(0, n_rows, PIECE):  # in pieces: what is intermediate would outweigh the world
            last = min(first + PIECE, n_rows)
            begin, end = rows.indptr[first], rows.indptr[last]
            s, a = np.divmod(np.arange(first, last), rows.n_actions)
            row = np.repeat(cells[s] * self.n_actions + actions[a], np.diff(rows.indptr[first : last + 1]))
            theta_hat[begin:end] = self.estimate_at(row, cells[rows.indices[begin:end]])
        if isinstance(self.state_labels, DiscoveredLabels):
            theta_hat /= np.bincount(cells, minlength=self.n_states)[cells[rows.indices]]
        return theta_hat


def expected_missing_by_row(model: InternalModel) -> FloatArray:
    """E[D(theta || theta_hat)] of every row, in bits, `[a, s]`."""
    prior, counts = model.prior, model.sparse_counts if model.exact is not None else model.counts
    if not hasattr(prior, "expected_missing_information"):
        raise ValueError(
            f"{type(prior).__name__} does not say what is expected to be missing; "
            f"give it a method expected_missing_information(counts) that returns bits [a, s]{OWN_PRIOR}"
        )
    return _of_rows(model, "expectation", prior.expected_missing_information(counts))


def _of_rows(model: InternalModel, what: str, said: Any) -> FloatArray:
    """What a prior says of every row, `[a, s]`, or a `ValueError` if it is not of that shape."""
    values, shape = np.array(said, dtype=float), (model.n_actions, model.n_states)
    if values.shape != shape:
        raise ValueError(
            f"the {what} of missing information that {type(model.prior).__name__} gives has shape {values.shape}; it "
            f"must be {shape}, a number for each row{OWN_PRIOR}"
        )
    return values


def make_labels(kind: str, given: int | None, prior: Prior, labels: Iterable[Hashable] | None) -> Labels:
    """Labels of states or of actions, as many as the prior or the caller says; what is no prior is refused."""
    check_prior(prior)
    name = f"n_{kind}s"
    known: int | None = getattr(prior, name, None)
    size = given if known is None else known
    if labels is not None and not isinstance(labels, str):
        labels = tuple(labels)
        size = len(labels) if size is None else size
    if size is None:
        raise ValueError(f"{prior!r} does not say how many {kind}s there are; say {name}=")
    if known is not None and given is not None and known != given:
        raise ValueError(f"{name} is {given} but the prior has {name}={known}")
    return Labels(kind, check_count(name, size, 1), labels)


PIECE = 1 << 18
"""Rows whose estimates are worked out at a time."""


def match_states(world: World, model: InternalModel) -> IntArray:
    """The model's number of each state of a world, (N,); of those that are not discovered, that of elsewhere."""
    if not isinstance(model.state_labels, DiscoveredLabels):
        return _matched(world.state_labels, model.state_labels)
    cells = np.full(world.n_states, model.n_states - 1)
    number = {label: s for s, label in enumerate(world.states)}
    for cell, label in enumerate(model.states[:-1]):
        if label not in number:
            raise ValueError(f"the model has discovered the state {label!r}; the world must have it, too")
        cells[number[label]] = cell
    return cells


def match_actions(world: World, model: InternalModel) -> IntArray:
    """The model's number of each action of a world, (M,)."""
    return _matched(world.action_labels, model.action_labels)


def _matched(world: Labels, model: Labels) -> IntArray:
    """The model's number of each label of the world."""
    kind = f"{world.kind}s"
    if world.size != model.size:
        raise ValueError(f"the world has {world.size} {kind} and the model {model.size}; they must be the same")
    if world.custom is None or model.custom is None:
        return np.arange(world.size)
    number = {label: i for i, label in enumerate(model.custom)}
    strange = [label for label in world.custom if label not in number]
    if strange:
        raise ValueError(
            f"the world has the {world.kind} {strange[0]!r}, which the model has not; {kind} must be the same"
        )
    return np.array([number[label] for label in world.custom])
