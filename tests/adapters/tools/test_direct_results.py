"""Tools whose result ends the run: it ends with a report, as every run does."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import DeclarationError, Inbox, Ports, ToolSpec, guarded
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, Outcome, build, pure, script


def direct(name: str = "fetch", latency: float = 0.0) -> Any:
    """A tool whose result is the answer."""
    made = scripted_tool(name, lambda a: f"the text of {a['q']}", args={"q": str}, latency=latency)
    made.return_direct = True
    return made


@pytest.mark.parametrize("count", [1, 3])
def test_a_direct_result_ends_the_run_with_a_report(agent_of: AgentOf, count: int) -> None:
    """The model gets no further turn, and the report says why the run ended."""
    fetch = direct(latency=2.0)
    model = ScriptedChatModel([calls(*[("fetch", {"q": str(number)}) for number in range(count)])])
    agent = agent_of(model, [fetch], checkpointer=InMemorySaver())
    outcome = run_virtual(agent.say("Fetch.", thread="t")).result
    assert outcome.report["reason"] == "direct_return"
    assert outcome.report["turns"] == 1
    assert outcome.states("main") == {"done": count}
    assert outcome.report["tasks"][0]["state"] == "closed"
    assert outcome.messages[-1].type == "tool"


def test_the_report_is_the_runs_own(agent_of: AgentOf) -> None:
    """A later run on the thread has its own report, and the user continues as after any run."""
    steps = calls(("fetch", {"q": "x"})), "hello", calls(("fetch", {"q": "y"})), "bye"
    agent = agent_of(ScriptedChatModel(steps), [direct()], checkpointer=InMemorySaver())

    async def main() -> list[Any]:
        outcomes = [
            await agent.say(said, thread="t") for said in ("Fetch x.", "Hello.", "Fetch y.", "Bye.")
        ]
        return [(each.report["reason"], each.report["turns"]) for each in outcomes]

    expected = [("direct_return", 1), ("complete", 1), ("direct_return", 1), ("complete", 1)]
    assert run_virtual(main()).result == expected


def test_beside_another_tool_the_run_goes_on(agent_of: AgentOf) -> None:
    """Only a message whose calls all return directly ends the run."""
    look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str})
    model = ScriptedChatModel([calls(("fetch", {"q": "x"}), ("look", {"q": "y"})), "all said"])
    outcome = run_virtual(agent_of(model, [direct(), look]).say("Fetch and look.")).result
    assert outcome.report["reason"] == "complete"
    assert outcome.last == "all said"


def test_an_approved_direct_call_ends_the_run(agent_of: AgentOf) -> None:
    """After the person's answer, in one process and through the wrapper's second run."""
    specs = [ToolSpec(name="fetch", approval=True)]
    model = ScriptedChatModel([calls(("fetch", {"q": "x"}), ("fetch", {"q": "y"}))])
    agent = agent_of(model, [direct()], specs=specs, checkpointer=InMemorySaver())

    async def main() -> Outcome:
        assert (await agent.say("Fetch.", thread="t")).interrupts
        return await agent.go(Command(resume=True), "t")

    outcome = run_virtual(main()).result
    assert outcome.report["reason"] == "direct_return"
    assert outcome.states("main") == {"done": 2}


def test_a_direct_tool_that_updates_the_state(agent_of: AgentOf) -> None:
    """Its command and the report are written together."""

    @tool(return_direct=True)
    def note(q: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Notes something."""
        return Command(
            update={"messages": [ToolMessage(content=f"noted {q}", tool_call_id=tool_call_id)]}
        )

    outcome = run_virtual(
        agent_of(ScriptedChatModel([calls(("note", {"q": "x"}))]), [note]).say("Note x.")
    ).result
    assert outcome.report["reason"] == "direct_return"
    assert outcome.last == "noted x"


def test_through_the_sync_entry(agent_of: AgentOf) -> None:
    """``invoke`` has the report, too."""
    agent = agent_of(ScriptedChatModel(script(calls(("fetch", {"q": "x"})))), [direct()])
    assert agent.run_sync("Fetch x.").report["reason"] == "direct_return"


def test_a_direct_call_that_fails_leaves_a_report(agent_of: AgentOf) -> None:
    """``create_agent`` ends the run all the same, ``build_agent`` lets the model speak; both say how it ended."""
    fetch = scripted_tool("fetch", [ValueError("no such text")], args={"q": str})
    fetch.return_direct = True
    agent = agent_of(
        ScriptedChatModel(script(calls(("fetch", {"q": "x"})))), [fetch], specs=[pure("fetch")]
    )
    outcome = run_virtual(agent.say("Fetch x.")).result
    assert outcome.states("main") == {"failed": 1}


@pytest.mark.parametrize("before", ["nothing", "running", "conflicting"])
def test_a_run_of_several_tasks_does_not_end_while_calls_are_open(
    before: str, agent_of: AgentOf
) -> None:
    """``create_agent`` ends a run with the answer of such a tool: a placeholder must not be one."""
    look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str}, latency=5.0)
    fetch = direct(latency=1.0)
    writes = ("z",) if before == "conflicting" else ()
    specs = [
        ToolSpec(name=name, effect="idempotent", reads=(), writes=writes, takes_from=())
        for name in ("look", "fetch")
    ]
    looking = [] if before == "nothing" else [calls(("look", {"q": "y", "task_id": "b"}))]
    model = ScriptedChatModel(
        script(*looking, calls(("fetch", {"q": "x", "task_id": "a"})), ever="all said")
    )
    outcome = agent_of(model, [look, fetch], specs=specs).run(
        tasks=[{"id": "a", "goal": "Fetch x."}, {"id": "b", "goal": "Look at y."}]
    )
    assert outcome.report["open_calls"] == []
    assert outcome.states("a") == {"done": 1}
    assert outcome.states("b") == ({} if before == "nothing" else {"done": 1})
    assert "the text of x" in outcome.text
    assert "fetch#1 is" not in outcome.last


def test_an_external_tool_that_returns_directly_needs_a_run_that_parks(frontend: Frontend) -> None:
    """``create_agent`` would end the run with a placeholder as the answer, so it is refused there."""
    inbox, tokens = Inbox(), []

    @guarded(mode="external", token_argument="token")
    @tool(return_direct=True)
    def post(q: str, token: str = "") -> str:
        """Post a letter."""
        tokens.append(token)
        return "on its way"

    async def main() -> str:
        model = ScriptedChatModel([calls(("post", {"q": "x"})), "not asked for"])
        options: Any = {"ports": Ports(inbox=inbox), "checkpointer": InMemorySaver()}
        agent = build(frontend, model, [post], **options)
        await agent.say("Post x.", thread="t")
        inbox.deliver(tokens[0], "received")
        return (await agent.resume("look again", "t")).last

    if frontend is Frontend.GRAPH:
        assert run_virtual(main()).result == "received"
        return
    with pytest.raises(DeclarationError, match="external and returns directly"):
        run_virtual(main())
    assert not tokens
