"""A world: the hidden transition probabilities, and the prior an explorer may be told.

Paper: Sec. 2.1. A world is a controllable Markov chain with kernel `theta[a, s, s_next]`. It is
held as sparse rows; the dense array exists only when asked for.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.labels import Labelled, Labels, TransitionError
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.protocols import check_prior, checked_estimate, discovers_states
from berlyne.sparse import Rows, checked_rows, row_error
from berlyne.validation import OWN_PRIOR, OWN_WORLDS, FloatArray, IntArray, check_index, short_repr
from berlyne.worlds.edge_table import to_edges
from berlyne.worlds.episodes import Episodes, prior_with_resets, rows_with_resets
from berlyne.worlds.layout import Geometry, parse_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUM_TOLERANCE = 1e-6
"""Rows this close to a sum of one are rescaled to it (single precision gets no closer)."""


class World(Labelled, HtmlReprMixin):
    """A controllable Markov chain, and what an explorer of it may assume.

    Paper: Sec. 2.1; readings R1 and R13.

    Parameters
    ----------
    theta : (M, N, N) array `[a, s, s_next]`, a list of M SciPy sparse (N, N) matrices, or `Rows`.
        Rows must be probability distributions; sums within 1e-6 of one are rescaled.
    prior : what an explorer believes before it has seen anything; any `Prior`, or None.
    start : the state exploration begins in; probabilities, as a mapping from states or an array (N,); None for
        one drawn uniformly by each exploration.
    name : shown in tables and figures.
    states, actions : labels in the order of `theta`, any hashable values; None for 0, 1, 2, ...
    terminal : states in which an episode ends; the next begins as `start` says (`berlyne.worlds.episodes`).
    positions : where states lie in pictures, x to the right and y down: a mapping from states to (x, y), an array
        (N, 2), or the `Geometry` of a maze; None to have them laid out (`berlyne.worlds.layout`).

    Attributes
    ----------
    rows : the transition rows, sparse.
    prior, name, n_actions, n_states : as above; a world cannot be changed.
    states, actions : all labels in order; `range(n)` where there are none.
    start : the number of the state, (N,) probabilities, or None; terminal : (T,), numbers of the terminal states.
    geometry : walls, transporters and base of a maze; None for other worlds.
    positions : (N, 2) as given, or the centres of the rooms of a maze; else None, and `places` lays states out.

    Examples
    --------
    >>> World(np.array([[[0.5, 0.5], [1.0, 0.0]]]))
    World('world': 2 states, 1 action, no prior)
    >>> lamp = World(np.array([[[0.0, 1.0], [1.0, 0.0]]]), states=["on", "off"], actions=["press"], start="off")
    >>> lamp.states, lamp.start
    (('on', 'off'), 1)
    """

    rows: Rows
    n_actions: int
    n_states: int
    prior: Prior | None
    name: str
    geometry: Geometry | None
    positions: FloatArray | None
    state_labels: Labels
    action_labels: Labels
    episodes: Episodes

    def __init__(
        self,
        theta: FloatArray | Sequence[Any] | Rows,
        prior: Prior | None = None,
        *,
        start: Any = None,
        name: str = "world",
        states: Iterable[Hashable] | None = None,
        actions: Iterable[Hashable] | None = None,
        terminal: Iterable[Hashable] | None = None,
        positions: Any = None,
    ) -> None:
        unchecked = _unchecked_rows(theta)
        labels = Labels("state", int(unchecked.n_states), states), Labels("action", int(unchecked.n_actions), actions)
        try:
            rows = _as_rows(unchecked)
            if prior is not None:
                _check_prior(prior, rows)
        except TransitionError as error:
            raise error.with_labels(*labels) from None
        put = object.__setattr__  # the only way for a frozen object to come into being
        put(self, "rows", rows)
        put(self, "n_actions", rows.n_actions)
        put(self, "n_states", rows.n_states)
        put(self, "prior", prior)
        put(self, "name", name)
        put(self, "geometry", positions if isinstance(positions, Geometry) else None)
        put(self, "positions", parse_positions(labels[0], positions))
        put(self, "state_labels", labels[0])
        put(self, "action_labels", labels[1])
        put(self, "episodes", Episodes(labels[0], start, terminal))

    def __setattr__(self, name: str, value: Any) -> None:
        instead = "with_prior(...)" if name == "prior" else "World(...)"
        raise AttributeError(f"a world cannot be changed, and {name} neither; make another one by {instead}")

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)  # says that it cannot be

    def with_prior(self, prior: Prior | None) -> World:
        """The same world with another prior; transitions are shared, not copied."""
        return self.replace(prior=prior)

    def with_resets(self) -> World:
        """The same world without terminal states: there every action leads to the start distribution.

        Resets are then transitions like any other, to be explored and learned. A Dirichlet prior with a support of
        its own comes to allow them.
        """
        rows = rows_with_resets(self)
        return self.replace(theta=rows, prior=prior_with_resets(self, rows), terminal=None)

    def replace(self, **parts: Any) -> World:
        """The same world but for some arguments of the constructor."""
        same = {
            "theta": self.rows,
            "prior": self.prior,
            "start": None if self.start is None else self._start_label(),
            "terminal": [self.states[s] for s in self.terminal.tolist()],
            "states": self.state_labels.custom,
            "actions": self.action_labels.custom,
            "name": self.name,
            "positions": self.positions if self.geometry is None else self.geometry,
        }
        return World(**{**same, **parts})

    def to_edges(self) -> dict[str, list[Any]]:
        """Columns `s`, `a`, `s_next` (labels) and `p` of all transitions: `pandas.DataFrame(world.to_edges())`."""
        return to_edges(self)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world: a maze with its walls, a grid of squares, a graph, or beyond 60 states a matrix.

        options : `action`, whose transitions alone are drawn; `labels` and `bar`, whether to write names of states and
            to draw a colour bar.
        """
        drawn: Axes = figures_package().draw_world(self, ax, **options)
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the world to one file, without pickle, whole or not at all; `berlyne.load_world` reads it.

        The end of the name says how: `.npz` keeps everything, but for a prior of your own; `.csv` and `.parquet`
        keep transitions and labels, one line `s, a, s_next, p` each.
        """
        from berlyne.worlds.io import save_world  # here, because it knows what a world is

        save_world(path, self)

    def _start_label(self) -> Any:
        """The start as the constructor takes it."""
        return self.states[self.start] if isinstance(self.start, int) else self.start

    @property
    def start(self) -> int | FloatArray | None:
        """The number of the state that exploration begins in, (N,) probabilities, or None."""
        return self.episodes.start

    @property
    def terminal(self) -> IntArray:
        """Numbers of the terminal states, ascending."""
        return self.episodes.terminal

    def __repr__(self) -> str:
        states = f"{self.n_states:,} state{'s' * (self.n_states != 1)}"
        actions = f"{self.n_actions} action{'s' * (self.n_actions != 1)}"
        prior = "no prior" if self.prior is None else f"prior {self.prior!r}"
        return f"World({self.name!r}: {states}, {actions}, {prior})"

    @property
    def theta(self) -> FloatArray:
        """The transition probabilities `theta[a, s, s_next]`, a fresh dense `(M, N, N)` array."""
        return self.rows.dense()

    def sample(self, a: int, s: int, u: float) -> int:
        """The state that follows action a in state s for a uniform number `u` in [0, 1), all by number.

        Never a state of probability zero, even where rounding leaves the row's sum below `u`.
        """
        r = check_index("s", s, self.n_states) * self.n_actions + check_index("a", a, self.n_actions)
        begin, end = self.rows.indptr[r], self.rows.indptr[r + 1]
        step = int(np.searchsorted(self.rows.cumulative[begin:end], u, side="right"))
        return int(self.rows.indices[min(begin + step, end - 1)])


def check_world(world: Any) -> World:
    """Refuse what is no world."""
    if not isinstance(world, World):
        raise ValueError(f"world is {short_repr(world)}; it must be a World, such as berlyne.maze() makes")
    return world


def _unchecked_rows(theta: FloatArray | Sequence[Any] | Rows) -> Rows:
    """Rows from any form that a user may give them."""
    if isinstance(theta, Rows):
        return theta
    if isinstance(theta, list | tuple) and len(theta) and hasattr(theta[0], "tocsr"):
        return Rows.from_sparse(theta)
    return _from_array(theta)


def _as_rows(rows: Rows) -> Rows:
    """Checked rows, rescaled to sums of one."""
    rows = checked_rows(rows)
    _check_entries(rows)
    sums = rows.row_sums(rows.data)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(wrong):
        first = wrong[0]
        raise row_error(
            first, rows.n_actions, "{row} of theta sums to {total:.9g}; every row must sum to 1", total=sums[first]
        )
    if np.any(np.abs(sums - 1.0) > 1e-12):
        data = rows.data / sums[rows.row_numbers()]
        rows = Rows(rows.n_actions, rows.n_states, rows.indptr, rows.indices, data)
    return rows


def _from_array(theta: Any) -> Rows:
    try:
        array = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "theta is not an array of numbers; it must be (n_actions, n_states, n_states), "
            f"or a list of one SciPy sparse matrix per action{OWN_WORLDS}"
        ) from None
    if array.ndim != 3 or array.shape[1] != array.shape[2] or 0 in array.shape:
        raise ValueError(f"theta has shape {array.shape}; it must be (n_actions, n_states, n_states)")
    return Rows.from_dense(array)


def _check_entries(rows: Rows) -> None:
    bad = np.flatnonzero(~(rows.data > 0) | ~np.isfinite(rows.data))
    if len(bad):
        r = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise row_error(
            r,
            rows.n_actions,
            "{row} of theta holds {p:g} for state {s_next}; probabilities must be finite and not negative",
            rows.indices[bad[0]],
            p=rows.data[bad[0]],
        )


def _check_prior(prior: Prior, rows: Rows) -> None:
    """Refuse a prior of another size, or one under which this world is impossible."""
    check_prior(prior)
    for name in ("n_actions", "n_states"):
        theirs, ours = getattr(prior, name, None), getattr(rows, name)
        if theirs is not None and theirs != ours:
            raise ValueError(f"the prior has {name}={theirs} and theta has {name}={ours}; they must agree")
    if hasattr(prior, "check_rows"):
        prior.check_rows(rows)
        return
    if discovers_states(prior):  # nothing is impossible that is not known yet
        return
    theta = rows.dense()
    theta_hat = checked_estimate(prior, np.zeros(theta.shape, dtype=np.int64))
    excluded = np.argwhere((theta > 0) & ~(theta_hat > 0))
    if len(excluded):
        a, s, s_next = excluded[0]
        raise row_error(
            s * rows.n_actions + a,
            rows.n_actions,
            "{row} can reach state {s_next}, which has probability zero under the prior" + OWN_PRIOR,
            s_next,
        )
