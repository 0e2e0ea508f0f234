"""Judge of a run, by what the model was told and what the world holds. Knows nothing of the runtime but its mark."""

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from asyncguard_benchmark.suites.hazards.outside.cases import Case, Level, Scenario
from asyncguard_benchmark.suites.hazards.outside.world import World

MARK = "[asyncguard:"
_EARLY = 1.5
"""Seconds that may be missing from a pause: dates of ``Retry-After`` have whole seconds."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """One text that the model was shown as the answer to a call, or as news of one."""

    text: str
    failed: bool
    tool: str = ""
    """Tool that gave the answer; empty for news."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """Answers that one conversation got."""

    told: tuple[Told, ...] = ()
    in_doubt: bool = False
    """True if the report of the run names a call in doubt."""
    crashed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Observations of one run."""

    heard: tuple[Heard, ...] = ()
    refused: str = ""
    """Reason why the agent was not built: declarations that contradict each other."""


class Ending(Enum):
    """End of a run."""

    SERVED = "served"
    """Right value, and the effect exactly once."""
    HONEST = "honest"
    """Not served, and the model was told so: failed, in doubt, refused, or the tool's words as they came."""
    WRONG = "wrong"
    """A wrong value, or a false word about an effect."""
    CRASHED = "crashed"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict on one run."""

    ending: Ending
    twice: int = 0
    """Effects beyond the first of each."""
    silent: bool = False
    """A wrong value without a mark."""
    excused: bool = False
    """The silent value is the called tool's own and nothing was declared that speaks against it."""
    marked_wrong: bool = False
    """A wrong value beside a mark."""
    false_word: str = ""
    """Statement about an effect that is not true."""
    late: bool = False
    """Not served within its time, or a service asked again before the pause it had asked for."""
    alarm: bool = False
    """A clean twin that was not served plainly."""


def judge(scenario: Scenario, seen: Seen, world: World, *, faulty: bool) -> Verdict:
    """Judge one run of a scenario or of its clean twin."""
    case = scenario.case
    twice = sum(count - 1 for count in world.effects.values() if count > 1)
    if any(each.crashed for each in seen.heard):
        return Verdict(ending=Ending.CRASHED, twice=twice, alarm=not faulty)
    if seen.refused:
        return Verdict(ending=Ending.HONEST, twice=twice, alarm=not faulty and not case.refusable)
    told = seen.heard[-1].told
    values = [
        (index, value)
        for index, each in enumerate(told)
        if (value := _value(each, case)) is not None
    ]
    wrong = [index for index, value in values if not value]
    # What is told later may take a value back.
    silent = any(not any(MARK in each.text for each in told[index:]) for index in wrong)
    stands = bool(wrong) and not values[-1][1]
    false_word = _false_word(case, seen.heard[-1], world)
    served = not twice and not false_word and not silent and _served(case, told, world)
    ending = (
        Ending.WRONG
        if silent or stands or false_word
        else Ending.SERVED
        if served
        else Ending.HONEST
    )
    return Verdict(
        ending=ending,
        twice=twice,
        silent=silent,
        excused=silent and scenario.level is not Level.FULL,
        marked_wrong=stands and not silent,
        false_word=false_word,
        late=_late(case, seen, world, faulty=faulty),
        alarm=not faulty and (not served or any(each.failed or MARK in each.text for each in told)),
    )


def _served(case: Case, told: tuple[Told, ...], world: World) -> bool:
    happened = case.effect is None or world.happened(case.effect) == 1
    return happened and any(_value(each, case) for each in told)


def _false_word(case: Case, heard: Heard, world: World) -> str:
    """Return the words on an effect that happened and is told as failed, or did not happen and is told as done."""
    if case.effect is None:
        return ""
    happened, done = (
        world.happened(case.effect),
        any(not each.failed for each in heard.told if each.tool or _value(each, case)),
    )
    if done and not happened:
        return "told as done, and it did not happen"
    if happened and not done and not heard.in_doubt and not case.repeatable:
        return "told as failed, and it happened"
    return ""


def _late(case: Case, seen: Seen, world: World, *, faulty: bool) -> bool:
    for conversation, heard in zip(case.conversations, seen.heard, strict=True):
        if conversation.within is not None and heard.seconds > conversation.within:
            return True
    if case.pause is None or not faulty:
        return False
    tool, seconds = case.pause
    begun = world.begun(tool)
    return len(begun) > 1 and begun[1] - begun[0] < seconds - _EARLY


def _value(told: Told, case: Case) -> bool | None:
    """Return True if the text states the true values, False if it states others, None if it states none."""
    truth = case.truths.get(told.tool, case.truth)
    if told.failed:
        return None
    # News of a late result stand within words of the runtime.
    said = _object(told.text if told.tool else told.text[max(0, told.text.find("{")) :])
    if not isinstance(said, dict) or not any(name in said for name in truth):
        return None
    return all(name in said and _same(said[name], value) for name, value in truth.items())


def _object(text: str) -> Any:
    """Return the JSON value that a text begins with, or None."""
    try:
        return json.JSONDecoder().raw_decode(text.lstrip())[0]
    except json.JSONDecodeError:
        return None


def _same(said: Any, true: Any) -> bool:
    if isinstance(said, bool) or isinstance(true, bool) or not isinstance(said, int | float):
        return bool(said == true)
    return isinstance(true, int | float) and math.isclose(said, true, rel_tol=1e-9)
