"""The players that put an agent behind asyncguard: as its state machine, and as middleware of ``create_agent``.

Both drive the same environment as the plain player. The agent is wrapped in a chat model that translates between the
runtime's messages and the benchmark's protocol, so that the agent cannot tell which player it is in but by what it is
told. With all guards off, both players are message-identical to the plain one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import SkipValidation
from typing_extensions import override

from asyncguard import AsyncGuardMiddleware, GuardConfig, Observer, Ports, ToolSpec, build_agent
from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.environment import Environment, MessageClock, most_rounds
from asyncguard_benchmark.harness.episode import Episode, Run, finished
from asyncguard_benchmark.harness.players.answers import AnswerBook
from asyncguard_benchmark.harness.players.declarations import (
    OWN_TOOLS,
    mode_of,
    own_specs,
    specs_of,
    unreachable_tool,
)
from asyncguard_benchmark.harness.players.interventions import Watcher
from asyncguard_benchmark.harness.players.refusals import Refuser
from asyncguard_benchmark.harness.players.ticks import LONGEST_BACK_OFF, TickClock, TickExecutor
from asyncguard_benchmark.harness.players.translation import Translation
from asyncguard_benchmark.harness.protocol.actions import Idle, Malformed
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, TextSpeech, native_tools
from asyncguard_benchmark.harness.scenario import Composition, Surface
from asyncguard_benchmark.services.catalogue import composition_tools

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

UNGUARDED = GuardConfig.none()
"""All guards and features off: what the plain player does."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Settings of the runtime for an episode."""

    config: GuardConfig = field(default_factory=GuardConfig)
    """Switches of the guards."""
    declared: bool = True
    """True if the tools declare footprints, effect classes and scope; False leaves everything at
    the cautious defaults."""
    parallel_calls: bool = False
    """True if several calls in one message are allowed, native surface only.

    The runtime then tells one task's results from one message together, with guards or without; the plain player does
    not.
    """
    example: str | None = None
    """One successful trajectory for the system prompt."""
    observers: Sequence[Observer] = ()
    """Observers that get every event."""
    wording: bool = True
    """True if the agent is told why a call was refused, False if it is told only that it was. A
    call that was held back first and refused afterwards keeps its reason."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Calls of the agent, by number from 0, that are refused before the runtime sees them, and what the agent is told
    (``{call}`` stands for the tool)."""
    reminders: Sequence[str] = ()
    """Texts that the agent is told, one at a time, in place of an end of the run before the runtime sees it."""


class ProtocolModel(PlainChatModel):
    """The agent as the runtime sees it: a chat model that calls tools."""

    agent: SkipValidation[Runnable[LanguageModelInput, AIMessage]]
    """The agent, with its tools bound on the native surface."""
    translation: SkipValidation[Translation]
    environment: SkipValidation[MessageClock]
    heard: SkipValidation[list[BaseMessage]]
    """The conversation as the agent was last sent it, and its answer."""

    @override
    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer without LangChain's callbacks: nothing listens to them, and they cost more than a scripted agent.

        A real model in the place of the agent is called with its own.
        """
        said = await self.asay(convert_to_messages(input))
        # LangChain would give it an id, too; that of the round is unique in the episode.
        said.id = f"round-{self.environment.counters.rounds}"
        return said

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the agent's message in the runtime's terms."""
        sent = self.translation.to_agent(messages)
        return self._taken(sent, self.agent.invoke(sent))

    @override
    async def asay(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the same on an event loop."""
        sent = self.translation.to_agent(messages)
        # An agent that is a function needs no callbacks of LangChain: they cost more than it does.
        if isinstance(self.agent, PlainChatModel):
            return self._taken(sent, await self.agent.asay(sent))
        return self._taken(sent, await self.agent.ainvoke(sent))

    def _taken(self, sent: list[BaseMessage], said: AIMessage) -> AIMessage:
        self.environment.begin_round()
        self.heard[:] = [*sent, said]
        actions = self.translation.speech.read(said)
        for action in actions:
            match action:
                case Malformed():
                    self.environment.note_format_error()
                case Idle():
                    self.environment.note_idle_turn()
        return self.translation.to_runtime(said, actions, self.environment.counters.rounds)


@dataclass(frozen=True, kw_only=True)
class _Stage:
    """Everything that one episode needs."""

    environment: Environment
    model: ProtocolModel
    tools: Sequence[BaseTool]
    specs: Sequence[ToolSpec]
    config: GuardConfig
    ports: Ports
    tasks: Sequence[Mapping[str, str]]
    watcher: Watcher
    refuser: Refuser


def play_graph(
    composition: Composition, agent: BaseChatModel, run: Run, setting: Setting | None = None
) -> Episode:
    """Play an episode behind the state machine of ``build_agent``."""
    return _play(composition, agent, run, setting or Setting(), player="graph", build=_graph)


def play_middleware(
    composition: Composition, agent: BaseChatModel, run: Run, setting: Setting | None = None
) -> Episode:
    """Play an episode behind the middleware of ``create_agent``."""
    return _play(
        composition, agent, run, setting or Setting(), player="middleware", build=_middleware
    )


def _graph(stage: _Stage) -> Runnable[Any, Any]:
    return build_agent(
        stage.model, stage.tools, config=stage.config, specs=stage.specs, ports=stage.ports
    )


def _middleware(stage: _Stage) -> Runnable[Any, Any]:
    guard = AsyncGuardMiddleware(
        config=stage.config, specs=stage.specs, tools=stage.tools, ports=stage.ports
    )
    return create_agent(stage.model, list(stage.tools), middleware=[guard])


def _play(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    setting: Setting,
    *,
    player: str,
    build: Callable[[_Stage], Runnable[Any, Any]],
) -> Episode:
    stage = _stage(composition, agent, run, setting)
    given = {"messages": [], "tasks": list(stage.tasks)}
    result = on_own_loop(build(stage).ainvoke(given))
    if result["report"]["reason"] == "max_model_turns":
        stage.environment.note_truncated()
    settings = {
        "config": setting.config.to_json(),
        "declared": setting.declared,
        "parallel_calls": setting.parallel_calls,
        "example": setting.example,
        "interventions": stage.watcher.interventions(),
        "involved": stage.watcher.involved(),
        "refused": stage.refuser.made,
        **({"reminded": stage.refuser.reminded} if setting.reminders else {}),
        **stage.watcher.faults(),
    }
    name = agent.get_name()
    return finished(
        stage.environment, stage.model.heard, run, agent=name, player=player, **settings
    )


class _Loop(asyncio.SelectorEventLoop):
    """Event loop that runs what is meant for a thread at once, on the caller's.

    LangSmith's wrapper, through which ``create_agent`` starts each tool call, sends it to a thread and back. With real
    threads, which call of a message reaches the runtime first, and whether before the first tick, is a matter of luck.
    """

    @override
    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        """Run it, and return a future that has its result in the next turn of the loop, as from a thread."""
        future: asyncio.Future[_T] = self.create_future()
        try:
            ended = partial(future.set_result, func(*args))
        except Exception as error:  # noqa: BLE001  (a thread would hand on any error, too)
            ended = partial(future.set_exception, error)
        self.call_soon(lambda: None if future.done() else ended())
        return future


def on_own_loop(episode: Coroutine[Any, Any, Any]) -> Any:
    """Run an episode on a loop of its own.

    `asyncio.run` would install a signal handler, which in this version of Python describes the whole state of the run
    in an error message that is never shown: a twentieth of the time of an episode.
    """
    loop = _Loop()
    try:
        return loop.run_until_complete(episode)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _stage(composition: Composition, agent: BaseChatModel, run: Run, setting: Setting) -> _Stage:
    environment = Environment(composition, run.regime, run.seed)
    executor = TickExecutor(environment, idle_waits=setting.config.waiting)
    limits = replace(
        setting.config.limits, max_model_turns=most_rounds(composition), max_rejections=10_000
    )
    # Seconds of a cool-down are ticks, as those of a back-off are.
    timing = replace(
        setting.config.timing,
        breaker_cooldown=min(setting.config.timing.breaker_cooldown, LONGEST_BACK_OFF),
    )
    config = replace(setting.config, limits=limits, timing=timing)
    numbers = iter(range(10_000))
    watcher, refuser, book = (
        Watcher(config, executor.number),
        Refuser(setting.refused, setting.reminders),
        AnswerBook(executor),
    )
    ports = Ports(
        clock=TickClock(environment, executor),
        executor=executor,
        observers=(*setting.observers, watcher, book),
        new_id=lambda: f"id{next(numbers)}",
    )
    listed = composition_tools(composition)
    return _Stage(
        environment=environment,
        model=_model(composition, agent, run, setting, book=book, refuser=refuser),
        tools=[
            *map(unreachable_tool, listed.values()),
            *OWN_TOOLS,
        ],
        specs=[*specs_of(composition, declared=setting.declared), *own_specs(mode_of(composition))],
        config=config,
        ports=ports,
        tasks=[{"id": task.id, "goal": task.query} for task in composition.sub_tasks],
        watcher=watcher,
        refuser=refuser,
    )


def _model(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    setting: Setting,
    *,
    book: AnswerBook,
    refuser: Refuser,
) -> ProtocolModel:
    native = run.surface is Surface.NATIVE
    config, executor = setting.config, book.executor
    speech = (
        NativeSpeech(composition, example=setting.example, parallel=setting.parallel_calls)
        if native
        else TextSpeech(composition, example=setting.example, contract=run.contract)
    )
    waits = config.completion and config.waiting and config.ledger and not config.shadow
    translation = Translation(
        composition=composition,
        surface=run.surface,
        speech=speech,
        book=book,
        idle_is_text=lambda: waits and bool(executor.pending()),
        unknown_tools_pass=not config.arguments or config.shadow,
        refuse=refuser,
        remind=refuser.remind,
        wording=setting.wording,
    )
    speaker = agent.bind_tools(native_tools(composition)) if native else agent
    return ProtocolModel(
        agent=speaker, translation=translation, environment=executor.environment, heard=[]
    )
