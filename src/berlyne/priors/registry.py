"""The built-in priors by name, which can be saved and have kernels, and a function that restores a saved prior."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from typing import Any

from berlyne.priors.protocols import Description, Prior


def find_priors(package: str) -> dict[str, Any]:
    """Return the priors that the modules of a package define, by name.

    A class is one of them if it defines `from_description`, so that a prior can be restored from a file. Interfaces,
    which are protocols, are not.
    """
    priors: dict[str, Any] = {}
    for module in pkgutil.iter_modules(sys.modules[package].__path__, f"{package}."):
        for name, value in vars(import_module(module.name)).items():
            defined_here = isinstance(value, type) and value.__module__ == module.name
            if defined_here and "from_description" in vars(value) and not getattr(value, "_is_protocol", False):
                priors[name] = value
    return priors


PRIORS = find_priors("berlyne.priors")
"""Built-in priors, by the kind in their `Description`: those that can be saved, and those that have kernels."""


NO_FUNCTIONS = "label functions cannot be saved; use the labels that berlyne.labels_of(world, support='all') returns"
"""Message about a built-in prior that contains functions."""


def can_be_saved(prior: Any) -> bool:
    """Return whether a prior is a built-in one that `describe` describes completely."""
    return type(prior) in PRIORS.values() and getattr(prior, "is_described", True)


def contains_functions(prior: Any) -> bool:
    """Return whether a prior is a built-in one that cannot be saved, because it contains functions of the user."""
    return type(prior) in PRIORS.values() and not can_be_saved(prior)


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
