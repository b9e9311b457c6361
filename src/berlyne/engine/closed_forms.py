"""Compile the closed forms of `berlyne.priors.closed_forms`, and the special functions that they need."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from numba import types
from numba.extending import overload, register_jitable

from berlyne.engine.blocks import CompiledFunction, FunctionType, NoFunction
from berlyne.engine.jit import callback
from berlyne.priors.closed_forms import (
    FORMS,
    SERIES_COEFFICIENTS,
    SERIES_FROM,
    Sums,
    clip_rounding_noise,
    digamma,
    excess,
    lead,
    mean_of_all,
    mean_of_equals,
    peig_with_few_others,
    peig_with_many_others,
    select,
)

for _function in (
    clip_rounding_noise, lead, peig_with_few_others, peig_with_many_others, mean_of_all, mean_of_equals
):  # fmt: skip
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


_FLOAT, _INT = types.float64, types.int64
_SUMS: Any = types.NamedTuple((_FLOAT,) * 6 + (_INT,), Sums)  # type: ignore[no-untyped-call]  # Numba has no types


class CompiledForm(NamedTuple):
    """The closed form of a utility as fields of a record, see `berlyne.priors.closed_forms.Form`.

    Attributes
    ----------
    uses_largest : bool
        Whether it depends on the largest pseudo-count.
    term : CompiledFunction
        `term(c)` is is the term of an outcome of pseudo-count c in the sum of the form.
    value : CompiledFunction
        `value(sums)` is the utility of a row.
    """

    uses_largest: bool
    term: Any
    value: Any


NO_FORM = CompiledForm(False, NoFunction(FunctionType(_FLOAT, (_FLOAT,))), NoFunction(FunctionType(_FLOAT, (_SUMS,))))
"""For a belief whose utility, if it has any, does not come from a closed form."""


@cache
def compiled_form(name: str) -> CompiledForm:
    """Return the closed form of a utility, compiled when it is first used."""
    form = FORMS[name]
    term, value = callback(form.term), callback(form.value)
    return CompiledForm(form.uses_largest, CompiledFunction(term, _FLOAT), CompiledFunction(value, _SUMS))
