"""Every page that the library writes, opened in Chromium: ``make test-browser``.

Pictures of the pages are kept in the folder that ``SCREENSHOTS`` names.
"""

import os
from pathlib import Path

import pytest
from looking import FAULTS, FLAGS, chromium, write_pages

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed; run make test-browser"
)
if chromium() is None:
    pytest.skip("no Chromium is installed; run make test-browser", allow_module_level=True)

SHOTS = os.environ.get("SCREENSHOTS")
NAMES = [
    "statement",
    "card",
    "card-ex-post",
    "card-pure",
    "report",
    "report-wide",
    "report-intervals",
]
SCREENS = {"desktop": (1280, 900), "phone": (360, 740)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    assert write_pages(folder) == NAMES
    return folder


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield found
        found.close()


def opened(browser, file):
    """Return a page and what it said, asked for and failed at."""
    page, said = browser.new_context().new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(f"asked for {request.url}"))
    page.goto(file.as_uri())
    said.remove(f"asked for {file.as_uri()}")
    return page, said


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_on_every_screen_and_on_paper(browser, folder, name):
    page, said = opened(browser, folder / f"{name}.html")
    faults = []
    for screen, (width, height) in SCREENS.items():
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            faults += [f"{screen}, {scheme}: {fault}" for fault in page.evaluate(FAULTS)]
            if SHOTS:
                shot = Path(SHOTS) / f"{name}-{screen}-{scheme}.png"
                page.screenshot(path=shot, full_page=True)
    # Still at night: paper is white all the same.
    page.set_viewport_size({"width": 672, "height": 1000})  # a sheet of A4 within its margins
    page.emulate_media(media="print")
    faults += [f"print: {fault}" for fault in page.evaluate(FAULTS)]
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    printed = page.pdf(prefer_css_page_size=True, format="A4")
    if SHOTS:
        (Path(SHOTS) / f"{name}.pdf").write_bytes(printed)
    page.context.close()
    assert said == []
    assert faults == []
    assert paper == "rgb(255, 255, 255)"
    assert printed.startswith(b"%PDF")


def test_faults_are_found(browser, tmp_path):
    """What is looked for is seen where it is."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>t</title><header><h1>h</h1></header><main>"
        "<p style='width: 5000px'>wide</p><p>one</p><p style='margin-top: -2rem'>two</p>"
        "<figure></figure><svg width='100' height='50'><line x1='0' x2='9'/>"
        "<text x='90' y='20'>beyond the edge</text></svg><table><tbody></tbody></table></main>"
        "<script>console.error('oops')</script><script src='gone.js'></script>"
    )
    page, said = opened(browser, tmp_path / "bad.html")
    faults = " | ".join(page.evaluate(FAULTS))
    page.context.close()
    assert any("oops" in line for line in said)
    assert any("gone.js" in line for line in said)
    for fault in ("overflow", "overlap", "empty figure", "without words", "cut off", "empty table"):
        assert fault in faults
