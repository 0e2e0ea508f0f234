"""Player of cases whose effects are counted outside: plain and guarded agents, with and without a retry beside them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from asyncguard import (
    AsyncGuardMiddleware,
    DeclarationError,
    Fallback,
    GuardConfig,
    Source,
    Timing,
    build_agent,
    guard_middleware,
    guarded,
)
from asyncguard.testing import ScriptedChatModel, Step, ToolSchema, calls, run_virtual
from asyncguard_benchmark.suites.hazards.outside.cases import (
    Case,
    Conversation,
    Scenario,
    Setting,
    Stage,
    Tool,
)
from asyncguard_benchmark.suites.hazards.outside.judge import Heard, Seen, Told, Verdict, judge
from asyncguard_benchmark.suites.hazards.outside.world import World

INSISTS = 2
"""Number of times that the model repeats a call that was answered by an error."""
_PATIENCE = 20.0
"""Real seconds after which a silent thread counts as hung."""
_LIMIT = 3600.0
"""Seconds of the loop after which a run counts as hung."""
_LINGER = 0.5
"""Seconds after a run for what its tools still do."""
_RESULT = re.compile(r'<result-\w+ call="([^"]+)" tool="[^"]+" status="(?:done|resolved)"')
"""News of a result that came after its call was answered; the group is the label of the call."""


def play(
    scenario: Scenario,
    setting: Setting,
    *,
    faulty: bool,
    config: GuardConfig | None = None,
    latency: float = 0.0,
) -> Verdict:
    """Play one run in a world of its own, and judge it.

    Args:
        scenario: A case at a level.
        setting: Runtime of the tools.
        faulty: True if the fault strikes; else it is the clean twin.
        config: Of the guard; all guards and recoveries by default.
        latency: Seconds that each answer of the model takes.
    """
    world = World()
    stage = Stage(world=world, faulty=faulty)
    seen = _seen(scenario, setting, stage, config or GuardConfig(), latency)
    return judge(scenario, seen, world, faulty=faulty)


def _seen(
    scenario: Scenario, setting: Setting, stage: Stage, config: GuardConfig, latency: float
) -> Seen:
    case = scenario.case
    # Where threads really wait, back-off and open circuits do, too.
    config = (
        replace(config, timing=Timing(retry_initial=0.05, breaker_cooldown=0.2))
        if case.real
        else config
    )
    try:
        model = ScriptedChatModel(_insistent(case.conversations), latency=latency)
        agent = _agent(scenario, setting, stage, config, model)
        return Seen(heard=_heard(agent, case))
    except DeclarationError as error:
        return Seen(refused=str(error))


def _agent(
    scenario: Scenario,
    setting: Setting,
    stage: Stage,
    config: GuardConfig,
    model: ScriptedChatModel,
) -> Any:
    made = scenario.case.build(stage)
    beside = [] if scenario.case.beside is None else [scenario.case.beside()]
    match setting:
        case Setting.GRAPH:
            return build_agent(model, _declared(made, scenario), config=config)
        case Setting.PLAIN:
            return create_agent(model, [each.function for each in made], middleware=beside)
        case Setting.PLAIN_RETRY:
            return create_agent(
                model, [each.function for each in made], middleware=[*beside, ToolRetryMiddleware()]
            )
    retry = [ToolRetryMiddleware()] if setting is Setting.MIDDLEWARE_RETRY else []
    middleware = guard_middleware([*beside, *retry], guard=AsyncGuardMiddleware(config=config))
    return create_agent(model, _declared(made, scenario), middleware=middleware)


def _declared(made: Sequence[Tool], scenario: Scenario) -> list[Callable[..., Any]]:
    return [
        guarded(**found)(each.function)
        if (found := _fields(each.at(scenario.level)))
        else each.function
        for each in made
    ]


def _fields(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declaration in the library's own words."""
    kinds = {"sources": Source, "fallbacks": Fallback}
    return {
        name: [kinds[name](**each) if isinstance(each, dict) else each for each in value]
        if name in kinds
        else value
        for name, value in declared.items()
    }


def _insistent(
    conversations: Sequence[Conversation],
) -> Callable[[Sequence[BaseMessage], Sequence[ToolSchema]], Step]:
    """Return a model that makes its calls one after the other.

    It repeats a call that was answered by an error :data:`INSISTS` times, and stops earlier if it
    is told that one of these calls came to a result after all.
    """

    def answer(messages: Sequence[BaseMessage], _: Sequence[ToolSchema]) -> Step:
        conversation = conversations[int(messages[0].text)]
        wanted = conversation.calls
        made: Counter[str] = Counter()
        done, tried = 0, list[str]()  # labels of the wanted call, as news names them
        for message in messages[1:]:
            if isinstance(message, ToolMessage):
                name = message.name or ""
                made[name] += 1
                tried.append(f"{name}#{made[name]}")
                over = message.status != "error" or len(tried) > INSISTS
            else:
                over = any(label in tried for label in _RESULT.findall(message.text))
            if over:
                done, tried = done + 1, []
        if done == len(wanted):
            return "That is all."
        name, arguments = wanted[done]
        return calls(
            (name, conversation.again if tried and conversation.again is not None else arguments)
        )

    return answer


def _heard(agent: Any, case: Case) -> tuple[Heard, ...]:
    if case.sync:
        return tuple(_asked_sync(agent, number) for number in range(len(case.conversations)))
    everything = _all(agent, case)
    try:
        return (
            asyncio.run(everything)
            if case.real
            else run_virtual(everything, patience=_PATIENCE).result
        )
    except DeclarationError:
        raise
    except BaseException as error:  # noqa: BLE001 - an exit in a task leaves the loop itself
        return tuple(_crash(error) for _ in case.conversations)


async def _all(agent: Any, case: Case) -> tuple[Heard, ...]:
    each = (_asked(agent, number, one.after) for number, one in enumerate(case.conversations))
    heard = await asyncio.gather(*each)
    await asyncio.sleep(_LINGER)  # what runs on comes to its end and is counted
    return tuple(heard)


async def _asked(agent: Any, number: int, after: float) -> Heard:
    await asyncio.sleep(after)
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        state = await asyncio.wait_for(
            agent.ainvoke(_said(number), {"recursion_limit": 200}), _LIMIT
        )
    except DeclarationError:  # the middleware meets its tools at the first model call
        raise
    except BaseException as error:  # noqa: BLE001 - a crash is a finding, whatever it is
        return _crash(error)
    return _told(state, loop.time() - began)


def _asked_sync(agent: Any, number: int) -> Heard:
    try:
        heard = _told(agent.invoke(_said(number), {"recursion_limit": 200}), 0.0)
    except BaseException as error:  # noqa: BLE001 - a crash is a finding, whatever it is
        return _crash(error)
    time.sleep(_LINGER)
    return heard


def _said(number: int) -> dict[str, Any]:
    return {"messages": [("user", str(number))]}


def _crash(error: BaseException) -> Heard:
    if isinstance(error, KeyboardInterrupt):
        raise error
    return Heard(crashed=type(error).__name__)


def _told(state: Mapping[str, Any], seconds: float) -> Heard:
    told = []
    for message in state["messages"][1:]:
        if isinstance(message, ToolMessage):
            told.append(
                Told(text=message.text, failed=message.status == "error", tool=message.name or "")
            )
        elif isinstance(message, HumanMessage):
            told.append(Told(text=message.text, failed=False))
    return Heard(
        told=tuple(told), in_doubt=bool(state.get("report", {}).get("in_doubt")), seconds=seconds
    )
