"""Environments that show no transition table, as worlds of a study: every exploration acts in one of its own."""

from __future__ import annotations

import copy
import functools
import hashlib
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.exploration.env_run import EnvRun, ExplorationError
from berlyne.exploration.explore_env import explore_env
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.registry import Strategy
from berlyne.validation import Seed, short_repr

EnvFactory = Callable[[], Any]
"""What gives an environment that nobody has acted in, the same every time."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, eq=False)
class OpaqueEnv:
    """An environment that can only be acted in.

    n_states : how many states there are; None if nobody knows, so that they are discovered.
    fingerprint : what tells it from others: its class and wrappers, and all that its spec says.
    """

    name: str
    make_env: EnvFactory
    n_states: int | None
    n_actions: int
    fingerprint: str

    @classmethod
    def from_factory(cls, make_env: EnvFactory) -> OpaqueEnv:
        """The environment that `make_env` gives; a ValueError if it cannot be explored."""
        env = make_env()
        try:
            explorer = explore_env(env, "Random", 0).explorer  # all checks, and no step
        except ValueError as error:
            reason = error.reason if isinstance(error, ExplorationError) else str(error)
            raise ValueError(reason.replace("say in observe=", "let a wrapper of it say")) from error.__cause__
        n_states = None if discovers_states(explorer.prior) else explorer.n_states
        name = getattr(getattr(env, "spec", None), "id", None) or type(getattr(env, "unwrapped", env)).__name__
        told = cls(str(name), make_env, n_states, explorer.n_actions, _fingerprint(env, n_states, explorer.n_actions))
        _close(env)
        return told

    def __repr__(self) -> str:
        return f"{self.name} (no transition table)"

    def explore(self, strategy: Strategy, n_steps: int, seed: Seed) -> EnvRun:
        """One exploration, in an environment of its own."""
        try:
            env = self.make_env()
        except Exception as error:
            reason = f"making the environment raised {short_repr(error)}"
            raise ExplorationError("before step 0", reason, 0, None) from error
        try:
            return explore_env(env, strategy, n_steps, seed)
        finally:
            _close(env)


def env_factory(env: Any) -> EnvFactory:
    """How to have an environment once more: made from its spec, with its wrappers, or else a copy of it."""
    spec = getattr(env, "spec", None)
    if spec is not None and _is_importable(spec):
        make_env = functools.partial(_made_from, spec)
        try:
            _close(make_env())
        except Exception:  # a wrapper that does not say how it was made, or that is found nowhere
            pass
        else:
            return make_env
    try:
        return functools.partial(copy.deepcopy, copy.deepcopy(env))
    except Exception as error:  # whatever an environment holds
        raise ValueError(
            f"{env!r:.60} can neither be made from its spec nor copied ({error!s:.60}); give a function make(seed) "
            "that makes it"
        ) from None


def _made_from(spec: Any) -> Any:
    import gymnasium

    return gymnasium.make(spec)


def _is_importable(spec: Any) -> bool:
    """Whether other processes find what a spec names: they have another __main__."""
    entries = [spec.entry_point, *(wrapper.entry_point for wrapper in spec.additional_wrappers)]
    return not any(str(entry).startswith("__main__:") for entry in entries)


def _close(env: Any) -> None:
    """Close an environment. If that fails, warn: an exploration is no less right, and its own error matters more."""
    try:
        if hasattr(env, "close"):
            env.close()
    except Exception as error:
        message = f"close() of an environment raised {short_repr(error)}; what was explored in it is kept"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _fingerprint(env: Any, n_states: int | None, n_actions: int) -> str:
    """The same in every process: addresses are no part of it."""
    spec: Any = getattr(env, "spec", None)
    said: list[Any] = []
    if spec is None:
        inner = env
        said.append(type(inner).__qualname__)
        while inner is not getattr(inner, "unwrapped", inner) and hasattr(inner, "env"):
            inner = inner.env
            said.append(type(inner).__qualname__)
    else:
        wrappers = [(wrapper.name, wrapper.kwargs) for wrapper in spec.additional_wrappers]
        said += [spec.id, spec.max_episode_steps, sorted(spec.kwargs.items()), wrappers]
    with np.printoptions(threshold=sys.maxsize):
        text = ADDRESS.sub("", repr([said, n_states, n_actions]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
