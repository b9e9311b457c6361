"""What the site has beside its pages: names, commands, verdicts, equations and lists."""

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import markdown
import pytest
from mkdocs.config import load_config

import berlyne
from berlyne.claims import CLAIMS
from berlyne.cli import commands
from docs import build, lists

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_in_the_reference_once():
    pages = (ROOT / "docs" / "reference").glob("*.md")
    directives = [name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
    assert len(directives) == len(set(directives))
    whole = {name for name in directives if name.split(".")[-1][0].islower() and name.count(".") == 1}
    listed = {name.split(".")[-1] for name in directives}
    assert listed >= set(berlyne.__all__), set(berlyne.__all__) - listed
    assert whole


def test_every_command_is_on_its_page():
    page = build.command_line()
    for name in commands.commands:
        assert f"## `berlyne {name}`" in page
    assert "## `berlyne lab tell`" in page
    assert "--shard" in page


def test_verdicts_are_those_of_all_claims():
    kept = json.loads((ROOT / "docs" / "verdicts" / "claims.json").read_text())
    assert [claim["id"] for claim in kept] == list(CLAIMS)
    made = json.loads((ROOT / "docs" / "verdicts" / "made.json").read_text())
    assert made["n_worlds"] == 200
    page = build.verdicts()
    for claim in kept:
        assert f"| [{claim['id']}](#{claim['id']}) | {claim['place']} |" in page
    assert "[R12](readings.md#r12), [R16](readings.md#r16) |" in page
    failing = [claim["id"] for claim in kept if claim["verdict"] == "does not hold"]
    assert page.count('class="verdict-fails"') == len(failing)


def page(name):
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def test_equations_become_mathml():
    html = build.on_page_content('<p><span class="arithmatex">\\(a &lt; \\hat b\\)</span> $5</p>', page("a.md"))
    assert "<math" in html
    assert "&#x0003C;" in html
    assert "\\hat" not in html
    assert "$5" in html


def test_equations_of_notebooks_become_mathml_but_code_stays():
    html = build.on_page_content("<p>$x^2$ and</p><p>$$y$$</p><pre>a = '$b$'</pre>", page("a.ipynb"))
    assert html.count("<math") == 2
    assert html.count('display="block"') == 1
    assert "<pre>a = '$b$'</pre>" in html


PAGES = sorted((ROOT / "docs").rglob("*.md"))


def as_html(text):
    """A page as the site shows it, with the extensions of mkdocs.yml."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    extensions, options = config.markdown_extensions, dict(config.mdx_configs)
    html = markdown.markdown(text, extensions=extensions, extension_configs=options)
    return build.on_page_content(html, page("a.md"))


def formulas_in_italics(html):
    """Emphasised words that can only be a formula whose asterisks or underscores were taken for emphasis."""
    prose = re.sub(r"<(pre|code|math)\b.*?</\1>", "", html, flags=re.DOTALL)
    return [words for words in re.findall(r"<em>(.*?)</em>", prose, re.DOTALL) if re.search(r"[]\[=|‖·Σ^]", words)]


def test_no_formula_is_shown_as_emphasis():
    assert formulas_in_italics(as_html("PIG = Σ_s* θ[s*] · D(θ by s* ‖ θ)"))
    shown = {path.name: formulas_in_italics(as_html(path.read_text(encoding="utf-8"))) for path in PAGES}
    assert {name: found for name, found in shown.items() if found} == {}


def test_the_reading_of_theorem_2_shows_its_formula():
    html = as_html((ROOT / "docs" / "paper" / "readings.md").read_text(encoding="utf-8"))
    told = html.split('id="r2"')[1].split('id="r3"')[0]
    shown = re.search(r"What we do:.*?(<math.*?</math>)", told, re.DOTALL)[1]
    assert re.sub(r"<[^>]+>|\s", "", unescape(shown)) == "PIG=∑s*θ^s*D(θ^s*‖θ^)"


def test_pictures_that_a_page_saves_and_shows_are_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = 'from matplotlib.figure import Figure\nFigure().savefig("one.png")\nFigure().savefig("two.png")\n'
    text = f"```python\n{code}```\n\n![one](one.png) ![three](three.png)\n"
    assert build.saved_pictures(text) == {"one.png"}
    drawn = build.pictures_of("page.md", text)
    assert list(drawn) == ["one.png"]
    assert drawn["one.png"].startswith(b"\x89PNG")
    assert Path.cwd() == tmp_path


def test_a_page_that_prints_something_else_stops_the_build():
    with pytest.raises(AssertionError, match="prints '1"):
        build.run_page("page.md", "```python\nprint(1)\n```\n\n```text\n2\n```\n")


def test_pages_of_the_repository_keep_their_links_into_the_site():
    text = "[a](docs/how-to/x.md) [b](src/y.py) [c](CHANGELOG.md) [d](https://e.org) [e](#f)"
    assert build.adopt(text) == "[a](how-to/x.md) b [c](changelog.md) [d](https://e.org) [e](#f)"


def test_lines_of_names_become_lists():
    text = "Short.\n\nParameters\n----------\nx, y : two\n    numbers.\nz : one.\n\nExamples\n--------\n>>> f : g\n"
    assert lists.with_lists(text).splitlines() == [
        "Short.", "", "", "**Parameters**", "", "", "- `x`, `y`: two", "  numbers.", "- `z`: one.", "",
        "Examples", "--------", ">>> f : g",
    ]  # fmt: skip
