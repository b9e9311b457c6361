"""Check the documentation: its code runs and prints the expected output, and its names and links exist."""

import pkgutil
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

import berlyne
from berlyne.cli import commands
from docs import build

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#]+)")
MADE = {"verdicts.md", "contributing.md", "changelog.md", "command-line.md"}
MADE |= {"maze.html", "one-two-three.html", "frozen-lake.html"}
"""Pages that the site's build makes."""

python_blocks, run_page, saved_pictures = build.python_blocks, build.run_page, build.saved_pictures


def findings(check):
    """What `check(page, text)` lists for each page, by name of the page; pages without findings are left out."""
    found = {str(page.relative_to(ROOT)): check(page, page.read_text(encoding="utf-8")) for page in PAGES}
    return {name: listed for name, listed in found.items() if listed}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run_and_print_the_expected_output(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    text = page.read_text(encoding="utf-8")
    run_page(str(page), text)
    plt.close("all")
    for picture in saved_pictures(text):
        assert (tmp_path / picture).stat().st_size > 0, picture


@pytest.mark.parametrize("text", ["```python\nassert 1 == 2\n```\n", "```python\nprint(1)\n```\n\n```text\n2\n```\n"])
def test_a_wrong_page_is_detected(text):
    with pytest.raises(AssertionError):
        run_page("page.md", text)


def test_names_of_the_package_exist():
    def missing(page, text):
        for name in re.findall(r"`(berlyne(?:\.\w+)+)", text):
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                yield name

    assert findings(lambda page, text: list(missing(page, text))) == {}


def lost_links(folder, text):
    """Links of a page in `folder` that lead neither to a file nor to a picture which its code saves."""
    prose = build.FENCE.sub("", text)  # in code, make[name](seed) is no link
    local = {target for target in LINK.findall(prose) if not target.startswith("https://")}
    existing = saved_pictures(text) | {target for target in local if Path(target).name in MADE}
    return sorted(target for target in local - existing if not (folder / target).exists())


def test_links_within_the_repository_lead_somewhere():
    assert findings(lambda page, text: lost_links(page.parent, text)) == {}


def test_a_picture_exists_only_if_the_code_of_its_page_saves_it(tmp_path):
    saves = '```python\nfig.savefig("one.png", dpi=150)\n```\n'
    assert lost_links(tmp_path, saves + "![A curve.](one.png) ![Another.](other.png)") == ["other.png"]
    assert lost_links(tmp_path, saves.replace("python", "py") + "![A curve.](one.png)") == ["one.png"]


def test_links_are_searched_in_prose_only(tmp_path):
    assert lost_links(tmp_path, "```python\nmake[name](seed)\n```\n[A page](page.md)\n") == ["page.md"]


def test_pictures_have_a_description():
    described = re.compile(r"!\[([^\]]*)\]")
    assert findings(lambda page, text: [one for one in described.findall(text) if len(one.split()) <= 5]) == {}


def first_cells(page):
    return re.findall(r"^\| (\S+) \|", (ROOT / "docs" / "paper" / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_reading_has_its_section_and_its_line():
    numbers = [f"R{n}" for n in range(1, 25)]
    text = (ROOT / "docs" / "paper" / "readings.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (R\d+)$", text, re.MULTILINE) == numbers
    assert first_cells("readings.md")[1:] == [f"[{number}](#{number.lower()})" for number in numbers]


def test_every_numbered_equation_is_listed():
    assert [cell for cell in first_cells("equations.md") if cell.isdigit()] == [str(n) for n in range(1, 21)]


def test_readings_that_the_code_cites_exist():
    cited = {
        int(number)
        for module in (ROOT / "src").rglob("*.py")
        for number in re.findall(r"\bR(\d+)\b", module.read_text(encoding="utf-8"))
    }
    assert cited
    assert cited <= set(range(1, 25))


def test_first_example_is_short():
    _, code, _ = next(python_blocks((ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(code.strip().splitlines()) < 10


def test_citation_names_this_version():
    assert f"\nversion: {berlyne.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_page_on_citing_agrees_with_the_file():
    citation, page = (ROOT / "CITATION.cff").read_text(encoding="utf-8"), how_to("cite.md")
    title, doi = re.search(r'^title: "(.+)"$', citation, re.MULTILINE)[1], re.search(r"doi: (\S+)", citation)[1]
    paper = re.search(r"^    title: (.+)$", citation, re.MULTILINE)[1]
    for entry in (f"version = {{{berlyne.__version__}}}", f"{{{title}}}", f"{{{paper}}}", f"{{{doi}}}", "{1112.1125}"):
        assert entry in page, entry


def how_to(name):
    return (ROOT / "docs" / "how-to" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("command", "page"), [("run", "run-a-study.md"), ("lab", "closed-loop.md")])
def test_every_option_of_these_commands_is_on_its_page(command, page):
    click_command = commands.get_command(None, command)
    inner = [click_command] if command == "run" else list(click_command.commands.values())
    options = {name for one in inner for option in one.params for name in option.opts if name.startswith("--")}
    assert len(options) > 5
    tables = "\n".join(line for line in how_to(page).splitlines() if line.startswith("|"))  # in its tables
    assert [name for name in sorted(options) if f"`{name}" not in tables] == []


def test_no_page_installs_from_an_index():
    """The package is on none: extras are installed from a clone, as '.[gym]' or '/path[gym]'."""
    installed = re.compile(r"pip install [^\n]*?['\" ]berlyne\b")
    assert findings(lambda page, text: installed.findall(text)) == {}
