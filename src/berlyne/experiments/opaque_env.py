"""Environments without a transition table as worlds of a study; every exploration uses a new environment."""

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

from berlyne.exploration.explore_env import ExplorationError, explore_env
from berlyne.exploration.run import Run
from berlyne.labels import PASS_OBSERVE
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.registry import Strategy
from berlyne.validation import Seed, short_repr

EnvFactory = Callable[[], Any]
"""A function that returns a new environment, the same at every call."""

WRAP_ENV = "wrap the environment so that it returns a state for each observation"
"""Remedy in a study for observations that cannot be states."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, eq=False)
class OpaqueEnv:
    """An environment without a transition table, which can only be explored by acting in it.

    Attributes
    ----------
    name : str
        Id of its spec, or else the name of its class.
    make_env : EnvFactory
        Returns a new environment.
    n_states : int or None
        Number of states; None if it is unknown, so that states are discovered.
    n_actions : int
        Number of actions.
    fingerprint : str
        Hash of its class, its wrappers and its spec, which distinguishes it from other environments.
    """

    name: str
    make_env: EnvFactory
    n_states: int | None
    n_actions: int
    fingerprint: str

    @classmethod
    def from_factory(cls, make_env: EnvFactory) -> OpaqueEnv:
        """Describe the environment that `make_env` returns; raise a ValueError if it cannot be explored."""
        env = make_env()
        try:
            run = explore_env(env, "Random", 0)  # runs all checks and no step
        except ValueError as error:
            reason = error.reason if isinstance(error, ExplorationError) else str(error)
            raise ValueError(reason.replace(PASS_OBSERVE, WRAP_ENV)) from error.__cause__
        states, actions = run.labels
        n_states = None if discovers_states(run.prior) else states.size
        name = getattr(getattr(env, "spec", None), "id", None) or type(getattr(env, "unwrapped", env)).__name__
        fingerprint = _fingerprint(env, n_states, actions.size)
        _close(env)
        return cls(str(name), make_env, n_states, actions.size, fingerprint)

    def __repr__(self) -> str:
        return f"{self.name} (no transition table)"

    def explore(self, strategy: Strategy, n_steps: int, seed: Seed) -> Run:
        """Run one exploration in a new environment."""
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
    """Return a function that makes environments like `env`: from its spec, with its wrappers, or else by copying it."""
    spec = getattr(env, "spec", None)
    if spec is not None and _is_importable(spec):
        make_env = functools.partial(_make_from_spec, spec)
        try:
            _close(make_env())
        except Exception:  # a wrapper that does not record its arguments, or that cannot be imported
            pass
        else:
            return make_env
    try:
        return functools.partial(copy.deepcopy, copy.deepcopy(env))
    except Exception as error:  # an environment may hold any object
        raise ValueError(
            f"{env!r:.60} can neither be made from its spec nor copied ({error!s:.60}); give a function make(seed) "
            "that makes it"
        ) from None


def _make_from_spec(spec: Any) -> Any:
    import gymnasium

    return gymnasium.make(spec)


def _is_importable(spec: Any) -> bool:
    """Whether other processes can import the entry points of a spec: their `__main__` is a different module."""
    entries = [spec.entry_point, *(wrapper.entry_point for wrapper in spec.additional_wrappers)]
    return not any(str(entry).startswith("__main__:") for entry in entries)


def _close(env: Any) -> None:
    """Close an environment. If that fails, only warn: the exploration is valid, or its own error matters more."""
    try:
        if hasattr(env, "close"):
            env.close()
    except Exception as error:
        message = f"close() of an environment raised {short_repr(error)}; its exploration is kept"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _fingerprint(env: Any, n_states: int | None, n_actions: int) -> str:
    """Hash an environment. The hash is the same in every process, because memory addresses are left out."""
    spec: Any = getattr(env, "spec", None)
    parts: list[Any] = []
    if spec is None:
        inner = env
        parts.append(type(inner).__qualname__)
        while inner is not getattr(inner, "unwrapped", inner) and hasattr(inner, "env"):
            inner = inner.env
            parts.append(type(inner).__qualname__)
    else:
        wrappers = [(wrapper.name, wrapper.kwargs) for wrapper in spec.additional_wrappers]
        parts += [spec.id, spec.max_episode_steps, sorted(spec.kwargs.items()), wrappers]
    with np.printoptions(threshold=sys.maxsize):
        text = ADDRESS.sub("", repr([parts, n_states, n_actions]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
