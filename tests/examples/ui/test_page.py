"""The reference page in a real browser, against a running ``langgraph dev``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.ui.served import AGENTS, EARLY, PAGE, Shown, desk_server, wait_until_stored
from tests.graphs.desk import Server, free_port
from tests.support.browser import Tab

pytestmark = [
    pytest.mark.slow(seconds=4),
    pytest.mark.server,
    # What both front ends send is tested in tests/adapters/ag_ui.
    pytest.mark.sampled(2, rest="full"),
]
TRIP = "trip: weather\ntrip: hotel"
FINAL = "Sun, and Hotel Mira."
TOUR = "tour: weather\ntour: photos and hotel"
PHOTOS = "Two photos of Rome:\nthe river and the bridge"


@pytest.fixture(params=AGENTS)
def shown(request: pytest.FixtureRequest, browser: Any, server: Server) -> Iterator[Shown]:
    """The page on an agent of each adapter."""
    page = Shown(browser, server, request.param, viewport={"width": 1400, "height": 900})
    yield page
    page.close()


def test_a_late_result_completes_its_card(shown: Shown) -> None:
    """The card runs on below the marked text, shows the result, and both tasks are closed."""
    shown.say(TRIP, tasks=True)
    shown.page.get_by_text("Said while a call was open").wait_for()
    assert EARLY in shown.log()
    assert shown.card("hotel", state="pending").inner_text().split("\n")[1] == "running"
    card = shown.card("hotel", state="done")
    assert card.locator(".state").inner_text() == "done, late"
    assert card.locator("pre").inner_text() == "Hotel Mira in Rome"
    shown.status("Ended: complete")
    assert FINAL in shown.log()
    assert "<result-" not in shown.log()
    tasks = shown.page.locator("#tasks li").all_inner_texts()
    assert [each.split("\n")[:2] for each in tasks] == [
        ["task-1 closed", "trip: weather"],
        ["task-2 closed", "trip: hotel"],
    ]
    assert tasks[0].endswith("calls: 1 done, 1 held back")


def test_late_results_of_blocks_and_of_text_complete_their_own_cards(shown: Shown) -> None:
    """Both come in one message; before and after a reload each card has its own."""
    shown.say(TOUR, tasks=True)
    shown.status("Ended: complete")
    for _ in ("live", "reloaded"):
        assert shown.card("photos", state="done").locator("pre").inner_text() == PHOTOS
        assert shown.card("hotel", state="done").locator("pre").inner_text() == "Hotel Mira in Rome"
        words = shown.page.locator(".card .state").all_inner_texts()
        assert sorted(words) == ["done", "done, late", "done, late"]
        shown.page.reload()
        shown.status("Ended: complete")


def test_a_rejected_call_is_held_back_with_its_reason(shown: Shown) -> None:
    """It is told from an error of the tool, and says which guard and why."""
    shown.say(TRIP, tasks=True)
    card = shown.card("weather", state="rejected")
    assert card.locator(".state").inner_text() == "held back by clarification"
    assert card.locator("p").inner_text().startswith("weather needs city")
    assert not card.locator("pre").is_visible()
    shown.status("Ended: complete")
    assert card.get_attribute("data-shape") == "back"


def test_a_reload_shows_the_same_conversation(shown: Shown) -> None:
    """All of it comes from the state of the thread: cards, marked text, tasks."""
    shown.say(TRIP, tasks=True)
    shown.status("Ended: complete")
    states = "[...document.querySelectorAll('.card .state')].map((each) => each.textContent)"

    def seen() -> list[Any]:
        texts = [shown.page.locator(each).all_inner_texts() for each in (".note", "#tasks li")]
        return [shown.tab.value(states), *texts]

    before = seen()
    shown.page.reload()
    shown.status("Ended: complete")
    assert seen() == before
    assert before[0] == ["done", "done, late", "held back by clarification"]
    assert shown.card("hotel", state="done").locator("pre").inner_text() == "Hotel Mira in Rome"


def test_a_reload_of_a_page_whose_run_waits_shows_its_tasks(shown: Shown) -> None:
    """The run has no report yet: its tasks come from the message that names them."""
    shown.say("suite\nanother suite", tasks=True)
    shown.status("Waits for your decision.")
    shown.page.reload()
    shown.status("Waits for your decision.")
    tasks = shown.page.locator("#tasks li").all_inner_texts()
    assert [each.split("\n")[:2] for each in tasks] == [
        ["task-1 open", "suite"],
        ["task-2 open", "another suite"],
    ]


@pytest.mark.parametrize(
    ("scene", "photos"),
    [("stay: hotel\nstay: photos and room", "done, late"), ("view", "done")],
)
def test_a_reload_of_a_run_that_waits_shows_what_has_ended(
    shown: Shown, scene: str, photos: str
) -> None:
    """The person decides by results that the model was not told yet, and no message holds."""
    shown.say(scene, tasks=True)
    shown.status("Waits for your decision.")
    before = shown.cards()
    for _ in ("live", "reloaded"):
        found = shown.card("photos", state="done")
        assert found.locator("pre").inner_text() == PHOTOS
        assert found.locator(".state").inner_text() == photos
        assert "need a person's approval" in shown.card("book", state="held").inner_text()
        assert shown.cards() == before
        shown.page.reload()
        shown.status("Waits for your decision.")
    shown.page.get_by_placeholder("Reason of a refusal").fill("too dear")
    shown.page.get_by_role("button", name="Refuse").click()
    shown.status("Ended: complete")
    refused = shown.cards()
    assert any("held back by approval" in each for each in refused)
    shown.page.reload()
    shown.status("Ended: complete")
    assert shown.cards() == refused


def test_a_reload_shows_what_recovery_did(shown: Shown) -> None:
    """Only the ledger of the thread holds its steps."""
    shown.say("wire")
    shown.status("Ended: complete")
    before = shown.cards()
    assert "attempt 1: " in before[0]
    shown.page.reload()
    shown.status("Ended: complete")
    assert shown.cards() == before


def test_a_reload_of_a_parked_run_of_one_task_shows_its_call(shown: Shown) -> None:
    """`build_agent` has stored no message that answers the call: its card is open, and the task has it."""
    shown.say("deed")
    shown.status("Waits for results from outside.")
    shown.page.reload()
    shown.status("Waits for results from outside.")
    assert shown.page.locator(".card .state").inner_text() in ("open", "running")
    (task,) = shown.page.locator("#tasks li").all_inner_texts()
    assert (task.split("\n")[0], task.split("\n")[-1]) == ("main open", "calls: 1 open")


def test_calls_of_the_only_task_are_counted_after_a_reload(shown: Shown) -> None:
    """The calls of a thread with one task do not name it; the report does."""
    shown.say("pick")
    shown.page.get_by_label("Your answer").fill("14")
    shown.page.get_by_role("button", name="Answer").click()
    shown.status("Ended: complete")
    counted = shown.page.locator("#tasks li .soft")
    assert counted.inner_text() == "calls: 1 done"
    before = shown.page.locator("#tasks li").all_inner_texts()
    assert before == ["main closed\npick\ncalls: 1 done"]
    shown.page.reload()
    shown.status("Ended: complete")
    assert shown.page.locator("#tasks li").all_inner_texts() == before


def test_results_in_pairs_complete_their_cards(browser: Any, server: Server) -> None:
    """The calls that the runtime makes for `NewsStyle.PAIR` get no card of their own."""
    shown = Shown(browser, server, "state_machine_pair")
    shown.say(TRIP, tasks=True)
    shown.status("Ended: complete")
    shown.page.reload()
    shown.status("Ended: complete")
    assert shown.page.locator(".card").count() == 3
    card = shown.card("hotel", state="done")
    assert card.locator(".state").inner_text() == "done, late"
    assert card.locator("pre").inner_text() == "Hotel Mira in Rome"
    shown.close()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_text_that_is_held_back_is_never_shown(browser: Any, server: Server, agent: str) -> None:
    """At no moment of the run, with `hold_text`."""
    shown = Shown(browser, server, f"{agent}_hold")
    shown.tab.value(
        "() => { window.seen = ''; new MutationObserver(() => { window.seen += document.body.textContent; })"
        ".observe(document.body, { subtree: true, childList: true, characterData: true }); }"
    )
    shown.say(TRIP, tasks=True)
    shown.status("Ended: complete")
    seen = shown.tab.value("window.seen")
    assert FINAL in seen
    assert "hotel is Roma" not in seen
    held = shown.page.get_by_text("A text was held back").count()
    assert held == (agent == "middleware")  # the state machine streams nothing of it
    shown.close()


def test_a_text_that_is_replaced_is_taken_back(shown: Shown) -> None:
    """It is gone, and the person is told."""
    shown.say("idle a\nidle b", tasks=True)
    shown.status("Ended: complete")
    assert EARLY not in shown.log()
    assert shown.page.locator(".note").all_inner_texts() == [
        "A text was taken back: the work was not finished."
    ]
    assert "There was nothing to do." in shown.log()
    assert "about to finish" not in shown.log()


def test_a_person_decides_with_the_keyboard(shown: Shown) -> None:
    """Both calls are one question; it goes when the last one is decided, with the reason."""
    shown.say("rooms")
    shown.status("Waits for your decision.")
    assert shown.page.get_by_role("heading", name="2 calls need your approval").is_visible()
    shown.card("book", state="held")
    shown.page.get_by_role("button", name="Send").focus()
    shown.tab.press("Shift+Tab", "Shift+Tab")
    assert shown.tab.focused().startswith("Reason to refuse book#2")
    shown.page.keyboard.type("too dear")
    shown.tab.press("Shift+Tab", "Enter")
    assert shown.page.locator("[aria-pressed=true]").all_inner_texts() == ["Refuse"]
    shown.page.locator("fieldset").first.get_by_role("button", name="Approve").press("Enter")
    shown.status("Ended: complete")
    assert "Reported: booked 12 too dear" in shown.log()
    assert shown.card("book", state="done").locator("pre").inner_text() == "booked 12"
    assert shown.page.locator("#ask").inner_text() == ""


def test_a_parked_run_goes_on(shown: Shown) -> None:
    """The page says what it waits for, and the button resumes the run when the answer is there."""
    shown.say("deed")
    shown.status("Waits for results from outside.")
    assert "notary#1 of main" in shown.page.locator("#ask").inner_text()
    again = shown.page.get_by_role("button", name="Look again")
    for _ in range(20):  # the answer comes half a second after the run has parked
        again.click()
        shown.page.locator("#status:not([data-kind=running])").wait_for()
        if not again.is_visible():
            break
    shown.status("Ended: complete")
    assert shown.card("notary", state="done").locator("pre").inner_text() == "certified deed"


def test_a_question_has_a_field_for_the_answer(shown: Shown) -> None:
    """The answer is the next message; markup in a message is text."""
    shown.say("nights <img src=x onerror=alert(1)>")
    shown.status("The agent asks you a question.")
    field = shown.page.get_by_label("Your answer")
    field.fill("Two")
    field.press("Enter")
    shown.page.get_by_text("Two nights, noted.").wait_for()
    shown.status("Ended: complete")
    assert not field.is_visible()
    assert "<img src=x" in shown.log()
    shown.page.reload()
    shown.page.get_by_text("Two nights, noted.").wait_for()
    assert not field.is_visible()


def test_a_killed_server_is_waited_for_and_the_run_goes_on(browser: Any, tmp_path: Path) -> None:
    """The page says that the connection is lost, joins the run that goes on, and completes its card."""
    port = free_port()
    with desk_server(tmp_path, port=port, keep=True, ASYNCGUARD_TEST_LATE="300") as first:
        shown = Shown(browser, first, "state_machine")
        shown.say(TRIP, tasks=True)
        shown.page.get_by_text("Said while a call was open").wait_for()
        wait_until_stored(tmp_path)
        assert shown.tab.problems == []
        first.kill()
        shown.status("is lost; trying again")
        shown.card("hotel", state="pending")
    with desk_server(tmp_path, port=port, keep=True, ASYNCGUARD_TEST_LATE="1"):
        shown.card("hotel", state="done")
        shown.status("Ended: complete")
    assert FINAL in shown.log()
    assert shown.page.locator(".card").count() == 3
    shown.tab.context.close()


def test_a_question_of_a_tool_is_answered(shown: Shown) -> None:
    """An interrupt that a tool raised by itself has a field, and the tool gets the answer."""
    shown.say("pick")
    shown.status("Waits for your decision.")
    shown.page.get_by_role("heading", name="The agent asks").wait_for()
    assert "Which room?" in shown.page.locator("#ask").inner_text()
    shown.page.get_by_label("Your answer").fill("14")
    shown.page.get_by_role("button", name="Answer").click()
    shown.status("Ended: complete")
    assert shown.card("choose", state="done").locator("pre").inner_text() == "chosen 14"


@pytest.mark.parametrize(("scene", "asked"), [("size", "Which size?"), ("null", "null")])
def test_a_question_of_a_tool_may_be_any_json(shown: Shown, scene: str, asked: str) -> None:
    """A type that the guard uses, too, makes it no question of the guard."""
    shown.say(scene)
    shown.status("Waits for your decision.")
    shown.page.reload()
    shown.page.get_by_role("heading", name="The agent asks").wait_for()
    assert asked in shown.page.locator("#ask").inner_text()
    tasks = shown.page.locator("#tasks li").all_inner_texts()
    assert tasks == [f"main open\n{scene}\ncalls: 1 open"]
    shown.page.get_by_label("Your answer").fill("M")
    shown.page.get_by_role("button", name="Answer").click()
    assert shown.card("measure", state="done").locator("pre").inner_text() == "measured M"


def test_an_agent_that_the_server_does_not_have_is_named(browser: Any, server: Server) -> None:
    """No other one is taken in its place; the person may choose one."""
    url = f"{PAGE.as_uri()}?server={server.url}&agent=state_machin"
    tab = Tab(browser, url, own=server.url)
    missing = 'The server has no agent "state_machin". Choose one of those it has.'
    tab.page.locator("#status", has_text=missing).wait_for()
    send, choice = tab.page.get_by_role("button", name="Send"), tab.page.get_by_label("Agent")
    assert (send.is_disabled(), choice.input_value()) == (True, "")
    tab.page.get_by_role("button", name="New conversation").click()
    tab.page.locator("#status", has_text=missing).wait_for()
    assert send.is_disabled()
    choice.select_option("state_machine")
    tab.page.locator("#status", has_text="Ready").wait_for()
    tab.page.get_by_label("Message", exact=True).fill("pick")
    send.click()
    tab.page.get_by_role("heading", name="The agent asks").wait_for()
    tab.context.close()
    assert tab.problems == []


def test_a_run_is_stopped_and_continued(shown: Shown) -> None:
    """The page says where the run stands, and the call that was open is completed by the next one."""
    shown.say(TRIP, tasks=True)
    shown.page.get_by_text("Said while a call was open").wait_for()
    shown.page.get_by_role("button", name="Stop the run").click()
    shown.status("The run was cut off (interrupted).")
    shown.page.get_by_role("button", name="Continue").click()
    assert shown.card("hotel", state="done").locator("pre").inner_text() == "Hotel Mira in Rome"
    shown.status("Ended: complete")
    assert not shown.page.get_by_role("button", name="Continue").is_visible()


def test_a_run_that_fails_says_why(shown: Shown) -> None:
    """The error stands in the status, not in the conversation."""
    shown.say("fault")
    shown.status("The run failed: RuntimeError: the model is out of order")
    assert shown.log() == "fault"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(browser: Any, server: Server, scheme: str) -> None:
    """400 pixels are enough without scrolling sideways, in both colour schemes."""
    shown = Shown(
        browser,
        server,
        "state_machine",
        viewport={"width": 400, "height": 800},
        color_scheme=scheme,
    )
    shown.say(TRIP, tasks=True)
    shown.status("Ended: complete")
    assert shown.tab.value("document.documentElement.scrollWidth") == 400
    shown.page.get_by_role("button", name="New conversation").click()
    shown.say("rooms")
    shown.status("Waits for your decision.")
    assert shown.tab.value("document.documentElement.scrollWidth") == 400
    ground = shown.tab.value("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in ground[4:-1].split(",")) < 200) is (scheme == "dark")
    shown.close()


def test_a_server_that_is_not_there_is_named(browser: Any) -> None:
    """The page says where it looked for it."""
    url = f"http://127.0.0.1:{free_port()}"
    tab = Tab(browser, f"{PAGE.as_uri()}?server={url}", own=url)
    tab.page.locator("#status", has_text=f"The connection to {url} is lost").wait_for()
    tab.context.close()
