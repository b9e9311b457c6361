"""Every claim of the paper that can be checked: as text, place and check."""

from berlyne.claims.evidence import Evidence
from berlyne.claims.paper import CLAIMS
from berlyne.claims.verdict import Claim, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
