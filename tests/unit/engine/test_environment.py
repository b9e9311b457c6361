"""How kernels draw the next state."""

import numpy as np
import pytest

from berlyne.engine.environment import draw
from unit.engine.kernels import as_kernel

INDPTR, CUMULATIVE = np.array([0, 1, 3, 7]), np.array([1.0, 0.5, 1.0, 0.125, 0.25, 0.75, 0.875])
BELOW = np.nextafter(1.0, 0.0)


@pytest.mark.parametrize("r", [0, 1, 2])
def test_an_outcome_takes_the_numbers_from_its_lower_bound_up_to_its_upper_bound(r):
    """As `World.sample` does, and also if rounding leaves something above the sum of the row."""
    kernel, begin, end = as_kernel(draw), INDPTR[r], INDPTR[r + 1]
    bounds = CUMULATIVE[begin:end]
    for u in [0.0, *(x for bound in bounds for x in (np.nextafter(bound, 0.0), bound) if x < 1.0), BELOW]:
        expected = begin + min(int(np.sum(bounds <= u)), end - begin - 1)
        assert kernel(INDPTR, CUMULATIVE, r, u) == expected, u
