import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability.observer import Details, ObserverSet
from tests.observability.story import Story, every_kind, trip


def test_details_name_task_tool_and_label() -> None:
    """A call event is resolved to its record, task, tool and label; a run event is about none."""
    story = trip(Story(agent="travel"))
    proposed = next(details for details in story.told if isinstance(details.event, ev.CallProposed))
    assert (proposed.thread, proposed.run, proposed.agent) == ("t1", "r1", "travel")
    assert (proposed.task, proposed.tool, proposed.label) == (
        "flights",
        "search_flights",
        "search_flights#1",
    )
    assert proposed.record is story.ledger.find(proposed.record.key if proposed.record else "")
    first = story.told[0]
    assert (first.record, first.task, first.tool, first.label) == (None, "", "", "")
    assert story.told[1].task == "flights"


def test_the_tool_is_that_of_the_current_attempt() -> None:
    """After a fallback the sibling runs, while the label keeps the name that the model gave."""
    story = trip(Story())
    last = [details for details in story.told if details.label == "ask_desk#1"][-1]
    assert last.tool == "ask_portal"


def test_mentioned_calls_have_names() -> None:
    """Keys in an event come with task and label of their calls."""
    story = trip(Story())
    deferred = next(details for details in story.told if isinstance(details.event, ev.CallDeferred))
    assert list(deferred.names.values()) == ["flights/search_flights#1"]
    delivered = [details for details in story.told if isinstance(details.event, ev.CallsDelivered)][
        -1
    ]
    assert set(delivered.names.values()) == {
        "flights/book_flight#1",
        "hotel/ask_desk#1",
        "hotel/hold_room#1",
    }


def test_every_event_reaches_every_observer_in_order() -> None:
    """Each observer sees each event once, in the order in which they were folded."""
    one: list[int] = []
    other: list[int] = []
    story = every_kind(
        Story(
            lambda details: one.append(details.event.n),
            lambda details: other.append(details.event.n),
        )
    )
    assert one == other == list(range(1, story.ledger.n + 1))


def test_an_observer_that_raises_is_removed_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is called until it raises, the others and the run continue, and the log says so once without its message."""
    seen: list[str] = []

    def broken(details: Details) -> None:
        if isinstance(details.event, ev.CallProposed):
            raise RuntimeError("my secret payload")
        seen.append("broken")

    healthy: list[str] = []
    story = Story(broken, lambda details: healthy.append(details.event.kind))
    with caplog.at_level(logging.ERROR, "asyncguard"):
        trip(story)
    assert len(healthy) == story.ledger.n
    assert story.ledger.ended == "complete"
    assert len(seen) == 4  # run, two tasks, turn
    assert len(story.observers) == 1
    (message,) = [record.getMessage() for record in caplog.records]
    assert "broken" in message
    assert "RuntimeError" in message
    assert "test_observer.py" in message
    assert "secret" not in message


def test_a_log_filter_that_raises_does_not_break_the_run_either() -> None:
    """Even reporting the removal may fail without consequence."""

    class Hostile(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("no logging here")

    log, hostile = logging.getLogger("asyncguard"), Hostile()
    log.addFilter(hostile)
    try:
        observers = ObserverSet([lambda details: 1 / 0])  # type: ignore[list-item, return-value]
        story = Story()
        story.observers = observers
        story.begin()
    finally:
        log.removeFilter(hostile)
    assert len(observers) == 0
    assert not observers


def test_interrupts_are_not_swallowed() -> None:
    """Ctrl-C inside an observer ends the program, as anywhere else."""

    def interrupted(details: Details) -> None:
        raise KeyboardInterrupt

    story = Story(interrupted)
    with pytest.raises(KeyboardInterrupt):
        story.begin()


def test_a_removal_during_concurrent_notification_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Threads that meet the same broken observer remove it together and report it once."""
    barrier = threading.Barrier(4)

    def broken(details: Details) -> None:
        barrier.wait(timeout=10)
        raise ValueError

    details = Story().tell(ev.RunStarted, run="r", epoch="e")
    observers = ObserverSet([broken])
    threads = [threading.Thread(target=observers.notify, args=(details,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(observers) == 0
    assert len(caplog.records) == 1


class AsyncCallable:
    async def __call__(self, details: Details) -> None: ...


async def coroutine_function(details: Details) -> None:
    """Would have to be awaited."""


@pytest.mark.parametrize("observer", [coroutine_function, AsyncCallable(), "a string"])
def test_what_cannot_observe_is_refused_at_once(observer: Callable[[Details], None]) -> None:
    """Coroutine functions, which would not be awaited, and non-callable values are refused."""
    with pytest.raises(CallerError, match=r"plain function|not callable"):
        ObserverSet([observer])


def test_a_follower_that_raises_is_told_of_no_further_request() -> None:
    """It is removed as any observer is; the others are still told, and plain ones never are."""

    class Follower:
        def __init__(self, error: Exception | None = None) -> None:
            self.error, self.asked = error, 0

        def __call__(self, details: Details) -> None: ...

        def model_asked(self, call: Any) -> None:
            self.asked += 1
            if self.error is not None:
                raise self.error

        def model_answered(self, call: Any, answer: Any, error: Any) -> None: ...

        def run_over(self, agent: str, thread: str, error: Any) -> None: ...

    broken, sound = Follower(ValueError("broken")), Follower()
    observers = ObserverSet([lambda details: None, broken, sound])
    for _ in range(2):
        observers.follow(lambda follower: follower.model_asked(None), thread="t")
    assert (broken.asked, sound.asked, len(observers)) == (1, 2, 2)
    assert observers.follow_model
    alone = ObserverSet([broken])
    alone.follow(lambda follower: follower.model_asked(None), thread="t")
    assert not alone.follow_model
