"""What the runtime is told of the tools: their declarations in its own terms."""

from collections.abc import Mapping
from typing import Any

from asyncguard import Mode, ToolSpec
from asyncguard.core.footprints import EffectClass
from asyncguard.core.toolspec import Fallback, Source
from asyncguard_benchmark.executors.catalogue import composition_tools
from asyncguard_benchmark.executors.declarations import Alternative, Tool
from asyncguard_benchmark.hazards.common_tools import DESCRIBE
from asyncguard_benchmark.players.translation import IDLE_TOOL, UNKNOWN_TOOL, UNREADABLE_TOOL
from asyncguard_benchmark.scenario import Composition


def specs_of(composition: Composition, *, declared: bool) -> list[ToolSpec]:
    """The declaration of every tool of a composition.

    Args:
        composition: The tasks.
        declared: Whether they declare all they can, or leave everything at the cautious defaults.
    """
    tools, mode = composition_tools(composition).values(), mode_of(composition)
    if not declared:
        return [ToolSpec(name=tool.name, mode=mode) for tool in tools]
    return [_spec(tool, composition) for tool in tools]


def mode_of(composition: Composition) -> Mode:
    """Who waits for a call: nobody. The runtime waits for those of a single task unless it is told otherwise."""
    return Mode.BACKGROUND if len(composition.sub_tasks) == 1 else Mode.AUTO


def own_specs(composition: Composition) -> list[ToolSpec]:
    """The declarations of the tools that are part of the protocol."""
    instant = [
        ToolSpec(name=name, effect=EffectClass.PURE, reads=(), mode=Mode.FOREGROUND)
        for name in (IDLE_TOOL, UNREADABLE_TOOL)
    ]
    return [*instant, ToolSpec(name=UNKNOWN_TOOL, mode=mode_of(composition))]


def _spec(tool: Tool, composition: Composition) -> ToolSpec:
    users = [task for task in composition.sub_tasks if tool.name in task.tools]
    described = tool.name != DESCRIBE and all(DESCRIBE in task.tools for task in users)
    return ToolSpec(
        name=tool.name,
        effect=EffectClass(tool.effect.value) if tool.remedies.probe is None else EffectClass.PROBED,
        reads=tool.reads,
        writes=tool.writes,
        mode=mode_of(composition),
        tasks=frozenset(task.id for task in users),
        trusted_output=True,
        contract=DESCRIBE if described else None,
        **_remedies(tool),
    )


def _remedies(tool: Tool) -> Mapping[str, Any]:
    remedies = tool.remedies
    return {
        "result_schema": remedies.returns,
        "invariants": remedies.invariants,
        "sources": tuple(
            Source(tool=other.tool, arguments=other.arguments, trusted=other.trusted) for other in remedies.sources
        ),
        "compared": remedies.compared,
        "dated": remedies.dated,
        "verifier": None if remedies.verifier is None else _fallback(remedies.verifier),
        "probe": remedies.probe,
        "fallbacks": tuple(_fallback(other) for other in remedies.fallbacks),
    }


def _fallback(other: Alternative) -> Fallback:
    return Fallback(tool=other.tool, arguments=other.arguments)
