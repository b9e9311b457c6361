"""Objects that cannot be changed once they are made.

Tables, graphs and compiled records are computed once from a prior, a support or a world, and kept. After an assignment
they would be those of the old values, and results would be wrong without a word. So an assignment is an error.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, TypeVar

import numpy as np

A = TypeVar("A")


def read_only(values: A) -> A:
    """The array itself, which can be written to no more; a copy if it is a view of one that can.

    Anything but an array is returned as it is.
    """
    if not isinstance(values, np.ndarray) or not values.flags.writeable:
        return values
    owned = values if values.base is None else values.copy()
    owned.flags.writeable = False
    return owned


class Frozen:
    """An object whose attributes cannot be assigned.

    A class of berlyne fills `vars(self)` when it is made. A user's class that inherits from one may assign attributes
    of its own, and each field of a dataclass once.
    """

    _fixed: ClassVar[tuple[str, ...] | None] = None
    """Names that can be assigned once; None if nothing can be assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not self._may_set(name):
            raise AttributeError(f"{name} of {type(self).__name__} cannot be changed; {self._remedy(name)}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self) and not self._may_set(name):
            raise AttributeError(f"{name} of {type(self).__name__} cannot be deleted; {self._remedy(name)}")
        object.__delattr__(self, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():  # arrays that were copied or unpickled can be written to
            vars(self)[name] = tuple(map(read_only, value)) if type(value) is tuple else read_only(value)

    def _may_set(self, name: str) -> bool:
        if self._fixed is not None:
            return name not in self._fixed or name not in vars(self)
        ours = type(self).__module__.partition(".")[0] == __name__.partition(".")[0]
        fields = getattr(type(self), "__dataclass_fields__", {})
        return not ours and not (name in fields and name in vars(self))

    def _remedy(self, name: str) -> str:
        """What to do instead of assigning `name`."""
        fields = getattr(type(self), "__dataclass_fields__", {})
        if not any(field.init for field in fields.values()):
            return "make another one"
        change = f"{name}=..." if name in fields and fields[name].init else "..."
        return f"make another one by dataclasses.replace(it, {change})"


class FrozenArrays:
    """The base of a frozen dataclass of arrays, which are read-only, also after copying and unpickling."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            vars(self)[name] = read_only(value)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # every class that inherits from this is one
        return type(self), tuple(getattr(self, field.name) for field in fields)
