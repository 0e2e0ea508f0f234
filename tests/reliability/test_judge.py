"""The judge: it finds nothing in a sound case, and each promise that is broken."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from reliability.effectlog import What
from reliability.evidence import Evidence, JournalCall, thread_calls
from reliability.judge import effects, in_doubt, judge, needless_doubts
from tests.reliability.histories import (
    AGENT,
    EVENTS,
    LINES,
    NEWS,
    SHIPPED,
    in_doubt_after,
    line,
    message,
    retired,
    row,
    sound,
    started,
)


def test_nothing_speaks_against_a_sound_case() -> None:
    """The judge finds nothing in a sound case, on which all other cases are built."""
    assert judge(sound()) == []
    assert effects(sound()) == {"a1": 1, "a1s": 1}
    assert in_doubt(sound()) == 0


# -- one thing wrong -----------------------------------------------------------------------------------------------


def with_lines(*more: tuple[What, dict[str, Any]]) -> Evidence:
    """More lines in the log."""
    lines = [
        *LINES,
        *(line(len(LINES) + place, what, **told) for place, (what, told) in enumerate(more, 1)),
    ]
    return replace(sound(), lines=tuple(lines))


def with_events(*events: dict[str, Any], changed: int | None = None) -> Evidence:
    """Other events in the thread."""
    told = [event for event in EVENTS if event["n"] != changed] + list(events)
    told.sort(key=lambda event: int(event["n"]))
    return replace(sound(), calls=thread_calls(told))


def with_message(place: int, content: str) -> Evidence:
    """Another content of a message."""
    evidence = sound()
    assert evidence.state is not None
    evidence.state["messages"][place]["data"]["content"] = content
    return evidence


def with_row(place: int, made: JournalCall) -> Evidence:
    """Another row in the journal."""
    evidence = sound()
    assert evidence.journal is not None
    rows = list(evidence.journal)
    rows[place] = made
    return replace(evidence, journal=tuple(rows))


def with_attempt(**changes: Any) -> Evidence:
    """Another attempt in the row of the payment."""
    paid = row("k1", "pay", "a1", "R3/pay/a1")
    return with_row(0, replace(paid, attempts=(replace(paid.attempts[0], **changes),)))


def in_doubt_as(effect: str) -> Evidence:
    """The process died after it had begun the payment, and the tool is of this class."""
    return replace(in_doubt_after(99), classes={"pay": effect, "ship": "at_most_once"})


def with_calls(*events: dict[str, Any]) -> Evidence:
    """The payment was begun by a process that died, its tool is pure, and this is told of it."""
    evidence = replace(in_doubt_as("pure"), calls=thread_calls([*EVENTS[:3], *events]))
    return replace(evidence, journal=())


def told_of(*answers: str) -> Evidence:
    """The payment has to be approved, and a person gave these answers before it was begun."""
    made = [line(n, What.ANSWERED, item="a1", note=note) for n, note in enumerate(answers, 1)]
    later = [replace(known, n=known.n + len(made)) for known in LINES]
    return replace(sound(), lines=(*made, *later), approved=frozenset({"pay"}))


def refused_without_reason() -> Evidence:
    """Return evidence in which the payment was not begun, without a refusal that explains it."""
    told = [*EVENTS[:2], {"kind": "call_rejected", "n": 3, "key": "k1"}]
    return replace(sound(), calls=thread_calls(told), journal=(), lines=())


def failed_after_its_effect() -> Evidence:
    """The line was cut after the effect; the payment is reported as failed, so the model may well pay once more."""
    cut = (*LINES[:3], line(4, What.FAILED, tool="pay", item="a1", note="lost"))
    told = [*EVENTS[:3], retired(4, "k1", "failed"), {"kind": "call_squashed", "n": 5, "key": "k2"}]
    return replace(sound(), lines=cut, calls=thread_calls(told), journal=())


def delivered(receipt: str, note: str = "") -> Evidence:
    """The outside world delivers a result."""
    return with_lines(
        (What.DELIVERED, {"tool": "pay", "item": "a1", "receipt": receipt, "note": note})
    )


def late_operand() -> Evidence:
    """The dependent call begins before its operand answers."""
    order = [1, 2, 6, 7, 8, 3, 4, 5]
    return replace(
        sound(), lines=tuple(replace(LINES[old - 1], n=n) for n, old in enumerate(order, 1))
    )


def unknown_call() -> Evidence:
    """The ledger does not know the second call."""
    return replace(
        sound(),
        calls=thread_calls(
            event for event in EVENTS if event.get("key") != "k2" and event["n"] != 2
        ),
    )


def without_answer(call_id: str) -> Evidence:
    """A call without an answer."""
    evidence = sound()
    assert evidence.state is not None
    kept = [m for m in evidence.state["messages"] if m["data"].get("tool_call_id") != call_id]
    return replace(evidence, state={**evidence.state, "messages": kept})


def answered_again(call_id: str) -> Evidence:
    """A call with two answers."""
    evidence = sound()
    assert evidence.state is not None
    evidence.state["messages"].append(message("tool", "again", tool_call_id=call_id))
    return evidence


def operand(after: str) -> Evidence:
    """The dependent call is given this."""
    return replace(
        sound(),
        lines=tuple(replace(known, after=after) if known.after else known for known in LINES),
    )


def resting() -> Evidence:
    """The graph has a step to go."""
    evidence = sound()
    assert evidence.state is not None
    return replace(evidence, state={**evidence.state, "next": ["execute"]})


WRONG: dict[str, tuple[str, Callable[[], Evidence]]] = {
    "shown and not kept": ("P1", lambda: with_lines((What.SEEN, {"receipt": "R9/pay/a1"}))),
    "in the journal and not in the thread": (
        "P1",
        lambda: with_message(2, "pay#1 failed: no idea"),
    ),
    "done without a result": ("P1", lambda: with_message(4, "nothing new")),
    "begun twice": (
        "P2",
        lambda: with_lines((What.BEGUN, {"tool": "pay", "item": "a1", "key": "k1"})),
    ),
    "effect twice": (
        "P2",
        lambda: with_lines((What.EFFECT, {"tool": "pay", "item": "a1", "receipt": "R9/pay/a1"})),
    ),
    "never ended": ("P3", lambda: with_events(changed=6)),
    "ended twice": ("P3", lambda: with_events(retired(7, "k1", "done"))),
    "done and then in doubt": ("P3", lambda: with_events(retired(7, "k1", "in_doubt"))),
    "not answered": ("P3", lambda: without_answer("c2")),
    "answered twice": ("P3", lambda: answered_again("c1")),
    "of no ledger": ("P3", unknown_call),
    "of no message": ("P3", lambda: with_events(changed=2)),
    "the journal says otherwise": (
        "P3",
        lambda: with_row(0, replace(row("k1", "pay", "a1", "x"), state="pending")),
    ),
    "unknown to the thread": ("P3", lambda: with_row(0, row("k9", "pay", "a9", "x"))),
    "in doubt without a death": ("P4", lambda: in_doubt_after(AGENT)),
    "in doubt and never begun": ("P4", lambda: replace(in_doubt_after(99), journal=())),
    "in doubt though probed": (
        "P4",
        lambda: replace(in_doubt_after(99), classes={"pay": "probed", "ship": "pure"}),
    ),
    "in doubt though keyed": ("P4", lambda: in_doubt_as("keyed")),
    "in doubt though idempotent": ("P4", lambda: in_doubt_as("idempotent")),
    "in doubt though pure": ("P4", lambda: in_doubt_as("pure")),
    "begun and told as not run": (
        "P4",
        lambda: with_calls({"kind": "call_squashed", "n": 4, "key": "k1"}),
    ),
    "refused for no reason": ("P4", refused_without_reason),
    "failed though nothing failed": ("P4", lambda: with_calls(retired(4, "k1", "failed"))),
    "failed though it took effect": ("P4", failed_after_its_effect),
    "begun without a yes": ("P5", lambda: told_of()),
    "begun after a no": ("P5", lambda: told_of("yes", "no")),
    "delivered and not told": ("P1", lambda: delivered("R9/pay/a1")),
    "delivered and refused": ("P1", lambda: delivered("R3/pay/a1", "refused: unknown token")),
    "dependent before its operand": ("P5", late_operand),
    "dependent without its operand": ("P5", lambda: operand("")),
    "dependent with another operand": ("P5", lambda: operand("R3/pay/b1")),
    "started before the operand was done": (
        "P5",
        lambda: with_events(retired(9, "k1", "done"), changed=4),
    ),
    "written down without its operand": (
        "P5",
        lambda: with_row(1, row("k2", "ship", "a1s", "R7/ship/a1s")),
    ),
    "answered with another's result": ("P6", lambda: with_message(2, '{"receipt": "R7/ship/a1s"}')),
    "told of another's result": ("P6", lambda: with_message(4, NEWS.format("ship#1", "R3/pay/a1"))),
    "another's result in the journal": (
        "P6",
        lambda: with_attempt(result={"content": "R7/ship/a1s"}),
    ),
    "another's arguments in the journal": ("P6", lambda: with_attempt(arguments={"item": "b1"})),
    "a fingerprint of something else": ("P6", lambda: with_attempt(fingerprint="0" * 32)),
    "a result that no tool gave": ("P6", lambda: with_message(2, '{"receipt": "R9/pay/a1"}')),
    "one key for two calls": (
        "P6",
        lambda: with_lines((What.REPEATED, {"tool": "pay", "item": "b1", "key": "k1"})),
    ),
    "no run ended": ("run", lambda: replace(sound(), state=None)),
    "a run that rests": ("run", lambda: resting()),
}


@pytest.mark.parametrize(("promise", "made"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_found(promise: str, made: Callable[[], Evidence]) -> None:
    """One thing is changed in a sound case, and the judge names the promise that it breaks."""
    assert promise in {violation.promise for violation in judge(made())}


def test_a_doubt_with_a_reason_is_no_violation() -> None:
    """The process that began the call died, and nothing depends on it any more."""
    evidence = in_doubt_after(99)
    assert judge(evidence) == []
    assert in_doubt(evidence) == 1


@pytest.mark.parametrize("effect", ["pure", "idempotent", "keyed", "probed"])
def test_a_doubt_is_needless_where_the_class_lets_one_find_out(effect: str) -> None:
    """The call is counted, also if the doubt was resolved later; that of an at-most-once call never is."""
    evidence = in_doubt_as(effect)
    assert [call.label for call in needless_doubts(evidence)] == ["pay#1"]
    settled = replace(
        evidence,
        calls=thread_calls([*EVENTS[:3], retired(4, "k1", "in_doubt"), retired(5, "k1", "done")]),
    )
    assert [call.label for call in needless_doubts(settled)] == ["pay#1"]
    assert needless_doubts(in_doubt_after(99)) == []


def test_a_failure_outside_is_a_reason_for_a_doubt() -> None:
    """The tool raised after its effect, and its process lives."""
    evidence = in_doubt_after(AGENT)
    assert judge(evidence) != []
    raised = line(len(evidence.lines) + 1, What.FAILED, tool="pay", item="a1", note="lost")
    assert judge(replace(evidence, lines=(*evidence.lines, raised))) == []


def test_a_call_that_a_person_approved_may_begin() -> None:
    """Asked and answered, in this order; asked once more after a crash, the last answer counts."""
    assert judge(told_of("yes")) == []
    assert judge(told_of("no", "yes")) == []


def test_an_approval_that_comes_to_nothing_is_found_in_build_agent() -> None:
    """The middleware tells what it held before a restart as not run, and says so."""
    events = [
        *EVENTS[:2],
        {"kind": "call_squashed", "n": 3, "key": "k1"},
        {"kind": "call_squashed", "n": 4, "key": "k2"},
    ]
    answered = (line(1, What.ANSWERED, item="a1", note="yes"),)
    evidence = replace(sound(), calls=thread_calls(events), lines=answered, journal=())
    assert not any("approved" in violation.text for violation in judge(evidence))
    graph = replace(evidence, case={"build": "build_agent"})
    assert any("approved" in violation.text for violation in judge(graph))


def test_what_another_process_had_begun_is_told_of_late() -> None:
    """The successor learns of the dependent call early: it was begun in order all the same."""
    begun = replace(SHIPPED, attempts=(replace(SHIPPED.attempts[0], pid=99),))
    late = with_events(retired(9, "k1", "done"), changed=4)
    assert judge(late) != []
    assert late.journal is not None
    assert judge(replace(late, journal=(late.journal[0], begun))) == []


def test_a_doubt_that_was_settled_is_no_violation() -> None:
    """A call that was in doubt and then done has one end."""
    evidence = with_events(
        retired(4, "k1", "in_doubt"), {**retired(5, "k1", "done")}, started(7, "k2"), changed=4
    )
    found = {violation.promise for violation in judge(evidence)}
    assert found <= {"P3", "P4", "P5"}
    assert not any("ended 2 times" in violation.text for violation in judge(evidence))


@pytest.mark.parametrize(
    ("settled", "delivered", "pid", "excused"),
    [
        (True, True, 99, True),
        (True, False, 99, False),
        (True, True, AGENT, False),
        (False, True, 99, False),
    ],
    ids=["delivered later", "nothing came from outside", "its process lives", "still in doubt"],
)
def test_a_doubt_that_a_delivery_settled_has_a_reason(
    settled: bool, delivered: bool, pid: int, excused: bool
) -> None:
    """The process died before it could say that the work continued outside; then its result came."""
    rows = row("k1", "pay", "a1", "R3/pay/a1")
    evidence = with_row(0, replace(rows, attempts=(replace(rows.attempts[0], pid=pid),)))
    ends = [retired(4, "k1", "in_doubt"), *([retired(5, "k1", "done")] if settled else [])]
    came = [line(len(LINES) + 1, What.DELIVERED, item="a1")] if delivered else []
    evidence = replace(evidence, calls=thread_calls([*EVENTS[:3], *ends]), lines=(*LINES, *came))
    found = [violation.text for violation in judge(evidence) if "has its result" in violation.text]
    assert (found == []) is excused


@pytest.mark.parametrize(
    ("effect", "call_id", "pid", "excused"),
    [
        ("pure", "life2_1_1", 99, True),
        ("at_most_once", "life2_1_1", 99, False),
        ("pure", "life1_1_1", 99, False),
        ("pure", "life2_1_1", AGENT, False),
        ("pure", "c1", 99, False),
    ],
    ids=[
        "a lost message",
        "an effect",
        "the same life",
        "its process lives",
        "nobody knows when it was made",
    ],
)
def test_a_call_of_a_lost_message_is_another_call(
    effect: str, call_id: str, pid: int, excused: bool
) -> None:
    """A call without effect of a message that was lost with its process may end without running."""
    made = deepcopy(EVENTS[0])
    made["call"]["call_id"] = call_id
    squashed = {"kind": "call_squashed", "n": 2, "key": "k1"}
    evidence = replace(
        sound(),
        classes={"pay": effect, "ship": "pure"},
        calls=thread_calls([made, squashed]),
        lines=tuple(replace(known, pid=pid) for known in LINES[:2]),
        journal=(),
    )
    found = [violation.text for violation in judge(evidence) if "told as not run" in violation.text]
    assert (found == []) is excused


def test_an_agent_without_a_journal_is_judged_by_what_it_did() -> None:
    """There are no rows and no ledger to agree with."""
    evidence = replace(sound(), journal=None, calls={})
    assert judge(evidence) == []


# -- what a dead process leaves behind -------------------------------------------------------------------------------

DEAD = 99


def book(*lines: tuple[What, dict[str, Any]], end: str = "failed") -> Evidence:
    """A probed call that is reported as failed, or as told, with these lines of the outside world."""
    events = [
        {
            "kind": "call_proposed",
            "n": 1,
            "call": {
                "key": "k1",
                "task": "a",
                "tool": "book",
                "arguments": {"item": "a1"},
                "call_id": "c1",
            },
        },
        started(2, "k1"),
        retired(3, "k1", "failed") if end == "failed" else {"kind": end, "n": 3, "key": "k1"},
    ]
    told = (
        replace(line(n, what, item="a1", tool="book"), **more)
        for n, (what, more) in enumerate(lines, 1)
    )
    return replace(sound(), calls=thread_calls(events), lines=tuple(told), journal=(), operands={})


BEGUN: tuple[What, dict[str, Any]] = (What.BEGUN, {"pid": DEAD})
NO: tuple[What, dict[str, Any]] = (What.PROBED, {"note": "no"})


def fails(evidence: Evidence) -> bool:
    """Return True if the failure is held against the runtime."""
    return any("told as failed" in violation.text for violation in judge(evidence))


@pytest.mark.parametrize(
    ("lines", "build", "excused"),
    [
        ((BEGUN, NO), "middleware", True),
        ((BEGUN, NO), "build_agent", False),
        ((BEGUN,), "middleware", False),
        ((NO, BEGUN), "middleware", False),
        ((BEGUN, (What.PROBED, {"note": "yes"})), "middleware", False),
        ((BEGUN, (What.EFFECT, {"receipt": "R2/book/a1"}), NO), "middleware", False),
        (((What.BEGUN, {}), NO), "middleware", False),
    ],
    ids=["denied", "can be made again", "not probed", "begun later", "a yes", "effect", "lives"],
)
def test_a_denied_call_whose_wrapper_is_lost_may_be_told_as_failed_and_not_as_not_run(
    lines: tuple[Any, ...], build: str, excused: bool
) -> None:
    """The middleware has nothing to make it again with; that it was begun is told."""
    case = {"build": build}
    assert fails(replace(book(*lines), case=case)) is not excused
    cancelled = judge(replace(book(*lines, end="call_cancelled"), case=case))
    assert [v.promise for v in cancelled if "told as not run" in v.text] == ["P4"]


def test_a_probed_call_may_fail_before_it_was_begun() -> None:
    """Its process failed to begin it: nothing was asked, and nothing is held against the runtime."""
    assert not fails(book())


def test_a_probed_call_may_be_given_up_after_attempts_that_a_probe_denied() -> None:
    """Its processes died each time, and the probe said no: it is failed, and not in doubt."""
    assert not fails(book(BEGUN, NO, BEGUN, NO))


@pytest.mark.parametrize(
    "lines",
    [
        (BEGUN, NO),
        (BEGUN, NO, BEGUN),
        (BEGUN, NO, (What.BEGUN, {"pid": AGENT}), NO),
        (BEGUN, NO, BEGUN, (What.EFFECT, {"receipt": "R1/book/a1"}), NO),
        (BEGUN, BEGUN, (What.PROBED, {"note": "yes"})),
    ],
    ids=[
        "tried once",
        "not asked about the last",
        "the process lives",
        "took effect",
        "the probe said yes",
    ],
)
def test_other_probed_calls_may_not_be_given_up(
    lines: tuple[tuple[What, dict[str, Any]], ...],
) -> None:
    """Each part of the reason is needed."""
    assert fails(book(*lines))


def test_a_worker_may_have_made_a_call_for_an_agent_that_died() -> None:
    """The successor learns of it before it has the operand's result; the log of the outside world tells the order."""
    late = with_events(retired(9, "k1", "done"), changed=4)
    workers = replace(late, case={"workers": 2})
    assert any(violation.promise == "P5" for violation in judge(late))
    assert not any(violation.promise == "P5" for violation in judge(workers))
    early = replace(
        workers, lines=tuple(known for known in LINES if known.what is not What.RETURNED)
    )
    assert any(violation.promise == "P5" for violation in judge(early))


def lagging(place: int, **changes: Any) -> Evidence:
    """A journal that has a call as pending."""
    evidence = sound()
    assert evidence.journal is not None
    known = evidence.journal[place]
    attempt = replace(known.attempts[0], **changes)
    return with_row(place, replace(known, state="pending", attempts=(attempt,)))


def test_a_journal_may_lag_behind_the_last_step_of_a_run() -> None:
    """The process died before it wrote to the journal, and its thread was not entered again."""
    assert judge(lagging(1)) == []


@pytest.mark.parametrize(
    "evidence",
    [
        lagging(0),
        lagging(1, state="intent", result=None),
        replace(lagging(1), processes=sound().processes[1:]),
    ],
    ids=["an earlier step", "outcome unknown", "no process died"],
)
def test_a_journal_may_not_lag_otherwise(evidence: Evidence) -> None:
    """Each part of the reason is needed."""
    assert any("in the journal" in violation.text for violation in judge(evidence))
