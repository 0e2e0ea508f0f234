"""The fate table is applied in one place: each fate is carried out there, and nowhere else is a lost call ended."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

import asyncguard
from asyncguard.adapters.messages.history_cache import HistoryCache
from asyncguard.adapters.middleware.reconcile import take_answers
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.state import Thread
from asyncguard.config import GuardConfig
from asyncguard.core.calls import CallState
from asyncguard.core.events import Aim
from asyncguard.core.faults import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_policy import decide
from asyncguard.core.resume_terms import Fate, Open, Why
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.journal.port import Attempt, AttemptState
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.proposals import ParsedCall, propose_calls, squash_unissued_effects
from asyncguard.runtime.resume.case import Answer, Case, Circumstances
from asyncguard.runtime.resume.fates import CARRIED_OUT
from asyncguard.runtime.resume.resolve import resolve
from asyncguard.runtime.session.cache import Sessions
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.tasks import cancel_tasks
from tests.core.test_resume_policy import cells

LIBRARY = Path(asyncguard.__file__).parent
HERE = "runtime/resume"
LEFT_TO_THE_CALLER = {Fate.KEEP, Fate.WAIT, Fate.JUDGE}
ENDS_OR_QUEUES = ("assumed_started", "squashed", "cancelled")
"""Recorders of events by which a call ends, or is taken for begun, without a completion of its own."""


def lost_calls(source: str) -> Iterator[str]:
    """Yield the calls of recorders in a source by which a lost call ends or is queued again."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        receiver, name = node.func.value, node.func.attr
        if not (isinstance(receiver, ast.Attribute) and receiver.attr == "record"):
            continue
        lost = name in ("requeued", "retired") and "ErrorCode.PROCESS_LOST" in ast.unparse(node)
        if name in ENDS_OR_QUEUES or lost:
            yield name


def test_every_fate_is_carried_out_or_left_to_the_caller() -> None:
    """No decision of the table is lost on the way."""
    assert set(CARRIED_OUT) == set(Fate) - LEFT_TO_THE_CALLER


def test_lost_calls_end_or_are_queued_again_in_one_package() -> None:
    """The end of lost calls is decided in one package."""
    found = {
        path.parent.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        if list(lost_calls(path.read_text(encoding="utf-8")))
    }
    assert found == {HERE}


@pytest.mark.parametrize(
    "source",
    [
        "session.record.squashed(key, reason='')",
        "self.session.record.assumed_started(key)",
        "session.record.retired(key, outcome=o, content=c, error=ErrorCode.PROCESS_LOST)",
        "session.record.requeued(key, error=ErrorCode.PROCESS_LOST, reason='', arguments=None)",
    ],
)
def test_the_check_finds_a_call_that_ends_elsewhere(source: str) -> None:
    """The check finds a call that is ended in another module."""
    assert list(lost_calls(source))


SPECS = {
    spec.name: spec
    for spec in (
        ToolSpec(name="look", effect=EffectClass.PURE, reads=(), takes_from=()),
        ToolSpec(
            name="book", effect=EffectClass.KEYED, key_argument="key", reads=(), writes=("room",)
        ),
        ToolSpec(name="pay", reads=(), writes=("account",)),
    )
}


def begun_session(
    *wishes: ParsedCall, sessions: Sessions | None = None
) -> tuple[Session, list[CallRecord]]:
    """Return a session with one model message, and its calls."""
    session = (_sessions() if sessions is None else sessions).of("thread", "")
    session.record.run_started("run")
    for task in dict.fromkeys(wish.task for wish in wishes):
        session.record.task_opened(task, goal="goal")
    propose_calls(session, "message", wishes)
    return session, list(session.ledger.calls())


def _sessions() -> Sessions:
    return Sessions(Engine(GuardConfig(), dict(SPECS), Ports()))


def wish(tool: str, call_id: str, task: str = "t", **arguments: int) -> ParsedCall:
    """Return a call of the model."""
    return ParsedCall(tool=tool, arguments=arguments, call_id=call_id, task=task)


def test_a_held_call_that_had_begun_is_stopped_by_a_new_message() -> None:
    """It is taken up, so that its attempt answers for it, and no attempt follows that one."""
    session, (_, pay) = begun_session(wish("pay", "a", n=7), wish("pay", "b", n=1))
    assert pay.state is CallState.DEFERRED
    session.engine.begun.start(
        pay.key,
        number=1,
        tool="pay",
        fingerprint=pay.call.fingerprint,
        arguments=pay.call.arguments,
        receive=lambda _: None,
    )
    squash_unissued_effects(session)
    assert pay.state is CallState.QUEUED
    assert pay.key in session.live.no_further_attempts


class Wrappers:
    """The wrappers of some calls."""

    def __init__(self, *keys: str) -> None:
        self.keys = set(keys)
        self.alone = set[str]()

    def holds(self, key: str) -> bool:
        """Return whether the wrapper of a call is here."""
        return key in self.keys

    def run_alone(self, key: str) -> None:
        """Note a call that is run without its wrapper."""
        self.alone.add(key)


@pytest.mark.parametrize("why", [Why.WRAPPERS_RETURNED, Why.WRAPPER_MISSING])
def test_a_call_whose_wrapper_is_here_goes_on_waiting(why: Why) -> None:
    """A deferred call that had begun elsewhere is not issued past its blocker."""
    session, (_, pay) = begun_session(wish("pay", "a", n=7), wish("pay", "b", n=1))
    session.engine.begun.start(
        pay.key,
        number=1,
        tool="pay",
        fingerprint=pay.call.fingerprint,
        arguments=pay.call.arguments,
        receive=lambda _: None,
    )
    assert resolve(session, pay, why, Circumstances(hands=Wrappers(pay.key))) is Fate.KEEP
    assert pay.state is CallState.DEFERRED


def test_a_call_ends_that_has_neither_wrapper_nor_tool() -> None:
    """A tool that the agent no longer has cannot run it instead of the wrapper that is gone."""
    session, (look,) = begun_session(wish("look", "a", n=7))
    session.engine.specs.pop("look")  # type: ignore[attr-defined]
    fate = resolve(session, look, Why.WRAPPERS_RETURNED, Circumstances(hands=Wrappers()))
    assert (fate, look.state) == (Fate.CANCEL, CallState.CANCELLED)


def test_a_queued_call_that_was_started_outside_before_is_cancelled_in_doubt() -> None:
    """A fork can bring an external call back to the queue while its token is known."""
    session, (book,) = begun_session(wish("book", "a", n=1))
    session.live.replayed(book.key, 1)
    session.live.token_issued(book.key, "token")
    cancel_tasks(session, ["t"])
    assert book.state is CallState.IN_DOUBT


def test_an_answer_is_that_of_the_latest_call_of_its_id() -> None:
    """A provider that counts from 0 uses an id again; a call that runs is not ended by another one's answer."""
    sessions = _sessions()
    session, (book,) = begun_session(wish("book", "call_0", n=1), sessions=sessions)
    session.record.started(book.key, attempt=1, tool="book")
    session.record.delivered((), placeholders=[book.key])
    propose_calls(session, "second", [wish("look", "call_0", n=1)])
    look = list(session.ledger.calls())[1]
    session.record.started(look.key, attempt=1, tool="look")
    answer = ToolMessage("timeout of an outer wrapper", tool_call_id="call_0")
    identity = Thread(session="thread", nonce="nonce")
    state = {"asyncguard": identity, "messages": [AIMessage("", id="second"), answer]}
    take_answers(Run(sessions, HistoryCache(), state, RunnableConfig()))
    assert (book.state, look.state) == (CallState.PENDING, CallState.DONE)


def in_state(state: Open) -> tuple[Session, CallRecord]:
    """Return a session with a call in a state, and what is known elsewhere of its attempts."""
    session, (first, second) = begun_session(wish("pay", "a", n=7), wish("pay", "b", n=1))
    record = second if state in (Open.DEFERRED, Open.HELD) else first
    if state is Open.HELD:
        session.record.admitted(first.key) if first.state is not CallState.QUEUED else None
        session.record.held(second.key, guard="approval", reason="ask", arguments=None)
    if state is Open.PENDING:
        session.record.started(first.key, attempt=1, tool="pay")
        session.record.found(
            first.key, aim=Aim.ANSWER, tool="pay", content=FAILED, error="ConnectionError"
        )
    session.engine.begun.start(
        record.key,
        number=record.attempts + 1,
        tool="pay",
        fingerprint=record.call.fingerprint,
        arguments=record.call.arguments,
        receive=lambda _: None,
    )
    known = Attempt(
        number=record.last_answer_attempt + 1,
        tool="pay",
        fingerprint=record.call.fingerprint,
        state=AttemptState.INTENT,
        process_id="journal/process",
        begun_at=0.0,
        ended_at=None,
        deadline=None,
        result=None,
        arguments=dict(record.call.arguments),
    )
    session.lease._begun_before = {record.key: known}
    return session, record


@pytest.mark.sampled(2)
@pytest.mark.parametrize("why", list(Why))
def test_every_fate_can_be_carried_out_where_the_table_gives_it(why: Why) -> None:
    """No decision is an illegal move of the ledger, and none ends a call twice or not at all."""
    drawn = {}
    for facts in cells(why):
        decision = decide(facts)
        drawn[facts.state, decision.fate, facts.journal, facts.outside, facts.here] = facts
    for facts in drawn.values():
        fate = decide(facts).fate
        if fate in LEFT_TO_THE_CALLER:
            continue
        session, record = in_state(facts.state)
        answer = Answer(content="an answer", text="an answer", failed=False)
        given = Circumstances(
            hands=Wrappers(), answers={record.key: answer}, message="because of that"
        )
        CARRIED_OUT[fate](
            Case(session=session, record=record, facts=facts, given=given, reason="because of that")
        )
        assert record.open is (fate not in ENDS), (facts, record.state)
        if fate is Fate.IN_DOUBT:
            assert record.error == ErrorCode.PROCESS_LOST


FAILED = {
    "error": "ConnectionError",
    "message": "reset",
    "mro": [],
    "status": None,
    "retry_after": None,
}
ENDS = {Fate.ACCEPT_ANSWER, Fate.IN_DOUBT, Fate.ABANDON, Fate.SQUASH, Fate.CANCEL, Fate.REJECT}
"""Fates after which a call is over; a refused one ends when its completion is taken."""
