"""Utilities, coordination and choice, and the one table that composes them (Secs. 3.1 to 3.5)."""
