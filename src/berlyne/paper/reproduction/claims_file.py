"""Verdicts as data: what `claims.json` holds, and reading it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.serialization import StoreError


def verdicts_as_data(found: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Every claim with its verdict, what it counts as, the readings it rests on, and its findings."""
    return [
        {
            "id": id_,
            "claim": CLAIMS[id_].text,
            "place": CLAIMS[id_].place,
            "verdict": verdict.word,
            "group": CLAIMS[id_].group(verdict.word),
            "rests_on": list(CLAIMS[id_].rests_on),
            "chose": list(CLAIMS[id_].chose),
            "findings": [_as_plain(finding) for finding in verdict.findings],
        }
        for id_, verdict in found.items()
    ]


def _as_plain(finding: Finding) -> dict[str, Any]:
    plain = dict(vars(finding))
    plain["friedman"] = None if finding.friedman is None else finding.friedman._asdict()
    plain["pools"] = {
        pool: {"slower": test.slower, "p": test.p, "friedman": test.friedman._asdict()}
        for pool, test in finding.pools.items()
    }
    return plain


def read_verdicts(place: Path, content: bytes | None) -> dict[str, str]:
    """The word on every claim in a `claims.json`."""
    try:
        return {str(claim["id"]): str(claim["verdict"]) for claim in json.loads((content or b"").decode())}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{place} is damaged; remove it and run the reproduction again") from None
