"""Questions of a task, and the answers that it has got."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, Interrupt

from asyncguard.adapters.langgraph_internals.keys import (
    INTERRUPT,
    NULL_TASK,
    RESUME,
    SCRATCHPAD,
    SEND,
    TASK,
)
from asyncguard.adapters.langgraph_internals.run import Run, outermost_run, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import newest_of

INTERRUPT_ID = re.compile("[0-9a-f]{32}")
"""Form of the ids of interrupts.

Why: LangGraph takes a mapping for answers by id if all its keys have this form, and has no public
test for it. With another form such an answer is taken for one to the question that comes next.
"""


def scratchpad_of(config: RunnableConfig) -> Any:
    """Return the notes of the present execution of a task; another execution has other notes.

    Why: LangGraph executes a task again from its beginning when a question is answered, and no
    public value tells one execution from the other. Without the notes an answer that is there
    already is not expected, and may reach a later question.

    Args:
        config: Of a node.
    """
    return config.get("configurable", {}).get(SCRATCHPAD)


def answers_of(notes: Any) -> list[Any]:
    """Return the list of answers that a task has received for its questions, in their order.

    Why: LangGraph matches answers to the questions of one execution by their order, and stores the
    list with the next question. No public value has it. Without it a person's words about one call
    are taken for words about another; nor is it known that a person has changed a call.

    Args:
        notes: Result of :func:`scratchpad_of`.

    Returns:
        The list itself: what is changed in it is what the rest of the execution finds.
    """
    found: list[Any] = getattr(notes, "resume", [])
    return found


def asked_before(config: RunnableConfig) -> list[Interrupt]:
    """Return the questions with which the present task has stopped in this super-step before.

    Why: an answer without a name goes to whichever task asks first, and the public state of a graph
    is not at hand in a node. Without the writes of the run, an answer to a question that an older
    release has put is not known to be one.

    Args:
        config: Of a node.
    """
    task = config.get("configurable", {}).get(TASK)
    written = getattr(run_of(config), "checkpoint_pending_writes", ())
    return [
        question
        for name, channel, questions in written
        if name == task and channel == INTERRUPT
        for question in questions
    ]


def stored_answers(found: Run | CheckpointTuple | None) -> list[list[Any]]:
    """Return the lists of answers that the tasks of a super-step have stored.

    Why: an answer without a name goes to whichever task asks first, and the public state of a graph
    is not at hand in a node. Without the writes of the run it is not known which question was out.

    Args:
        found: A run, for those before its execution of the super-step, or a stored checkpoint.
    """
    if isinstance(found, CheckpointTuple):
        written = found.pending_writes or ()
    else:
        written = getattr(found, "checkpoint_pending_writes", ())
    return [each for _, channel, each in written if channel == RESUME and isinstance(each, list)]


def store_answers(config: RunnableConfig) -> None:
    """Have the answers of a task stored with the question at which its execution stops.

    Why: LangGraph stores them by itself only if a question has got one of them in this execution.

    Args:
        config: Of a node.
    """
    config["configurable"][SEND]([(RESUME, list(answers_of(scratchpad_of(config))))])


def storing_of_answers(
    config: RunnableConfig, answers: list[Any]
) -> tuple[Any, RunnableConfig, list[Any]] | None:
    """Return what stores the answers of a task at once.

    Why: LangGraph stores an answer by the id of its question, and what :func:`store_answers` gives
    it, when the task stops or returns. Without the function a question counts as open after its
    answer has taken effect in a process that died, and another answer to it is of no avail.

    Args:
        config: Of a node.
        answers: The answers.

    Returns:
        As :func:`answer_beside_update`; ``None`` if the run stores nothing before its end.
    """
    run = run_of(config)
    if run is None or run.checkpointer is None or run.durability == "exit":
        return None
    given, made = config["configurable"], run.checkpoint_config["configurable"]
    namespace = run.config["configurable"].get("checkpoint_ns", "")
    place = {**made, "checkpoint_ns": namespace, "checkpoint_id": newest_of(run)}
    return run.checkpointer, {"configurable": place}, [[(RESUME, answers)], given[TASK]]


def count_questions(notes: Any, number: int) -> None:
    """Have the next question of an execution be the one with a number, from 0.

    Why: LangGraph counts the questions itself. Without the count a middleware around the guard that
    asks in the same task, after it, is given an answer to a question of a tool.

    Args:
        notes: Result of :func:`scratchpad_of`.
        number: Higher than that of each question so far.
    """
    while notes.interrupt_counter() < number - 1:
        pass


def asking_with(
    config: RunnableConfig,
    answers: list[Any],
    place: Callable[[], int],
    unplaced: Callable[[bool], Any],
    number_graph: Callable[[], int] | None = None,
) -> RunnableConfig:
    """Return the configuration of a task with which a tool finds answers of its own only.

    Why: LangGraph gives the answers of a task to whichever of its questions come first, and names
    the graphs that run inside it by the order in which they begin: a tool that is executed again
    is given the thread, and so the question, of another one's graph.

    Args:
        config: Of a node.
        answers: What the task has received. Its length is part of the next question's id.
        place: Returns the place of the answer to the question that the tool asks next; of none if
            it is not in the list.
        unplaced: Returns the answer that a graph inside the tool may give to a question of its own,
            ``None`` without one; called with True to use it.
        number_graph: Returns the number of the graph that the tool begins next, the same in each
            execution; by default LangGraph counts those of the task.
    """
    given = config["configurable"]
    own = {} if number_graph is None else {"subgraph_counter": number_graph}
    notes = replace(
        given[SCRATCHPAD], resume=answers, interrupt_counter=place, get_null_resume=unplaced, **own
    )
    send = given[SEND]

    def sent(writes: Sequence[tuple[str, Any]]) -> None:
        # With each answer that it gives, LangGraph would store the list up to there.
        if left := [each for each in writes if each[0] != RESUME]:
            send(left)

    return {**config, "configurable": {**given, SCRATCHPAD: notes, SEND: sent}}


def used_answer(config: RunnableConfig) -> bool:
    """Return True if a question of this super-step has got the answer that waits for any question.

    Why: as for :func:`take_unplaced_answer`. An answer that no question has got, because a process
    died before, is still the one to the question that was asked.

    Args:
        config: Of a node.
    """
    waiting = waiting_answer(scratchpad_of(config))
    return waiting is not None and any(waiting in each for each in stored_answers(run_of(config)))


def answer_waits(notes: Any) -> bool:
    """Return True if a run was resumed with an answer for whichever question comes next.

    Why: as for :func:`take_unplaced_answer`. It stays so after the answer was taken.

    Args:
        notes: Result of :func:`scratchpad_of`.
    """
    return waiting_answer(notes) is not None


def waiting_answer(notes: Any) -> Any:
    """Return the answer of :func:`answer_waits`, ``None`` if there is none.

    Why: as for :func:`take_unplaced_answer`.

    Args:
        notes: Result of :func:`scratchpad_of`.
    """
    return notes.get_null_resume(False)  # noqa: FBT003 - its only parameter; it is not taken


def take_unplaced_answer(notes: Any) -> Any:
    """Take the answer that waits for whichever question of a super-step comes next.

    Why: LangGraph stores such an answer until its super-step ends, also after a question has
    consumed it, and gives it to the next question of a run that was resumed without one. Without
    the function a person's words about one call are taken for words about another.

    Args:
        notes: Result of :func:`scratchpad_of`.

    Returns:
        ``None`` if there is none, or it was taken before.
    """
    return notes.get_null_resume(True)  # noqa: FBT003 - its only parameter


def answer_beside_update(config: RunnableConfig) -> tuple[Any, RunnableConfig, list[Any]] | None:
    """Return what stores the answer that a run was resumed with, if updates came to the thread.

    Why: savers on SQL keep the older one of two answers to a super-step if the newer one is stored
    with an update, and LangGraph stores it with all that came since the super-step began. Without
    the function an answer that a dead process has left counts instead of the one that replaced it,
    or is given to a later question.

    Args:
        config: Of a node.

    Returns:
        The checkpointer, the place of the writes, and the arguments that follow it; ``None`` if
        there is no such answer, or the run stores nothing before its end.
    """
    run = outermost_run(config)
    given = getattr(run, "input", None)
    if run is None or not isinstance(given, Command):
        return None
    if run.checkpointer is None or run.durability == "exit":
        return None
    written = run.checkpoint_pending_writes
    if all(task != NULL_TASK or channel == RESUME for task, channel, _ in written):
        return None
    place = {**run.checkpoint_config["configurable"], "checkpoint_id": newest_of(run)}
    place.setdefault("checkpoint_ns", "")
    return run.checkpointer, {"configurable": place}, [[(RESUME, given.resume)], NULL_TASK]


def update_of(command: Command[Any]) -> Mapping[str, Any]:
    """Return the update of a command by channel.

    Why: it may be a mapping, a list of pairs or an object with annotations, and LangGraph alone
    knows how it reads the last. Without the method no ``Command`` is accepted as an input.

    Args:
        command: Input of an agent.
    """
    return dict(writes_of(command))


def writes_of(command: Command[Any]) -> Sequence[tuple[str, Any]]:
    """Return the writes of a command, of which several may be for one channel.

    Why: as for :func:`update_of`.

    Args:
        command: Of a caller or a tool.
    """
    return command._update_as_tuples()  # noqa: SLF001 - see above
