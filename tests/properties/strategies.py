"""Hypothesis strategies for priors, histories and worlds."""

import numpy as np
from hypothesis import strategies as st

from berlyne import Dirichlet, InternalModel, OneTwoThree

ALPHAS = st.sampled_from([1e-3, 0.1, 0.25, 1.0, 7.0])


@st.composite
def masks(draw, max_states=5, max_actions=3):
    """Supports (M, N, N) in which every row reaches some state."""
    n_states, n_actions = draw(st.integers(1, max_states)), draw(st.integers(1, max_actions))
    bits = st.lists(st.booleans(), min_size=n_states, max_size=n_states)
    mask = np.array([[draw(bits) for _ in range(n_states)] for _ in range(n_actions)])
    fallback = draw(st.integers(0, n_states - 1))
    mask[..., fallback] |= ~mask.any(axis=-1)
    return mask


@st.composite
def dirichlet_histories(draw):
    """A Dirichlet prior and a history it admits."""
    mask = draw(masks())
    possible = [(int(s), int(a), int(s_next)) for a, s, s_next in np.argwhere(mask)]
    return Dirichlet(draw(ALPHAS), mask), draw(st.lists(st.sampled_from(possible), max_size=25))


@st.composite
def one_two_three_histories(draw):
    """A 1-2-3 prior and a history it admits, drawn from target sets of its own."""
    n_actions = draw(st.integers(1, 3))
    n_states = draw(st.integers(n_actions + 1, 7))
    prior = OneTwoThree(n_states, n_actions, draw(st.sampled_from([0.1, 0.75, 0.9])))
    rows = prior.sample(draw(st.integers(0, 2**32)))
    possible = [(int(s), int(a), int(s_next)) for a, s, s_next in np.argwhere(rows.dense() > 0)]
    return prior, draw(st.lists(st.sampled_from(possible), max_size=25))


def learn(prior, history):
    model = InternalModel(prior)
    model.observe_many(history)
    return model
