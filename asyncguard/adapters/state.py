"""The graph's state: messages, and the events of the ledger; plain JSON values beside LangChain's messages."""

import hashlib
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langgraph.channels import DeltaChannel, EphemeralValue
from langgraph.graph.message import REMOVE_ALL_MESSAGES

# Before Python 3.12, Pydantic makes schemas of no other TypedDict, and servers ask for the schemas of the state.
from typing_extensions import TypedDict

from asyncguard.errors import CallerError

_ID = attrgetter("id")
SNAPSHOT_EVERY = 2000
"""Writes between full copies of a channel, two of which are a step of an agent.

A copy holds the whole history, so copies that come often make storage grow with the square of the steps. What is behind
the last copy is read and folded when a thread is entered: some hundredths of a second for as many writes.
"""


class History(list[AnyMessage]):
    """Messages with the ids among them, so that a message can be appended without a look at all the others.

    A long history costs each super-step what it takes to touch every message; savers and users see a list.
    """

    __slots__ = ("ids",)

    def __init__(
        self, messages: Iterable[AnyMessage] = (), ids: set[str | None] | None = None
    ) -> None:
        """Take messages.

        Args:
            messages: In order.
            ids: What a former state of this history knew. It may know more: a branch shares it, and what was removed
                stays in it. An id that is not in it is in no message.
        """
        super().__init__(messages)
        self.ids = set(map(_ID, self)) if ids is None else ids

    def __copy__(self) -> "History":
        """Copy the list; LangGraph does before it lets a router look at the state."""
        return History(self, self.ids)


def fold_messages(state: Any, writes: Sequence[Any]) -> list[AnyMessage]:
    """Fold writes into the message list: same id replaces, unknown id appends, ``RemoveMessage`` removes.

    Any split of the writes gives the same list, and a replay gives the same ids: a message that was written without an
    id gets one that follows from its place and content.
    """
    history = _history(state)
    for write in writes:
        for message in _as_messages(write):
            if message.id == REMOVE_ALL_MESSAGES:
                history = History()
            elif isinstance(message, RemoveMessage):
                history = History((kept for kept in history if kept.id != message.id), history.ids)
            else:
                _put(history, cast(AnyMessage, message))
    return history


def _history(state: Any) -> History:
    if isinstance(state, History):
        return History(state, state.ids)
    known: list[Any] = list(state or [])
    if known and isinstance(known[0], dict):
        # A server that only shows a thread unpacks its messages, those of a snapshot included, as plain values.
        known = convert_to_messages(known)
    return History(known)


def _as_messages(write: Any) -> list[BaseMessage]:
    if isinstance(write, list) and all(isinstance(message, BaseMessage) for message in write):
        return write
    return read_messages(write)


def read_messages(given: Any) -> list[BaseMessage]:
    """The messages of an input or update.

    Raises:
        CallerError: LangChain cannot read them as messages.
    """
    try:
        return convert_to_messages(given if isinstance(given, list) else [given])
    except Exception as error:  # LangChain and pydantic raise all kinds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CallerError(
            '"messages" takes messages or what LangChain reads as such, for instance [("user", "Hello")]; '
            f"this it cannot read: {reason:.200}"
        ) from error


def _put(history: History, message: AnyMessage) -> None:
    if not message.id:
        text = f"{len(history)}|{message.type}|{message.content}"
        message = message.model_copy(
            update={"id": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]}
        )
    if message.id in history.ids:
        for place, known in enumerate(history):
            if known.id == message.id:
                history[place] = message
                return
    history.ids.add(message.id)
    history.append(message)


def fold_events(state: Any, writes: Sequence[Any]) -> list[dict[str, Any]]:
    """Append events; one that is there already (a write that was told twice) is left out."""
    events: list[dict[str, Any]] = list(state or [])
    last = events[-1]["n"] if events else 0
    for write in writes:
        for event in write:
            if event["n"] > last:
                events.append(event)
                last = event["n"]
    return events


class Thread(TypedDict):
    """What identifies a thread to the runtime."""

    session: str
    """Id, minted when the thread began; part of every idempotency key."""
    nonce: str
    """Secret part of the delimiters of notifications."""
    number: NotRequired[int]
    """Of the process that had the thread when its run began, if there is a journal: each that takes it counts on."""


class GuardedState(TypedDict, total=False):
    """State of an agent of ``build_agent``; subclass it to add channels for tools that return commands."""

    messages: Annotated[
        list[AnyMessage], DeltaChannel(fold_messages, snapshot_frequency=SNAPSHOT_EVERY)
    ]
    """The conversation."""
    tasks: Annotated[list[Any], EphemeralValue]
    """Input: tasks as ``{"id": ..., "goal": ...}`` or plain text."""
    cancel: Annotated[list[str], EphemeralValue]
    """Input: ids of tasks to cancel."""
    asyncguard: Thread
    """Identity of the thread."""
    ledger: Annotated[
        list[dict[str, Any]], DeltaChannel(fold_events, snapshot_frequency=SNAPSHOT_EVERY)
    ]
    """Events of the thread, as :func:`asyncguard.core.event_codec.to_json` writes them."""
    report: dict[str, Any]
    """How the run ended."""


class GuardedInput(TypedDict, total=False):
    """What an agent takes: tasks, messages, or both."""

    messages: list[AnyMessage]
    """User messages."""
    tasks: list[Any]
    """Tasks as ``{"id": ..., "goal": ...}`` or plain text."""
    cancel: list[str]
    """Ids of tasks to cancel."""


class GuardedOutput(TypedDict, total=False):
    """What an agent returns."""

    messages: list[AnyMessage]
    """The conversation."""
    report: dict[str, Any]
    """``reason``, ``turns``, and per task its state and calls."""
