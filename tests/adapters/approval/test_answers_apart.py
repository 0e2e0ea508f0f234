"""Answers of a person are kept apart: a nested graph's, those of an updated thread, odd ones."""

import asyncio
import re
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any, TypedDict

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from asyncguard import guarded
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import Agent, Frontend, build, script

THREAD: Any = {"configurable": {"thread_id": "t"}}
MOST = 8
"""Questions after which a play counts as endless."""


class Asked(TypedDict):
    """State of a graph that asks."""

    answer: list[Any]


def nested(questions: str) -> Any:
    """Return a graph that asks a person, each question in a node of its own."""
    graph = StateGraph(Asked)

    def asking(question: str) -> Any:
        return lambda state: {"answer": [*state["answer"], [question, interrupt(question)]]}

    for each in questions:
        graph.add_node(each, asking(each))
    for before, after in pairwise([START, *questions]):
        graph.add_edge(before, after)
    return graph.compile()


def agent_of(frontend: Frontend, questions: str, got: list[Any], saver: Any, *said: Any) -> Agent:
    """Return the agent of a process; those in lower case are a nested graph's."""

    @guarded(interrupts=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        told = []
        for each in re.findall("[A-Z]|[a-z]+", questions):
            if each.islower():
                told += (await nested(each).ainvoke({"answer": []}))["answer"]
            else:
                told.append([each, interrupt(each)])
        got.extend(told)
        return "paid"

    model = ScriptedChatModel(script(*said))
    return build(frontend, model, [pay], checkpointer=saver)


async def play(
    frontend: Frontend,
    questions: str,
    answer: Callable[[str], Any],
    *,
    restarted: bool = False,
    updates: Collection[int] = (),
) -> tuple[list[str], list[Any]]:
    """Return what was asked, and the answers that the tool has got in the end."""
    saver, got, asked = InMemorySaver(), list[Any](), list[str]()
    agent = agent_of(frontend, questions, got, saver, calls(("pay", {"q": "x"})))
    outcome = await agent.say("Pay x.", thread="t")
    while outcome.interrupts and len(asked) < MOST:
        (question,) = outcome.interrupts
        asked.append(question)
        if len(asked) in updates:
            await agent.graph.aupdate_state(THREAD, {"messages": []})
        if restarted:
            agent = agent_of(frontend, questions, got, saver)
        outcome = await agent.go(Command(resume=answer(question)), "t")
    return asked, got


@pytest.mark.sampled(2)
@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("questions", ["aB", "AbC", "aBC", "Ab", "abC"])
def test_a_nested_graph_keeps_its_answers(
    frontend: Frontend, questions: str, *, restarted: bool
) -> None:
    """A tool that asks after a graph within it did is not given the answer to that one."""
    asked, got = asyncio.run(play(frontend, questions, lambda q: f"re {q}", restarted=restarted))
    assert asked == list(questions)
    assert got == [[each, f"re {each}"] for each in questions]


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("updates", [1, 2, 3])
def test_a_thread_updated_before_several_answers_gives_each_to_its_question(
    frontend: Frontend, updates: int, *, restarted: bool
) -> None:
    """The newest update's answers count, not those of the checkpoint before all updates."""
    asked, got = asyncio.run(
        play(frontend, "ABC", lambda q: f"re {q}", restarted=restarted, updates=range(updates + 1))
    )
    assert asked == ["A", "B", "C"]
    assert got == [[each, f"re {each}"] for each in "ABC"]


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("of", [[], ["x"] * 5, 3], ids=str)
def test_an_answer_with_the_form_of_stored_notes_is_an_answer(frontend: Frontend, of: Any) -> None:
    """The tool gets it as it was given, and nothing else changes."""
    odd = {"asyncguard_answers": 1, "of": of, "out": "zz"}
    asked, got = asyncio.run(play(frontend, "AB", lambda _: odd))
    assert asked == ["A", "B"]
    assert got == [["A", odd], ["B", odd]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("questions", ["Aab", "ab", "abB"])
def test_a_nested_graph_in_an_updated_thread_asks_again(
    frontend: Frontend, questions: str, *, restarted: bool
) -> None:
    """It begins again under another task, so the answer to its second question is not for it."""
    number = questions.index("b") + 1
    asked, got = asyncio.run(
        play(frontend, questions, lambda q: f"re {q}", restarted=restarted, updates=[number])
    )
    assert asked == [*questions[:number], "a", "b", *questions[number:]]
    assert got == [[each, f"re {each}"] for each in questions]
