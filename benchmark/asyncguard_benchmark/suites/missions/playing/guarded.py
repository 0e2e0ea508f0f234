"""Missions with asyncguard in between: as the state machine of ``build_agent``, and as middleware of ``create_agent``.

The runtime holds the conversation, history and all, as a thread of its own. An agent's text ends its run; the thread
rests with it, and goes on with the user's reply. The agent is shown the thread with results in the words of the plain
loop, so that without guards it cannot tell the players apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import Runnable
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field, SkipValidation
from typing_extensions import override

from asyncguard import AsyncGuardMiddleware, GuardConfig, Mode, Ports, ToolSpec, build_agent
from asyncguard_benchmark.harness.arms import Arm
from asyncguard_benchmark.harness.chat_model import PlainChatModel
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
from asyncguard_benchmark.harness.players.sham import drawn
from asyncguard_benchmark.harness.players.ticks import TickClock, TickExecutor
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.suites.missions.playing import chat
from asyncguard_benchmark.suites.missions.playing.case import TASK, Begun, Case, Played
from asyncguard_benchmark.suites.missions.playing.course import Course
from asyncguard_benchmark.suites.missions.playing.plain import asked, bound
from asyncguard_benchmark.suites.missions.playing.shelf import Stand

GRAPH = "graph"
MIDDLEWARE = "middleware"
_THREAD: Any = {"configurable": {"thread_id": "mission"}}
_OVER = "The run is over."
SAID = "said"
"""Key under which a message keeps what the agent said."""
KEPT = ("content", "tool_calls", "invalid_tool_calls", "id")
NOT_MADE = "The call was not made."


@dataclass(frozen=True, kw_only=True)
class GuardedPlayer:
    """A player with the guards of an arm."""

    name: str
    """`graph` or `middleware`."""
    arm: Arm

    def __call__(self, case: Case, agent: BaseChatModel) -> Played:
        """Play a mission; a sham plays it three times, to see what it is to imitate."""
        return self._sham(case, agent) if self.arm.sham else self._play(case, agent, self.arm)[0]

    def _sham(self, case: Case, agent: BaseChatModel) -> Played:
        key = (case.dialogue, case.mission, case.history.value, case.regime.value, case.seed)
        played, wanted = imitated(partial(self._play, case, agent), self.arm, key)
        return replace(played, notes={**played.notes, **wanted})

    def _play(
        self, case: Case, agent: BaseChatModel, arm: Arm, refuser: Refuser | None = None
    ) -> tuple[Played, Watcher]:
        refuser = refuser or Refuser({} if arm.drops is None else {arm.drops: NOT_MADE})
        stage = _stage(case, agent, arm, refuser)
        runnable = runnable_of(self.name, stage, case.system())
        on_own_loop(_conversation(runnable, case.opening()[1:], stage))
        notes = {
            "interventions": stage.watcher.interventions(),
            "involved": stage.watcher.involved(),
            "refused": refuser.made,
            "reminded": refuser.reminded,
            **stage.watcher.faults(),
        }
        heard = stage.model.heard[len(case.opening()) :]
        return Played(begun=stage.begun, messages=heard, notes=notes), stage.watcher


async def _conversation(
    runnable: Runnable[Any, Any], prompt: Sequence[BaseMessage], stage: "_Stage"
) -> None:
    """Run the thread, and again with each reply of the user."""
    course, given = stage.begun.course, list(prompt)
    while True:
        state = await runnable.ainvoke({"messages": given}, _THREAD)
        if course.over:
            return
        said = stage.model.last_text
        if said is None or state["report"]["reason"] != "complete":
            course.truncated = course.ended = True
            return
        reply = course.tell(said)
        if reply is None:
            return
        given = [HumanMessage(reply)]


@dataclass(frozen=True, kw_only=True)
class _Stage:
    begun: Begun
    model: "MissionModel"
    specs: Sequence[ToolSpec]
    config: GuardConfig
    ports: Ports
    watcher: Watcher
    tools: Sequence[Any]


class Wiring(Protocol):
    """Parts of which a front end of the runtime is made."""

    @property
    def model(self) -> PlainChatModel:
        """The agent as the runtime sees it."""
        ...

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Declarations of the tools."""
        ...

    @property
    def config(self) -> GuardConfig:
        """The guards."""
        ...

    @property
    def ports(self) -> Ports:
        """Clock, executor and observers."""
        ...

    @property
    def tools(self) -> Sequence[Any]:
        """The tools as the front end is given them."""
        ...


def runnable_of(player: str, stage: Wiring, system: str) -> Runnable[Any, Any]:
    """Return the runtime as the state machine of `build_agent`, or as middleware of `create_agent`.

    Args:
        player: `graph` or `middleware`.
        stage: What it is made of.
        system: The system message.
    """
    if player == GRAPH:
        return build_agent(
            stage.model,
            stage.tools,
            config=stage.config,
            specs=stage.specs,
            ports=stage.ports,
            system_prompt=system,
            checkpointer=InMemorySaver(),
            journal=False,
        )
    guard = AsyncGuardMiddleware(
        config=stage.config, specs=stage.specs, tools=stage.tools, ports=stage.ports, journal=False
    )
    return create_agent(
        stage.model,
        list(stage.tools),
        middleware=[guard],
        system_prompt=system,
        checkpointer=InMemorySaver(),
    )


_P = TypeVar("_P")
"""A run that is over."""


def imitated(
    play: Callable[[Arm, Refuser | None], tuple[_P, Watcher]], arm: Arm, key: tuple[Any, ...]
) -> tuple[_P, dict[str, int]]:
    """Refuse calls at random, as often and in the words in which guards refuse them in the same run.

    Args:
        play: Plays it under an arm, with refusals of its own.
        arm: The sham.
        key: Name of the run, for draws.

    Returns:
        The run, and how many refusals and reminders it was to have.
    """
    everything = replace(arm, sham=False, config=GuardConfig())
    bare = replace(arm, sham=False)
    _, guarded = play(everything, None)
    refused = {}
    if guarded.refusals:
        _, unguarded = play(bare, None)
        refused = drawn(guarded.refusals, unguarded.proposed + len(guarded.refusals), key)
    played, _ = play(bare, Refuser(refused, guarded.reminders))
    return played, {
        "refusals_wanted": len(guarded.refusals),
        "reminders_wanted": len(guarded.reminders),
    }


@lru_cache(maxsize=256)
def _specs(stand: Stand) -> tuple[ToolSpec, ...]:
    mode = Mode.BACKGROUND
    specs = (
        specs_of_tools(stand.tools, TASK, mode)
        if stand.declared
        else [ToolSpec(name=name, mode=mode) for name in stand.tools]
    )
    return (*specs, *own_specs(mode))


def _stage(case: Case, agent: BaseChatModel, arm: Arm, refuser: Refuser) -> _Stage:
    begun = case.begun()
    limits = replace(arm.config.limits, max_model_turns=8 * begun.course.cap, max_rejections=10_000)
    config = replace(arm.config, limits=limits)
    executor = TickExecutor(begun.course.clock, idle_waits=config.waiting)
    begun.course.number_of = executor.number
    numbers = iter(range(10_000))
    watcher, book = Watcher(config, executor.number), AnswerBook(executor)
    tools = case.stand.tools
    waits = config.completion and config.waiting and config.ledger and not config.shadow
    model = MissionModel(
        agent=bound(agent, case),
        course=begun.course,
        book=book,
        refuser=refuser,
        waits=waits,
        known=frozenset(tools) if not config.arguments or config.shadow else None,
        wording=arm.wording,
    )
    return _Stage(
        begun=begun,
        model=model,
        specs=_specs(case.stand),
        config=config,
        ports=Ports(
            clock=TickClock(begun.course.clock, executor),
            executor=executor,
            observers=(watcher, book),
            new_id=lambda: f"id{next(numbers)}",
        ),
        watcher=watcher,
        tools=[*map(unreachable_tool, tools.values()), *OWN_TOOLS],
    )


class RuntimeModel(PlainChatModel):
    """An agent as the runtime sees it."""

    book: SkipValidation[AnswerBook]
    refuser: SkipValidation[Refuser]
    waits: bool
    """True if a text that only waits may reach the runtime, which waits on it."""
    known: frozenset[str] | None
    """Tools that exist, if a call of another one passes to be answered by an error; None if guards see it."""
    wording: bool = True
    """True if the agent is told why a call was refused."""
    heard: SkipValidation[list[BaseMessage]] = Field(default_factory=list)
    """The conversation as the agent was last sent it, and its answer."""

    def answered(self, message: ToolMessage, tool: str) -> list[BaseMessage]:
        """Return the answer to a call as the agent is told it, in the words of the plain loop."""
        name, text = message.tool_call_id, str(message.text)
        record = self.book.told(name)
        if tool == IDLE_TOOL:
            return []
        if tool == UNREADABLE_TOOL or (message.status == "error" and record is None):
            said = text if self.wording or tool == UNREADABLE_TOOL else NOT_MADE
            content = entries.error_content(said)
            return [ToolMessage(content, tool_call_id=name, status="error")]
        mark = (message.additional_kwargs.get("lc_data") or {}).get("kind")
        if mark == "placeholder" or record is None:
            words = entries.executing(text) if self.book.made(name) else text
            return [ToolMessage(entries.wait_content(words), tool_call_id=name)]
        return [chat.answer(name, record, waits=False)]


def said_before(message: AIMessage) -> list[BaseMessage]:
    """Return what the agent said in a message of its own, and the reminder that a sham answered it with."""
    found: list[BaseMessage] = [AIMessage(**message.additional_kwargs[SAID])]
    return found + [
        HumanMessage(each["args"]["reminder"], additional_kwargs={"lc_source": "sham"})
        for each in message.tool_calls
        if "reminder" in each["args"]
    ]


class MissionModel(RuntimeModel):
    """The agent of one mission."""

    agent: SkipValidation[Any]
    """The agent, with its tools bound."""
    course: SkipValidation[Course]
    last_text: str | None = None
    """What the agent said last, if it was a text."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the agent's message in the runtime's terms."""
        if self.course.over:
            return AIMessage(_OVER)
        sent = self._to_agent(messages)
        said = asked(self.agent, sent)
        waits = self.course.waits(said)
        self.course.hear(said)
        self.heard = [*sent, said]
        bare = not said.tool_calls and not said.invalid_tool_calls
        self.last_text = str(said.text) if bare else None
        return self._to_runtime(said, waits=waits)

    # -- to the runtime --------------------------------------------------------------------------------------------

    def _to_runtime(self, said: AIMessage, *, waits: bool) -> AIMessage:
        keep = {SAID: {name: getattr(said, name) for name in KEPT}}
        calls = [self._call(each) for each in said.tool_calls]
        calls += [
            own_call(
                UNREADABLE_TOOL,
                str(each.get("id") or ""),
                reason="The arguments are no JSON object.",
            )
            for each in said.invalid_tool_calls
        ]
        number = f"idle{self.course.clock.tick}"
        if not calls and waits and not self.waits:
            calls = [own_call(IDLE_TOOL, number)]
        elif not calls and not waits and (words := self.refuser.remind()) is not None:
            # An idle call keeps the run going; its words stand in the reply to it.
            calls = [own_call(IDLE_TOOL, number, reminder=words)]
        if not calls:
            return AIMessage(str(said.text) or "...", additional_kwargs=keep)
        return AIMessage("", tool_calls=calls, additional_kwargs=keep)

    def _call(self, call: ToolCall) -> ToolCall:
        name = str(call["id"])
        refused = self.refuser(call["name"])
        if refused is not None:
            return own_call(UNREADABLE_TOOL, name, reason=refused)
        if self.known is None or call["name"] in self.known:
            return ToolCall(name=call["name"], args=call["args"], id=name, type="tool_call")
        return own_call(UNKNOWN_TOOL, name, tool=call["name"], arguments=dict(call["args"]))

    # -- to the agent ----------------------------------------------------------------------------------------------

    def _to_agent(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        found: list[BaseMessage] = []
        own: dict[str, str] = {}
        for message in messages:
            if isinstance(message, AIMessage) and SAID in message.additional_kwargs:
                own = {str(each["id"]): each["name"] for each in message.tool_calls}
                found += said_before(message)
            elif isinstance(message, ToolMessage) and message.tool_call_id in own:
                found += self.answered(message, own[message.tool_call_id])
            elif calls_told(message):
                found.append(self._late(message))
            else:
                found.append(message)
        # A message that only waited and was told nothing is told so, as in the plain loop.
        return [*found, HumanMessage(chat.NO_NEWS)] if isinstance(found[-1], AIMessage) else found

    def _late(self, message: BaseMessage) -> BaseMessage:
        records = [self.book.told(key) for key in calls_told(message)]
        told = [(self.book.call_id(each.number), each) for each in records if each is not None]
        return chat.news(told) if told else message


def own_call(name: str, call_id: str, **arguments: Any) -> ToolCall:
    """Return a call of a tool that is part of the protocol."""
    return ToolCall(name=name, args=arguments, id=call_id, type="tool_call")


def calls_told(message: BaseMessage) -> Sequence[str]:
    """Return the keys of the calls of whose end a message of the runtime tells."""
    data = message.additional_kwargs.get("lc_data") or {}
    return data["calls"] if data.get("kind") == "results" else ()
