"""Every claim of the paper that can be checked: as text, place and check."""

from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.registry import CLAIMS
from berlyne.paper.claims.verdict import Claim, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
