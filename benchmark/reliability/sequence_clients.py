"""The processes of a sequence: an agent whose tools, saver and journal can die at each durable point, and its client.

The client is one generator for both ways of calling an agent; it knows what it was shown, by this
process or by an earlier one, from the effect log.
"""

import asyncio
import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    GuardConfig,
    Siblings,
    ThreadBusyError,
    Timing,
    ToolFault,
    ToolSpec,
    build_agent,
    open_journal,
)
from asyncguard.cli.app import main as asyncguard_command
from asyncguard.core.calls import CallState
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Fresh, Journal, Verdict
from asyncguard.journal.sql import leases, maintenance
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from reliability.cases import Build, Case
from reliability.children import ASKED, PATIENCE, RAISED, Child, Children
from reliability.effectlog import EffectLog, Line, What, read_log
from reliability.lives import dump, say_where
from reliability.places import Place
from reliability.savers import WatchedSqlite, WatchedSqliteSync
from reliability.sequence_plans import Death, Do, Fault, Life, Plan, Tool, plan_of

_CONFIG = GuardConfig(
    grounding=False,
    premature=False,
    siblings=Siblings.DECLARED,
    timing=Timing(retry_initial=0.02, retry_jitter=0.01, grace=0.0, linger=0.0),
)
_TIMEOUT, _SLOW = 0.25, 0.6
"""Seconds after which a slow call is given up, and that it takes."""
_LEASE, _BUSY, _HEIR = 1.0, 0.1, 2.5
"""Seconds after which a frozen process loses its thread, between two looks at a busy one, and for
which the next process has the thread alone."""
_STEPS = 25
"""Answers after which a thread has to have come to its end."""
_LIVES = 3
"""Processes that may raise at the end, where a saver's lock or a lease is left."""
_UNKNOWN = "0" * 32
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
            self._log.add(What.KILL, note=f"{'frozen' if self._death.freezes else 'killed'} {point}")
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
    """What the processes of one play share, as one of them has it."""

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
        self.log.add(
            What.GOT, tool=tool.name, item=item, key=question["question"], note=str(given)
        )
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


# -- what the client does ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Run:
    """One use of the agent."""

    given: Any
    config: Any
    leaves: int = 0
    """Steps after which the client closes the stream; 0 for ``invoke``."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look at the thread: its state, or with ``history`` all its states, newest first."""

    history: bool = False


Talk = Generator[Any, Any, None]


def _talk(desk: Desk, acts: Sequence[Do], *, ends: bool) -> Talk:
    """Do what the plan says; at the end of a sequence answer until nothing is asked."""
    for place, act in enumerate(acts):
        state = yield Look()
        drawn = desk.plan.random(f"act {desk.number} {place}")
        # A thread that has only stored its input knows no task yet: it is resumed first.
        early = act is Do.BEGIN or not any(line.what is What.MADE for line in desk.log.lines())
        chosen = Do.BEGIN if state.created_at is None else Do.RESUME if early else act
        yield from _do(desk, chosen, drawn)
    if not ends:
        return
    state = yield Look()
    yield from _do(desk, Do.BEGIN if state.created_at is None else Do.RESUME, None)
    # A thread whose run has ended learns what an operator said with its next message.
    news = [Do.MESSAGE] if any(line.what is What.SETTLED for line in desk.log.lines()) else []
    for _ in range(_STEPS):
        if not desk.shown and not news:
            return
        yield from _do(desk, Do.ANSWER if desk.shown else news.pop(), None)
    raise RuntimeError(f"The thread asked {_STEPS} times and did not come to its end.")


def _do(desk: Desk, act: Do, drawn: Any) -> Talk:
    """Do one thing, and note what came of it."""
    run = yield from _run_for(desk, act, drawn)
    desk.log.add(What.ACTS, note=act.value)
    refused = ""
    try:
        desk.shown = list((yield run) or ())
    except CallerError as error:
        refused = f"refused: {error}"
        desk.shown = []
    for asked in desk.shown:
        for item, key in _asked(asked):
            desk.log.add(What.ASKED, item=item, key=asked.id, note=key)
    told = f"{act.value} {_task(run.given)}".strip()
    desk.log.add(What.DID, note=refused or told)


def _task(given: Any) -> str:
    update = given.update if isinstance(given, Command) else given
    return str(update["cancel"][0]) if isinstance(update, dict) and "cancel" in update else ""


def _asked(question: Any) -> list[tuple[str, str]]:
    """Return item and key of each call that a question is about; the key of a tool's own is JSON."""
    value = question.value
    if "calls" in value:
        return [(call["arguments"]["item"], call["key"]) for call in value["calls"]]
    return [(value["item"], json.dumps(value, sort_keys=True))]


def _run_for(desk: Desk, act: Do, drawn: Any) -> Generator[Any, Any, Run]:
    config = desk.config
    cancel = {"cancel": [drawn.choice(desk.plan.tasks)]} if drawn is not None else {}
    match act:
        case Do.BEGIN:
            return Run(given=_first(desk), config=config)
        case Do.ANSWER | Do.PARTLY:
            return Run(given=_answers(desk, drawn, partly=act is Do.PARTLY), config=config)
        case Do.LATE:
            return Run(given=_late(desk, drawn), config=config)
        case Do.UNKNOWN:
            return Run(given=Command(resume={_UNKNOWN: "unknown"}), config=config)
        case Do.CANCEL:
            return Run(given={"messages": [], **cancel}, config=config)
        case Do.BESIDE:
            answers = _answers(desk, drawn, partly=False)
            given = {"messages": [], **cancel}
            if answers is not None:
                given = Command(resume=answers.resume, update=cancel)
            return Run(given=given, config=config)
        case Do.MESSAGE:
            return Run(given={"messages": [("user", "How far are you?")]}, config=config)
        case Do.FORK:
            states = yield Look(history=True)
            asked = [state for state in states if state.interrupts]
            among = asked if asked and drawn.random() < 0.6 else states[:8]
            desk.log.add(What.FORKED)
            return Run(given=None, config=drawn.choice(among).config)
        case Do.LEAVE:
            return Run(given=None, config=config, leaves=drawn.randint(1, 4))
        case _:
            return Run(given=None, config=config)


def _first(desk: Desk) -> dict[str, Any]:
    if len(desk.plan.tasks) == 1:
        return {"messages": [("user", "Pay.")]}
    goals = [{"id": task, "goal": f"Do {task}."} for task in desk.plan.tasks]
    more = {} if desk.case.build is Build.GRAPH else {"messages": []}
    return {"tasks": goals, **more}


def _open(desk: Desk) -> dict[str, list[Line]]:
    """Return the questions that the client takes for open, by id: those that the last act showed."""
    lines = desk.log.lines()
    last = max((line.n for line in lines if line.what is What.ACTS), default=0)
    return _by_id(line for line in lines if line.n > last)


def _by_id(lines: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        if line.what is What.ASKED:
            found.setdefault(line.key, []).append(line)
    return found


def _answers(desk: Desk, drawn: Any, *, partly: bool) -> Command[Any] | None:
    """Return answers to what is open; ``None`` where nothing is known to be."""
    known = _open(desk)
    if not known:
        return None
    ids = [drawn.choice(sorted(known))] if partly else list(known)
    values = {name: _value(desk, known[name], drawn) for name in ids}
    plainly = len(known) == 1 and len(desk.shown) == 1 and (drawn is None or drawn.random() < 0.6)
    return Command(resume=values[ids[0]] if plainly else values)


def _late(desk: Desk, drawn: Any) -> Command[Any] | None:
    known, left = _open(desk), _by_id(desk.log.lines())
    old = sorted(set(left) - set(known))
    if not old:
        return None
    name = drawn.choice(old)
    return Command(resume={name: _value(desk, left[name], drawn)})


def _value(desk: Desk, asked: Sequence[Line], drawn: Any) -> Any:
    """Return the answer to a question: one of its own for a tool's, yes or no for each held call."""
    if not asked[0].note.startswith("{"):
        said = {line.item: drawn is None or drawn.random() < 0.75 for line in asked}
        for item, yes in said.items():
            desk.log.add(What.ANSWERED, item=item, note="yes" if yes else "no")
        return {line.note: said[line.item] for line in asked}
    question = json.loads(asked[0].note)
    place = f"{question['item']}/{question['tool']}/{question['question']}"
    with desk.log.locked() as page:
        value = f"A{len(page.lines) + 1}/{place}"
        page.add(What.GIVEN, item=question["item"], tool=question["tool"], note=value)
    return value


# -- lives ---------------------------------------------------------------------------------------------------------


def live(case: Case, place: Place, number: int, life: Life, *, ends: bool) -> None:
    """Run one life and end the process.

    Args:
        case: Case to play.
        place: Its place.
        number: Number of the process.
        life: What it does.
        ends: True if it brings the thread to its end.
    """
    code = 0
    try:
        leases.LEASE, leases.RENEWAL = _LEASE, _LEASE / 3
        maintenance.RENEWAL = _LEASE / 3  # type: ignore[attr-defined] # imported there
        log = EffectLog(place.effects, number)
        desk = Desk(
            case=case,
            place=place,
            number=number,
            plan=plan_of(case.seed),
            life=life,
            log=log,
            points=Points(log, life.death),
        )
        if desk.plan.sync:
            faulthandler.register(ASKED, all_threads=True)
            _alive(desk, ends=ends)
        else:
            asyncio.run(_alive_async(desk, ends=ends))
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _journal(desk: Desk) -> Iterator[Any]:
    if not desk.plan.journal:
        yield False
        return
    journal = open_journal(desk.place.journal(desk.case))
    yield WatchedJournal(journal, desk.points)
    journal.close()


def _alive(desk: Desk, *, ends: bool) -> None:
    path = str(desk.place.folder / "threads.db")
    with WatchedSqliteSync.from_conn_string(path) as saver, _journal(desk) as journal:
        saver.setup()
        saver.steps = cast(Any, desk.points)
        graph, talk = desk.agent(saver, journal), _talk(desk, desk.life.acts, ends=ends)
        asked = next(talk, None)
        while asked is not None:
            asked = _sent(talk, partial(_use, graph, asked, desk))
        if ends:
            dump(graph.get_state(desk.config), desk.place.state)


def _sent(talk: Talk, use: Callable[[], Any]) -> Any:
    """Do what the client asks for, and tell it what came of it; return what it asks for next."""
    try:
        try:
            told = use()
        except CallerError as error:
            return talk.throw(error)
        return talk.send(told)
    except StopIteration:
        return None


def _use(graph: Any, asked: Any, desk: Desk) -> Any:
    if isinstance(asked, Look):
        config = desk.config
        return list(graph.get_state_history(config)) if asked.history else graph.get_state(config)
    while True:
        try:
            if not asked.leaves:
                result = graph.invoke(asked.given, asked.config, durability="sync")
                return result.get("__interrupt__")
            stream = graph.stream(
                asked.given, asked.config, durability="sync", stream_mode="updates"
            )
            found: list[Any] = []
            for number, update in enumerate(stream, 1):
                found += update.get("__interrupt__", ())
                if number == asked.leaves:
                    stream.close()
                    break
            return found
        except ThreadBusyError as error:
            sys.stdout.write(f"busy: {error}\n")
            time.sleep(_BUSY)


async def _alive_async(desk: Desk, *, ends: bool) -> None:
    asyncio.get_running_loop().add_signal_handler(ASKED, say_where)
    async with _saver(desk) as saver:
        with _journal(desk) as journal:
            graph, talk = desk.agent(saver, journal), _talk(desk, desk.life.acts, ends=ends)
            asked = next(talk, None)
            while asked is not None:
                try:
                    told = await _use_async(graph, asked, desk)
                    use: Callable[[], Any] = lambda told=told: told  # noqa: E731
                except CallerError as error:
                    use = partial(_raise, error)
                asked = _sent(talk, use)
            if ends:
                dump(await graph.aget_state(desk.config), desk.place.state)


def _raise(error: Exception) -> None:
    raise error


@asynccontextmanager
async def _saver(desk: Desk) -> AsyncIterator[Any]:
    path = str(desk.place.folder / "threads.db")
    async with WatchedSqlite.from_conn_string(path) as saver:
        await saver.setup()
        saver.steps = cast(Any, desk.points)
        yield saver


async def _use_async(graph: Any, asked: Any, desk: Desk) -> Any:
    if isinstance(asked, Look):
        if asked.history:
            return [state async for state in graph.aget_state_history(desk.config)]
        return await graph.aget_state(desk.config)
    while True:
        try:
            if not asked.leaves:
                result = await graph.ainvoke(asked.given, asked.config, durability="sync")
                return result.get("__interrupt__")
            stream = graph.astream(
                asked.given, asked.config, durability="sync", stream_mode="updates"
            )
            found: list[Any] = []
            number = 0
            async for update in stream:
                number += 1
                found += update.get("__interrupt__", ())
                if number == asked.leaves:
                    await stream.aclose()
                    break
            return found
        except ThreadBusyError as error:
            sys.stdout.write(f"busy: {error}\n")
            await asyncio.sleep(_BUSY)


def settle(case: Case, place: Place, number: int) -> None:
    """Be an operator: settle each doubt by command, as the effect log has it, and end the process."""
    code = 0
    try:
        log, plan = EffectLog(place.effects, number), plan_of(case.seed)
        path = place.journal(case)
        journal = open_journal(path)
        doubts = journal.entries(states=[CallState.IN_DOUBT])
        journal.close()
        for entry in doubts:
            item = str(entry.arguments.get("item"))
            done = [line for line in log.lines() if line.what is What.EFFECT and line.item == item]
            again = plan.random(f"operator {item}").random() < 0.5
            words = ["resolve", entry.key, "--happened", "--result", done[0].receipt] if done else (
                ["retry", entry.key] if again else ["resolve", entry.key, "--not-happened"]
            )
            said = asyncguard_command(["ledger", *words, "--yes", "--journal", path])
            if said == 0:
                log.add(What.SETTLED, item=item, note=words[2] if len(words) > 2 else words[0])
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    os._exit(code)


# -- the play ------------------------------------------------------------------------------------------------------


def play_sequence(case: Case, place: Place, children: Children) -> list[str]:
    """Play a sequence to its end; return what went otherwise than it should."""
    plan, frozen = plan_of(case.seed), list[Child]()
    try:
        for life in plan.lives:
            last = not plan.journal
            acts = tuple(act for act in life.acts if act is not Do.OPERATOR) or (Do.RESUME,)
            if Do.OPERATOR in life.acts and plan.journal and children.all and not frozen:
                children.fork(partial(settle, case, place), "operator").ends()
            chosen = Life(acts=acts, death=life.death)
            child = children.fork(
                lambda number, chosen=chosen, last=last: live(
                    case, place, number, chosen, ends=last
                )
            )
            if _stopped(place, child, life):
                frozen.append(child)
                continue
            if frozen:
                child.wait(_HEIR)
                _thaw(frozen)
                child.ends()  # it may raise: a frozen process can have the database locked
            elif found := _ended(children, child, life):
                return found
        _thaw(frozen)
        return [] if not plan.journal else _to_the_end(case, place, children)
    finally:
        children.end_all()


def _stopped(place: Place, child: Child, life: Life) -> bool:
    """Return True if a process has frozen itself; wait for that or its end, if it may."""
    if life.death is None or not life.death.freezes:
        return False
    deadline = time.monotonic() + PATIENCE
    while not child.wait(_BUSY) and time.monotonic() < deadline:
        if any(line.what is What.KILL and line.pid == child.pid for line in _lines(place)):
            child.stopped = True
            return True
    return False


def _lines(place: Place) -> Sequence[Line]:
    try:
        return read_log(place.effects)
    except ValueError:  # a line is being written
        return ()


def _thaw(frozen: list[Child]) -> None:
    for child in frozen:
        child.go_on()
        child.ends()
    frozen.clear()


def _ended(children: Children, child: Child, life: Life) -> list[str]:
    if not child.ends():
        children.ask()
        return [f"process {child.number} did not end within {PATIENCE:g} s"]
    killed = life.death is not None and child.code == -signal.SIGKILL
    if child.code == 0 or killed:
        return []
    return [f"process {child.number} ended with {child.code} ({children.last_words(child)})"]


def _to_the_end(case: Case, place: Place, children: Children) -> list[str]:
    life = Life(acts=())
    found: list[str] = []
    for _ in range(_LIVES):
        child = children.fork(lambda number: live(case, place, number, life, ends=True))
        found = _ended(children, child, life)
        if child.code != RAISED:
            break
    return found
