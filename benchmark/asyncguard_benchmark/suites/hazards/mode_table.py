"""All drift modes under their names."""

from collections.abc import Mapping

from asyncguard_benchmark.harness.fault_modes import Mode
from asyncguard_benchmark.suites.hazards.argument_modes import ArgumentNested, ArgumentRenamed
from asyncguard_benchmark.suites.hazards.benign_modes import BENIGN_MODES
from asyncguard_benchmark.suites.hazards.breakdown_modes import (
    ConnectionReset,
    NotSent,
    RateLimited,
    StorageFailed,
    TimedOut,
    Unavailable,
)
from asyncguard_benchmark.suites.hazards.conflict_modes import DisagreeingValue, StaleValue
from asyncguard_benchmark.suites.hazards.held_out_modes import HELD_OUT_MODES
from asyncguard_benchmark.suites.hazards.output_modes import (
    AliasInstead,
    Explained,
    Labelled,
    Truncated,
    UnitWrapped,
)
from asyncguard_benchmark.suites.hazards.result_modes import (
    ResultNested,
    ResultRenamed,
    ResultRetyped,
    UnitChanged,
)
from asyncguard_benchmark.suites.hazards.transit_modes import ArgumentCoerced, ArgumentDropped

DEVELOPMENT_MODES: tuple[Mode, ...] = (
    ArgumentRenamed(),
    ArgumentNested(),
    ResultRenamed(),
    ResultRetyped(),
    ResultNested(),
    UnitChanged(),
    ArgumentDropped(),
    ArgumentCoerced(),
    TimedOut(),
    ConnectionReset(),
    Unavailable(),
    RateLimited(),
    NotSent(),
    StorageFailed(),
    UnitWrapped(),
    Labelled(),
    AliasInstead(),
    Explained(),
    Truncated(),
    DisagreeingValue(),
    StaleValue(),
)
"""Modes that those who work on recovery may try it on."""

MODES: Mapping[str, Mode] = {
    mode.name: mode for mode in (*DEVELOPMENT_MODES, *HELD_OUT_MODES, *BENIGN_MODES)
}
"""Every mode under its name, benign variation among them."""
