"""Check of an input before a run joins its thread; a refused one changes nothing.

A later refusal comes too late: joining decides about open calls. And LangGraph has stored the input
as the head of the thread by then: it is taken back, but an open question gets another id. So
``build_agent`` refuses before that, too, and reads the stored thread if it has to.

A call has one answer, and the runtime writes it. A second one makes a request that providers
refuse; and if it were accepted as the result, it would end a call whose tool still runs. Results
from outside are delivered with a token, people are asked by an interrupt, and doubts are resolved
in the ledger.

A caller may send back messages that the thread has shown, under their ids, and bring a history
along whose calls are not those of this thread.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from asyncguard.adapters.langgraph_internals.answers import update_of
from asyncguard.adapters.langgraph_internals.run import input_of, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of, store_nothing
from asyncguard.adapters.messages.markers import stands_for_result
from asyncguard.adapters.run_input import (
    NO_RUN,
    read_cancelled,
    read_tasks,
    refuse_nothing_new,
    refuse_silence,
    says_something,
)
from asyncguard.adapters.state import fold_messages, read_messages
from asyncguard.adapters.threads.checkpoint_fence.refused_runs import undo_refused_input
from asyncguard.adapters.threads.runnable_config import namespace_of, thread_of
from asyncguard.core.events import (
    CallAdmitted,
    CallCancelled,
    CallDeferred,
    CallHeld,
    CallProposed,
    CallRejected,
    CallRetired,
    CallSquashed,
    TaskOpened,
    TurnTaken,
)
from asyncguard.errors import CallerError
from asyncguard.runtime.tasks import check_known

UNTOUCHED = frozenset(
    {
        CallProposed.kind,
        CallAdmitted.kind,
        CallDeferred.kind,
        CallHeld.kind,
        CallRetired.kind,
        CallRejected.kind,
        CallSquashed.kind,
        CallCancelled.kind,
    }
)
"""Newest events of calls that have not begun for all that a thread knows, or have ended."""


async def check_input_of(
    state: Mapping[str, Any],
    config: RunnableConfig,
    *,
    asked: bool = False,
    shown: Sequence[ToolMessage] = (),
) -> None:
    """Refuse an input that a run cannot begin with; the thread keeps its former state.

    Args:
        state: State of the run's first node; the input is folded into its messages already.
        config: Of that node.
        asked: True if other middleware has asked a person, who has not answered.
        shown: Answers in the input that are the thread's own, though its ledger does not say so.

    Raises:
        CallerError: The input says nothing, its tasks cannot be read, it cancels a task that the
            thread does not have, or it answers a call of the thread; or there is no run to resume.
    """
    given, run = input_of(config), run_of(config)
    begun = run is not None and base_of(run) and state.get("messages")
    async with taking_back(config):
        # A question before the guard's first hook leaves a thread without identity, but with its
        # input.
        if isinstance(given, Command) and not (begun or state.get("asyncguard")):
            raise CallerError(NO_RUN)
        if isinstance(given, Mapping):  # else the run continues, or its input is not known
            refuse_silence(given)
            read_tasks(given.get("tasks"))
            if namespace_of(config):
                shown = [*shown, *_handed_over(given, state)]
            _check_with_thread(given, state, asked=asked, shown=shown)


def depends_on_thread(given: Mapping[str, Any] | Command[Any]) -> bool:
    """Return True if an input may be refused for what its thread holds."""
    if isinstance(given, Command):
        return bool(_tool_messages(read_messages(update_of(given).get("messages") or [])))
    said = read_messages(given.get("messages") or [])
    new = given.get("tasks") or says_something(said)
    return not new or bool(given.get("cancel") or _tool_messages(said))


def check_with_stored(given: Mapping[str, Any] | Command[Any], stored: Mapping[str, Any]) -> None:
    """Refuse an input for what its thread holds, before LangGraph stores it.

    Args:
        given: The input.
        stored: State of the thread without the input.

    Raises:
        CallerError: As :func:`check_input_of`.
    """
    values = update_of(given) if isinstance(given, Command) else given
    said = fold_messages(stored.get("messages"), [values.get("messages") or []])
    state = {**stored, "messages": said}
    if isinstance(given, Command):
        _refuse_answers(values, state)
    else:
        _check_with_thread(given, state)


def _check_with_thread(
    given: Mapping[str, Any],
    state: Mapping[str, Any],
    *,
    asked: bool = False,
    shown: Sequence[ToolMessage] = (),
) -> None:
    events = state.get("ledger") or []
    opened = (event["task"] for event in events if event["kind"] == TaskOpened.kind)
    check_known(read_cancelled(given.get("cancel")), dict.fromkeys(opened))
    _refuse_answers(given, state, shown)
    if (asked or _holds(events)) and not (given.get("tasks") or given.get("cancel")):
        own = {event["call"]["call_id"] for event in events if event["kind"] == CallProposed.kind}
        turns = [event["message_id"] for event in events if event["kind"] == TurnTaken.kind]
        refuse_nothing_new(state.get("messages") or [], {*own, *turns[-1:]})


def _refuse_answers(
    given: Mapping[str, Any], state: Mapping[str, Any], shown: Sequence[ToolMessage] = ()
) -> None:
    for answer, call_id, tool in answers_in(given, state):
        if answer not in shown:
            raise CallerError(
                f'"messages" holds an answer to the call {call_id!r} of {tool!r}, which only the '
                "runtime answers. Deliver the result of an external call with "
                "Inbox.deliver(token, ...) or `asyncguard deliver`, answer a question with "
                "Command(resume=...), resolve a doubt with `asyncguard ledger resolve`; to inform "
                'the model, add a message of the user, ("user", "...").'
            )


def with_input(state: Mapping[str, Any], config: RunnableConfig) -> Mapping[str, Any]:
    """Return a state with the tasks and cancellations of the run's input.

    LangGraph keeps them for one super-step, which may have been that of other middleware.

    Args:
        state: State that the node or hook was given.
        config: Of the node or hook that reads the input.
    """
    given = input_of(config)
    if not isinstance(given, Mapping):
        return state
    left = {name: given[name] for name in ("tasks", "cancel") if given.get(name)}
    return {**left, **state}


def _holds(events: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a person was asked about a call and has not answered."""
    held: set[str] = set()
    for event in events:
        if event["kind"] == CallHeld.kind:
            held.add(event["key"])
        else:
            held.discard(event.get("key", ""))
    return bool(held)


@contextmanager
def naming_thread(config: RunnableConfig) -> Iterator[None]:
    """Add the thread to the errors of the caller that the block raises.

    Args:
        config: Of the run or its node.
    """
    try:
        yield
    except CallerError as error:
        if thread := thread_of(config):
            error.add_note(f"thread {thread!r}")
        raise


@asynccontextmanager
async def taking_back(config: RunnableConfig) -> AsyncIterator[None]:
    """Restore the head that a thread had before the input of a run if the block refuses it.

    Args:
        config: Of the run's first node.
    """
    with naming_thread(config):
        try:
            yield
        except CallerError:
            await undo_refused_input(config, begins=True)
            store_nothing(config)
            raise


def answers_in(given: Any, state: Mapping[str, Any]) -> list[tuple[ToolMessage, str, str]]:
    """Return the answers in an input to calls of the thread that the runtime has not answered so.

    Args:
        given: The input; only a mapping can hold answers.
        state: State of the thread with the input.

    Returns:
        Each answer with the id and the tool of its call.
    """
    given = given if isinstance(given, Mapping) else {}
    answers = _tool_messages(read_messages(given.get("messages") or []))
    if not answers:
        return []
    events: Sequence[Mapping[str, Any]] = state.get("ledger") or []
    calls: dict[str, Mapping[str, Any]] = {
        event["call"]["call_id"]: event["call"]
        for event in events
        if event["kind"] == "call_proposed"
    }
    written: set[str] = set()
    for event in events:
        if event["kind"] == "calls_delivered":
            written |= {*event.get("keys", ()), *event.get("placeholders", ())}
    held = [each.tool_call_id for each in _tool_messages(state.get("messages") or [])]
    # The runtime's own message, sent back under its id, replaces itself in the history; a second
    # message for the call is another answer.
    return [
        (answer, call["call_id"], call["tool"])
        for answer in answers
        if (call := calls.get(answer.tool_call_id)) is not None
        and (call["key"] not in written or held.count(answer.tool_call_id) > 1)
    ]


def _handed_over(given: Mapping[str, Any], state: Mapping[str, Any]) -> list[ToolMessage]:
    """Return the answers in an input that an earlier run of the agent may have handed over.

    It ended with a tool's command to the graph around it, before its own thread had the answers.
    They come back with the conversation that the agents share. No tool has any of these calls.
    """
    keys: dict[str, str] = {}
    newest: dict[str, str] = {}
    for event in state.get("ledger") or ():
        call = event.get("call") or {}
        if event["kind"] == CallProposed.kind:
            keys[call["call_id"]] = call["key"]
        newest[event.get("key") or call.get("key", "")] = event["kind"]
    return [
        answer
        for answer, call_id, _ in answers_in(given, state)
        if stands_for_result(answer) or newest[keys[call_id]] in UNTOUCHED
    ]


def _tool_messages(messages: Iterable[BaseMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]
