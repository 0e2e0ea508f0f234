"""Held out: a third of all modes, written apart from diagnosis and recovery, which are measured on them unseen."""

from asyncguard_benchmark.harness.fault_modes import Mode
from asyncguard_benchmark.suites.hazards.held_out_answers import (
    ArgumentRespelled,
    DeprecationNoted,
    FieldWithheld,
    NumberLocalised,
    RoundedValue,
)
from asyncguard_benchmark.suites.hazards.held_out_contracts import (
    ArgumentAdded,
    ArgumentInSmallerUnit,
    ArgumentListed,
    DateAsTimestamp,
    ResultPaged,
    WordNumbered,
)

HELD_OUT_MODES: tuple[Mode, ...] = (
    ArgumentListed(),
    ArgumentInSmallerUnit(),
    ArgumentAdded(),
    ResultPaged(),
    DateAsTimestamp(),
    WordNumbered(),
    ArgumentRespelled(),
    NumberLocalised(),
    DeprecationNoted(),
    FieldWithheld(),
    RoundedValue(),
)
"""Modes that were unknown to those who worked on diagnosis and recovery."""
