"""The documentation site in a browser: live pages work within it, and equations have no scroll bars."""

from __future__ import annotations

import re
from pathlib import Path

import material
import pytest
from latex2mathml.converter import convert
from playwright.sync_api import Browser

from docs import build

ROOT = Path(__file__).parents[2]
STYLES = Path(material.__file__).parent / "templates" / "assets" / "stylesheets"
EQUATIONS = (r"\sum_{s^*} \hat\theta_{s^*} \frac{a^2}{\hat\theta^{s^*}_{a,s}}", " + ".join(["x_1^2"] * 60))


@pytest.mark.parametrize("width", [1280, 390])
def test_equations_have_no_scroll_bars(width: int, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("main", "palette"):
        (style,) = STYLES.glob(f"{name}.*.min.css")
        (tmp_path / f"{name}.css").write_bytes(style.read_bytes())
    site = (ROOT / "docs" / "stylesheets" / "site.css").read_text(encoding="utf-8")
    (tmp_path / "site.css").write_text(re.sub(r"@font-face \{.*?\}", "", site), encoding="utf-8")
    links = "".join(f'<link rel="stylesheet" href="{name}.css">' for name in ("main", "palette", "site"))
    shown = "".join(f'<div class="arithmatex">{convert(tex, display="block")}</div>' for tex in EQUATIONS)
    (tmp_path / "page.html").write_text(
        f'<!doctype html>{links}<div class="md-typeset">{shown}</div>', encoding="utf-8"
    )
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.goto((tmp_path / "page.html").as_uri())
    boxes = page.evaluate("""() => [...document.querySelectorAll("div.arithmatex")].map((e) => ({
      bar: e.offsetHeight - e.clientHeight + e.offsetWidth - e.clientWidth, tall: e.scrollHeight - e.clientHeight,
      wide: e.scrollWidth - e.clientWidth, x: getComputedStyle(e).overflowX, y: getComputedStyle(e).overflowY }))""")
    assert [(box["bar"], box["tall"], box["x"], box["y"]) for box in boxes] == [(0, 0, "auto", "hidden")] * 2
    assert boxes[0]["wide"] == 0 and boxes[1]["wide"] > 0  # one that is too wide can be moved, but shows no bar
    page.close()


def test_live_pages_work_within_the_site(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    pages = build.live_pages()
    for name, text in pages.items():
        (tmp_path / "live" / name).write_text(text, encoding="utf-8")
    frames = re.findall(r"<iframe.*?</iframe>", (ROOT / "docs" / "live.md").read_text(encoding="utf-8"))
    style = (ROOT / "docs" / "stylesheets" / "site.css").read_text(encoding="utf-8")
    html = f"<!doctype html><style>{re.sub(r'@font-face {.*?}', '', style)}</style>{''.join(frames)}"
    (tmp_path / "live.html").write_text(html, encoding="utf-8")
    errors: list[str] = []
    for width in (1280, 390):
        page = browser.new_page(viewport={"width": width, "height": 2400})  # browsers draw only frames that are visible
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto((tmp_path / "live.html").as_uri())
        assert page.locator("iframe").count() == len(pages) == 3
        for name in pages:
            inside = page.frame_locator(f"iframe[src='live/{name}']")
            inside.locator("#slider").fill("33")
            inside.locator(".now", has_text="step 33 · ").first.wait_for(timeout=20_000)
            assert inside.locator("#note").inner_text() != ""
            inside.get_by_role("button", name="Take over").first.click()
            inside.locator("#keys button").first.click()
            inside.locator("#score", has_text="After 1 step of your own").wait_for(timeout=20_000)
            assert inside.locator("html").evaluate("root => root.scrollWidth <= innerWidth"), (name, width)
        page.close()
    assert errors == []
