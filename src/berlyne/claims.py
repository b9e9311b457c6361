"""Claims of the paper and their checks; the public names of `berlyne.paper.claims`."""

from berlyne.paper.claims import CLAIMS, Claim, Evidence, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
