"""Plays recorded conversations behind both front ends, on virtual time.

Alone, a conversation is played as it was: one run for each message of its user. Together, each is a
task of one run, whose goal is all that its user said. Tools answer what was recorded.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langsmith import tracing_context
from typing_extensions import override

from asyncguard import (
    AsyncGuardMiddleware,
    DeclarationError,
    GuardConfig,
    Ports,
    ToolSpec,
    build_agent,
)
from asyncguard.core.calls import canonical_json
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result, Success
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing import run_virtual
from asyncguard_benchmark.harness.replay.conversations import Conversation, Said
from asyncguard_benchmark.harness.replay.knowledge import literals_of, needs_of
from asyncguard_benchmark.harness.replay.speaker import (
    MOST_TRIES,
    Attempt,
    Book,
    Lane,
    Speaker,
)

_SPARE_TURNS = 50
BROKEN = "broken by "
"""Begins the end of an episode that an error ended; the error's class follows."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything that episodes have in common."""

    player: str = "graph"
    """``graph`` or ``middleware``."""
    config: GuardConfig = field(default_factory=GuardConfig)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """OpenAI function schemas by name; a tool that is not there takes any object."""
    specs: Sequence[ToolSpec] = ()
    """Declarations."""
    system: str = ""
    """System prompt."""
    seconds: tuple[float, float] = (0.02, 0.08)
    """Shortest and longest virtual time of a call, in seconds."""
    seed: int = 0
    """Of the times of calls."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Counts of one episode; nothing of the conversations is in it."""

    recorded: int
    """Calls that were recorded."""
    made: int
    """Of them, those that reached their tools."""
    lost: int
    """Calls that were refused again and again, or whose task was stopped."""
    other_arguments: int
    """Calls that reached their tools with other arguments than recorded."""
    other_order: int
    """Calls that reached their tools before one of their task that was recorded earlier, or twice."""
    turns: int
    needless: int
    """Turns in which the model could only say that it waits."""
    nudges: int
    complete: bool
    """True if each recorded call was made."""
    ended: str
    """Reason for which the last run ended, or `BROKEN` and the class of the error that ended it."""
    guards: Mapping[str, Mapping[str, int]]
    """Interventions by guard: ``reject needs``, ``reject known``, ``reject nowhere``, ``reject
    in turn`` (a call that was not early), ``defer``, ``hold``, ``nudge``, ``shadow reject`` etc."""
    pairs: Mapping[str, int]
    """Recorded calls that were to be early, by class; fewer are, where the runtime gives no turn."""
    early: Mapping[str, int]
    """Early calls: ``class/effect or pure/outcome`` -> number."""


class _RecordedExecutor(LocalExecutor):
    """The embedded executor, with tools that answer what was recorded."""

    def __init__(self, book: Book, seconds: Callable[[Attempt], float]) -> None:
        super().__init__(LoopClock())
        self._book = book
        self._seconds = seconds
        self.issued: list[Attempt] = []
        """Calls in the order in which they reached their tools."""

    @override
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        attempt = self._book.attempts[job.call_id]
        attempt.issued = job.arguments
        self.issued.append(attempt)

        async def answer() -> Result:
            await asyncio.sleep(self._seconds(attempt))
            return Success(content=attempt.call.answer)

        super().start(replace(job, run=answer), done)


def play(
    conversations: Sequence[Conversation], setting: Setting, early: int | None = None
) -> Outcome:
    """Play one conversation alone, or several together.

    Args:
        conversations: What is played as the tasks of one run, or alone if it is one.
        setting: Front end, guards, tools and times.
        early: Which steps are made while the one before is pending: even (0) or odd (1) ones.

    Raises:
        DeclarationError: A declaration does not fit its tool.
    """
    if not setting.system:
        own = dict.fromkeys(each.system for each in conversations if each.system)
        setting = replace(setting, system="\n\n".join(own))
    literals = {name: literals_of(tool.get("parameters")) for name, tool in setting.tools.items()}
    lanes = [
        Lane(f"task-{number}", each, needs_of(each, setting.system, literals))
        for number, each in enumerate(conversations, 1)
    ]
    book = Book()
    speaker = Speaker(lanes=lanes, book=book, early=early)
    source = "+".join(each.source.rpartition("/")[2] for each in conversations)

    def seconds(attempt: Attempt) -> float:
        random = Random(f"{setting.seed} {source} {attempt.task} {attempt.step}")
        return random.uniform(*setting.seconds)

    executor = _RecordedExecutor(book, seconds)
    try:
        # Recorded conversations may be private: they are not sent where the user's own runs are traced.
        with tracing_context(enabled=False):
            ended = run_virtual(
                _run(_agent(speaker, executor, setting), speaker, conversations)
            ).result
    except DeclarationError:
        raise
    except Exception as error:  # noqa: BLE001 - what breaks one episode must not end the others
        # Its text may quote the conversation.
        ended = f"{BROKEN}{type(error).__name__}"
    return _outcome(speaker, executor.issued, ended, setting)


def _agent(speaker: Speaker, executor: "_RecordedExecutor", setting: Setting) -> Runnable[Any, Any]:
    # Without a schema a tool has the arguments that it was called with: one of them may have the name under which
    # the runtime would ask for the task.
    used: dict[str, dict[str, Any]] = {}
    for call in (call for lane in speaker.lanes for step in lane.steps for call in step.calls):
        used.setdefault(call.tool, {}).update({key: {} for key in call.arguments})
    seen = {
        name: {"parameters": {"type": "object", "properties": names}}
        for name, names in used.items()
    }
    tools = [
        _tool(name, setting.tools.get(name) or seen[name]) for name in {**used, **setting.tools}
    ]
    specs = [spec for spec in setting.specs if spec.name in {tool.name for tool in tools}]
    numbers = count()
    ports = Ports(executor=executor, observers=[speaker.book], new_id=lambda: f"id{next(numbers)}")
    turns = sum(4 * len(lane.steps) for lane in speaker.lanes) + _SPARE_TURNS
    limits = setting.config.limits
    config = replace(
        setting.config,
        limits=replace(limits, max_model_turns=max(limits.max_model_turns, turns)),
    )
    saver = InMemorySaver()
    if setting.player == "graph":
        return build_agent(
            speaker,
            tools,
            config=config,
            specs=specs,
            system_prompt=setting.system or None,
            ports=ports,
            checkpointer=saver,
            journal=False,
        )
    guard = AsyncGuardMiddleware(
        config=config, specs=specs, tools=tools, ports=ports, journal=False
    )
    return create_agent(
        speaker,
        tools,
        middleware=[guard],
        system_prompt=setting.system or None,
        checkpointer=saver,
    )


def _tool(name: str, schema: Mapping[str, Any]) -> BaseTool:
    async def unreachable(**arguments: Any) -> None:
        """Never called: the executor answers."""
        raise AssertionError(f"{name} was called past the executor")

    parameters = schema.get("parameters") or {"type": "object", "additionalProperties": True}
    return StructuredTool(
        name=name,
        description=schema.get("description") or name,
        args_schema={"properties": {}, **parameters},
        coroutine=unreachable,
    )


async def _run(
    agent: Runnable[Any, Any], speaker: Speaker, conversations: Sequence[Conversation]
) -> str:
    """Play all runs of an episode, and return why the last one ended."""
    if len(conversations) > 1:
        last = [_last_words(each.items) for each in conversations]
        speaker.closing = "\n\n".join(
            f"[{lane.task}] {text}" for lane, text in zip(speaker.lanes, last, strict=True)
        )
        tasks = [
            {"id": lane.task, "goal": each.user.strip() or "(no text)"}
            for lane, each in zip(speaker.lanes, conversations, strict=True)
        ]
        return await _finish(agent, {"messages": [], "tasks": tasks})
    lane, ended = speaker.lanes[0], ""
    lane.horizon = 0
    for said, answers in _segments(conversations[0].items):
        lane.horizon += sum(bool(each.calls) for each in answers)
        speaker.closing = _last_words(answers)
        ended = await _finish(agent, {"messages": [HumanMessage(text) for text in said]})
    return ended


async def _finish(agent: Runnable[Any, Any], given: Mapping[str, Any]) -> str:
    """Make one run, in which a person approves all that is held."""
    thread: Any = {"configurable": {"thread_id": "replay"}}
    result = await agent.ainvoke(given, thread)
    while "__interrupt__" in result:
        result = await agent.ainvoke(Command(resume=True), thread)
    return str(result["report"]["reason"])


def _segments(items: Sequence[str | Said]) -> list[tuple[list[str], list[Said]]]:
    """Return what the user said and what the agent did about it, in turn; the last has an answer."""
    found: list[tuple[list[str], list[Said]]] = []
    for item in items:
        if isinstance(item, str):
            if not found or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(item)
        else:
            found[-1][1].append(item)
    return [segment for segment in found if segment[1]]


def _last_words(items: Sequence[str | Said]) -> str:
    last = items[-1] if items else ""
    texts = [item.text for item in items if isinstance(item, Said) and not item.calls]
    return texts[-1] if texts and not (isinstance(last, Said) and last.calls) else ""


def _outcome(speaker: Speaker, issued: Sequence[Attempt], ended: str, setting: Setting) -> Outcome:
    attempts = list(speaker.book.attempts.values())
    guards = _verdicts(attempts)
    if speaker.book.nudges:
        guards.setdefault("completion", Counter())["nudge"] = speaker.book.nudges
    made = {each.place for each in issued}
    recorded = {
        (lane.task, number, place)
        for lane in speaker.lanes
        for number, step in enumerate(lane.steps)
        for place in range(len(step.calls))
    }
    stopped = {place for place in recorded - made if place[0] in speaker.book.stopped}
    lost = {each.place for each in attempts if each.tries == MOST_TRIES} - made
    return Outcome(
        recorded=len(recorded),
        made=len(made),
        lost=len(stopped | lost),
        other_arguments=sum(
            canonical_json(each.issued) != canonical_json(each.call.arguments) for each in issued
        ),
        other_order=_out_of_order(issued),
        turns=speaker.turns,
        needless=speaker.waited,
        nudges=speaker.book.nudges,
        complete=made == recorded,
        ended=ended,
        guards={name: dict(counts) for name, counts in guards.items()},
        pairs=_pairs(speaker),
        early=_early_calls(attempts, setting),
    )


def _verdicts(attempts: Sequence[Attempt]) -> dict[str, Counter[str]]:
    """Count what each guard did."""
    guards: dict[str, Counter[str]] = {}
    for each in attempts:
        when = "in turn" if each.need is None else each.need.value
        for guard, verdict in each.verdicts:
            said = f"reject {when}" if verdict == "reject" else verdict
            guards.setdefault(guard, Counter())[said] += 1
    return guards


def _pairs(speaker: Speaker) -> dict[str, int]:
    """Count the recorded calls that were to be early, by class."""
    found = Counter(
        need.value
        for lane in speaker.lanes
        for step, needs in enumerate(lane.needs)
        for need in needs
        if step and step % 2 == speaker.early
    )
    return dict(found)


def _early_calls(attempts: Sequence[Attempt], setting: Setting) -> dict[str, int]:
    """Count early calls by class, by the declared effect of their tool, and by their end."""
    pure = {spec.name for spec in setting.specs if spec.effect is EffectClass.PURE}
    found = Counter(
        f"{each.need}/{'pure' if each.call.tool in pure else 'effect'}/{each.outcome}"
        for each in attempts
        if each.need is not None
    )
    return dict(found)


def _out_of_order(issued: Sequence[Attempt]) -> int:
    """Return how many calls ran twice, or after one of their task that was recorded later."""
    furthest: dict[str, int] = {}
    seen: set[tuple[str, int, int]] = set()
    wrong = 0
    for each in issued:
        wrong += each.step < furthest.get(each.task, 0) or each.place in seen
        furthest[each.task] = max(each.step, furthest.get(each.task, 0))
        seen.add(each.place)
    return wrong
