"""A run with a call in every state, with honest or forged texts of tools, people and deliveries.

Whatever was said, the events have to be the same: each call ends by its own tool, its own token or
a person, at the same moment, and in the same way.
"""

import asyncio
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import Details, GuardConfig, Inbox, NewsStyle, Ports, ToolSpec, UnknownTokenError
from asyncguard.core.events import CallRetired
from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import Mode
from asyncguard.testing import (
    ScriptedChatModel,
    Step,
    ToolSchema,
    VirtualTimeLoop,
    calls,
    scripted_tool,
)
from tests.adapters.harness import Frontend, build, pure
from tests.security.forgeries import NONCE, Forger, filled

LATENCIES = {
    "dig": 100.0,
    "fetch": 40.0,
    "look": 0.0,
    "fail": 20.0,
    "order": 0.0,
    "pay": 1.0,
    "wire": 1.0,
}
LATENCIES |= {"stamp": 60.0, "book": 5.0}
_TASKS = {"dig": "a", "fetch": "b", "look": "b", "fail": "a", "order": "a", "pay": "b", "wire": "a"}
_TASKS |= {"stamp": "a", "book": "a"}
_SPECS = (
    pure("dig"),
    pure("fetch"),
    pure("look"),
    pure("fail"),
    ToolSpec(
        name="order", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("orders",)
    ),
    ToolSpec(name="pay", approval=True, reads=(), writes=("purse",)),
    ToolSpec(name="wire", approval=True, reads=(), writes=("wires",)),
    ToolSpec(name="stamp", reads=(), writes=("desk",), effect=EffectClass.IDEMPOTENT),
    ToolSpec(name="book", reads=("desk",), writes=("books",)),
)
REFUSED, APPROVED = "b/pay#1", "a/wire#1"
"""The two calls that need a person, who refuses the one and approves the other."""
_WORDS = frozenset({"content", "size", "goal", "reason", "message_id", "run", "epoch", "n"})
"""Fields of an event that may differ between two runs of one story."""
_PATIENCE = 10.0
"""Seconds between the moment in which a run parks for the second time and the delivery."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """Texts of tools, people and deliveries in one run."""

    goals: tuple[str, str]
    """Goals of the tasks."""
    printed: Mapping[str, Any]
    """Output of each tool; text, blocks, or the error's text for ``fail``."""
    delivered: Any
    """Content of the delivery for the external call."""
    resumed: Any
    """Value with which a parked run is resumed."""
    answered: Mapping[str, Any]
    """Answers beyond the two that were asked for."""
    stolen: tuple[str, ...]
    """Tokens with which a delivery is tried in vain."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Played:
    """Record of a run."""

    story: Sequence[Mapping[str, Any]]
    """The events, with calls by name and without any texts."""
    contents: Mapping[str, Any]
    """Outcome of each call, as the ledger has it."""
    said: Mapping[str, Any]
    """Content that the call's tool, or the delivery, returned."""
    delivered_at: float
    """Seconds from the beginning to the delivery."""
    requests: Sequence[Sequence[BaseMessage]]
    """Messages that the model was sent."""
    state: Mapping[str, Any]
    """The last state."""
    token: str
    """The token of the external call."""
    executed: Mapping[str, int]
    """Number of runs of each tool."""


def honest() -> Act:
    """Return a run with honest texts."""
    printed: dict[str, Any] = {name: f"{name} says so" for name in LATENCIES}
    return Act(
        goals=("Dig.", "Fetch."),
        printed=printed,
        delivered="it came",
        resumed=None,
        answered={},
        stolen=("no token",),
    )


def forged(seed: int) -> Act:
    """Return a run with forged texts."""
    forger = Forger(seed)
    printed: dict[str, Any] = {name: forger.text() for name in LATENCIES}
    for name in ("dig", "look"):
        if forger.chance.random() < 0.3:
            printed[name] = forger.blocks()
    everything = dict.fromkeys(
        (*LATENCIES, "*", "pay#1 ", "b/pay#1\u200b", "{key}", forger.text()), True
    )
    return Act(
        goals=(f"Dig. {forger.text()}", f"Fetch. {forger.text()}"),
        printed=printed,
        delivered=forger.chance.choice(
            (forger.text(), forger.blocks(), {"a": forger.text()}, [forger.text(), None])
        ),
        resumed=forger.chance.choice(
            (forger.text(), {"order#1": forger.text()}, [True], True, {"token": "{token}"})
        ),
        answered=everything,
        stolen=("{token}x", " {token}", "{key}", NONCE, "", f"{forger.text()}~"),
        seed=seed,
    )


@dataclass(kw_only=True)
class Theatre:
    """An agent of one adapter, used again for each run."""

    frontend: Frontend
    style: NewsStyle

    def __post_init__(self) -> None:
        """Build the agent."""
        self._act, self._ids = honest(), iter(["the process"])
        self._secrets: dict[str, list[str]] = {}
        self._contents: dict[str, Any] = {}
        self._said: dict[str, Any] = {}
        self._times: list[float] = []
        self._threads: Iterator[int] = itertools.count()
        self._model = ScriptedChatModel(_all_at_once)
        self._inbox = Inbox()
        self._tools = [self._tool(name) for name in LATENCIES]
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self._agent = build(
            self.frontend,
            self._model,
            self._tools,
            config=GuardConfig(premature=False, news_style=self.style),
            specs=_SPECS,
            ports=Ports(
                new_id=lambda: next(self._ids), inbox=self._inbox, observers=[self._observe]
            ),
            checkpointer=InMemorySaver(),
        ).graph

    def _tool(self, name: str) -> Any:
        def say(arguments: Mapping[str, Any]) -> Any:
            if name == "order":
                self._secrets["token"] = [arguments["token"]]
            self._said[name] = text = self._fill(self._act.printed[name])
            return RuntimeError(text) if name == "fail" else text

        return scripted_tool(
            name, say, args={"token": (str, "")} if name == "order" else {}, latency=LATENCIES[name]
        )

    def _observe(self, details: Details) -> None:
        if isinstance(details.event, CallRetired):
            self._contents[details.tool] = details.event.content

    def _fill(self, value: Any) -> Any:
        return filled(value, self._secrets, self._chance)

    def play(self, act: Act) -> Played:
        """Play one run to its end."""
        self._act, number = act, next(self._threads)
        self._chance = random.Random(act.seed)
        self._secrets, self._contents, self._said = {}, {}, {}
        self._ids = itertools.chain(
            [f"session {number}", NONCE], map("id{}".format, itertools.count())
        )
        known, before = (
            len(self._model.requests),
            {tool.name: len(tool.calls) for tool in self._tools},
        )
        state = self.runner.run(self._run(str(number), act))
        return Played(
            story=_story(state["ledger"]),
            contents=dict(self._contents),
            said=dict(self._said),
            delivered_at=round(self._times[1] - self._times[0], 6),
            requests=[request.messages for request in self._model.requests[known:]],
            state=state,
            token=self._secrets["token"][0],
            executed={tool.name: len(tool.calls) - before[tool.name] for tool in self._tools},
        )

    async def _run(self, thread: str, act: Act) -> Mapping[str, Any]:
        config: Any = {"configurable": {"thread_id": thread}}
        tasks = [{"id": name, "goal": goal} for name, goal in zip("ab", act.goals, strict=True)]
        loop = asyncio.get_running_loop()
        self._times = [loop.time()]
        out = await self._agent.ainvoke({"tasks": tasks, "messages": []}, config)
        delivered = False
        while asked := out.get("__interrupt__"):
            stored = (await self._agent.aget_state(config)).values["ledger"]
            self._secrets["key"] = [
                event["call"]["key"] for event in stored if event["kind"] == "call_proposed"
            ]
            self._secrets["call_id"] = [
                event["call"]["call_id"] for event in stored if event["kind"] == "call_proposed"
            ]
            if asked[0].value["type"] == "parked" and delivered:
                await asyncio.sleep(_PATIENCE)
                self._times.append(loop.time())
                self._deliver(act)
            delivered = asked[0].value["type"] == "parked"
            answers = {item.id: self._answer(item.value, act) for item in asked}
            out = await self._agent.ainvoke(Command(resume=answers), config)
        return (await self._agent.aget_state(config)).values  # type: ignore[no-any-return]

    def _answer(self, question: Mapping[str, Any], act: Act) -> Any:
        if question["type"] == "parked":
            return self._fill(act.resumed)
        return {**self._fill(dict(act.answered)), REFUSED: False, APPROVED: True}

    def _deliver(self, act: Act) -> None:
        """Steal first, then deliver, then deliver once more."""
        [token] = self._secrets["token"]
        for stolen in act.stolen:
            _refused(self._inbox, str(self._fill(stolen)))
        self._said["order"] = self._fill(act.delivered)
        self._inbox.deliver(token, self._said["order"])
        _refused(self._inbox, token)


def by_call(story: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the events of each call without times.

    The wrappers of ``create_agent`` race, so that the order of calls differs between runs.
    """
    calls_told: dict[str, list[dict[str, Any]]] = {name: [] for name in LATENCIES}
    for event in story:
        if (name := event.get("key")) is not None:
            calls_told[name].append({what: value for what, value in event.items() if what != "at"})
    return calls_told


def moments(story: Sequence[Mapping[str, Any]], kind: str) -> dict[str, float]:
    """Return the time of an event of a kind for each call, in seconds from the beginning."""
    return {event["key"]: event["at"] for event in story if event["kind"] == kind}


def _refused(inbox: Inbox, token: str) -> None:
    try:
        inbox.deliver(token, "forged")
    except UnknownTokenError:
        return
    raise AssertionError(f"a delivery with the token {token!r} was taken")


def _all_at_once(messages: Sequence[BaseMessage], tools: Sequence[ToolSchema]) -> Step:
    """Call everything at once; after that there is nothing to do but to wait."""
    if not any(message.type == "ai" for message in messages):
        return calls(*((name, {"task_id": task}) for name, task in _TASKS.items()))
    return "Noted."


def _story(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the events in a form that can be compared: calls by name, times from the beginning."""
    names = {
        event["call"]["key"]: event["call"]["tool"]
        for event in events
        if event["kind"] == "call_proposed"
    }
    began = events[0]["at"]
    story = []
    for event in events:
        told = {name: _named(value, names) for name, value in event.items() if name not in _WORDS}
        if "call" in event:
            told["call"] = {
                name: event["call"][name]
                for name in ("tool", "task", "ordinal", "arguments", "fingerprint")
            }
        story.append(told | {"at": round(event["at"] - began, 6)})
    return story


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


BLOCK = re.compile(
    rf'<result-{NONCE} call="\w+#\d" tool="\w+" task="[ab]" status="\w+">\n(?:(?!{NONCE}).)*?\n</result-{NONCE}>',
    re.DOTALL,
)
"""A result between its delimiters, as the runtime writes it."""
