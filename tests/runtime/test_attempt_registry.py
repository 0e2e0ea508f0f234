"""An attempt that began in this process is not begun a second time."""

from asyncguard.core.faults import Symptom
from asyncguard.core.results import Failure, Interrupted, Result, Success
from asyncguard.runtime.attempt_registry import AttemptRegistry
from asyncguard.runtime.executors.port import Completion


def _end(result: Result) -> Completion:
    return Completion(key="k", attempt=2, result=result)


def test_an_unknown_call_is_not_taken_over() -> None:
    """Nothing was begun, so the call may begin."""
    assert AttemptRegistry().take_over("k", lambda _: None) is None
    assert not AttemptRegistry().knows("k")


def test_an_ended_attempt_answers_at_once() -> None:
    """A take-over of an attempt that ended gets its outcome at once, with the attempt's number."""
    begun, first, second = AttemptRegistry(), list[Completion](), list[Completion]()
    done = begun.start(
        "k", number=2, tool="pay", fingerprint="f", arguments={}, receive=first.append
    )
    done(_end(Success(content="paid")))
    assert begun.take_over("k", second.append) == (2, "pay")
    assert first == second == [_end(Success(content="paid"))]


def test_a_running_attempt_tells_only_who_waits_by_then() -> None:
    """A running attempt reports to the latest branch that waits, not to the one that was left."""
    begun, first, second = AttemptRegistry(), list[Completion](), list[Completion]()
    done = begun.start(
        "k", number=2, tool="pay", fingerprint="f", arguments={}, receive=first.append
    )
    begun.take_over("k", second.append)
    done(_end(Failure(symptom=Symptom(error="E", message="m"))))
    assert (len(first), len(second)) == (0, 1)


def test_a_question_is_asked_anew() -> None:
    """An attempt that ended with an interrupt had no effect and is made again."""
    begun = AttemptRegistry()
    begun.start("k", number=2, tool="ask", fingerprint="f", arguments={}, receive=lambda _: None)(
        _end(Interrupted(error=RuntimeError()))
    )
    assert begun.take_over("k", lambda _: None) is None


def test_running_attempts_are_kept_however_many_end() -> None:
    """Memory is bounded for what has ended; what runs is never forgotten."""
    begun = AttemptRegistry()
    begun.start(
        "running", number=1, tool="pay", fingerprint="f", arguments={}, receive=lambda _: None
    )
    for number in range(600):
        begun.start(
            str(number), number=1, tool="pay", fingerprint="f", arguments={}, receive=lambda _: None
        )(Completion(key=str(number), attempt=1, result=Success(content="ok")))
    assert begun.knows("running")
    assert begun.knows("599")
    assert not begun.knows("0")


def test_only_a_later_attempt_answers_for_known_ones() -> None:
    """A call whose first attempt is known is made again, unless its second was begun here already."""
    begun = AttemptRegistry()
    begun.start("k", number=2, tool="pay", fingerprint="f", arguments={}, receive=lambda _: None)
    assert begun.take_over("k", lambda _: None, after=1) == (2, "pay")
    assert begun.take_over("k", lambda _: None, after=2) is None


def test_a_call_that_was_edited_is_another_one() -> None:
    """The same key with another fingerprint is not what was begun."""
    begun = AttemptRegistry()
    begun.start("k", number=1, tool="pay", fingerprint="f", arguments={}, receive=lambda _: None)
    assert begun.differs("k", "g")
    assert not begun.differs("k", "f")
    assert not begun.differs("other", "g")
