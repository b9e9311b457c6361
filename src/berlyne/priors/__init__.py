"""How worlds are drawn, and what that lets an explorer infer (paper, Secs. 2.3 and 2.4)."""

from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.fit import fit_alpha
from berlyne.priors.one_two_three import OneTwoThree
from berlyne.priors.prior import CompiledPrior, Prior

KINDS: dict[str, type[CompiledPrior]] = {"Dirichlet": Dirichlet, "OneTwoThree": OneTwoThree}
"""Priors that describe themselves, by the kind that they say: these can be saved."""

__all__ = ["KINDS", "Dirichlet", "OneTwoThree", "Prior", "fit_alpha"]
