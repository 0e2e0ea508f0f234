"""Questions to a person about held calls, and their answers, in one format for both adapters."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from asyncguard.adapters.langgraph_internals.answers import update_of
from asyncguard.adapters.langgraph_internals.keys import channels_of, saver_of
from asyncguard.adapters.langgraph_internals.run import input_of
from asyncguard.adapters.run_input import read_cancelled
from asyncguard.adapters.state import read_messages
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.core.records import CallRecord
from asyncguard.errors import CallerError

_log = logging.getLogger("asyncguard")

_NO_TASKS = (
    '"tasks" cannot be added by the update of a Command: answer or resume first, then give them as '
    'an input of their own, {"tasks": [...]}.'
)
_QUOTED = 200
"""Number of characters of an answer that the model is shown."""
_NAMED = 10
"""Number of calls that the model is shown when an answer names none of them."""


def resumable(config: RunnableConfig) -> bool:
    """Return True if a person can be asked: without a checkpointer a run cannot be resumed.

    A thread id does not show that. A graph inside another one finds the checkpointer of that one
    here.
    """
    return saver_of(config) is not None


def check_command(given: Any) -> None:
    """Refuse a ``Command`` that a resume cannot apply, as long as the question is open.

    LangGraph stores the answer before it calls a node, and keeps the part that could not be read:
    the thread would never resume.

    Args:
        given: Input of the agent.

    Raises:
        CallerError: It is a ``Command`` that says nothing, adds tasks, has messages that cannot be
            read, or an answer that names calls by something else than text.
    """
    if not isinstance(given, Command):
        return
    update = update_of(given)
    if given.resume is None and not update and not given.goto:
        raise CallerError(
            "The Command says nothing: LangGraph ignores resume=None. Answer with "
            "Command(resume=True) or Command(resume=False); to go on without an answer, pass None "
            "as the input."
        )
    if update.get("tasks"):
        raise CallerError(_NO_TASKS)
    if "messages" in update:
        read_messages(update["messages"])
    names = list(given.resume) if isinstance(given.resume, dict) else []
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise CallerError(
            "Command(resume=...) must name calls by their keys, which are text, not by "
            f"{wrong[0]!r:.100}."
        )


def cancel_beside(
    config: RunnableConfig,
    known: Collection[str],
    cancel: Callable[[Sequence[str]], None],
    *,
    approving: bool = False,
) -> str:
    """Stop the tasks that ``Command(resume=..., update={"cancel": [...]})`` cancels with an answer.

    Args:
        config: Of the node, hook or wrapper that asked; its state was read before the answer came.
        known: Ids of the thread's tasks.
        cancel: Stops tasks by their ids; raises ``CallerError`` for an unknown one.
        approving: True if the answer is about held calls: no effect follows for a task that the
            user wanted to stop, though the cancellation was refused for another name in it.

    Returns:
        The error of the cancellation, empty if it was carried out. Raised here it would leave the
        question answered and the thread stuck: LangGraph keeps the value that a run was resumed
        with, and gives it to the next one, too.
    """
    read = channels_of(config)
    # In create_agent only: build_agent refuses such tasks before LangGraph resumes the run.
    if read is not None and read("tasks"):
        _log.warning("thread %r: %s", thread_of(config), _NO_TASKS)
    given = input_of(config)
    # LangGraph keeps the update of an earlier Command until the step ends. Its mistake was logged
    # then, and must not refuse what a later answer approves.
    own = isinstance(given, Command) and "cancel" in update_of(given)
    try:
        names = read_cancelled(read("cancel")) if read is not None else []
        left = [name for name in names if name in known]
        if own or approving or left == names:  # else it was refused as a whole, and stays so
            cancel(names if own else left)
    except CallerError as error:
        _log.warning(
            "thread %r: the cancellation in a Command was not carried out: %s",
            thread_of(config),
            error,
        )
        return str(error) if own else ""
    return ""


def question(records: Sequence[CallRecord]) -> dict[str, Any]:
    """Return the question about held calls, all of them at once.

    ``key`` names a call in an answer; the arguments are those that would be issued.
    """
    calls = [
        {
            "key": _answer_key(record),
            "call": record.call.label,
            "task": record.call.task,
            "tool": record.call.tool,
            "arguments": dict(record.effective_arguments),
            "reason": record.reason,
        }
        for record in records
    ]
    return {"type": "approval", "calls": calls}


def named_in(asked: Any, records: Iterable[CallRecord]) -> list[CallRecord]:
    """Return the calls that a question names, none if it is not one about held calls.

    Args:
        asked: Value of an interrupt.
        records: Calls that it may name.
    """
    if not isinstance(asked, Mapping) or asked.get("type") != "approval":
        return []
    named = {call["key"] for call in asked["calls"]}
    return [record for record in records if _answer_key(record) in named]


def decisions(answer: Any, records: Sequence[CallRecord]) -> list[tuple[bool, str]]:
    """Decode a person's answer about the calls of a question.

    Args:
        answer: ``True`` or ``False`` for all calls, or a mapping from key (as in the question) or
            label to such a value or to ``{"approve": bool, "reason": str}``. A label that several
            of the calls have names none of them. Any other value refuses, and the reason quotes it.
        records: The calls.

    Returns:
        For each call True if it is approved, else False and the reason for the model.
    """
    if not isinstance(answer, dict):
        return [_said(answer)] * len(records)
    meant: dict[Any, list[str]] = {}
    for name in answer:
        # A key comes first: the label of one call may look like the key of another.
        by_key = [record.key for record in records if _answer_key(record) == name]
        meant[name] = by_key or [record.key for record in records if record.call.label == name]
    if "approve" in answer and not any(meant.values()) and not (alone := _said(answer))[0]:
        # A "no" to all calls may have a reason; a "yes" has to name the calls.
        return [alone] * len(records)
    return [_entries(answer, meant, record, records) for record in records]


def _entries(
    answer: Mapping[Any, Any],
    meant: Mapping[Any, list[str]],
    record: CallRecord,
    records: Sequence[CallRecord],
) -> tuple[bool, str]:
    """Return the decision about one call: approved by an entry that names it, refused by none."""
    about = [name for name, keys in meant.items() if record.key in keys]
    for name in about:
        approved, reason = _said(answer[name])
        if not approved:
            return False, reason
    if any(len(meant[name]) == 1 for name in about):
        return True, ""
    if about:
        why = f"{about[0]!r} names {len(meant[about[0]])} calls"
    else:
        why = f"The answer does not name {_answer_key(record)!r}"
    held = ", ".join(repr(_answer_key(each)) for each in records[:_NAMED])
    more = " and more" if len(records) > _NAMED else ""
    return False, f"{why}, so the call counts as refused. Calls that were asked: {held}{more}."


def _said(value: Any) -> tuple[bool, str]:
    """Return one decision; only the exact documented values approve."""
    reason = None
    if (
        isinstance(value, dict)
        and value.keys() <= {"approve", "reason"}
        and isinstance(value.get("reason", ""), str)
    ):
        value, reason = value.get("approve"), value.get("reason")
    if not isinstance(value, bool):
        return (
            False,
            f"The answer {str(value)[:_QUOTED]!r} is not True, so the call counts as refused.",
        )
    return value, f"A person refused the call{f': {reason}' if reason else ''}."


def _answer_key(record: CallRecord) -> str:
    # Not the idempotency key: if all keys of an answer are 32 hex digits, LangGraph reads them as
    # ids of interrupts.
    return f"{record.call.task}/{record.call.label}"
