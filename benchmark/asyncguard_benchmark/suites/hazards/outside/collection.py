"""All cases, and the scenarios that they make."""

from collections.abc import Callable, Collection, Iterator, Mapping

from asyncguard_benchmark.suites.hazards.outside.broken_code import atomic, exits, raises_after
from asyncguard_benchmark.suites.hazards.outside.cases import Case, Family, Scenario
from asyncguard_benchmark.suites.hazards.outside.late_attempts import runs_on
from asyncguard_benchmark.suites.hazards.outside.passing_faults import neighbour, transient
from asyncguard_benchmark.suites.hazards.outside.repeat_middleware import repeated
from asyncguard_benchmark.suites.hazards.outside.values import (
    lookalikes,
    parameters,
    sources,
    units,
)

_CASES: Mapping[Family, Callable[[], Iterator[Case]]] = {
    Family.RUNS_ON: runs_on,
    Family.RAISES_AFTER: raises_after,
    Family.REPEATED: repeated,
    Family.ATOMIC: atomic,
    Family.UNITS: units,
    Family.LOOKALIKES: lookalikes,
    Family.PARAMETERS: parameters,
    Family.SOURCES: sources,
    Family.TRANSIENT: transient,
    Family.NEIGHBOUR: neighbour,
    Family.EXITS: exits,
}


def scenarios(families: Collection[Family] = tuple(Family)) -> list[Scenario]:
    """Every case of some families at every level that it has."""
    return [
        Scenario(case=case, level=level)
        for family in families
        for case in _CASES[family]()
        for level in case.levels
    ]
