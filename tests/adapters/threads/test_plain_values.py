"""Stored values are plain values and LangChain's messages; strict msgpack changes any other."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command, Interrupt, Send

from asyncguard import (
    EffectClass,
    Fallback,
    GuardConfig,
    Inbox,
    Limits,
    Mode,
    Ports,
    Timing,
    ToolFault,
    ToolSpec,
)
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Frontend, Outcome, build, pure, script
from tests.adapters.threads.recording import RecordingSerializer, foreign
from tests.adapters.threads.stores import Kind, Store, place

TIMING = Timing(grace=0.0, linger=0.0, retry_initial=0.001, retry_jitter=0.0)
# Early calls are let through: their refusal would leave the faults out that come after them.
CONFIG = GuardConfig(premature=False, timing=TIMING, limits=Limits(max_output_bytes=2_000))
TASKS = [
    {"id": "a", "goal": "Quote x, pay x, note x."},
    {"id": "b", "goal": "Look up y, have y approved."},
]
HERE = place("t")
PRICE = {
    "type": "object",
    "properties": {"price": {"type": "number", "unit": "EUR"}},
    "required": ["price"],
}
ITEM = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


@tool
def note(q: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Write into the state of the graph."""
    return Command(
        update={"messages": [ToolMessage(content=f"noted {q}", tool_call_id=tool_call_id)]}
    )


@tool(response_format="content_and_artifact")
def draw(q: str) -> tuple[list[dict[str, str]], dict[str, list[int]]]:
    """Answer in blocks, with an artifact."""
    return [{"type": "text", "text": f"drawn {q}"}], {"pixels": [1, 2]}


class Trouble:
    """Tools with every fault that recovery knows, and calls that are deferred, held, rejected and external."""

    def __init__(self) -> None:
        self.inbox, self.tokens = Inbox(), list[str]()
        told = json.dumps({"parameters": ITEM, "returns": PRICE})
        one = {"q": str}
        self.tools = [
            scripted_tool("quote", ["7 EUR, roughly", '{"price": "7"}'], args=one),
            scripted_tool("describe", lambda _: told, args={"tool": str}),
            scripted_tool(
                "look", [ToolFault("busy", transient=True, started=False), "found y"], args=one
            ),
            scripted_tool("pay", lambda _: ConnectionError("reset by peer"), args=one),
            scripted_tool("check", ['{"happened": true, "result": "paid"}'], args=one),
            scripted_tool("broken", lambda _: ValueError("broken"), args=one),
            scripted_tool("spare", lambda a: asyncio.sleep(0.005, "spare " * 1000), args=one),
            scripted_tool("bank", self._ask, args={"q": str, "token": str}),
            scripted_tool("erase", ["erased"], args=one),
            note,
            draw,
        ]
        self.specs = [
            pure("quote", parameters=ITEM, result_schema=PRICE, contract="describe"),
            pure("describe"),
            pure("look", reads=("y",)),
            ToolSpec(name="pay", effect=EffectClass.PROBED, probe="check", reads=(), writes=("y",)),
            pure("check"),
            pure("broken", fallbacks=(Fallback(tool="spare"),)),
            pure("spare"),
            ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token"),
            ToolSpec(name="erase", approval=True, destructive=True),
        ]

    def _ask(self, arguments: Mapping[str, Any]) -> str:
        self.tokens.append(arguments["token"])
        return "accepted"


def a_turn(*made: tuple[str, str, str]) -> Any:
    """Calls as tool, task and what is asked."""
    return calls(*((name, {"q": q, "task_id": task}) for name, task, q in made))


STEPS = [
    a_turn(
        ("quote", "a", "x"),
        ("look", "b", "y"),
        ("pay", "b", "y"),
        ("broken", "a", "x"),
        ("nothing", "a", "x"),
    ),
    a_turn(("note", "a", "x"), ("draw", "a", "x"), ("look", "c", "y")),
    AIMessage(
        content="",
        invalid_tool_calls=[
            {"name": "look", "args": "{", "id": "bad", "error": None, "type": "invalid_tool_call"}
        ],
    ),
    calls(("look", {"q": 1, "wrong": [1], "task_id": "b"}), ("erase", {"q": "x", "task_id": "a"})),
    a_turn(("bank", "b", "y")),
    "all done too early",
]


def played(frontend: Frontend, store: Store) -> tuple[Outcome, list[Any]]:
    """Runs it to its end, with an approval, a delivery and an edit from outside; and what was asked."""
    trouble, asked = Trouble(), []
    model = ScriptedChatModel(script(*STEPS))
    options: Mapping[str, Any] = {
        "config": CONFIG,
        "specs": trouble.specs,
        "ports": Ports(inbox=trouble.inbox),
    }
    agent = build(frontend, model, trouble.tools, checkpointer=store.saver, **options)
    payload: Any = agent.input(None, TASKS)
    while True:
        outcome = Outcome(state=store.invoke(agent.graph, payload, HERE))
        if not outcome.interrupts:
            store.update(agent.graph, HERE, {"messages": [HumanMessage(content="Thanks.")]})
            return outcome, asked
        asked += [item["type"] for item in outcome.interrupts]
        if outcome.interrupts[0]["type"] == "parked":
            trouble.inbox.deliver(trouble.tokens[-1], {"approved": True})
        payload = Command(resume=True)


@pytest.fixture
def recorded(kind: Kind, target: str) -> Iterator[tuple[Store, RecordingSerializer]]:
    """A store and what it was given."""
    serde = RecordingSerializer()
    store = Store(kind, target, serde)
    store.open()
    yield store, serde
    store.close()


def test_everything_stored_is_plain(
    frontend: Frontend, recorded: tuple[Store, RecordingSerializer], blocked: list[Any]
) -> None:
    """Through faults, recoveries, approvals, parking, deferral and rejections: values, writes and whole channels."""
    store, serde = recorded
    outcome, asked = played(frontend, store)
    assert set(asked) == {"approval", "parked"}
    kinds = {event["kind"] for event in _events(serde.given)}
    assert {
        "call_deferred",
        "call_rejected",
        "call_held",
        "call_recovered",
        "call_found",
        "run_parked",
    } <= kinds
    assert outcome.report["reason"] == "complete"
    assert sorted({where for value in serde.given for where in foreign(value)}) == []
    store.history(
        build(frontend, ScriptedChatModel([]), Trouble().tools, checkpointer=store.saver).graph,
        HERE,
    )
    assert blocked == []


def _events(given: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The events of the ledger among what was stored, once for each time that they were."""
    for value in given:
        if isinstance(value, list):
            yield from (
                item for item in value if isinstance(item, dict) and "kind" in item and "n" in item
            )


class Mood(StrEnum):
    """A text that is more than a text."""

    GOOD = "good"


@dataclass
class Thing:
    """No plain value."""

    name: str


@pytest.mark.parametrize(
    "value",
    [
        Mood.GOOD,
        {"deep": [Mood.GOOD]},
        (1, 2),
        {1: "one"},
        {"s": {1}},
        Thing("x"),
        b"bytes",
        Path("x"),
    ],
    ids=str,
)
def test_the_walk_finds_what_is_not_plain(value: Any) -> None:
    """At the top, and inside messages, envelopes, lists and dictionaries."""
    for wrapped in (
        value,
        [value],
        {"key": value},
        HumanMessage(content="x", additional_kwargs={"value": value}),
        Send("node", {"value": value}),
        (Interrupt(value=value),),
    ):
        assert len(list(foreign(wrapped))) == 1


def test_the_walk_passes_what_is_plain() -> None:
    """Values as JSON has them, messages, and what LangGraph wraps around both."""
    plain = {"a": [1, 1.5, None, True, "x", {"b": []}]}
    message = AIMessage(
        content=[plain], tool_calls=[{"name": "t", "args": plain, "id": "1", "type": "tool_call"}]
    )
    assert list(foreign([plain, message, Send("node", plain), (Interrupt(value=plain),)])) == []
