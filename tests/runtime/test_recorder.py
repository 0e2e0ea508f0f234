"""The recorder: events are built in one place, and what it builds is complete."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState, content_size
from asyncguard.core.faults import ErrorCode
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import IllegalTransitionError
from asyncguard.recovery.decisions import Attempt, End, Recovery
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.proposals import ParsedCall, propose_calls
from asyncguard.runtime.session.session import Session

ROOT = Path(__file__).parents[2] / "asyncguard"
HOME = ROOT / "runtime" / "session" / "recorder.py"
EVENTS = frozenset(event.__name__ for event in ev.EVENT_TYPES)
ENDS_A_CALL = frozenset({"CallRetired", "CallRejected", "CallSquashed", "CallCancelled"})
QUEUES_A_CALL = frozenset({"CallAdmitted", "CallRecovered"})


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def built_events(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of every event that a source builds or passes to a builder."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        handed = (
            []
            if _name(node.func) == "isinstance"
            else [*node.args, *(each.value for each in node.keywords)]
        )
        yield from (
            (node.lineno, name) for name in map(_name, [node.func, *handed]) if name in EVENTS
        )


def _found(but: Path) -> dict[str, str]:
    return {
        f"{path.relative_to(ROOT)}:{line}": name
        for path in sorted(ROOT.rglob("*.py"))
        # The conformance kit shows events to observers that no session has recorded.
        if path != but and ROOT / "testing" not in path.parents
        for line, name in built_events(path.read_text(encoding="utf-8"))
    }


def test_events_are_built_in_one_module() -> None:
    """No module but the recorder builds an event; one that ends a call or queues it again least of all."""
    assert _found(but=HOME) == {}


def test_the_recorder_builds_every_event() -> None:
    """Each kind of event has a method."""
    found = {name for _, name in built_events(HOME.read_text(encoding="utf-8"))}
    assert found == EVENTS
    assert found > ENDS_A_CALL | QUEUES_A_CALL


@pytest.mark.parametrize(
    "source",
    [
        "session.note(ev.CallRetired, key=key)",
        "ledger.apply(ev.CallSquashed(n=1, at=0.0, key=key, reason=''))",
        "note(kind=CallRecovered)",
    ],
    ids=["handed on", "built", "by keyword"],
)
def test_the_check_finds_an_event_that_is_built_elsewhere(source: str) -> None:
    """An event is found however its class is named."""
    assert list(built_events(source))


def _session(*proposed: str) -> Session:
    session = Session(Engine(GuardConfig(), {"pay": ToolSpec(name="pay")}, Ports()), "t")
    session.record.run_started("r")
    session.record.task_opened("main", goal="Pay.")
    wishes = [
        ParsedCall(tool="pay", arguments={"q": name}, call_id=name, task="main")
        for name in proposed
    ]
    propose_calls(session, "m", wishes)
    return session


def _last(session: Session) -> dict[str, Any]:
    return session.drain_events()[-1]


def test_a_retired_call_tells_the_size_of_what_came() -> None:
    """The size is counted by the recorder, so that it always fits the content."""
    session = _session("a")
    (call,) = session.ledger.calls()
    session.record.started(call.key, attempt=1, tool="pay")
    session.record.retired(call.key, outcome=ev.Outcome.DONE, content="paid: ü")
    last = _last(session)
    assert last["size"] == content_size("paid: ü") == 8
    assert (last["error"], last["mark"], last["doubtful"]) == (None, "", False)


@pytest.mark.parametrize("follows", [True, False], ids=["followed", "last"])
def test_a_recovery_names_the_attempt_that_failed(*, follows: bool) -> None:
    """Number and tool of the attempt come from the ledger; without a further attempt its fields are empty."""
    session = _session("a")
    (call,) = session.ledger.calls()
    session.record.started(call.key, attempt=3, tool="pay")
    then = Attempt(tool="other", delay=2.0) if follows else End(outcome=ev.Outcome.FAILED)
    decided = Recovery(action=ev.RecoveryAction.FALLBACK, reason="why", then=then, changes=("a",))
    session.record.recovered(call.key, decided, error=ErrorCode.TIMEOUT)
    last = _last(session)
    assert (last["attempt"], last["follows"], last["changes"]) == (3, follows, ["a"])
    assert (last["tool"], last["delay"]) == (("other", 2.0) if follows else ("", 0.0))
    assert call.state is (CallState.QUEUED if follows else CallState.PENDING)


def test_error_codes_in_events_are_plain_text() -> None:
    """A saver would store a member of an enum by its class, which older versions do not have."""
    session = _session("a")
    (call,) = session.ledger.calls()
    session.record.started(call.key, attempt=1, tool="pay")
    session.record.found(
        call.key, aim=ev.Aim.PROBE, tool="look", content=None, error=ErrorCode.TIMEOUT
    )
    session.record.requeued(call.key, error=ErrorCode.PROCESS_LOST, reason="lost", arguments=None)
    session.record.assumed_started(call.key)
    session.record.retired(
        call.key, outcome=ev.Outcome.FAILED, content="", error=ErrorCode.TOOL_ERROR
    )
    errors = [event["error"] for event in session.drain_events() if event.get("error")]
    assert errors == ["timeout", "process_lost", "tool_error"]
    assert {type(error) for error in errors} == {str}


def test_an_illegal_event_changes_nothing() -> None:
    """An event that the ledger refuses is not kept for the state and uses no number."""
    session = _session("a")
    session.drain_events()
    (call,) = session.ledger.calls()
    before = session.ledger.n
    with pytest.raises(IllegalTransitionError):
        session.record.retired(call.key, outcome=ev.Outcome.DONE, content="paid")
    assert session.drain_events() == []
    assert session.ledger.n == before
    session.record.cancelled(call.key, reason="not wanted")
    assert _last(session)["n"] == before + 1
