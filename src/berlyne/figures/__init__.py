"""Figures of the paper, one module each. Importing one imports matplotlib."""

from berlyne.figures.learning_curves import draw_run

__all__ = ["draw_run"]
