"""One task of ToolBench-X, played by a chat model behind asyncguard, with guards or without, and scored."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from asyncguard import AsyncGuardMiddleware, EffectClass, GuardConfig, ToolSpec, build_agent
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.sandbox import Load, Sandbox, SandboxLimits
from asyncguard_benchmark.services.common_tools import REPORT, SUBMIT
from asyncguard_benchmark.suites.toolbench_x.answer_desk import Desk
from asyncguard_benchmark.suites.toolbench_x.counter import Counter
from asyncguard_benchmark.suites.toolbench_x.decision_rule import Fired
from asyncguard_benchmark.suites.toolbench_x.download import Instance
from asyncguard_benchmark.suites.toolbench_x.tool_modules import (
    DEFAULT_INJECTION,
    STRICT,
    ForeignModule,
)

_PROMPT = (
    f"Solve the task with the tools you have. As soon as you know the answer, call {SUBMIT} with it: the bare value in "
    "the form the task asks for, without label, unit or explanation that it does not ask for. If the task cannot be "
    f"solved, call {REPORT} and say why. Do one of the two, once, and then stop."
)
ENVELOPE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean"},
        "source": {"type": "string"},
        "provider": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "error": {"type": ["string", "null"]},
        "evidence": {"type": "array"},
        "unsupported_fields": {"type": "array"},
        "final_value": {"type": ["string", "number", "null"]},
    },
    "required": [
        "ok",
        "source",
        "provider",
        "confidence",
        "error",
        "evidence",
        "unsupported_fields",
        "final_value",
    ],
}
"""Schema that the instructions for the published tools promise of every answer; the task's own
fields are not told."""


class FaultSource(StrEnum):
    """Source of the faults."""

    NONE = "none"
    """Nowhere: the clean tools."""
    OWN = "own"
    """From inside the published faulty tools."""
    RULE = "rule"
    """From outside the clean tools, by the decision rule."""


class Front(StrEnum):
    """Adapter of asyncguard that plays."""

    GRAPH = "graph"
    MIDDLEWARE = "middleware"


class CannotPlayError(BenchmarkError):
    """A task lacks what the chosen faults need."""


@dataclass(frozen=True, kw_only=True)
class Playing:
    """Settings of an episode."""

    front: Front = Front.GRAPH
    arm: str = "all"
    """Name of the setting, for the record."""
    config: GuardConfig = field(default_factory=GuardConfig)
    faults: FaultSource = FaultSource.NONE
    hints: bool = False
    """True if a failing tool gives its hints; the faults are the same."""
    declared: bool = True
    """True if the tools are declared pure, and their common fields known."""
    seed: int = 0
    rounds: int = 12
    """Most messages of the model: the ten of the paper, one to submit, one to end."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of an episode."""

    said: str | None
    """The submitted answer."""
    problem: str | None
    """The reported problem."""
    proposed: int
    """Tool calls of the model."""
    attempts: int
    """Calls that reached a tool, those of the runtime among them."""
    turns: int
    """Messages of the model."""
    reason: str
    """Reason of the run's end in the runtime's words: ``complete``, or the limit that ended it."""
    fired: tuple[Fired, ...]
    """Failpoints that fired; those inside the published modules cannot be seen from here."""
    profiled: bool | None
    """True if the faults of the module followed its own strict profile; if not, it was given the
    published default. None if the faults are not its own."""
    sandbox: str | None
    """Reason why the worker was ended, None if it was not; such an episode is not a fair sample."""
    seconds: float


def play(instance: Instance, model: BaseChatModel, playing: Playing) -> Outcome:
    """Play a task; **runs the code of its module**, in a sandbox.

    Raises:
        CannotPlayError: the download has not what the chosen faults need.
        SandboxError: the module could not be loaded.
    """
    module = _module(instance, playing.faults)
    desk = Desk()
    started = time.monotonic()
    with Sandbox(_load(instance, module, playing), playing.limits) as sandbox:
        counter = Counter(
            sandbox=sandbox,
            task=instance.task.key,
            seed=playing.seed,
            controls=instance.controls if playing.faults is FaultSource.RULE else (),
            hints=instance.hints if playing.hints else (),
        )
        tools = [*counter.tools(module), *desk.tools()]
        agent = _agent(model, tools, _specs(module, desk, playing), playing)
        result = agent.invoke({"messages": [HumanMessage(instance.task.prompt)]})
        ended, profiled = sandbox.ended, sandbox.profiled
    spoken = [each for each in result["messages"] if isinstance(each, AIMessage)]
    return Outcome(
        said=desk.answer,
        problem=desk.problem,
        proposed=sum(len(each.tool_calls) for each in spoken),
        attempts=len(counter.taken),
        turns=result["report"]["turns"],
        reason=result["report"]["reason"],
        fired=tuple(counter.injector.fired),
        profiled=profiled if playing.faults is FaultSource.OWN else None,
        sandbox=ended,
        seconds=round(time.monotonic() - started, 3),
    )


def cannot_play(instance: Instance, faults: FaultSource) -> str | None:
    """Return the reason why a task cannot be played with these faults; None if it can."""
    if taken := {SUBMIT, REPORT} & set(instance.task.tools):
        return f"it has a tool of its own named {', '.join(sorted(taken))}"
    if faults is FaultSource.OWN:
        return None if instance.faulty else "there is no readable module with faults for it"
    if instance.clean is None:
        return "there is no readable module of clean tools for it"
    return instance.undecided if faults is FaultSource.RULE else None


def _module(instance: Instance, faults: FaultSource) -> ForeignModule:
    module = instance.faulty if faults is FaultSource.OWN else instance.clean
    why = cannot_play(instance, faults)
    if module is None or why is not None:
        raise CannotPlayError(f"{instance.task.key} cannot be played with faults {faults}: {why}")
    return module


def _load(instance: Instance, module: ForeignModule, playing: Playing) -> Load:
    told = {"USER_PROMPT": instance.task.prompt}
    if playing.faults is not FaultSource.OWN:
        return Load(module=module.path, names=instance.task.tools, environment=told)
    # The strict profile with hints, too: the schedule may not depend on them.
    faults = {
        "FAIL_SEED": str(playing.seed),
        "INJECTION_PROFILE": STRICT,
        "INJECTION_CONFIG_JSON": json.dumps(DEFAULT_INJECTION),
        "INJECTION_USER_PROMPT": instance.task.prompt,
    }
    return Load(
        module=module.path,
        names=instance.task.tools,
        profile=STRICT,
        environment={**told, **faults},
    )


def _specs(module: ForeignModule, desk: Desk, playing: Playing) -> list[ToolSpec]:
    if not playing.declared:
        return []
    pure = [
        ToolSpec(name=each.name, effect=EffectClass.PURE, result_schema=ENVELOPE_SCHEMA)
        for each in module.tools
    ]
    return [*pure, *desk.specs()]


def _agent(
    model: BaseChatModel, tools: Sequence[BaseTool], specs: Sequence[ToolSpec], playing: Playing
) -> Runnable[Any, Any]:
    config = replace(
        playing.config, limits=replace(playing.config.limits, max_model_turns=playing.rounds)
    )
    if playing.front is Front.GRAPH:
        return build_agent(model, tools, config=config, specs=specs, system_prompt=_PROMPT)
    guard = AsyncGuardMiddleware(config=config, specs=specs, tools=tools)
    return create_agent(model, list(tools), system_prompt=_PROMPT, middleware=[guard])


def settings_of(playing: Playing) -> dict[str, Any]:
    """Return everything that decides how an episode is played, as plain JSON."""
    return {
        "front": playing.front.value,
        "arm": playing.arm,
        "config": playing.config.to_json(),
        "faults": playing.faults.value,
        "hints": playing.hints,
        "declared": playing.declared,
        "seed": playing.seed,
        "rounds": playing.rounds,
        "sandbox": asdict(playing.limits),
    }
