"""What the site has beside its Markdown; MkDocs calls the functions whose names begin with `on_`.

- pictures: a page that saves pictures in its code is run, and they lie beside it; those of `docs/images/make.py`;
- the command line, from the commands themselves;
- verdicts, from the last reproduction (`docs/verdicts`);
- the pages that belong to the repository: how to contribute, and what changed;
- equations: TeX becomes MathML, which browsers draw without a script.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import tempfile
from collections.abc import Iterator
from html import unescape
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"savefig\(\s*\"([\w.-]+)\"")
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)\s]+)")
MATH = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
DOLLARS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
CODE = re.compile(r"(<(?:pre|code|script|style)\b.*?</(?:pre|code|script|style)>)", re.DOTALL)
ADOPTED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def python_blocks(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Every Python block of a page: its line, its code, and what it must print (None: not said)."""
    blocks = list(FENCE.finditer(text))
    for block, after in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
        yield text[: block.start(2)].count("\n"), block[2], after[2] if follows else None


def saved_pictures(text: str) -> set[str]:
    """Names of the pictures that the code of a page saves and the page shows."""
    saved = {name for _, code, _ in python_blocks(text) for name in SAVED.findall(code)}
    return saved & set(SHOWN.findall(text))


def run_page(page: str, text: str) -> None:
    """Run the code of a page in the current folder; an `AssertionError` if it prints other than the page says."""
    import matplotlib

    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, code, expected in python_blocks(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, page, "exec"), namespace)
        if expected is not None and printed.getvalue() != expected:
            raise AssertionError(f"{page}, the block after line {line}, prints {printed.getvalue()!r}")


def pictures_of(page: str, text: str) -> dict[str, bytes]:
    """The pictures that the code of a page draws, by name."""
    before, names = Path.cwd(), saved_pictures(text)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            run_page(page, text)
            return {name: Path(name).read_bytes() for name in sorted(names)}
        finally:
            os.chdir(before)


def common_pictures() -> dict[str, bytes]:
    """The pictures of `docs/images/make.py`, drawn now, by name."""
    pictures: dict[str, bytes] = runpy.run_path(str(ROOT / "docs" / "images" / "make.py"))["drawn"]()
    return pictures


def on_config(config: Any) -> Any:
    """A site in a folder has no page for addresses that lead nowhere: only a server could find it, at its root."""
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add all that is made here to the files of the site."""
    from mkdocs.structure.files import File

    for file in list(files.documentation_pages()):
        if file.src_uri.endswith(".md") and saved_pictures(file.content_string):
            folder = Path(file.src_uri).parent
            for name, picture in pictures_of(file.src_uri, file.content_string).items():
                files.append(File.generated(config, f"{folder.as_posix()}/{name}", content=picture))
    for name, picture in common_pictures().items():
        files.remove(files.get_file_from_path(f"images/{name}"))  # the one of the repository may be older
        files.append(File.generated(config, f"images/{name}", content=picture))
    made = {"reference/command-line.md": command_line(), "paper/verdicts.md": verdicts()}
    adopted = {page: adopt((ROOT / source).read_text(encoding="utf-8")) for page, source in ADOPTED.items()}
    for page, text in {**made, **adopted}.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Equations as MathML; in notebooks they are still between dollars."""
    if page.file.src_uri.endswith(".ipynb"):
        parts = CODE.split(html)  # text and code take turns
        html = "".join(part if i % 2 else DOLLARS.sub(_between_dollars, part) for i, part in enumerate(parts))
    return MATH.sub(lambda found: _drawn(found[1], found[2]), html)


def _between_dollars(found: re.Match[str]) -> str:
    return _drawn("div", found[1]) if found[1] else _drawn("span", found[2])


def _drawn(tag: str, tex: str) -> str:
    from latex2mathml.converter import convert

    display = "inline" if tag == "span" else "block"
    return f'<{tag} class="arithmatex">{convert(unescape(tex), display=display)}</{tag}>'


def adopt(text: str) -> str:
    """A page of the repository as one of the site: links to pages lead there, links to other files become names."""
    homes = {source: page for page, source in ADOPTED.items()}

    def led(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        if target.startswith(("https://", "#")):
            return link[0]
        if target.startswith("docs/"):
            return f"[{words}]({target.removeprefix('docs/')})"
        return f"[{words}]({homes[target]})" if target in homes else words

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", led, text)


def command_line() -> str:
    """A page of all commands: what they say of themselves when asked for help."""
    import click

    from berlyne.cli import commands

    lines = [
        "# The command line",
        "",
        "What every command says with `--help`. To have the shell complete commands and options, see",
        "[running a study](../how-to/run-a-study.md).",
        "",
    ]

    def write(command: click.Command, path: tuple[str, ...]) -> None:
        context = click.Context(command, info_name=" ".join(path), max_content_width=88, terminal_width=88)
        lines.extend([f"## `{' '.join(path)}`", "", "```text", command.get_help(context).rstrip(), "```", ""])
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                write(found, (*path, name))

    write(commands, ("berlyne",))
    return "\n".join(lines)


def verdicts() -> str:
    """A page of what became of every claim in the last reproduction."""
    from berlyne.paper.claims.verdict import group_counts

    claims = json.loads((ROOT / "docs" / "verdicts" / "claims.json").read_text(encoding="utf-8"))
    made = json.loads((ROOT / "docs" / "verdicts" / "made.json").read_text(encoding="utf-8"))
    count = "; ".join(group_counts([claim["group"] for claim in claims]))
    lines = [
        "# Verdicts",
        "",
        f"What became of the {len(claims)} [claims](claims.md) when the paper was last worked out: berlyne "
        f"{made['berlyne']}, {made['n_worlds']} worlds of each class, seed {made['seed']}. Of the claims {count}.",
        "",
        "| claim | where | verdict | group | rests on fitted readings |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        look = {"holds": "verdict-holds", "does not hold": "verdict-fails"}.get(claim["verdict"], "")
        verdict = f'<span class="{look}">{claim["verdict"]}</span>'
        rests = ", ".join(f"[{reading}](readings.md#{reading.lower()})" for reading in claim["rests_on"]) or "none"
        lines.append(f"| [{claim['id']}](#{claim['id']}) | {claim['place']} | {verdict} | {claim['group']} | {rests} |")
    for claim in claims:
        lines.extend(["", f"## {claim['id']} {{ #{claim['id']} }}", "", f"{claim['claim']} *{claim['place']}.*", ""])
        lines.extend(["| looked at | expected | measured | agrees |", "|---|---|---|---|"])
        for finding in claim["findings"]:
            cells = [_cell(finding[key]) for key in ("about", "expected", "measured")]
            agrees = {True: "yes", False: "**no**"}.get(finding["ok"], "undecided")
            lines.append(f"| {' | '.join(cells)} | {agrees} |")
    return "\n".join(lines) + "\n"


def keep_verdicts(folder: Path) -> None:
    """Keep the claims of a finished reproduction for the page of verdicts."""
    import berlyne

    settings = berlyne.open_results(folder / "results.zarr").settings
    assumptions = json.loads((folder / "reproduction.json").read_text(encoding="utf-8"))["assumptions"]
    if assumptions:
        raise SystemExit(
            f"{folder} was worked out under other assumptions ({assumptions}); verdicts are those of the paper"
        )
    kept = ROOT / "docs" / "verdicts"
    kept.mkdir(exist_ok=True)
    (kept / "claims.json").write_bytes((folder / "claims.json").read_bytes())
    made = {"berlyne": berlyne.__version__, "n_worlds": settings["n_worlds"], "seed": settings["seed"]}
    (kept / "made.json").write_text(json.dumps(made) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    import sys

    keep_verdicts(Path(sys.argv[1]))
