"""Immutable objects.

Tables, graphs and compiled records are computed once from a prior, a support or a world, and then cached. If an
attribute could be assigned, the cached values would silently be wrong. So an assignment raises an error.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, TypeVar

import numpy as np

A = TypeVar("A")


def read_only(values: A) -> A:
    """Return an array that cannot be written to.

    This is the array itself, made read-only, or a copy if the array is a view of another one. A value that is not an
    array is returned unchanged.
    """
    if not isinstance(values, np.ndarray) or not values.flags.writeable:
        return values
    owned = values if values.base is None else values.copy()
    owned.flags.writeable = False
    return owned


class Frozen:
    """Base class of objects whose attributes cannot be assigned.

    Constructors of berlyne's own classes fill `vars(self)`. A user's subclass may assign attributes that it adds, and
    each dataclass field once.
    """

    _fixed: ClassVar[tuple[str, ...] | None] = None
    """Names that can be assigned only once, while all others stay assignable; None if nothing can be assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not self._may_set(name):
            raise AttributeError(f"{name} of {type(self).__name__} cannot be changed; {self._remedy(name)}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self) and not self._may_set(name):
            raise AttributeError(f"{name} of {type(self).__name__} cannot be deleted; {self._remedy(name)}")
        object.__delattr__(self, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():  # copied and unpickled arrays are writeable
            vars(self)[name] = tuple(map(read_only, value)) if type(value) is tuple else read_only(value)

    def _may_set(self, name: str) -> bool:
        if self._fixed is not None:
            return name not in self._fixed or name not in vars(self)
        defined_in_berlyne = type(self).__module__.partition(".")[0] == __name__.partition(".")[0]
        fields = getattr(type(self), "__dataclass_fields__", {})
        return not defined_in_berlyne and not (name in fields and name in vars(self))

    def _remedy(self, name: str) -> str:
        """Return the advice that follows the error about `name`."""
        fields = getattr(type(self), "__dataclass_fields__", {})
        if not any(field.init for field in fields.values()):
            return "create a new one"
        change = f"{name}=..." if name in fields and fields[name].init else "..."
        return f"create a new one with dataclasses.replace(it, {change})"


class FrozenArrays:
    """Base class of frozen dataclasses of arrays, which stay read-only after copying and unpickling."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            vars(self)[name] = read_only(value)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
        return type(self), tuple(getattr(self, field.name) for field in fields)
