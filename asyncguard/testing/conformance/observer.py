"""The contract of an observer."""

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, call_key, fingerprint
from asyncguard.core.faults import CircuitState, ErrorCode, HazardKind
from asyncguard.core.footprints import Footprint
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.observability.observer import Details, Observer

_TASK = "a"
_THREADS = 8


def check_observer(make: Callable[[], Observer]) -> None:
    """Check that an observer accepts every event, from several OS threads, and raises nothing.

    Args:
        make: Function that makes an observer; called once for each rule.

    Raises:
        AssertionError: It breaks a rule; the text says which.
    """
    observer = make()
    assert callable(observer), (
        f"{observer!r} is not callable; an observer is called with one Details"
    )
    plain = not (
        inspect.iscoroutinefunction(observer)
        or inspect.iscoroutinefunction(type(observer).__call__)
    )
    assert plain, "an observer must be a plain function; a coroutine would never be awaited"
    kinds = {type(details.event) for details in _story("one")}
    assert kinds == set(ev.EVENT_TYPES), "the story of this check lacks events; add them"
    _tell(observer, "one")
    # One observer for all: the agents of a process share it, and each has threads of its own.
    shared = make()
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda number: _tell(shared, f"thread {number}"), range(_THREADS)))


def _tell(observer: Observer, thread: str) -> None:
    for details in _story(thread):
        try:
            returned: Any = observer(details)  # type: ignore[func-returns-value]
        except Exception as error:
            raise AssertionError(
                f"{details.event.kind}: an observer must not raise, this one raised {error!r}"
            ) from error
        assert not inspect.isawaitable(returned), (
            f"{details.event.kind}: the observer returned something to await"
        )


def _story(thread: str) -> Iterator[Details]:
    """Yield a run in which every kind of event happens at least once.

    The calls take different courses.
    """
    ledger = Ledger()

    def tell(kind: type[ev.Event], **values: Any) -> Details:
        event = kind(n=ledger.n + 1, at=float(ledger.n), **values)
        ledger.apply(event)
        return Details.from_event(event, ledger, thread=thread, agent="outer")

    yield tell(ev.RunStarted, run="r1", epoch="e1")
    yield tell(ev.TaskOpened, task=_TASK, goal="Look \u201cx\u201d up.")
    calls = [_call(thread, position) for position in range(6)]
    for call in calls:
        yield tell(ev.CallProposed, call=call)
    yield tell(ev.CallAdmitted, key=calls[0].key)
    yield tell(ev.CallEdited, key=calls[0].key, call=calls[0])
    yield tell(ev.TurnTaken, turn=1, message_id="m1", calls=len(calls))
    yield from _ways(tell, [call.key for call in calls])
    keys = tuple(call.key for call in calls)
    yield tell(ev.CallsDelivered, keys=keys[1:], placeholders=keys[:1])
    yield tell(
        ev.CompletionJudged, verdict=ev.CompletionVerdict.NUDGE, reason="unfinished", tasks=(_TASK,)
    )
    yield tell(ev.TaskEnded, task=_TASK, state=TaskState.CLOSED)
    yield tell(ev.RunParked, keys=keys[:1])
    yield tell(ev.RunEnded, reason="complete", turns=1)


def _ways(tell: Callable[..., Details], keys: list[str]) -> Iterator[Details]:
    done, squashed, held, cancelled, rejected, doubtful = keys
    reject = ev.Objection.REJECT
    yield tell(
        ev.CallObjected, key=done, guard="grounding", objection=reject, reason="a guess", on=(held,)
    )
    yield tell(ev.CallAdmitted, key=done)
    yield tell(
        ev.CallDeferred,
        key=squashed,
        guard="dependency",
        reason="early",
        on=(done,),
        also=("conflict",),
    )
    yield tell(ev.CallHeld, key=held, guard="approval", reason="a person decides")
    yield tell(ev.CallRejected, key=held, guard="approval", reason="refused")
    yield tell(ev.CallAdmitted, key=cancelled)
    yield tell(ev.CallCancelled, key=cancelled, reason="answered elsewhere")
    yield tell(ev.CallRejected, key=rejected, guard="grounding", reason="a guess", on=(done,))
    yield from _one_that_recovers(tell, done)
    yield tell(ev.CallSquashed, key=squashed, reason="the user spoke", on=(done,))
    yield tell(ev.CallAdmitted, key=doubtful)
    yield tell(ev.CallStarted, key=doubtful, attempt=1, tool="look", epoch="e1")
    doubt = ev.Outcome.IN_DOUBT
    yield tell(
        ev.CallRetired,
        key=doubtful,
        outcome=doubt,
        content="No answer.",
        size=10,
        error=ErrorCode.TIMEOUT,
    )


def _one_that_recovers(tell: Callable[..., Details], done: str) -> Iterator[Details]:
    yield tell(ev.CallStarted, key=done, attempt=1, tool="look", epoch="e1")
    retry = ev.RecoveryAction.RETRY
    yield tell(ev.CircuitMoved, tool="look", state=CircuitState.OPEN, failures=5)
    yield tell(
        ev.CallDiagnosed,
        key=done,
        tool="look",
        attempt=1,
        symptom=("E",),
        hazard=HazardKind.EXECUTION,
        rule="transient",
        confidence=0.9,
        evidence=("the class says so",),
    )
    yield tell(
        ev.CallRecovered,
        key=done,
        action=retry,
        attempt=1,
        error="E",
        reason="transient",
        delay=0.2,
    )
    yield tell(ev.CallStarted, key=done, attempt=2, tool="look", epoch="e1")
    yield tell(ev.CallFound, key=done, aim=ev.Aim.ANSWER, tool="look", content="x")
    yield tell(
        ev.CallRetired,
        key=done,
        outcome=ev.Outcome.DONE,
        content=[{"type": "text", "text": "x"}],
        size=30,
    )


def _call(thread: str, position: int) -> Call:
    arguments = {"q": f"x{position}"}
    return Call(
        key=call_key("", thread, "m1", position),
        sequence=position + 1,
        task=_TASK,
        tool="look",
        ordinal=position + 1,
        arguments=arguments,
        call_id=f"c{position}",
        message_id="m1",
        footprint=Footprint(reads=None, writes=None),
        fingerprint=fingerprint("look", arguments),
    )
