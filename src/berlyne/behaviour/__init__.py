"""People's exploration: fit, compare, recover and predict their choices (`import berlyne.behaviour as bb`)."""

from berlyne.behaviour.model_selection import ModelFrequencies, bms

__all__ = ["ModelFrequencies", "bms"]
