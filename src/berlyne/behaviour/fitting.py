"""Fit a model of choices to people: each alone, all together, or as a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from berlyne.behaviour.data import Data, pandas
from berlyne.behaviour.group import GroupFit, fit_group
from berlyne.behaviour.logit import (
    Design,
    LogitFit,
    default_starts,
    fit_logit,
    make_design,
    make_parameters,
    near_starts,
)
from berlyne.behaviour.search import search_settings, usual_number
from berlyne.behaviour.terms import Model
from berlyne.behaviour.threads import progress_bar, replay_on_grids
from berlyne.plotting import figures_package
from berlyne.validation import BoolArray, FloatArray, short_repr

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

Pool = Literal["none", "all", "group"]
POOLS = ("none", "all", "group")
WEIGHTS = ("free", "positive")
FEW_CHOICES = 300
"""If people have fewer choices and lapse, the likelihood may have several maxima, and the search with each setting has
some starts of its own. With more choices, it starts only near the fit with the settings before."""
N_THOROUGH = 4
"""Number of the best settings that are fitted from all starts if there may be several maxima; otherwise one is."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model.

    Attributes
    ----------
    data : Data
        The choices.
    model : Model
        The model.
    best_settings : dict
        Settings that fit best, such as "PIG(VI): gamma".
    weights : {"free", "positive"}
        Whether the weights of drives had to be at least 0.
    pool : {"none", "all", "group"}
        Whether people were fitted alone, all together, or as a group.
    logit : LogitFit
        Parameters of each person; of all of them, as one person, if they were fitted together.
    group_fit : GroupFit or None
        Group distribution, if people were fitted as a group.
    profile : list of dict
        Settings that were tried, with their score.
    """

    data: Data
    model: Model
    best_settings: dict[str, float]
    weights: str
    pool: Pool
    logit: LogitFit
    group_fit: GroupFit | None
    profile: list[dict[str, float]]

    def __repr__(self) -> str:
        total = self.log_likelihood.sum()
        return f"Fit({self.model}, {len(self.data.subjects)} people, pool={self.pool!r}, {total:.1f} nats)"

    @cached_property
    def names(self) -> list[str]:
        """Names of the parameters: weights, and "lapse" if there is one."""
        return [*self.model.weight_names(self.data.actions), *(["lapse"] if self.model.has_lapse else [])]

    @cached_property
    def theta(self) -> FloatArray:
        """Parameters of each person as they were fitted, (people, P)."""
        return np.broadcast_to(self.logit.theta, (len(self.data.subjects), len(self.names)))

    @property
    def scales(self) -> list[str]:
        """Scale on which each parameter was fitted: "linear", "log" or "logit"."""
        is_log = positive_weights(self.data, self.model, self.weights) & (self.pool == "group")
        return [*("log" if log else "linear" for log in is_log), *(["logit"] if self.model.has_lapse else [])]

    @cached_property
    def estimates(self) -> FloatArray:
        """Weights, and the lapse as a probability, of each person, (people, P); NaN if a value does not vary."""
        natural = np.column_stack([to_natural(x, scale) for x, scale in zip(self.theta.T, self.scales, strict=True)])
        varies = np.broadcast_to(self.logit.varies, natural.shape)
        return np.where(varies | (self.pool == "group"), natural, np.nan)

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the estimates, (people, P); as a group, posterior standard deviations."""
        is_log, is_logit = (np.array(self.scales) == scale for scale in ("log", "logit"))
        slope = np.where(is_log, self.estimates, np.where(is_logit, self.estimates * (1 - self.estimates), 1.0))
        return np.asarray(self.logit.standard_errors() * slope)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Probability of each action before each choice, (T, A)."""
        return choice_probabilities(self.data, self.model, self.best_settings, np.nan_to_num(self.estimates))

    @cached_property
    def pointwise(self) -> FloatArray:
        """Log-likelihood of each choice in nats, (T,); NaN if it is not scored."""
        return pointwise_log_likelihood(self.data, self.probabilities)

    @cached_property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihood of each person in nats, (people,)."""
        return np.add.reduceat(np.nan_to_num(self.pointwise), self.data.begin[:-1])

    @cached_property
    def people(self) -> pd.DataFrame:
        """A line for each person: estimates with standard errors, log-likelihood, and how the search went."""
        n_people, n = len(self.data.subjects), np.add.reduceat(self.data.scored.astype(int), self.data.begin[:-1])
        columns: dict[str, Any] = {}
        for i, name in enumerate(self.names):
            columns[name], columns[f"{name} se"] = self.estimates[:, i], self.standard_errors[:, i]
        columns |= {"log_likelihood": self.log_likelihood, "n": n}
        varies = np.broadcast_to(self.logit.varies, self.estimates.shape)
        at_bound = np.broadcast_to(self.logit.at_bound, self.estimates.shape)
        columns["k"] = varies.sum(axis=1)
        inside = np.where(self.logit.at_bound, 0.0, self.logit.maximum.gradient)
        columns["gradient"] = np.broadcast_to(np.linalg.norm(inside, axis=1), n_people)
        columns["starts"] = np.broadcast_to(self.logit.maximum.n_starts, n_people)
        columns["starts_at_best"] = np.broadcast_to(self.logit.maximum.n_best, n_people)
        columns["at_bound"] = [", ".join(np.array(self.names)[row]) for row in at_bound]
        columns["converged"] = np.broadcast_to(self.logit.converged, n_people)
        return pandas().DataFrame(columns, index=pandas().Index(self.data.subjects, name="subject"))

    @cached_property
    def group(self) -> pd.DataFrame:
        """A line for each parameter: its scale, mean, standard deviation and standard error of the mean on that scale.

        The column `typical` is the mean as a weight, or as a probability.
        """
        if self.group_fit is not None:
            mean, sd, se = self.group_fit.mean, self.group_fit.sd, self.group_fit.se
            scales = self.scales
        else:
            scales = ["linear"] * len(self.names)
            mean = np.nanmean(self.estimates, axis=0)
            several = self.pool == "none" and len(self.estimates) > 1
            sd = np.nanstd(self.estimates, axis=0, ddof=1) if several else np.full(len(mean), np.nan)
            se = self.standard_errors[0] if self.pool == "all" else sd / np.sqrt(len(self.estimates))
        typical = [float(to_natural(x, scale)) for x, scale in zip(mean, scales, strict=True)]
        columns = {"scale": scales, "mean": mean, "sd": sd, "se": se, "typical": typical}
        return pandas().DataFrame(columns, index=pandas().Index(self.names, name="parameter"))

    @cached_property
    def settings(self) -> pd.DataFrame:
        """Profile over settings: a line for each that was tried, best first, with the score of the fit in nats."""
        return pandas().DataFrame(self.profile).sort_values("score", ascending=False, ignore_index=True)

    @cached_property
    def values(self) -> xr.Dataset:
        """Values, probabilities and log-likelihood before each choice, beside the columns of the data."""
        import xarray as xr

        names = self.model.weight_names(self.data.actions)
        by_action = ("step", "action")
        variables = {
            "values": ((*by_action, "weight"), self.model.values(self.data, self.best_settings)),
            "probabilities": (by_action, self.probabilities, {"units": "1"}),
            "allowed": (by_action, self.data.allowed),
            "log_likelihood": ("step", self.pointwise, {"units": "nats"}),
        }
        coordinates: dict[str, Any] = {"action": list(self.data.actions), "weight": names}
        coordinates |= {name: ("step", column.to_numpy()) for name, column in self.data.frame.items()}
        return xr.Dataset(variables, coordinates, {"model": repr(self.model), "pool": self.pool})

    def check(self) -> str:
        """Return sentences about people who did not converge, weights without an estimate, and a useless model."""
        notes = []
        converged = np.broadcast_to(self.logit.converged, len(self.theta))
        failed = [str(self.data.subjects[i]) for i in np.flatnonzero(~converged)]
        if failed:
            notes.append(f"the search did not converge for {', '.join(failed)}")
        varies, at_bound = (np.broadcast_to(x, self.theta.shape) for x in (self.logit.varies, self.logit.at_bound))
        for i, name in enumerate(self.names):
            if not varies[:, i].all():
                notes.append(f"{name} does not vary for {(~varies[:, i]).sum()} people, so they have no estimate")
            ran_off = at_bound[:, i] & (np.abs(np.nan_to_num(self.estimates[:, i])) > 0) & (name != "lapse")
            if ran_off.any():
                notes.append(f"the weight of {name} ran off for {ran_off.sum()} people; their choices do not limit it")
        n_allowed = self.data.allowed[self.data.scored].sum(axis=1)
        gain = float(self.log_likelihood.sum() + np.log(n_allowed).sum())
        n_fitted = int(self.logit.varies.sum())
        if gain < n_fitted:
            notes.append(f"the model explains nothing: {gain:.1f} nats above chance with {n_fitted} parameters")
        return "\n".join(f"- {note}" for note in notes) or "- no problems"

    def plot(self, what: str = "weights") -> Figure:
        """Draw the weights of people with the line of zero, or the profile over settings.

        Parameters
        ----------
        what : {"weights", "settings"}
            What to draw.
        """
        check_option("what", what, ("weights", "settings"))
        figures = figures_package()
        drawn: Figure = figures.draw_weights(self) if what == "weights" else figures.draw_profile(self)
        return drawn

    def to_netcdf(self) -> bytes:
        """Return the estimates, the group and the profile over settings as the bytes of a NetCDF file."""
        import xarray as xr

        by_person, tried = ("subject", "parameter"), self.settings
        variables = {
            "estimate": (by_person, self.estimates),
            "standard_error": (by_person, self.standard_errors),
            "log_likelihood": ("subject", self.log_likelihood, {"units": "nats"}),
            "n_choices": ("subject", self.people["n"].to_numpy(np.int32)),
            "converged": ("subject", self.people["converged"].to_numpy(np.int8)),
            "setting": (("trial", "name"), tried.drop(columns="score").to_numpy(float)),
            "score": ("trial", tried["score"].to_numpy(float), {"units": "nats"}),
        }
        variables |= {f"group_{name}": ("parameter", self.group[name].to_numpy(float)) for name in ("mean", "sd", "se")}
        coordinates = {
            "subject": [str(subject) for subject in self.data.subjects],
            "parameter": self.names,
            "scale": ("parameter", self.group["scale"].tolist()),
        }
        names = [name for name in tried.columns if name != "score"]
        if names:
            coordinates["name"] = names
        else:
            del variables["setting"]
        attributes = {"model": repr(self.model), "pool": self.pool, "weights": self.weights}
        return bytes(xr.Dataset(variables, coordinates, attributes).to_netcdf(engine="scipy"))

    def to_arviz(self, n_draws: int = 1000, seed: int = 0) -> xr.DataTree:
        """Return draws from the Laplace approximation in the form that ArviZ reads, from version 1.0 on.

        With an older version, pass the result to `arviz.InferenceData.from_datatree`.

        Parameters
        ----------
        n_draws : int
            Number of draws for each person. A parameter at a bound does not vary.
        seed : int
            Seed of the draws.

        Returns
        -------
        xarray.DataTree
            Groups "posterior" (chain, draw, subject) and "log_likelihood" (chain, draw, choice) at the estimates.
        """
        import xarray as xr

        rng, covariance = np.random.default_rng(seed), np.nan_to_num(self.logit.covariance())
        theta = np.stack(
            [
                rng.multivariate_normal(mean, covariance[i % len(covariance)], n_draws, method="eigh")
                for i, mean in enumerate(self.theta)
            ],
            axis=1,
        )[None]  # (1, draws, people, P)
        dims = ("chain", "draw", "subject")
        posterior = {name: (dims, to_natural(theta[..., i], self.scales[i])) for i, name in enumerate(self.names)}
        scored = np.broadcast_to(self.pointwise[self.data.scored], (1, 1, int(self.data.scored.sum())))
        likelihood = xr.Dataset({"choice": (("chain", "draw", "line"), scored)})
        groups = {
            "posterior": xr.Dataset(posterior, {"subject": list(self.data.subjects)}),
            "log_likelihood": likelihood,
        }
        return xr.DataTree.from_dict(groups)


def fit(
    data: Data,
    model: Model,
    *,
    weights: str = "free",
    pool: Pool = "none",
    jobs: int | None = None,
    progress: bool | None = None,
) -> Fit:
    """Fit a model to choices.

    Parameters
    ----------
    data : Data
        Choices, from `bb.read`.
    model : Model
        A sum of terms, such as `bb.model("PIG(VI)", bb.crp()) + bb.bias() + bb.lapse()`.
    weights : {"free", "positive"}
        With "positive", the weights of drives are at least 0. As a group, their logarithms are Gaussian.
    pool : {"none", "all", "group"}
        "none" fits each person alone, "all" uses the same parameters for all people, and "group" assumes that each
        parameter has a Gaussian distribution among people (Laplace-EM).
    jobs : int, optional
        Number of threads that replay the choices with several settings; by default the number of cores.
    progress : bool, optional
        Whether to show a progress bar on standard error; by default only if it is a terminal.

    Returns
    -------
    Fit
        Estimates for people and group, and the profile over settings. Settings are the same for all people.
    """
    check_data_and_model(data, model)
    check_option("weights", weights, WEIGHTS)
    check_option("pool", pool, POOLS)
    check_scored(data, model)
    replay_on_grids(data, [model], jobs, progress)
    with progress_bar("fits", usual_number(model.settings()), progress) as advance:
        return fit_with_progress(data, model, weights, pool, advance)


def fit_with_progress(data: Data, model: Model, weights: str, pool: Pool, advance: Callable[[], None]) -> Fit:
    """Fit a model as `fit` does, in one thread, and call `advance` after each setting that was tried."""
    check_scored(data, model)
    positive = positive_weights(data, model, weights)
    last: list[_Fitted] = []

    def fitted(settings: dict[str, float], near: _Fitted | None) -> _Fitted:
        return _fit_design(design_of(data, model, settings), positive, model.has_lapse, pool, near)

    def score(settings: dict[str, float]) -> float:
        last[:] = [fitted(settings, last[0] if last else None)]
        advance()
        return last[0].score

    _, profile = search_settings(model.settings(), score)
    if len(profile) == 1:
        return Fit(data, model, _settings_of(profile[0]), weights, pool, last[0].logit, last[0].group, profile)
    profile.sort(key=lambda line: line["score"])
    best, final = {}, None
    n_thorough = N_THOROUGH if pool != "group" and _has_several_maxima(last[0].design, model.has_lapse) else 1
    for line in profile[-n_thorough:]:
        refitted = fitted(_settings_of(line), None)  # from all starts
        line["score"] = refitted.score
        if final is None or refitted.score > final.score:
            best, final = _settings_of(line), refitted
    assert final is not None
    profile.sort(key=lambda line: line["score"])
    return Fit(data, model, best, weights, pool, final.logit, final.group, profile)


def _settings_of(line: Mapping[str, float]) -> dict[str, float]:
    """Return the settings in a line of the profile."""
    return {name: value for name, value in line.items() if name != "score"}


class _Fitted(NamedTuple):
    """A fit with given settings."""

    design: Design
    logit: LogitFit
    group: GroupFit | None

    @property
    def score(self) -> float:
        """Log-likelihood of all people; as a group, their log evidence."""
        return float(self.logit.log_likelihood.sum() if self.group is None else self.group.log_evidence.sum())


def _has_several_maxima(design: Design, has_lapse: bool) -> bool:
    """Whether the likelihood may have several maxima, because people lapse and have few choices."""
    return bool(has_lapse and np.median(design.n) < FEW_CHOICES)


def _fit_design(design: Design, positive: BoolArray, has_lapse: bool, pool: Pool, near: _Fitted | None) -> _Fitted:
    """Fit the weights for given settings; `near` is a fit with other settings, from which the search may start."""
    if pool == "group":
        group = fit_group(design, positive, has_lapse, None if near is None else near.group)
        return _Fitted(design, group.people, group)
    pooled = design.together() if pool == "all" else design
    parameters = make_parameters(pooled, positive, has_lapse)
    starts = None if near is None else near_starts(near.logit.theta, near.design, pooled)
    if starts is not None and _has_several_maxima(pooled, has_lapse):
        starts = np.concatenate([starts, default_starts(pooled, parameters)], axis=1)
    return _Fitted(pooled, fit_logit(pooled, parameters, starts), None)


def design_of(data: Data, model: Model, settings: Mapping[str, float]) -> Design:
    """Return the values of a model with these settings, and the choices."""
    return make_design(model.values(data, settings), data.allowed, data.chosen, data.begin)


def positive_weights(data: Data, model: Model, weights: str) -> BoolArray:
    """Return whether each weight must be positive, (K,)."""
    return np.array(model.is_drive(data.actions), dtype=bool) & (weights == "positive")


def to_natural(theta: Any, scale: str) -> Any:
    """Return a weight or a probability for a parameter on its scale."""
    from scipy.special import expit

    if scale == "log":
        return np.exp(theta)
    return expit(theta) if scale == "logit" else np.asarray(theta)


def choice_probabilities(data: Data, model: Model, settings: Mapping[str, float], estimates: FloatArray) -> FloatArray:
    """Return the probability of each action before each choice, (T, A), given the estimates of each person."""
    from scipy.special import softmax

    x = np.where(data.allowed[:, :, None], model.values(data, settings), 0.0)
    theta = estimates[data.person]
    value = np.einsum("tak,tk->ta", x, theta[:, : x.shape[2]])
    p = softmax(np.where(data.allowed, value, -np.inf), axis=1)
    if not model.has_lapse:
        return np.asarray(p)
    uniform = data.allowed / data.allowed.sum(axis=1, keepdims=True)
    return np.asarray((1.0 - theta[:, -1:]) * p + theta[:, -1:] * uniform)


def pointwise_log_likelihood(data: Data, probabilities: FloatArray) -> FloatArray:
    """Return the log probability of each choice, (T,); NaN if it is not scored."""
    taken = probabilities[np.arange(len(data.steps)), np.maximum(data.chosen, 0)]
    return np.where(data.scored, np.log(np.maximum(taken, np.finfo(float).tiny)), np.nan)


def check_data_and_model(data: Any, model: Any) -> None:
    """Raise a `TypeError` if the data are not from `bb.read`, or the model is not a sum of terms."""
    if not isinstance(data, Data):
        raise TypeError(f"data is a {type(data).__name__}; it must be the result of bb.read")
    if not isinstance(model, Model):
        raise TypeError(f"model is {short_repr(model)}; it must be a sum of terms, such as bb.model(...) + bb.bias()")


def check_fit(fitted: Any) -> None:
    """Raise a `TypeError` if something is not the result of `bb.fit`."""
    if not isinstance(fitted, Fit):
        raise TypeError(f"fit is a {type(fitted).__name__}; it must be the result of bb.fit")


def check_option(name: str, value: str, options: tuple[str, ...]) -> None:
    """Raise a `ValueError` unless `value` is one of the options."""
    if value not in options:
        raise ValueError(f"{name} is {value!r}; it must be {', '.join(options[:-1])} or {options[-1]}")


def check_scored(data: Data, model: Model) -> None:
    """Raise a `ValueError` if a person has no choices, or the model has no terms with weights."""
    n = np.add.reduceat(data.scored.astype(int), data.begin[:-1])
    if (n == 0).any():
        subject = data.subjects[int(n.argmin())]
        raise ValueError(f"person {subject!r} has no scored choices; leave this person out")
    if not model.weight_names(data.actions):
        raise ValueError(f"the model {model} has no weights; add a term such as bb.bias()")
