"""Our worlds as environments of Gymnasium: `gymnasium.make("berlyne.envs:berlyne/Maze-v0")`.

Importing `berlyne.envs` registers them. An observation is the
number of a state, an action that of an action; there is no reward. A world without terminal states goes on for ever:
give `max_episode_steps` to `gymnasium.make`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from berlyne.validation import check_index
from berlyne.worlds import Geometry, World, dense_world, maze, one_two_three_world, places
from berlyne.worlds.maze_text import maze_text

ROOM = 24
"""Pixels along the edge of a room, or of a state."""
WHITE, BLACK, BLUE, RED, GREY = (255, 255, 255), (0, 0, 0), (31, 95, 191), (200, 60, 40), (215, 215, 215)
LARGEST = 4000
"""Most pixels along the edge of a picture."""
Image = NDArray[np.uint8]


class WorldEnv(gymnasium.Env[np.int64, np.int64]):
    """Any `World` as an environment.

    `reset(seed=..., options={"start": state})` begins in a given state; otherwise as the world says. The state's
    label is in `info["state"]`.

    Parameters
    ----------
    world : where to act.
    render_mode : "ansi" for text, "rgb_array" for a picture, or None.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012  # so Gymnasium declares it

    def __init__(self, world: World, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode is {render_mode!r}; it must be 'rgb_array', 'ansi' or None")
        self.world, self.render_mode = world, render_mode
        self.observation_space, self.action_space = Discrete(world.n_states), Discrete(world.n_actions)
        self.state: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        unknown = sorted(set(options or {}) - {"start"})
        if unknown:
            raise ValueError(f"options hold {unknown[0]!r}; the only option is 'start', a state")
        episodes = self.world.episodes
        if options:
            episodes = episodes.with_start(options["start"])
        self.state = episodes.draw(float(self.np_random.random()))
        return np.int64(self.state), self._info()

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action; the reward is 0."""
        if self.state is None:
            raise ValueError("call reset() before step()")
        given: Any = action.item() if isinstance(action, np.ndarray) and action.size == 1 else action
        a = check_index("action", given, self.world.n_actions)
        self.state = self.world.sample(a, self.state, float(self.np_random.random()))
        return np.int64(self.state), 0.0, bool(self.world.episodes.is_terminal[self.state]), False, self._info()

    def render(self) -> Any:
        """Where the agent is: text, or an image (height, width, 3), as `render_mode` says."""
        if self.render_mode is None:
            return None
        geometry = self.world.geometry
        if self.render_mode == "ansi":
            return state_text(self.world, self.state) if geometry is None else maze_text(geometry, self.state)
        if geometry is None:
            return state_image(self.world, self.state)
        return maze_image(geometry, self.state)

    def _info(self) -> dict[str, Any]:
        assert self.state is not None
        return {"state": self.world.states[self.state]}


def state_text(world: World, here: int | None) -> str:
    """One character for every state, @ for the one the agent is in, and its label."""
    marks = "".join("@" if s == here else "." for s in range(world.n_states))
    return marks if here is None else f"{marks}  {world.states[here]!r}"


def state_image(world: World, here: int | None) -> Image:
    """States as squares where they lie (`berlyne.worlds.layout`), the one the agent is in red, terminal ones grey."""
    corners, side = _corners(world)
    wide, high = corners.max(axis=0) + side
    image: Image = np.zeros((high, wide, 3), dtype=np.uint8)
    for s, (x, y) in enumerate(corners.tolist()):
        colour = RED if s == here else GREY if world.episodes.is_terminal[s] else WHITE
        image[y + 1 : y + side - 1, x + 1 : x + side - 1] = colour
    return image


_CORNERS: WeakKeyDictionary[World, tuple[NDArray[np.int64], int]] = WeakKeyDictionary()


def _corners(world: World) -> tuple[NDArray[np.int64], int]:
    """The left upper pixel of every state, (N, 2), and the side of their squares, so that no two overlap."""
    if world not in _CORNERS:
        from scipy.spatial import cKDTree

        where = places(world) - places(world).min(axis=0)
        # squares do not overlap if their centres are as far apart as they are wide, along one axis at least
        apart = float(np.min(np.asarray(cKDTree(where).query(where, k=[2], p=np.inf)[0]))) if len(where) > 1 else 1.0
        unit = min(ROOM / apart, LARGEST / max(float(where.max()), 1e-9))
        _CORNERS[world] = np.round(where * unit).astype(np.int64), max(round(apart * unit), 3)
    return _CORNERS[world]


def maze_image(geometry: Geometry, here: int | None) -> Image:
    """Walls black, transporters blue on the face of a wall, the base a blue square, the agent a red one."""
    side, wall, face = geometry.side, 2, 5
    image: Image = np.full((side * ROOM, side * ROOM, 3), 255, dtype=np.uint8)
    for s in range(side * side):
        room = image[s // side * ROOM :, s % side * ROOM :][:ROOM, :ROOM]
        edges = [room[:face], room[-face:], room[:, :face], room[:, -face:]]
        for direction in np.flatnonzero(geometry.transporters[s]):
            edges[direction][...] = BLUE
        edges = [room[:wall], room[-wall:], room[:, :wall], room[:, -wall:]]
        for direction in np.flatnonzero(~geometry.passages[s]):
            edges[direction][...] = BLACK
        for mark, colour, margin in ((geometry.base, BLUE, 7), (here, RED, 9)):
            if s == mark:
                room[margin:-margin, margin:-margin] = colour
    return image


def _env(make: Callable[..., World]) -> Callable[..., WorldEnv]:
    def create(world_seed: int = 0, render_mode: str | None = None, **parameters: Any) -> WorldEnv:
        return WorldEnv(make(world_seed, **parameters), render_mode)

    return create


maze_env, dense_env, one_two_three_env = _env(maze), _env(dense_world), _env(one_two_three_world)
ENVIRONMENTS = {
    "berlyne/Maze-v0": "berlyne.envs.world_env:maze_env",
    "berlyne/Dense-v0": "berlyne.envs.world_env:dense_env",
    "berlyne/OneTwoThree-v0": "berlyne.envs.world_env:one_two_three_env",
}
"""What is registered, and what makes it: `world_seed` draws the world, other arguments are those of its function."""


def register() -> None:
    """Tell Gymnasium of our environments, once."""
    for name, entry_point in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
