"""The page in a real browser: no errors, light and dark, keyboard, print, and no width that spills over."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.builders_findings import findings
from tests.benchmark.pages import HOSTILE, episodes, hostile, page
from tests.support.browser import Tab, launched

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of invented findings and real episodes, one agent with a name that is markup."""
    ids = (("fs-01", "tb-01"), ("fs-02", "tb-02"), ("fs-03", "tb-03", "dm-01"))
    played = episodes(ids=ids, keep_messages=True)
    path = tmp_path_factory.mktemp("page") / "report.html"
    made = page(findings("eager", HOSTILE), [*played, *(hostile(each) for each in played[:2])])
    path.write_text(made.text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(file: Path) -> Iterator[Any]:
    """Headless Chromium, opened when the page has been made."""
    yield from launched()


@pytest.fixture
def tab(browser: Any, file: Path) -> Iterator[Tab]:
    """The page on a desk; nothing may have gone wrong in it when the test is over."""
    made = Tab(browser, file.as_uri(), viewport={"width": 1280, "height": 900})
    yield made
    assert made.problems == []
    made.context.close()


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_spills_over(browser: Any, file: Path, width: int, scheme: str) -> None:
    """At every width the page is as wide as the window, also with timelines and everything folded out."""
    tab = Tab(browser, file.as_uri(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab.page.focus("#list button")
    tab.press("Enter")
    tab.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert tab.page.locator(".lanes").count() == 2
    assert tab.value("document.documentElement.scrollWidth") <= width
    outside = tab.value(
        """[...document.querySelectorAll('main *')].filter((each) => !each.closest('.wide, #list, svg'))
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    assert tab.problems == []
    tab.context.close()


def _luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`, as WCAG 2 defines it."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(browser: Any, file: Path, scheme: str) -> None:
    """Contrast of text, notes and marks against the paper: at least 4.5 for words, 3 for marks."""
    tab = Tab(browser, file.as_uri(), color_scheme=scheme)
    paper = _luminance(tab.value("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.5) is (scheme == "light")

    def contrast(selector: str, which: str) -> float:
        colour = tab.value(f"getComputedStyle(document.querySelector('{selector}')).{which}")
        lighter, darker = sorted((paper, _luminance(colour)), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)

    for selector in ("body", ".note", "thead th", "nav a", ".legend"):
        assert contrast(selector, "color") >= 4.5, selector
    for selector in (
        "g.gain rect",
        "g.loss rect, rect.loss",
        "g.bare circle",
        "g.guarded circle",
        "g.neutral circle",
    ):
        assert contrast(selector, "fill") >= 3, selector
    tab.context.close()


def test_the_skip_link_comes_first(tab: Tab) -> None:
    """Tab reaches it first, then the chapters; it leads past them."""
    tab.press("Tab")
    assert tab.focused() == "To the report"
    tab.press("Tab")
    assert tab.focused() == "In one figure"
    assert tab.value("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_a_setup_is_chosen_by_keyboard(tab: Tab) -> None:
    """The panel changes, and so does every other chapter that has the same setup."""
    before = tab.page.locator("#guards .panel").inner_text()
    tab.page.focus("#guards select")
    tab.press("ArrowDown")
    assert tab.page.locator("#guards .panel").inner_text() != "" != before
    chosen = tab.value("document.querySelector('#guards select').selectedOptions[0].text")
    others = tab.value(
        "[...document.querySelectorAll('.panels select')].map((each) => each.selectedOptions[0].text)"
    )
    options = tab.value(
        "[...document.querySelectorAll('.panels select')].map((s) => [...s.options].map((o) => o.text))"
    )
    assert all(
        chosen == shown for shown, known in zip(others, options, strict=True) if chosen in known
    )


def test_compositions_are_walked_and_shown_by_keyboard(tab: Tab) -> None:
    """Arrows move in the list, Enter shows, Tab reaches the calls, arrows walk them in the order of issue."""
    tab.page.select_option("#setup", label="eager · fixed1")
    tab.page.focus("#list button")
    first = tab.focused()
    tab.press("ArrowRight")
    second = tab.focused()
    assert first != second
    assert "none not solved, all solved" in second
    tab.press("End", "Home")
    assert tab.focused() == first
    tab.press("Enter")
    assert tab.page.locator(".lanes").count() == 2
    assert tab.page.locator("#list [aria-pressed=true]").count() == 1
    tab.page.locator(".lanes").first.locator(".call[tabindex='0']").focus()
    walked = [tab.focused()]
    calls = tab.page.locator(".lanes").first.locator(".call").count()
    for _ in range(calls - 1):
        tab.press("ArrowRight")
        walked.append(tab.focused())
    assert len(set(walked)) == calls
    ticks = [int(each.split("tick ")[1].split(",")[0]) for each in walked]
    assert ticks == sorted(ticks)
    assert tab.page.locator(".detail").first.inner_text().startswith(walked[-1])


def test_a_timeline_shows_what_was_played(tab: Tab) -> None:
    """One block for each call, hatched time after it, the guards' marks, and the gold chain."""
    tab.page.select_option("#setup", label="eager · fixed1")
    tab.page.focus("#list button")
    tab.press("Enter")
    bare, full = tab.page.locator("#timelines > figure").all()
    assert bare.locator(".guard").count() == 0
    assert full.locator(".guard").count() > 0
    assert "grounding" in full.locator(".lanes").text_content()
    assert full.locator(".pending").count() == full.locator(".call").count()
    assert bare.locator(".chain .missing").count() > 0
    assert full.locator(".chain .missing").count() == 0
    rows = full.locator("details tbody tr").count()
    assert rows >= full.locator(".call").count()


@pytest.mark.parametrize("width", [400, 1280])
def test_a_table_that_is_cut_off_says_so(browser: Any, file: Path, width: int) -> None:
    """Exactly the boxes that scroll have the hint; the names of lines stay in sight while they scroll."""
    tab = Tab(browser, file.as_uri(), viewport={"width": width, "height": 800})
    boxes = tab.value(
        """[...document.querySelectorAll('.wide')].map((box) => [box.scrollWidth > box.clientWidth + 1,
        getComputedStyle(box, '::before').content.includes('scroll sideways')])"""
    )
    assert all(each is hinted for each, hinted in boxes)
    # Of the tables that are not folded, most fit on a desk and most do not on a telephone.
    cut = sum(each for each, _ in boxes) / len(boxes)
    assert (cut > 0.5) is (width == 400)
    if width == 400:
        left = tab.value(
            """(() => { const box = document.querySelector('.wide.clips'); box.scrollLeft = 200;
            return box.querySelector('tbody th').getBoundingClientRect().left
              - box.getBoundingClientRect().left; })()"""
        )
        assert left == pytest.approx(0, abs=1)
    tab.context.close()


def test_the_headline_stands_beside_what_is_simulated(tab: Tab) -> None:
    """On a desk both are seen at once, with the picture."""
    head = tab.page.locator("#headline").bounding_box()
    aside = tab.page.locator(".first aside").bounding_box()
    assert aside["x"] >= head["x"] + head["width"]
    assert aside["y"] < 400
    assert tab.page.locator("#headline circle").first.bounding_box()["y"] < 900


def test_two_clicks_lead_to_the_sentence_that_the_model_was_told(tab: Tab) -> None:
    """From a composition's verdict to its conversation; the message with the rejection is marked."""
    tab.page.select_option("#setup", label="eager · fixed1")
    tab.page.locator("#list button").first.click()
    tab.page.get_by_text("Read the conversation").last.click()
    marked = tab.page.locator(".said.rejection").first
    marked.wait_for()
    assert "was not run" in marked.inner_text()
    assert marked.is_visible()


def test_verdicts_are_filtered(tab: Tab) -> None:
    """Gained, lost and by name; the sentence above the list counts them."""
    tab.page.select_option("#setup", label="eager · fixed1")
    shown = "[...document.querySelectorAll('#list button')].length"
    assert tab.value(shown) == 3
    assert "gains 3 and loses 0" in tab.page.locator("#tally").inner_text()
    tab.page.select_option("#show", "lost")
    assert tab.value(shown) == 0
    tab.page.select_option("#show", "gained")
    tab.page.fill("#find", "dm-01")
    assert tab.value(shown) == 1


def test_names_that_are_markup_run_nothing(tab: Tab) -> None:
    """No dialog opens and no element appears, in tables, choices and timelines."""
    index = tab.value(
        "[...document.querySelector('#setup').options].findIndex((each) => each.text.includes('alert'))"
    )
    tab.page.select_option("#setup", index=index)
    tab.page.focus("#list button")
    tab.press("Enter")
    tab.page.focus("#guards select")
    tab.press("End")
    assert tab.page.locator("main b").count() == 0
    assert "alert(1)" in tab.page.locator("#timelines").inner_text()


def test_print_has_every_figure_and_no_controls(browser: Any, file: Path) -> None:
    """Printed tables are open, nothing is wider than the sheet, and choices are left out."""
    tab = Tab(browser, file.as_uri(), viewport={"width": 720, "height": 1000}, color_scheme="dark")
    tab.page.focus("#list button")
    tab.press("Enter")
    tab.page.emulate_media(media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not tab.page.locator("#list").is_visible()
    assert not tab.page.locator("nav").is_visible()
    assert tab.page.locator("details table").first.is_visible()
    assert tab.page.locator("details table").first.bounding_box()["height"] > 40
    assert tab.value("document.documentElement.scrollWidth") <= 720
    assert len(tab.page.pdf(format="A4")) > 10_000
    assert tab.problems == []
    tab.context.close()


def test_without_scripts_the_figures_are_there(browser: Any, file: Path) -> None:
    """The first setup of every chapter, and a word on what is missing."""
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(file.as_uri())
    assert "Without JavaScript" in shown.locator("noscript").inner_text()
    assert shown.locator("#guards table").count() >= 5
    context.close()
