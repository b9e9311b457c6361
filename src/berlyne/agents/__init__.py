"""Agents hold the beliefs, action values and choices of one explorer: compiled, in NumPy, or with an open state set."""
