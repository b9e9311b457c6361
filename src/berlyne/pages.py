"""Pages of the documentation, as the ends of messages that they explain."""

from __future__ import annotations


def _see(page: str) -> str:
    return f"; see docs/{page}.md"


OWN_WORLDS = _see("how-to/own-worlds")
UNKNOWN_STATES = _see("how-to/unknown-states")
OWN_PRIOR = _see("how-to/own-prior")
OWN_UTILITY = _see("how-to/own-utility")
OWN_METHOD = _see("how-to/own-method")
OWN_MEASURE = _see("how-to/own-measure")
STUDIES = _see("how-to/run-a-study")
RESUMING = _see("how-to/resume")
CLUSTERS = _see("how-to/cluster")
CLOSED_LOOP = _see("how-to/closed-loop")
ASSUMPTIONS = _see("how-to/change-an-assumption")
ENGINE = _see("explanation/engine")
