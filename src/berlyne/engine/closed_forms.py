"""The closed forms of `berlyne.priors.closed_forms`, compiled, and the special functions they need."""

from __future__ import annotations

import math
from typing import Any

from numba.extending import overload, register_jitable

from berlyne.engine.jit import dispatch
from berlyne.priors.closed_forms import (
    FORMS,
    LARGE,
    SERIES,
    digamma,
    either,
    excess,
    mean_of_all,
    mean_of_equals,
    peig_of_few,
    peig_of_many,
    without_noise,
)

for _function in (without_noise, peig_of_few, peig_of_many, mean_of_all, mean_of_equals):
    register_jitable(_function)


@overload(either)
def _either(first: Any, one: Any, other: Any, row: Any) -> Any:
    def compiled(first: Any, one: Any, other: Any, row: Any) -> Any:
        return one(row) if first else other(row)

    return compiled


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


BY_MOST = tuple(form.by_most for form in FORMS.values())
"""Whether each form depends on the largest pseudo-count."""
term_of = dispatch([form.term for form in FORMS.values()], often=False)
"""`term_of(form, c)`: what an outcome of pseudo-count c adds to the sum of a form."""
value_of = dispatch([form.value for form in FORMS.values()], often=True)
"""`value_of(form, sums)`: the utility of a row."""
