"""The answers of a person, each with the question that it was given to.

LangGraph executes a task again from its beginning when its question is answered, perhaps in another
process, and matches answers to questions by their order within the task. Here many calls ask in one
task, and the order changes from execution to execution: tools take different times, an attempt is
repeated, a call is cancelled. So the list of answers that LangGraph stores with a question has one
entry more, the index. It says who has got each answer, and who asks the question that is out: the
attempt of a call whose tool asks, with a mark if a graph within the tool does, :data:`PARKED`, or
the calls that wait for approval. Middleware that asks in the same task has its answers before the
index or after it. While a process works with an answer, the stored index holds it: LangGraph stores
it later.

:func:`take_answer` comes first in each execution of a task.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, Interrupt, interrupt

from asyncguard.adapters.langgraph_internals.answers import (
    INTERRUPT_ID,
    answer_beside_update,
    answer_waits,
    answers_of,
    asked_before,
    asking_with,
    count_questions,
    scratchpad_of,
    store_answers,
    stored_answers,
    storing_of_answers,
    take_unplaced_answer,
    used_answer,
    waiting_answer,
)
from asyncguard.adapters.langgraph_internals.checkpoints import questions_and_answers
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
from asyncguard.runtime.attempts import Attempt
from asyncguard.runtime.dispatcher import inside_a_call

PARKED = "parked"
"""Asker of the question with which a run rests until an external result comes."""
_FORM = "asyncguard_answers"
"""Id by which an index is recognised.

It is an ``Interrupt``, which every saver stores, and which an answer in JSON cannot be.
"""
_VOID = ""
"""Asker of an answer that no question gets."""
_APPROVAL = "approval "
_WITHIN = "within "
_KEPT = "given"
"""Key of an index: the answer to the question that is out, if a process was given it."""
_ANSWERED = "answered"
"""Key of an index: the questions with which its task had stopped before its newest answer."""
_ATTEMPT = "attempt "


@dataclass
class _Execution:
    """Facts about a task's answers during one execution; they are not stored."""

    new: int | None = None
    """Place of the answer that has come with this execution, until a question gets it."""
    before: list[Any] = field(default_factory=list)
    """The answers as they were before it; empty if none has come."""
    lent: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Newest attempt in this execution and its number of answers, by key of its call."""
    own: set[str] = field(default_factory=set)
    """Keys of the calls whose newest attempt has asked itself, not a graph within it."""


_EXECUTIONS: WeakKeyDictionary[Any, _Execution] = WeakKeyDictionary()
"""By the function with which an execution takes the answer that a run was resumed with."""


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
    indices = map(_index_in, stored_answers(run))
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
    if notes is None or _execution(notes) is not None:  # other middleware calls the hook once more
        return Taken()
    execution = _EXECUTIONS[notes.get_null_resume] = _Execution()
    await store_answer(config)
    if _place(notes) is None:
        await _adopt_answers(config, key)
    if _place(notes) is None:
        _index_older(config, asker_of)
    if (place := _place(notes)) is None:
        return Taken()
    answers = answers_of(notes)
    index = answers[place].value
    of, asker = list(index["of"]), str(index["out"])
    kept = index.pop(_KEPT, [])
    given, left = _given(config, place, kept) if asker else (None, [])
    who = _asker_in(asker).key
    if given is None:
        count_questions(notes, place + 1)
        return Taken(who)
    execution.new, execution.before = place, list(answers)
    taken = [given, *left]
    of = [*of, asker, *[_VOID] * len(left)]
    made = _made(of, "", index.get("earlier", ()))
    made.value[_ANSWERED] = asked_before(config)
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


async def store_taken_answer(config: RunnableConfig) -> None:
    """Store the answer that has come with this execution, before anything is done by it.

    It is not lost with the process, which LangGraph does with one by the id of its question. The
    next process is given it, unless another answer comes instead.

    Args:
        config: Of the node, hook or wrapper.
    """
    notes = scratchpad_of(config)
    execution = _execution(notes)
    if execution is None or (at := execution.new) is None:
        return
    answers = list(execution.before)
    index = answers[at].value
    answers[at] = _made(index["of"], index["out"], index.get("earlier", ()))
    answers[at].value[_KEPT] = [answers_of(notes)[at]]
    if (storing := storing_of_answers(config, answers)) is not None:
        saver, place, writes = storing
        await put_writes(saver, place, *writes)


def answered_questions(found: CheckpointTuple) -> list[Interrupt]:
    """Return the questions of a stored checkpoint that a person has answered.

    Args:
        found: The checkpoint.
    """
    answered = list[Interrupt]()
    for questions, answers in questions_and_answers(found):
        index = _index_in(answers) or {}
        # If the run stopped in order, LangGraph has stored the answer as one that was taken.
        known = questions if index.get(_KEPT) else index.get(_ANSWERED, ())
        answered += [each for each in questions if each in known]
    return answered


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
    if saver is None or run is None or any(map(_index_in, stored_answers(run))):
        return
    thread, at = of_thread(config)["configurable"], base_of(run)
    while found := await stored(saver, {"configurable": {**thread, "checkpoint_id": at}}):
        if any(map(_index_in, stored_answers(found))):  # an updated one where the thread went on
            break
        updated = found.metadata.get("source") == "update"
        before = parent_of(found) if updated else original_of(found)  # that of a refused input
        if before is None or before == at:
            break
        at = before
    left = [] if found is None else stored_answers(found)
    asked = [each for each in left if (index := _index_in(each)) is not None and index["out"]]
    if len(asked) != 1:  # of several questions it is not known which one was answered
        return
    (answers,) = asked
    index = _index_in(answers)
    if key in index["out"]:  # an approval names its calls
        used = [at for at, asker in enumerate(index["of"]) if asker != _VOID]
        of = [_VOID] * len(answers_of(notes)) + [index["of"][at] for at in used]
        out = index["out"]
        if out.startswith(_WITHIN):  # that graph begins again: its first question may be another
            out = _VOID
            take_unplaced_answer(notes)
        answers_of(notes).extend(
            [*(answers[at] for at in used), _made(of, out, index.get("earlier", ()))]
        )


def _index_older(config: RunnableConfig, asker_of: Callable[[Any], str]) -> None:
    """Make the index of a task that has asked in a release without one."""
    asked = asked_before(config)
    if not asked or not (asker := asker_of(asked[-1].value)):
        return
    # The newest answer is the one to the newest question, whichever run has brought it.
    answers = answers_of(scratchpad_of(config))
    at = max(len(answers) - 1, 0)
    answers.insert(at, _made([_VOID] * at, asker))


def keep_question(config: RunnableConfig, key: str) -> None:
    """Note that a task stops with the question of a call; call it before the interrupt is raised.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    execution = _execution(scratchpad_of(config))
    assert execution is not None  # an attempt was lent answers here, see `asks_here`
    asker, _ = execution.lent[key]
    _keep(config, asker if key in execution.own else _WITHIN + asker)


def put_back_question(config: RunnableConfig, key: str) -> None:
    """Have the question of a call be out again, if an answer has come to it, which does not fit.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    notes = scratchpad_of(config)
    execution = _execution(notes)
    before = [] if execution is None else execution.before or _without_newest(answers_of(notes))
    if before and _asker_in(_index_in(before)["out"]).key == key:
        answers_of(notes)[:] = before  # as many: the question's id counts them
        store_answers(config)


def _without_newest(answers: list[Any]) -> list[Any]:
    """Return the answers as they were before the newest one, which a lost process was given.

    Returns:
        An empty list if there is no such answer.
    """
    index = _index_in(answers)
    used = [] if index is None else [at for at, each in enumerate(index["of"]) if each != _VOID]
    if not used or index["out"]:
        return []
    (*_, at), of = used, index["of"]
    left = answers[len(of) + 1 :]  # after the index: of other middleware
    return [*answers[:at], _made(of[:at], of[at], index.get("earlier", ())), *left]


def _keep(config: RunnableConfig, asker: str) -> None:
    notes = scratchpad_of(config)
    answers, place = answers_of(notes), _place(notes)
    index: dict[str, Any] = {} if place is None else answers.pop(place).value
    of = index.get("of", [])
    # What other middleware was answered since belongs before the index, too.
    of = [*of, *[_VOID] * (len(answers) - len(of))]
    # The run was resumed with it before this question was put, so it is for an earlier one. Savers
    # on SQL do not store the list of that one's task, once it has returned, with the answer.
    earlier = list(index.get("earlier", ()))
    waiting = None if notes is None else waiting_answer(notes)
    if waiting is not None and waiting not in earlier:
        earlier.append(waiting)
    answers.append(_made(of, asker, earlier))
    store_answers(config)


def ask(config: RunnableConfig, asker: str, value: Any) -> NoReturn:
    """Ask a person.

    Args:
        config: Of the node, hook or wrapper.
        asker: Who asks.
        value: The question.

    Raises:
        GraphInterrupt: Always: an answer comes with the next execution.
    """
    _keep(config, asker)
    answers = answers_of(scratchpad_of(config))
    alone = asking_with(config, answers, count(len(answers)).__next__, _nothing)
    with set_config_context(alone) as context:
        context.run(interrupt, value)
    raise AssertionError("LangGraph has answered a question that was not asked")


def asking(config: RunnableConfig, attempt: Attempt) -> RunnableConfig:
    """Return the configuration with which a tool is given the answers to its own questions.

    An attempt after one that failed asks for answers of its own. A process that does not know of
    the failures makes them again, and gives each tool its newest answers.

    Args:
        config: Of the node, hook or wrapper that runs the tool.
        attempt: At which it is run.
    """
    if (notes := scratchpad_of(config)) is None:
        return config
    key, answers, index = attempt.key, list(answers_of(notes)), _index(notes)
    of = [] if index is None else index["of"]
    asker = _newest(attempt, [] if index is None else [*of, index["out"]])
    if index is None:  # as long as the list will be when the question is out
        answers.append(None)
    execution = _execution(notes) or _Execution()
    execution.lent[key] = asker, _received(index, asker)
    execution.own.discard(key)
    ahead = chain((at for at, each in enumerate(of) if each == asker), count(len(answers)))
    new = execution.new
    within = new if new is not None and of[new] == _WITHIN + asker else None

    def place() -> int:
        found = next(ahead)
        if found >= len(answers):
            execution.own.add(key)
        elif found == new:
            execution.new = None
        return found

    def unplaced(use: bool = False) -> Any:
        # LangGraph asks for it at each question without an answer, also at the tool's own.
        if within is None or execution.new != within or key in execution.own:
            return None
        if use:
            execution.new = None
        return answers[within]

    return asking_with(config, answers, place, unplaced)


class _Asker(NamedTuple):
    """Attempt whose tool asks."""

    key: str
    """Key of the call."""
    tool: str = ""
    """Its tool; empty for the called one."""
    number: int = 1
    """One more than the attempts with this tool that had failed."""

    def __str__(self) -> str:
        plain = not self.key.startswith((_ATTEMPT, _WITHIN, _APPROVAL))  # an id of a task may
        if plain and self == _Asker(self.key):  # as releases wrote it that knew only the call
            return self.key
        return f"{_ATTEMPT}{json.dumps([self.tool, self.number])} {self.key}"


def _asker_in(text: str) -> _Asker:
    text = text.removeprefix(_WITHIN)
    if not text.startswith(_ATTEMPT):
        return _Asker(text)
    (tool, number), end = json.JSONDecoder().raw_decode(text, len(_ATTEMPT))
    return _Asker(text[end + 1 :], tool, number)


def _newest(attempt: Attempt, askers: Iterable[str]) -> str:
    """Return the asker for an attempt; that of a later one with the same tool if it has asked."""
    tool = "" if attempt.tool == attempt.called_tool else attempt.tool
    own = _Asker(attempt.key, tool, attempt.failures + 1)
    return str(max([own, *(each for each in map(_asker_in, askers) if each[:2] == own[:2])]))


def _received(index: Any, asker: str) -> int:
    """Return the number of answers that the questions of an attempt have got."""
    of = [] if index is None else index["of"]
    return sum(each.removeprefix(_WITHIN) == asker for each in of)


def _nothing(_: bool = False) -> None:
    return None


def asks_here(config: RunnableConfig, key: str) -> bool:
    """Return True if a task may stop with the question of a call: no answer to it has come since.

    An attempt may have begun in an earlier execution, or in another task, without the answers here.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    notes = scratchpad_of(config)
    index, execution = _index(notes), _execution(notes)
    if execution is None or key not in execution.lent:
        return False
    asker, number = execution.lent[key]
    return number == _received(index, asker)


def void_new_answer(config: RunnableConfig) -> None:
    """Make the answer that has come with this execution void."""
    notes = scratchpad_of(config)
    index, execution = _index(notes), _execution(notes)
    if index is not None and execution is not None and execution.new is not None:
        index["of"][execution.new], execution.new = _VOID, None


def replace_new_answer(config: RunnableConfig, answer: Any) -> None:
    """Put another answer in place of the one that has come with this execution.

    Args:
        config: Of the node, hook or wrapper.
        answer: Read instead by an execution in another process.
    """
    notes = scratchpad_of(config)
    execution = _execution(notes)
    if execution is not None and execution.new is not None:
        answers_of(notes)[execution.new] = answer


def approval_of(keys: Iterable[str]) -> str:
    """Return the asker for calls that wait for approval.

    Args:
        keys: Of the calls.
    """
    return _APPROVAL + json.dumps(list(keys))


def is_approval(asker: str) -> bool:
    """Return True if an asker stands for calls that wait for approval."""
    return asker.startswith(_APPROVAL)


def approvals(config: RunnableConfig) -> Sequence[tuple[list[str], Any]]:
    """Return the keys of each question about approvals that was answered in a task, and the answer.

    Args:
        config: Of the node, hook or wrapper.
    """
    notes = scratchpad_of(config)
    answers, index = answers_of(notes), _index(notes)
    of = [] if index is None else index["of"]
    return [
        (json.loads(asker.removeprefix(_APPROVAL)), answers[place])
        for place, asker in enumerate(of)
        if is_approval(asker)
    ]


def _execution(notes: Any) -> _Execution | None:
    return None if notes is None else _EXECUTIONS.get(notes.get_null_resume)


def _index(notes: Any) -> Any:
    return _index_in(answers_of(notes))


def _index_in(answers: Iterable[Any]) -> Any:
    return next((each.value for each in answers if _is_index(each)), None)


def _place(notes: Any) -> int | None:
    """Return the place of the index in the answers of a task, ``None`` without one."""
    return next((at for at, each in enumerate(answers_of(notes)) if _is_index(each)), None)


def _made(of: list[str], out: str, earlier: Sequence[Any] = ()) -> Interrupt[Any]:
    known = {"earlier": list(earlier)} if earlier else {}
    return Interrupt(value={"of": of, "out": out, **known}, id=_FORM)


def _is_index(answer: Any) -> bool:
    return isinstance(answer, Interrupt) and answer.id == _FORM
