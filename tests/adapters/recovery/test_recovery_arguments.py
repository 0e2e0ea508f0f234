"""Arguments that recovery hands to other tools: each has a place there, or the agent is refused when it is built."""

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolArg, StructuredTool
from pydantic import BaseModel, ConfigDict

from asyncguard import (
    AsyncGuardMiddleware,
    DeclarationError,
    EffectClass,
    Fallback,
    GuardConfig,
    Source,
    ToolSpec,
    build_agent,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script
from tests.adapters.recovery.test_recovery import EXACT


def quote(city: str, day: str = "today") -> str:
    """Quote a price."""
    raise ValueError(f"closed in {city}, {day}")


def other(town: str = "Paris") -> str:
    """Quote a price, too."""
    return f"9 euros in {town}"


def needy(city: str, country: str) -> str:
    """Quote a price in a country."""
    return f"9 euros in {city}, {country}"


def typed(city: str, level: Annotated[int, InjectedToolArg] = 1, currency: str = "EUR") -> str:
    """Quote a price with more choices."""
    return f"9 {currency} in {city}"


def nothing() -> str:
    """Quote the price of everything."""
    return "9 euros"


def anything(**given: Any) -> str:
    """Quote a price for anything."""
    return f"9 euros in {given['city']}"


class Open(BaseModel):
    """Arguments of any name."""

    model_config = ConfigDict(extra="allow")
    region: str = ""


open_tool = StructuredTool.from_function(
    anything, name="open_tool", description="Quote.", args_schema=Open
)
HELPERS: dict[str, Any] = {
    "other": other,
    "needy": needy,
    "typed": typed,
    "nothing": nothing,
    "open_tool": open_tool,
}


def declared(**helpers: Any) -> list[ToolSpec]:
    """Declarations: ``quote`` names helpers, all that it may ask are pure."""
    return [
        pure("quote", **helpers),
        *(ToolSpec(name=name, effect=EffectClass.PURE) for name in HELPERS),
    ]


WRONG: dict[str, dict[str, Any]] = {
    "fallback": {"fallbacks": ["other"]},
    "source": {"sources": ["other"]},
    "trusted source": {"sources": [Source(tool="other", trusted=True)]},
    "verifier": {"verifier": "other"},
    "needs more": {"fallbacks": ["needy"]},
    "takes nothing": {"fallbacks": ["nothing"]},
    "mapped to nothing": {"fallbacks": [Fallback(tool="other", arguments={"place": "city"})]},
    "mapped from nothing": {"fallbacks": [Fallback(tool="other", arguments={"town": "place"})]},
    "probe": {"probe": "other", "effect": EffectClass.PROBED},
    "probe that needs more": {"probe": "needy", "effect": EffectClass.PROBED},
    "probe that takes nothing": {"probe": "nothing", "effect": EffectClass.PROBED},
    "contract": {"contract": "other"},
    "contract that needs more": {"contract": "needy"},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("helpers", WRONG.values(), ids=WRONG)
def test_a_helper_that_cannot_take_the_arguments_is_refused(
    helpers: dict[str, Any], agent_of: AgentOf
) -> None:
    """The error is raised when the agent is built or the tools are met, and names both tools."""
    specs = [ToolSpec(**({"name": "quote", "effect": EffectClass.PURE} | helpers)), *declared()[1:]]
    with pytest.raises(DeclarationError, match=r"'quote' names '(other|needy|nothing)'"):
        agent_of(ScriptedChatModel(script()), [quote, *HELPERS.values()], specs=specs).run("Go.")


def test_the_error_says_how_to_map() -> None:
    """The error shows the mapping as it has to be written."""
    with pytest.raises(DeclarationError) as caught:
        build_agent(
            ScriptedChatModel(script()),
            [quote, *HELPERS.values()],
            specs=declared(fallbacks=["other"]),
        )
    assert "no argument 'city'" in str(caught.value)
    assert "Fallback(tool='other', arguments={other's name: quote's name})" in str(caught.value)


RIGHT: dict[str, tuple[dict[str, Any], str]] = {
    "mapped": (
        {"fallbacks": [Fallback(tool="other", arguments={"town": "city"})]},
        "9 euros in Rome",
    ),
    "more, but optional or injected": ({"fallbacks": ["typed"]}, "9 EUR in Rome"),
    "any name": ({"fallbacks": ["open_tool"]}, "9 euros in Rome"),
}


@pytest.mark.parametrize(("helpers", "answer"), RIGHT.values(), ids=RIGHT)
def test_a_helper_that_takes_the_arguments_gets_them(
    helpers: dict[str, Any], answer: str, agent_of: AgentOf
) -> None:
    """A helper gets the arguments by mapping, by name, or because it accepts any argument."""
    model = ScriptedChatModel(script(calls(("quote", {"city": "Rome"}))))
    agent = agent_of(
        model,
        [quote, *HELPERS.values()],
        specs=declared(**helpers),
        config=GuardConfig(timing=EXACT, retry=False),
    )
    assert agent.run("Go.").answer("call_1_1").startswith(answer)


@pytest.mark.parametrize("role", ["fallbacks", "sources", "verifier"])
def test_a_helper_that_would_drop_what_the_call_gives_is_passed_over(
    role: str, agent_of: AgentOf
) -> None:
    """It does not know the day, so that it answers calls without one only."""
    mapped: Any = (Source if role == "sources" else Fallback)(
        tool="other", arguments={"town": "city"}
    )
    helpers = {role: mapped if role == "verifier" else [mapped]}
    asked = calls(("quote", {"city": "Rome", "day": "Sunday"}), ("quote", {"city": "Rome"}))
    config = GuardConfig(timing=EXACT, retry=False)
    agent = agent_of(
        ScriptedChatModel(script(asked)),
        [quote, *HELPERS.values()],
        specs=declared(**helpers),
        config=config,
    )
    outcome = agent.run("Go.")
    assert "9 euros" not in outcome.answer("call_1_1")
    assert outcome.answer("call_1_2").startswith("9 euros in Rome")


def test_a_helper_whose_need_the_call_leaves_out_is_passed_over(agent_of: AgentOf) -> None:
    """A helper is passed over if it requires an optional argument that the call leaves out."""
    tool = scripted_tool(
        "quote", [ValueError("closed")] * 2, args={"item": str, "day": (str | None, None)}
    )
    helper = scripted_tool("helper", lambda a: f"9 on {a['day']}", args={"item": str, "day": str})
    specs = [pure("quote", fallbacks=["helper"]), pure("helper")]
    asked = calls(("quote", {"item": "nut"}), ("quote", {"item": "nut", "day": "Sunday"}))
    config = GuardConfig(timing=EXACT, retry=False)
    outcome = agent_of(
        ScriptedChatModel(script(asked)), [tool, helper], specs=specs, config=config
    ).run("Go.")
    assert len(helper.calls) == 1
    assert outcome.answer("call_1_2") == "9 on Sunday"


def test_a_middleware_that_knows_no_tools_refuses_them_when_it_meets_them() -> None:
    """At the first request to the model, with the same error, and again in the next run."""
    middleware = guard_middleware(
        [], guard=AsyncGuardMiddleware(specs=declared(fallbacks=["other"]))
    )
    agent: Any = create_agent(
        ScriptedChatModel(script()), [quote, *HELPERS.values()], middleware=middleware
    )
    for _ in range(2):
        with pytest.raises(DeclarationError, match="'quote' names 'other' as its fallback"):
            agent.invoke({"messages": [("user", "Go.")]})
    with pytest.raises(DeclarationError, match="'quote' names 'other' as its fallback"):
        AsyncGuardMiddleware(specs=declared(fallbacks=["other"]), tools=build_tools())


def build_tools() -> list[Any]:
    """The tools, as a middleware is told of them."""
    made = [tool for tool in HELPERS.values() if tool is not open_tool]
    return [*(StructuredTool.from_function(tool) for tool in (quote, *made)), open_tool]
