"""Compare RF-UCRL with the numbers of its authors' code: python benchmarks/rf_ucrl.py [runs].

The protocol of Kaufmann et al. (2021), Adaptive reward-free exploration: the double chain with L = 31 states and a
probability of failure of 0.05, H = 20, discount 0.99. After a number of samples, the value of the best policy under
relative frequencies (uniform for rows that were never tried) is compared with the true value of the start, for a reward
of 1 for staying in the last state. As in that code, each number of samples is a run of its own, whole episodes are run,
and the generative model samples all pairs equally often. "PIG(VI), no cuts" is PIG(VI) in the same episodes, but
without knowing that they are cut: it plans beyond the cut.
"""

from __future__ import annotations

import sys

import numpy as np

from berlyne import Dirichlet, Explorer, double_chain_kaufmann, explore

N_STATES, HORIZON, GAMMA = 31, 20, 0.99
SAMPLES = (316, 1000, 3162, 10000)
AUTHORS = {
    "RF-UCRL": ((2.42, 0.11), (0.251, 0.047), (0.198, 0.040), (0.071, 0.010)),
    "Generative": ((0.52, 0.09), (0.291, 0.049), (0.103, 0.022), (0.065, 0.012)),
}
"""Mean and standard error of the error that the authors' code gave, for each number of samples."""
NO_CUTS = "PIG(VI), no cuts"
OURS = {"RF-UCRL": "RF-UCRL(gamma=0.99)", "Generative": "Generative", "PIG(VI)": "PIG(VI)", NO_CUTS: "PIG(VI)"}
PRIOR = Dirichlet(1.0 / N_STATES, n_states=N_STATES, n_actions=2)
WORLD = double_chain_kaufmann(N_STATES, 0.05).with_prior(PRIOR).with_horizon(HORIZON)
THETA = WORLD.theta
REWARD = np.zeros((2, N_STATES))
REWARD[:, -1] = THETA[:, -1, -1]


def value(theta: np.ndarray) -> float:
    """Return the value of the start under the best policy for transition probabilities `[a, s, s_next]`."""
    v = np.zeros(N_STATES)
    for _ in range(HORIZON):
        v = (REWARD + GAMMA * (theta @ v)).max(axis=0)
    return float(v[N_STATES // 2])


def counts_without_cuts(n_steps: int, seed: int) -> np.ndarray:
    """Return the counts `[a, s, s_next]` of PIG(VI) in episodes whose cuts it does not know."""
    rng, explorer = np.random.default_rng(seed), Explorer(PRIOR, "PIG(VI)", seed=seed)
    counts, s = np.zeros(THETA.shape), N_STATES // 2
    for t in range(n_steps):
        s = N_STATES // 2 if t % HORIZON == 0 else s
        a = explorer.act(s)
        s_next = int(rng.choice(N_STATES, p=THETA[a, s]))
        explorer.observe(s, a, s_next)
        counts[a, s, s_next] += 1
        s = s_next
    return counts


def error(name: str, n_samples: int, seed: int) -> float:
    """Return the error of the value of the start after a run."""
    together = 2 * N_STATES if name == "Generative" else HORIZON
    n_steps = -(-n_samples // together) * together
    if name == NO_CUTS:
        counts = counts_without_cuts(n_steps, seed)
    else:
        run = explore(WORLD, OURS[name], n_steps=n_steps, seed=seed)
        counts = np.zeros(THETA.shape)
        np.add.at(counts, (run.actions, run.states[:n_steps], run.next_states), 1)
    n = counts.sum(axis=2, keepdims=True)
    return abs(value(np.where(n > 0, counts / np.maximum(n, 1), 1.0 / N_STATES)) - value(THETA))


def main() -> None:
    """Print our means and standard errors, those of the authors, and the differences in standard errors."""
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("explorer         samples  ours             authors          difference")
    for name in OURS:
        total = 0.0
        for i, n_samples in enumerate(SAMPLES):
            errors = np.array([error(name, n_samples, 10_000 * i + seed) for seed in range(n_runs)])
            mean, sem = errors.mean(), errors.std(ddof=1) / np.sqrt(n_runs)
            line = f"{name:16s} {n_samples:7d}  {mean:.3f} ± {sem:.3f}"
            if name in AUTHORS:
                theirs, their_sem = AUTHORS[name][i]
                z = (mean - theirs) / np.hypot(sem, their_sem)
                total += z * z
                line += f"    {theirs:.3f} ± {their_sem:.3f}    {z:+.1f}"
            print(line, flush=True)
        if name in AUTHORS:
            print(f"{name:16s} chi-squared {total:.1f} with {len(SAMPLES)} degrees of freedom")


if __name__ == "__main__":
    main()
