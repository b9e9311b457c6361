"""Compile the closed forms of `berlyne.priors.closed_forms`, and the special functions that they need."""

from __future__ import annotations

import math
from typing import Any

from numba.extending import overload, register_jitable

from berlyne.engine.jit import dispatch
from berlyne.priors.closed_forms import (
    FORMS,
    SERIES_COEFFICIENTS,
    SERIES_FROM,
    clip_rounding_noise,
    digamma,
    excess,
    mean_of_all,
    mean_of_equals,
    peig_with_few_others,
    peig_with_many_others,
    select,
)

for _function in (clip_rounding_noise, peig_with_few_others, peig_with_many_others, mean_of_all, mean_of_equals):
    register_jitable(_function)


@overload(select)
def _select(condition: Any, if_true: Any, if_false: Any, row: Any) -> Any:
    def compiled(condition: Any, if_true: Any, if_false: Any, row: Any) -> Any:
        return if_true(row) if condition else if_false(row)

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
        if x < SERIES_FROM:
            return (x + 1.0) * math.log1p(1.0 / x) - 1.0
        y, tail = 1.0 / x, 0.0
        for i in range(len(SERIES_COEFFICIENTS) - 1, -1, -1):
            tail = SERIES_COEFFICIENTS[i] - y * tail
        return y * tail

    return compiled


USES_LARGEST = tuple(form.uses_largest for form in FORMS.values())
"""Whether each form depends on the largest pseudo-count."""
term_of = dispatch([form.term for form in FORMS.values()], inline=False)
"""`term_of(form, c)` is the term of an outcome of pseudo-count c in the sum of a form."""
value_of = dispatch([form.value for form in FORMS.values()], inline=True)
"""`value_of(form, sums)` is the utility of a row."""
