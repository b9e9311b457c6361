"""The report: one self-contained page, made from stored results and drawn figures alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from berlyne.claims import CLAIMS, Finding, Verdict
from berlyne.claims.compare import ENOUGH
from berlyne.claims.verdict import FAILS, HOLDS, OPEN
from berlyne.experiments.files import StoreError, put, read
from berlyne.experiments.metadata import versions
from berlyne.reproduction.figures import FIGURES
from berlyne.reproduction.readings import READINGS
from berlyne.reproduction.sensitivity import AS_READ, VARIANTS, verdicts
from berlyne.reproduction.stages import STAGES
from berlyne.reproduction.study import Study
from berlyne.stats import Friedman
from berlyne.worlds import PAPER_WORLDS, WORLDS

_CLASS = {HOLDS: "yes", FAILS: "no", OPEN: "open"}
_MARK = {HOLDS: "✓", FAILS: "✗", OPEN: "?"}


def write_report(study: Study, found: Mapping[str, Verdict], seconds: Mapping[str, float]) -> Path:
    """Write `report.html` and `claims.json` into the study's folder; returns the page."""
    put(study.folder / "claims.json", json.dumps(_as_data(found), indent=1).encode())
    page = _page(study, found, {**_stored_seconds(study.folder), **seconds})
    put(study.folder / "report.html", page.encode())
    put(study.folder / "seconds.json", json.dumps({**_stored_seconds(study.folder), **seconds}).encode())
    return study.folder / "report.html"


def remake_report(folder: Path) -> Path:
    """Make the report again from what a folder holds; nothing is run."""
    study = Study.open(folder)
    missing = [name for name in FIGURES if not (folder / "figures" / f"{name}.png").is_file()]
    if missing:
        raise StoreError(f"{folder} lacks figures ({', '.join(missing)}); run: berlyne reproduce {folder}")
    stale = [name for name, stage in STAGES.items() if not study.has(stage)]
    if stale:
        raise StoreError(
            f"{folder} has other numbers than these settings give ({', '.join(stale)}); run: berlyne reproduce {folder}"
        )
    return write_report(study, {id_: claim.verdict(study.evidence) for id_, claim in CLAIMS.items()}, {})


def _page(study: Study, found: Mapping[str, Verdict], seconds: Mapping[str, float]) -> str:
    parts = [
        _summary(study, found, seconds),
        _claims_table(found),
        _evidence(found),
        _figures(study, found),
        _sensitivity(study),
        _readings(),
        _making(study, seconds),
    ]
    style = files("berlyne.reproduction").joinpath("report.css").read_text(encoding="utf-8")
    links = ("claims", "evidence", "figures", "sensitivity", "readings", "making")
    nav = "".join(f'<li><a href="#{name}">{name.capitalize()}</a></li>' for name in links)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Reproduction of Little &amp; Sommer (2011)</title><style>{style}</style></head><body>"
        '<a class="skip" href="#main">Skip to the results</a>'
        "<header><h1>Learning in embodied action-perception loops through exploration: a reproduction</h1>"
        f'</header><nav aria-label="Sections"><ul>{nav}</ul></nav>'
        f'<main id="main">{"".join(parts)}</main></body></html>\n'
    )


def _summary(study: Study, found: Mapping[str, Verdict], seconds: Mapping[str, float]) -> str:
    words = [verdict.word for verdict in found.values()]
    tally = "".join(
        f'<li class="{_CLASS[word]}"><b>{words.count(word)}</b>{text}</li>'
        for word, text in ((HOLDS, "claims hold"), (FAILS, "do not hold"), (OPEN, "undecided"))
    )
    failing = "".join(
        f'<li><a href="#claim-{id_}">{escape(id_)}</a>: {escape(verdict.reason)}</li>'
        for id_, verdict in found.items()
        if verdict.word == FAILS
    )
    not_held = f"<h3>What does not hold, and why</h3><ul>{failing}</ul>" if failing else ""
    few = ""
    if study.n_worlds < ENOUGH:
        few = f"<p>With {study.n_worlds} worlds of each class, equality cannot be decided; the paper has 200.</p>"
    used = versions()
    return (
        f'<section aria-labelledby="summary"><h2 id="summary">Summary</h2>'
        f"<p>Every figure and every checkable claim of D. Y. Little and F. T. Sommer (arXiv 1112.1125), worked out "
        f"anew in {study.n_worlds} worlds of each of three classes. Seed {study.seed}; "
        f"{sum(seconds.values()):.0f} seconds of computing; berlyne {used['berlyne']}, NumPy {used['numpy']}, "
        f"Numba {used['numba']}, Python {used['python']}.</p><ul class='tally'>{tally}</ul>{few}{not_held}</section>"
    )


def _claims_table(found: Mapping[str, Verdict]) -> str:
    rows = []
    for id_, verdict in found.items():
        claim = CLAIMS[id_]
        shown = ", ".join(f'<a href="#figure-{name}">{escape(name)}</a>' for name in claim.figures)
        rows.append(
            f'<tr><td><a href="#claim-{id_}">{escape(id_)}</a></td><td>{escape(claim.text)}<br>'
            f'<span class="small">{escape(claim.place)}</span></td><td class="verdict {_CLASS[verdict.word]}">'
            f"{_MARK[verdict.word]} {verdict.word}</td><td>{shown}</td></tr>"
        )
    return (
        '<section aria-labelledby="claims"><h2 id="claims">Claims</h2><div class="scroll"><table><thead><tr>'
        "<th>id</th><th>claim</th><th>verdict</th><th>figures</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _evidence(found: Mapping[str, Verdict]) -> str:
    parts = []
    for id_, verdict in found.items():
        claim = CLAIMS[id_]
        rows = "".join(_finding(finding) for finding in verdict.findings)
        parts.append(
            f'<h3 id="claim-{id_}">{escape(id_)}: <span class="{_CLASS[verdict.word]}">{verdict.word}</span></h3>'
            f'<p>{escape(claim.text)} <span class="small">({escape(claim.place)})</span></p>'
            '<div class="scroll"><table><thead><tr><th>what</th><th>the paper says</th><th>measured</th><th>p</th>'
            f"<th>p, all strategies</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
    note = (
        "<p class='small'>Areas are sums of missing information over a run, in bits; a larger area is slower learning. "
        "Differences are mean relative differences over worlds with 95 % confidence intervals. p-values of pairs "
        "compare mean ranks among the strategies of the figure, and among all of them. Below each stands Friedman's "
        "test of that pool: only where it is significant itself does a pair count as different.</p>"
    )
    return f'<section aria-labelledby="evidence"><h2 id="evidence">Evidence</h2>{note}{"".join(parts)}</section>'


def _finding(finding: Finding) -> str:
    word = {True: HOLDS, False: FAILS, None: OPEN}[finding.ok]
    return (
        f"<tr><td>{escape(finding.about)}</td><td>{escape(finding.expected)}</td><td>{escape(finding.measured)}</td>"
        f"<td>{_tests(finding.p, finding.friedman)}</td><td>{_tests(finding.p_all, finding.friedman_all)}</td>"
        f'<td class="{_CLASS[word]}" title="{word}">{_MARK[word]}</td></tr>'
    )


def _tests(p: float | None, pool: Friedman | None) -> str:
    """The p-value of a pair, and below it Friedman's test of the pool it is from."""
    pair = "" if p is None else _p(p).removeprefix("=&nbsp;")
    if pool is None:
        return pair
    return f'{pair} <span class="small">(χ²({pool.df})&nbsp;=&nbsp;{pool.statistic:.1f}, p&nbsp;{_p(pool.p)})</span>'


def _p(p: float) -> str:
    return "&lt;&nbsp;1e-15" if p < 1e-15 else f"=&nbsp;{p:.2g}"


def _figures(study: Study, found: Mapping[str, Verdict]) -> str:
    parts = []
    for name, spec in FIGURES.items():
        image = base64.b64encode((study.folder / "figures" / f"{name}.png").read_bytes()).decode()
        about = [id_ for id_, claim in CLAIMS.items() if name in claim.figures and id_ in found]
        seen = "".join(
            f'<li><a href="#claim-{id_}">{escape(id_)}</a> <span class="{_CLASS[found[id_].word]}">'
            f"{found[id_].word}</span>: {escape(_gist(found[id_]))}</li>"
            for id_ in about
        )
        files_ = " ".join(f'<a href="figures/{name}.{kind}">{kind}</a>' for kind in ("png", "svg", "csv"))
        parts.append(
            f'<h3 id="figure-{name}">{escape(spec.place)}: {escape(spec.title)}</h3><figure>'
            f'<img alt="{escape(spec.title)}" src="data:image/png;base64,{image}"><figcaption>'
            f"<p><b>The paper says:</b> {escape(spec.says)}</p>"
            f"{f'<b>We see:</b><ul>{seen}</ul>' if seen else ''}"
            f'<p class="small">{files_}</p></figcaption></figure>'
        )
    return f'<section aria-labelledby="figures"><h2 id="figures">Figures</h2>{"".join(parts)}</section>'


def _gist(verdict: Verdict) -> str:
    """The measured side of a verdict, shortened to what matters."""
    return (
        verdict.reason if verdict.word == FAILS else "; ".join(f"{f.about}: {f.measured}" for f in verdict.findings[:3])
    )


def _sensitivity(study: Study) -> str:
    found = verdicts(study)
    base = found[AS_READ]
    rows = []
    for variant in VARIANTS:
        changes = [
            f'<a href="#claim-{id_}">{escape(id_)}</a>: {base[id_]} → {word}'
            for id_, word in found[variant.id].items()
            if word != base[id_]
        ]
        rows.append(
            f"<tr><td>{escape(variant.reading)}</td><td>{escape(variant.text)}</td>"
            f"<td>{'<br>'.join(changes) or 'no verdict changes'}</td></tr>"
        )
    n = study.stage("sensitivity").sizes["world"]
    return (
        '<section aria-labelledby="sensitivity"><h2 id="sensitivity">Sensitivity</h2>'
        f"<p>Where the paper leaves a choice, the other was run in {n} worlds of each class. Claims about learning "
        "curves were asked again; the verdicts that change are listed against those on the same worlds as read "
        '(<a href="#figure-sensitivity">figure</a>).</p>'
        '<div class="scroll"><table><thead><tr><th>reading</th><th>read as</th><th>what changes</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _readings() -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td>{escape(printed)}</td><td>{escape(done)}</td></tr>"
        for name, (printed, done) in READINGS.items()
    )
    return (
        '<section aria-labelledby="readings"><h2 id="readings">Readings</h2><p>Where the paper is silent, ambiguous or '
        'misprinted, and what was done.</p><div class="scroll"><table><thead><tr><th></th><th>printed</th><th>done</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _making(study: Study, seconds: Mapping[str, float]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{value:.1f}</td></tr>" for name, value in seconds.items())
    runs = "; ".join(f"{WORLDS[name].title} {WORLDS[name].n_steps} steps" for name in PAPER_WORLDS)
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        '<section aria-labelledby="making"><h2 id="making">Making</h2>'
        f"<p>{study.n_worlds} worlds of each class ({escape(runs)}), seed {study.seed}. {escape(packages)}. The same "
        "seed gives the same numbers, whatever the order and the number of cores. Explorations are in "
        "<code>results.zarr</code>, what was worked out from them in <code>data/</code>, numbers behind figures in "
        "<code>figures/*.csv</code>, verdicts in <code>claims.json</code>.</p>"
        '<div class="scroll"><table><thead><tr><th>part</th><th>seconds</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _as_data(found: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    return [
        {
            "id": id_,
            "claim": CLAIMS[id_].text,
            "place": CLAIMS[id_].place,
            "verdict": verdict.word,
            "findings": [_as_plain(finding) for finding in verdict.findings],
        }
        for id_, verdict in found.items()
    ]


def _as_plain(finding: Finding) -> dict[str, Any]:
    return {key: value._asdict() if isinstance(value, Friedman) else value for key, value in vars(finding).items()}


def _stored_seconds(folder: Path) -> dict[str, float]:
    path = folder / "seconds.json"
    content = read(path)
    try:
        stored = json.loads((content or b"{}").decode())
        return {str(name): float(value) for name, value in stored.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        raise StoreError(f"{path} is damaged; remove it, it only says how long the parts took") from None
