"""The exceptions of the judge for a user who speaks to a killed thread hold for what they are meant for, no further."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reliability.effectlog import Line, What
from reliability.evidence import Evidence, thread_calls
from reliability.judge import judge, needless_doubts
from tests.reliability.histories import (
    AGENT,
    EVENTS,
    LINES,
    in_doubt_after,
    line,
    made,
    message,
    proposed,
    row,
    sound,
)

DEAD = 99
"""The process that was killed."""
WORDS = "How far are you?"
NOT_RUN = "The conversation holds no result of this call. It may have been run."
SPOKE = (What.SPOKE, {"note": WORDS})
GOES_ON = {"goes_on": True}

Told = tuple[What, dict[str, Any]]


def numbered(told: Sequence[Told], *, before: Sequence[Line] = ()) -> tuple[Line, ...]:
    """Lines of the log in this order."""
    return (
        *before,
        *(line(len(before) + n, what, **fields) for n, (what, fields) in enumerate(told, 1)),
    )


def promises(evidence: Evidence) -> set[str]:
    """The promises that the judge finds broken."""
    return {violation.promise for violation in judge(evidence)}


# -- calls that were never decided about ---------------------------------------------------------------------------


def answer(call_id: str, content: str = NOT_RUN, status: str = "error") -> dict[str, Any]:
    """The answer to a call."""
    return message("tool", content, tool_call_id=call_id, status=status)


ASKED = message("ai", "", tool_calls=[made("c3", "pay", "b1"), made("c4", "pay", "b2")])
NEXT = message("human", WORDS)
LAST = (ASKED, answer("c3"), answer("c4"), NEXT)


def undecided(
    *, after: Sequence[Any] = LAST, told: Sequence[Told] = (SPOKE,), **changes: Any
) -> Evidence:
    """The first process died when two more calls were stored and not decided about; then the user spoke."""
    base = sound()
    assert base.state is not None
    state = {**base.state, "messages": [*base.state["messages"], *after]}
    return replace(
        base, **{"case": GOES_ON, "state": state, "lines": numbered(told, before=LINES), **changes}
    )


def with_sibling_decided() -> Evidence:
    """The ledger knows one of the two calls, so that their message was decided about."""
    events = [
        *EVENTS,
        proposed(7, "k4", "pay", "b2", "c4"),
        {"kind": "call_squashed", "n": 8, "key": "k4"},
    ]
    return undecided(calls=thread_calls(events))


def in_journal() -> Evidence:
    """The journal has the intent of one of the two calls."""
    base = sound()
    assert base.journal is not None
    return undecided(
        journal=(*base.journal, replace(row("k3", "pay", "b1", "R9/pay/b1"), state="pending"))
    )


def told_outside(what: What) -> Evidence:
    """The outside world has heard of one of the two calls."""
    return undecided(told=(SPOKE, (what, {"tool": "pay", "item": "b1"})))


FORGED: dict[str, Callable[[], Evidence]] = {
    "another kind of case": lambda: undecided(case={}),
    "no user spoke": lambda: undecided(told=()),
    "the user said something else": lambda: undecided(
        after=(*LAST[:3], message("human", "I am the user."))
    ),
    "the model spoke in between": lambda: undecided(
        after=(*LAST[:3], message("ai", "Well."), NEXT)
    ),
    "the user spoke before": lambda: undecided(after=(NEXT, *LAST[:3])),
    "a sibling was decided about": with_sibling_decided,
    "the tool was entered": lambda: told_outside(What.BEGUN),
    "the effect happened": lambda: told_outside(What.EFFECT),
    "the service declined": lambda: told_outside(What.DECLINED),
    "a person was asked": lambda: told_outside(What.ASKED),
    "the intent is in the journal": in_journal,
    "one call has no answer": lambda: undecided(after=(ASKED, answer("c3"), NEXT)),
    "no call has an answer": lambda: undecided(after=(ASKED, NEXT)),
    "one call has two answers": lambda: undecided(after=(*LAST[:3], answer("c3"), NEXT)),
    "told as done": lambda: undecided(after=(ASKED, answer("c3", "Paid.", "success"), *LAST[2:])),
    "told with a result": lambda: undecided(after=(ASKED, answer("c3", "R3/pay/b1"), *LAST[2:])),
}


def test_calls_that_were_never_decided_about_may_be_missing_in_the_ledger() -> None:
    """The message was stored, its process died, the user spoke: the model is told that nothing was run."""
    assert judge(undecided()) == []


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_any_other_call_that_the_ledger_does_not_know_is_a_violation(
    forged: Callable[[], Evidence],
) -> None:
    """One thing is changed, and the exception does not hold."""
    assert "P3" in promises(forged())


# -- doubts of calls that were not made again ----------------------------------------------------------------------

BEGUN: Told = (What.BEGUN, {"tool": "pay", "item": "a1", "key": "k1"})
EFFECT: Told = (What.EFFECT, {"tool": "pay", "item": "a1", "key": "k1", "receipt": "R3/pay/a1"})
FAILED: Told = (What.FAILED, {"tool": "pay", "item": "a1"})
DECLINED: Told = (What.DECLINED, {"tool": "pay", "item": "a1", "key": "k1"})
REPEATED: Told = (What.REPEATED, {"tool": "pay", "item": "a1", "key": "k1", "receipt": "R3/pay/a1"})
OPEN: Told = (What.OPEN, {})
LOST = (OPEN, BEGUN, EFFECT, FAILED, SPOKE)


def doubted(*told: Told, effect: str = "keyed", case: dict[str, Any] = GOES_ON) -> Evidence:
    """The payment is in doubt after this."""
    classes = {"pay": effect, "ship": "at_most_once"}
    return replace(in_doubt_after(DEAD), classes=classes, lines=numbered(told), case=case)


@pytest.mark.parametrize(
    "told",
    [LOST, (OPEN, BEGUN, FAILED, SPOKE), (OPEN, BEGUN, SPOKE, BEGUN, FAILED)],
    ids=["cut after the effect", "cut before the effect", "made again after the message and cut"],
)
def test_a_keyed_call_that_the_message_kept_from_being_repeated_may_be_in_doubt(
    told: Sequence[Told],
) -> None:
    """It may have taken effect, and a new call would have another key."""
    assert judge(doubted(*told)) == []
    assert needless_doubts(doubted(*told)) == []


def declined(*told: Told, again: bool = True) -> Evidence:
    """The payment, begun by a process that died, was declined when another one began it again."""
    evidence = doubted(*told)
    paid, *others = evidence.journal or ()
    attempt = replace(paid.attempts[0], pid=AGENT, state="ended", again=again)
    return replace(evidence, journal=(replace(paid, attempts=(attempt,)), *others))


def test_a_keyed_call_of_the_dead_that_was_declined_before_the_message_may_be_in_doubt() -> None:
    """The service has done nothing in the second begin; what came of the first is not known."""
    assert judge(declined(OPEN, DECLINED, SPOKE)) == []
    assert needless_doubts(declined(OPEN, DECLINED, SPOKE)) == []


NEEDLESS: dict[str, Callable[[], Evidence]] = {
    "another kind of case": lambda: doubted(*LOST, case={}),
    "no user spoke": lambda: doubted(*LOST[:-1]),
    "the user spoke before": lambda: doubted(OPEN, SPOKE, BEGUN, EFFECT, FAILED),
    "a pure call": lambda: doubted(*LOST, effect="pure"),
    "an idempotent call": lambda: doubted(*LOST, effect="idempotent"),
    "a probed call": lambda: doubted(*LOST, effect="probed"),
    "nothing failed": lambda: doubted(OPEN, BEGUN, EFFECT, SPOKE),
    "declined and never begun": lambda: doubted(OPEN, DECLINED, SPOKE),
    "declined, and of no dead process": lambda: declined(OPEN, DECLINED, SPOKE, again=False),
    "declined after the message": lambda: declined(OPEN, SPOKE, DECLINED),
    "entered again": lambda: doubted(*LOST, BEGUN),
    "answered after the failure": lambda: doubted(*LOST, BEGUN, REPEATED),
}


@pytest.mark.parametrize("forged", NEEDLESS.values(), ids=NEEDLESS)
def test_any_other_doubt_of_a_repeatable_call_is_needless(forged: Callable[[], Evidence]) -> None:
    """One thing is changed: the call is counted, and its doubt is a violation."""
    assert [call.label for call in needless_doubts(forged())] == ["pay#1"]
    assert "P4" in promises(forged())


def test_an_effect_twice_is_found_though_its_doubt_is_excused() -> None:
    """The exception is about the doubt alone."""
    again: Told = (What.EFFECT, {"tool": "pay", "item": "a1", "key": "k1", "receipt": "R6/pay/a1"})
    assert promises(doubted(OPEN, BEGUN, EFFECT, again, FAILED, SPOKE)) == {"P2"}


# -- calls that were stopped before they had an effect -------------------------------------------------------------

NO: Told = (What.PROBED, {"item": "a1", "note": "no"})
STOPPED = (OPEN, BEGUN, SPOKE, NO)


def stopped(
    *told: Told, effect: str = "probed", case: dict[str, Any] = GOES_ON, pid: int = DEAD
) -> Evidence:
    """The payment was begun by this process and is reported as failed."""
    base = in_doubt_after(DEAD)
    assert base.journal is not None
    failed = [*EVENTS[:3], {"kind": "call_retired", "n": 4, "key": "k1", "outcome": "failed"}]
    events = [*failed, {"kind": "call_squashed", "n": 5, "key": "k2"}]
    lines = tuple(
        replace(known, pid=pid) if known.what is What.BEGUN else known for known in numbered(told)
    )
    return replace(
        base,
        case=case,
        classes={"pay": effect, "ship": "at_most_once"},
        lines=lines,
        calls=thread_calls(events),
        journal=(replace(base.journal[0], state="failed"), base.journal[1]),
    )


def test_a_probed_call_without_an_effect_may_be_stopped_by_the_message() -> None:
    """Its process died, its probe saw no effect, and the user had spoken: it fails and is not made again."""
    assert judge(stopped(*STOPPED)) == []


DROPPED: dict[str, Callable[[], Evidence]] = {
    "another kind of case": lambda: stopped(*STOPPED, case={}),
    "no user spoke": lambda: stopped(OPEN, BEGUN, NO),
    "the user spoke before": lambda: stopped(OPEN, SPOKE, BEGUN, NO),
    "no probe was asked": lambda: stopped(OPEN, BEGUN, SPOKE),
    "the probe was asked before": lambda: stopped(OPEN, NO, BEGUN, SPOKE),
    "entered again after the probe": lambda: stopped(*STOPPED, BEGUN),
    "the effect happened": lambda: stopped(OPEN, BEGUN, EFFECT, SPOKE, NO),
    "the effect came after the probe": lambda: stopped(*STOPPED, EFFECT),
    "its process lives": lambda: stopped(*STOPPED, pid=AGENT),
    "a pure call": lambda: stopped(*STOPPED, effect="pure"),
    "an idempotent call": lambda: stopped(*STOPPED, effect="idempotent"),
    "a keyed call": lambda: stopped(*STOPPED, effect="keyed"),
    "an at-most-once call": lambda: stopped(*STOPPED, effect="at_most_once"),
}


@pytest.mark.parametrize("forged", DROPPED.values(), ids=DROPPED)
def test_any_other_call_that_was_begun_and_failed_for_no_reason_is_a_violation(
    forged: Callable[[], Evidence],
) -> None:
    """One thing is changed, and the failure has no reason."""
    assert "P4" in promises(forged())
