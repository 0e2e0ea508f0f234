"""Channels by which output of an untrusted source reaches a model.

Each consists of tools, declarations and first steps. The tool that the model calls may itself be
trusted: the order comes from somewhere on the way.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.types import Command

from asyncguard import EffectClass, Fallback, Source, ToolFault, ToolSpec
from asyncguard.core.tool_spec import Mode
from asyncguard.testing import Step, calls, scripted_tool
from tests.adapters.harness import pure

_SAID = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
_ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
_TASKS = ({"id": "a", "goal": "Read x."}, {"id": "b", "goal": "Watch y."})


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A channel for one text."""

    tools: Sequence[BaseTool]
    """Tools, of which one returns the text."""
    specs: Sequence[ToolSpec]
    """Declarations of the tools."""
    steps: Sequence[Step]
    """First steps of the model."""
    tasks: Sequence[Mapping[str, str]] = ()
    """Tasks, if they are several."""
    tokens: list[str] = field(default_factory=list)
    """Filled with the tokens of external calls."""
    delivered: Any = None
    """Content that is delivered for the tokens."""


def _call(name: str, **arguments: Any) -> Step:
    return calls((name, arguments))


def _trusted(name: str, **declaration: Any) -> ToolSpec:
    return pure(name, trusted_output=True, **declaration)


def result(text: str) -> Channel:
    """Return the text as a result, directly after its call."""
    return Channel(
        tools=[scripted_tool("read", [text])], specs=[pure("read")], steps=[_call("read")]
    )


def blocks(text: str) -> Channel:
    """A result of several blocks."""
    said = [{"type": "text", "text": "3 rows"}, {"type": "text", "text": text}]
    return Channel(
        tools=[scripted_tool("read", [said])], specs=[pure("read")], steps=[_call("read")]
    )


def failure(text: str) -> Channel:
    """The text of an error."""
    return Channel(
        tools=[scripted_tool("read", [ValueError(text)])],
        specs=[pure("read")],
        steps=[_call("read")],
    )


def pieces(text: str) -> Channel:
    """Two results, each with one half."""
    half = len(text) // 2
    tools = [scripted_tool("read", [text[:half]]), scripted_tool("look", [text[half:]])]
    return Channel(
        tools=tools, specs=[pure("read"), pure("look")], steps=[calls(("read", {}), ("look", {}))]
    )


def late(text: str) -> Channel:
    """A result that arrives long after the placeholder, while another task continues."""
    tools = [scripted_tool("read", [text], latency=50.0), scripted_tool("look", ["nothing"])]
    both = calls(("read", {"task_id": "a"}), ("look", {"task_id": "b"}))
    return Channel(tools=tools, specs=[pure("read"), _trusted("look")], steps=[both], tasks=_TASKS)


def delivery(text: str) -> Channel:
    """The result of an external call."""
    tokens: list[str] = []

    def start(arguments: Mapping[str, Any]) -> str:
        tokens.append(arguments["token"])
        return "begun"

    spec = ToolSpec(
        name="order", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("orders",)
    )
    order = scripted_tool("order", start, args={"token": (str, "")})
    return Channel(
        tools=[order], specs=[spec], steps=[_call("order")], tokens=tokens, delivered=text
    )


def sibling(text: str) -> Channel:
    """The answer of a sibling that stands in for a trusted tool."""
    tools = [scripted_tool("read", [ConnectionError("down")] * 9), scripted_tool("mirror", [text])]
    specs = [_trusted("read", fallbacks=(Fallback(tool="mirror"),)), pure("mirror")]
    return Channel(tools=tools, specs=specs, steps=[_call("read")])


def contract(text: str) -> Channel:
    """The names in a live contract, which the model is told where the contract does not help."""
    told = json.dumps(
        {"parameters": _ITEM, "returns": {**_SAID, "description": text, "required": [text]}}
    )
    read = scripted_tool("read", ["what?"] * 9, args={"item": str})
    tools = [read, scripted_tool("describe", [told] * 9, args={"tool": str})]
    specs = [_trusted("read", contract="describe", result_schema=_SAID), pure("describe")]
    # What the model is not told of a contract it may read itself.
    steps = [_call("read", item="x"), _call("describe", tool="read")]
    return Channel(tools=tools, specs=specs, steps=steps)


def probe(text: str) -> Channel:
    """The answer of a probe, as the result of the effect that it looked for."""
    tools = [
        scripted_tool("order", [ConnectionError("reset")], args={"item": str}),
        scripted_tool(
            "check", [json.dumps({"happened": True, "result": text})], args={"item": str}
        ),
    ]
    order = ToolSpec(name="order", effect=EffectClass.PROBED, probe="check", trusted_output=True)
    return Channel(tools=tools, specs=[order, pure("check")], steps=[_call("order", item="x")])


def verifier(text: str) -> Channel:
    """The answer of a verifier, in place of one that broke a rule."""
    tools = [
        scripted_tool("read", ['{"said": ""}'] * 9),
        scripted_tool("derive", [json.dumps({"said": text})]),
    ]
    rule = (lambda _, value: None if value["said"] else "it says nothing",)
    read = _trusted("read", result_schema=_SAID, invariants=rule, verifier=Fallback(tool="derive"))
    return Channel(
        tools=tools, specs=[read, pure("derive", result_schema=_SAID)], steps=[_call("read")]
    )


def source(text: str) -> Channel:
    """The answer of a source that contradicts a trusted tool, quoted to the model as a disagreement."""
    tools = [
        scripted_tool("read", ["what?"] * 9),
        scripted_tool("other", [json.dumps({"said": text})]),
    ]
    tools.append(scripted_tool("third", ['{"said": "y"}']))
    sources = (Source(tool="other"), Source(tool="third"))
    read = _trusted("read", result_schema=_SAID, sources=sources)
    specs = [read, pure("other", result_schema=_SAID), _trusted("third", result_schema=_SAID)]
    return Channel(tools=tools, specs=specs, steps=[_call("read")])


def refusal(text: str) -> Channel:
    """The text with which a service refuses a call."""
    read = scripted_tool("read", [ToolFault(text, status=422, started=False)] * 9)
    return Channel(tools=[read], specs=[pure("read")], steps=[_call("read")])


def message(text: str) -> Channel:
    """A message that a tool puts into the conversation beside its result, in the user's name."""

    @tool
    def read(call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Read."""
        own = ToolMessage(content="3 rows", tool_call_id=call_id)
        return Command(update={"messages": [own, HumanMessage(content=text)]})

    return Channel(tools=[read], specs=[pure("read")], steps=[_call("read")])


def operand(text: str) -> Channel:
    """A value that the model names in a harmless call before it can know it, and that comes back with its result."""
    tools = [
        scripted_tool("read", [text], latency=1.0),
        scripted_tool("echo", lambda a: a["text"], args={"text": str}),
    ]
    chain = calls(("read", {}), ("echo", {"text": {"from_call": "read#1", "pointer": ""}}))
    return Channel(tools=tools, specs=[pure("read"), pure("echo")], steps=[chain])


CHANNELS: tuple[Callable[[str], Channel], ...] = (
    result,
    blocks,
    failure,
    pieces,
    late,
    delivery,
    sibling,
    contract,
    probe,
    verifier,
    source,
    refusal,
    message,
    operand,
)
"""All of them."""
