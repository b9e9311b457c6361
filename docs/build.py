"""Generate the parts of the site that are not Markdown pages in `docs/`.

MkDocs calls the functions whose names begin with `on_`. They add

- pictures: those that the code of a page saves, and those of `docs/images/make.py`;
- the page of the command line, from the help texts of the commands;
- the page of verdicts, from the last reproduction (`docs/verdicts`);
- the pages `CONTRIBUTING.md` and `CHANGELOG.md` of the repository;
- live pages, which replay explorations (`docs/live.md` shows them);
- equations: TeX is converted to MathML, which browsers draw without a script.
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
SAVEFIG = re.compile(r"savefig\(\s*\"([\w.-]+)\"")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)")
ARITHMATEX = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
DOLLARS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", re.DOTALL)
CODE_ELEMENT = re.compile(r"(<(pre|code|script|style|iframe)\b.*?</\2>)", re.DOTALL)
REPOSITORY_PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Page of the site and the file of the repository that it is copied from."""


def python_blocks(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line, the code and the expected output (or None) of every Python block of a page."""
    blocks = list(FENCE.finditer(text))
    for block, next_block in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        has_output = (
            next_block is not None and next_block[1] == "text" and not text[block.end() : next_block.start()].strip()
        )
        yield text[: block.start(2)].count("\n"), block[2], next_block[2] if has_output else None


def saved_pictures(text: str) -> set[str]:
    """Return the names of the pictures that the code of a page saves and the page shows."""
    saved = {name for _, code, _ in python_blocks(text) for name in SAVEFIG.findall(code)}
    return saved & set(IMAGE.findall(text))


def run_page(page: str, text: str) -> None:
    """Run the code of a page in the current folder. Raise `AssertionError` if the output differs from the page."""
    import matplotlib

    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line, code, expected in python_blocks(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, page, "exec"), namespace)
        if expected is not None and printed.getvalue() != expected:
            raise AssertionError(
                f"{page}, the block after line {line}, prints {printed.getvalue()!r}, not {expected!r}"
            )


def pictures_of(page: str, text: str) -> dict[str, bytes]:
    """Run the code of a page and return the pictures that it saves, by name."""
    current_folder, names = Path.cwd(), saved_pictures(text)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            run_page(page, text)
            return {name: Path(name).read_bytes() for name in sorted(names)}
        finally:
            os.chdir(current_folder)


def common_pictures() -> dict[str, bytes]:
    """Draw the pictures of `docs/images/make.py` and return them by name."""
    pictures: dict[str, bytes] = runpy.run_path(str(ROOT / "docs" / "images" / "make.py"))["draw_all"]()
    return pictures


def live_pages() -> dict[str, str]:
    """Return the pages that replay explorations in a maze, a 1-2-3 World and FrozenLake, by file name."""
    import berlyne
    from berlyne.watch import render_page

    n = 16
    lake = berlyne.from_gymnasium("FrozenLake-v1", berlyne.Dirichlet(1 / n, n_states=n, n_actions=4))
    worlds = {"maze": (berlyne.maze(7), 1500), "one-two-three": (berlyne.one_two_three_world(7), 400)}
    worlds["frozen-lake"] = (lake, 600)
    notes = {
        "maze": {
            0: "Guess first: which of them will know more after 400 steps?",
            400: "Why does one of them hardly move?",
        },
        "one-two-three": {0: "One of the two plans. Which one?"},
        "frozen-lake": {0: "H is a hole, G the goal. Neither explorer seeks the goal. What do they seek?"},
    }
    names = ("PIG(VI)", "Random")
    runs = {
        page: [berlyne.explore(world, name, n_steps=n_steps, seed=7) for name in names]
        for page, (world, n_steps) in worlds.items()
    }
    return {f"{page}.html": render_page(of, notes=notes[page]) for page, of in runs.items()}


def on_config(config: Any) -> Any:
    """Leave out the page `404.html`. Only a server can use it, and the site must work from a folder."""
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pictures and pages to the files of the site."""
    from mkdocs.structure.files import File

    for file in list(files.documentation_pages()):
        if file.src_uri.endswith(".md") and saved_pictures(file.content_string):
            folder = Path(file.src_uri).parent
            for name, picture in pictures_of(file.src_uri, file.content_string).items():
                files.append(File.generated(config, f"{folder.as_posix()}/{name}", content=picture))
    for name, picture in common_pictures().items():
        files.remove(files.get_file_from_path(f"images/{name}"))  # the committed picture may be older
        files.append(File.generated(config, f"images/{name}", content=picture))
    pages = {"reference/command-line.md": command_line(), "paper/verdicts.md": verdicts()}
    for page, source in REPOSITORY_PAGES.items():
        pages[page] = convert_links((ROOT / source).read_text(encoding="utf-8"))
    pages |= {f"live/{name}": text for name, text in live_pages().items()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Convert equations to MathML. In notebooks they are still between dollar signs."""
    if page.file.src_uri.endswith(".ipynb"):
        parts = CODE_ELEMENT.split(html)  # text, code and the name of the element of the code alternate
        converted = [DOLLARS.sub(_dollars_to_mathml, text) for text in parts[::3]]
        html = "".join(part for pair in zip_longest(converted, parts[1::3], fillvalue="") for part in pair)
    return ARITHMATEX.sub(lambda match: _to_mathml(match[1], match[2]), html)


def _dollars_to_mathml(match: re.Match[str]) -> str:
    return _to_mathml("div", match[1]) if match[1] else _to_mathml("span", match[2])


def _to_mathml(tag: str, tex: str) -> str:
    from latex2mathml.converter import convert

    display = "inline" if tag == "span" else "block"
    return f'<{tag} class="arithmatex">{convert(unescape(tex), display=display)}</{tag}>'


def convert_links(text: str) -> str:
    """Convert the links of a file of the repository for the site. Links to files without a page become plain text."""
    page_of = {source: page for page, source in REPOSITORY_PAGES.items()}

    def convert_link(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        if target.startswith(("https://", "#")):
            return link[0]
        if target.startswith("docs/"):
            return f"[{words}]({target.removeprefix('docs/')})"
        return f"[{words}]({page_of[target]})" if target in page_of else words

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", convert_link, text)


def command_line() -> str:
    """Return the page of the command line: the help text of every command."""
    import click

    from berlyne.cli import commands

    lines = [
        "# The command line",
        "",
        "This page shows the output of `--help` for every command. To complete commands and options with the tab key,",
        "see [Run a study](../how-to/run-a-study.md#the-tab-key).",
        "",
    ]

    def write(command: click.Command, path: tuple[str, ...]) -> None:
        context = click.Context(command, info_name=" ".join(path), max_content_width=88, terminal_width=88)
        lines.extend([f"## `{' '.join(path)}`", "", "```text", command.get_help(context).rstrip(), "```", ""])
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                subcommand = command.get_command(context, name)
                assert subcommand is not None
                write(subcommand, (*path, name))

    write(commands, ("berlyne",))
    return "\n".join(lines)


def verdicts() -> str:
    """Return the page of verdicts: the result of every claim in the last reproduction."""
    from berlyne.paper.claims.verdict import group_counts

    claims = json.loads((ROOT / "docs" / "verdicts" / "claims.json").read_text(encoding="utf-8"))
    settings = json.loads((ROOT / "docs" / "verdicts" / "settings.json").read_text(encoding="utf-8"))
    count = "; ".join(group_counts([claim["group"] for claim in claims]))
    lines = [
        "# Verdicts",
        "",
        f"This page shows the verdict on each of the {len(claims)} [claims](claims.md) in the last reproduction "
        f"(berlyne {settings['berlyne']}, {settings['n_worlds']} worlds of each class, seed {settings['seed']}). "
        f"In total, {count}.",
        "",
        "| claim | where | verdict | group | depends on fitted readings |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        css_class = {"holds": "verdict-holds", "does not hold": "verdict-fails"}.get(claim["verdict"], "")
        verdict = f'<span class="{css_class}">{claim["verdict"]}</span>'
        readings = ", ".join(f"[{reading}](readings.md#{reading.lower()})" for reading in claim["rests_on"]) or "none"
        lines.append(
            f"| [{claim['id']}](#{claim['id']}) | {claim['place']} | {verdict} | {claim['group']} | {readings} |"
        )
    for claim in claims:
        lines.extend(["", f"## {claim['id']} {{ #{claim['id']} }}", "", f"{claim['claim']} *{claim['place']}.*", ""])
        lines.extend(["| finding | expected | measured | agrees |", "|---|---|---|---|"])
        for finding in claim["findings"]:
            cells = [_cell(finding[key]) for key in ("about", "expected", "measured")]
            agrees = {True: "yes", False: "**no**"}.get(finding["ok"], "undecided")
            lines.append(f"| {' | '.join(cells)} | {agrees} |")
    return "\n".join(lines) + "\n"


def save_verdicts(folder: Path) -> None:
    """Copy the claims of a finished reproduction to `docs/verdicts`, for the page of verdicts."""
    import berlyne

    settings = berlyne.open_results(folder / "results.zarr").settings
    assumptions = json.loads((folder / "reproduction.json").read_text(encoding="utf-8"))["assumptions"]
    if assumptions:
        raise SystemExit(
            f"{folder} was computed under other assumptions ({assumptions}); the page needs the default assumptions"
        )
    target = ROOT / "docs" / "verdicts"
    target.mkdir(exist_ok=True)
    (target / "claims.json").write_bytes((folder / "claims.json").read_bytes())
    summary = {"berlyne": berlyne.__version__, "n_worlds": settings["n_worlds"], "seed": settings["seed"]}
    (target / "settings.json").write_text(json.dumps(summary) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    import sys

    save_verdicts(Path(sys.argv[1]))
