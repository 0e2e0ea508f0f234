"""The page of `asyncguard view` in a real browser: what it opens on, keyboard, filters, hostile files, and size."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncguard.cli import main
from asyncguard.cli.view.server import Follower
from asyncguard.observability.observer import ObserverSet
from asyncguard.observability.trace_file import TraceFile
from tests.observability.story import Story, every_kind
from tests.support.browser import Tab, launched

pytestmark = pytest.mark.slow
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    yield from launched()


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Tab]:
    """A run with every kind of event; nothing may have gone wrong in it when the test is over."""
    made = Tab(browser, page(tmp_path, every_kind), viewport={"width": 1400, "height": 900})
    yield made
    assert made.problems == []
    made.context.close()


def page(folder: Path, tell: Any) -> str:
    """Writes a trace with payloads and its page; returns the page's address."""
    path = folder / "run.jsonl"
    story = Story()
    with TraceFile(path, wall=story.wall, payloads=True) as trace:
        story.observers = ObserverSet([trace])
        tell(story)
    assert main(["view", str(path)]) == 0
    return path.with_suffix(".html").as_uri()


def hostile(story: Story) -> None:
    """A run whose names and values are markup, one of them huge."""
    story.begin(HOSTILE, t=HOSTILE)
    pay, other = story.turn(("t", "pay", {HOSTILE: HOSTILE}), ("t", "blob", {"x": "y" * 2_000_000}))
    story.reject(pay)
    story.start_calls(other)
    story.retire(other, content={"html": HOSTILE})


def large(story: Story) -> None:
    """A run of 2,100 calls in 700 turns over 40 tasks; the first rejection comes late."""
    chance = random.Random(1)
    story.begin(**{f"task{number}": f"goal {number}" for number in range(40)})
    open_calls: list[str] = []
    for turn in range(700):
        story.at(0.1 * turn)
        named = [(f"task{chance.randrange(40)}", "search", {"q": "x" * 200}) for _ in range(3)]
        for key in story.turn(*named):
            if turn > 300 and chance.random() < 0.1:
                story.reject(key)
            else:
                story.start_calls(key)
                open_calls.append(key)
        while len(open_calls) > 20:
            key = open_calls.pop(chance.randrange(len(open_calls)))
            story.retire(key, content="y" * 300)
            story.deliver(key)


def test_it_opens_on_the_first_rejection(shown: Tab) -> None:
    """The list is scrolled to it, its lane shows it, and the reason stands beside it."""
    chosen = shown.page.locator("[role=option][aria-selected=true]")
    assert "pay#1" in chosen.inner_text()
    assert chosen.is_visible()
    assert "the value is found nowhere" in shown.page.locator("#detail").inner_text()
    assert shown.page.locator(".bar[data-chosen]").count() == 1


def test_it_is_reached_by_keyboard(shown: Tab) -> None:
    """The skip link leads to the list, arrows move the choice, and it is announced."""
    shown.press("Tab", "Enter")
    shown.press("Tab") if "Calls" not in shown.focused() else None
    assert "Calls, messages" in shown.focused()
    before = shown.page.get_attribute("#list", "aria-activedescendant")
    shown.press("ArrowDown")
    after = shown.page.get_attribute("#list", "aria-activedescendant")
    assert before != after
    assert shown.page.locator(f"#{after}").get_attribute("aria-selected") == "true"
    assert "turn 3" in shown.page.locator("#detail").inner_text()
    shown.press("End")
    assert "run ended" in shown.page.locator("#detail").inner_text()


def test_enter_and_a_click_show_the_chosen_entry(browser: Any, tmp_path: Path) -> None:
    """In a narrow window its detail lies below the list, out of sight."""
    size = {"width": 400, "height": 700}
    tab = Tab(browser, page(tmp_path, every_kind), viewport=size)
    above = "document.querySelector('#detail').getBoundingClientRect().top < innerHeight - 100"
    tab.page.focus("#list")
    tab.press("Home", "Enter")
    assert "Chosen entry" in tab.focused()
    assert tab.value(above)
    tab.page.evaluate("scrollTo(0, 0)")
    assert not tab.value(above)
    tab.page.locator(".row").first.click()
    assert tab.value(above)


def test_entries_are_searched_and_filtered(shown: Tab) -> None:
    """By words of any part, by flag and by task; what fits nothing says so."""
    count = shown.page.locator("#count")
    shown.page.fill("#search", "PORTAL fallback")
    assert count.inner_text().startswith("1 of ")
    assert "ask_desk#1" in shown.page.locator("#detail").inner_text()
    shown.page.fill("#search", "")
    shown.page.select_option("#filter", "rejected")
    assert count.inner_text().startswith("1 of ")
    shown.page.select_option("#filter", "everything")
    shown.page.select_option("#task", "hotel")
    assert shown.page.locator(".row", has_text="flights /").count() == 0
    shown.page.fill("#search", "no such words")
    assert "Nothing in the file fits" in shown.page.locator("#detail").inner_text()


def test_a_link_leads_to_a_call(browser: Any, tmp_path: Path) -> None:
    """The address names run and entry."""
    tab = Tab(browser, page(tmp_path, every_kind))
    tab.page.focus("#list")
    tab.press("End")
    name = tab.page.locator("#detail h2").inner_text()
    again = Tab(browser, tab.page.url)
    assert again.page.locator("#detail h2").inner_text() == name
    other = Tab(browser, f"{tab.page.url.partition('#')[0]}#r2")
    assert other.page.locator("#group").input_value() == "1"


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_spills_over(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    """The page is as wide as the window, in the colours that the reader prefers."""
    size = {"width": width, "height": 900}
    tab = Tab(browser, page(tmp_path, every_kind), viewport=size, color_scheme=scheme)
    assert tab.value("document.documentElement.scrollWidth") <= width
    paper = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(253, 253, 251)") is (scheme == "light")
    assert tab.problems == []


def test_a_hostile_file_runs_nothing(browser: Any, tmp_path: Path) -> None:
    """Markup is shown as text in list, lanes and detail; no dialog opens and nothing is asked for."""
    tab = Tab(browser, page(tmp_path, hostile))
    assert tab.page.locator("img, main script").count() == 0
    assert "<img src=x onerror=alert(2)>" in tab.page.locator("#detail").inner_text()
    tab.page.focus("#list")
    tab.press("End", "ArrowUp")
    assert tab.problems == []


def test_the_policy_stops_what_would_get_in(shown: Tab) -> None:
    """A script that is put into the document does not run."""
    shown.value(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.got = 1'}))"
    )
    assert shown.value("window.got") is None
    assert "Content Security Policy" in shown.problems.pop()


def test_a_large_run_opens_at_once(browser: Any, tmp_path: Path) -> None:
    """2,100 calls in less than two seconds; few of them are in the document at a time."""
    address = page(tmp_path, large)
    begin = time.perf_counter()
    tab = Tab(browser, address, viewport={"width": 1400, "height": 900})
    assert time.perf_counter() - begin < 2
    left = "[...document.querySelectorAll('.bar')].map((bar) => bar.getBoundingClientRect().left)"
    assert 0 < max(tab.value(left)) < 1400 + 100
    assert 0 < tab.page.locator(".row").count() < 60
    assert "rejected" in tab.page.locator("[role=option][aria-selected=true]").inner_text()
    tab.page.focus("#list")
    tab.press("End", "PageUp", "Home")
    assert "task0" in tab.page.locator("[role=option][aria-selected=true]").inner_text()
    assert tab.problems == []


def test_a_page_that_follows_shows_what_is_added(browser: Any, tmp_path: Path) -> None:
    """A rejection that is written later appears and is opened; the end of the command is told."""
    path = tmp_path / "run.jsonl"
    story = Story()
    with TraceFile(path, wall=story.wall, payloads=True) as trace:
        story.observers = ObserverSet([trace])
        story.begin(t="x")
        (first,) = story.turn(("t", "look"))
        story.start_calls(first)
        with Follower(path) as follower:
            thread = threading.Thread(target=follower.serve)
            thread.start()
            tab = Tab(browser, follower.url)
            assert tab.page.locator(".row.rejected").count() == 0
            (later,) = story.turn(("t", "pay"))
            story.reject(later)
            tab.page.wait_for_selector(".row.rejected[aria-selected=true]", timeout=10_000)
            assert "found nowhere" in tab.page.locator("#detail").inner_text()
            assert tab.problems == []
            follower.stop()
            thread.join()
        tab.page.wait_for_selector("#live:has-text('has ended')", timeout=10_000)
