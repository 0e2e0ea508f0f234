"""Tools of a real MCP server over stdio: which hints count, and what the model is told if it is slow or dies."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient

from asyncguard import ToolSpec, build_agent, mcp_spec
from asyncguard.adapters.tools.declare import declared
from asyncguard.core.footprints import EffectClass
from asyncguard.testing import ScriptedChatModel

_SERVER = '''
import os, sys, time
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

app = FastMCP("desk", log_level="ERROR")


@app.tool(annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False))
def look(city: str) -> str:
    """Look a city up."""
    return f"{city}: 3 hotels"


@app.tool(annotations=ToolAnnotations(destructiveHint=True, idempotentHint=True))
def wipe(city: str) -> str:
    """Delete all bookings."""
    return "wiped"


@app.tool()
def slow(city: str) -> str:
    """Answer after a minute."""
    time.sleep(60)
    return "late"


@app.tool()
def dies(city: str) -> str:
    """End the server."""
    os._exit(3)


@app.tool(annotations=ToolAnnotations(destructiveHint=False, idempotentHint=True))
def keep(city: str) -> str:
    """End the server the first time, when the city is kept."""
    with open(sys.argv[1], "a") as file:
        file.write(city)
    if open(sys.argv[1]).read() == city:
        os._exit(3)
    return "kept"


app.run("stdio")
'''


async def served(tmp_path: Path) -> list[BaseTool]:
    """The tools of a server that runs in a process of its own."""
    path = tmp_path / "server.py"
    path.write_text(_SERVER, encoding="utf-8")
    connection = {
        "command": sys.executable,
        "args": [str(path), str(tmp_path / "kept")],
        "transport": "stdio",
    }
    tools: list[BaseTool] = await MultiServerMCPClient({"desk": connection}).get_tools()
    return tools


async def told(tools: list[BaseTool], name: str, specs: list[ToolSpec]) -> str:
    """The text of the result of one call."""
    call = {"name": name, "args": {"city": "Rome"}, "id": "c1", "type": "tool_call"}
    turns = [AIMessage("", tool_calls=[call]), AIMessage("Done."), AIMessage("Done.")]
    agent = build_agent(ScriptedChatModel(turns), tools, specs=specs)
    state = await agent.ainvoke({"messages": [HumanMessage("Go on.")]})
    return next(str(each.text) for each in state["messages"] if each.type == "tool")


async def test_hints_of_a_server_raise_caution_and_lower_it_only_if_trusted(tmp_path: Path) -> None:
    """A server that claims to be read-only is not believed by itself."""
    tools = {tool.name: tool for tool in await served(tmp_path)}
    look, wipe = declared(tools["look"]), declared(tools["wipe"])
    assert (look.effect, look.trusted_output) == (EffectClass.AT_MOST_ONCE, False)
    assert (wipe.effect, wipe.destructive) == (EffectClass.AT_MOST_ONCE, True)
    look, wipe = (mcp_spec(tools[name], trusted=True) for name in ("look", "wipe"))
    assert (look.effect, look.trusted_output) == (EffectClass.PURE, True)
    assert (wipe.effect, wipe.destructive) == (EffectClass.IDEMPOTENT, True)


@pytest.mark.slow
async def test_a_slow_and_a_dying_server_leave_the_effect_unknown_and_nothing_is_repeated(
    tmp_path: Path,
) -> None:
    """The default of a tool without trusted hints; one that answers is told as it answers."""
    tools = await served(tmp_path)
    specs = [
        replace(mcp_spec(tool, trusted=False), timeout=0.5 if tool.name == "slow" else None)
        for tool in tools
    ]
    assert await told(tools, "look", specs) == "Rome: 3 hotels"
    for name, reason in (("slow", "No answer within 0.5 s."), ("dies", "Connection closed")):
        text = await told(tools, name, specs)
        assert text.startswith(f"It is not known whether {name}#1 took effect. Do not repeat it;")
        assert reason in text


async def test_a_server_that_dies_is_asked_again_for_an_idempotent_effect(tmp_path: Path) -> None:
    """The client's ``Connection closed`` is a lost connection: the effect may be there, and may be made again."""
    tools = await served(tmp_path)
    specs = [mcp_spec(tool, trusted=True) for tool in tools]
    assert await told(tools, "keep", specs) == "kept"
    assert (tmp_path / "kept").read_text() == "RomeRome"
