"""The built-in priors by name, which can be saved and have kernels, and a function that restores a saved prior."""

from __future__ import annotations

from typing import Any

from berlyne.priors.chinese_restaurant import ChineseRestaurant
from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.one_two_three import OneTwoThree
from berlyne.priors.protocols import Description, Prior

PRIORS: dict[str, Any] = {kind.__name__: kind for kind in (Dirichlet, OneTwoThree, ChineseRestaurant)}
"""Built-in priors, by the kind in their `Description`: those that can be saved, and those that have kernels.

The engine numbers the kernels of priors by this order.
"""


def prior_from_description(stored: dict[str, Any], arrays: dict[str, Any]) -> Prior:
    """Create a prior from its stored description.

    Parameters
    ----------
    stored : dict
        `kind`, `n_states`, `n_actions` and the parameters of the prior.
    arrays : dict of str to ndarray
        Arrays of the file. Those whose name starts with `support_` or `prior_` belong to the prior.

    Returns
    -------
    Prior
        The prior.
    """
    parameters = {name: value for name, value in stored.items() if name not in ("kind", "n_states", "n_actions")}
    of_prior = {name: values for name, values in arrays.items() if name.startswith(("support_", "prior_"))}
    description = Description(stored["kind"], parameters, of_prior)
    prior: Prior = PRIORS[stored["kind"]].from_description(stored["n_states"], stored["n_actions"], description)
    return prior
