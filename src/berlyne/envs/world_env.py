"""Worlds as Gymnasium environments: `gymnasium.make("berlyne.envs:berlyne/Maze-v0")`.

Importing `berlyne.envs` registers them. An observation is the number of a state, and an action is the number of an
action. The reward is always 0. A world without terminal states never ends an episode: pass `max_episode_steps` to
`gymnasium.make`.
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
"""Side of a room or a state, in pixels."""
WHITE, BLACK, BLUE, RED, GREY = (255, 255, 255), (0, 0, 0), (31, 95, 191), (200, 60, 40), (215, 215, 215)
MAX_PIXELS = 4000
"""Largest width or height of an image, in pixels."""
Image = NDArray[np.uint8]


class WorldEnv(gymnasium.Env[np.int64, np.int64]):
    """Gymnasium environment of any `World`.

    `reset(seed=..., options={"start": state})` begins an episode in a given state. Without this option, the start
    distribution of the world is used. `info["state"]` is the label of the state.

    Parameters
    ----------
    world : World
        World to act in.
    render_mode : {"ansi", "rgb_array"} or None
        "ansi" renders text, "rgb_array" an image.
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
        """Begin an episode; return the observation and the info."""
        super().reset(seed=seed)
        unknown = sorted(set(options or {}) - {"start"})
        if unknown:
            raise ValueError(f"options contain {unknown[0]!r}; the only option is 'start', a state")
        episodes = self.world.episodes
        if options:
            episodes = episodes.with_start(options["start"])
        self.state = episodes.draw(float(self.np_random.random()))
        return np.int64(self.state), self._info()

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward (0), terminated, truncated (False) and info."""
        if self.state is None:
            raise ValueError("call reset() before step()")
        number: Any = action.item() if isinstance(action, np.ndarray) and action.size == 1 else action
        a = check_index("action", number, self.world.n_actions)
        self.state = self.world.sample(a, self.state, float(self.np_random.random()))
        return np.int64(self.state), 0.0, bool(self.world.episodes.is_terminal[self.state]), False, self._info()

    def render(self) -> Any:
        """Render the agent's state as text or as an image (height, width, 3), depending on `render_mode`."""
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


def state_text(world: World, agent: int | None) -> str:
    """Draw one character for every state, @ for the agent's state, followed by the label of that state."""
    marks = "".join("@" if s == agent else "." for s in range(world.n_states))
    return marks if agent is None else f"{marks}  {world.states[agent]!r}"


def state_image(world: World, agent: int | None) -> Image:
    """Draw states as squares at their positions; the agent's state is red, terminal states are grey."""
    corners, side = _corners(world)
    width, height = corners.max(axis=0) + side
    image: Image = np.zeros((height, width, 3), dtype=np.uint8)
    for s, (x, y) in enumerate(corners.tolist()):
        colour = RED if s == agent else GREY if world.episodes.is_terminal[s] else WHITE
        image[y + 1 : y + side - 1, x + 1 : x + side - 1] = colour
    return image


_CORNERS: WeakKeyDictionary[World, tuple[NDArray[np.int64], int]] = WeakKeyDictionary()


def _corners(world: World) -> tuple[NDArray[np.int64], int]:
    """Compute the upper left pixel of every state, (N, 2), and the side of their squares, so that none overlap."""
    if world not in _CORNERS:
        from scipy.spatial import cKDTree

        xy = places(world) - places(world).min(axis=0)
        # squares do not overlap if the distance of their centres along one axis is at least their side
        distance = float(np.min(np.asarray(cKDTree(xy).query(xy, k=[2], p=np.inf)[0]))) if len(xy) > 1 else 1.0
        unit = min(ROOM / distance, MAX_PIXELS / max(float(xy.max()), 1e-9))
        _CORNERS[world] = np.round(xy * unit).astype(np.int64), max(round(distance * unit), 3)
    return _CORNERS[world]


def maze_image(geometry: Geometry, agent: int | None) -> Image:
    """Draw a maze: walls black, transporters blue on the face of a wall, base a blue square, agent a red square."""
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
        for mark, colour, margin in ((geometry.base, BLUE, 7), (agent, RED, 9)):
            if s == mark:
                room[margin:-margin, margin:-margin] = colour
    return image


def _env(make: Callable[..., World]) -> Callable[..., WorldEnv]:
    """Return a function that creates the environment of a world drawn by `make`."""

    def create(world_seed: int = 0, render_mode: str | None = None, **parameters: Any) -> WorldEnv:
        return WorldEnv(make(world_seed, **parameters), render_mode)

    return create


maze_env, dense_env, one_two_three_env = _env(maze), _env(dense_world), _env(one_two_three_world)
ENVIRONMENTS = {
    "berlyne/Maze-v0": "berlyne.envs.world_env:maze_env",
    "berlyne/Dense-v0": "berlyne.envs.world_env:dense_env",
    "berlyne/OneTwoThree-v0": "berlyne.envs.world_env:one_two_three_env",
}
"""Entry point of each registered id. `world_seed` draws the world; other arguments go to the world's function."""


def register() -> None:
    """Register the environments with Gymnasium, unless they are registered."""
    for name, entry_point in ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
