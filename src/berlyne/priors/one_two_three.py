"""The discrete prior of 1-2-3 Worlds and its exact posterior.

Paper: Sec. 2.4, Eq. 9 (`eq:sne`). Action a (from zero) leads to one of `a + 1` targets with equal
probability. The absorbing state (the paper's state 1, index 0 here) is among them with
probability `1 - p_escape ** (a + 1)`; otherwise targets are drawn uniformly.

An observed target is known exactly, and all unseen states other than state 0 have the same probability. So the
posterior of a row depends only on two numbers, the *knowledge*: the number T of targets seen, and whether state 0 is
one of them. Estimates and utilities are small tables `[a, T, first_seen]`.
Reading R3: the paper prints a binomial in the estimate of state 0 that is not the posterior under Eq. 9;
`formula="printed"` uses it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from berlyne.frozen import Frozen, read_only
from berlyne.priors.closed_forms import NOISE, clip_rounding_noise
from berlyne.priors.one_two_three_sets import Formula, Missing, first_unseen, log_consistent, missing, other_unseen
from berlyne.priors.outcome_value import OUTCOME_VALUE
from berlyne.priors.protocols import CompiledSpec, Description, as_counts
from berlyne.sparse import Counts, Rows, Support, by_action, row_error
from berlyne.validation import BoolArray, FloatArray, IntArray, Seed, check_count, check_number, generator


@dataclass(init=False, repr=False, eq=False)
class OneTwoThree(Frozen):
    """Prior of 1-2-3 Worlds: action a has a + 1 equally likely targets.

    Paper: Eq. 9 (`eq:sne`) and the estimates that follow it; readings R1 and R3.

    Parameters
    ----------
    n_states : int
        N, at least n_actions + 1.
    n_actions : int
        M; action a has a + 1 targets.
    p_escape : float
        Probability that a single target is not the absorbing state 0 (0.75 in the paper).
    formula : {"exact", "printed"}
        "exact" is the posterior under Eq. 9. "printed" is the paper's expression, or 0 once all targets are known.
        Only the estimate changes; samples and likelihoods are those of Eq. 9.

    Examples
    --------
    >>> prior = OneTwoThree(20)
    >>> prior.estimate(np.zeros((3, 20, 20), dtype=int))[0, 0, 0]
    np.float64(0.25)
    """

    n_states: int
    n_actions: int
    p_escape: float
    formula: Formula
    support: Support = field(init=False)
    family: ClassVar[str] = "OneTwoThree"

    def __init__(self, n_states: int, n_actions: int = 3, p_escape: float = 0.75, formula: Formula = "exact") -> None:
        n_actions = check_count("n_actions", n_actions, 1)
        n_states = check_count("n_states", n_states, n_actions + 1)
        p_escape = check_number("p_escape", p_escape, 0.0, 1.0)
        if formula not in ("exact", "printed"):
            raise ValueError(f"formula is {formula!r}; it must be 'exact' or 'printed'")
        vars(self).update(n_states=n_states, n_actions=n_actions, p_escape=p_escape, formula=formula)
        vars(self).update(support=Support(n_actions, n_states))

    @cached_property
    def _p_first(self) -> FloatArray:
        """Estimate of state 0 while it is unseen, `[a, T]`."""
        return read_only(first_unseen(self.n_actions, self.p_escape, self.formula))

    @cached_property
    def _p_other(self) -> FloatArray:
        """Estimate of each unseen state other than 0, `[a, T, first_seen]`."""
        return read_only(other_unseen(self.n_states, self._p_first))

    @cached_property
    def _tables(self) -> dict[str, FloatArray]:
        """Cache of utility tables, by name."""
        return {}

    def __repr__(self) -> str:
        printed = ", formula='printed'" if self.formula == "printed" else ""
        p = f"{self.p_escape:g}" if float(f"{self.p_escape:g}") == self.p_escape else repr(self.p_escape)
        return f"OneTwoThree(n_states={self.n_states}, n_actions={self.n_actions}, p_escape={p}{printed})"

    def sample(self, seed: Seed, counts: Counts | IntArray | None = None) -> Rows:
        """Draw the targets of every row from the posterior given `counts`; from the prior without them (Eq. 9).

        Targets that were seen are certain, and unseen targets other than state 0 are a uniform choice.
        """
        rng = generator(seed)
        n_rows = self.n_actions * self.n_states
        n_targets = np.tile(np.arange(1, self.n_actions + 1), self.n_states)
        p_escape = self.p_escape**n_targets
        u = rng.random(n_rows)
        # the states with the k smallest of N - 1 random keys are a uniform choice of k states other than 0
        keys = rng.random((n_rows, self.n_states - 1))
        if counts is not None:
            sparse = self._checked(counts)
            a, n_seen, first = self._knowledge(sparse)
            p_escape = np.where(n_seen > 0, 1.0 - self._missing.p_first[a, n_seen, 0], p_escape)
            p_escape[first == 1] = 0.0
            other = sparse.s_next > 0
            keys[sparse.row[other], sparse.s_next[other] - 1] = -1.0  # less than any random key
        absorbing = u >= p_escape
        order = np.argpartition(keys, self.n_actions - 1, axis=1)[:, : self.n_actions]
        ranked = np.take_along_axis(order, np.argsort(np.take_along_axis(keys, order, 1), axis=1), 1) + 1
        targets = np.where(np.arange(self.n_actions) < n_targets[:, None], ranked, self.n_states)
        targets[absorbing, n_targets[absorbing] - 1] = 0  # state 0 replaces one of them
        targets.sort(axis=1)
        is_target = targets < self.n_states
        indptr = np.concatenate([[0], np.cumsum(n_targets)]).astype(np.int64)
        data = 1.0 / np.repeat(n_targets, n_targets)
        return Rows(self.n_actions, self.n_states, indptr, targets[is_target].astype(np.int32), data)

    def estimate(self, counts: IntArray) -> FloatArray:
        """Estimate theta_hat[a, s, s_next], shape (M, N, N).

        Every target seen has 1 / n_targets; unseen states share the remaining probability.
        """
        sparse = self._checked(counts)
        a, n_seen, first = self._knowledge(sparse)
        per_row = np.repeat(self._p_other[a, n_seen, first][:, None], self.n_states, axis=1)
        per_row[:, 0] = self._p_first[a, n_seen]
        per_row[sparse.row, sparse.s_next] = 1.0 / (a[sparse.row] + 1)
        by_state = per_row.reshape(self.n_states, self.n_actions, self.n_states)
        return np.ascontiguousarray(by_state.transpose(1, 0, 2))

    def outcomes_if_certain(self) -> IntArray:
        """Number of possible outcomes of a row once nothing is left to learn about it, for each action, (M,).

        It is a + 1, the number of targets of action a. If no other state can follow, these are the targets.
        """
        return np.arange(1, self.n_actions + 1)

    def estimate_after(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimates of row (a, s) after one more outcome, `(N, N)`: [s_star, s_next].

        For an impossible outcome s_star this is the current estimate.
        """
        copies = np.zeros((self.n_actions, self.n_states, self.n_states), dtype=np.int64)
        copies[a] = np.asarray(counts)[a, s]  # N copies of the row; rows are independent
        now = self.estimate(copies)[a, s]
        outcomes = np.flatnonzero(now > 0)
        copies[a, outcomes, outcomes] += 1
        after = np.tile(now, (self.n_states, 1))
        after[outcomes] = self.estimate(copies)[a, outcomes]
        return after

    def row_estimate(self, counts: IntArray, a: int, s: int) -> FloatArray:
        """Estimate of row (a, s) from its own counts (N,), shape (N,)."""
        seen = np.flatnonzero(counts)
        first = int(counts[0] > 0)
        theta_hat = np.full(self.n_states, self._p_other[a, len(seen), first])
        theta_hat[0] = self._p_first[a, len(seen)]
        theta_hat[seen] = 1.0 / (a + 1)
        return theta_hat

    def row_utility(self, name: str, counts: IntArray, a: int, s: int, last: int) -> float:
        """Utility of row (a, s) from its own counts (N,); `last` is the most recent outcome."""
        n_seen, first, kind = np.count_nonzero(counts), int(counts[0] > 0), int(last > 0)
        if name != "PEIG":
            return float(self.table(name)[a, n_seen, first])
        return float(self._gain[a, n_seen - 1, first * kind, kind]) if counts[last] == 1 else 0.0

    def log_marginal_likelihood(self, counts: Counts | IntArray) -> float:
        """Log probability of the observed outcomes in their order, in nats; -inf if they are impossible."""
        sparse = self._checked(counts)
        a, n_seen, first = self._knowledge(sparse, clip=False)
        if np.any(n_seen > a + 1):
            return -np.inf
        tried = n_seen > 0
        a, n_seen, first, total = a[tried], n_seen[tried], first[tried], sparse.totals[tried]
        consistent = log_consistent(self.n_states, self.p_escape, a + 1, n_seen, first)
        return float(np.sum(consistent - total * np.log(a + 1)))

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Parameter gain: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`.

        Every possible row of action a has entropy log2(a + 1). So this is the cross-entropy of the posterior mean and
        the estimate, minus log2(a + 1).
        """
        return np.asarray(by_action(self.utility("parameter_gain", self._checked(counts)), self.n_actions))

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`."""
        return np.asarray(by_action(self._missing.variance[self._knowledge(self._checked(counts))], self.n_actions))

    def draw_missing_information(self, counts: Counts | IntArray, n: int = 20_000) -> FloatArray:
        """Draw the sum of D(theta || theta_hat) over rows given the data, in bits, `(n,)`."""
        return self._missing.draws(self._knowledge(self._checked(counts)), n)

    @property
    def _missing(self) -> Missing:
        return missing(self._p_first, self._p_other, first_unseen(self.n_actions, self.p_escape, "exact"))

    def estimate_at(self, counts: Counts, row: IntArray, s_next: IntArray) -> FloatArray:
        """Estimated probability of each transition (row, s_next), elementwise."""
        a, n_seen, first = (k[row] for k in self._knowledge(counts))
        unseen = np.where(s_next == 0, self._p_first[a, n_seen], self._p_other[a, n_seen, first])
        return np.where(counts.at(row, s_next) > 0, 1.0 / (a + 1), unseen)

    def admits(self, a: int, s: int, seen: Collection[int], s_next: int) -> bool:
        """Return whether `s_next` is a possible outcome of row (a, s) after the outcomes `seen`."""
        after = {*seen, s_next}
        reserved_for_first = 1 if self.p_escape == 0.0 and 0 not in after else 0
        return len(after) + reserved_for_first <= a + 1 and not (0 in after and self.p_escape == 1.0)

    def check_rows(self, rows: Rows) -> None:
        """Raise a `ValueError` if a row is not uniform over a + 1 targets (the set Omega_a of the paper)."""
        n_targets = np.tile(np.arange(1, self.n_actions + 1), self.n_states)
        first = np.zeros(len(n_targets), dtype=np.int64)
        first[rows.row_numbers()[rows.indices == 0]] = 1
        size = np.diff(rows.indptr)
        wrong = (size != n_targets) | self._impossible(n_targets, size, first)
        uneven = np.abs(rows.data - 1.0 / n_targets[rows.row_numbers()]) > 1e-9
        wrong[rows.row_numbers()[uneven]] = True
        if np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            raise row_error(
                row,
                self.n_actions,
                "{row} cannot be drawn from the 1-2-3 prior; it must lead to {n} states with probability 1/{n} each"
                + self._role_of_first,
                s_next=0,
                n=n_targets[row],
            )

    def utility(self, name: str, counts: Counts) -> FloatArray:
        """PIG, PMC, PLC or parameter_gain of each row, from a table over knowledge."""
        return np.asarray(self.table(name)[self._knowledge(counts)])

    def peig(self, counts: Counts, last: IntArray) -> FloatArray:
        """D(now || before the last outcome) of each row, in bits; zero if it was seen before, NaN if untried."""
        a, n_seen, first = self._knowledge(counts)
        tried = np.flatnonzero(last >= 0)
        new = counts.at(tried, last[tried]) == 1
        was_first = last[tried] == 0
        before = (a[tried], n_seen[tried] - 1, first[tried] - was_first)
        gain = np.full(counts.n_rows, np.nan)
        kind = np.where(was_first, 0, 1)
        gain[tried] = np.where(new, self._gain[*before, kind], 0.0)
        return gain

    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size, or raise a `ValueError`."""
        sparse = as_counts(counts)
        if (sparse.n_actions, sparse.n_states) != (self.n_actions, self.n_states):
            raise ValueError(
                f"counts are for {sparse.n_actions} actions and {sparse.n_states} states; "
                f"this prior has {self.n_actions} actions and {self.n_states} states"
            )
        return sparse

    def _knowledge(self, counts: Counts, clip: bool = True) -> tuple[IntArray, IntArray, IntArray]:
        """Return (a, T, first_seen) of every row, which determine the posterior.

        If `clip`, an impossible row raises a `ValueError`.
        """
        a = np.arange(counts.n_rows) % self.n_actions
        first = np.zeros(counts.n_rows, dtype=np.int64)
        first[counts.row[counts.s_next == 0]] = 1
        if clip and np.any(impossible := self._impossible(a + 1, counts.n_seen, first)):
            row = int(np.flatnonzero(impossible)[0])
            raise row_error(
                row,
                self.n_actions,
                "{row} was observed to reach states {seen}; under the 1-2-3 prior it has {n} target{plural}"
                + self._role_of_first,
                s_next=0,
                seen=counts.s_next[counts.row == row],
                n=a[row] + 1,
                plural="s" * int(a[row] > 0),
            )
        return a, counts.n_seen, first

    def _impossible(self, n_targets: IntArray, n_seen: IntArray, first: IntArray) -> BoolArray:
        """Return whether Eq. 9 can draw no target set that contains the T targets seen."""
        if self.p_escape == 1.0:
            return np.asarray((n_seen > n_targets) | (first == 1))
        reserved_for_first = 1 - first if self.p_escape == 0.0 else 0
        return np.asarray(n_seen + reserved_for_first > n_targets)

    @property
    def _role_of_first(self) -> str:
        """End of messages if it is certain whether state 0, their field `s_next`, is a target."""
        ends = {0.0: ", state {s_next} always among them", 1.0: ", state {s_next} never among them"}
        return ends.get(self.p_escape, "")

    def _grouped(self, a: int, t: int, first: int) -> tuple[FloatArray, IntArray]:
        """Return the estimate as a short distribution, and the number of states that each entry stands for.

        The entries are: the t - first states other than 0 that were seen, one unseen state other than 0, state 0, and
        all other unseen states.
        """
        p_seen = 1.0 / (a + 1)
        p0 = p_seen if first else self._p_first[a, t]
        p_other = self._p_other[a, t, first]
        n_unseen = self.n_states - 1 - (t - first)
        p = np.array([p_seen, p_other, p0, p_other])
        return p, np.array([t - first, min(n_unseen, 1), 1, max(n_unseen - 1, 0)])

    def _surprise(self, a: int, t: int, first: int, kind: int) -> tuple[float, FloatArray, FloatArray, IntArray]:
        """Return the effect of an unseen outcome of a row; outcomes that were seen before change nothing.

        Parameters
        ----------
        a, t, first : int
            The action and the knowledge of the row.
        kind : {0, 1}
            0 is state 0, 1 any other unseen state.

        Returns
        -------
        weight : float
            Probability of the outcome.
        now, after : ndarray of shape (4,)
            The estimate before and after it, as in `_grouped`.
        multiplicity : ndarray of shape (4,)
            Number of states that each entry stands for.
        """
        now, multiplicity = self._grouped(a, t, first)
        p_seen = 1.0 / (a + 1)
        weight = float(now[1] * (multiplicity[1] + multiplicity[3])) if kind else 0.0 if first else float(now[2])
        if weight == 0.0:
            return 0.0, now, now, multiplicity
        first_after = first if kind else 1
        p_other = self._p_other[a, t + 1, first_after]
        p0 = p_seen if first_after else self._p_first[a, t + 1]
        return weight, now, np.array([p_seen, p_seen if kind else p_other, p0, p_other]), multiplicity

    def _all_knowledge(self) -> list[tuple[int, int, int]]:
        """Every reachable (a, T, first_seen)."""
        return [(a, t, first) for a in range(self.n_actions) for t in range(a + 2) for first in (0, 1) if first <= t]

    def _outcome_values(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Probability and value of an unseen outcome, `[a, T, first_seen, kind]`; kinds as in `_surprise`."""
        weight, value = np.zeros((2, self.n_actions, self.n_actions + 1, 2, 2))
        for a, t, first in self._all_knowledge():
            for kind in (0, 1):
                weight[a, t, first, kind], now, after, multiplicity = self._surprise(a, t, first, kind)
                value[a, t, first, kind] = OUTCOME_VALUE[name](after, now, multiplicity)
        return weight, np.where(np.abs(value) > NOISE, value, 0.0)

    @cached_property
    def _gain(self) -> FloatArray:
        """Information gained from an unseen outcome, in bits, `[a, T, first_seen, kind]`."""
        return read_only(self._outcome_values("PIG")[1])

    def table(self, name: str) -> FloatArray:
        """Utility of a row by the knowledge about it, `[a, T, first_seen]`; a `KeyError` if the name is unknown."""
        if name not in self._tables:
            if name == "parameter_gain":
                values = self._parameter_gain()
            else:
                values = np.prod(self._outcome_values(name), axis=0).sum(-1)
            self._tables[name] = read_only(values)
        return self._tables[name]

    def _parameter_gain(self) -> FloatArray:
        """Parameter gain of a row by the knowledge about it, in bits, `[a, T, first_seen]`."""
        parameter_gain = np.zeros((self.n_actions, self.n_actions + 1, 2))
        exact_first = first_unseen(self.n_actions, self.p_escape, "exact")
        exact_other = other_unseen(self.n_states, exact_first)
        for a, t, first in self._all_knowledge():
            estimate, multiplicity = self._grouped(a, t, first)
            p0 = 1.0 / (a + 1) if first else exact_first[a, t]
            exact = np.array([1.0 / (a + 1), exact_other[a, t, first], p0, exact_other[a, t, first]])
            possible = (multiplicity > 0) & (exact > 0)
            cross_entropy = -np.dot((multiplicity * exact)[possible], np.log2(estimate[possible]))
            parameter_gain[a, t, first] = clip_rounding_noise(cross_entropy - np.log2(a + 1), cross_entropy)
        return parameter_gain

    def compiled_spec(self, utility: str | None) -> CompiledSpec:
        """Return the prior and a utility as numbers for kernels, with a table over knowledge.

        Line (a (M + 1) + T) 2 + first_seen contains five values: the estimates of state 0 and of other unseen states,
        the gains from seeing either, and the utility of the row (0 for PEIG, which follows from the gains).
        """
        p_first = np.repeat(self._p_first[:, :, None], 2, axis=2)
        values = np.zeros_like(p_first) if utility in (None, "PEIG") else self.table(str(utility))
        columns = [p_first, self._p_other, self._gain[..., 0], self._gain[..., 1], values]
        return CompiledSpec(
            np.empty(0),
            np.ascontiguousarray(np.stack(columns, axis=-1).reshape(-1, len(columns))),
            np.tile(self._p_other[:, 0, 0], self.n_states),
            (0,),
            np.tile(self._p_first[:, 0], self.n_states)[:, None],
            1 + self.n_actions * (self.n_actions + 1) // 2,
        )

    def describe(self) -> Description:
        """Return `p_escape` and the formula."""
        return Description("OneTwoThree", {"p_escape": self.p_escape, "formula": self.formula}, {})

    @classmethod
    def from_description(cls, n_states: int, n_actions: int, description: Description) -> OneTwoThree:
        """Create the prior from a description; the inverse of `describe`."""
        return cls(n_states, n_actions, **description.parameters)
