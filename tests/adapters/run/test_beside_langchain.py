"""Every middleware of LangChain beside the guard, in each place that the table of the documents allows."""

import asyncio
import gc
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents import middleware as langchain
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import (
    AgentInput,
    AsyncGuardMiddleware,
    CallerError,
    DeclarationError,
    ToolSpec,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.run.beside import BOTH, CONFIG, MIDDLEWARE, TASKS, Beside, Place

ROWS = [
    pytest.param(
        row,
        before,
        id=f"{row.name}-{'before' if before else 'after'}",
        # It leaves its shell's pipes to the garbage collector.
        marks=[pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
        if row.name == "ShellToolMiddleware"
        else [],
    )
    for row in MIDDLEWARE
    if row.kind is not None
    for before in (True, False)
]


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings(
    "ignore:The middleware:langchain_core._api.beta_decorator.LangChainBetaWarning"
)
@pytest.mark.parametrize(("row", "before"), ROWS)
def test_it_works_where_the_table_says(row: Beside, before: bool) -> None:
    """In an allowed place its own effect and the guard's are seen; in the other one, what the note says."""
    allowed = row.place is not (Place.AFTER if before else Place.BEFORE)
    if allowed:
        run = row.play(before=before)
        if row.fails_with and row.fails_with in str(run.result["messages"]):
            run = row.play(before=before)
        row.check(run)
    elif row.otherwise is not None:
        row.otherwise(row.play(before=before))
    if row.name == "ShellToolMiddleware":
        _end_of_shells()


def _end_of_shells() -> None:
    """Wait until the pipes of shells are gone: what Python says of them belongs to no other test."""
    for thread in threading.enumerate():
        if "_enqueue_stream" in thread.name:
            thread.join(timeout=60)
    gc.collect()


def test_the_provider_s_search_has_to_stand_before_the_guard() -> None:
    """After it, the tools are in the provider's form already, and it raises an error."""
    (row,) = [each for each in MIDDLEWARE if each.name == "ProviderToolSearchMiddleware"]
    if row.kind is None:
        pytest.skip("this release of LangChain lacks it")
    with pytest.raises(ValueError, match="not bound to the model"):
        row.play(before=False)


@pytest.mark.parametrize("before", [True, False])
def test_a_refusal_that_is_raised_ends_the_run(before: bool) -> None:
    """The guard passes the error of ``ModelRefusalMiddleware`` on, from either side."""
    refusal = AIMessage(
        content=[{"type": "non_standard", "value": {"type": "refusal", "refusal": "no"}}]
    )
    (row,) = [each for each in MIDDLEWARE if each.name == "ModelRefusalMiddleware"]
    if row.kind is None:
        pytest.skip("this release of LangChain lacks it")
    with pytest.raises(Exception, match="refused to produce"):
        replace(row, steps=[BOTH, refusal]).play(before=before)


def test_every_middleware_has_a_row() -> None:
    """A middleware that LangChain adds has to be tried, and gets a row."""
    kinds = {
        name
        for name in langchain.__all__
        if isinstance(kind := getattr(langchain, name), type) and issubclass(kind, AgentMiddleware)
    }
    assert kinds - {"AgentMiddleware"} <= {row.name for row in MIDDLEWARE}


@pytest.mark.filterwarnings(
    "ignore:The middleware:langchain_core._api.beta_decorator.LangChainBetaWarning"
)
@pytest.mark.parametrize("row", [row for row in MIDDLEWARE if row.kind], ids=lambda row: row.name)
def test_the_helper_puts_the_guard_where_the_table_says(row: Beside) -> None:
    """``guard_middleware`` orders a list so that each one works."""
    assert row.kind is not None
    item = row.make(row.kind)
    first, second = guard_middleware([AsyncGuardMiddleware(), item])
    allowed = (second, first) if row.place is Place.AFTER else (first, second)
    assert row.place is Place.ANY or allowed[0] is item


class Greeting(AgentMiddleware[AgentState[Any], Any, Any]):
    """Middleware of a user that acts on the beginning of a run."""

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


def test_tasks_reach_the_guard_beside_a_hook_before_the_agent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They do in any order, though LangGraph keeps them for one step. The log says when they would be lost."""

    def tasks(middleware: Any) -> list[str]:
        model = ScriptedChatModel(lambda messages, tools: "a: no tool needed\nb: no tool needed")
        agent = create_agent(model, [], middleware=middleware)
        given: Any = {"messages": [("user", "Go.")], "tasks": list(TASKS)}
        agent.invoke(given)
        return [text for text in map(str, model.requests[0].messages) if "Look x up." in text]

    caplog.set_level(logging.WARNING, "asyncguard")
    assert len(tasks(guard_middleware([Greeting()]))) == 1
    assert caplog.records == []
    assert len(tasks([Greeting(), AsyncGuardMiddleware()])) == 1
    (told,) = [record.getMessage() for record in caplog.records]
    assert "Greeting.before_agent runs before the guard" in told
    assert "guard_middleware(...)" in told


class Closing(Greeting):
    """Middleware of a user that opens what tools need, and closes it when the run ends."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: list[bool] = []
        self.runs = False

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Note whether the tool was running."""
        self.closed.append(self.runs)


def test_what_a_run_closes_at_its_end_is_not_closed_while_calls_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The helper puts it before the guard; after it, it closes at each text, and the log says so."""

    def closed(order: Any) -> list[bool]:
        item = Closing()

        async def look() -> str:
            """Look."""
            item.runs = True
            await asyncio.sleep(60)
            item.runs = False
            return "seen"

        model = ScriptedChatModel([calls(("look", {"task_id": "a"})), *["b: no tool needed"] * 2])
        middleware = order(item, AsyncGuardMiddleware(config=CONFIG))
        agent: Any = create_agent(model, [look], middleware=middleware)
        run_virtual(agent.ainvoke({"messages": [("user", "Go.")], "tasks": list(TASKS)}))
        return item.closed

    caplog.set_level(logging.WARNING, "asyncguard")
    assert closed(lambda item, guard: guard_middleware([item, guard])) == [False]
    assert caplog.records == []
    assert closed(lambda item, guard: [guard, item]) == [True, False]
    assert "Closing.after_agent runs whenever the model speaks" in caplog.text


@pytest.mark.parametrize(
    "declared",
    [
        {"name": "look", "effect": "pure", "takes_from": ["pay"]},
        {"name": "look", "effect": "pure", "fallbacks": ["pay"]},
        {"name": "pay", "effect": "idempotent"},
    ],
    ids=["source", "fallback", "itself"],
)
def test_a_declaration_may_name_a_tool_that_was_not_selected(declared: Any) -> None:
    """The agent has it, though no request has shown it yet; one that the agent lacks is refused."""
    look = scripted_tool("look", [ValueError("no")], args={"q": str})
    pay = scripted_tool("pay", ["paid"], args={"q": str})
    (row,) = [each for each in MIDDLEWARE if each.name == "LLMToolSelectorMiddleware"]
    selector = row.make(langchain.LLMToolSelectorMiddleware)

    def result(tools: Any) -> Any:
        model = ScriptedChatModel([calls(("look", {"q": "x"})), "Done."])
        middleware: Any = [selector, AsyncGuardMiddleware(specs=[ToolSpec(**declared)])]
        agent = create_agent(model, tools, middleware=middleware)
        return agent.invoke(AgentInput(messages=[("user", "Go.")]))

    assert result([look, pay])["report"]["reason"] == "complete"
    assert len(pay.calls) == ("fallbacks" in declared)
    with pytest.raises(DeclarationError, match="names the tool 'pay', which the agent does not"):
        result([look])


@pytest.mark.parametrize("keep", [1, 4, 7])
def test_words_that_are_said_again_after_a_summary_are_heard(keep: int) -> None:
    """They do not take the place of the same words that stood as far from the beginning."""
    summary = ScriptedChatModel(lambda messages, tools: "a summary", id_prefix="other")
    model = ScriptedChatModel(["Done."] * 8)
    guard = AsyncGuardMiddleware()
    short = langchain.SummarizationMiddleware(
        summary, trigger=("messages", keep + 2), keep=("messages", keep)
    )
    agent = create_agent(
        model,
        [],
        middleware=[short, guard],
        checkpointer=InMemorySaver(),
        state_schema=guard.state_schema,
    )
    place: Any = {"configurable": {"thread_id": "t"}}
    said: Any = {"messages": [("user", "Go on.")]}
    for _ in range(8):
        agent.invoke(said, place)
    assert [request.messages[-1].content for request in model.requests] == ["Go on."] * 8


class Failing(Greeting):
    """Middleware in which the first run stops."""

    failed = False

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Raise once."""
        if not self.failed:
            self.failed = True
            raise ConnectionError


def test_tasks_that_a_stop_before_the_guard_has_lost_may_be_passed_once_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As the log advises where a library makes the list, which guard_middleware never sees."""
    model = ScriptedChatModel(lambda messages, tools: "a: no tool needed\nb: no tool needed")
    middleware: Any = [Failing(), AsyncGuardMiddleware()]
    agent = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ConnectionError):
        agent.invoke(AgentInput(messages=[("user", "Go.")], tasks=TASKS), place)
    result = agent.invoke(AgentInput(messages=[], tasks=TASKS), place)
    assert [task["id"] for task in result["report"]["tasks"]] == ["a", "b"]
    assert [message.text for message in result["messages"]].count("Go.") == 1
    (told,) = [record.getMessage() for record in caplog.records if record.name == "asyncguard"]
    assert "create_deep_agent does, pass tasks and cancel once more instead of None" in told


def test_a_cancellation_reaches_the_guard_beside_a_hook_before_the_agent() -> None:
    """The task is stopped with its question, and an unknown one is refused."""
    model = ScriptedChatModel(
        lambda messages, tools: (
            calls(("pay", {"task_id": "a"})) if len(model.requests) == 1 else "b: no tool needed"
        )
    )
    guard = AsyncGuardMiddleware(specs=[ToolSpec(name="pay", approval=True)])
    tools = [scripted_tool("pay", ["paid"])]
    agent = create_agent(model, tools, middleware=[Greeting(), guard], checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "t"}}
    asked = agent.invoke(AgentInput(messages=[], tasks=TASKS), place)
    assert "__interrupt__" in asked
    with pytest.raises(CallerError, match="no task 'z'"):
        agent.invoke(AgentInput(messages=[], cancel=["z"]), place)
    result = agent.invoke(AgentInput(messages=[], cancel=["a"]), place)
    states = {task["id"]: task["state"] for task in result["report"]["tasks"]}
    assert states == {"a": "stopped", "b": "closed"}
    assert tools[0].calls == []
