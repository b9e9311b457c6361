"""Closed forms at extreme values against decimal numbers of sixty digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from berlyne import UTILITIES, Dirichlet, Explorer, InternalModel

CASES = [
    (alpha, counts)
    for alpha in (1e-300, 1e-16, 1e-12, 1e-4, 0.25, 1.0, 1e3, 1e12)
    for counts in ([0, 0, 0], [1, 0, 0], [3, 1, 0], [40, 2, 7], [5000, 3, 9], [10**6, 10**6, 1])
]


def exact(alpha, counts, last):
    """PIG, and PEIG of the outcome `last`, in bits; with plain definitions."""
    with localcontext() as context:
        context.prec = 400
        c = [Decimal(alpha) + n for n in counts]
        kappa, ln2 = sum(c), Decimal(2).ln()
        pig = (
            sum(
                ci
                / kappa
                * sum(
                    ((cj + (i == j)) / (kappa + 1)) * (((cj + (i == j)) / (kappa + 1)) / (cj / kappa)).ln()
                    for j, cj in enumerate(c)
                )
                for i, ci in enumerate(c)
            )
            / ln2
        )
        before = [cj - (j == last) for j, cj in enumerate(c)]
        peig = None
        if counts[last]:
            pairs = zip(c, before, strict=True)
            peig = sum((x / kappa) * ((x / kappa) / (y / (kappa - 1))).ln() for x, y in pairs) / ln2
        return pig, peig


@pytest.mark.parametrize(("alpha", "counts"), CASES)
def test_information_gain_keeps_its_digits(alpha, counts):
    pig, peig = exact(alpha, counts, 0)
    prior = Dirichlet(alpha, n_states=3, n_actions=1)
    row = np.array(counts)
    assert prior.row_utility("PIG", row, 0, 0, 0) == pytest.approx(float(pig), rel=1e-9, abs=4e-16)
    if peig is not None:
        assert prior.row_utility("PEIG", row, 0, 0, 0) == pytest.approx(float(peig), rel=1e-9, abs=0.0)


@pytest.mark.parametrize("alpha", [1e-300, 1e-16, 1e-12, 1e-4, 1.0, 1e6])
@pytest.mark.parametrize("name", ["PIG", "PEIG", "PMC", "PLC", "parameter_gain"])
def test_compiled_and_plain_agree_for_any_concentration(alpha, name):
    prior = Dirichlet(alpha, n_states=3, n_actions=2)
    explorer, model = Explorer(prior, f"{name}(greedy)"), InternalModel(prior)
    for s, a, s_next in [(0, 0, 1), (0, 0, 1), (1, 1, 2), (0, 0, 2), (2, 0, 0)]:
        explorer.observe(s, a, s_next)
        model.observe(s, a, s_next)
        assert explorer.utility() == pytest.approx(UTILITIES[name].of(model), rel=1e-10, abs=1e-14)


def test_concentrations_that_are_too_small_for_numbers_are_refused():
    with pytest.raises(ValueError, match="alpha is 1e-310; it must be a number in"):
        Dirichlet(1e-310, n_states=3, n_actions=1)
