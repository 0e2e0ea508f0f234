"""Plans that prove an instance solvable: for each step that was hit, the way by which its value can be had.

A plan is found by trying and proved by replaying: on the injected environment, under the message
clock, with every operand taken from an answer and from nowhere else. It shares no code with any
runtime, so that a recovery that cannot recover is not excused by an instance that cannot be solved.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.environment import CallRecord, Environment
from asyncguard_benchmark.harness.episode import Episode, Run, finished
from asyncguard_benchmark.harness.fault_modes import Way
from asyncguard_benchmark.harness.fault_pipeline import injection
from asyncguard_benchmark.harness.faults import MOST_SEVERE
from asyncguard_benchmark.harness.pointers import PointerError, resolve
from asyncguard_benchmark.harness.scenario import Composition, GoldCall, Regime, SubTask, Surface
from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.common_tools import DESCRIBE
from asyncguard_benchmark.services.declarations import Alternative, Effect, Tool
from asyncguard_benchmark.suites.hazards.restore import (
    NoWayBackError,
    carried_back,
    normalised,
    put_all,
    read,
    rebound,
)

NAME = "witness"
"""Agent and player of the episodes in which plans are replayed."""
_MOST_TICKS = 400
_MOST_TRIES = 2 * MOST_SEVERE + 1
"""Calls of one tool, if two faults strike it one after the other."""

Plan = Mapping[int, Way]
"""Index of a gold call -> how its value is had; the others are taken at their word."""


class StuckError(Exception):
    """A plan leads nowhere."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """Answer to a call."""

    text: str
    failed: bool


@dataclass(frozen=True, kw_only=True)
class _Ask:
    """A call that a step wants to make."""

    tool: str
    arguments: Mapping[str, Any]


_Walk = Generator[_Ask, Said, Any]


def plans(composition: Composition) -> Iterator[Plan]:
    """Yield the plans that may solve a composition of one task, those of the fewest kinds of calls first.

    Each gold call of a tool that was hit takes a way that the mode leaves open, the same for all calls of the tool.
    """
    task = composition.sub_tasks[0]
    hit: dict[str, set[Way]] = {}
    for fault in composition.faults:
        placed = injection(task, fault)
        ways = set(placed.mode.ways(placed.spot))
        hit[fault.tool] = hit.get(fault.tool, set()) | ways
    tools = list(hit)
    for chosen in product(*([way for way in Way if way in hit[tool]] for tool in tools)):
        by_tool = dict(zip(tools, chosen, strict=True))
        yield {
            index: by_tool[call.tool]
            for index, call in enumerate(task.gold)
            if call.tool in by_tool
        }


def replayed(
    composition: Composition, plan: Plan, regime: Regime = Regime.SYNC, seed: int = 0
) -> Episode | None:
    """Return the episode of a plan for a composition of one task; None if it gets stuck.

    Steps that need nothing of each other are under way together; an effect waits for all before it, and all after it
    wait for an effect.
    """
    environment = Environment(composition, regime, seed)
    walker = _Walker(composition.sub_tasks[0], plan, environment)
    try:
        walker.go()
    except (StuckError, NoWayBackError, PointerError):
        return None
    run = Run(regime=regime, surface=Surface.TEXT, seed=seed)
    return finished(
        environment,
        [],
        run,
        agent=NAME,
        player=NAME,
        plan={str(k): v.value for k, v in plan.items()},
    )


def walked(composition: Composition) -> list[tuple[CallRecord, bool]]:
    """Return the calls of a caller that takes every answer at its word, and whether each failed.

    It goes as far as it gets.

    It goes as far as it gets.
    """
    environment = Environment(composition, Regime.SYNC, 0)
    with suppress(StuckError, NoWayBackError, PointerError):
        _Walker(composition.sub_tasks[0], {}, environment).go()
    return [
        (record, environment.raised(record.number) is not None) for record in environment.trajectory
    ]


class _Walker:
    """Walk along a plan."""

    def __init__(self, task: SubTask, plan: Plan, environment: Environment) -> None:
        self._task, self._plan, self._environment = task, plan, environment
        self._tools = tools_of(task)
        self._values: dict[int, Any] = {}
        self._walks: dict[int, _Walk] = {}
        self._waiting: dict[int, int] = {}

    def go(self) -> None:
        """Go to the end of the plan."""
        while len(self._values) < len(self._task.gold):
            if self._environment.begin_round() > _MOST_TICKS:
                raise StuckError("the plan takes too long")
            for index in self._ready():
                self._walks[index] = self._step(index)
                self._move(index, None)
            self._deliver()

    def _deliver(self) -> None:
        while due := self._environment.due():
            for record in due:
                index = self._waiting.pop(record.number)
                self._move(index, self._said(record))

    def _said(self, record: CallRecord) -> Said:
        return Said(
            text=record.response, failed=self._environment.raised(record.number) is not None
        )

    def _move(self, index: int, said: Said | None) -> None:
        walk = self._walks[index]
        try:
            ask = next(walk) if said is None else walk.send(said)
        except StopIteration as done:
            self._values[index] = done.value
            return
        record = self._environment.issue(self._task.id, ask.tool, ask.arguments)
        self._waiting[record.number] = index

    def _ready(self) -> list[int]:
        """Return the steps that have not begun and may."""
        found = []
        for index, call in enumerate(self._task.gold):
            before = [other for other in range(index) if other not in self._values]
            barred = any(self._acts(other) for other in before) or (self._acts(index) and before)
            if index not in self._walks and not barred and call.needs() <= self._values.keys():
                found.append(index)
        return found

    def _acts(self, index: int) -> bool:
        return self._tools[self._task.gold[index].tool].effect is not Effect.PURE

    def _step(self, index: int) -> _Walk:
        call = self._task.gold[index]
        return value_of(self._tools, call.tool, self._arguments(call), self._plan.get(index))

    def _arguments(self, call: GoldCall) -> Any:
        values = {
            place: resolve(self._values[source.call], source.pointer)
            for place, source in call.sources.items()
            if source.call is not None and source.pointer is not None
        }
        return put_all(call.arguments, values)


def value_of(
    tools: Mapping[str, Tool], name: str, arguments: Mapping[str, Any], way: Way | None
) -> _Walk:
    """Return the calls by which one value is had, and the value.

    Raises:
        StuckError: it is not had this way.
        NoWayBackError: what was answered does not say it.
    """
    tool = tools[name]
    said = yield _Ask(tool=name, arguments=arguments)
    match way:
        case None:
            return _taken(said)
        case Way.RETRY:
            return (yield from _retried(tool, arguments, said))
        case Way.REFRESH:
            return (yield from _refreshed(tool, arguments, said))
        case Way.NORMALISE:
            return normalised(_unless_failed(said).text, tool.remedies.returns or {})
        case Way.FALLBACK:
            return (yield from _first(tools, tool, arguments, tool.remedies.fallbacks))
        case Way.CROSS_CHECK:
            return (yield from _outvoted(tools, tool, arguments, said))
        case Way.VERIFY if tool.remedies.probe is not None:
            return (yield from _probed(tools, tool, arguments, said))
        case Way.VERIFY:
            verifier = tool.remedies.verifier
            return (
                yield from _first(tools, tool, arguments, () if verifier is None else (verifier,))
            )


def _unless_failed(said: Said) -> Said:
    if said.failed:
        raise StuckError("the call failed")
    return said


def _taken(said: Said) -> Any:
    return read(_unless_failed(said).text)


def _retried(tool: Tool, arguments: Mapping[str, Any], said: Said) -> _Walk:
    for _ in range(_MOST_TRIES):
        if not said.failed:
            break
        said = yield _Ask(tool=tool.name, arguments=arguments)
    return _taken(said)


def _refreshed(tool: Tool, arguments: Mapping[str, Any], said: Said) -> _Walk:
    told = yield _Ask(tool=DESCRIBE, arguments={"tool": tool.name})
    live = _taken(told)
    if said.failed:
        said = yield _Ask(
            tool=tool.name, arguments=rebound(arguments, tool.parameters, live["parameters"])
        )
    return carried_back(_taken(said), tool.remedies.returns or {}, live["returns"] or {})


def _first(
    tools: Mapping[str, Tool],
    tool: Tool,
    arguments: Mapping[str, Any],
    others: Sequence[Alternative],
) -> _Walk:
    """Return the answer of the first other tool that answers as declared."""
    for other in others:
        if other.tool not in tools:
            continue
        said = yield _Ask(tool=other.tool, arguments=translated(arguments, other))
        if _is_sound(said, tools[other.tool]):
            return _taken(said)
    raise StuckError(f"nothing answers in place of {tool.name}")


def _outvoted(
    tools: Mapping[str, Tool], tool: Tool, arguments: Mapping[str, Any], said: Said
) -> _Walk:
    """Return the values on which most of the sources agree where they have to; the trusted source's if no two agree."""
    voices = [_taken(said)] if _is_sound(said, tool) else []
    trusted = None
    for other in tool.remedies.sources:
        if other.tool not in tools:
            continue
        heard = yield _Ask(tool=other.tool, arguments=translated(arguments, other))
        if _is_sound(heard, tools[other.tool]):
            voices.append(_taken(heard))
            trusted = voices[-1] if other.trusted else trusted
    counts = Counter(_compared(tool, voice) for voice in voices)
    most = max(counts.values(), default=0)
    leading = [voice for voice in voices if counts[_compared(tool, voice)] == most]
    if most > 1 and len({_compared(tool, voice) for voice in leading}) == 1:
        return leading[0]
    if trusted is None:
        raise StuckError(f"the sources of {tool.name} do not agree, and none is trusted")
    return trusted


def _probed(
    tools: Mapping[str, Tool], tool: Tool, arguments: Mapping[str, Any], said: Said
) -> _Walk:
    """Return the effect's result from its probe, if it happened; the effect again only where the probe denies it."""
    probe = tools.get(tool.remedies.probe or "")
    if probe is None:
        raise StuckError(f"{tool.name} cannot be probed here")
    known = {
        name: value for name, value in arguments.items() if name in probe.parameters["properties"]
    }
    for _ in range(_MOST_TRIES):
        if not said.failed and _is_sound(said, tool):
            return _taken(said)
        told = _taken((yield _Ask(tool=probe.name, arguments=known)))
        if told["happened"]:
            return told["result"]
        said = yield _Ask(tool=tool.name, arguments=arguments)
    raise StuckError(f"{tool.name} fails again and again")


def translated(arguments: Mapping[str, Any], other: Alternative) -> dict[str, Any]:
    """Return a call's arguments as another tool names them."""
    theirs = {ours: name for name, ours in other.arguments.items()}
    return {theirs.get(name, name): value for name, value in arguments.items()}


def _is_sound(said: Said, tool: Tool) -> bool:
    if said.failed:
        return False
    try:
        return bool(Draft202012Validator(tool.remedies.returns or {}).is_valid(read(said.text)))
    except NoWayBackError:
        return False


def _compared(tool: Tool, voice: Any) -> Any:
    return tuple(freeze(resolve(voice, pointer)) for pointer in tool.remedies.compared)
