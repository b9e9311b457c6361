"""Gymnasium environments of berlyne's worlds. Importing this package registers them.

Gymnasium imports this package automatically for an id such as `gymnasium.make("berlyne.envs:berlyne/Maze-v0")`.
"""

from berlyne.envs.world_env import ENVIRONMENTS, WorldEnv, register

__all__ = ["ENVIRONMENTS", "WorldEnv", "register"]

register()
