"""Answers of effect probes: whether an effect happened, and what its tool would have answered.

A probe is a read-only tool that a declaration names (``ToolSpec.probe``). It is asked by a further
attempt of the call; what follows from its answer is in :mod:`asyncguard.recovery.policy`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import Any

from asyncguard.core.events import Aim
from asyncguard.core.records import CallRecord
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.result_check import Answer, read_answer
from asyncguard.recovery.translation import translate
from asyncguard.schema.compiled import main_form, properties


class Probed(StrEnum):
    """Knowledge from the probe of an effect."""

    UNASKED = "unasked"
    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    TOO_EARLY = "too_early"
    """The probe said no while the attempt may still run, so the effect may yet happen."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeAnswer:
    """Answer of a probe, read."""

    probed: Probed
    """Knowledge of whether the effect happened."""
    result: Any = None
    """Answer of the effect as far as the probe knows it, in the form that its tool declares."""
    changes: tuple[str, ...] = ()
    """Steps that brought it into that form, in words, without values."""


def read_probe(
    record: CallRecord, *, running: bool, declared: Callable[[str], ToolSpec]
) -> ProbeAnswer:
    """Read the answer of the probe about a call's latest attempt.

    The probe answers ``{"happened": bool, "result": ...}``.

    Args:
        record: The call.
        running: True if the attempt may still run.
        declared: Returns the declaration of a tool by its name.
    """
    # A probe that was made before the latest attempt ended says nothing about that attempt.
    later = takewhile(lambda found: found.aim is not Aim.ANSWER, reversed(record.findings))
    about = (found for found in later if found.tries == record.answer_attempts)
    found = next((found for found in about if found.aim is Aim.PROBE), None)
    if found is None:
        return ProbeAnswer(probed=Probed.UNASKED)
    value = read_answer(found.content).value if found.error is None else None
    happened = value.get("happened") if isinstance(value, Mapping) else None
    # Anything but true and false means that the probe does not know.
    if not isinstance(happened, bool) or not isinstance(value, Mapping):
        return ProbeAnswer(probed=Probed.UNKNOWN)
    if not happened:
        return ProbeAnswer(probed=Probed.TOO_EARLY if running else Probed.NOT_HAPPENED)
    if value.get("result") is None:
        return ProbeAnswer(probed=Probed.HAPPENED)
    # The probe declares the result of the effect as one field of its own answer.
    probe = declared(found.tool)
    said_by = replace(probe, result_schema=properties(main_form(probe.result_schema)).get("result"))
    answer = Answer(parsed=True, value=value["result"], text=None)
    reading = translate(answer, said_by, declared(record.call.tool).result_schema)
    result = None if reading.problems else reading.answer.value
    return ProbeAnswer(probed=Probed.HAPPENED, result=result, changes=reading.changes)
