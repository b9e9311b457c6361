"""Whether a prior predicted the observations as well as it expected to; see `berlyne.priors.predictive`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.priors.chinese_restaurant import ChineseRestaurant, fit_c
from berlyne.priors.concentration import histograms_of, is_uninformative, maximum_likelihood_alpha
from berlyne.priors.dirichlet import Dirichlet, default_bounds
from berlyne.priors.predictive import Observations, log_scores, random_order, z_score
from berlyne.priors.refit import Refit
from berlyne.sparse import Counts, Support

if TYPE_CHECKING:
    from berlyne.models.internal_model import InternalModel

CHECK_PRIOR = Refit(always=0, growth=0.25)
"""When expectations check the prior again."""
FIRST_CHECK = 20
"""Number of observations before the first of these checks. Of fewer, a single rare outcome decides, and a learned
parameter can still be at its bound."""
MAX_Z = 4.0
"""Largest absolute z-score of a prior that agrees with the observations; by chance, 1 in 15,000 is larger."""
MAX_ALPHA = 1e3
"""Largest concentration of `PriorCheck.best_alpha`."""


@dataclass(frozen=True)
class PriorCheck:
    """How well a prior predicted the observations.

    Parameters
    ----------
    z : float
        Sum of log predictive probabilities minus its expectation, divided by its standard deviation. It has mean 0 and
        variance about 1 if the world was drawn from the prior. Positive if outcomes were more regular than the prior
        expects. 0 without observations, or if the prior leaves nothing to chance.
    best_alpha : float
        The concentration of a Dirichlet prior with the same possible transitions that would have fitted best, by
        maximum likelihood; under a `ChineseRestaurant`, the best c. NaN if no row was observed twice, because then all
        fit equally well.
    sentence : str
        The result in one sentence.
    """

    z: float
    best_alpha: float
    sentence: str

    @property
    def agrees(self) -> bool:
        """Whether the prior agrees with the observations: whether z is between -4 and 4."""
        return abs(self.z) <= MAX_Z


def check_prior(model: InternalModel, observations: Observations | None = None) -> PriorCheck:
    """Check the prior of a model against its observations.

    Parameters
    ----------
    model : InternalModel
        The model. Parameters that its prior has learned are those in force.
    observations : Observations, optional
        Observations of the model in their order; by default in a random order with a fixed seed.
    """
    prior, counts = model.prior, model.sparse_counts
    seen = random_order(counts) if observations is None else observations
    scores = log_scores(prior, seen, (model.n_actions, model.n_states), model.rows_are_independent)
    z, best_alpha = z_score(scores), best_concentration(prior, counts)
    return PriorCheck(z, best_alpha, _sentence(prior, z, best_alpha, len(seen.row)))


def best_concentration(prior: Any, counts: Counts) -> float:
    """Return the concentration that fits counts best, see `PriorCheck`."""
    if isinstance(prior, ChineseRestaurant):
        return fit_c(counts, prior.d, start=math.nan)
    support = getattr(prior, "support", None)
    if not isinstance(support, Support):
        support = Support(counts.n_actions, counts.n_states)
    histograms = histograms_of(counts, support.sizes)
    if is_uninformative(histograms):
        return math.nan
    return maximum_likelihood_alpha(histograms, 1.0, default_bounds(counts.n_states)[0], MAX_ALPHA)


def _sentence(prior: Any, z: float, best_alpha: float, n_obs: int) -> str:
    """Describe the result of a check."""
    name = "c" if isinstance(prior, ChineseRestaurant) else "alpha"
    outcomes = f"the {n_obs:,} observed outcome{'s' if n_obs != 1 else ''}"
    if math.isnan(best_alpha):
        return f"{outcomes[0].upper()}{outcomes[1:]} cannot test the prior, because no row was observed twice."
    is_compared = isinstance(prior, ChineseRestaurant) or (type(prior) is Dirichlet and np.ndim(prior.alpha) == 0)
    family = "" if is_compared else "of Dirichlet priors with equal pseudo-counts, "
    advice = f"{family}{name} = {best_alpha:.2g} would have fitted best"
    if abs(z) <= MAX_Z:
        return f"The prior agrees with {outcomes} (z = {z:.1f}); {advice}."
    regular = "more" if z > 0 else "less"
    return (
        f"The prior does not agree with {outcomes}: they are {regular} regular than it expects (z = {z:.1f}), so the "
        f"expected missing information may be wrong; {advice}."
    )
