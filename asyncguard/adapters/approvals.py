"""Questions to a person about held calls, and their answers, in one format for both adapters.

LangGraph executes a task again from its beginning when its interrupt is answered, and matches
answers to interrupts by their order within the task. :class:`Answered` keeps that order.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from asyncguard.adapters.langgraph_internals import (
    answers_in,
    answers_of,
    asked_before,
    asks_after,
    channels_of,
    drop_unplaced_answer,
    input_of,
    is_void,
    saver_of,
    scratchpad_of,
    update_of,
    used_answer,
    void_answers,
)
from asyncguard.adapters.run_input import read_cancelled
from asyncguard.adapters.state import read_messages
from asyncguard.core.records import CallRecord
from asyncguard.errors import CallerError

_log = logging.getLogger("asyncguard")

_NO_TASKS = (
    '"tasks" cannot be added by the update of a Command: answer or resume first, then give them as '
    'an input of their own, {"tasks": [...]}.'
)
_ID = re.compile("[0-9a-f]{32}")
"""Form of the ids of LangGraph's interrupts."""
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
        _log.warning(_NO_TASKS)
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
        _log.warning("The cancellation in a Command was not carried out: %s", error)
        return str(error) if own else ""
    return ""


def drop_stale_answer(config: RunnableConfig, *, asked: bool = True) -> None:
    """Drop an answer that belongs to an earlier question, so that none that comes now gets it.

    Args:
        config: Of the node, hook or wrapper that may ask next. Nested in another graph's node it
            keeps the answer, as that graph's run decides there.
        asked: False if its question has not been asked yet, so that no answer is for it.
    """
    if (notes := scratchpad_of(config)) is None or "|" in _task_of(config)[0]:
        return
    if not asked or (not _answers_next(input_of(config)) and used_answer(config)):
        drop_unplaced_answer(notes)


def _answers_next(given: Any) -> bool:
    """Return True if an input answers the next question, and none by the id of its interrupt."""
    if not isinstance(given, Command) or given.resume is None:
        return False
    answer = given.resume
    return not isinstance(answer, dict) or any(not _ID.fullmatch(str(name)) for name in answer)


class Answered:
    """Count of the answered questions of each LangGraph task.

    A task whose question was answered is executed again from its beginning, and answers are matched
    to questions by their order: if a later question came first, it would get the answer to an
    earlier one.
    """

    def __init__(self) -> None:
        """Start without any question."""
        # Number of answers that each task has received, by its checkpoint namespace.
        self._taken: dict[str, int] = {}
        # The execution of each task, and how many of these answers it has consumed again.
        self._passed: dict[str, tuple[Any, int]] = {}

    def waits(self, config: RunnableConfig) -> bool:
        """Return True if the next question of a task has its answer before it is asked."""
        place, notes = _task_of(config)
        if notes is None:
            return False
        received = answers_in(notes)
        return received is None or received > self._taken.get(place, 0)

    def pass_over(self, config: RunnableConfig, value: Any) -> None:
        """Consume the answers to earlier questions of a task, if this execution has not."""
        place, notes = _task_of(config)
        known, passed = self._passed.get(place, (None, 0))
        passed = passed if known is notes else 0  # other notes: the task is executed again
        for _ in range(passed, self._taken.get(place, 0)):
            interrupt(value)
        self._passed[place] = (notes, self._taken.get(place, 0))

    def spend(
        self, config: RunnableConfig, *, void: bool = False, asked: bool = False
    ) -> RunnableConfig:
        """Count the answers that a task has received as those to earlier questions.

        Args:
            config: Of the task.
            void: True if no question gets them again, in another process either.
            asked: True if the answer that waits for any question is for the next one.

        Returns:
            The configuration with which the next question is asked.
        """
        place, notes = _task_of(config)
        number = len(answers_of(notes))
        if void:
            void_answers(notes, self._taken.get(place, 0))
        self._taken[place], self._passed[place] = number, (notes, number)
        return asks_after(config, number, asked=asked)

    def without_answers(self, config: RunnableConfig) -> RunnableConfig:
        """Return the configuration with which a question is asked that gets no answer of a task."""
        return asks_after(config, len(answers_of(_task_of(config)[1])), asked=False)

    def place_answer(self, config: RunnableConfig, number: int, value: Any) -> RunnableConfig:
        """Give the answer that a run was resumed with to a question, if it is the one that was out.

        Args:
            config: Of the task.
            number: Of the answer.
            value: The question. The process that put the one that was out may have ended.

        Returns:
            The configuration with which the question is asked.
        """
        if [value] == [question.value for question in asked_before(config)]:
            return asks_after(config, number, asked=True)
        with set_config_context(asks_after(config, number, asked=True)) as context:
            context.run(interrupt, value)
        void_answers(_task_of(config)[1], number)
        return self.spend(config)

    def after_void(self, config: RunnableConfig) -> RunnableConfig | None:
        """Return the configuration for the question after the void answers, ``None`` if none is."""
        answers = answers_of(_task_of(config)[1])
        number = next((at for at in range(len(answers), 0, -1) if is_void(answers[at - 1])), 0)
        return asks_after(config, number, asked=True) if number else None

    def discard(self, config: RunnableConfig) -> None:
        """Consume the answers that a task has received, so that none reaches another question."""
        place, notes = _task_of(config)
        first = self._taken.get(place, 0)
        with suppress(GraphInterrupt):
            while True:
                self.ask(config, None)
        void_answers(notes, first)

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
    """Return the name of a task, and the notes of its present execution."""
    return str(config.get("configurable", {}).get("checkpoint_ns", "")), scratchpad_of(config)


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
