"""The code of the how-to for React: type-checked, built, and run in a browser against ``langgraph dev``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.ui.served import AGENTS, EARLY, SECONDS
from tests.graphs.desk import ROOT, Server, free_port
from tests.support.browser import Tab
from tests.support.node import installed, run_npm

pytestmark = [
    pytest.mark.slow(seconds=6),
    pytest.mark.server,
    # What both front ends send is tested in tests/adapters/ag_ui.
    pytest.mark.sampled(3, rest="full"),
]
SOURCE = ROOT / "examples" / "ui" / "react"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with what it depends on, built."""
    folder = installed(SOURCE, tmp_path_factory.mktemp("react") / "package")
    built = run_npm(folder, "run", "build")
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(params=(*AGENTS, "state_machine_pair"))
def tab(
    request: pytest.FixtureRequest, browser: Any, package: Path, server: Server
) -> Iterator[Tab]:
    """The built page on an agent of each adapter; nothing may have gone wrong in it."""
    url = f"{(package / 'index.html').as_uri()}?server={server.url}&agent={request.param}"
    shown = Tab(browser, url, own=server.url)
    shown.page.set_default_timeout(SECONDS)
    yield shown
    shown.context.close()
    assert shown.problems == []


def say(tab: Tab, text: str) -> None:
    """Send a message; several lines are several tasks."""
    tab.page.get_by_label("Message").fill(text)
    tab.page.get_by_role("button", name="Send").click()


def card(tab: Tab, tool: str, state: str) -> Any:
    """Wait for the card of a tool in a state, and return it."""
    found = tab.page.locator(f".card[data-state={state}]").filter(
        has=tab.page.locator("h3", has_text=tool)
    )
    found.first.wait_for()
    return found.first


def test_the_types_are_right(package: Path) -> None:
    """The compiler accepts the code with the types of the packages, and refuses a wrong field beside it."""
    wrong = package / "wrong.ts"
    wrong.write_text(
        'import type { Card } from "./guarded";\nexport const colour = (card: Card) => card.colour;\n'
    )
    checked = run_npm(package, "run", "check")
    wrong.unlink()
    errors = [line for line in checked.stdout.splitlines() if "error TS" in line]
    assert len(errors) == 1, checked.stdout
    assert errors[0].startswith("wrong.ts")
    assert "Property 'colour' does not exist" in errors[0]
    assert checked.returncode != 0


def test_cards_complete_and_say_why_they_were_held_back(tab: Tab) -> None:
    """The late result completes its card below the marked text; after a reload the same is shown."""
    say(tab, "trip: weather\ntrip: hotel")
    tab.page.get_by_text("Said while calls are open.").wait_for()
    assert EARLY in tab.page.locator("main").inner_text()
    card(tab, "hotel", "pending")
    late = card(tab, "hotel", "done")
    assert late.locator(".state").inner_text() == "done, late"
    assert late.locator("pre").inner_text() == "Hotel Mira in Rome"
    held = card(tab, "weather", "rejected")
    assert held.locator(".state").inner_text() == "held back by clarification"
    assert "weather needs city" in held.inner_text()
    tab.page.get_by_text("Sun, and Hotel Mira.").wait_for()
    assert tab.page.get_by_label("Message").input_value() == ""
    assert "<result-" not in tab.page.locator("main").inner_text()
    tab.page.reload()
    tab.page.get_by_text("Sun, and Hotel Mira.").wait_for()
    again = card(tab, "hotel", "done")
    assert again.locator("pre").inner_text() == "Hotel Mira in Rome"
    assert again.locator(".state").inner_text() == "done, late"
    assert "weather needs city" in card(tab, "weather", "rejected").inner_text()


def test_late_results_of_blocks_and_of_text_complete_their_own_cards(tab: Tab) -> None:
    """Both come in one message; before and after a reload each card has its own."""
    say(tab, "tour: weather\ntour: photos and hotel")
    for _ in ("live", "reloaded"):
        tab.page.get_by_text("Photos, and Hotel Mira.").wait_for()
        found = card(tab, "photos", "done")
        assert found.locator("pre").inner_text() == "Two photos of Rome:\nthe river and the bridge"
        assert found.locator(".state").inner_text() == "done, late"
        assert card(tab, "hotel", "done").locator("pre").inner_text() == "Hotel Mira in Rome"
        tab.page.reload()


@pytest.mark.parametrize(
    ("scene", "asked", "result"),
    [
        ("pick", "Which room?", "chosen M"),
        ("size", '"question": "Which size?"', "measured M"),
        ("null", "null", "measured M"),
    ],
)
def test_a_question_of_a_tool_is_answered(tab: Tab, scene: str, asked: str, result: str) -> None:
    """It may be any JSON: it is shown with a field, also after a reload, and the tool gets the answer."""
    say(tab, scene)
    tab.page.get_by_label("Your answer").wait_for()
    tab.page.reload()
    field = tab.page.get_by_label("Your answer")
    field.wait_for()
    assert asked in tab.page.locator("form pre").inner_text()
    field.fill("M")
    tab.page.get_by_role("button", name="Answer").click()
    tab.page.get_by_text("Reported:").wait_for()
    tool = "choose" if scene == "pick" else "measure"
    assert card(tab, tool, "done").locator("pre").inner_text() == result
    field.wait_for(state="hidden")


def test_buttons_answer_and_resume(tab: Tab) -> None:
    """A call is approved, another refused; a parked run is looked at again until its result is there."""
    say(tab, "rooms")
    tab.page.get_by_role("button", name="Approve").first.click()
    tab.page.get_by_role("button", name="Refuse").last.click()
    assert card(tab, "book", "done").locator("pre").inner_text() == "booked 12"
    assert card(tab, "book", "rejected").is_visible()
    tab.page.get_by_role("status").filter(has_text="Ready").wait_for()
    say(tab, "deed")
    again = tab.page.get_by_role("button", name="Look again")
    again.wait_for()
    for _ in range(20):  # the answer comes half a second after the run has parked
        again.click()
        tab.page.get_by_role("status").filter(has_text="Ready").wait_for()
        if not again.is_visible():
            break
    assert card(tab, "notary", "done").locator("pre").inner_text() == "certified deed"


@pytest.mark.parametrize(
    ("scene", "photos"),
    [("stay: hotel\nstay: photos and room", "done, late"), ("view", "done")],
)
def test_a_reload_of_a_run_that_waits_shows_what_has_ended(
    tab: Tab, scene: str, photos: str
) -> None:
    """The person decides by results that the model was not told yet; a late refusal names its guard."""
    say(tab, scene)
    for _ in ("live", "reloaded"):
        tab.page.get_by_role("button", name="Refuse").wait_for()
        found = card(tab, "photos", "done")
        assert found.locator("pre").inner_text() == "Two photos of Rome:\nthe river and the bridge"
        assert found.locator(".state").inner_text() == photos
        assert "need a person's approval" in card(tab, "book", "held").inner_text()
        tab.page.reload()
    tab.page.get_by_role("button", name="Refuse").click()
    tab.page.get_by_text("Reported:").wait_for()
    for _ in ("live", "reloaded"):
        word = card(tab, "book", "rejected").locator(".state").inner_text()
        assert word.startswith("held back by approval")
        tab.page.reload()
        tab.page.get_by_text("Reported:").wait_for()


def test_words_that_reach_no_server_stay_in_the_field(browser: Any, package: Path) -> None:
    """The person sends them again when the server is there."""
    server = f"http://127.0.0.1:{free_port()}"
    url = f"{(package / 'index.html').as_uri()}?server={server}&agent=state_machine"
    shown = Tab(browser, url, own=server)
    say(shown, "a long question")
    shown.page.get_by_role("status").filter(has_text="Failed: ").wait_for()
    assert shown.page.get_by_label("Message").input_value() == "a long question"
    shown.context.close()


def test_a_call_in_doubt_is_no_failure_after_a_reload(tab: Tab) -> None:
    """A user who reads that a payment has failed makes it again."""
    say(tab, "wire")
    card(tab, "wire", "in_doubt")
    tab.page.get_by_text("Reported:").wait_for()
    tab.page.reload()
    tab.page.get_by_text("Reported:").wait_for()
    card(tab, "wire", "in_doubt")
