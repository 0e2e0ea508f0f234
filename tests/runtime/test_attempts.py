"""Attempts as adapters get them: values that hold all that running a tool needs, and no session."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any, cast

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core.calls import CallState
from asyncguard.core.events import RecoveryAction
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Result, Success
from asyncguard.core.tool_spec import Fallback, Mode, ToolSpec
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Attempt as KnownAttempt
from asyncguard.journal.port import AttemptState, Journal, LeaseGrant
from asyncguard.runtime.attempts import Attempt, attempt_of
from asyncguard.runtime.dispatcher import collect, issue
from asyncguard.runtime.engine import Engine, Ports
from asyncguard.runtime.executors.port import Completion, Health, Job
from asyncguard.runtime.proposals import ParsedCall, propose_calls
from asyncguard.runtime.recovery_driver import recover
from asyncguard.runtime.session.session import Session

SPECS = {
    spec.name: spec
    for spec in (
        ToolSpec(
            name="look",
            effect=EffectClass.PURE,
            reads=(),
            fallbacks=(Fallback(tool="find", arguments={"number": "n"}),),
        ),
        ToolSpec(name="find", effect=EffectClass.PURE, reads=()),
        ToolSpec(
            name="book", effect=EffectClass.KEYED, key_argument="key", reads=(), writes=("room",)
        ),
        ToolSpec(name="pay", reads=(), writes=("account",)),
        ToolSpec(
            name="order", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("shop",)
        ),
    )
}


class Shelf:
    """An executor that keeps its jobs and begins none."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Keep a job."""
        self.jobs[job.key] = job

    def cancel(self, key: str) -> bool:
        """Do nothing."""
        return False

    def pending(self) -> Collection[str]:
        """The kept jobs."""
        return tuple(self.jobs)

    def poll(self) -> None:
        """Do nothing."""

    def health(self) -> Health:
        """Report to be well."""
        return Health(alive=True, pending=len(self.jobs))

    def close(self) -> None:
        """Do nothing."""


class Thread:
    """A thread with one call of a model, and the attempts that its runner was given."""

    def __init__(self, tool: str, ports: Ports | None = None) -> None:
        self.shelf = Shelf()
        self.attempts: list[Attempt] = []
        self.session = Session(
            Engine(
                GuardConfig(), SPECS, dataclasses.replace(ports or Ports(), executor=self.shelf)
            ),
            "thread",
        )
        self.session.record.run_started("run")
        self.session.record.task_opened("t", goal="Do it.")
        propose_calls(
            self.session,
            "message",
            [ParsedCall(tool=tool, arguments={"n": 7}, call_id="call-1", task="t")],
        )
        self.issue()

    def issue(self) -> None:
        """Issue what is admitted."""
        issue(self.session, self._run)

    def _run(self, attempt: Attempt) -> Callable[[], Awaitable[Result]]:
        self.attempts.append(attempt)

        async def never() -> Result:
            raise AssertionError("the executor begins nothing")

        return never

    @property
    def record(self) -> CallRecord:
        """The call."""
        return next(iter(self.session.ledger.calls()))

    @property
    def job(self) -> Job:
        """Last job that was given to the executor."""
        return self.shelf.jobs[self.record.key]

    def make_again(self, tool: str = "") -> None:
        """Have the call made again, by a sibling if one is named."""
        self.session.record.requeued(
            self.record.key, error="OSError", reason="", arguments=None, tool=tool
        )
        self.issue()


def test_an_attempt_says_what_is_to_be_run() -> None:
    """Call, arguments, and the idempotency key beside them."""
    thread = Thread("book")
    (attempt,) = thread.attempts
    assert (attempt.tool, attempt.called_tool, attempt.number) == ("book", "book", 1)
    assert (attempt.key, attempt.call_id, attempt.label) == (thread.record.key, "call-1", "book#1")
    assert attempt.arguments == thread.job.arguments == {"n": 7}
    assert attempt.injected == {"key": thread.record.key}
    assert attempt.spec is SPECS["book"]
    assert not attempt.external


def test_an_attempt_of_a_sibling_has_its_arguments() -> None:
    """An attempt by a sibling names the tool that the model called, too."""
    thread = Thread("look")
    thread.make_again("find")
    attempt = thread.attempts[-1]
    assert (attempt.tool, attempt.called_tool, attempt.number) == ("find", "look", 2)
    assert attempt.arguments == thread.job.arguments == {"number": 7}


def test_an_attempt_stays_as_it_was_prepared() -> None:
    """A later attempt of the same call is another value."""
    thread = Thread("look")
    (first,) = thread.attempts
    before = dataclasses.replace(first)
    thread.make_again("find")
    assert first == before
    assert first != thread.attempts[-1]


def test_an_attempt_holds_nothing_of_the_thread() -> None:
    """An attempt holds neither session nor call record, so that no adapter can reach them."""
    (attempt,) = Thread("order").attempts
    held = [getattr(attempt, field.name) for field in dataclasses.fields(attempt)]
    assert not [value for value in held if isinstance(value, Session | CallRecord | Engine)]


def test_the_token_of_an_external_attempt_delivers_its_result() -> None:
    """The token that the tool is given is the one that the inbox knows."""
    thread = Thread("order")
    (attempt,) = thread.attempts
    assert attempt.external
    assert "token" not in attempt.arguments
    thread.session.engine.inbox.deliver(attempt.injected["token"], "shipped")
    collect(thread.session)
    assert (thread.record.state, thread.record.content) == (CallState.DONE, "shipped")


def test_the_token_of_an_external_attempt_stands_in_its_intent(tmp_path: Path) -> None:
    """A process that takes over knows the token from the journal, so it exists before the intent is written."""
    journal = open_journal(tmp_path / "journal.db")
    try:
        thread = Thread("order", Ports(journal=journal))
        assert thread.job.intent is not None
        assert thread.job.intent.token == thread.attempts[-1].injected["token"]
        assert thread.job.intent.arguments == {"n": 7}
    finally:
        journal.close()


class Remembering:
    """A journal that knows what another process has begun."""

    process_id = "this process"

    def __init__(self, tenure: LeaseGrant) -> None:
        self.tenure = tenure

    async def acquire(self, *_: Any, **__: Any) -> LeaseGrant:
        """Give the thread to this process."""
        return self.tenure

    async def unfinished(self, _: str) -> tuple[str, ...]:
        """Nothing is open."""
        return ()


def _first(_: Thread) -> None:
    """Nothing happened before."""


def _second(thread: Thread) -> None:
    thread.make_again()


def _replayed(thread: Thread) -> None:
    thread.session.live.replayed(thread.record.key, 1)


def _in_the_journal(thread: Thread) -> None:
    known = KnownAttempt(
        number=1,
        tool="pay",
        fingerprint=thread.record.call.fingerprint,
        state=AttemptState.INTENT,
        process_id="another process",
        begun_at=0.0,
        ended_at=None,
        deadline=None,
        result=None,
    )
    taken = LeaseGrant(
        attempts={thread.record.key: known},
        fencing_token=2,
        previous_token=1,
        stolen=False,
        released_on="",
        acquired_on="",
        ends=False,
    )
    thread.session.engine.journal = cast(Journal, Remembering(taken))
    asyncio.run(thread.session.lease.acquire(""))


@pytest.mark.parametrize(
    ("before", "begun"),
    [
        pytest.param(_first, False, id="first"),
        pytest.param(_second, True, id="second"),
        pytest.param(_replayed, True, id="replayed"),
        pytest.param(_in_the_journal, True, id="in the journal"),
    ],
)
def test_an_attempt_knows_whether_the_call_may_have_begun_before(
    before: Callable[[Thread], Any], begun: bool
) -> None:
    """An attempt knows if the call may have begun before: only then is it reported as lost."""
    thread = Thread("pay")
    before(thread)
    assert attempt_of(thread.session, thread.record).begun_before is begun


def test_a_late_answer_settles_the_doubt_about_its_own_attempt() -> None:
    """The answer of an attempt that was given up comes to the thread without the adapter knowing the thread."""
    thread = Thread("pay")
    (attempt,) = thread.attempts
    lost = Failure(symptom=Symptom(error="TimeoutError", message="No answer.", running=True))
    thread.session.completed(Completion(key=attempt.key, attempt=attempt.number, result=lost))
    collect(thread.session)
    for action in RecoveryAction:
        recover(thread.session, action)
    assert thread.record.state is CallState.IN_DOUBT
    attempt.take_late(Success(content="paid"))
    collect(thread.session)
    assert (thread.record.state, thread.record.content) == (CallState.RESOLVED, "paid")
