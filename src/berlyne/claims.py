"""The claims of the paper under their public name; `berlyne.paper.claims` holds them."""

from berlyne.paper.claims import CLAIMS, Claim, Evidence, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
