"""Verdicts as plain data, as stored in `claims.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.serialization import StoreError


def verdicts_as_data(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Return each claim with its verdict, group, fitted readings and findings, as data for JSON."""
    return [
        {
            "id": id_,
            "claim": CLAIMS[id_].text,
            "place": CLAIMS[id_].place,
            "verdict": verdict.word,
            "group": CLAIMS[id_].group(verdict.word),
            "rests_on": list(CLAIMS[id_].rests_on),
            "chose": list(CLAIMS[id_].chose),
            "findings": [_finding_as_data(finding) for finding in verdict.findings],
        }
        for id_, verdict in verdicts.items()
    ]


def _finding_as_data(finding: Finding) -> dict[str, Any]:
    data = dict(vars(finding))
    del data["strategies"]  # the subject names them
    data["friedman"] = None if finding.friedman is None else finding.friedman._asdict()
    data["pools"] = {
        pool: {"slower": test.slower, "p": test.p, "friedman": test.friedman._asdict()}
        for pool, test in finding.pools.items()
    }
    return data


def read_verdicts(path: Path, content: bytes | None) -> dict[str, str]:
    """Return the verdict on each claim in the content of a `claims.json`; `path` is named in errors."""
    try:
        return {str(claim["id"]): str(claim["verdict"]) for claim in json.loads((content or b"").decode())}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{path} is damaged; remove it and run the reproduction again") from None
