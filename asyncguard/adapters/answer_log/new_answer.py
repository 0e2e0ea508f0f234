"""Answer that a run was resumed with: the question that was out in the task gets it, or none."""

from collections.abc import Callable
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from asyncguard.adapters.answer_log.execution import EXECUTIONS, Execution, execution_of
from asyncguard.adapters.answer_log.index import (
    ANSWERED,
    KEPT,
    VOID,
    WITHIN,
    asker_in,
    index_in,
    index_of,
    made_index,
    place_of,
)
from asyncguard.adapters.langgraph_internals.answers import (
    INTERRUPT_ID,
    answer_beside_update,
    answer_waits,
    answers_of,
    asked_before,
    count_questions,
    scratchpad_of,
    store_answers,
    stored_answers,
    storing_of_answers,
    take_unplaced_answer,
    used_answer,
    waiting_answer,
)
from asyncguard.adapters.langgraph_internals.keys import saver_of
from asyncguard.adapters.langgraph_internals.run import input_of, outermost_input_of, run_of
from asyncguard.adapters.langgraph_internals.run_checkpoints import base_of
from asyncguard.adapters.threads.checkpoints import (
    of_thread,
    original_of,
    parent_of,
    put_writes,
    stored,
)
from asyncguard.runtime.dispatcher import inside_a_call


def drop_stale_answer(config: RunnableConfig) -> None:
    """Drop an answer that belongs to an earlier question, so that none that comes now gets it.

    LangGraph keeps it until the super-step ends, for an agent in a node of another graph that of
    the outermost one: many questions later. There it is dropped if the run was not resumed with it,
    also one that no question has got, because a process died before: the question comes again.

    Args:
        config: Of the node, hook or wrapper that may ask next. In an agent inside a tool it keeps
            the answer, as the agent whose tool it is decides there.
    """
    notes = scratchpad_of(config)
    if notes is None or not answer_waits(notes):
        return
    nested = "|" in str(config["configurable"].get("checkpoint_ns", ""))
    if _answers_next(outermost_input_of(config)) or (nested and inside_a_call()):
        return
    if nested or used_answer(config) or _earlier_than_question(config):
        take_unplaced_answer(notes)


async def store_answer(config: RunnableConfig) -> None:
    """Store the answer that a run was resumed with, if LangGraph may not have, as updates came.

    An earlier one stays in its place else, and counts in the next run if no question has got it.

    Args:
        config: Of the node, hook or wrapper that takes the answer.
    """
    notes = scratchpad_of(config)
    if notes is None or not answer_waits(notes) or not _answers_next(outermost_input_of(config)):
        return
    if (beside := answer_beside_update(config)) is not None:
        saver, place, writes = beside
        await put_writes(saver, place, *writes)


def _earlier_than_question(config: RunnableConfig) -> bool:
    """Return True if the answer that waits came before a question was put in this super-step."""
    waiting, run = waiting_answer(scratchpad_of(config)), run_of(config)
    indices = map(index_in, stored_answers(run))
    return any(index is not None and waiting in index.get("earlier", ()) for index in indices)


def _answers_next(given: Any) -> bool:
    """Return True if an input answers the next question, and none by the id of its interrupt."""
    if not isinstance(given, Command) or given.resume is None:
        return False
    answer = given.resume
    return not isinstance(answer, dict) or any(
        not INTERRUPT_ID.fullmatch(str(name)) for name in answer
    )


class Taken(NamedTuple):
    """Question that was out in a task."""

    asker: str = ""
    """Who asks; empty if no question of the guard was out."""
    answered: bool = False
    """True if the answer has come with this execution."""


async def take_answer(
    config: RunnableConfig, key: str = "", *, asker_of: Callable[[Any], str] = lambda _: ""
) -> Taken:
    """Give the answer that a run was resumed with to the question that was out in a task.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call whose wrapper it is, which asks for no other call.
        asker_of: Returns who asks a question that an older release has put, empty if unknown.
    """
    drop_stale_answer(config)
    notes = scratchpad_of(config)
    if (
        notes is None or execution_of(notes) is not None
    ):  # other middleware calls the hook once more
        return Taken()
    execution = EXECUTIONS[notes.get_null_resume] = Execution()
    await store_answer(config)
    if place_of(notes) is None:
        await _adopt_answers(config, key)
    if place_of(notes) is None:
        _index_older(config, asker_of)
    if (place := place_of(notes)) is None:
        return Taken()
    answers = answers_of(notes)
    index = answers[place].value
    of, asker = list(index["of"]), str(index["out"])
    kept = index.pop(KEPT, [])
    given, left = _given(config, place, kept) if asker else (None, [])
    who = asker_in(asker).key
    if given is None:
        count_questions(notes, place + 1)
        return Taken(who)
    execution.new, execution.before = place, list(answers)
    taken = [given, *left]
    of = [*of, asker, *[VOID] * len(left)]
    made = made_index(of, "", index.get("earlier", ()))
    made.value[ANSWERED] = asked_before(config)
    answers[place : place + 1] = [*taken, made]
    store_answers(config)
    count_questions(notes, place + len(taken) + 1)
    return Taken(who, answered=True)


def _given(config: RunnableConfig, place: int, kept: list[Any]) -> tuple[Any, list[Any]]:
    """Return the answer to the question that is out, ``None`` if there is none; and void ones.

    Args:
        config: Of the node, hook or wrapper.
        place: Of the index.
        kept: The answer that was stored for a process that was lost; empty without one.
    """
    notes = scratchpad_of(config)
    answers, given = answers_of(notes), list[Any]()
    by_id = len(answers) > place + 1  # LangGraph appends it
    if by_id and _names_question(config):
        given = answers[place + 1 : place + 2]
    del answers[place + 1 : place + 1 + by_id]
    # LangGraph refuses an answer without a name if several tasks ask.
    unplaced = [each for each in (take_unplaced_answer(notes),) if each is not None]
    if by_id or (kept and not _answers_next(outermost_input_of(config))):
        # One without a name that a dead process has left is for none after this one.
        return next(iter(given or kept), None), unplaced
    return next(iter(unplaced or kept), None), []


def _names_question(config: RunnableConfig) -> bool:
    """Return True if an answer by id names the question that is out in a task.

    LangGraph takes the id of a task's first question, perhaps one of other middleware, for any.
    """
    given, asked = outermost_input_of(config), asked_before(config)
    names = given.resume if isinstance(given, Command) and isinstance(given.resume, dict) else None
    return names is None or not asked or asked[-1].id in names


async def _adopt_answers(config: RunnableConfig, key: str) -> None:
    """Take over the answers of the task that has asked, if its state was updated since.

    An update makes another checkpoint with tasks of its own, and leaves the answers behind.
    """
    notes = scratchpad_of(config)
    if notes is None or not answer_waits(notes) or not _answers_next(input_of(config)):
        return
    saver, run = saver_of(config), run_of(config)
    if saver is None or run is None or any(map(index_in, stored_answers(run))):
        return
    thread, at = of_thread(config)["configurable"], base_of(run)
    while found := await stored(saver, {"configurable": {**thread, "checkpoint_id": at}}):
        if any(map(index_in, stored_answers(found))):  # an updated one where the thread went on
            break
        updated = found.metadata.get("source") == "update"
        before = parent_of(found) if updated else original_of(found)  # that of a refused input
        if before is None or before == at:
            break
        at = before
    left = [] if found is None else stored_answers(found)
    asked = [each for each in left if (index := index_in(each)) is not None and index["out"]]
    if len(asked) != 1:  # of several questions it is not known which one was answered
        return
    (answers,) = asked
    index = index_in(answers)
    if key in index["out"]:  # an approval names its calls
        used = [at for at, asker in enumerate(index["of"]) if asker != VOID]
        of = [VOID] * len(answers_of(notes)) + [index["of"][at] for at in used]
        out = index["out"]
        if out.startswith(WITHIN):  # that graph begins again: its first question may be another
            out = VOID
            take_unplaced_answer(notes)
        answers_of(notes).extend(
            [*(answers[at] for at in used), made_index(of, out, index.get("earlier", ()))]
        )


def _index_older(config: RunnableConfig, asker_of: Callable[[Any], str]) -> None:
    """Make the index of a task that has asked in a release without one."""
    asked = asked_before(config)
    if not asked or not (asker := asker_of(asked[-1].value)):
        return
    # The newest answer is the one to the newest question, whichever run has brought it.
    answers = answers_of(scratchpad_of(config))
    at = max(len(answers) - 1, 0)
    answers.insert(at, made_index([VOID] * at, asker))


async def store_taken_answer(config: RunnableConfig) -> None:
    """Store the answer that has come with this execution, before anything is done by it.

    It is not lost with the process, which LangGraph does with one by the id of its question. The
    next process is given it, unless another answer comes instead.

    Args:
        config: Of the node, hook or wrapper.
    """
    notes = scratchpad_of(config)
    execution = execution_of(notes)
    if execution is None or (at := execution.new) is None:
        return
    answers = list(execution.before)
    index = answers[at].value
    answers[at] = made_index(index["of"], index["out"], index.get("earlier", ()))
    answers[at].value[KEPT] = [answers_of(notes)[at]]
    if (storing := storing_of_answers(config, answers)) is not None:
        saver, place, writes = storing
        await put_writes(saver, place, *writes)


def void_new_answer(config: RunnableConfig) -> None:
    """Make the answer that has come with this execution void."""
    notes = scratchpad_of(config)
    index, execution = index_of(notes), execution_of(notes)
    if index is not None and execution is not None and execution.new is not None:
        index["of"][execution.new], execution.new = VOID, None


def replace_new_answer(config: RunnableConfig, answer: Any) -> None:
    """Put another answer in place of the one that has come with this execution.

    Args:
        config: Of the node, hook or wrapper.
        answer: Read instead by an execution in another process.
    """
    notes = scratchpad_of(config)
    execution = execution_of(notes)
    if execution is not None and execution.new is not None:
        answers_of(notes)[execution.new] = answer
