"""State of the graph: messages, events of the ledger, and plain JSON values."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langgraph.channels import DeltaChannel, EphemeralValue
from langgraph.graph.message import REMOVE_ALL_MESSAGES

# Servers ask for the schemas of the state, and before Python 3.12 Pydantic cannot make them from
# typing.TypedDict.
from typing_extensions import TypedDict

from asyncguard.errors import CallerError
from asyncguard.runtime.session.outbox import TOKEN

_ID = attrgetter("id")
_NONE: Mapping[str, Any] = {"n": 0}
"""Stands before the first event."""
SNAPSHOT_EVERY = 2000
"""Writes between full copies of a channel; a step of an agent makes two writes.

A copy holds the whole history, so frequent copies make storage grow with the square of the steps.
The writes after the last copy are read and folded when a thread is opened: some hundredths of a
second for as many writes.
"""


class History(list[AnyMessage]):
    """Messages with a set of their ids, so that a message is appended without a scan of all others.

    Without it each super-step of a long history touches every message. Savers and users see a list.
    """

    __slots__ = ("ids",)

    def __init__(
        self, messages: Iterable[AnyMessage] = (), ids: set[str | None] | None = None
    ) -> None:
        """Store the messages and their ids.

        Args:
            messages: Messages in order.
            ids: Ids of a former state of this history. The set may hold more than the ids of the
                messages: a branch shares it, and removed ids stay in it. But no message has an id
                that the set does not hold.
        """
        super().__init__(messages)
        self.ids = set(map(_ID, self)) if ids is None else ids

    def __copy__(self) -> "History":
        """Copy the list and share the ids; LangGraph copies the state for routers."""
        return History(self, self.ids)


def fold_messages(state: Any, writes: Sequence[Any]) -> list[AnyMessage]:
    """Fold writes into the messages: replace equal ids, append others, apply ``RemoveMessage``.

    Any split of the writes gives the same list, and a replay gives the same ids: a message that was
    written without an id gets one that is derived from its place and content.
    """
    if isinstance(state, History):
        history = History(state, state.ids)
    else:
        known: list[Any] = list(state or [])
        if known and isinstance(known[0], dict):
            # A server that only shows a thread unpacks its messages, those of a snapshot included,
            # as plain values.
            known = convert_to_messages(known)
        history = History(known)
    for write in writes:
        for message in read_messages(write):
            if message.id == REMOVE_ALL_MESSAGES:
                history = History()
            elif isinstance(message, RemoveMessage):
                history = History((kept for kept in history if kept.id != message.id), history.ids)
            else:
                _put(history, cast(AnyMessage, message))
    return history


def read_messages(given: Any) -> list[BaseMessage]:
    """Convert the messages of an input or update.

    Raises:
        CallerError: LangChain cannot read them as messages.
    """
    # The common case: converting messages to themselves costs more than this look.
    if isinstance(given, list) and all(isinstance(message, BaseMessage) for message in given):
        return given
    try:
        return convert_to_messages(given if isinstance(given, list) else [given])
    except Exception as error:  # LangChain and pydantic raise all kinds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CallerError(
            '"messages" takes messages or what LangChain reads as such, for instance '
            f'[("user", "Hello")]; this it cannot read: {reason:.200}'
        ) from error


def _put(history: History, message: AnyMessage) -> None:
    """Replace the message with the same id, or append the message."""
    if not message.id:
        message = message.model_copy(update={"id": _derived_id(history, message)})
    if message.id in history.ids:
        for place, known in enumerate(history):
            if known.id == message.id:
                history[place] = message
                return
    history.ids.add(message.id)
    history.append(message)


def _derived_id(history: History, message: AnyMessage) -> str:
    """Return the id of a message without one: derived from place and content, and new.

    Where messages were removed, an earlier message with this content may have had this place.
    """
    text = f"{len(history)}|{message.type}|{message.content}"
    while True:
        made = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
        # The set may hold ids of removed messages, which a replay from a snapshot does not know.
        if made not in history.ids or all(known.id != made for known in history):
            return made
        text += "|"


def fold_events(state: Any, writes: Sequence[Any]) -> list[dict[str, Any]]:
    """Append the events that are new; a write that is applied twice adds nothing.

    A process that has lost its thread unnoticed may store a step beside those of its heir, with the
    same numbers: the events of the higher fencing token count. Those of a process without a journal
    have no token.
    """
    events: list[dict[str, Any]] = list(state or [])
    last: Mapping[str, Any] = events[-1] if events else _NONE
    for write in writes:
        for event in write:
            token = event.get(TOKEN, 0)
            while events and last["n"] >= event["n"] and last.get(TOKEN, 0) < token:
                events.pop()
                last = events[-1] if events else _NONE
            # Numbers rise within a thread, so a known event has a number up to the last.
            if event["n"] > last["n"] and (not token or token >= last.get(TOKEN, 0)):
                events.append(event)
                last = event
    return events


LAST_GIVEN: EphemeralValue[Any] = EphemeralValue(list, guard=False)
"""Channel of an input. LangGraph stores the update of each ``Command`` until the next checkpoint,
and the default channel refuses a second one: such a thread could never be run again."""


class Thread(TypedDict):
    """Identity of a thread for the runtime."""

    session: str
    """Id, minted when the thread began; part of every idempotency key."""
    nonce: str
    """Secret part of the delimiters of notifications."""
    number: NotRequired[int]
    """Fencing token of the run's process, if there is a journal; it rises with each acquisition."""


class GuardedState(TypedDict, total=False):
    """State of an agent of ``build_agent``; subclass it to add channels of your own."""

    messages: Annotated[
        list[AnyMessage], DeltaChannel(fold_messages, snapshot_frequency=SNAPSHOT_EVERY)
    ]
    """The conversation."""
    tasks: Annotated[list[Any], LAST_GIVEN]
    """Input: tasks as ``{"id": ..., "goal": ...}`` or plain text."""
    cancel: Annotated[list[str], LAST_GIVEN]
    """Input: ids of tasks to cancel."""
    asyncguard: Thread
    """Identity of the thread."""
    ledger: Annotated[
        list[dict[str, Any]], DeltaChannel(fold_events, snapshot_frequency=SNAPSHOT_EVERY)
    ]
    """Events of the thread, as :func:`asyncguard.core.event_codec.to_json` writes them."""
    report: dict[str, Any] | None
    """Report of the run's end, ``None`` before it."""
    structured_response: Any
    """Structured answer of the last run, ``None`` if it gave none; only with a response format."""


class GuardedInput(TypedDict, total=False):
    """Input of an agent: tasks, messages, or both."""

    messages: list[AnyMessage]
    """User messages."""
    tasks: list[Any]
    """Tasks as ``{"id": ..., "goal": ...}`` or plain text."""
    cancel: list[str]
    """Ids of tasks to cancel."""


class GuardedOutput(TypedDict, total=False):
    """Output of an agent."""

    messages: list[AnyMessage]
    """The conversation."""
    report: dict[str, Any] | None
    """``reason``, ``turns``, and per task its state and calls; ``None`` until the run ends."""
    structured_response: Any
    """Structured answer; only with a response format."""
