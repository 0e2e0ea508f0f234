"""Names of tools that one provider takes and another does not: calls reach the tool."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy

from asyncguard import AsyncGuardMiddleware, build_agent
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool

NAMES = ["github.search", "files/read", "suche_für_alle", "mcp__" + "long_" * 18]


# Without the harness, which holds each request against the rules of all providers.
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("middleware", [False, True], ids=["build_agent", "create_agent"])
def test_a_call_of_a_tool_reaches_it(name: str, *, middleware: bool) -> None:
    """MCP names hold dots, Gemini takes them, and Anthropic takes 128 characters."""
    tool = scripted_tool(name, ["found"], args={"q": str})
    model = ScriptedChatModel([calls((name, {"q": "tea"})), "Found."])
    agent: Any = (
        create_agent(model, [tool], middleware=[AsyncGuardMiddleware()])
        if middleware
        else build_agent(model, [tool])
    )
    run = run_virtual(agent.ainvoke({"messages": [("user", "Look for tea.")]}))
    assert [dict(call.args) for call in tool.calls] == [{"q": "tea"}]
    assert [message.text for message in run.result["messages"]][2:] == ["found", "Found."]


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_of_a_named_schema_is_taken(name: str) -> None:
    """The schema of a structured answer keeps its name, too."""
    total = {"total": {"type": "number"}}
    schema: dict[str, Any] = {"title": name, "type": "object", "properties": total}
    model = ScriptedChatModel([calls((name, {"total": 4}))])
    agent = build_agent(model, [], response_format=ToolStrategy(schema))
    run = run_virtual(agent.ainvoke({"messages": [("user", "Add 2 and 2.")]}))
    assert run.result["structured_response"] == {"total": 4}
