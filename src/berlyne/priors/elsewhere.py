"""Priors of unknown states: their last cell, *elsewhere*, stands for all states that are not discovered."""

from __future__ import annotations

from berlyne.priors.pseudo_counts import PseudoCountPrior
from berlyne.sparse import Counts
from berlyne.validation import FloatArray, IntArray


class LastCellElsewhere(PseudoCountPrior):
    """Prior whose last cell stands for all states that are not discovered."""

    def expected_missing_information(self, counts: Counts | IntArray) -> FloatArray:
        """Parameter gain: E[D(theta || theta_hat)] of each row given the data, in bits, `[a, s]`, on the current cells.

        It is zero for "elsewhere", because undiscovered states are not known to exist.
        """
        per_row = super().expected_missing_information(counts)
        per_row[:, -1] = 0.0
        return per_row

    def missing_information_variance(self, counts: Counts | IntArray) -> FloatArray:
        """Var[D(theta || theta_hat)] of each row given the data, in bits squared, `[a, s]`, on the current cells."""
        per_row = super().missing_information_variance(counts)
        per_row[:, -1] = 0.0
        return per_row

    def _checked(self, counts: Counts | IntArray) -> Counts:
        """Return sparse counts of the right size, or raise a `ValueError`."""
        sparse, n_cells = self._check_size(counts), self._possible.n_states
        if (sparse.s_next == n_cells - 1).any():
            raise ValueError(
                f"counts of the last cell, {n_cells - 1}, must be 0; it stands for undiscovered states, "
                "and a state that was seen has its own cell"
            )
        return sparse
