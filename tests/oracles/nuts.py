"""Group distributions of simulated people by a No-U-Turn sampler, which shares no code with the package.

`python tests/oracles/nuts.py` needs NumPyro (0.22 was used), which the tests do not need: it writes `nuts.json` beside
this file, with the posterior mean and standard deviation of the group's means and standard deviations. The priors are
wide, Normal(0, 5) and HalfNormal(3). It takes a few minutes. Renew the file only if the simulated people change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracles.choice_likelihood import probabilities

STORED = Path(__file__).with_suffix(".json")
N_PEOPLE, N_CHOICES, N_ACTIONS = 40, 120, 3
MEAN, SD = np.array([0.3, 0.5, -2.5]), np.array([0.5, 0.7, 0.8])
"""Group of the logarithm of a positive weight, of a free weight, and of the logit of the lapse."""


def people() -> tuple[Any, Any]:
    """Simulate values (people, choices, actions, 2) and choices (people, choices)."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(N_PEOPLE, N_CHOICES, N_ACTIONS, 2))
    chosen = np.empty((N_PEOPLE, N_CHOICES), dtype=np.int64)
    allowed = np.ones((N_CHOICES, N_ACTIONS), dtype=bool)
    for i in range(N_PEOPLE):
        theta = rng.normal(MEAN, SD)
        theta[0] = np.exp(theta[0])
        cumulative = probabilities(theta, x[i], allowed).cumsum(axis=1)
        chosen[i] = (rng.random((N_CHOICES, 1)) * cumulative[:, -1:] >= cumulative).sum(axis=1)
    return x, chosen


def sample() -> dict[str, Any]:
    """Sample the posterior; return means and standard deviations of the group's parameters."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    x, chosen = (jnp.asarray(array) for array in people())

    def model() -> None:
        mean = numpyro.sample("mean", dist.Normal(0, 5).expand([3]).to_event(1))
        sd = numpyro.sample("sd", dist.HalfNormal(3).expand([3]).to_event(1))
        z = numpyro.sample("z", dist.Normal(0, 1).expand([N_PEOPLE, 3]).to_event(2))
        theta = mean + sd * z
        weights = jnp.stack([jnp.exp(theta[:, 0]), theta[:, 1]], axis=1)
        log_p = jax.nn.log_softmax(jnp.einsum("itak,ik->ita", x, weights), axis=2)
        log_p = jnp.take_along_axis(log_p, chosen[:, :, None], axis=2)[:, :, 0]
        attend, lapse = jax.nn.log_sigmoid(-theta[:, 2:]), jax.nn.log_sigmoid(theta[:, 2:])
        numpyro.factor("choices", jnp.logaddexp(attend + log_p, lapse - jnp.log(N_ACTIONS)).sum())

    sampler = MCMC(NUTS(model), num_warmup=600, num_samples=1500, num_chains=2, chain_method="sequential")
    sampler.run(jax.random.PRNGKey(0))
    sampler.print_summary()
    draws = sampler.get_samples()
    of = {name: np.asarray(draws[name]) for name in ("mean", "sd")}
    return {f"{name}_{s}": getattr(v, s)(axis=0).round(4).tolist() for name, v in of.items() for s in ("mean", "std")}


if __name__ == "__main__":
    STORED.write_text(json.dumps(sample()) + "\n")
