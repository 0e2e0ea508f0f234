"""A sceptic's questions: what of guesses that stand in the messages, and what do guards cost where none is made?"""

from collections.abc import Iterator, Sequence

from asyncguard.config import Siblings
from asyncguard_benchmark.harness.arms import ALL, ARMS, NONE, SIBLINGS, arm_of
from asyncguard_benchmark.harness.campaign import Cell, Grid
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.blocks import Chapter, Curves, Row, Series, Table, Tone
from asyncguard_benchmark.harness.report.figures import Figures, interval, number, percent, rows_of
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface
from asyncguard_benchmark.harness.scoring.summary import Rate
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.asynctool.dataset import INDEPENDENT
from asyncguard_benchmark.suites.asynctool.dataset import compositions as compositions_of

EAGER, EAGER_BATCH, BATCH = "eager", "eager-batch", "batch"
RATES = (0.0, 0.25, 0.5, 1.0)
"""Shares of the eager agent's guesses that stand in a message."""
BATCH_RATES = (0.0, 0.5)
"""The same of the agent that guesses within a message."""
HONEST = ("parallel", "heeding", BATCH)
"""Agents that guess nothing and make calls early, or several at once: rounds that guards cost them are needless."""
WITHOUT_PREMATURE = "without-premature"
SWEPT_ARMS = tuple(arm for arm in (ALL, WITHOUT_PREMATURE, NONE) if arm in ARMS)
SIBLING_ARMS = tuple(name if (name := f"{SIBLINGS}{rule}") in ARMS else ALL for rule in Siblings)
"""The rules of ``premature`` for calls of one message whose tools declare no sources."""
_PLAYER = "graph"
_LINES = (
    ("declared", ALL, True, Tone.GUARDED),
    ("undecl.", ALL, False, Tone.NEUTRAL),
    ("not prem.", WITHOUT_PREMATURE, True, Tone.LOSS),
    ("none", NONE, True, Tone.BARE),
)


def agent_at(kind: str, rate: float) -> AgentSpec:
    """Return an agent that guesses, with this share of guesses that stand in its messages."""
    return AgentSpec(kind=kind, settings={"distractor_rate": rate} if rate else {})


def guessing(rates: Sequence[float], batch_rates: Sequence[float]) -> list[AgentSpec]:
    """Return the agents that guess, from message to message and within one."""
    return [
        *(agent_at(EAGER, rate) for rate in rates),
        *(agent_at(EAGER_BATCH, rate) for rate in batch_rates),
    ]


def cells_of(
    compositions: Sequence[Composition],
    agents: Sequence[AgentSpec],
    *,
    arms: Sequence[str] = (ALL, NONE),
    players: Sequence[str] = (_PLAYER,),
    declared: Sequence[bool] = (True, False),
    regimes: Sequence[Regime] = (Regime.FIXED1,),
) -> list[Cell]:
    """Return the episodes that answer it; agents that make several calls a message play the native surface.

    Args:
        compositions: The tasks.
        agents: The agents.
        arms: The guards.
        players: The front ends.
        declared: True and False for guards that know declarations of tools, and that know none.
        regimes: The delays.
    """
    return [
        cell
        for agent in agents
        for arm in arms
        for cell in Grid(
            compositions=compositions,
            agents=[agent],
            players=players,
            arms=[arm],
            # Without guards nothing reads what is declared.
            declared=declared if arm != NONE else (True,),
            regimes=regimes,
            surfaces=[Surface.NATIVE if agent.kind in (EAGER_BATCH, BATCH) else Surface.TEXT],
        ).cells()
    ]


def sibling_cells(
    compositions: Sequence[Composition],
    batch_rates: Sequence[float],
    *,
    players: Sequence[str] = (_PLAYER,),
    regimes: Sequence[Regime] = (Regime.FIXED1,),
) -> list[Cell]:
    """Return the episodes that show the trade-off between `Siblings` rules: guesses in a message, and honest batches.

    Tools are undeclared: with declarations no rule has a choice.
    """
    agents = [*(agent_at(EAGER_BATCH, rate) for rate in batch_rates), AgentSpec(kind=BATCH)]
    return cells_of(
        compositions, agents, arms=SIBLING_ARMS, players=players, declared=(False,), regimes=regimes
    )


def demo_cells(compositions: Sequence[Composition]) -> list[Cell]:
    """Return what the demo plays: guesses in its compositions, and the price in as many with independent steps."""
    independent = compositions_of(INDEPENDENT)
    chosen = independent[:: len(independent) // len(compositions)][: len(compositions)]
    return [
        *cells_of(compositions, guessing(RATES, BATCH_RATES)),
        *cells_of(chosen, [AgentSpec(kind=kind) for kind in HONEST], declared=(True,)),
    ]


def chapter(
    rows: Sequence[Figures],
    *,
    name: str = "",
    rates: Sequence[float] = RATES,
    batch_rates: Sequence[float] = BATCH_RATES,
) -> Chapter:
    """Return the answers, about the compositions of one set.

    Args:
        rows: Figures of the episodes; agents and arms that were not played are left out.
        name: The set, for a report of several.
        rates: Shares of the eager agent's guesses.
        batch_rates: Shares of the guesses within a message.
    """
    setups = dict.fromkeys((row.group.player, row.group.regime) for row in rows)
    charts = [
        curves
        for player, regime in setups
        for kind, shares, title in (
            (EAGER, rates, "Eager agent, overall by share of such guesses"),
            (EAGER_BATCH, batch_rates, "The same within one message"),
        )
        for curves in _curves(
            rows_of(rows, player=player, regime=regime),
            kind,
            shares,
            f"{title}, {player}, {regime}" if len(setups) > 1 else title,
        )
    ]
    tables = [table for table in (_price(rows), _siblings(rows, batch_rates)) if table]
    text = (
        "The eager agent invents what it does not have yet, and by default an invention occurs nowhere: the easy case "
        "for a guard that asks where a value comes from. A guess may also be a value that stands in the messages of "
        "the sub-task for something else. No guard that looks at the value alone can tell it from a right one. "
        "declared, undecl.: all guards, with tools whose effects and footprints are declared to them, or not. "
        "Intervals are Wilson's."
    )
    return Chapter(
        id=f"sceptic-{name}" if name else "sceptic",
        title=f"Plausible guesses{f', {name}' if name else ''}",
        text=text,
        blocks=[*([Row(charts=charts)] if charts else []), *tables],
    )


def _curves(
    rows: Sequence[Figures], kind: str, rates: Sequence[float], title: str
) -> Iterator[Curves]:
    series = [
        Series(
            label=label,
            tone=tone,
            values=[_overall(rows, kind, rate, arm, declared=declared) for rate in rates],
        )
        for label, arm, declared, tone in _LINES
    ]
    if played := [each for each in series if any(each.values)]:
        yield Curves(
            title=title,
            axis_name="share of guesses that stand in a message",
            places=[f"{rate:.0%}" for rate in rates],
            series=played,
        )


def _overall(
    rows: Sequence[Figures], kind: str, rate: float, arm: str, *, declared: bool
) -> Interval | None:
    found = rows_of(rows, agent=agent_at(kind, rate).label, arm=arm, declared=declared)
    return _interval(found[0].summary.overall) if found else None


def _interval(rate: Rate | None) -> Interval | None:
    return None if rate is None else Interval(value=rate.value, low=rate.low, high=rate.high)


def _siblings(rows: Sequence[Figures], batch_rates: Sequence[float]) -> Table | None:
    """Return one line for each rule that was played: what guesses get through, and what honest batches pay."""
    rules = {name: arm_of(name).config.siblings for name in SIBLING_ARMS}
    undeclared = rows_of(rows, declared=False)
    agents = [*(agent_at(EAGER_BATCH, rate).label for rate in batch_rates), BATCH]
    setups = dict.fromkeys((row.group.player, row.group.regime) for row in rows)
    lines = []
    for player, regime in setups:
        for arm, rule in rules.items():
            alike = rows_of(undeclared, player=player, regime=regime, arm=arm)
            found = [each for agent in agents for each in rows_of(alike, agent=agent)]
            if len(found) < len(agents):
                continue
            batch = found[-1].summary
            scores = [
                f"{percent(each.summary.overall)} ({interval(each.summary.overall)})"
                for each in found
            ]
            lines.append((rule.value, regime, player, *scores, number(batch.rounds)))
    if len({line[0] for line in lines}) < 2:
        return None
    return Table(
        title="Calls of one message, tools undeclared: the rule `siblings`",
        heads=(
            "siblings",
            "delay",
            "front end",
            *(f"guesses, {rate:.0%} plausible" for rate in batch_rates),
            "honest batch",
            "its rounds",
        ),
        lines=lines,
        note="overall and its interval, of the agent that guesses within a message and of one whose batches hold "
        "only independent calls. declared: calls of a message are left alone unless `takes_from` names a source; "
        "once: a call after one of another tool is refused, and passes if it is repeated unchanged; every: it is "
        "refused each time.",
    )


def _price(rows: Sequence[Figures]) -> Table | None:
    shown = [row for row in rows if not row.group.arm.startswith(SIBLINGS)]
    lines = [line for kind in ("oracle", *HONEST) for line in _prices(rows_of(shown, agent=kind))]
    if not lines:
        return None
    return Table(
        title="Price of the guards for agents that do not guess",
        heads=(
            "agent",
            "guards",
            "tools",
            "delay",
            "front end",
            "overall",
            "95 %",
            "rounds",
            "more",
        ),
        lines=lines,
        note="parallel: makes each call whose values it knows, and never waits. heeding: the same until it is told "
        "that early calls wait. batch: independent calls in one message. rounds: messages of the agent. more: than "
        "without the guard premature, and without any guard where that was not played; fewer where the runtime waits "
        "and the agent need not say so.",
    )


def _prices(rows: Sequence[Figures]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        group, rounds = row.group, row.summary.rounds
        alike = rows_of(rows, player=group.player, regime=group.regime)
        without = [
            *rows_of(alike, arm=WITHOUT_PREMATURE, declared=group.declared),
            *rows_of(alike, arm=NONE),
        ]
        base = without[0].summary.rounds if without else None
        yield (
            group.agent,
            group.arm,
            "declared" if group.declared else "undeclared",
            group.regime,
            group.player,
            percent(row.summary.overall),
            interval(row.summary.overall),
            number(rounds),
            "-" if rounds is None or base is None else f"{rounds - base:+.1f}",
        )
