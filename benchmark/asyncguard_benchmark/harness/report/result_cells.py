"""Cells of the tables of `bench results`: conditions and figures; a dash says that there is no figure."""

from asyncguard_benchmark.harness.ablation.findings import Effect, Interval, Setup
from asyncguard_benchmark.harness.scenario import Contract

Line = tuple[str, ...]
Part = tuple[str, str, Line, list[Line]]
"""Title, explanation, heads and lines of one table."""
USUAL = "graph"
"""The adapter that is not named in tables."""


def name_of(setup: Setup) -> str:
    """Return the agent, and what differs from the usual setup: declared tools, `build_agent`, our contract."""
    player = "" if setup.player == USUAL else f", {setup.player}"
    contract = "" if setup.contract == Contract.OURS else f", contract {setup.contract}"
    return f"{setup.agent}{player}{'' if setup.declared else ', undeclared'}{contract}"


def span(interval: Interval | None, *, signed: bool = False) -> str:
    """Return an interval in points."""
    if interval is None:
        return "-"
    if signed:
        return f"{interval.value:+.1f} ({interval.low:+.1f} to {interval.high:+.1f})"
    return f"{interval.value:.1f} ({interval.low:.0f} to {interval.high:.0f})"


def value_of(interval: Interval | None) -> str:
    """Return its estimate alone."""
    return "-" if interval is None else f"{interval.value:.1f}"


def number(value: float | None) -> str:
    """Return a mean."""
    return "-" if value is None else f"{value:.1f}"


def least_seen_of(effect: Effect) -> str:
    """Return the least effect that a comparison would have shown; `any` if it could have missed every one."""
    return "any" if effect.least_seen > 100 else f"{effect.least_seen:.1f}"


def difference_of(effect: Effect | None) -> str:
    """Return the effect of an arm, in points."""
    return "-" if effect is None else span(effect.difference, signed=True)
