"""Check the generated parts of the site: reference, commands, verdicts, equations and pictures."""

import ast
import json
import pkgutil
import re
import shutil
import zlib
from functools import cache
from html import unescape
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace

import markdown
import numpy as np
import pytest
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.utils.yaml import yaml_load
from PIL import Image

import berlyne
from amounts import amount
from berlyne.cli import commands
from berlyne.paper.claims import CLAIMS
from docs import build

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


DOCUMENTED = (
    "berlyne",
    *(
        f"berlyne.{name}"
        for name in (
            "worlds",
            "priors",
            "experiments",
            "behaviour",
            "bounds",
            "benchmarks",
            "stats",
            "figures",
            "claims",
        )
    ),
)
"""Packages of which every name in `__all__` is public."""


NAMES_ONLY = {"separate_signature": False, "signature_crossrefs": False}
NAMES_ONLY |= {
    f"show_docstring_{part}": False for part in ("description", "parameters", "returns", "attributes", "raises")
}
"""Settings of a reference of names and signatures, which takes a third of the time."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The pages of the reference alone, built with the settings of the site, without texts unless all tests run."""
    folder = tmp_path_factory.mktemp("reference")
    shutil.copytree(ROOT / "docs" / "reference", folder / "docs")
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        (plugin,) = (one for one in yaml_load(file)["plugins"] if "mkdocstrings" in one)
    plugin["mkdocstrings"]["handlers"]["python"]["options"] |= amount(NAMES_ONLY, {})
    settings = {"docs_dir": str(folder / "docs"), "site_dir": str(folder / "site"), "hooks": [], "plugins": [plugin]}
    config = load_config(str(ROOT / "mkdocs.yml"), **settings, strict=False, exclude_docs="")
    config.nav = None
    mkdocs_build(config)
    return folder / "site"


@pytest.fixture(scope="module")
def shown(reference):
    """Return the full names of all objects in the reference."""
    listed = (reference / "objects.inv").read_bytes().split(b"\n", 4)[4]  # after four lines that say what it is
    return {line.split()[0] for line in zlib.decompress(listed).decode().splitlines()}


def lacking(names, shown):
    """Names that are shown neither as they are nor as where they are defined; modules are places, and need not be."""
    documented = {}
    for name in names:
        public = pkgutil.resolve_name(name)
        public = getattr(public, "fget", None) or getattr(public, "func", None) or public  # of a property, its function
        home = f"{getattr(public, '__module__', None)}.{getattr(public, '__qualname__', None)}"
        documented[name] = isinstance(public, ModuleType) or name in shown or home in shown
    return sorted(name for name, is_listed in documented.items() if not is_listed)


def names_in_code(text):
    """Names of the package in the Python blocks of a page, and between backticks in its prose."""
    names = set(re.findall(r"`(berlyne(?:\.\w+)+)", text))
    for _, code, _ in build.python_blocks(text):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "berlyne":
                names.update(f"{node.module}.{name.name}" for name in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "berlyne":
                names.add(f"berlyne.{node.attr}")
    return {name for name in names if "__" not in name}


def test_every_public_name_is_in_the_reference_once(shown):
    pages = (ROOT / "docs" / "reference").glob("*.md")
    directives = [name for page in pages for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)]
    assert len(directives) == len(set(directives))
    public = {f"{package}.{name}" for package in DOCUMENTED for name in import_module(package).__all__}
    assert lacking(public, shown) == []


def test_every_name_in_the_code_of_a_page_is_in_the_reference(shown):
    pages = [ROOT / "README.md", *PAGES]
    named = set().union(*(names_in_code(page.read_text(encoding="utf-8")) for page in pages))
    assert {"berlyne.maze", "berlyne.experiments.Measure", "berlyne.stats.friedman"} <= named
    assert lacking(named, shown) == []
    assert lacking(["berlyne.agents.numpy_agent.NumpyAgent", "berlyne.agents.numpy_agent"], shown) == [
        "berlyne.agents.numpy_agent.NumpyAgent"
    ]


@pytest.mark.parametrize("of", [berlyne.World, berlyne.InternalModel, berlyne.Run, berlyne.Explorer, berlyne.Results])
def test_inherited_members_are_in_the_reference(of, shown):
    members = {name for name in dir(of) if not name.startswith("_")}
    assert sorted(name for name in members if f"berlyne.{of.__name__}.{name}" not in shown) == []


def test_the_reference_shows_the_constructor_of_an_explorer(reference):
    html = (reference / "exploring.html").read_text(encoding="utf-8")
    signature = re.sub(r"<[^>]+>", "", html.split('id="berlyne.Explorer"')[1].split("</div>")[0])
    assert re.search(r"Explorer\(\s*prior", unescape(signature))
    quote = amount("'", '"')  # Ruff, which formats the separate signatures of the site, prefers the latter
    assert re.search(rf"=\s*{quote}PIG\(VI\)", unescape(signature))


def test_every_command_is_on_its_page():
    page = build.command_line()
    for name in commands.commands:
        assert f"## `berlyne {name}`" in page
    assert "## `berlyne lab tell`" in page
    assert "--shard" in page


def test_verdicts_are_those_of_all_claims():
    claims = json.loads((ROOT / "docs" / "verdicts" / "claims.json").read_text())
    assert [claim["id"] for claim in claims] == list(CLAIMS)
    settings = json.loads((ROOT / "docs" / "verdicts" / "settings.json").read_text())
    assert settings["n_worlds"] == 200
    page = build.verdicts()
    for claim in claims:
        assert f"| [{claim['id']}](#{claim['id']}) | {claim['place']} |" in page
    assert "[R12](readings.md#r12), [R16](readings.md#r16) |" in page
    failing = [claim["id"] for claim in claims if claim["verdict"] == "does not hold"]
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


def test_a_page_within_a_notebook_is_not_taken_for_equations():
    frame = '<iframe srcdoc="${t} &lt;pre&gt; $x$ &lt;/pre&gt; `${s}`"></iframe>'
    html = build.on_page_content(f"<p>$a$</p>{frame}<p>$b$</p><code>$c$</code> $d$", page("a.ipynb"))
    assert html.count("<math") == 3 and frame in html and "<code>$c$</code>" in html
    assert [html.index(part) for part in (">a<", frame, ">b<", "$c$", ">d<")] == sorted(
        html.index(part) for part in (">a<", frame, ">b<", "$c$", ">d<")
    )


def test_live_pages_are_made_and_each_is_shown():
    text = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    made = build.live_pages()
    assert [f"live/{name}" for name in made] == re.findall(r'<iframe class="live" title="[^"]+" src="([^"]+)"', text)
    for name, title in (("maze", "Maze"), ("one-two-three", "1-2-3 World"), ("frozen-lake", "FrozenLake-v1")):
        assert f"<title>{title}: PIG(VI) and Random</title>" in made[f"{name}.html"]


site_config = cache(lambda: load_config(str(ROOT / "mkdocs.yml")))


def as_html(text):
    """A page as the site shows it, with the extensions of mkdocs.yml."""
    config = site_config()
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
    assert {name: formulas for name, formulas in shown.items() if formulas} == {}


def test_the_reading_of_theorem_2_shows_its_formula():
    html = as_html((ROOT / "docs" / "paper" / "readings.md").read_text(encoding="utf-8"))
    section = html.split('id="r2"')[1].split('id="r3"')[0]
    shown = re.search(r"What we do:.*?(<math.*?</math>)", section, re.DOTALL)[1]
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


def test_pictures_in_the_repository_are_those_that_the_build_draws():
    """Within half a per cent of white against black: fonts may be another's. If this fails: make pictures."""
    drawn = build.common_pictures()
    assert set(drawn) == {"maze.png", "unknown.png", "pictures.png"}
    for name, picture in drawn.items():
        committed = ROOT / "docs" / "images" / name
        now, then = (np.asarray(Image.open(file).convert("L"), float) for file in (BytesIO(picture), committed))
        assert now.shape == then.shape, name
        assert np.mean(np.abs(now - then)) < 0.005 * 255, name


def test_a_page_that_prints_something_else_stops_the_build():
    with pytest.raises(AssertionError, match="prints '1"):
        build.run_page("page.md", "```python\nprint(1)\n```\n\n```text\n2\n```\n")


def test_pages_of_the_repository_keep_their_links_into_the_site():
    text = "[a](docs/how-to/x.md) [b](src/y.py) [c](CHANGELOG.md) [d](https://e.org) [e](#f)"
    assert build.convert_links(text) == "[a](how-to/x.md) b [c](changelog.md) [d](https://e.org) [e](#f)"
