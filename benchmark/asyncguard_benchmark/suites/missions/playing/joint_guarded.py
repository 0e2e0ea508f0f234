"""Overlapping missions with asyncguard in between: as the state machine of ``build_agent``, and as middleware.

Each mission is a task of one thread. When the user has something to say, and the run waits for results or is to ask the
agent, the run is broken off and the words are the next input of the thread, as a chat does it. Calls go on meanwhile.
A text without calls counts as told if the runtime lets it pass; of one that it takes as interim, what concerns missions
without open calls.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import Runnable
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard import (
    Details,
    GuardConfig,
    Mode,
    Ports,
    ToolSpec,
)
from asyncguard.core import events as ev
from asyncguard_benchmark.harness.arms import Arm
from asyncguard_benchmark.harness.players.answers import AnswerBook
from asyncguard_benchmark.harness.players.declarations import (
    OWN_TOOLS,
    own_specs,
    specs_of_tools,
    unreachable_tool,
)
from asyncguard_benchmark.harness.players.guarded import on_own_loop
from asyncguard_benchmark.harness.players.interventions import Watcher
from asyncguard_benchmark.harness.players.refusals import Refuser
from asyncguard_benchmark.harness.players.ticks import StalledError, TickClock, TickExecutor
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT
from asyncguard_benchmark.suites.missions.agents.together import (
    Together,
    said_of,
    task_name,
)
from asyncguard_benchmark.suites.missions.playing import chat
from asyncguard_benchmark.suites.missions.playing.guarded import (
    KEPT,
    NOT_MADE,
    SAID,
    RuntimeModel,
    calls_told,
    imitated,
    own_call,
    runnable_of,
    said_before,
)
from asyncguard_benchmark.suites.missions.playing.joint_case import (
    JointBegun,
    JointCase,
    JointPlayed,
    joint_gold,
)
from asyncguard_benchmark.suites.missions.playing.joint_course import JointCourse
from asyncguard_benchmark.suites.missions.playing.shelf import shelf

_THREAD: Any = {"configurable": {"thread_id": "missions"}}
_TASK_NAME = re.compile(r"^\[m\d+\] (?=\[m)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class JointGuardedPlayer:
    """A player with the guards of an arm."""

    name: str
    """`graph` or `middleware`."""
    arm: Arm

    def __call__(self, case: JointCase, agent: Together) -> JointPlayed:
        """Play the missions of a dialogue; a sham plays them three times, to see what it is to imitate."""
        play = partial(self._play, case, agent)
        if not self.arm.sham:
            return play(self.arm, None)[0]
        key = (case.dialogue, case.overlap, case.regime.value, case.seed)
        played, wanted = imitated(play, self.arm, key)
        return replace(played, notes={**played.notes, **wanted})

    def _play(
        self, case: JointCase, agent: Together, arm: Arm, refuser: Refuser | None
    ) -> tuple[JointPlayed, Watcher]:
        shammed = refuser is not None
        refuser = refuser or Refuser({} if arm.drops is None else {arm.drops: NOT_MADE})
        stage = _stage(case, agent, arm, refuser)
        on_own_loop(_conversation(runnable_of(self.name, stage, case.system()), stage))
        notes = {
            "interventions": stage.watcher.interventions(),
            "involved": stage.watcher.involved(),
            "refused": refuser.made,
            **({"reminded": refuser.reminded} if shammed else {}),
            "broken_off": stage.breaker.count,
            **stage.watcher.faults(),
        }
        played = JointPlayed(begun=stage.begun, messages=stage.model.heard[1:], notes=notes)
        return played, stage.watcher


@dataclass(kw_only=True)
class _Breaker:
    """Breaks off the run under way."""

    count: int = 0
    run: asyncio.Future[Any] | None = None
    broken: bool = False

    async def __call__(self) -> None:
        """Break it off; does not return."""
        if self.run is None:
            raise AssertionError("a run is broken off only while it is under way")
        self.broken = True
        self.count += 1
        self.run.cancel()
        await asyncio.Event().wait()


@dataclass(frozen=True, kw_only=True)
class _Stage:
    begun: JointBegun
    model: "_JointModel"
    specs: Sequence[ToolSpec]
    config: GuardConfig
    ports: Ports
    executor: TickExecutor
    watcher: Watcher
    breaker: _Breaker
    tools: Sequence[Any]


async def _conversation(runnable: Runnable[Any, Any], stage: _Stage) -> None:
    """Run the thread with each thing that the user says."""
    course, breaker = stage.begun.course, stage.breaker
    while not course.over:
        if not course.speaks:
            if course.any_open:
                course.truncated = True  # the run has ended, and no one has more to say
                return
            course.clock.advance()
            stage.executor.poll()
            continue
        replies, new = course.speak()
        given = {
            "messages": [HumanMessage("\n".join(replies))] if replies else [],
            "tasks": [
                {"id": task_name(each), "goal": said_of(each, course.texts[each])} for each in new
            ],
        }
        breaker.run = asyncio.ensure_future(
            runnable.ainvoke(
                {name: each for name, each in given.items() if name != "tasks" or each}, _THREAD
            )
        )
        try:
            await breaker.run
        except asyncio.CancelledError:
            if not breaker.broken:
                raise
            breaker.broken = False


@lru_cache(maxsize=256)
def _specs(dialogue: str) -> tuple[ToolSpec, ...]:
    mode, names = Mode.BACKGROUND, map(task_name, range(len(joint_gold(dialogue).missions)))
    tasks = frozenset(names)
    # The missions share one world, so what one writes the others read.
    specs = (
        replace(each, tasks=tasks, reads=_shared(each.reads), writes=_shared(each.writes))
        for each in specs_of_tools(shelf(dialogue).tools, task_name(0), mode)
    )
    return (*specs, *own_specs(mode))


def _shared(resources: Sequence[str] | None) -> tuple[str, ...] | None:
    if resources is None:
        return None
    return tuple(each.replace("{task_id}", "world") for each in resources)


def _stage(case: JointCase, agent: Together, arm: Arm, refuser: Refuser) -> _Stage:
    begun, breaker = case.begun(), _Breaker()
    course = begun.course
    limits = replace(arm.config.limits, max_model_turns=8 * course.cap, max_rejections=10_000)
    config = replace(arm.config, limits=limits)
    executor = TickExecutor(course.clock, idle_waits=config.waiting)
    course.number_of = executor.number
    numbers = iter(range(10_000))
    watcher, book = Watcher(config, executor.number), AnswerBook(executor)
    tools = shelf(case.dialogue).tools
    model = _JointModel(
        agent=agent,
        course=course,
        book=book,
        refuser=refuser,
        break_off=breaker,
        waits=config.completion and config.waiting and config.ledger and not config.shadow,
        known=frozenset(tools) if not config.arguments or config.shadow else None,
        wording=arm.wording,
    )
    return _Stage(
        begun=begun,
        model=model,
        specs=_specs(case.dialogue),
        config=config,
        ports=Ports(
            clock=_JointClock(course, executor, breaker),
            executor=executor,
            observers=(watcher, book, model.judged),
            new_id=lambda: f"id{next(numbers)}",
        ),
        executor=executor,
        watcher=watcher,
        breaker=breaker,
        tools=[*map(unreachable_tool, tools.values()), *OWN_TOOLS],
    )


class _JointClock(TickClock):
    """Time in ticks, in which the user may break a wait."""

    def __init__(self, course: JointCourse, executor: TickExecutor, break_off: _Breaker) -> None:
        super().__init__(course.clock, executor)
        self._course, self._ticks, self._break_off = course, executor, break_off

    @override
    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Let ticks pass until the event is set or the user speaks, or not at all if a time-out is given."""
        for _ in range(3):  # a task that is about to set the event is on the same loop
            await asyncio.sleep(0)
        while not event.is_set() and timeout is None:
            if self._course.speaks or self._course.over:
                await self._break_off()
            if not self._ticks.pending():
                raise StalledError("the runtime waits although no call is pending")
            self._course.clock.advance()
            self._ticks.poll()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return event.is_set()


class _JointModel(RuntimeModel):
    """The agents of all missions; any of their texts may reach a runtime that waits."""

    agent: SkipValidation[Together]
    course: SkipValidation[JointCourse]
    break_off: SkipValidation[_Breaker]
    unjudged: SkipValidation[AIMessage | None] = None
    """A text that the runtime has not judged yet."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        raise AssertionError("overlapping missions are played on an event loop")

    @override
    async def asay(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the agent's message in the runtime's terms."""
        if self.course.speaks or self.course.over:
            await self.break_off()
        sent = self._to_agent(messages)
        said = self.agent.say(sent)
        waits = self.course.hear(said)
        self.heard = [*sent, said]
        return self._to_runtime(said, waits=waits)

    def judged(self, details: Details) -> None:
        """Take the verdict of the runtime on a text; never raise, as an observer that does is left out."""
        event = details.event
        if not isinstance(event, ev.CompletionJudged) or self.unjudged is None:
            return
        said, self.unjudged = self.unjudged, None
        if event.verdict is ev.CompletionVerdict.NUDGE:
            return
        interim = event.verdict is ev.CompletionVerdict.WAIT
        clock = self.course.clock
        open_calls = {int(each.task_id[1:]) - 1 for each in clock.pending()} if interim else set()
        self.course.tell(said, open_calls)

    # -- to the runtime --------------------------------------------------------------------------------------------

    def _to_runtime(self, said: AIMessage, *, waits: bool) -> AIMessage:
        keep = {SAID: {name: getattr(said, name) for name in KEPT}}
        number = f"idle{self.course.clock.tick}"
        calls = [self._call(each) for each in said.tool_calls]
        if calls:
            names = {task_name(each): each for each in range(self.course.put)}
            tasks = (each["args"].get(TASK_ARGUMENT) for each in said.tool_calls)
            self.course.tell(said, {names[each] for each in tasks if each in names})
        elif not waits and (words := self.refuser.remind()) is not None:
            # An idle call keeps the run going; its words stand in the reply to it, and the user is not told the text.
            calls = [self._addressed(own_call(IDLE_TOOL, number, reminder=words))]
        elif self.waits:
            self.unjudged = said
        else:
            self.course.tell(said, ())
            if waits or (self.course.any_open and not self.course.speaks):
                # Without calls the run would end, and here an end is no more than a message.
                calls = [self._addressed(own_call(IDLE_TOOL, number))]
        if not calls:
            return AIMessage(str(said.text) or "...", additional_kwargs=keep)
        return AIMessage("", tool_calls=calls, additional_kwargs=keep)

    def _call(self, call: ToolCall) -> ToolCall:
        name, arguments = str(call["id"]), dict(call["args"])
        refused = self.refuser(call["name"])
        if refused is not None:
            return self._addressed(own_call(UNREADABLE_TOOL, name, reason=refused))
        if self.known is None or call["name"] in self.known:
            made = ToolCall(name=call["name"], args=arguments, id=name, type="tool_call")
            return self._addressed(made)
        task = arguments.pop(TASK_ARGUMENT, task_name(0))
        unknown = {TASK_ARGUMENT: task, "tool": call["name"], "arguments": arguments}
        return self._addressed(own_call(UNKNOWN_TOOL, name, **unknown))

    def _addressed(self, call: ToolCall) -> ToolCall:
        """Return a call with the name of its mission, which the runtime has from the second one on."""
        arguments = {TASK_ARGUMENT: task_name(0), **call["args"]}
        if self.course.put == 1:
            del arguments[TASK_ARGUMENT]
        return ToolCall(name=call["name"], args=arguments, id=call["id"], type="tool_call")

    # -- to the agent ----------------------------------------------------------------------------------------------

    def _to_agent(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        found: list[BaseMessage] = []
        own: dict[str, str] = {}
        for message in messages:
            data = message.additional_kwargs.get("lc_data") or {}
            if isinstance(message, AIMessage) and SAID in message.additional_kwargs:
                own |= {str(each["id"]): each["name"] for each in message.tool_calls}
                found += said_before(message)
            elif isinstance(message, ToolMessage) and message.tool_call_id in own:
                found += self.answered(message, own[message.tool_call_id])
            elif calls_told(message):
                found += self._late(message, data)
            elif data.get("kind") == "tasks":
                _, _, goals = str(message.text).partition("\n\n")
                found.append(HumanMessage(_TASK_NAME.sub("", goals)))
            else:
                found.append(message)
        # A message that only waited and was told nothing is told so, as in the plain loop.
        return [*found, HumanMessage(chat.NO_NEWS)] if isinstance(found[-1], AIMessage) else found

    def _late(self, message: BaseMessage, data: dict[str, Any]) -> list[BaseMessage]:
        told: list[entries.Entry] = []
        for key, name in zip(data["calls"], data["tool_call_ids"], strict=True):
            record = self.book.told(key)
            if record is None:
                error = entries.error_content(NOT_MADE)
                told.append({"role": "tool", "call_id": name, "response": error, "made": False})
            else:
                told.append(entries.result(record, self.book.call_id(record.number)))
        return [HumanMessage(entries.lines(told))]
