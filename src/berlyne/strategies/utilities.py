"""Utilities of an observation: PIG, PEIG, PMC, PLC and parameter_gain, as arrays `[a, s]`.

A utility is the value, to the explorer, of trying action a in state s. It depends on the internal model alone.

| name | utility of one observation of row (a, s) | paper |
|---|---|---|
| PIG | expected decrease of missing information, in bits | Eq. 11 (`eq:kl`) |
| PEIG | information gained by the last observation, in bits | Eq. 18 (`eq:PEIG`) |
| PMC | expected rise of the most probable outcome's probability | Eq. 19 (`eq:PMC`) |
| PLC | expected L1 change of the estimate, divided by N | Eq. 20 (`eq:PLC`) |
| parameter_gain | expected missing information of the row, in bits | E[D(theta || theta_hat)]; PIG is its decrease |

The paper's priors have closed forms. For any other prior the definitions are evaluated from its estimates.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from berlyne.information import kl_divergence
from berlyne.models.internal_model import InternalModel, expected_missing_by_row
from berlyne.priors.outcome_value import expected_outcome_value
from berlyne.sparse import by_action
from berlyne.validation import OWN_UTILITY, FloatArray, IntArray

TWO_NOVELTIES = (
    "novelty has two meanings, so no utility has this name; use parameter_gain, the expected missing information of "
    "the row, or rarity, the novelty of the next state"
)
RowDefinition = Callable[[FloatArray, FloatArray], float]
"""Function that returns the utility of one row from `theta_hat` (N,) and `theta_hat_after` (N, N), row s_star."""
CountedDefinition = Callable[[FloatArray, FloatArray, IntArray], float]
"""Function that returns the utility of one row from `theta_hat`, `theta_hat_after` and `counts` (N,)."""


def pig_of_row(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """Predicted information gain of one transition distribution, in bits.

    Paper: Eq. 11 (`eq:kl`), Theorem 2. The divergence runs from the updated to the current model,
    as in the proof before its last three lines, which print the other direction; reading R2.

    Parameters
    ----------
    theta_hat : ndarray of shape (N,)
        Current estimate; sums to 1.
    theta_hat_after : ndarray of shape (N, N)
        Row s_star is the estimate after observing s_star.

    Returns
    -------
    float
        At least 0; zero only if no possible outcome would change the model.
    """
    return expected_outcome_value("PIG", theta_hat, theta_hat_after)


def pig_as_printed_of_row(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """Eq. 11 with the divergence as printed, D(now || after), in bits; not the expected gain, see reading R2."""
    possible = theta_hat > 0
    return float(np.dot(theta_hat[possible], kl_divergence(theta_hat, theta_hat_after[possible])))


def pmc_of_row(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """Predicted mode change of one row, Eq. 19 (`eq:PMC`); shapes as in `pig_of_row`."""
    return expected_outcome_value("PMC", theta_hat, theta_hat_after)


def plc_of_row(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """Predicted L1 change of one row, Eq. 20 (`eq:PLC`); shapes as in `pig_of_row`."""
    return expected_outcome_value("PLC", theta_hat, theta_hat_after)


def pig(model: InternalModel) -> FloatArray:
    r"""Predicted information gain of every row, in bits, `[a, s]`.

    $$\mathrm{PIG} = \sum_{s^*} \hat\theta_{s^*} D(\hat\theta^{s^*} \Vert \hat\theta)$$

    PIG is the expected decrease of missing information. Paper: Eq. 11 (`eq:kl`); reading R2.

    Parameters
    ----------
    model : InternalModel
        Model of the explorer.

    Returns
    -------
    ndarray of shape (M, N)
        PIG of row `[a, s]`, in bits, at least 0.
    """
    return _predicted(model, "PIG", pig_of_row)


def pmc(model: InternalModel) -> FloatArray:
    r"""Predicted mode change of every row, `[a, s]`.

    $$\mathrm{PMC} = \sum_{s^*} \hat\theta_{s^*} \big[\max_{s'} \hat\theta^{s^*}_{s'} - \max_{s'} \hat\theta_{s'}\big]$$

    Paper: Eq. 19 (`eq:PMC`).

    Parameters
    ----------
    model : InternalModel
        Model of the explorer.

    Returns
    -------
    ndarray of shape (M, N)
        PMC of row `[a, s]`.
    """
    return _predicted(model, "PMC", pmc_of_row)


def plc(model: InternalModel) -> FloatArray:
    r"""Predicted L1 change of every row, `[a, s]`.

    $$\mathrm{PLC} = \sum_{s^*} \hat\theta_{s^*} \frac{1}{N} \sum_{s'} |\hat\theta^{s^*}_{s'} - \hat\theta_{s'}|$$

    Paper: Eq. 20 (`eq:PLC`).

    Parameters
    ----------
    model : InternalModel
        Model of the explorer.

    Returns
    -------
    ndarray of shape (M, N)
        PLC of row `[a, s]`, at least 0.
    """
    return _predicted(model, "PLC", plc_of_row)


def peig(model: InternalModel, untried: float | None = None) -> FloatArray:
    r"""Posterior expected information gain of every row, in bits, `[a, s]`.

    $$\mathrm{PEIG} = D(\hat\theta^{now} \Vert \hat\theta^{before})$$

    Paper: Eqs. 17 and 18 (`eq:PEIG`). "Before" means before the row's last outcome.

    Parameters
    ----------
    model : InternalModel
        Model of the explorer.
    untried : float or None
        Value of rows that were never tried. None for their prior PIG, so that they attract the explorer (reading R6).

    Returns
    -------
    ndarray of shape (M, N)
        PEIG of row `[a, s]`, in bits.
    """
    if model.exact is not None:
        per_row = model.exact.peig(model.sparse_counts, model.last_outcomes)
        gain = np.asarray(by_action(per_row, model.n_actions))
    else:
        gain = _peig_from_definition(model)
    missing = np.isnan(gain)
    if np.any(missing):
        gain[missing] = pig(model)[missing] if untried is None else untried
    return gain


def parameter_gain(model: InternalModel) -> FloatArray:
    r"""Expected missing information of every row, in bits, `[a, s]`.

    $$E[D(\theta \Vert \hat\theta) \mid d]$$

    This is the parameter information gain of active inference. The prior must have a method
    `expected_missing_information(counts)`.

    Parameters
    ----------
    model : InternalModel
        Model of the explorer.

    Returns
    -------
    ndarray of shape (M, N)
        Expected missing information of row `[a, s]`, in bits.
    """
    return expected_missing_by_row(model)


def _predicted(model: InternalModel, name: str, definition: RowDefinition) -> FloatArray:
    """Compute a utility in closed form if the prior has one of this utility, else from its definition."""
    if model.exact is not None:
        try:
            per_row = model.exact.utility(name, model.sparse_counts)
        except KeyError:  # no closed form
            return _from_definition(model, definition)
        return np.asarray(by_action(per_row, model.n_actions))
    return _from_definition(model, definition)


def needs_estimates_after(utility: Callable[..., float]) -> bool:
    """Whether a user's utility takes `theta_hat_after`, which is N estimates for every row."""
    try:
        parameters = inspect.signature(utility).parameters
    except (TypeError, ValueError):  # some functions written in C have no signature
        return True
    named = all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters.values())
    return not (parameters and named and set(parameters) <= {"theta_hat", "counts"})


def as_row_function(utility: Callable[..., float]) -> CountedDefinition:
    """Wrap a user's utility as a function of `theta_hat`, `theta_hat_after` and `counts`.

    If all parameters of the utility are called `theta_hat` or `counts`, it receives these, and `theta_hat_after` is not
    computed. Otherwise it receives `theta_hat` and `theta_hat_after`. It also receives `counts` if it has a parameter
    called `counts`, a third positional parameter without a default, or `**options`. A function of
    `*arguments, **options` does not receive it: such a function usually passes its arguments on to another function,
    which may not take `counts`.

    Raises
    ------
    ValueError
        If the utility cannot be called with two or three arguments.
    """
    if not needs_estimates_after(utility):
        names = list(inspect.signature(utility).parameters)
        return lambda theta_hat, after, counts: _as_number(
            utility, utility(**{name: theta_hat if name == "theta_hat" else counts for name in names})
        )
    try:
        signature = inspect.signature(utility)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return lambda theta_hat, after, counts: utility(theta_hat, after)
    parameters = signature.parameters
    third = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][2:3]
    by_position = bool(third) and (third[0].name == "counts" or third[0].default is inspect.Parameter.empty)
    kinds = {p.kind for p in parameters.values()}
    any_keyword = inspect.Parameter.VAR_KEYWORD in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds
    by_name = not by_position and ("counts" in parameters or any_keyword)
    try:
        signature.bind(*((None,) * (3 if by_position else 2)), **({"counts": None} if by_name else {}))
    except TypeError:
        name = getattr(utility, "__name__", type(utility).__name__)
        raise ValueError(
            f"the utility {name}{signature} must be a function of theta_hat and theta_hat_after, of these and counts, "
            f"or of theta_hat and counts by these names{OWN_UTILITY}"
        ) from None
    if by_position:
        return lambda theta_hat, after, counts: _as_number(utility, utility(theta_hat, after, counts))
    if by_name:
        return lambda theta_hat, after, counts: _as_number(utility, utility(theta_hat, after, counts=counts))
    return lambda theta_hat, after, counts: _as_number(utility, utility(theta_hat, after))


def _as_number(utility: Callable[..., float], value: object) -> float:
    """Convert the value that a utility returned for a row to a float."""
    try:
        return float(value)  # type: ignore[arg-type]  # checked by the except clause
    except (TypeError, ValueError):
        name = getattr(utility, "__name__", type(utility).__name__)
        raise ValueError(
            f"the utility {name} returned {value!r:.60} for a row; it must return one number{OWN_UTILITY}"
        ) from None


def evaluate_rows(model: InternalModel, utility: Callable[..., float]) -> FloatArray:
    """Evaluate a utility for every row, `[a, s]`, with N estimates per row if it takes `theta_hat_after`."""
    theta_hat, counts, definition = model.theta_hat, model.counts, as_row_function(utility)
    needs_after, after, values = needs_estimates_after(utility), np.empty(0), []
    for a, s in np.ndindex(model.n_actions, model.n_states):
        if needs_after and model.exact is not None:
            after = model.exact.estimate_after(counts, a, s)
        elif needs_after:
            after = model.theta_hat_after(model.actions[a], model.states[s])
        values.append(definition(theta_hat[a, s], after, counts[a, s]))
    return np.array(values, dtype=float).reshape(model.n_actions, model.n_states)


def _from_definition(model: InternalModel, definition: RowDefinition) -> FloatArray:
    """Evaluate a utility for every row, `[a, s]`; if rows are independent, N estimates are enough for all rows."""
    if not model.rows_are_independent:
        return evaluate_rows(model, definition)
    theta_hat, counts = model.theta_hat, model.counts
    n_actions, n_states, _ = counts.shape
    after = np.repeat(theta_hat[:, :, None, :], n_states, axis=2)  # (M, N, N, N), [a, s, s_star, s_next]
    for s_star in range(n_states):
        possible = theta_hat[:, :, s_star] > 0
        imagined = counts.copy()
        imagined[possible, s_star] += 1
        after[possible, s_star] = np.asarray(model.prior.estimate(imagined))[possible]
    pairs = np.ndindex(n_actions, n_states)
    return np.array([definition(theta_hat[a, s], after[a, s]) for a, s in pairs]).reshape(n_actions, n_states)


def _peig_from_definition(model: InternalModel) -> FloatArray:
    """Compute D(now || before) of every row's last outcome from the prior's estimates; NaN if untried."""
    last = by_action(model.last_outcomes, model.n_actions)
    tried = last >= 0
    a, s = np.nonzero(tried)
    before = model.counts
    before[a, s, last[tried]] -= 1
    gain = np.full(last.shape, np.nan)
    gain[tried] = kl_divergence(model.theta_hat, model.prior.estimate(before))[tried]
    return gain


@dataclass(frozen=True)
class Utility:
    """Utility with a name and a unit.

    Parameters
    ----------
    name : str
        Name, as in "PIG(VI)".
    of : callable
        Function of an `InternalModel` that returns the utility of every row, `[a, s]`.
    meaning : str
        Short description.
    of_row : callable or None
        Definition for one row, if the utility depends on the estimates alone.
    realised : bool
        Whether the utility is the value of the last observation, rather than of the next one.
    unit : str
        Unit of the values; "1" for none.
    index : callable or None
        The function of a row that `berlyne.index` registered; None for the built-in utilities.
    """

    name: str
    of: Callable[[InternalModel], FloatArray]
    meaning: str
    of_row: RowDefinition | None = None
    realised: bool = False
    unit: str = "1"
    index: Callable[..., float] | None = None


class UtilityTable(dict[str, Utility]):
    """Utilities by name. A name with parameters, as "R-max[m=5]", is made from its family and not listed."""

    families: ClassVar[dict[str, Callable[..., Utility]]] = {}
    """Functions of parameters that return a utility; each has a default."""

    def __missing__(self, name: str) -> Utility:
        match = re.fullmatch(r"([^\[\]]+)\[([^\[\]]*)\]", name)
        if match is None or match[1] not in self.families:
            raise KeyError(name)
        pairs = (part.split("=") for part in match[2].split(", "))
        return self.families[match[1]](**{key: float(value) for key, value in pairs})

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except (KeyError, ValueError, TypeError):
            return False
        return True

    def parameters(self, name: str | None) -> dict[str, float]:
        """Return the parameters of a utility that is listed, and their defaults."""
        family = self.families.get(str(name))
        if family is None:
            return {}
        return {key: p.default for key, p in inspect.signature(family).parameters.items()}


UTILITIES = UtilityTable(
    (utility.name, utility)
    for utility in (
        Utility("PIG", pig, "predicted information gain, bits (Eq. 11)", pig_of_row, unit="bits"),
        Utility("PEIG", peig, "posterior expected information gain, bits (Eq. 18)", realised=True, unit="bits"),
        Utility("PMC", pmc, "predicted mode change (Eq. 19)", pmc_of_row),
        Utility("PLC", plc, "predicted L1 change (Eq. 20)", plc_of_row),
        Utility("parameter_gain", parameter_gain, "expected missing information of the row, bits", unit="bits"),
    )
)
"""Utilities by name: the built-in ones, and those that `berlyne.index` registers."""


def compute_utility(model: InternalModel, utility: str | None, untried: float | None = None) -> FloatArray:
    """Compute a utility by its name, `[a, s]`; zeros for None. `untried` is passed to PEIG."""
    if utility is None:
        return np.zeros((model.n_actions, model.n_states))
    if UTILITIES[utility].realised:
        return peig(model, untried)
    return UTILITIES[utility].of(model)
