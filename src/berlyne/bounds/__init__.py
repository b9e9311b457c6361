"""Lower bounds: the best that any explorer of a world can do."""

from berlyne.bounds.fluid import FluidBound, fluid

__all__ = ["FluidBound", "fluid"]
