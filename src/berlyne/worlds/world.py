"""World: the hidden transition probabilities, and the prior that an explorer may know.

Paper: Sec. 2.1. A world is a controllable Markov chain with kernel `theta[a, s, s_next]`. It is stored as sparse rows.
The dense array is created on request.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.frozen import read_only
from berlyne.labels import Labelled, Labels, TransitionError
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.protocols import check_prior, checked_estimate, discovers_states
from berlyne.sparse import Rows, checked_rows, row_error
from berlyne.validation import OWN_PRIOR, OWN_WORLDS, BoolArray, FloatArray, IntArray, check_index, short_repr
from berlyne.worlds.edge_table import to_edges
from berlyne.worlds.episodes import Episodes, prior_with_resets, rows_with_resets
from berlyne.worlds.layout import Geometry, parse_marks, parse_positions
from berlyne.worlds.possible import check_some_possible, fill_forbidden, parse_possible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUM_TOLERANCE = 1e-6
"""Rows whose sum differs from one by at most this are rescaled (single precision is not more precise)."""
MeasuredRows = Literal["reachable", "all"]
"""Rows that missing information and L1 distance count."""
NO_PRIOR = f"the world has no prior, and explorers need one; create the world as World(theta, prior){OWN_WORLDS}"


class World(Labelled, HtmlReprMixin):
    """Controllable Markov chain, with the prior of its explorers.

    Paper: Sec. 2.1; readings R1 and R13. A world cannot be changed.

    Parameters
    ----------
    theta : array of shape (M, N, N), list of M SciPy sparse (N, N) matrices, or Rows
        Transition probabilities `[a, s, s_next]`. Rows must be probability distributions; sums within 1e-6 of one are
        rescaled.
    prior : Prior or None
        Belief of an explorer before it has observed anything.
    start : hashable, mapping, array of shape (N,), or None
        State in which exploration begins, or probabilities, as a mapping from states or an array. None for a state
        drawn uniformly by each exploration.
    name : str
        Name in tables and figures.
    states, actions : iterable of hashable, or None
        Labels in the order of `theta`. None for 0, 1, 2, ...
    terminal : iterable of hashable, or None
        States in which an episode ends. The next episode begins as defined by `start` (`berlyne.worlds.episodes`).
    possible : mapping, array of bool and shape (M, N), or None
        Actions that can be taken in each state: a mapping from states to actions, in which all actions are possible in
        the other states, or a mask `[a, s]`. None if all are possible. Rows that are not possible may be zero in
        `theta`. No action is possible in a terminal state.
    horizon : int or None
        Number of steps after which an episode is cut, and the next one begins. None if episodes are never cut.
    positions : mapping, array of shape (N, 2), Geometry or None
        Positions of states in pictures, x to the right and y down: a mapping from states to (x, y), an array, or the
        `Geometry` of a maze. None for a computed layout (`berlyne.worlds.layout`).
    marks : mapping or None
        Short texts for some states in pictures, such as `{15: "G"}` for a goal.

    Attributes
    ----------
    rows : Rows
        Transition rows, sparse.
    prior : Prior or None
        As above.
    name : str
        As above.
    n_actions, n_states : int
        Number of actions M and states N.
    states, actions : sequence
        All labels in order; `range(n)` if there are none.
    start : int, ndarray of shape (N,) or None
        Number of the state, or probabilities.
    terminal : ndarray of shape (T,)
        Numbers of the terminal states.
    allowed, possible : ndarray of bool, shape (M, N)
        Whether each action is allowed `[a, s]`, and whether it can be taken: it is allowed and its state not terminal.
    geometry : Geometry or None
        Walls, transporters and base of a maze; None for other worlds.
    positions : ndarray of shape (N, 2) or None
        Positions as set, or the centres of the rooms of a maze. If None, `places` computes a layout.
    marks : dict
        Texts of states in pictures, by the number of the state.
    measured : {"reachable", "all"}
        Rows that missing information and L1 distance count: those of states that can be reached from where exploration
        starts, or all. Rows that are not possible never count. `with_measured` changes it.

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
    marks: dict[int, str]
    state_labels: Labels
    action_labels: Labels
    episodes: Episodes
    _allowed: BoolArray | None
    measured: MeasuredRows
    _starts: IntArray | None

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
        possible: Any = None,
        horizon: int | None = None,
        positions: Any = None,
        marks: Any = None,
    ) -> None:
        unchecked = _unchecked_rows(theta)
        labels = Labels("state", int(unchecked.n_states), states), Labels("action", int(unchecked.n_actions), actions)
        allowed = parse_possible(possible, *labels)
        try:
            rows = _as_rows(unchecked if allowed is None else fill_forbidden(unchecked, allowed, prior))
            if prior is not None:
                _check_prior(prior, rows)
        except TransitionError as error:
            raise error.with_labels(*labels) from None
        episodes = Episodes(labels[0], start, terminal, horizon)
        set_attribute = object.__setattr__  # a frozen object cannot set its attributes in the usual way
        set_attribute(self, "rows", rows)
        set_attribute(self, "n_actions", rows.n_actions)
        set_attribute(self, "n_states", rows.n_states)
        set_attribute(self, "prior", prior)
        set_attribute(self, "name", name)
        set_attribute(self, "geometry", positions if isinstance(positions, Geometry) else None)
        set_attribute(self, "positions", parse_positions(labels[0], positions))
        set_attribute(self, "marks", parse_marks(labels[0], marks))
        set_attribute(self, "state_labels", labels[0])
        set_attribute(self, "action_labels", labels[1])
        set_attribute(self, "episodes", episodes)
        set_attribute(self, "_allowed", _check_allowed(allowed, episodes.terminal, labels[0]))
        set_attribute(self, "measured", "reachable")
        set_attribute(self, "_starts", None)

    def __setattr__(self, name: str, value: Any) -> None:
        alternative = "with_prior(...)" if name == "prior" else "World(...)"
        raise AttributeError(f"{name} of World cannot be changed; create a new world with {alternative}")

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)  # raises the AttributeError

    def with_prior(self, prior: Prior | None) -> World:
        """Return the world with another prior; transitions are shared, not copied.

        Parameters
        ----------
        prior : Prior or None
            The new prior.
        """
        return self.replace(prior=prior)

    def with_measured(self, rows: MeasuredRows) -> World:
        """Return the world with other rows counted as missing information; everything else is shared.

        Parameters
        ----------
        rows : {"reachable", "all"}
            Rows of states that can be reached from where exploration starts, or all rows.
        """
        if rows not in get_args(MeasuredRows):
            raise ValueError(f"rows is {rows!r}; it must be 'reachable' or 'all'")
        return self if rows == self.measured else self._variant(measured=rows)

    def started_from(self, starts: IntArray) -> World:
        """Return the world for explorations that begin in `starts`, numbers of states, instead of its own start.

        Only the rows that count are different. Episodes begin again where they did before. It is this world if the same
        states can be reached.
        """
        starts = np.union1d(starts, self.episodes.starts[0]) if self.episodes.begin_again else np.unique(starts)
        world = self._variant(_starts=starts)
        return self if np.array_equal(world.reachable, self.reachable) else world

    def _variant(self, **attributes: Any) -> World:
        """Return a copy that differs in the rows that count; the same object for the same attributes."""
        variants = _VARIANTS.setdefault(self, {})
        key = tuple((name, np.asarray(value).tobytes()) for name, value in attributes.items())
        if key not in variants:
            variants[key] = copy.copy(self)
            for name in ("reachable", "is_measured", "measured_rows", "measures_all"):
                vars(variants[key]).pop(name, None)
            vars(variants[key]).update(attributes)
        return variants[key]

    @cached_property
    def reachable(self) -> BoolArray:
        """Whether each state can be reached from where exploration starts, (N,).

        All states can, if neither a start nor a terminal state is defined, because exploration then starts anywhere.
        Computed once, in time linear in the number of transitions.
        """
        from berlyne.worlds.structure import reachable  # imported here, because it imports this module

        if self._starts is None and self.start is None and not len(self.terminal):
            return read_only(np.ones(self.n_states, dtype=bool))
        return read_only(reachable(self, self.episodes.starts[0] if self._starts is None else self._starts))

    @cached_property
    def is_measured(self) -> BoolArray:
        """Whether the rows of each state count as missing information, (N,); see `measured`."""
        counted = ~self.episodes.is_terminal
        return read_only(counted & self.reachable if self.measured == "reachable" else counted)

    @cached_property
    def measured_rows(self) -> BoolArray:
        """Whether each row r = s M + a counts as missing information, (M N,): it is possible, and its state counts."""
        return read_only(self.possible_rows & np.repeat(self.is_measured, self.n_actions))

    @cached_property
    def measures_all(self) -> bool:
        """Whether all rows count as missing information."""
        return self.allows_all and bool(np.all(self.is_measured))

    def with_horizon(self, horizon: int | None) -> World:
        """Return the world with episodes that are cut after `horizon` steps, and begin again at the start.

        Nothing is learned from a cut, and missing information is measured as ever. A plan sees no more steps than are
        left in the episode.

        Parameters
        ----------
        horizon : int or None
            Number of steps of an episode, at least 1. None if episodes are never cut.
        """
        return self.replace(horizon=horizon)

    def with_resets(self) -> World:
        """Return the world without terminal states, with every action in them leading to the start distribution.

        Resets are then ordinary transitions, which can be explored and learned. They are added to the support of a
        Dirichlet prior.
        """
        rows = rows_with_resets(self)
        return self.replace(theta=rows, prior=prior_with_resets(self, rows), terminal=None)

    def replace(self, **parts: Any) -> World:
        """Return the world with some arguments of the constructor replaced."""
        arguments = {
            "theta": self.rows,
            "prior": self.prior,
            "start": None if self.start is None else self._start_label(),
            "terminal": [self.states[s] for s in self.terminal.tolist()],
            "possible": self._allowed,
            "horizon": self.episodes.horizon,
            "states": self.state_labels.custom,
            "actions": self.action_labels.custom,
            "name": self.name,
            "positions": self.positions if self.geometry is None else self.geometry,
            "marks": {self.states[s]: mark for s, mark in self.marks.items()},
        }
        return World(**{**arguments, **parts}).with_measured(self.measured)

    def to_edges(self) -> dict[str, list[Any]]:
        """Return the columns `s`, `a`, `s_next` (labels) and `p` of all transitions of actions that are allowed.

        `pandas.DataFrame(world.to_edges())` is a table with one line per transition.
        """
        return to_edges(self)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world: a maze with its walls, a grid of squares, a graph, or a matrix for more than 60 states.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Axes to draw into. None for new ones.
        **options : object
            `action`, to draw the transitions of one action only; `labels`, whether to write the labels of states;
            `bar`, whether to draw a colour bar.

        Returns
        -------
        matplotlib Axes
            Axes with the picture.
        """
        drawn: Axes = figures_package().draw_world(self, ax, **options)
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the world to a file, which `berlyne.load_world` reads.

        The file is complete or not written at all. It does not use pickle.

        Parameters
        ----------
        path : str or path-like
            A file that ends in `.npz` stores the whole world; a custom prior cannot be saved. `.csv` and `.parquet`
            store transitions and labels only, in lines `s, a, s_next, p`. If some actions are not possible, read such a
            file with `load_world(path, possible=...)`.
        """
        from berlyne.worlds.io import save_world  # imported here, because it imports this module

        save_world(path, self)

    def _start_label(self) -> Any:
        """Return the start in the form that the constructor takes."""
        return self.states[self.start] if isinstance(self.start, int) else self.start

    @property
    def start(self) -> int | FloatArray | None:
        """Number of the state in which exploration begins, (N,) probabilities, or None."""
        return self.episodes.start

    @property
    def horizon(self) -> int | None:
        """Number of steps after which an episode is cut; None if it is never cut."""
        return self.episodes.horizon

    @property
    def terminal(self) -> IntArray:
        """Numbers of the terminal states, ascending."""
        return self.episodes.terminal

    @property
    def allows_all(self) -> bool:
        """Whether all actions can be taken in all states: none is forbidden, and no state is terminal."""
        return self._allowed is None and not len(self.terminal)

    @property
    def allowed(self) -> BoolArray:
        """Whether each action is allowed, `[a, s]`, if its state were not terminal."""
        if self._allowed is None:
            return read_only(np.ones((self.n_actions, self.n_states), dtype=np.bool_))
        return self._allowed

    @cached_property
    def possible(self) -> BoolArray:
        """Whether each action can be taken, `[a, s]`: it is allowed, and its state is not terminal."""
        return read_only(self.allowed & ~self.episodes.is_terminal)

    @cached_property
    def possible_rows(self) -> BoolArray:
        """Whether the action of each row r = s M + a can be taken, (M N,)."""
        return read_only(np.ascontiguousarray(self.possible.T).ravel())

    def __repr__(self) -> str:
        states = f"{self.n_states:,} state{'s' * (self.n_states != 1)}"
        actions = f"{self.n_actions} action{'s' * (self.n_actions != 1)}"
        prior = "no prior" if self.prior is None else f"prior {self.prior!r}"
        return f"World({self.name!r}: {states}, {actions}, {prior})"

    @property
    def theta(self) -> FloatArray:
        """Transition probabilities `theta[a, s, s_next]`, a new dense `(M, N, N)` array."""
        return self.rows.dense()

    def sample(self, a: int, s: int, u: float) -> int:
        """Draw the state that follows action a in state s, by inversion of a uniform number `u` in [0, 1).

        States and actions are numbers, not labels. A state of probability zero is never drawn, even if rounding leaves
        the sum of the row below `u`.
        """
        r = check_index("s", s, self.n_states) * self.n_actions + check_index("a", a, self.n_actions)
        begin, end = self.rows.indptr[r], self.rows.indptr[r + 1]
        step = int(np.searchsorted(self.rows.cumulative[begin:end], u, side="right"))
        return int(self.rows.indices[min(begin + step, end - 1)])


_VARIANTS: WeakKeyDictionary[World, dict[Any, World]] = WeakKeyDictionary()
"""Worlds that differ from another one only in the rows that count."""


def check_world(world: Any) -> World:
    """Return `world`, or raise `ValueError` if it is not a `World`."""
    if not isinstance(world, World):
        raise ValueError(f"world is {short_repr(world)}; it must be a World, such as berlyne.maze() returns")
    return world


def _check_allowed(allowed: BoolArray | None, terminal: IntArray, states: Labels) -> BoolArray | None:
    """Return the mask of allowed actions, in which a terminal state without any has all; None if all are allowed."""
    if allowed is None:
        return None
    check_some_possible(allowed, terminal, states)
    filled = allowed | ~allowed.any(axis=0)
    return None if np.all(filled) else read_only(filled)


def _unchecked_rows(theta: FloatArray | Sequence[Any] | Rows) -> Rows:
    """Convert transition probabilities in any supported form to rows, without validation."""
    if isinstance(theta, Rows):
        return theta
    if isinstance(theta, list | tuple) and len(theta) and hasattr(theta[0], "tocsr"):
        return Rows.from_sparse(theta)
    return _from_array(theta)


def _as_rows(rows: Rows) -> Rows:
    """Validate rows and rescale them to sums of one."""
    rows = checked_rows(rows)
    _check_entries(rows)
    sums = rows.row_sums(rows.data)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(wrong):
        first = wrong[0]
        text = "{row} of theta sums to {total:.9g}; every row must sum to 1"
        if sums[first] == 0:
            text += f", unless possible= excludes the action{OWN_WORLDS}"
        raise row_error(first, rows.n_actions, text, total=sums[first])
    if np.any(np.abs(sums - 1.0) > 1e-12):
        data = rows.data / sums[rows.row_numbers()]
        rows = Rows(rows.n_actions, rows.n_states, rows.indptr, rows.indices, data)
    return rows


def _from_array(theta: Any) -> Rows:
    """Convert a dense array (M, N, N) to rows."""
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
    """Raise `ValueError` if a probability is negative or not finite."""
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
    """Raise `ValueError` if the prior has another size, or if this world is impossible under it."""
    check_prior(prior)
    for name in ("n_actions", "n_states"):
        of_prior, of_theta = getattr(prior, name, None), getattr(rows, name)
        if of_prior is not None and of_prior != of_theta:
            raise ValueError(f"the prior has {name}={of_prior} and theta has {name}={of_theta}; they must agree")
    if hasattr(prior, "check_rows"):
        prior.check_rows(rows)
        return
    if discovers_states(prior):  # a prior of unknown states allows every transition
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
