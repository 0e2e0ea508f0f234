"""Events for user interfaces in LangGraph's stream: ``stream_mode="custom"`` of both adapters.

An event is written when what it tells happens, before a state holds it: a process that is killed in
between has told something that no state knows. The run that resumes the thread tells it again.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    BaseCallbackManager,
)
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.config import get_config, get_stream_writer
from langgraph.constants import TAG_NOSTREAM
from typing_extensions import TypedDict

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord

VERSION = 1
"""Version of the events; it rises when a field changes its meaning or goes."""
_RAN = (CallState.DONE, CallState.FAILED, CallState.IN_DOUBT, CallState.RESOLVED)
"""States of calls that were run and have ended."""
_OBJECTED = (CallState.DEFERRED, CallState.HELD, CallState.REJECTED)
"""States into which a guard puts a call."""
_NEVER_RUN = (CallState.SQUASHED, CallState.CANCELLED)
"""States of other calls that were not run."""


class TextEvent(TypedDict):
    """Verdict on a text of the model that was streamed, or stands in the messages.

    A text that no event names is to be shown as it is.
    """

    type: Literal["asyncguard.text"]
    version: int
    """Version of the events, 1 now."""
    message_id: str
    """Id of the model's message, as in the stream of messages and in the state."""
    status: Literal["interim", "replaced"]
    """``interim``: the text stays, but calls are open, so what it claims may not be true: mark it.
    ``replaced``: the message was taken out of the conversation: remove its text."""
    tool_call_ids: list[str]
    """Calls that the run waits for; empty for a replaced text if no call is open."""


class TaskEvent(TypedDict):
    """A task was opened, or has ended."""

    type: Literal["asyncguard.task"]
    version: int
    """Version of the events."""
    task: str
    """Id of the task."""
    status: Literal["open", "closed", "stopped"]
    """``open``, ``closed`` with its run, or ``stopped`` by the user or a limit."""
    goal: str
    """Goal of a task that was opened, else empty."""
    reason: str
    """Reason of a stop, else empty."""


class CallEvent(TypedDict):
    """A call of the model has a new state: the state of its card.

    The results of one message come as messages together, when the model is due its next turn; this
    event completes the card at once.
    """

    type: Literal["asyncguard.call"]
    version: int
    """Version of the events."""
    tool_call_id: str
    """Id of the call in the model's message: the card."""
    call: str
    """Name of the call within its task, ``tool#ordinal``."""
    task: str
    """Id of the task."""
    tool: str
    """Tool that the model called."""
    state: str
    """Open: ``deferred``, ``held``, ``queued``, ``pending``. Run and ended: ``done``, ``failed``,
    ``in_doubt``, ``resolved``. Not run: ``rejected``, ``squashed``, ``cancelled``."""
    guard: str
    """Guard that deferred, held or rejected the call; empty in other states."""
    reason: str
    """Why it was deferred, held, rejected or not run; empty in other states."""
    waits_for: list[str]
    """Ids of the calls that a deferred or rejected call waits for."""
    attempt: int
    """Number of the attempt, from 1; 0 before the first."""
    attempt_tool: str
    """Tool of the attempt, another one than ``tool`` after a fallback; empty before the first."""
    late: bool
    """True if the model was shown a placeholder: no tool message will hold the result. A call that
    had ended before it was shown one is told once more."""
    content: Any
    """Result or error text of a call that was run and has ended, as the model is shown it: text or
    content blocks, cut at ``Limits.max_output_bytes``. ``None`` for any other state."""


class RecoveryEvent(TypedDict):
    """Recovery took a step after a failed attempt or a strange answer."""

    type: Literal["asyncguard.recovery"]
    version: int
    """Version of the events."""
    tool_call_id: str
    """Id of the call in the model's message."""
    task: str
    """Id of the task."""
    action: str
    """``retry``, ``refresh``, ``rebind``, ``normalise``, ``fallback``, ``cross_check``, ``verify``,
    ``ask`` or ``give_up``."""
    attempt: int
    """Number of the attempt that failed, or that brought the answer."""
    error: str
    """Class of the failure, ``anomaly`` for a strange answer."""
    reason: str
    """Why this step was taken."""
    follows: bool
    """True if another attempt follows."""
    delay: float
    """Seconds before the next attempt."""
    tool: str
    """Tool of the next attempt, empty if none follows."""


class RunEvent(TypedDict):
    """The run stops, or has ended."""

    type: Literal["asyncguard.run"]
    version: int
    """Version of the events."""
    status: Literal["asking", "parked", "ended"]
    """``asking``: a person is asked; LangGraph's interrupt holds the question. An interrupt of
    other middleware has no event: look at the result for it. ``parked``: the run rests until
    results come from outside. ``ended``: the state holds the report."""
    tool_call_ids: list[str]
    """Calls that the question is about, or that the run rests for; empty at the end."""
    reason: str
    """Reason of the end, as in the report, else empty."""


class QuestionEvent(TypedDict):
    """A question to the user with which a run has ended; the next input goes on with the answer."""

    type: Literal["asyncguard.question"]
    version: int
    """Version of the events, 1 now."""
    message_id: str
    """Id of the model's message that asks, as in the stream of messages and in the state."""
    tasks: list[str]
    """Ids of the tasks that wait for the answer."""


UIEvent = TextEvent | TaskEvent | CallEvent | RecoveryEvent | RunEvent | QuestionEvent
"""Any event of the stream, told apart by ``type``."""


class Texts(Protocol):
    """Source of the texts about calls as the model is shown them."""

    def outcome_text(self, record: CallRecord) -> Any:
        """Return the text about a call that has ended."""
        ...

    def shown(self, record: CallRecord, content: Any) -> Any:
        """Return a content within the limit, without the secret of the thread's delimiters."""
        ...


def question_event(message_id: str, tasks: Iterable[str]) -> QuestionEvent:
    """Return the event about a question.

    Args:
        message_id: Id of the model's message.
        tasks: Tasks that wait for the answer.
    """
    return QuestionEvent(
        type="asyncguard.question", version=VERSION, message_id=message_id, tasks=list(tasks)
    )


def text_event(
    message_id: str, status: Literal["interim", "replaced"], waiting: Iterable[CallRecord]
) -> TextEvent:
    """Return the event about a text.

    Args:
        message_id: Id of the model's message.
        status: What has become of it.
        waiting: Calls that the run waits for.
    """
    return TextEvent(
        type="asyncguard.text",
        version=VERSION,
        message_id=message_id,
        status=status,
        tool_call_ids=[record.call.call_id for record in waiting],
    )


def asking_event(records: Iterable[CallRecord]) -> RunEvent:
    """Return the event about a question to a person; see :class:`RunEvent`."""
    return _run_event("asking", [record.call.call_id for record in records])


def _run_event(
    status: Literal["asking", "parked", "ended"], ids: list[str], reason: str = ""
) -> RunEvent:
    return RunEvent(
        type="asyncguard.run", version=VERSION, status=status, tool_call_ids=ids, reason=reason
    )


def _task_event(
    task: str, status: Literal["open", "closed", "stopped"], *, goal: str = "", reason: str = ""
) -> TaskEvent:
    return TaskEvent(
        type="asyncguard.task",
        version=VERSION,
        task=task,
        status=status,
        goal=goal,
        reason=reason,
    )


def ui_events(event: ev.Event, ledger: Ledger, texts: Texts) -> list[UIEvent]:
    """Return what user interfaces are told of an event of the runtime.

    Args:
        event: The event.
        ledger: The ledger, which has folded it in.
        texts: Source of the texts.
    """
    if isinstance(event, ev.CallsDelivered):
        shown = map(ledger.record, event.placeholders)
        return [_call_event(record, ledger, texts) for record in shown if not record.open]
    told = _ui_event(event, ledger, texts)
    return [] if told is None else [told]


def _ui_event(event: ev.Event, ledger: Ledger, texts: Texts) -> UIEvent | None:
    """Return what user interfaces are told of a move of a run, task or call, if anything."""
    match event:
        case ev.TaskOpened():
            return _task_event(event.task, "open", goal=event.goal)
        case ev.TaskEnded():
            status: Literal["closed", "stopped"] = (
                "stopped" if event.state is TaskState.STOPPED else "closed"
            )
            return _task_event(event.task, status, reason=event.reason)
        case ev.RunParked():
            return _run_event("parked", [ledger.record(key).call.call_id for key in event.keys])
        case ev.RunEnded():
            return _run_event("ended", [], event.reason)
        case ev.CallRecovered(asked=True):
            return None  # the event of the run says that a person is asked
        case ev.CallRecovered():
            return _recovery_event(event, ledger.record(event.key), texts)
        case ev.CallEdited():
            return None  # the guards' verdict on it follows
        case ev.CallObjected() | ev.CallFound() | ev.CallDiagnosed():
            return None  # the state of the call stays as it was
        case ev.CallEvent():
            return _call_event(ledger.record(event.key), ledger, texts)
        case _:
            return None


def _call_event(record: CallRecord, ledger: Ledger, texts: Texts) -> CallEvent:
    call, state = record.call, record.state
    ran, objected = state in _RAN, state in _OBJECTED
    # A released call keeps both in its record.
    reason = record.reason if objected or state in _NEVER_RUN else ""
    return CallEvent(
        type="asyncguard.call",
        version=VERSION,
        tool_call_id=call.call_id,
        call=call.label,
        task=call.task,
        tool=call.tool,
        state=state.value,
        guard=record.guard if objected else "",
        reason=texts.shown(record, reason),
        waits_for=[ledger.record(key).call.call_id for key in record.blocked_by if objected],
        attempt=record.attempts,
        attempt_tool=record.tool if record.attempts else "",
        late=record.placeholder,
        content=texts.outcome_text(record) if ran else None,
    )


def _recovery_event(event: ev.CallRecovered, record: CallRecord, texts: Texts) -> RecoveryEvent:
    return RecoveryEvent(
        type="asyncguard.recovery",
        version=VERSION,
        tool_call_id=record.call.call_id,
        task=record.call.task,
        action=event.action.value,
        attempt=event.attempt,
        error=event.error,
        reason=texts.shown(record, event.reason),
        follows=event.follows,
        delay=event.delay,
        tool=(event.tool or record.tool) if event.follows else "",
    )


class _WithoutPieces:
    """Callback handler that is told of a model's call, but of no piece of its message.

    It passes for the handler itself: LangChain adds another one where it finds none of a class.
    """

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self._handler = handler

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._handler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Drop a piece."""

    on_stream_event = on_llm_new_token


_PIECES = ("on_llm_new_token", "on_stream_event")
_IGNORED = {
    getattr(kind, name, None)  # an older LangChain has the first alone
    for kind in (BaseCallbackHandler, AsyncCallbackHandler)
    for name in _PIECES
}
"""Methods of a handler that takes no pieces."""


def _without_pieces(handlers: Iterable[BaseCallbackHandler]) -> list[Any]:
    # A handler that takes none stays as it is: LangChain looks for some by identity.
    return [
        handler
        if all(getattr(type(handler), name, None) in _IGNORED for name in _PIECES)
        else _WithoutPieces(handler)
        for handler in handlers
    ]


def silenced(config: RunnableConfig) -> RunnableConfig:
    """Return a configuration under which no piece of a model's message is told.

    LangGraph streams none, and callback handlers are called with none, ``astream_events`` among
    them; those that the model itself was made with are not known here.
    """
    given = config.get("callbacks")
    quiet: Any = _without_pieces(given) if isinstance(given, list) else given
    if isinstance(given, BaseCallbackManager):
        quiet = given.copy()
        quiet.handlers = _without_pieces(given.handlers)
        quiet.inheritable_handlers = _without_pieces(given.inheritable_handlers)
    tags = [*(config.get("tags") or ()), TAG_NOSTREAM]
    return {**config, "tags": tags, "callbacks": quiet}


@contextmanager
def holding(*, hold: bool) -> Iterator[None]:
    """Keep the pieces of a model's message that is made in the block out of the stream.

    Args:
        hold: False to do nothing.
    """
    if not hold:
        yield
        return
    # create_agent calls the model without a configuration, so it takes that of the context.
    token = var_child_runnable_config.set(silenced(get_config()))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def emit(event: UIEvent | None) -> None:
    """Write an event into the stream of the run that this is called in, if there is one."""
    if event is not None:
        get_stream_writer()(event)
