"""Index of a task's answers: the asker of each, and of the question that is out."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt

from asyncguard.adapters.langgraph_internals.answers import answers_of, scratchpad_of
from asyncguard.adapters.langgraph_internals.checkpoints import questions_and_answers
from asyncguard.runtime.attempts import Attempt

PARKED = "parked"
"""Asker of the question with which a run rests until an external result comes."""
_FORM = "asyncguard_answers"
"""Id by which an index is recognised.

It is an ``Interrupt``, which every saver stores, and which an answer in JSON cannot be.
"""
VOID = ""
"""Asker of an answer that no question gets."""
_APPROVAL = "approval "
WITHIN = "within "
KEPT = "given"
"""Key of an index: the answer to the question that is out, if a process was given it."""
ANSWERED = "answered"
"""Key of an index: the questions with which its task had stopped before its newest answer."""
_ATTEMPT = "attempt "


def index_of(notes: Any) -> Any:
    """Return the content of the index in the answers of a task, ``None`` without one."""
    return index_in(answers_of(notes))


def index_in(answers: Iterable[Any]) -> Any:
    """Return the content of the index among some answers, ``None`` without one."""
    return next((each.value for each in answers if _is_index(each)), None)


def place_of(notes: Any) -> int | None:
    """Return the place of the index in the answers of a task, ``None`` without one."""
    return next((at for at, each in enumerate(answers_of(notes)) if _is_index(each)), None)


def made_index(of: list[str], out: str, earlier: Sequence[Any] = ()) -> Interrupt[Any]:
    """Return an index.

    Args:
        of: Asker of each answer before the index.
        out: Asker of the question that is out, empty without one.
        earlier: Answers that runs were resumed with before that question was put.
    """
    known = {"earlier": list(earlier)} if earlier else {}
    return Interrupt(value={"of": of, "out": out, **known}, id=_FORM)


def _is_index(answer: Any) -> bool:
    return isinstance(answer, Interrupt) and answer.id == _FORM


class Asker(NamedTuple):
    """Attempt whose tool asks."""

    key: str
    """Key of the call."""
    tool: str = ""
    """Its tool; empty for the called one."""
    number: int = 1
    """One more than the attempts with this tool that had failed."""

    def __str__(self) -> str:
        plain = not self.key.startswith((_ATTEMPT, WITHIN, _APPROVAL))  # an id of a task may
        if plain and self == Asker(self.key):  # as releases wrote it that knew only the call
            return self.key
        return f"{_ATTEMPT}{json.dumps([self.tool, self.number])} {self.key}"


def asker_in(text: str) -> Asker:
    """Return the attempt that an entry of an index names."""
    text = text.removeprefix(WITHIN)
    if not text.startswith(_ATTEMPT):
        return Asker(text)
    (tool, number), end = json.JSONDecoder().raw_decode(text, len(_ATTEMPT))
    return Asker(text[end + 1 :], tool, number)


def newest_asker(attempt: Attempt, askers: Iterable[str]) -> str:
    """Return the asker for an attempt; that of a later one with the same tool if it has asked."""
    tool = "" if attempt.tool == attempt.called_tool else attempt.tool
    own = Asker(attempt.key, tool, attempt.failures + 1)
    return str(max([own, *(each for each in map(asker_in, askers) if each[:2] == own[:2])]))


def received(index: Any, asker: str) -> int:
    """Return the number of answers that the questions of an attempt have got."""
    of = [] if index is None else index["of"]
    return sum(each.removeprefix(WITHIN) == asker for each in of)


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
    answers, index = answers_of(notes), index_of(notes)
    of = [] if index is None else index["of"]
    return [
        (json.loads(asker.removeprefix(_APPROVAL)), answers[place])
        for place, asker in enumerate(of)
        if is_approval(asker)
    ]


def answered_questions(found: CheckpointTuple) -> list[Interrupt]:
    """Return the questions of a stored checkpoint that a person has answered.

    Args:
        found: The checkpoint.
    """
    answered = list[Interrupt]()
    for questions, answers in questions_and_answers(found):
        index = index_in(answers) or {}
        # If the run stopped in order, LangGraph has stored the answer as one that was taken.
        known = questions if index.get(KEPT) else index.get(ANSWERED, ())
        answered += [each for each in questions if each in known]
    return answered
