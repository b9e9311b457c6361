"""Random-effects model selection: the frequencies of models among people.

Every person uses one of the models; the frequencies of the models have a Dirichlet prior with `prior_count` for each
model. The posterior is approximated by variational Bayes (Stephan et al., NeuroImage 2009). Protected exceedance
probabilities and the omnibus risk account for the possibility that all models are equally frequent (Rigoux et al.,
NeuroImage 2014). The prior count changes the results, so it is stored and printed with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.plotting import figures_package
from berlyne.validation import FloatArray, IntArray, check_number, short_repr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROUNDS = 10_000
TOLERANCE = 1e-10
"""Largest change of a posterior count in the last round of the iteration."""


@dataclass(frozen=True, eq=False)
class ModelFrequencies:
    """Posterior of the frequencies of models among people.

    Attributes
    ----------
    names : tuple of str
        Names of the models, K of them.
    frequency : ndarray of shape (K,)
        Expected frequency of each model.
    exceedance : ndarray of shape (K,)
        Probability that a model is more frequent than every other model.
    protected_exceedance : ndarray of shape (K,)
        This probability, averaged with equal frequencies in proportion to the omnibus risk.
    omnibus_risk : float
        Posterior probability that all models are equally frequent.
    counts : ndarray of shape (K,)
        Parameters of the Dirichlet posterior.
    prior_count : float
        Prior count of each model; with families, of each family.
    responsibility : ndarray of shape (people, K)
        Posterior probability of each model for each person.
    families : ModelFrequencies or None
        Posterior of the frequencies of families of models.
    """

    names: tuple[str, ...]
    frequency: FloatArray
    exceedance: FloatArray
    protected_exceedance: FloatArray
    omnibus_risk: float
    counts: FloatArray
    prior_count: float
    responsibility: FloatArray
    families: ModelFrequencies | None = None

    def __str__(self) -> str:
        width = max(5, *(len(name) for name in self.names))
        lines = [f"{'model':{width}}  frequency  exceedance  protected"]
        columns = zip(self.names, self.frequency, self.exceedance, self.protected_exceedance, strict=True)
        lines += [f"{name:{width}}  {f:9.3f}  {e:10.3f}  {p:9.3f}" for name, f, e, p in columns]
        lines.append(f"omnibus risk {self.omnibus_risk:.3f}; prior count {self.prior_count:g}")
        return "\n".join(lines) + (f"\n\nfamilies\n{self.families}" if self.families else "")

    __repr__ = __str__

    def plot(self) -> Figure:
        """Draw expected frequencies and protected exceedance probabilities."""
        drawn: Figure = figures_package().draw_frequencies(self)
        return drawn


def bms(
    log_evidence: Any,
    prior_count: float = 1.0,
    *,
    names: Sequence[str] | None = None,
    families: Mapping[str, Sequence[str]] | None = None,
) -> ModelFrequencies:
    """Random-effects model selection from the log evidence of each model for each person.

    Parameters
    ----------
    log_evidence : array_like of shape (people, models) or pandas.DataFrame
        Log evidence in nats, or an approximation such as -BIC/2 or held-out log-likelihood.
    prior_count : float
        Dirichlet prior count of each model; SPM12 uses 1 by default, others 1 / models. With families, the count of
        each family, which its models share equally.
    names : sequence of str, optional
        Names of the models; by default the columns of a DataFrame, or 0, 1, 2, ...
    families : mapping of str to sequence of str, optional
        Names of the models of each family; every model belongs to exactly one.

    Returns
    -------
    ModelFrequencies
        Expected frequencies, exceedance and protected exceedance probabilities, and the omnibus risk.

    Examples
    --------
    >>> import berlyne.behaviour as bb
    >>> bb.bms([[-100.0, -104.0], [-90.0, -97.0], [-80.0, -79.0]], names=["PIG", "rarity"])
    model   frequency  exceedance  protected
    PIG         0.703       0.843      0.659
    rarity      0.297       0.157      0.341
    omnibus risk 0.538; prior count 1
    """
    evidence, models = _check_evidence(log_evidence, names)
    prior_count = check_number("prior_count", prior_count, 1e-6, 1e6)
    family_of = None if families is None else _family_of_models(models, families)
    share = np.ones(len(models)) if family_of is None else 1.0 / np.bincount(family_of)[family_of]
    prior = prior_count * share
    counts, responsibility = _posterior(evidence, prior)
    null = share / share.sum()
    risk = _omnibus_risk(evidence, prior, counts, responsibility, null)
    of_families = None
    if family_of is not None and families is not None:
        grouped = np.equal.outer(family_of, np.arange(len(families))).astype(float)  # (models, families)
        of_families = _summary(tuple(families), counts @ grouped, prior_count, responsibility @ grouped, risk)
    return _summary(models, counts, prior_count, responsibility, risk, of_families)


def _summary(
    names: tuple[str, ...],
    counts: FloatArray,
    prior_count: float,
    responsibility: FloatArray,
    risk: float,
    families: ModelFrequencies | None = None,
) -> ModelFrequencies:
    """Return the probabilities of a Dirichlet posterior with these counts."""
    exceedance = exceedance_probabilities(counts)
    protected = (1.0 - risk) * exceedance + risk / len(counts)
    frequency = counts / counts.sum()
    return ModelFrequencies(
        names, frequency, exceedance, protected, risk, counts, prior_count, responsibility, families
    )


def _posterior(evidence: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Iterate the posterior counts (K,) and the responsibilities (people, K) until they no longer change."""
    from scipy.special import digamma, softmax

    counts = prior + len(evidence) / len(prior)
    for _ in range(MAX_ROUNDS):
        responsibility = softmax(evidence + digamma(counts), axis=1)
        updated = prior + responsibility.sum(axis=0)
        change, counts = np.abs(updated - counts).max(), updated
        if change < TOLERANCE:
            break
    return counts, np.asarray(responsibility)


def _omnibus_risk(
    evidence: FloatArray, prior: FloatArray, counts: FloatArray, responsibility: FloatArray, null: FloatArray
) -> float:
    """Posterior probability that the frequencies are `null`, from the free energies of both hypotheses."""
    from scipy.special import digamma, entr, expit, gammaln, logsumexp

    log_frequency = digamma(counts) - digamma(counts.sum())
    energy = np.sum(responsibility * (evidence + log_frequency)) + entr(responsibility).sum()
    log_prior = gammaln(prior.sum()) - gammaln(prior).sum() + np.sum((prior - 1.0) * log_frequency)
    entropy = gammaln(counts).sum() - gammaln(counts.sum()) - np.sum((counts - 1.0) * log_frequency)
    energy_of_null = logsumexp(evidence + np.log(null), axis=1).sum()
    return float(expit(energy_of_null - (energy + log_prior + entropy)))


def exceedance_probabilities(counts: FloatArray) -> FloatArray:
    """Probability that each component of a Dirichlet distribution is the largest.

    A Dirichlet vector is a vector of independent gamma variables, divided by its sum. So the probability is the
    integral of the density of one variable times the distribution functions of the others. On a logarithmic axis the
    integrand is smooth and vanishes at both ends, where the trapezoidal rule converges exponentially.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        Parameters of the distribution, whose sum is at least 1.

    Returns
    -------
    ndarray of shape (K,)
        Probabilities, which sum to 1.
    """
    from scipy.special import gammainc, gammaln

    if len(counts) == 1:
        return np.ones(1)
    total = counts.sum()
    log_x = np.linspace(-45.0, np.log(total + 40.0 * np.sqrt(total) + 40.0), 40_001)
    log_density = counts[:, None] * log_x - np.exp(log_x) - gammaln(counts)[:, None]  # of log x
    with np.errstate(divide="ignore"):
        log_below = np.log(gammainc(counts[:, None], np.exp(log_x)))
    of_others = np.stack([np.delete(log_below, k, axis=0).sum(axis=0) for k in range(len(counts))])
    probabilities = np.exp(log_density + of_others).sum(axis=1)
    return np.asarray(probabilities / probabilities.sum())


def _check_evidence(log_evidence: Any, names: Sequence[str] | None) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the log evidence as an array, and the names of the models."""
    columns = getattr(log_evidence, "columns", None)
    evidence = np.asarray(log_evidence, dtype=np.float64)
    if evidence.ndim != 2 or 0 in evidence.shape:
        raise ValueError(f"log_evidence has the shape {evidence.shape}; it must be (people, models), at least (1, 1)")
    if not np.isfinite(evidence).all():
        i, k = np.argwhere(~np.isfinite(evidence))[0]
        raise ValueError(f"log_evidence is {evidence[i, k]} for person {i} and model {k}; it must be finite")
    if names is None:
        names = [str(k) for k in range(evidence.shape[1])] if columns is None else list(columns)
    models = tuple(str(name) for name in names)
    if len(models) != evidence.shape[1] or len(set(models)) < len(models):
        raise ValueError(
            f"names is {short_repr(list(models))}; it must contain {evidence.shape[1]} different names, one for each "
            "column of log_evidence"
        )
    return evidence, models


def _family_of_models(models: tuple[str, ...], families: Mapping[str, Sequence[str]]) -> IntArray:
    """Return the number of the family of each model."""
    members = [name for family in families.values() for name in family]
    if sorted(members) != sorted(models) or not all(families.values()):
        raise ValueError(
            f"the families contain {short_repr(members)}; they must contain each of {', '.join(models)} once, and no "
            "family may be empty"
        )
    numbers = {name: i for i, family in enumerate(families.values()) for name in family}
    return np.array([numbers[name] for name in models], dtype=np.int64)
