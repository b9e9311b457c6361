"""The claims of the paper under their public name; they are defined in `berlyne.paper.claims`."""

from berlyne.paper.claims import CLAIMS, Claim, Evidence, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
