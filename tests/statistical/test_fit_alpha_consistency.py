"""The maximum-likelihood concentration converges to the true one."""

import numpy as np
import pytest

from berlyne import fit_alpha
from statistical.deviations import MANY


@pytest.mark.parametrize("alpha", [0.1, 0.25, 1.0, 3.0])
def test_fits_scatter_around_the_truth(alpha):
    """Thirty worlds of 200 rows with 20 observations each; the bias of order 1 / rows is allowed for."""
    rng = np.random.default_rng(1)
    fits = []
    for _ in range(30):
        theta = rng.dirichlet(np.full(10, alpha), size=(20, 10))
        fits.append(np.log(fit_alpha(rng.multinomial(20, theta))))
    standard_error = np.std(fits, ddof=1) / np.sqrt(30)
    assert abs(np.mean(fits) - np.log(alpha)) < MANY * standard_error + 1 / 200
    assert standard_error < 0.02


@pytest.mark.slow
def test_many_rows_find_the_truth():
    rng = np.random.default_rng(2)
    errors = []
    for n_actions in (10, 100, 1000, 10_000):
        theta = rng.dirichlet(np.full(8, 0.25), size=(n_actions, 8))
        errors.append(abs(fit_alpha(rng.multinomial(15, theta)) - 0.25))
    assert errors[-1] < 0.002
    assert errors[-1] < errors[0]
