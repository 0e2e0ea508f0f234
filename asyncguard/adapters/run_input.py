"""Reader of a run's input: new tasks, cancellations and messages of the user."""

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from asyncguard.adapters.messages.markers import is_closing, is_ours, note_for_model
from asyncguard.adapters.messages.sanitize import is_plain_text, plain_text
from asyncguard.core.lifecycle import Task
from asyncguard.core.scheduling import deliverable
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError

_MAX_TASKS = 256
_KEYS = ("id", "goal")
"""Keys of a task."""
_CANCELLED = "cancelled"
"""Kind of the note that reports a cancellation to the model."""
_NOTHING_NEW = (
    'Nothing to do: pass {"tasks": [...]} or {"messages": [...]} with something new. To go on with '
    "a run that has stopped, pass None; to answer its question, Command(resume=...)."
)
NO_RUN = (
    "There is nothing to answer or continue: this thread has no run and no open question. Check "
    "the thread_id, and that the agent has the checkpointer that keeps the thread; to begin a "
    'thread, pass {"tasks": [...]} or {"messages": [...]}.'
)


def refuse_silence(given: Mapping[str, Any]) -> None:
    """Refuse an input that says nothing; it would count as a new one and withdraw held calls.

    Raises:
        CallerError: It has no tasks, no messages, and cancels nothing.
    """
    if not (given.get("tasks") or given.get("messages") or given.get("cancel")):
        raise CallerError(_NOTHING_NEW)


def refuse_nothing_new(messages: Sequence[AnyMessage], own: Collection[str]) -> None:
    """Refuse messages beside which the question to a person would be withdrawn for nothing.

    Args:
        messages: The history, which ends with what is new in the input.
        own: Ids of the agent's newest message and of its calls.

    Raises:
        CallerError: They end with no message of the user or of another agent, or with a blank one.
    """
    if not (says_something(messages) or _ends_with_another_agent(messages, own)):
        raise CallerError(_NOTHING_NEW)


def _ends_with_another_agent(messages: Sequence[AnyMessage], own: Collection[str]) -> bool:
    """Return True if the history ends with the words of an agent with which it is shared.

    They are news, as in ``create_agent``: agents of one graph follow each other in it.
    """
    last = messages[-1] if messages else None
    if isinstance(last, ToolMessage):
        return last.tool_call_id not in own
    spoken = isinstance(last, AIMessage) and not last.tool_calls
    return spoken and last is not None and last.id not in own and not is_closing(last)


def says_something(messages: Sequence[BaseMessage]) -> bool:
    """Return True if messages end with one of the user that is not blank."""
    content = messages[-1].content if heard_user(messages) else ""
    return bool(content.strip() if isinstance(content, str) else content)


def read_tasks(
    given: Sequence[Any] | Mapping[str, Any] | None, known: Collection[str] = ()
) -> list[Task]:
    """Parse the tasks of an input.

    Args:
        given: Tasks as ``{"id": ..., "goal": ...}`` or plain text.
        known: Ids of the thread's tasks. A task with one of them is a new goal for that task. Tasks
            without an id get the next free number, so that two callers that give plain text do not
            replace each other's tasks.

    Raises:
        CallerError: The tasks are not a list, a task has no goal or an unknown key, an id occurs
            twice, or there are too many tasks.
    """
    if given is not None and not isinstance(given, list | tuple):
        raise CallerError(
            f'"tasks" takes a list, not {type(given).__name__}; write {{"tasks": [...]}}.'
        )
    used = set(known)
    tasks: list[Task] = []
    for position, item in enumerate(given or (), start=1):
        free = next(name for number in count(position) if (name := f"task-{number}") not in used)
        tasks.append(_read_task(position, item, free))
        used.add(tasks[-1].id)
    if len(tasks) > _MAX_TASKS:
        raise CallerError(f"{len(tasks)} tasks were given; one run takes at most {_MAX_TASKS}.")
    ids = [task.id for task in tasks]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise CallerError(f"Two tasks have the id {twice[0]!r}; give each task its own id.")
    return tasks


def _read_task(position: int, item: Any, free: str) -> Task:
    if isinstance(item, str):
        item = {"id": free, "goal": item}
    unknown = [key for key in item if key not in _KEYS] if isinstance(item, Mapping) else ()
    if unknown:
        raise CallerError(
            f"Task {position} has the key {unknown[0]!r:.100}, which no task has; a task is "
            '{"id": "a", "goal": "..."} or plain text.'
        )
    if (
        not isinstance(item, Mapping)
        or not isinstance(item.get("goal"), str)
        or not item["goal"].strip()
    ):
        raise CallerError(
            f'Task {position} has no goal; write it as {{"id": "a", "goal": "..."}} or as plain '
            "text."
        )
    name = item.get("id", free)
    if not isinstance(name, str) or not name.strip() or not is_plain_text(name):
        raise CallerError(
            f"Task {position} has the id {name!r:.100}; an id is a short text of valid Unicode."
        )
    return Task(id=name, goal=plain_text(item["goal"]))


def read_cancelled(given: Sequence[Any] | str | None) -> list[str]:
    """Parse the tasks that an input cancels: ids, or one id.

    Raises:
        CallerError: The value holds something else than ids.
    """
    names: Any = [given] if isinstance(given, str) else given or ()
    kind = isinstance(names, list | tuple | set | frozenset)
    if not kind or not all(isinstance(name, str) for name in names):
        raise CallerError(
            f'"cancel" takes ids of tasks, as in {{"cancel": ["a"]}}, not {names!r:.100}.'
        )
    return list(names)


def user_spoke(tasks: Sequence[Task], messages: Sequence[AnyMessage]) -> bool:
    """Return True if an input holds a word of the user; it may also only cancel tasks.

    Args:
        tasks: New tasks.
        messages: The history, new messages included.
    """
    return bool(tasks) or bool(
        messages and isinstance(messages[-1], HumanMessage) and not is_ours(messages[-1])
    )


def check_input(
    board: Scoreboard,
    tasks: Sequence[Task],
    messages: Sequence[AnyMessage],
    cancelled: Collection[str],
    *,
    news: bool,
) -> None:
    """Refuse an input that gives the run nothing to do.

    Providers refuse a history that ends with a message of the model.

    Args:
        board: Scoreboard of the thread, before the run begins.
        tasks: New tasks.
        messages: The history, the user's new messages included.
        cancelled: Tasks that the user has just cancelled.
        news: True if a signal has arrived since the last run.

    Raises:
        CallerError: The input is empty, no call is open, and no result is undelivered; or it is a
            blank message to a thread with open calls.
    """
    if tasks or cancelled:
        return
    last = messages[-1] if messages else None
    blank = heard_user(messages) and not says_something(messages)
    own = {board.ledger.last_message}
    ended = isinstance(last, AIMessage) and not last.tool_calls
    finished = board.ledger.turns and ended and not _ends_with_another_agent(messages, own)
    waits = board.ledger.any_open()
    done = finished and not (waits or news or deliverable(board))
    if last is None or done or (blank and waits):
        raise CallerError(_NOTHING_NEW)


def heard_user(messages: Sequence[BaseMessage]) -> bool:
    """Return True if the history ends with a user's message that the model has not answered."""
    last = messages[-1] if messages else None
    return last is not None and not isinstance(last, AIMessage | ToolMessage) and not is_ours(last)


def cancellation(names: Sequence[str]) -> HumanMessage:
    """Return the message about a cancellation that came without a word of the user."""
    named = ", ".join(dict.fromkeys(names))
    text = (
        f"The user cancelled: {named}. Do nothing more for that; continue with everything "
        "else that was asked for."
    )
    return note_for_model(text, _CANCELLED)


def only_cancelled(messages: Sequence[AnyMessage]) -> bool:
    """Return True if a cancellation ends the history: then the turn rule decides about a turn."""
    data = (
        messages[-1].additional_kwargs.get("lc_data")
        if messages and is_ours(messages[-1])
        else None
    )
    return isinstance(data, dict) and data.get("kind") == _CANCELLED


def task_message(tasks: Sequence[Task], *, several: bool) -> HumanMessage:
    """Write new tasks as a message.

    Args:
        tasks: At least one.
        several: True if the thread has several tasks now.
    """
    if not several:
        return HumanMessage(content=tasks[0].goal)
    lines = "\n\n".join(f"[{task.id}] {task.goal}" for task in tasks)
    what = f"these {len(tasks)} tasks; they are" if len(tasks) > 1 else "this task, too; it is"
    others = "each other" if len(tasks) > 1 else "the others"
    text = f"Work on {what} independent of {others}.\n\n{lines}"
    # For programs that begin with the stored thread: a goal may look like the next task's.
    told = {"tasks": [task.id for task in tasks], "goals": [task.goal for task in tasks]}
    return note_for_model(text, "tasks", data=told)
