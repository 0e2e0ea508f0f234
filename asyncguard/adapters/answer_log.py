"""The answers of a person, each with the question that it was given to.

LangGraph executes a task again from its beginning when its question is answered, perhaps in another
process, and matches answers to questions by their order within the task. Here many calls ask in one
task, and the order changes from execution to execution: tools take different times, an attempt is
repeated, a call is cancelled. So the list of answers that LangGraph stores with a question has one
entry more, the index. It says who has got each answer, and who asks the question that is out: the
key of a call whose tool asks, :data:`PARKED`, or the calls that wait for approval. Middleware that
asks in the same task has its answers before the index or after it.

:func:`take_answer` comes first in each execution of a task.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, NoReturn

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.types import Command, interrupt

from asyncguard.adapters.langgraph_internals import (
    INTERRUPT_ID,
    answer_waits,
    answers_of,
    asking_with,
    base_of,
    count_questions,
    input_of,
    run_of,
    saver_of,
    scratchpad_of,
    store_answers,
    stored_answers,
    take_unplaced_answer,
    used_answer,
)
from asyncguard.adapters.threads.checkpoints import of_thread, stored

PARKED = "parked"
"""Asker of the question with which a run rests until an external result comes."""
_FORM = "asyncguard_answers"
"""Key by which an index is recognised."""
_VOID = ""
"""Asker of an answer that no question gets."""
_APPROVAL = "approval "


class _Index(dict[str, Any]):
    """Index of the answers of a task, as LangGraph stores it; its attributes are not stored.

    ``of`` holds the askers of the answers before the index, ``out`` the asker of the question that
    is out, and ``number`` rises with each question of a super-step.
    """

    def __init__(self, stored: dict[str, Any]) -> None:
        super().__init__(stored, of=list(stored["of"]))
        self.new: int | None = None
        """Place of the answer that has come with this execution, until a question gets it."""
        self.begun: set[str] = set()
        """Keys of the calls that were begun in this execution."""


def drop_stale_answer(config: RunnableConfig) -> None:
    """Drop an answer that belongs to an earlier question, so that none that comes now gets it.

    Args:
        config: Of the node, hook or wrapper that may ask next. Nested in another graph's node it
            keeps the answer, as that graph's run decides there.
    """
    notes = scratchpad_of(config)
    if notes is None or "|" in str(config["configurable"].get("checkpoint_ns", "")):
        return
    if not _answers_next(input_of(config)) and used_answer(config):
        take_unplaced_answer(notes)


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


async def take_answer(config: RunnableConfig, key: str = "") -> Taken:
    """Give the answer that a run was resumed with to the question that was out in a task.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call whose wrapper it is, which asks for no other call.
    """
    drop_stale_answer(config)
    notes = scratchpad_of(config)
    if _place(notes) is None:
        await _adopt_answers(config, key)
    place = _place(notes)
    if place is None or isinstance(answers_of(notes)[place], _Index):
        return Taken()
    answers = answers_of(notes)
    index = answers[place] = _Index(answers[place])
    asker: str = index["out"]
    if asker and len(answers) > place + 1:  # by the id of the question: LangGraph appends it
        answers[place : place + 2] = [answers[place + 1], index]
    elif (
        asker
        and index["number"] == _newest(stored_answers(run_of(config)))
        and (given := take_unplaced_answer(notes)) is not None
    ):
        answers.insert(place, given)
    else:
        count_questions(notes, place + 1)
        return Taken(asker)
    index["of"].append(asker)
    index["out"], index.new = "", place
    store_answers(config)
    count_questions(notes, place + 2)
    return Taken(asker, answered=True)


async def _adopt_answers(config: RunnableConfig, key: str) -> None:
    """Take over the answers of the task that has asked, if its state was updated since.

    An update makes another checkpoint with tasks of its own, and leaves the answers behind.
    """
    saver, run = saver_of(config), run_of(config)
    notes = scratchpad_of(config)
    waits = notes is not None and answer_waits(notes) and _answers_next(input_of(config))
    if not waits or saver is None or run is None or _newest(stored_answers(run)):
        return
    place: Any = {
        "configurable": {**of_thread(config)["configurable"], "checkpoint_id": base_of(run)}
    }
    found = await stored(saver, place)
    while found is not None and found.metadata.get("source") in ("update", "fork"):
        found = None if found.parent_config is None else await stored(saver, found.parent_config)
    left = [] if found is None else stored_answers(found)
    for answers in left:
        index = next((each for each in answers if _is_index(each)), None)
        # An approval names its calls.
        if index is None or index["number"] < _newest(left) or key not in index["out"]:
            continue
        used = [at for at, asker in enumerate(index["of"]) if asker != _VOID]
        of = [_VOID] * len(answers_of(notes)) + [index["of"][at] for at in used]
        answers_of(notes).extend([*(answers[at] for at in used), {**index, "of": of, "number": 0}])


def keep_question(config: RunnableConfig, asker: str) -> None:
    """Note whose question a task stops with; call it before the interrupt is raised.

    Args:
        config: Of the node, hook or wrapper.
        asker: Who asks.
    """
    number = (
        _newest(stored_answers(run_of(config))) + 1
    )  # read before the list changes, which LangGraph may still hold
    answers = answers_of(scratchpad_of(config))
    place = _place(scratchpad_of(config))
    index = _Index({"of": []}) if place is None else _Index(answers.pop(place))
    # What other middleware was answered since belongs before the index, too.
    index["of"] += [_VOID] * (len(answers) - len(index["of"]))
    index |= {_FORM: 1, "out": asker, "number": number}
    answers.append(index)
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
    keep_question(config, asker)
    answers = answers_of(scratchpad_of(config))
    alone = asking_with(config, answers, count(len(answers)).__next__, lambda _: None)
    with set_config_context(alone) as context:
        context.run(interrupt, value)
    raise AssertionError("LangGraph has answered a question that was not asked")


def asking(config: RunnableConfig, key: str) -> RunnableConfig:
    """Return the configuration with which a call's tool is given the answers to its own questions.

    Args:
        config: Of the node, hook or wrapper that runs the tool.
        key: Of the call.
    """
    notes, index = scratchpad_of(config), _index(config)
    if notes is None:
        return config
    answers = list(answers_of(notes))
    if index is None:  # as long as the list will be when the question is out
        return asking_with(config, [*answers, None], count(len(answers) + 1).__next__, _nothing)
    places = [place for place, asker in enumerate(index["of"]) if asker == key]
    new = getattr(index, "new", None)
    if new not in places:
        new = None
    if isinstance(index, _Index):
        index.begun.add(key)
    ahead = chain(places, count(len(answers)))

    def place() -> int:
        found = next(ahead)
        if found == new and isinstance(index, _Index):
            index.new = None
        return found

    def unplaced(use: bool = False) -> Any:
        if new is None or not isinstance(index, _Index) or index.new != new:
            return None
        if use:
            index.new = None
        return answers[new]

    return asking_with(config, answers, place, unplaced)


def _nothing(_: bool = False) -> None:
    return None


def forget_answers(config: RunnableConfig, key: str) -> None:
    """Make void what the questions of a call were answered: a retry asks for answers of its own.

    An answer that has just come stays if the attempt that failed was of an earlier execution: it is
    then for the retry.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    index = _index(config)
    if not isinstance(index, _Index):
        return
    for place, asker in enumerate(index["of"]):
        if asker == key and (key in index.begun or place != index.new):
            index["of"][place] = _VOID


def void_new_answer(config: RunnableConfig) -> None:
    """Make the answer that has come with this execution void."""
    index = _index(config)
    if isinstance(index, _Index) and index.new is not None:
        index["of"][index.new], index.new = _VOID, None


def replace_new_answer(config: RunnableConfig, answer: Any) -> None:
    """Put another answer in place of the one that has come with this execution.

    Args:
        config: Of the node, hook or wrapper.
        answer: Read instead by an execution in another process.
    """
    index = _index(config)
    if isinstance(index, _Index) and index.new is not None:
        answers_of(scratchpad_of(config))[index.new] = answer


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
    index = _index(config)
    of = [] if index is None else index["of"]
    answers = answers_of(scratchpad_of(config))
    return [
        (json.loads(asker.removeprefix(_APPROVAL)), answers[place])
        for place, asker in enumerate(of)
        if is_approval(asker)
    ]


def _index(config: RunnableConfig) -> Any:
    notes = scratchpad_of(config)
    place = _place(notes)
    return None if place is None else answers_of(notes)[place]


def _place(notes: Any) -> int | None:
    """Return the place of the index in the answers of a task, ``None`` without one."""
    return next((at for at, each in enumerate(answers_of(notes)) if _is_index(each)), None)


def _is_index(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.keys() == {_FORM, "of", "out", "number"}


def _newest(stored: Iterable[Sequence[Any]]) -> int:
    """Return the number of the newest question of the tasks of a super-step, 0 if there is none."""
    found = (each for answers in stored for each in answers if _is_index(each))
    return max((int(index["number"]) for index in found), default=0)
