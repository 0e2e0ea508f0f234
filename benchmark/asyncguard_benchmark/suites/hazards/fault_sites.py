"""Placement of faults: places at which a fault matters, shows itself somewhere, and can be survived.

A fault *matters* if the plan that takes every answer at its word does not solve the task. It *shows
itself* if a call fails, an answer breaks its declaration, or declared sources that the task asks
anyway disagree: a runtime can notice any other fault only by doubting every answer. It *can be
survived* if a plan of the witness solves the task.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.fault_modes import Mode
from asyncguard_benchmark.harness.faults import MOST_SEVERE, Fault, Hazard
from asyncguard_benchmark.harness.pointers import PointerError, covers, resolve
from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask
from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.common_tools import COMMON_NAMES
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.restore import NoWayBackError, read
from asyncguard_benchmark.suites.hazards.scorer import score_hazards
from asyncguard_benchmark.suites.hazards.solvability_proof import (
    Plan,
    plans,
    replayed,
    translated,
    walked,
)
from asyncguard_benchmark.suites.hazards.tasks import HazardTask

_LIMITS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    }
)


class Sign(StrEnum):
    """Sign of a fault to a caller that takes every answer at its word, the plainest first."""

    FAILURE = "failure"
    """A call fails."""
    STRUCTURE = "structure"
    """An answer has another form than declared."""
    LIMITS = "limits"
    """A number or a length is outside the declared limits."""
    INVARIANT = "invariant"
    """A rule that relates arguments and answer is broken."""
    SOURCE = "source"
    """A declared source that the task asks anyway says something else."""
    NONE = "none"
    """It does not."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A fault that fits, before it is known whether it is worth putting there."""

    task: HazardTask
    fault: Fault
    acts: bool
    """True if the tool has an effect."""


def with_faults(task: HazardTask, faults: Sequence[Fault], name: str = "") -> Composition:
    """Return a task as a composition of its own.

    Args:
        task: The task.
        faults: Faults of the task.
        name: Id of the composition, that of the task by default.
    """
    return Composition(
        id=name or task.id, kind=Kind.S1, sub_tasks=(task.sub_task,), faults=tuple(faults)
    )


def places(task: HazardTask, modes: Sequence[Mode], seed: int) -> Iterator[Place]:
    """Return the places at which a fault may matter: those of `all_places` but where the plan takes nothing from."""
    return (
        place for place in all_places(task, modes, seed) if _may_matter(task.sub_task, place.fault)
    )


def all_places(task: HazardTask, modes: Sequence[Mode], seed: int) -> Iterator[Place]:
    """Yield each place at which a mode fits a gold call of a task, in every severity; common tools are left alone."""
    tools = tools_of(task.sub_task)
    called = dict.fromkeys(
        call.tool for call in task.sub_task.gold if call.tool not in COMMON_NAMES
    )
    for mode in modes:
        for name in called:
            tool = tools[name]
            for site in mode.sites(tool):
                for fault in _faults(task, mode, tool, site, seed):
                    yield Place(task=task, fault=fault, acts=bool(tool.writes))


def _faults(task: HazardTask, mode: Mode, tool: Tool, site: str, seed: int) -> Iterator[Fault]:
    for failpoint in mode.failpoints:
        for severity in range(1, MOST_SEVERE + 1):
            yield replace(
                fault_at(task.sub_task, mode, tool, site, severity, seed), failpoint=failpoint
            )


def fault_at(task: SubTask, mode: Mode, tool: Tool, site: str, severity: int, seed: int) -> Fault:
    """Return a mode as a fault on a tool, at the first place where it may strike."""
    return Fault(
        task=task.id,
        hazard=mode.hazard,
        mode=mode.name,
        tool=tool.name,
        site=site,
        failpoint=mode.failpoints[0],
        severity=severity,
        seed=seed,
    )


def _may_matter(task: SubTask, fault: Fault) -> bool:
    """Return True if the plan takes a value from the place where an answer is changed.

    The check is cheap and errs only towards True. The site of a change of contract may be in the arguments.
    """
    if fault.hazard not in (Hazard.OUTPUT, Hazard.CONFLICT) or not fault.site:
        return True
    return any(
        covers(fault.site, pointer) or covers(pointer, fault.site)
        for pointer in taken_from(task, fault.tool)
    )


def taken_from(task: SubTask, tool: str) -> list[str]:
    """Return the JSON pointers at which the ground truth takes values from the answers of a tool."""
    sources = (source for call in task.gold for source in call.sources.values())
    return [
        source.pointer
        for source in sources
        if source.call is not None
        and source.pointer is not None
        and task.gold[source.call].tool == tool
    ]


def solves(task: HazardTask, episode: Episode | None) -> bool:
    """Return True if an episode of a task alone ended in its answer, with its effects and no others."""
    return episode is not None and all(
        score.success for score in score_hazards(episode, {task.id: task})
    )


def matters(task: HazardTask, composition: Composition) -> bool:
    """Return True if taking every answer at its word does not solve the task."""
    return not solves(task, replayed(composition, {}))


def witness_of(task: HazardTask, composition: Composition) -> Plan | None:
    """Return a plan that solves the task, or None."""
    return next(
        (plan for plan in plans(composition) if solves(task, replayed(composition, plan))), None
    )


def sign_of(composition: Composition) -> Sign:
    """Return the plainest sign of the faults of a composition of one task, at the tools on which they strike.

    A later failure of another tool does not count: it would lead to that tool.
    """
    task, hit = composition.sub_tasks[0], {fault.tool for fault in composition.faults}
    tools, records = tools_of(task), walked(composition)
    signs = [
        _sign(tools[record.tool], record, failed=failed)
        for record, failed in records
        if record.tool in hit
    ]
    signs += [
        Sign.SOURCE
        for _ in _disagreements(tools, [record for record, failed in records if not failed])
    ]
    order = list(Sign)
    return min(signs, key=order.index, default=Sign.NONE)


def _sign(tool: Tool, record: CallRecord, *, failed: bool) -> Sign:
    if failed:
        return Sign.FAILURE
    try:
        value = read(record.response)
    except NoWayBackError:
        return Sign.STRUCTURE
    validator = Draft202012Validator(tool.remedies.returns or {}, format_checker=FormatChecker())
    broken = {str(problem.validator) for problem in validator.iter_errors(value)}
    if broken:
        return Sign.LIMITS if broken <= _LIMITS else Sign.STRUCTURE
    if any(rule(record.arguments, value) is not None for rule in tool.remedies.invariants):
        return Sign.INVARIANT
    return Sign.NONE


def _disagreements(tools: Mapping[str, Tool], records: Sequence[CallRecord]) -> Iterator[str]:
    """Yield the tools of which a declared source, asked the same, says something else."""
    for record in records:
        tool = tools[record.tool]
        for other in tool.remedies.sources:
            asked = freeze(translated(record.arguments, other))
            for rival in records:
                if rival.tool != other.tool or freeze(dict(rival.arguments)) != asked:
                    continue
                if _parts(tool, record.response) != _parts(tool, rival.response):
                    yield tool.name


def _parts(tool: Tool, text: str) -> Any:
    try:
        return [freeze(resolve(read(text), pointer)) for pointer in tool.remedies.compared]
    except (NoWayBackError, PointerError):
        return None


def acts(task: HazardTask, fault: Fault) -> bool:
    """Return True if a fault is put on a tool that has an effect."""
    return bool(tools_of(task.sub_task)[fault.tool].writes)
