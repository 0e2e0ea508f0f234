"""Typical use of the public interface, for the type checker; nothing here is run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, assert_type

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from tenacity import stop_after_attempt, stop_after_delay, wait_random_exponential

from asyncguard import (
    Admit,
    AsyncGuardMiddleware,
    BoardView,
    CallerError,
    CallState,
    CallView,
    DbosExecutor,
    Defer,
    Delivery,
    Details,
    EffectClass,
    Fallback,
    GuardConfig,
    GuardedState,
    GuardRule,
    Inbox,
    Journal,
    JournalError,
    Limits,
    Mode,
    NewsStyle,
    Observer,
    Ports,
    Proposal,
    Reject,
    Retry,
    Siblings,
    SignalKind,
    ThreadBusyError,
    Timing,
    ToolFault,
    ToolSpec,
    TraceFile,
    Verdict,
    application_version,
    build_agent,
    console_logger,
    guard_middleware,
    guarded,
    log_events,
    mcp_spec,
    open_journal,
)


@guarded(effect="pure", reads=["flights:{city}"], takes_from=[], timeout=20.0)
async def search(city: str) -> str:
    """Search flights."""
    if not city:
        raise ToolFault("the airline did not answer", transient=True, retry_after=2.0)
    return city


@guarded(
    effect="pure",
    retry=Retry(
        wait=wait_random_exponential(max=60), stop=stop_after_attempt(8) | stop_after_delay(120)
    ),
)
async def search_slowly(city: str) -> str:
    """Search flights of an airline that is often busy."""
    return city


@guarded(
    effect=EffectClass.AT_MOST_ONCE, mode=Mode.BACKGROUND, fallbacks=["search"], destructive=True
)
@tool
def book(flight: str) -> str:
    """Book a flight."""
    return flight


class WithNotes(GuardedState, total=False):
    """A state with a channel of its own."""

    notes: list[str]


def count(details: Details) -> None:
    """An observer is a plain function."""
    assert_type(details.thread + details.event.kind, str)


def one_by_one(proposal: Proposal, board: BoardView) -> Verdict:
    """A guard of the user's own."""
    earlier = board.open_before(proposal.call)
    assert_type(earlier, tuple[CallView, ...])
    if proposal.spec is not None and proposal.spec.destructive:
        return Admit(approval="It destroys something.")
    if board.tainted:
        return Reject(reason="Not any more.")
    return Defer(reason="One by one.", on=(earlier[0].key,)) if earlier else Admit()


def says_yes_or_no(proposal: Proposal, board: BoardView) -> bool:
    """No guard: it answers with a bool."""
    return board.tainted


ONE_BY_ONE = GuardRule(name="one_by_one", judge=one_by_one, before="capacity", on_error="admit")
GuardRule(name="yes_or_no", judge=says_yes_or_no)  # type: ignore[arg-type]
GuardRule(name="yes_or_no", judge=one_by_one, on_error="ignore")  # type: ignore[arg-type]


def agents(model: BaseChatModel, saver: BaseCheckpointSaver[Any], trace: TraceFile) -> None:
    """Both adapters, with everything that can be set."""
    observers: Sequence[Observer] = [count, log_events(console_logger()), trace]
    config = GuardConfig(
        extra=(ONE_BY_ONE,),
        grounding=False,
        delivery=Delivery.ANY,
        siblings=Siblings.EVERY,
        news_style=NewsStyle.PAIR,
        limits=Limits(max_model_turns=20),
        timing=Timing(linger=0.0),
    )
    assert_type(replace(config, dependency=False), GuardConfig)
    assert_type(GuardConfig.none(waiting=True), GuardConfig)
    assert_type(config.with_switches({"scope": False}), GuardConfig)
    agent = build_agent(
        model,
        [search, book],
        config=config,
        specs=[
            ToolSpec(name="read", effect="pure", mode="background", reads=["files"], tasks=["a"]),
            ToolSpec(
                name="ask", fallbacks=["search"], sources=["search_slowly"], verifier="search"
            ),
            ToolSpec(
                name="book", fallbacks=(Fallback(tool="search", arguments={"city": "flight"}),)
            ),
        ],
        system_prompt="Be brief.",
        checkpointer=saver,
        state_schema=WithNotes,
        bind_options={"parallel_tool_calls": True},
        ports=Ports(inbox=Inbox(), observers=observers),
    )
    assert_type(agent, CompiledStateGraph[Any, Any, Any, Any])
    build_agent("openai:gpt-5", [search])
    guard = AsyncGuardMiddleware(config=config, tools=[book])
    middleware = guard_middleware([], guard=guard)
    assert_type(middleware, list[AgentMiddleware[Any, Any, Any]])
    create_agent(model, [search, book], middleware=middleware)


def declared(mcp_tool: BaseTool) -> ToolSpec:
    """A trusted MCP server's hints."""
    assert_type(book, BaseTool)
    return mcp_spec(mcp_tool, trusted=True)


def durable(model: BaseChatModel, saver: BaseCheckpointSaver[Any]) -> None:
    """A journal of one's own, workers elsewhere, and what an operator does."""
    journal: Journal = open_journal("postgresql://agents@db/agents")
    tools: list[BaseTool | Callable[..., Any] | dict[str, Any]] = [search, book]
    executor = DbosExecutor(
        "postgresql://agents@db/agents",
        journal=journal,
        application_version=application_version(tools),
        local=["book"],
    )
    agent = build_agent(
        model, tools, checkpointer=saver, ports=Ports(executor=executor, journal=journal)
    )
    build_agent(model, tools, checkpointer=saver, journal="effects.db")
    try:
        agent.invoke({"messages": []}, {"configurable": {"thread_id": "t"}})
    except ThreadBusyError as busy:
        assert_type(busy.data, dict[str, Any])
    except JournalError:
        return
    try:
        for entry in journal.entries(states=[CallState.IN_DOUBT]):
            assert_type(entry.state, CallState)
            journal.resolve(entry.key, SignalKind.HAPPENED, {"booked": True}, by="Ann")
        journal.deliver("token", "certified")
    except CallerError:
        journal.close()
