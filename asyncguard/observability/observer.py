"""Observers of a run: each gets one frozen details object per event.

Rules:

- An observer is any callable that takes one :class:`Details` and returns nothing. It is called in
  the OS thread that folds the event, so it has to be quick and must not wait.
- An observer never breaks or changes a run. One that raises is removed and reported once; the
  others continue.
- Details hold payloads (arguments, results, goals). What may leave the process is decided in one
  place, :func:`asyncguard.observability.fields.record.fields`.
"""

import contextlib
import inspect
import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from asyncguard.core import events as ev
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.errors import CallerError


@dataclass(frozen=True, kw_only=True, slots=True)
class Details:
    """One event and its context."""

    event: ev.Event
    """The event."""
    thread: str
    """Id of the conversation, minted by the runtime; copies of a thread share it."""
    run: str
    """Id of the run within the thread."""
    agent: str = ""
    """Namespace of the agent, empty if it has none."""
    thread_id: str = ""
    """The caller's ``thread_id`` in LangGraph's configuration, empty if the run has none."""
    record: CallRecord | None = None
    """The call of a call event, after the event was folded in.

    Later events change it: read it at once.
    """
    task: str = ""
    """Id of the task that the event is about, empty without an existing one."""
    tool: str = ""
    """Tool of the call's current attempt, empty without a call."""
    label: str = ""
    """Name of the call for people, ``tool#ordinal``; empty without a call."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Name ``task/tool#ordinal`` of every other call that the event mentions, by key.

    The task is left out if the call names none.
    """

    @classmethod
    def from_event(
        cls, event: ev.Event, ledger: Ledger, *, thread: str, agent: str = "", thread_id: str = ""
    ) -> Self:
        """Return the details of an event that the ledger has just folded in.

        Args:
            event: The event.
            ledger: The thread's ledger, after the event.
            thread: Id of the conversation.
            agent: Namespace of the agent.
            thread_id: The caller's id of the thread.
        """
        key = ""
        if isinstance(event, ev.CallProposed):
            key = event.call.key
        elif isinstance(event, ev.CallEvent):
            key = event.key
        record = ledger.find(key)
        task = _task(ledger, record) if record is not None else ""
        if isinstance(event, ev.TaskOpened | ev.TaskEnded):
            task = event.task
        return cls(
            event=event,
            thread=thread,
            run=ledger.run,
            agent=agent,
            thread_id=thread_id,
            record=record,
            task=task,
            tool=record.tool if record is not None else "",
            label=record.call.label if record is not None else "",
            names={other: _name(ledger, other) for other in _mentioned(event)},
        )


class Observer(Protocol):
    """Function that is called once per event, in the order of events of a thread.

    It is a class, so that a type checker knows what a list of several kinds of observers holds.
    """

    def __call__(self, details: Details, /) -> None:
        """Accept one event."""


@runtime_checkable
class AcceptsHeader(Protocol):
    """An observer that gets the configuration of the coming runs before their first event."""

    def write_head(self, config: Mapping[str, Any] | None = None, *, version: str = "") -> None:
        """Accept the whole configuration as JSON values, and the version of asyncguard."""


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One request to the model, which no event tells of: events are stored, and it need not be."""

    thread: str
    """Id of the conversation."""
    run: str
    """Id of the run within the thread."""
    agent: str
    """Namespace of the agent, empty if it has none."""
    thread_id: str
    """The caller's ``thread_id``, empty if the run has none."""
    model: str
    """Name of the model, empty if it is not known."""
    provider: str
    """Name of the provider as LangChain knows it, empty if it is not known."""
    messages: Sequence[Any]
    """The messages that are sent: a payload."""


@runtime_checkable
class FollowsModel(Protocol):
    """An observer that is told of requests to the model, too, and of the end of runs.

    As with events, it must not wait, and it is removed if it raises.
    """

    def model_asked(self, call: ModelCall) -> None:
        """Accept the beginning of a request."""

    def model_answered(self, call: ModelCall, answer: Any, error: BaseException | None) -> None:
        """Accept the end of a request: the model's message, or the error that it failed with."""

    def run_over(self, agent: str, thread: str, error: BaseException | None) -> None:
        """Accept that LangGraph ended a run, or a part of one, in whatever way.

        Args:
            agent: Namespace of the agent.
            thread: Id of the conversation.
            error: The exception that ended it, if any.
        """


class ObserverSet:
    """Observers of one agent; several OS threads may notify it at once."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        """Keep the observers in the order in which they are to be called.

        Args:
            observers: Plain functions or callable objects.

        Raises:
            CallerError: One is not callable, or is a coroutine function, which would never be
                awaited.
        """
        # Replaced as a whole, so that notify reads it without the lock.
        self._observers = tuple(observers)
        # Sorted out once: to ask a class for the methods of a protocol takes longer than most
        # observers do.
        self._followers = _followers(self._observers)
        # Two OS threads that remove an observer at once must not bring each other's back.
        self._lock = threading.Lock()
        for observer in self._observers:
            if not callable(observer):
                raise CallerError(
                    f"The observer {observer!r} is not callable; "
                    "give a function that takes Details."
                )
            if inspect.iscoroutinefunction(observer) or inspect.iscoroutinefunction(
                type(observer).__call__
            ):
                raise CallerError(
                    f"The observer {_title(observer)} is a coroutine function; "
                    "give a plain function."
                )

    def __bool__(self) -> bool:
        """Return True if there are observers; without any, no details need to be made."""
        return bool(self._observers)

    def __len__(self) -> int:
        """Return the number of observers that are still called."""
        return len(self._observers)

    def introduce(self, config: Mapping[str, Any], *, version: str = "") -> None:
        """Pass the configuration of the coming runs to the observers that accept it.

        It is as safe as :meth:`notify`.

        Args:
            config: The whole configuration as JSON values (``GuardConfig.to_json()``).
            version: Version of asyncguard.
        """
        # Widened to object: the type of a callable does not show that its class accepts headers.
        observers: tuple[object, ...] = self._observers
        for observer in observers:
            if isinstance(observer, AcceptsHeader):
                try:
                    observer.write_head(config, version=version)
                except Exception as error:  # noqa: BLE001 - as in `notify`
                    self._remove(observer, error)

    def notify(self, details: Details) -> None:
        """Call every observer; never raise an ``Exception``.

        Args:
            details: The event and its context. An observer that raises is removed; the removal is
                logged as an error of the standard library's logger ``asyncguard``, which reaches
                the terminal even if nothing is configured.
        """
        for observer in self._observers:
            try:
                observer(details)
            except Exception as error:  # noqa: BLE001 - an observer must not end the run
                self._remove(observer, error, details.thread_id or details.thread)

    @property
    def follow_model(self) -> bool:
        """True if an observer is to be told of requests to the model."""
        return bool(self._followers)

    def follow(self, tell: Callable[[FollowsModel], None], *, thread: str) -> None:
        """Tell the observers that follow the model something; as safe as :meth:`notify`.

        Args:
            tell: Calls one method of an observer.
            thread: Name of the conversation in the log, if one raises.
        """
        for observer in self._followers:
            try:
                tell(observer)
            except Exception as error:  # noqa: BLE001 - as in `notify`
                self._remove(observer, error, thread)

    def _remove(self, observer: object, error: Exception, thread: str = "") -> None:
        with self._lock:
            left = tuple(other for other in self._observers if other is not observer)
            first = len(left) < len(self._observers)
            self._observers, self._followers = left, _followers(left)
        if not first:
            return  # another OS thread has removed and reported it
        # The message of the exception may quote a payload; its class and place do not, nor does
        # ours, which says what to do.
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {place.filename}:{place.lineno}"
        what += f" ({error})" if isinstance(error, CallerError) else ""
        what += f" in thread {thread!r}" if thread else ""
        # Warnings would raise under -W error, and a log filter of the application may raise, too.
        with contextlib.suppress(Exception):
            logging.getLogger("asyncguard").error(
                "The observer %s raised %s and was removed; the run continues without it.",
                _title(observer),
                what,
            )


def _followers(observers: Iterable[object]) -> tuple[FollowsModel, ...]:
    return tuple(observer for observer in observers if isinstance(observer, FollowsModel))


def _title(observer: object) -> str:
    """Return the name of the observer's code; its ``repr`` may raise or hold payloads."""
    code = observer if hasattr(observer, "__qualname__") else type(observer)
    return f"{code.__module__}.{getattr(code, '__qualname__', '?')}"


def _mentioned(event: ev.Event) -> tuple[str, ...]:
    match event:
        case ev.CallDeferred() | ev.CallRejected() | ev.CallSquashed() | ev.CallObjected():
            return event.on
        case ev.CallsDelivered():
            return (*event.keys, *event.placeholders)
        case ev.RunParked():
            return event.keys
        case _:
            return ()


def _name(ledger: Ledger, key: str) -> str:
    record = ledger.find(key)
    if record is None:
        return "?"
    task = _task(ledger, record)
    return f"{task}/{record.call.label}" if task else record.call.label


def _task(ledger: Ledger, record: CallRecord) -> str:
    """Return the call's task, empty if it does not exist.

    A task that a model made up is text, not an identifier, and may be a payload.
    """
    return record.call.task if ledger.task(record.call.task) is not None else ""
