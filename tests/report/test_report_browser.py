"""The report in a real browser: no error, no broken link, as narrow as a phone; folds that open for print and keys."""

from __future__ import annotations

import os
import shutil

import pytest
import report_example as example

from dpcheck import report

WIDE = """() => [...document.querySelectorAll("body *")].filter(
  (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg, math, .formula, .skip")
).map((e) => `${e.tagName} ${(e.textContent || "").slice(0, 60)}`)"""
OPEN = "() => [...document.querySelectorAll('details.statement')].filter((d) => d.open).map((d) => d.id).sort()"
CLOSED = "() => [...document.querySelectorAll('details')].filter((d) => !d.open).length"


@pytest.fixture(scope="module")
def browser():
    driver = pytest.importorskip("playwright.sync_api", reason="no playwright; pip install 'dpcheck[docs]'")
    names = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
    program = os.environ.get("DPCHECK_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(
            "no Chromium on the PATH; install one (Debian: apt-get install chromium), or name it DPCHECK_CHROMIUM"
        )
    with driver.sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def page_url(tmp_path_factory) -> str:
    root = tmp_path_factory.mktemp("browsed")
    report.write(example.lay_out(root), example.RECORDS, root / "reports", stale={example.risk_grows.id})
    return (root / "reports" / "dpcheck.html").as_uri()


@pytest.fixture
def opened(browser, page_url):
    """`opened(width, scheme)`: the page in a window, and what its console said."""
    windows = []

    def open_page(width: int = 1280, scheme: str = "light", at: str = ""):
        window = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        said: list[str] = []
        window.on("console", lambda message: said.append(message.text))
        window.on("pageerror", lambda error: said.append(str(error)))
        window.on("requestfailed", lambda request: said.append(request.url))
        window.goto(page_url + at)
        windows.append(window)
        return window, said

    yield open_page
    for window in windows:
        window.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_fits_and_says_nothing_to_the_console(opened, width, scheme):
    window, said = opened(width, scheme)
    window.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    assert window.evaluate(WIDE) == []
    assert said == []
    paper, ink = window.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; }"
    )
    light = [sum(map(int, colour[4:-1].split(", "))) for colour in (paper, ink)]
    assert (light[0] > light[1]) == (scheme == "light")


def test_every_link_inside_leads_somewhere_and_opens_what_it_leads_to(opened):
    window, _ = opened()
    inside = window.evaluate(
        "() => [...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.getAttribute('href'))"
    )
    assert "#example-S1" in inside
    assert (
        window.evaluate(
            "(links) => links.filter((l) => !document.getElementById(decodeURIComponent(l.slice(1))))", inside
        )
        == []
    )
    window.evaluate("location.hash = '#example-S2b'")
    window.wait_for_function("document.getElementById('example-S2b').closest('details').open")


def test_print_opens_what_is_refuted_and_folds_it_again(opened):
    window, _ = opened()
    before, folded = window.evaluate(OPEN), window.evaluate(CLOSED)
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    refuted = window.evaluate("[...document.querySelectorAll('[data-grade=refuted]')].map((row) => row.id)")
    assert refuted
    assert window.evaluate(OPEN) == sorted({*before, *refuted})
    window.emulate_media(media="print")
    assert window.locator(".printed.every").is_visible()
    assert not window.locator(".printed.part").is_visible()
    assert not window.locator("#filter").is_visible()
    window.evaluate("dispatchEvent(new Event('afterprint'))")
    assert window.evaluate(OPEN) == before
    assert window.evaluate(CLOSED) == folded
    assert window.evaluate("document.querySelectorAll('.brief').length") == 0


def test_print_opens_all_of_what_is_chosen_and_nothing_else(opened):
    window, _ = opened()
    window.select_option("select[name=outcome]", "holds")
    chosen = window.evaluate("[...document.querySelectorAll('details.statement:not([hidden])')].map((row) => row.id)")
    assert window.locator("output").inner_text().endswith("statements, which a print has in full")
    assert 0 < len(chosen) < window.evaluate("document.querySelectorAll('details.statement').length")
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert window.evaluate(OPEN) == sorted(chosen)
    window.emulate_media(media="print")
    assert window.locator(".printed.part").is_visible()
    assert not window.locator(".overview").is_visible()
    texts = window.locator("section.check:visible").count()
    assert texts == window.evaluate("document.querySelectorAll('details.statement[open] section.check').length")


def test_what_is_opened_by_hand_is_printed_in_full(opened):
    window, _ = opened()
    with_numbers = window.locator("details.statement:not([data-grade=refuted])")
    row = with_numbers.filter(has=window.locator("table.numbers")).first
    row.locator("> summary").click()
    window.emulate_media(media="print")
    window.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert row.locator("table.numbers").first.is_visible()
    assert len(window.pdf(format="A4")) > 10_000


def test_keys_alone_skip_to_the_statements_open_one_and_filter(opened):
    window, _ = opened()
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"
    window.keyboard.press("Enter")
    assert window.evaluate("location.hash") == "#statements"
    window.locator("details.statement > summary").first.focus()
    window.keyboard.press("Enter")
    assert window.evaluate("document.querySelector('details.statement').open")
    window.locator("input[name=words]").focus()
    window.keyboard.type("thm-10")
    assert window.locator("output").inner_text().startswith("1 of ")


def test_names_for_those_who_do_not_see_it(opened):
    window, _ = opened()
    unnamed = (
        "() => [...document.querySelectorAll('svg[role=img]')].filter((s) => s.getAttribute('aria-label').length < 40)"
    )
    assert window.evaluate(f"({unnamed})().length") == 0
    assert window.evaluate("document.querySelectorAll('th:not([scope])').length") == 0
    assert window.evaluate("document.querySelectorAll('.scroll:not([tabindex])').length") == 0
