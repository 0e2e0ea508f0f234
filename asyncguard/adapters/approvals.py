"""Questions to a person about held calls, and their answers, in one format for both front ends."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt

from asyncguard.adapters.run_input import read_cancelled
from asyncguard.adapters.state import read_messages
from asyncguard.adapters.threads.active_runs import SAVER
from asyncguard.core.records import CallRecord
from asyncguard.errors import CallerError

_log = logging.getLogger("asyncguard")

_SCRATCHPAD = "__pregel_scratchpad"
"""Where LangGraph keeps the answers for a node in its configuration."""
_READ = "__pregel_read"
"""Where LangGraph keeps what reads the channels as they are now."""
_NO_TASKS = (
    '"tasks" cannot be added by the update of a Command: answer or resume first, then give them as an input of their '
    'own, {"tasks": [...]}.'
)
_QUOTED = 200
"""Characters of an answer that are told to the model."""
_NAMED = 10
"""Calls that are named to the model when an answer names none of them."""


def resumable(config: RunnableConfig) -> bool:
    """Whether a person can be asked: without a checkpointer nothing is stored, and nobody could resume the run.

    A thread id says nothing about that; a graph inside of another one finds the checkpointer of that one here.
    """
    return isinstance(config.get("configurable", {}).get(SAVER), BaseCheckpointSaver)


def check_command(given: Any) -> None:
    """Refuse a ``Command`` that a resume cannot take, while the question beside it is open.

    LangGraph takes the answer before a node is asked, and keeps what it could not read: the thread would never resume.

    Args:
        given: What the agent is called with.

    Raises:
        CallerError: It is a ``Command`` that adds tasks, has messages that cannot be read, or an answer that names
            calls by something else than text.
    """
    if not isinstance(given, Command):
        return
    update = dict(given._update_as_tuples())  # noqa: SLF001 - it may be a dict, pairs or an object
    if update.get("tasks"):
        raise CallerError(_NO_TASKS)
    if "messages" in update:
        read_messages(update["messages"])
    names = list(given.resume) if isinstance(given.resume, dict) else []
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise CallerError(
            f"Command(resume=...) names calls by the text of their keys, not by {wrong[0]!r:.100}."
        )


def cancel_beside(config: RunnableConfig, cancel: Callable[[Sequence[str]], None]) -> str:
    """Stop the tasks that were cancelled with an answer, as by ``Command(resume=..., update={"cancel": [...]})``.

    Args:
        config: Of the node, hook or wrapper that asked; what it was called with was read before the answer came.
        cancel: Stops tasks by their ids; raises ``CallerError`` for an unknown one.

    Returns:
        What is wrong with the cancellation, empty if it was carried out. Raised here it would leave the question
        answered and the thread stuck: LangGraph keeps what a run was resumed with, and gives it to the next one, too.
    """
    read = config.get("configurable", {}).get(_READ)
    if read is not None and read(
        "tasks"
    ):  # in create_agent only; build_agent refuses them before it is resumed
        _log.warning(_NO_TASKS)
    try:
        cancel(read_cancelled(read("cancel")) if read is not None else [])
    except CallerError as error:
        _log.warning("A cancellation beside an answer was not carried out. %s", error)
        return str(error)
    return ""


class Answered:
    """How many questions each task of LangGraph has had answered.

    A task whose question was answered is executed again from its beginning, and answers are matched to questions by
    their order: asked first, a later question would get the answer to an earlier one.
    """

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._taken: dict[str, int] = {}
        self._passed: dict[str, tuple[Any, int]] = {}

    def waits(self, config: RunnableConfig) -> bool:
        """Whether the next question of a task was answered before it is asked."""
        place, notes = _task_of(config)
        if notes is None:
            return False
        waiting = notes.get_null_resume(False) is not None  # noqa: FBT003 - without taking it
        return waiting or len(notes.resume) > self._taken.get(place, 0)

    def pass_over(self, config: RunnableConfig, value: Any) -> None:
        """Take the answers to earlier questions of a task once more, if this execution has not."""
        place, notes = _task_of(config)
        known, passed = self._passed.get(place, (None, 0))
        passed = passed if known is notes else 0
        for _ in range(passed, self._taken.get(place, 0)):
            interrupt(value)
        self._passed[place] = (notes, self._taken.get(place, 0))

    def ask(self, config: RunnableConfig, value: Any) -> Any:
        """Ask a question that was not answered before.

        Raises:
            GraphInterrupt: The person has not answered.
        """
        self.pass_over(config, value)
        answer = interrupt(value)
        place, notes = _task_of(config)
        self._taken[place] = self._taken.get(place, 0) + 1
        self._passed[place] = (notes, self._taken[place])
        return answer


def _task_of(config: RunnableConfig) -> tuple[str, Any]:
    """What is the same in each execution of a task, and what only this one has."""
    configurable = config.get("configurable", {})
    return str(configurable.get("checkpoint_ns", "")), configurable.get(_SCRATCHPAD)


def question(records: Sequence[CallRecord]) -> dict[str, Any]:
    """What a person is asked about held calls, all of them at once."""
    return {"type": "approval", "calls": [_asked(record) for record in records]}


def _asked(record: CallRecord) -> dict[str, Any]:
    """One call as a person is asked about it: ``key`` names it in an answer, arguments are as they would be issued."""
    return {
        "key": _answer_key(record),
        "call": record.call.label,
        "task": record.call.task,
        "tool": record.call.tool,
        "arguments": dict(record.effective_arguments),
        "reason": record.reason,
    }


def decisions(answer: Any, records: Sequence[CallRecord]) -> list[tuple[bool, str]]:
    """A person's answer about the calls that were asked.

    Args:
        answer: ``True`` or ``False`` for all calls, or a mapping from key (as it was asked) or label to such a value or
            to ``{"approve": bool, "reason": str}``. A label that several of the calls have names none of them. Anything
            else refuses, and the reason says what it was.
        records: The calls.

    Returns:
        For each call whether it is approved, and if not, what the model is told.
    """
    if not isinstance(answer, dict):
        return [_said(answer)] * len(records)
    meant = {name: _meant(name, records) for name in answer}
    if "approve" in answer and not any(meant.values()) and not (alone := _said(answer))[0]:
        return [alone] * len(
            records
        )  # a "no" to all may have a reason; a "yes" has to name the calls
    return [_entries(answer, meant, record, records) for record in records]


def _meant(name: Any, records: Sequence[CallRecord]) -> list[str]:
    """The calls that an answer's name may mean, by their keys; one name that means several names none."""
    by_key = [record.key for record in records if _answer_key(record) == name]
    return by_key or [record.key for record in records if record.call.label == name]


def _entries(
    answer: Mapping[Any, Any],
    meant: Mapping[Any, list[str]],
    record: CallRecord,
    records: Sequence[CallRecord],
) -> tuple[bool, str]:
    """What the entries of a mapping say about one call: approved by one that names it, and objected to by none."""
    about = [name for name, keys in meant.items() if record.key in keys]
    for name in about:
        approved, told = _said(answer[name])
        if not approved:
            return False, told
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
    """One decision; only exactly what is documented approves."""
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
    # Not the idempotency key: LangGraph takes an answer whose keys all are 32 hex digits for one by interrupt ids.
    return f"{record.call.task}/{record.call.label}"
