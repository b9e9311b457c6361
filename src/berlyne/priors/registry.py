"""The priors that can be saved, by name, and how a saved prior is restored."""

from __future__ import annotations

from typing import Any

from berlyne.priors.chinese_restaurant import ChineseRestaurant
from berlyne.priors.dirichlet import Dirichlet
from berlyne.priors.one_two_three import OneTwoThree
from berlyne.priors.protocols import Description, Prior

PRIORS: dict[str, Any] = {kind.__name__: kind for kind in (Dirichlet, OneTwoThree, ChineseRestaurant)}
"""Priors that describe themselves, by the kind that they say: these can be saved."""


def prior_from_description(said: dict[str, Any], arrays: dict[str, Any]) -> Prior:
    """The prior that described itself so: its kind, sizes and parameters, and arrays that begin with `support_`."""
    parameters = {name: value for name, value in said.items() if name not in ("kind", "n_states", "n_actions")}
    own = {name: values for name, values in arrays.items() if name.startswith("support_")}
    description = Description(said["kind"], parameters, own)
    found: Prior = PRIORS[said["kind"]].from_description(said["n_states"], said["n_actions"], description)
    return found
