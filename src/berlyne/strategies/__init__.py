"""Utilities, coordination methods, choice rules, and the table of strategies that combines them (Secs. 3.1 to 3.5)."""
