"""Compare berlyne with QuantEcon, pymdp, rlberry and Gymnasium in the same worlds: python benchmarks/peers.py.

QuantEcon plans but does not explore. Measured is `backward_induction` of eleven terms on the estimated model, with and
without creating `DiscreteDP`, because the model changes at every step. pymdp explores by the expected free energy of
whole policies. Here it uses parameter information gain alone, in a fully observed world, with learning, planning and
the world in one compiled `jax.lax.scan`. Policies of length L look L steps ahead, and berlyne looks eleven steps ahead.
rlberry explores without reward by UCBVI with count bonuses, in episodes of eleven steps. It plans after each episode,
or during the episode (in real time). Gymnasium does not explore. Measured is a random agent that steps through our
worlds by its interface, compared with `Random` of berlyne.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import RUN_LENGTHS, print_environment, print_table, time_in_turns

from berlyne import UTILITIES, InternalModel, World, dense_world, explore, maze

N_MODELS = 50
EPISODE = 11
"""Steps that berlyne looks ahead, and steps of an episode of rlberry."""


def quantecon_jobs(world: World) -> dict[str, tuple[Any, int]]:
    """Return jobs that plan along an exploration, each with its number of plans."""
    from quantecon.markov import DiscreteDP, backward_induction

    run = explore(world, "PIG(VI)", n_steps=N_MODELS)
    history = np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
    model, estimates = InternalModel(run.world.prior), []  # type: ignore[arg-type]  # our worlds have priors
    for step in history:
        estimates.append((UTILITIES["PIG"].of(model).T.copy(), model.theta_hat.transpose(1, 0, 2).copy()))
        model.observe_many(step[None])

    def problems() -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warns that no infinite horizon can be solved without a discount
            return [DiscreteDP(utility, theta_hat, 1.0) for utility, theta_hat in estimates]

    prepared = problems()
    return {
        "QuantEcon, planning only": (lambda: [backward_induction(p, 11) for p in prepared], N_MODELS),
        "QuantEcon, with its DiscreteDP created": (lambda: [backward_induction(p, 11) for p in problems()], N_MODELS),
    }


def pymdp_job(world: World, policy_len: int, n_steps: int) -> Any:
    """Return a job that explores with a pymdp agent, compiled as a whole."""
    import jax
    import jax.numpy as jnp
    from pymdp.agent import Agent

    n, m = world.n_states, world.n_actions
    mask = np.zeros((n, n, m))
    for a, s in np.ndindex(m, n):
        mask[world.prior.support.row(a, s), s, a] = 1.0  # type: ignore[union-attr]  # a Dirichlet prior
    counts = jnp.asarray(world.prior.alpha * mask + 1e-16)[None]  # type: ignore[union-attr]  # a Dirichlet prior
    identity, theta = jnp.eye(n)[None], jnp.asarray(world.theta)
    agent = Agent(
        A=[identity], B=[counts / counts.sum(axis=1, keepdims=True)], C=[jnp.zeros((1, n))], D=[jnp.ones((1, n)) / n],
        pB=[counts], policy_len=policy_len, use_utility=False, use_states_info_gain=False, use_param_info_gain=True,
        learn_B=True, num_controls=[m],
    )  # fmt: skip

    def step(carry: Any, key: Any) -> Any:
        agent, s = carry
        q_pi, _ = agent.infer_policies([jax.nn.one_hot(s, n)[None, None]])
        action = agent.sample_action(q_pi)
        s_next = jax.random.choice(key, n, p=theta[action[0, 0], s])
        beliefs = [jnp.stack([jax.nn.one_hot(s, n), jax.nn.one_hot(s_next, n)])[None]]
        seen = [jnp.stack([s, s_next])[None]]
        agent = agent.infer_parameters(beliefs, seen, action[:, None, :], beliefs_B=beliefs)
        return (agent, s_next), action[0, 0]

    keys = jax.random.split(jax.random.PRNGKey(0), n_steps)
    scan = jax.jit(lambda agent: jax.lax.scan(step, (agent, jnp.asarray(0)), keys)[1])
    return lambda: np.asarray(scan(agent))


def rlberry_job(world: World, in_real_time: bool, n_episodes: int) -> Any:
    """Return a job that explores without reward by UCBVI."""
    import logging

    from rlberry.envs import FiniteMDP
    from rlberry_scool.agents import UCBVIAgent

    logging.disable(logging.WARNING)
    kernel = np.ascontiguousarray(world.theta.transpose(1, 0, 2))
    env = FiniteMDP(np.zeros(kernel.shape[:2]), kernel, initial_state_distribution=0)
    options = {"horizon": EPISODE, "gamma": 1.0, "reward_free": True, "real_time_dp": in_real_time}
    return lambda: UCBVIAgent(env, **options).fit(budget=n_episodes)


def gymnasium_job(world: World, n_steps: int) -> Any:
    """Return a job in which a random agent steps through a world by the interface of Gymnasium."""
    from berlyne.envs.world_env import WorldEnv

    env = WorldEnv(world)
    actions = np.random.default_rng(0).integers(world.n_actions, size=n_steps).tolist()

    def go() -> None:
        env.reset(seed=0)
        for a in actions:
            env.step(a)

    return go


def main() -> None:
    """Print one table for each class of worlds."""
    parser = argparse.ArgumentParser(description="Compare berlyne with QuantEcon, pymdp, rlberry and Gymnasium.")
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds; the shortest time counts")
    options = parser.parse_args()
    print_environment("quantecon", "inferactively-pymdp", "jax", "rlberry-scool", "gymnasium")
    for world in (dense_world(0), maze(0)):
        n = RUN_LENGTHS[world.name]
        jobs: dict[str, tuple[Any, int]] = {
            "berlyne, whole exploration": (partial(explore, world, "PIG(VI)", n_steps=n), n),
            "berlyne, NumPy twin": (partial(explore, world, "PIG(VI)", n_steps=n, engine="numpy"), n),
        }
        if find_spec("quantecon"):
            jobs.update(quantecon_jobs(world))
        if find_spec("pymdp"):
            for length in (1, 3):
                jobs[f"pymdp, whole exploration, policies of length {length}"] = pymdp_job(world, length, 200), 200
        if find_spec("rlberry_scool"):
            for planning, in_real_time in (("planning after every episode", False), ("planning in real time", True)):
                jobs[f"rlberry, UCBVI without reward, {planning}"] = rlberry_job(world, in_real_time, 40), 40 * EPISODE
        if find_spec("gymnasium"):
            jobs["berlyne, Random"] = partial(explore, world, "Random", n_steps=n), n
            jobs["Gymnasium, the steps of a random agent"] = gymnasium_job(world, n), n
        taken = time_in_turns({name: job for name, (job, _) in jobs.items()}, options.rounds)
        per_step = {name: taken[name] / n_units * 1e6 for name, (_, n_units) in jobs.items()}
        ours = per_step["berlyne, whole exploration"]
        print(f"{world.name}, {world.n_states} states, {world.n_actions} actions\n")
        print_table(
            ["", "µs a step", "of berlyne"], ([name, f"{t:.2f}", f"{t / ours:.0f}"] for name, t in per_step.items())
        )


if __name__ == "__main__":
    main()
