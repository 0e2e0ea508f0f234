"""Tools of a real MCP server over streamable HTTP: hints, slowness, death midway, a changed contract."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient

from asyncguard import GuardConfig, Timing, ToolSpec, build_agent, guarded, mcp_spec
from asyncguard.adapters.tools.declare import declared
from asyncguard.core.footprints import EffectClass
from asyncguard.testing import ScriptedChatModel, calls
from tests.support.mcp_server import served

pytestmark = pytest.mark.server
SOON = GuardConfig(timing=Timing(retry_initial=0.05))


def client(url: str) -> MultiServerMCPClient:
    """A client as its documentation makes it: one session a call."""
    return MultiServerMCPClient({"desk": {"transport": "streamable_http", "url": url}})


async def tools_of(url: str) -> dict[str, BaseTool]:
    """The server's tools, by name."""
    return {tool.name: tool for tool in await client(url).get_tools()}


async def told(tools: list[Any], specs: list[ToolSpec], *steps: Any) -> list[str]:
    """The texts of the results of the calls, in order."""
    model = ScriptedChatModel([*steps, *["Done."] * 3])
    agent = build_agent(model, tools, specs=specs, config=SOON)
    state = await agent.ainvoke({"messages": [HumanMessage("Go on.")]})
    return [str(each.text) for each in state["messages"] if each.type == "tool"]


def of(name: str, **arguments: Any) -> Any:
    """One call."""
    return calls((name, {"city": "Rome", **arguments}))


async def test_hints_come_over_http(tmp_path: Path) -> None:
    """They raise caution by themselves, and lower it if the user trusts the server."""
    with served(tmp_path / "effects") as url:
        tools = await tools_of(url)
    look, slow, keep = (declared(tools[name]) for name in ("look", "slow", "keep"))
    assert {each.effect for each in (look, slow, keep)} == {EffectClass.AT_MOST_ONCE}
    assert [each.destructive for each in (look, slow, keep)] == [False, True, False]
    look, keep = (mcp_spec(tools[name], trusted=True) for name in ("look", "keep"))
    assert (look.effect, look.trusted_output) == (EffectClass.PURE, True)
    assert keep.effect is EffectClass.IDEMPOTENT


async def test_a_slow_server_leaves_the_effect_unknown(tmp_path: Path) -> None:
    """The call is given up at its timeout and not repeated; another one is answered meanwhile."""
    effects = tmp_path / "effects"
    with served(effects) as url:
        tools = await tools_of(url)
        specs = [replace(mcp_spec(tools["slow"], trusted=True), timeout=1.0)]
        slow, look = await told(list(tools.values()), specs, of("slow"), of("look"))
    assert slow.startswith("It is not known whether slow#1 took effect. Do not repeat it;")
    assert "No answer within 1 s." in slow
    assert look == "Rome: 3 hotels"
    assert effects.read_text() == "slow Rome\n"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sse", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("trusted", [False, True], ids=["at_most_once", "idempotent"])
async def test_a_server_that_dies_midway(tmp_path: Path, trusted: bool, sse: bool) -> None:
    """Its effect is there, and its answer is not: it is repeated only where it may be.

    With a stream of events the client does not notice the death (mcp 1.30.0): the timeout does.
    """
    effects = tmp_path / "effects"
    with served(effects, lives=2, sse=sse) as url:
        tools = await tools_of(url)
        specs = [replace(mcp_spec(tools["keep"], trusted=trusted), timeout=3.0 if sse else 60.0)]
        (keep,) = await told(list(tools.values()), specs, of("keep"))
    if trusted:
        assert keep == "kept Rome"
        assert effects.read_text() == "keep Rome\n" * 2
    else:
        assert keep.startswith("It is not known whether keep#1 took effect. Do not repeat it;")
        assert ("No answer within 3 s." if sse else "RemoteProtocolError: Server") in keep
        assert effects.read_text() == "keep Rome\n"


async def test_a_server_that_is_gone(tmp_path: Path) -> None:
    """The refused connection is named; reading is tried again, and then fails; an effect is in doubt."""
    with served(tmp_path / "effects") as url:
        tools = await tools_of(url)
    specs = [mcp_spec(tools["look"], trusted=True)]
    look, book = await told(list(tools.values()), specs, of("look"), of("book"))
    assert look.startswith("look#1 failed: ConnectError: All connection attempts failed")
    assert "which passes" in look
    assert book.startswith("It is not known whether book#1 took effect. Do not repeat it;")


async def test_a_changed_contract_is_read_and_told(tmp_path: Path) -> None:
    """A new required argument is named to the model, whose next call is let through."""
    effects = tmp_path / "effects"
    with served(effects) as url:
        tools = await tools_of(url)

        @guarded(effect="pure", reads=[])
        async def contract_of(tool: str) -> dict[str, Any]:
            """Read the contract that a tool of the server has now."""
            return {"parameters": (await tools_of(url))[tool].args_schema}

        specs = [replace(mcp_spec(tools["book"], trusted=True), contract="contract_of")]
        _, refused, booked = await told(
            [*tools.values(), contract_of],
            specs,
            of("update_server"),
            of("book"),
            of("book", nights=3),
        )
    assert refused.startswith(
        "Error executing tool book: 1 validation error for book_nightsArguments"
    )
    assert refused.endswith(
        "book has another contract now; its arguments: city (required), nights (required)."
    )
    assert booked == "booked Rome for 3"
    assert effects.read_text() == "book Rome 3\n"
