"""Start of a run: apply its input, that is tasks, cancellations and the user's messages."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from asyncguard.adapters.langgraph_internals.run import input_of
from asyncguard.adapters.messages.history import (
    add_user_evidence,
    collect_conversation,
    collect_evidence,
    collect_foreign_doubts,
    repaired,
    unknown_call,
)
from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.refused_input import taking_back
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run_input import (
    cancellation,
    check_input,
    heard_user,
    read_cancelled,
    read_tasks,
    says_something,
    task_message,
    user_spoke,
)
from asyncguard.adapters.state import read_messages
from asyncguard.adapters.threads.checkpoint_fence.owned import with_fencing_token
from asyncguard.core.calls import OPEN_STATES
from asyncguard.core.lifecycle import Task
from asyncguard.runtime import proposals
from asyncguard.runtime.tasks import cancel_tasks, check_known, open_tasks, reopen_tasks


async def begin(run: Run, *, overtaken: Iterable[str] = ()) -> dict[str, Any]:
    """Apply the input of a run: tasks, cancellations and the user's messages.

    Args:
        run: The joined run.
        overtaken: Keys of calls that the input ends: other middleware asked about them.

    Returns:
        The update of the state; ``messages`` holds what is written into the history.

    Raises:
        CallerError: The input cannot be read, or says nothing new; the thread keeps its former
            state.
    """
    session, messages = run.session, run.messages
    names = [task.task.id for task in run.ledger.tasks()]
    # Before the first event: the session keeps it for the next state, and the observers have
    # seen it, even if the input is refused after it.
    async with taking_back(run.config):
        tasks = read_tasks(run.state.get("tasks"), set(names))
        cancelled = read_cancelled(run.state.get("cancel"))
        check_input(run.board, tasks, messages, cancelled, news=session.has_completions)
        check_known(cancelled, names)
    known = run.ledger.turns  # run_started sets it to 0
    spoke = user_spoke(tasks, messages) and _input_speaks(run, tasks, cancelled)
    session.record.run_started(session.engine.ports.new_id(), said=spoke)
    cancel_tasks(session, cancelled)
    proposals.end_overtaken(session, overtaken)
    opened = _open_tasks(run, tasks, cancelled)
    # The whole history is written if calls in it were left without an answer.
    written = repaired(messages, opened, partial(_answers, run)) or opened
    if known:
        collect_evidence(run.board, messages)
    else:
        # No turn yet: the caller brought the history along, and it may hold untrusted output.
        add_user_evidence(run.board, messages)
    collect_conversation(run.board, [*messages, *opened])
    collect_foreign_doubts(run.board, messages)
    identity = with_fencing_token(run.identity, session.lease)
    update = {"asyncguard": identity, "messages": written, "ledger": session.drain_events()}
    # That of the run before would be returned by a run that stops with a question.
    return update | ({"report": None} if run.state.get("report") else {})


def _open_tasks(run: Run, tasks: Sequence[Task], cancelled: Sequence[str]) -> list[AnyMessage]:
    """Open the tasks of the input, or reopen those of the thread; return what to write."""
    heard = heard_user(run.messages) and _input_speaks(run, tasks, cancelled)
    if cancelled and not tasks and not heard:
        # A cancellation alone says nothing about the other tasks, which continue. Nor does a
        # message that the model is still to be shown: it came beside an answer.
        return [cancellation(cancelled)]
    proposals.squash_unissued_effects(run.session)
    if tasks:
        open_tasks(run.session, tasks)
        if heard_user(run.messages):
            # The words beside new tasks may be the answer to what an ended task has asked.
            reopen_tasks(run.session, "", cancelled=cancelled)
        return [task_message(tasks, several=run.board.several_tasks)]
    said = (item for item in reversed(run.messages) if isinstance(item, HumanMessage))
    last = next(said, None)
    goal = "" if last is None else text_of(last.content)
    reopen_tasks(run.session, goal, cancelled=cancelled)
    return []


def _input_speaks(run: Run, tasks: Sequence[Task], cancelled: Sequence[str]) -> bool:
    """Return False if the words of the user are known to be older than the run's input.

    They stand in the history while calls are open to which they came beside an answer, or if
    the process died in the model's turn; then a cancellation of all tasks is one of them, too.
    """
    given = input_of(run.config)
    if tasks or not isinstance(given, Mapping):
        return True
    known = {record.task.id for record in run.ledger.tasks()}
    if not (cancelled and known.issubset(cancelled)) and not run.ledger.in_state(*OPEN_STATES):
        return True
    return says_something(read_messages(given.get("messages") or []))


def _answers(run: Run, message_id: str, calls: Sequence[Mapping[str, Any]]) -> list[AnyMessage]:
    records = {record.call.call_id: record for record in run.ledger.of_message(message_id)}
    answers: list[AnyMessage] = []
    for call in calls:
        record = records.get(str(call["id"]))
        answers.append(unknown_call(call) if record is None else run.teller.answer(record)[0])
    return answers
