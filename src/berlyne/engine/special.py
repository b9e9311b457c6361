"""The closed forms of `berlyne.priors.forms`, compiled, and the special functions they need."""

from __future__ import annotations

import math
from typing import Any

from numba.extending import overload, register_jitable

from berlyne.engine.compile import one_of
from berlyne.priors.forms import FORMS, LARGE, SERIES, digamma, excess, without_noise

register_jitable(without_noise)


@overload(digamma)
def _digamma(x: Any) -> Any:
    def compiled(x: Any) -> Any:
        shift = 0.0
        while x < 10.0:
            shift -= 1.0 / x
            x += 1.0
        y = 1.0 / (x * x)
        tail = 1.0 / 240 - y * (1.0 / 132 - y * 691.0 / 32760)
        series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * tail)))
        return shift + math.log(x) - 0.5 / x - series

    return compiled


@overload(excess)
def _excess(x: Any) -> Any:
    def compiled(x: Any) -> Any:
        if x < LARGE:
            return (x + 1.0) * math.log1p(1.0 / x) - 1.0
        y, tail = 1.0 / x, 0.0
        for i in range(len(SERIES) - 1, -1, -1):
            tail = SERIES[i] - y * tail
        return y * tail

    return compiled


term_of = one_of([form.term for form in FORMS.values()])
"""`term_of(form, c)`: what an outcome of pseudo-count c adds to the sum of a form."""
value_of = one_of([form.value for form in FORMS.values()])
"""`value_of(form, sums)`: the utility of a row."""
