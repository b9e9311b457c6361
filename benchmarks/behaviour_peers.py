"""CPU time of fitting a softmax with lapses on given values to each of 57 people: berlyne, cpm, SciPy.

    python benchmarks/behaviour_peers.py                 # berlyne and SciPy, in an environment with berlyne
    python benchmarks/behaviour_peers.py --peer cpm      # cpm alone, in an environment of its own
    python benchmarks/behaviour_peers.py --peer hssm --starts 1   # HSSM alone, in another one; minutes

cpm (cpm-toolbox, AGPL) needs an environment of its own: `pip install "cpm-toolbox[numba]"`. So does HSSM:
`pip install hssm "matplotlib<3.11"`. It compiles in other processes, whose time counts. All fit the same simulated
choices: (1 - lapse) softmax(x w) + lapse / 3, with five weights and a lapse for each person. Each prints the sum of the
log-likelihoods, so that you can see whether it reached the same optimum. The peers are given their fastest form: cpm a
model of whole sessions, compiled by Numba, with L-BFGS-B; SciPy the exact gradient in NumPy.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from typing import Any

import numpy as np

N_PEOPLE, N_CHOICES, N_ACTIONS, N_WEIGHTS = 57, 710, 3, 5
SCALE = np.array([1.0, 1.0, 1.0, 0.7, 2.0])
LARGEST = 20.0
Person = tuple[Any, Any]


def simulate(seed: int = 0) -> list[Person]:
    """Return values (T, A, K) and choices (T,) of each person."""
    rng, people = np.random.default_rng(seed), []
    for _ in range(N_PEOPLE):
        x = rng.normal(size=(N_CHOICES, N_ACTIONS, N_WEIGHTS)) * SCALE
        w, lapse = rng.normal(0.0, 0.8, N_WEIGHTS), rng.uniform(0.01, 0.15)
        p = np.exp(x @ w)
        p = (1 - lapse) * p / p.sum(axis=1, keepdims=True) + lapse / N_ACTIONS
        people.append((x, (rng.random((N_CHOICES, 1)) >= p.cumsum(axis=1)).sum(axis=1)))
    return people


def log_likelihood(theta: Any, x: Any, chosen: Any) -> tuple[float, Any]:
    """Return the log-likelihood of one person and its gradient by the weights and the lapse."""
    rows, lapse = np.arange(len(x)), theta[-1]
    value = x @ theta[:-1]
    p = np.exp(value - value.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    taken = p[rows, chosen]
    q = (1 - lapse) * taken + lapse / N_ACTIONS
    slope = taken[:, None] * (x[rows, chosen] - np.einsum("ta,tak->tk", p, x))
    by_lapse = ((1 / N_ACTIONS - taken) / q).sum()
    return float(np.log(q).sum()), np.append(((1 - lapse) * slope / q[:, None]).sum(axis=0), by_lapse)


def random_starts(n: int) -> Any:
    """Return starts (n, 6): weights and a lapse."""
    rng = np.random.default_rng(1)
    return np.column_stack([rng.normal(0.0, 1.0, (n, N_WEIGHTS)), rng.uniform(0.01, 0.3, n)])


def fit_berlyne(people: list[Person], n_starts: int) -> list[float]:
    """Newton from all default starts."""
    from berlyne.behaviour.logit import fit_logit, make_design, make_parameters

    x, chosen = (np.concatenate(part) for part in zip(*people, strict=True))
    begin = np.arange(0, len(x) + 1, N_CHOICES)
    design = make_design(x, np.ones(x.shape[:2], dtype=bool), chosen, begin)
    fit = fit_logit(design, make_parameters(design, np.zeros(N_WEIGHTS, dtype=bool), True))
    print(f"berlyne: {fit.maximum.n_starts[0]} starts for each person")
    return fit.log_likelihood.tolist()  # type: ignore[no-any-return]  # a list of floats


def fit_scipy(people: list[Person], n_starts: int) -> list[float]:
    """L-BFGS-B of SciPy with the exact gradient."""
    from scipy.optimize import minimize

    bounds = [(-LARGEST, LARGEST)] * N_WEIGHTS + [(1e-10, 0.999)]
    best = []
    for x, chosen in people:

        def loss(theta: Any, x: Any = x, chosen: Any = chosen) -> tuple[float, Any]:
            value, gradient = log_likelihood(theta, x, chosen)
            return -value, -gradient

        fits = [minimize(loss, s, jac=True, method="L-BFGS-B", bounds=bounds) for s in random_starts(n_starts)]
        best.append(-min(fit.fun for fit in fits))
    return best


def fit_cpm(people: list[Person], n_starts: int) -> list[float]:
    """L-BFGS-B of cpm with a compiled model of whole sessions."""
    import numba
    from cpm.generators import Parameters, SessionWrapper, Value
    from cpm.optimisation import FminBound, minimise

    @numba.njit
    def probabilities(x: Any, w: Any, lapse: float) -> Any:
        p = np.empty(x.shape[:2])
        for t in range(len(x)):
            largest, total = -np.inf, 0.0
            for a in range(x.shape[1]):
                p[t, a] = 0.0
                for k in range(len(w)):
                    p[t, a] += x[t, a, k] * w[k]
                largest = max(largest, p[t, a])
            for a in range(x.shape[1]):
                p[t, a] = np.exp(p[t, a] - largest)
                total += p[t, a]
            for a in range(x.shape[1]):
                p[t, a] = (1.0 - lapse) * p[t, a] / total + lapse / x.shape[1]
        return p

    names = [f"w{k}" for k in range(N_WEIGHTS)]

    def model(parameters: Any, data: Any) -> dict[str, Any]:
        w = np.array([float(parameters[name].value) for name in names])
        return {"dependent": probabilities(data["x"], w, float(parameters["lapse"].value))}

    values = {name: Value(0.1, -LARGEST, LARGEST, prior="uniform") for name in names}
    parameters = Parameters(**values, lapse=Value(0.05, 1e-10, 0.999, prior="uniform"))
    data = [
        {"ppt": i, "x": x, "observed": np.eye(N_ACTIONS)[chosen], "trials": np.arange(len(x))}
        for i, (x, chosen) in enumerate(people)
    ]
    wrapper = SessionWrapper(model=model, data=data[0], parameters=parameters)
    best = np.full(len(people), -np.inf)
    for start in random_starts(n_starts):
        search = FminBound(
            model=wrapper,
            data=data,
            minimisation=minimise.LogLikelihood.categorical,
            initial_guess=start[None],
            number_of_starts=1,
            ppt_identifier="ppt",
            hessian="finite_differences",
            approx_grad=True,
        )
        search.optimise()
        best = np.maximum(best, [-fit["fun"] for fit in search.fit])
    return best.tolist()  # type: ignore[no-any-return]  # a list of floats


def fit_hssm(people: list[Person], n_starts: int) -> list[float]:
    """Posterior mode by HSSM with nearly flat priors, all people in one model, from one start whatever `n_starts` is.

    The lapse is part of the likelihood: for choices alone, `p_outlier` of HSSM 0.3.0 has the wrong probability.
    """
    import hssm
    import pandas as pd
    import pytensor.tensor as pt

    names = [f"w{k}" for k in range(N_WEIGHTS)]
    fields = [f"x{a}{k}" for a in range(N_ACTIONS) for k in range(N_WEIGHTS)]

    def log_probability(data: Any, *arguments: Any) -> Any:
        w, lapse, x = arguments[:N_WEIGHTS], arguments[N_WEIGHTS], arguments[N_WEIGHTS + 1 :]
        values = pt.stack([sum(w[k] * x[a * N_WEIGHTS + k] for k in range(N_WEIGHTS)) for a in range(N_ACTIONS)])
        taken = values[data.astype("int32"), pt.arange(data.shape[0])] - pt.logsumexp(values, axis=0)
        return pt.log((1 - lapse) * pt.exp(taken) + lapse / N_ACTIONS)

    tables = [
        pd.DataFrame(
            {"person": f"p{i:02d}", "response": chosen, **dict(zip(fields, x.reshape(len(x), -1).T, strict=True))}
        )
        for i, (x, chosen) in enumerate(people)
    ]
    flat = {"C(person)": {"name": "Normal", "mu": 0.0, "sigma": 100.0}}
    links = {**dict.fromkeys(names, "identity"), "lapse": "logit"}
    model = hssm.HSSM(
        data=pd.concat(tables, ignore_index=True),
        model="given_values",
        model_config={
            "response": ["response"],
            "choices": list(range(N_ACTIONS)),
            "list_params": list(links),
            "bounds": {**dict.fromkeys(names, (-LARGEST, LARGEST)), "lapse": (0.0, 1.0)},
            "extra_fields": fields,
            "backend": "pytensor",
        },
        loglik=log_probability,
        loglik_kind="analytical",
        include=[{"name": n, "formula": f"{n} ~ 0 + C(person)", "prior": flat, "link": links[n]} for n in links],
        p_outlier=None,
    )
    start = {f"{n}_C(person)": np.full(len(people), -np.log(19.0) if n == "lapse" else 0.1) for n in links}
    mode = model.find_MAP(progressbar=False, start=start, maxeval=100_000)
    theta = np.column_stack([np.ravel(mode[f"{n}_C(person)"]) for n in links])
    theta[:, -1] = 1.0 / (1.0 + np.exp(-theta[:, -1]))
    return [log_likelihood(theta[i], x, chosen)[0] for i, (x, chosen) in enumerate(people)]


def cpu_time() -> float:
    """Return the processor time of this process and its children, in seconds."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


PEERS: dict[str, Callable[[list[Person], int], list[float]]] = {
    "berlyne": fit_berlyne,
    "scipy": fit_scipy,
    "cpm": fit_cpm,
    "hssm": fit_hssm,
}


def main() -> None:
    """Print the CPU time and the log-likelihood of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=PEERS, action="append", help="by default berlyne and scipy")
    parser.add_argument("--starts", type=int, nargs="+", default=[1, 3], help="random starts of the peers")
    arguments = parser.parse_args()
    people = simulate()
    for name in arguments.peer or ["berlyne", "scipy"]:
        PEERS[name](people[:2], 1)  # compiles
        for n_starts in [1] if name == "berlyne" else arguments.starts:
            rounds = []
            for _ in range(3 if name == "berlyne" else 1):
                begin = cpu_time()
                nats = PEERS[name](people, n_starts)
                rounds.append(cpu_time() - begin)
            print(f"{name}, {n_starts} starts: {min(rounds):.2f} s of CPU time, {sum(nats):.6f} nats", flush=True)


if __name__ == "__main__":
    main()
