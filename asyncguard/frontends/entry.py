"""Entering a thread: input becomes tasks and messages, and what an earlier run left open is put in order."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from asyncguard.core.records import CallRecord
from asyncguard.core.tasks import SOLE_TASK, Task, TaskState
from asyncguard.core.turns import deliverable
from asyncguard.engine.intake import freeze_effects
from asyncguard.engine.session import Session
from asyncguard.errors import CallerError
from asyncguard.frontends.placing import added, placed
from asyncguard.frontends.plain import is_plain_text, plain_text
from asyncguard.frontends.writing import Delivery, Writer, is_ours, is_pair, note_for_model, text_of

_MAX_TASKS = 256
_CANCELLED = "cancelled"
"""Kind of the note that tells a cancellation."""


def read_tasks(given: Sequence[Any] | Mapping[str, Any] | None, known: Collection[str] = ()) -> list[Task]:
    """The tasks of an input.

    Args:
        given: Tasks as ``{"id": ..., "goal": ...}`` or plain text.
        known: Ids of the thread's tasks. One that is given again is a new goal for that task; tasks without an id are
            numbered on, so that two callers who give plain text do not take over each other's tasks.

    Raises:
        CallerError: They are no list, a task has no goal, an id is used twice, or there are too many.
    """
    if given is not None and not isinstance(given, list | tuple):
        raise CallerError(f'"tasks" takes a list, not {type(given).__name__}; write {{"tasks": [...]}}.')
    taken = set(known)
    tasks: list[Task] = []
    for position, item in enumerate(given or (), start=1):
        free = next(name for number in count(position) if (name := f"task-{number}") not in taken)
        tasks.append(_read_task(position, item, free))
        taken.add(tasks[-1].id)
    if len(tasks) > _MAX_TASKS:
        raise CallerError(f"{len(tasks)} tasks were given; one run takes at most {_MAX_TASKS}.")
    ids = [task.id for task in tasks]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise CallerError(f"Two tasks have the id {twice[0]!r}; give each task its own id.")
    return tasks


def _read_task(position: int, item: Any, free: str) -> Task:
    if isinstance(item, str):
        item = {"id": free, "goal": item}
    if not isinstance(item, Mapping) or not isinstance(item.get("goal"), str) or not item["goal"].strip():
        raise CallerError(f'Task {position} has no goal; write it as {{"id": "a", "goal": "..."}} or as plain text.')
    name = item.get("id", free)
    if not isinstance(name, str) or not name.strip() or not is_plain_text(name):
        raise CallerError(f"Task {position} has the id {name!r:.100}; an id is a short text of valid Unicode.")
    return Task(id=name, goal=plain_text(item["goal"]))


def read_cancelled(given: Sequence[Any] | str | None) -> list[str]:
    """The tasks that an input cancels: ids, or one id.

    Raises:
        CallerError: They are no ids.
    """
    names: Any = [given] if isinstance(given, str) else given or ()
    kind = isinstance(names, list | tuple | set | frozenset)
    if not kind or not all(isinstance(name, str) for name in names):
        raise CallerError(f'"cancel" takes ids of tasks, as in {{"cancel": ["a"]}}, not {names!r:.100}.')
    return list(names)


def user_spoke(tasks: Sequence[Task], messages: Sequence[AnyMessage]) -> bool:
    """Whether an input holds a word of the user; one may also only cancel tasks.

    Args:
        tasks: New tasks.
        messages: The history, new messages included.
    """
    return bool(tasks) or bool(messages and isinstance(messages[-1], HumanMessage) and not is_ours(messages[-1]))


def check_input(
    session: Session, tasks: Sequence[Task], messages: Sequence[AnyMessage], cancelled: Collection[str]
) -> None:
    """Refuse an input with which there is nothing to do; providers refuse a history that ends with the model's word.

    Args:
        session: The thread, before the run begins.
        tasks: New tasks.
        messages: The history, the user's new messages included.
        cancelled: Tasks that the user has just cancelled.

    Raises:
        CallerError: The input says nothing, and nothing is open or untold.
    """
    if tasks or cancelled:
        return
    last = messages[-1] if messages else None
    finished = session.ledger.turns and isinstance(last, AIMessage) and not last.tool_calls
    if last is None or (
        finished and not (session.ledger.any_open() or session.has_completions or deliverable(session.board))
    ):
        raise CallerError('Nothing to do: pass {"tasks": [...]} or {"messages": [...]} with something new.')


def enter(
    session: Session,
    tasks: Sequence[Task],
    messages: Sequence[AnyMessage],
    *,
    nonce: str,
    cancelled: Sequence[str] = (),
) -> list[AnyMessage]:
    """Take what the user says into a run that has begun.

    Args:
        session: The thread.
        tasks: New tasks; without any, the user's messages are the task.
        messages: The history, the user's new messages included.
        nonce: The thread's secret part of the delimiters.
        cancelled: Tasks that the user has just cancelled; the others go on.

    Returns:
        Messages to write: the tasks, or the whole history put in order where calls were left unanswered.
    """
    written: list[AnyMessage] = []
    if cancelled and not tasks and not _user_spoke(messages):
        written.append(_cancellation(cancelled))  # alone it says nothing about the other tasks, which go on
    else:
        freeze_effects(session)
        written += _take_said(session, tasks, messages, cancelled)
    return _repaired(session, messages, written, Writer(session, nonce)) or written


def _user_spoke(messages: Sequence[AnyMessage]) -> bool:
    """Whether a message that the model has not heard ends the history, and is not the runtime's."""
    last = messages[-1] if messages else None
    return last is not None and not isinstance(last, AIMessage | ToolMessage) and not is_ours(last)


def _cancellation(names: Sequence[str]) -> HumanMessage:
    """What the model is told of a cancellation that came without a word of the user."""
    named = ", ".join(dict.fromkeys(names))
    text = f"The user cancelled: {named}. Do nothing more for that; whatever else was asked for goes on."
    return note_for_model(text, _CANCELLED)


def only_cancelled(messages: Sequence[AnyMessage]) -> bool:
    """Whether a cancellation is the last that was written, so that the turn rule says whether the model is due."""
    data = messages[-1].additional_kwargs.get("lc_data") if messages and is_ours(messages[-1]) else None
    return isinstance(data, dict) and data.get("kind") == _CANCELLED


def _take_said(
    session: Session, tasks: Sequence[Task], messages: Sequence[AnyMessage], cancelled: Collection[str]
) -> list[AnyMessage]:
    if not tasks:
        _reopen(session, messages, cancelled)
        return []
    for task in tasks:
        session.record.task_opened(task.id, goal=task.goal)
        session.board.evidence.add(task.id, task.goal)
    return [_task_message(tasks, several=session.board.several_tasks)]


def _task_message(tasks: Sequence[Task], *, several: bool) -> HumanMessage:
    if not several:
        return HumanMessage(content=tasks[0].goal)
    lines = "\n\n".join(f"[{task.id}] {task.goal}" for task in tasks)
    what = f"these {len(tasks)} tasks; they are" if len(tasks) > 1 else "this task, too; it is"
    others = "each other" if len(tasks) > 1 else "the others"
    return note_for_model(f"Work on {what} independent of {others}.\n\n{lines}", "tasks")


def _reopen(session: Session, messages: Sequence[AnyMessage], cancelled: Collection[str]) -> None:
    known = list(session.ledger.tasks())
    if not known:
        said = [text_of(message.content) for message in messages if isinstance(message, HumanMessage)]
        session.record.task_opened(SOLE_TASK, goal=said[-1] if said else "")
    for record in known:
        if record.state is not TaskState.OPEN and record.task.id not in cancelled:
            session.record.task_opened(record.task.id, goal=record.task.goal)


def collect_evidence(session: Session, messages: Sequence[AnyMessage]) -> None:
    """Read the evidence anew from a history: after a restart, or when the history changed outside the runtime."""
    evidence = session.board.evidence
    for task in session.ledger.tasks():
        evidence.add(task.task.id, task.task.goal)
    tasks_of = {record.call.call_id: record for record in session.ledger.calls()}
    # By the ledger, for messages may be gone, or be told again in a summary that nobody can tell from the user's words.
    tainted = any(record.delivered and session.board.taints(record) for record in session.ledger.calls())
    if tainted or _holds_foreign_output(messages, tasks_of):
        session.board.taint()
    for message in messages:
        if isinstance(message, ToolMessage) and (record := tasks_of.get(message.tool_call_id)) is not None:
            evidence.add(record.call.task, text_of(message.content))
        elif is_ours(message):
            _collect_news(session, message)
        elif isinstance(message, HumanMessage | SystemMessage):
            evidence.add_common(text_of(message.content))


def _holds_foreign_output(messages: Sequence[AnyMessage], known: Collection[str]) -> bool:
    """Whether a history holds output of tools of which the ledger does not know, and so nobody whether to trust it."""
    told = {call["id"] for message in messages if is_pair(message) for call in cast(AIMessage, message).tool_calls}
    answers = (message.tool_call_id for message in messages if isinstance(message, ToolMessage))
    return any(call_id not in known and call_id not in told for call_id in answers)


def _collect_news(session: Session, message: AnyMessage) -> None:
    data = message.additional_kwargs.get("lc_data")
    keys = data.get("calls", []) if isinstance(data, dict) else []
    for key in keys:
        record = session.ledger.find(str(key))
        if record is not None:
            session.board.evidence.add(record.call.task, text_of(message.content))
            session.board.taint_by_output(record)


def add_user_evidence(session: Session, messages: Sequence[AnyMessage]) -> None:
    """Note what the user says; it concerns all tasks. A history that was brought along may hold anybody's output."""
    if _holds_foreign_output(messages, ()):
        session.board.taint()
    for message in messages:
        if isinstance(message, HumanMessage | SystemMessage) and not is_ours(message):
            session.board.evidence.add_common(text_of(message.content))


def put_in_place(session: Session, history: Sequence[AnyMessage], delivery: Delivery) -> None:
    """Give a delivery the order that providers take; a message that was added between calls and answers is heard.

    Args:
        session: The thread.
        history: The stored messages.
        delivery: What comes behind them.
    """
    ordered = placed(history, delivery.messages)
    if between := added(history, ordered):
        add_user_evidence(session, between)
        for command in delivery.updates:  # the history is written whole, and what tools add is behind it
            ordered += command.update.pop("messages", [])
    delivery.messages = ordered


def _repaired(
    session: Session, messages: Sequence[AnyMessage], written: list[AnyMessage], writer: Writer
) -> list[AnyMessage] | None:
    """The whole history with every call answered behind its message, or ``None`` if it is in order already.

    A run that was killed or cancelled leaves its last message without answers, and the user's next message stands
    where they belong.
    """
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    missing = {
        str(call["id"])
        for message in messages
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
        if call["id"] not in answered
    }
    if not missing:
        return None
    ordered: list[Any] = [RemoveMessage(id=REMOVE_ALL_MESSAGES)]
    for message in messages:
        ordered.append(message)
        if isinstance(message, AIMessage):
            ordered += _answers(session, message, missing, writer)
    return ordered + written


def _answers(session: Session, message: AIMessage, missing: set[str], writer: Writer) -> list[AnyMessage]:
    records = {record.call.call_id: record for record in session.ledger.of_message(message.id or "")}
    answers: list[AnyMessage] = []
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        call_id = str(call["id"])
        if call_id in missing:
            answers.append(_answer(writer, records.get(call_id), call_id, str(call["name"])))
    return answers


def _answer(writer: Writer, record: CallRecord | None, call_id: str, name: str) -> AnyMessage:
    if record is None:
        text = "The run ended before this call was run."
        return ToolMessage(content=text, tool_call_id=call_id, name=name, status="error")
    return writer.answer_one(record)[0]
