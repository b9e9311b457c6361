"""Checkable claims of the paper: text, place in the paper, and check of each."""

from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.registry import CLAIMS
from berlyne.paper.claims.verdict import Claim, Finding, Verdict

__all__ = ["CLAIMS", "Claim", "Evidence", "Finding", "Verdict"]
