"""Attempts of calls as values: everything an adapter needs to run a tool once, without the session.

An attempt is prepared when its call is issued, before the journal is asked and before a back-off.
Nothing that happens to the thread later (a fork, a new message, a retry of the same call) changes
it. An adapter reports to the thread only by the result that it returns and by
:attr:`Attempt.take_late`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Result, Success
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.journal.port import Signal, SignalKind
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.late_results import record_late_end
from asyncguard.runtime.session.session import Session

_NO_FAILURE = (ErrorCode.INTERRUPT, ErrorCode.PROCESS_LOST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One attempt of one call, ready to be run by the adapter that calls its tool."""

    key: str
    """Key of the call."""
    number: int
    """Number of the attempt, from 1."""
    tool: str
    """Tool of the attempt; a fallback or a side query uses another tool than the called one."""
    called_tool: str
    """Tool that the model called."""
    call_id: str
    """The provider's id of the call."""
    label: str
    """Name of the call in texts for people and models."""
    arguments: Mapping[str, Any]
    """Arguments of the attempt, without injected ones; plain JSON."""
    injected: Mapping[str, str]
    """Idempotency key and delivery token by name of the argument, for tools that declare them."""
    spec: ToolSpec
    """Declaration of the attempt's tool that is in force for the thread."""
    specs: Mapping[str, ToolSpec]
    """Declarations of all known tools, by name."""
    config: GuardConfig
    """Switches and limits."""
    foreground: bool
    """True if the model waits for the called tool, so an interrupt can be raised to the graph."""
    begun_before: bool
    """True if an earlier attempt may have begun, here or in a process that has ended."""
    failures: int
    """Number of the call's attempts with this tool that are known to have answered or failed."""
    alone: bool
    """True if the call was the only one of its message."""
    take_late: Callable[[Result], None]
    """Callback for the tool's answer after the attempt was given up; called from any OS thread."""

    @property
    def external(self) -> bool:
        """True if the tool only starts work whose result comes through the inbox."""
        return self.spec.mode is Mode.EXTERNAL


def attempt_of(session: Session, record: CallRecord) -> Attempt:
    """Prepare the current attempt of a call, and issue the delivery token of an external one.

    Args:
        session: The thread.
        record: The call; its attempt was recorded as started.
    """
    tool, key, number, board = record.tool, record.key, record.attempts, session.board
    spec = board.spec(tool)
    known = key in session.lease.begun_before or key in session.live.replays

    def take_late(result: Result) -> None:
        record_late_end(session, tool, Completion(key=key, attempt=number, result=result))

    return Attempt(
        key=key,
        number=number,
        tool=tool,
        called_tool=record.call.tool,
        call_id=record.call.call_id,
        label=record.call.label,
        arguments=_arguments(session, record),
        injected=_injected_arguments(session, record, spec),
        spec=spec,
        specs=session.engine.specs,
        config=session.engine.config,
        foreground=board.in_foreground(record.call.tool),
        begun_before=record.answer_attempts > 1 or known,
        failures=sum(
            each.tool == tool and each.error not in _NO_FAILURE for each in record.findings
        ),
        alone=len(session.ledger.of_message(record.call.message_id)) == 1,
        take_late=take_late,
    )


def _arguments(session: Session, record: CallRecord) -> dict[str, Any]:
    """Return the arguments of the current attempt: chosen by recovery, translated, or the call's.

    They are translated if a fallback answers for the called tool.
    """
    if record.attempt_arguments is not None:
        return dict(record.attempt_arguments)
    arguments = dict(record.effective_arguments)
    if record.tool == record.call.tool:
        return arguments
    fallbacks = session.board.spec(record.call.tool).fallbacks
    return next(item.translate(arguments) for item in fallbacks if item.tool == record.tool)


def _injected_arguments(session: Session, record: CallRecord, spec: ToolSpec) -> dict[str, str]:
    """Return the idempotency key and a new delivery token, for tools that ask for them.

    An external attempt gets a token even if its tool has no argument for it: the token marks the
    call as one whose result comes from outside.
    """
    injected: dict[str, str] = {}
    if spec.key_argument is not None:
        injected[spec.key_argument] = record.key
    if spec.mode is Mode.EXTERNAL:
        # Copied: the record goes on to other attempts before the delivery comes.
        key, attempt = record.key, record.attempts

        def receive(result: Success) -> None:
            session.receive(
                Signal(kind=SignalKind.DELIVERY, key=key, attempt=attempt, content=result.content)
            )

        # With a journal the token is stored in the intent; the delivery is signalled to the process
        # that holds the lease, so no callback is registered here.
        token = session.engine.inbox.issue(None if session.engine.journal is not None else receive)
        session.live.token_issued(key, token)
        if spec.token_argument is not None:
            injected[spec.token_argument] = token
    return injected
