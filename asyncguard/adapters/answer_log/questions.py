"""Questions of a task to a person: asked by a tool or by the guard, kept, and put back."""

from itertools import chain, count
from typing import Any, NoReturn

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.types import interrupt

from asyncguard.adapters.answer_log.execution import Execution, execution_of
from asyncguard.adapters.answer_log.index import (
    VOID,
    WITHIN,
    asker_in,
    index_in,
    index_of,
    made_index,
    newest_asker,
    place_of,
    received,
)
from asyncguard.adapters.langgraph_internals.answers import (
    answers_of,
    asking_with,
    scratchpad_of,
    store_answers,
    waiting_answer,
)
from asyncguard.runtime.attempts import Attempt

_DIGITS = 8
"""Hexadecimal digits of a call's key that tell it from the others of a task."""
_GRAPHS = 100
"""Graphs of an attempt, and attempts of a call, that have numbers of their own."""


def asking(config: RunnableConfig, attempt: Attempt, *, together: bool = False) -> RunnableConfig:
    """Return the configuration with which a tool is given the answers to its own questions.

    An attempt after one that failed asks for answers of its own. A process that does not know of
    the failures makes them again, and gives each tool its newest answers.

    Args:
        config: Of the node, hook or wrapper that runs the tool.
        attempt: At which it is run.
        together: True if the task runs the tools of other calls at the same time.
    """
    if (notes := scratchpad_of(config)) is None:
        return config
    key, answers, index = attempt.key, list(answers_of(notes)), index_of(notes)
    of = [] if index is None else index["of"]
    asker = newest_asker(attempt, [] if index is None else [*of, index["out"]])
    if index is None:  # as long as the list will be when the question is out
        answers.append(None)
    execution = execution_of(notes) or Execution()
    execution.lent[key] = asker, received(index, asker)
    execution.own.discard(key)
    ahead = chain((at for at, each in enumerate(of) if each == asker), count(len(answers)))
    new = execution.new
    within = new if new is not None and of[new] == WITHIN + asker else None

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

    # A tool that declares its questions runs alone, and so does the only call of a message: the
    # threads of graphs in it keep the names that they have had.
    apart = together and not (attempt.alone or attempt.spec.interrupts)
    number_graph = count(_first_number(attempt)).__next__ if apart else None
    return asking_with(config, answers, place, unplaced, number_graph)


def _first_number(attempt: Attempt) -> int:
    """Return a number for the first graph in an attempt that no other call's graphs have."""
    return int(attempt.key[:_DIGITS], 16) * _GRAPHS**2 + attempt.failures * _GRAPHS


def asks_here(config: RunnableConfig, key: str) -> bool:
    """Return True if a task may stop with the question of a call: no answer to it has come since.

    An attempt may have begun in an earlier execution, or in another task, without the answers here.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    notes = scratchpad_of(config)
    index, execution = index_of(notes), execution_of(notes)
    if execution is None or key not in execution.lent:
        return False
    asker, number = execution.lent[key]
    return number == received(index, asker)


def keep_question(config: RunnableConfig, key: str) -> None:
    """Note that a task stops with the question of a call; call it before the interrupt is raised.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    execution = execution_of(scratchpad_of(config))
    assert execution is not None  # an attempt was lent answers here, see `asks_here`
    asker, _ = execution.lent[key]
    _keep(config, asker if key in execution.own else WITHIN + asker)


def _keep(config: RunnableConfig, asker: str) -> None:
    notes = scratchpad_of(config)
    answers, place = answers_of(notes), place_of(notes)
    index: dict[str, Any] = {} if place is None else answers.pop(place).value
    of = index.get("of", [])
    # What other middleware was answered since belongs before the index, too.
    of = [*of, *[VOID] * (len(answers) - len(of))]
    # The run was resumed with it before this question was put, so it is for an earlier one. Savers
    # on SQL do not store the list of that one's task, once it has returned, with the answer.
    earlier = list(index.get("earlier", ()))
    waiting = None if notes is None else waiting_answer(notes)
    if waiting is not None and waiting not in earlier:
        earlier.append(waiting)
    answers.append(made_index(of, asker, earlier))
    store_answers(config)


def put_back_question(config: RunnableConfig, key: str) -> None:
    """Have the question of a call be out again, if an answer has come to it, which does not fit.

    Args:
        config: Of the node, hook or wrapper.
        key: Of the call.
    """
    notes = scratchpad_of(config)
    execution = execution_of(notes)
    before = [] if execution is None else execution.before or _without_newest(answers_of(notes))
    if before and asker_in(index_in(before)["out"]).key == key:
        answers_of(notes)[:] = before  # as many: the question's id counts them
        store_answers(config)


def _without_newest(answers: list[Any]) -> list[Any]:
    """Return the answers as they were before the newest one, which a lost process was given.

    Returns:
        An empty list if there is no such answer.
    """
    index = index_in(answers)
    used = [] if index is None else [at for at, each in enumerate(index["of"]) if each != VOID]
    if not used or index["out"]:
        return []
    (*_, at), of = used, index["of"]
    left = answers[len(of) + 1 :]  # after the index: of other middleware
    return [*answers[:at], made_index(of[:at], of[at], index.get("earlier", ())), *left]


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


def _nothing(_: bool = False) -> None:
    return None
