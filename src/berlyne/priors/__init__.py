"""Priors: distributions from which worlds are drawn, and the estimates that follow (paper, Secs. 2.3 and 2.4)."""

from berlyne.priors.chinese_restaurant import ChineseRestaurant, fit_c
from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.fitting import fit_alpha
from berlyne.priors.one_two_three import OneTwoThree
from berlyne.priors.protocols import Prior
from berlyne.priors.refit import Refit
from berlyne.priors.registry import PRIORS
from berlyne.priors.shared_dirichlet import SharedDirichlet
from berlyne.priors.shared_restaurant import SharedRestaurant

__all__ = [
    "PRIORS",
    "ChineseRestaurant",
    "Dirichlet",
    "OneTwoThree",
    "Prior",
    "Refit",
    "SharedDirichlet",
    "SharedRestaurant",
    "fit_alpha",
    "fit_c",
]
