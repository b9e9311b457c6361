"""How worlds are drawn, and what that lets an explorer infer (paper, Secs. 2.3 and 2.4)."""

from typing import Any

from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.fit import fit_alpha
from berlyne.priors.one_two_three import OneTwoThree
from berlyne.priors.prior import Prior
from berlyne.priors.restaurant import ChineseRestaurant, fit_c

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Dirichlet, OneTwoThree, ChineseRestaurant)}
"""Priors that describe themselves, by the kind that they say: these can be saved."""

__all__ = ["KINDS", "ChineseRestaurant", "Dirichlet", "OneTwoThree", "Prior", "fit_alpha", "fit_c"]
