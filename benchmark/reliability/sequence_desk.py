"""The agent of a sequence: its tools, model, saver and journal, which can die at each durable point."""

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Siblings,
    Timing,
    ToolFault,
    ToolSpec,
    build_agent,
)
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Fresh, Journal, Verdict
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from reliability.cases import Build, Case
from reliability.effectlog import EffectLog, Line, What
from reliability.places import Place
from reliability.sequence_plans import Death, Fault, Life, Plan, Tool

_CONFIG = GuardConfig(
    grounding=False,
    premature=False,
    siblings=Siblings.DECLARED,
    timing=Timing(retry_initial=0.02, retry_jitter=0.01, grace=0.0, linger=0.0),
)
_TIMEOUT, _SLOW = 0.25, 0.6
"""Seconds after which a slow call is given up, and that it takes."""
_CHANNELS = {"__interrupt__": "question stored", "__resume__": "answer stored"}
"""Points by LangGraph's channels for what a person is asked and answers."""


class RefusedError(Exception):
    """HTTP 422 of a service."""

    def __init__(self) -> None:
        """Make the error as HTTP clients do."""
        super().__init__("HTTP 422")
        self.response = type("Response", (), {"status_code": 422, "headers": {}})()


class Points:
    """Durable points of one process, at one of which it is killed or frozen."""

    def __init__(self, log: EffectLog, death: Death | None) -> None:
        """Make them."""
        self._log, self._death, self._passed = log, death, 0

    def at(self, point: str) -> None:
        """Say that a point is reached."""
        if self._death is None or self._death.point not in ("", point):
            return
        self._passed += 1
        if self._passed == self._death.occurrence:
            self._log.add(
                What.KILL, note=f"{'frozen' if self._death.freezes else 'killed'} {point}"
            )
            os.kill(os.getpid(), signal.SIGSTOP if self._death.freezes else signal.SIGKILL)

    # What a watched saver tells, see `savers._Watched`.

    def before(self, writes: Iterable[Any] = ()) -> None:
        """Note that something is about to be stored."""
        self.at("saving")

    def wrote(self, writes: Iterable[Any]) -> None:
        """Note that the writes of a node were stored."""
        channels = {channel for channel, *_ in writes}
        for channel, point in _CHANNELS.items():
            if channel in channels:
                self.at(point)

    def after(self) -> None:
        """Note that a step was stored."""
        self.at("saved")


class WatchedJournal:
    """The journal, with points around its writes."""

    def __init__(self, journal: Journal, points: Points) -> None:
        """Wrap a journal."""
        self._journal, self._points = journal, points

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute from the journal."""
        return getattr(self._journal, name)

    async def begin(self, intent: Intent) -> Verdict:
        """Ask whether an attempt may begin."""
        self._points.at("before intent")
        verdict = await self._journal.begin(intent)
        if isinstance(verdict, Fresh):
            self._points.at("intent")
        return verdict

    async def end(self, key: str, attempt: int, result: Any) -> None:
        """Write down an outcome."""
        await self._journal.end(key, attempt, result)
        self._points.at("ended")

    def end_soon(self, key: str, attempt: int, result: Any) -> None:
        """Write down an outcome soon."""
        self._journal.end_soon(key, attempt, result)
        self._points.at("ended")


@dataclass(kw_only=True)
class Desk:
    """State that the processes of one play share, as one of them has it."""

    case: Case
    place: Place
    number: int
    plan: Plan
    life: Life
    log: EffectLog
    points: Points
    shown: list[Any] = field(default_factory=list)
    """Open questions that this process was shown last."""
    made: int = 0

    @property
    def config(self) -> Any:
        """Config that names the thread."""
        return {"configurable": {"thread_id": self.case.name}}

    # -- tools ---------------------------------------------------------------------------------------------------

    def tools(self) -> list[Any]:
        """Return the tools: sync ones under ``invoke``."""
        made = []
        for tool in self.plan.tools:
            args = {"item": str} | ({"key": (str, "")} if tool.effect == "keyed" else {})
            run: Any = partial(self._enter if self.plan.sync else self._enter_async, tool)
            made.append(scripted_tool(tool.name, run, args=args))
        return made

    def specs(self) -> list[ToolSpec]:
        """Return their declarations."""
        return [
            ToolSpec(
                name=tool.name,
                effect=cast(Any, tool.effect.value),
                atomic=tool.atomic,
                approval=tool.approval,
                interrupts=bool(tool.asks or tool.asks_after),
                fallbacks=tool.fallbacks,
                key_argument="key" if tool.effect == "keyed" else None,
                timeout=_TIMEOUT if Fault.SLOW in tool.faults else None,
                reads=(),
                writes=() if tool.acts else None,
                takes_from=(),
            )
            for tool in self.plan.tools
        ]

    def _enter(self, tool: Tool, arguments: dict[str, Any]) -> str:
        slow, text = self._act(tool, arguments)
        time.sleep(slow)
        return self._answer(tool, arguments["item"], text)

    async def _enter_async(self, tool: Tool, arguments: dict[str, Any]) -> str:
        slow, text = self._act(tool, arguments)
        await asyncio.sleep(slow)
        return self._answer(tool, arguments["item"], text)

    def _act(self, tool: Tool, arguments: dict[str, Any]) -> tuple[float, str]:
        """Run one try of a call up to its answer; return how late the answer is, and its text."""
        item, told = arguments["item"], {"tool": tool.name, "item": arguments["item"]}
        before = [line for line in self.log.lines() if _is(line, tool.name, item)]
        counted = {What.BEGUN: 1, What.DECLINED: 1, What.PAUSED: -1}
        tries = sum(counted.get(line.what, 0) for line in before)
        fault = tool.faults[tries] if tries < len(tool.faults) else Fault.NONE
        self.points.at("entered")
        for number in range(tool.asks):
            self._ask(tool, item, number, tries)
        if fault in (Fault.REFUSED, Fault.CLOSED, Fault.STATUS):
            self.log.add(What.DECLINED, note=fault.value, **told)
            self.points.at("refused")
            if fault is Fault.STATUS:
                raise RefusedError
            raise ToolFault("refused", transient=fault is Fault.REFUSED, started=False)
        self.log.add(What.BEGUN, key=arguments.get("key", ""), **told)
        self.points.at("begun")
        self._fail(fault is Fault.RESET, ConnectionResetError("cut"), told)
        text = self._effect(tool, item, arguments.get("key", ""))
        self.points.at("effect")
        if tool.asks_after:
            try:
                self._ask(tool, item, tool.asks, tries)
            except GraphInterrupt:
                self.log.add(What.PAUSED, **told)
                raise
        self._fail(fault is Fault.LOST, ConnectionResetError("cut"), told)
        self._fail(fault is Fault.BAD, ValueError("not understood"), told)
        return (_SLOW if fault is Fault.SLOW else 0.0), text

    def _fail(self, fails: bool, error: Exception, told: dict[str, str]) -> None:
        if fails:
            self.log.add(What.FAILED, note=str(error), **told)
            self.points.at("failed")
            raise error

    def _effect(self, tool: Tool, item: str, key: str) -> str:
        """Let the effect happen; the provider of a keyed tool knows its keys."""
        with self.log.locked() as page:
            known = page.find(What.EFFECT, tool=tool.name, key=key) if key else None
            text = f"R{len(page.lines) + 1}/{tool.name}/{item}" if known is None else known.receipt
            if tool.acts:
                what = What.EFFECT if known is None else What.REPEATED
                page.add(what, tool=tool.name, item=item, key=key, receipt=text)
        return text

    def _answer(self, tool: Tool, item: str, text: str) -> str:
        self.log.add(What.RETURNED, tool=tool.name, item=item, receipt=text)
        self.points.at("returned")
        return text

    def _ask(self, tool: Tool, item: str, number: int, tries: int) -> None:
        question = {"item": item, "tool": tool.name, "question": f"{number}.{tries}"}
        given = interrupt(question)
        self.log.add(What.GOT, tool=tool.name, item=item, key=question["question"], note=str(given))
        self.points.at("answered")

    # -- model ---------------------------------------------------------------------------------------------------

    def speak(self, messages: Sequence[Any], tools: Any) -> Any:
        """Return the model's next message: the next wave, each item made for this message alone."""
        if wrong := _unanswered(messages):
            self.log.add(What.UNANSWERED, note=wrong)
        said = {
            str(call["args"].get("item", "")).partition("_")[0]
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        step: Any = "all done"
        for place, wave in enumerate(self.plan.waves):
            due = [(f"w{place}c{n}", *call) for n, call in enumerate(wave)]
            left = [call for call in due if call[0] not in said]
            if left:
                step = calls(*map(self._made, left))
                break
        self.points.at("said")
        return step

    def _made(self, call: tuple[str, str, str]) -> tuple[str, dict[str, Any]]:
        base, name, task = call
        self.made += 1
        item = f"{base}_{self.number}x{self.made}"
        self.log.add(What.MADE, tool=name, item=item, note=task)
        return name, {"item": item, **({"task_id": task} if len(self.plan.tasks) > 1 else {})}

    def model(self) -> ScriptedChatModel:
        """Return the scripted model."""
        return ScriptedChatModel(self.speak, id_prefix=f"life{self.number}")

    def agent(self, saver: Any, journal: Any) -> Any:
        """Return the agent."""
        options: dict[str, Any] = {"specs": self.specs(), "config": _CONFIG, "journal": journal}
        if self.case.build is Build.GRAPH:
            return build_agent(self.model(), self.tools(), checkpointer=saver, **options)
        guard = AsyncGuardMiddleware(tools=self.tools(), **options)
        return create_agent(self.model(), self.tools(), middleware=[guard], checkpointer=saver)


def _is(line: Line, tool: str, item: str) -> bool:
    return line.tool == tool and line.item == item


def _unanswered(messages: Sequence[Any]) -> str:
    """Return the calls of a request that do not have exactly one answer, right after their message."""
    wrong: list[str] = []
    for place, message in enumerate(messages):
        if not isinstance(message, AIMessage) or not message.tool_calls:
            continue
        told: list[str] = []
        for later in messages[place + 1 :]:
            if not isinstance(later, ToolMessage):
                break
            told.append(later.tool_call_id)
        wanted = [str(call["id"]) for call in message.tool_calls]
        wrong += [call for call in {*wanted, *told} if told.count(call) != wanted.count(call)]
    return " ".join(sorted(wrong))
