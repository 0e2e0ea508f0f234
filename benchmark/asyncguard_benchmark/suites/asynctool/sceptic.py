"""A sceptic's question to the demo: what of guesses that stand in the messages for something else?"""

from collections.abc import Sequence

from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.campaign import Cell, Grid
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.blocks import Chapter, Curves, Row, Series, Tone
from asyncguard_benchmark.harness.report.figures import Figures, rows_of
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.scoring.summary import Rate
from asyncguard_benchmark.harness.statistics.estimates import Interval

_RATES = (0.0, 0.25, 0.5)
_PLAYER = "graph"
_ARMS = (
    ("declared", ALL, True, Tone.GUARDED),
    ("undecl.", ALL, False, Tone.NEUTRAL),
    ("none", NONE, True, Tone.BARE),
)


def agent_at(rate: float) -> AgentSpec:
    """Return the eager agent with this share of guesses that stand in its messages."""
    return AgentSpec(kind="eager", settings={"distractor_rate": rate} if rate else {})


def cells_of(compositions: Sequence[Composition]) -> list[Cell]:
    """Return the episodes that answer it."""
    agents = [agent_at(rate) for rate in _RATES]
    guarded = Grid(
        compositions=compositions,
        agents=agents,
        players=(_PLAYER,),
        arms=(ALL,),
        declared=(True, False),
    )
    bare = Grid(compositions=compositions, agents=agents, players=(_PLAYER,), arms=(NONE,))
    return [*guarded.cells(), *bare.cells()]


def chapter(rows: Sequence[Figures]) -> Chapter:
    """Return the answer."""
    curves = Curves(
        title="Eager agent, overall by share of such guesses",
        axis_name="share of guesses that stand in a message",
        places=[f"{rate:.0%}" for rate in _RATES],
        series=[
            Series(
                label=label,
                tone=tone,
                values=[_overall(rows, rate, arm, declared=declared) for rate in _RATES],
            )
            for label, arm, declared, tone in _ARMS
        ],
    )
    text = (
        "The eager agent invents what it does not have yet, and by default an invention occurs nowhere: the easy case "
        "for a guard that asks where a value comes from. A guess may also be a value that stands in the messages of "
        "the sub-task for something else. No guard here can tell such a value from a right one. declared, undecl.: "
        "all guards, with tools whose effects and footprints are declared to them, or not. Intervals are Wilson's."
    )
    return Chapter(
        id="sceptic", title="What guards do not catch", text=text, blocks=[Row(charts=[curves])]
    )


def _overall(rows: Sequence[Figures], rate: float, arm: str, *, declared: bool) -> Interval | None:
    found = rows_of(rows, agent=agent_at(rate).label, arm=arm, declared=declared)
    return _interval(found[0].summary.overall) if found else None


def _interval(rate: Rate | None) -> Interval | None:
    return None if rate is None else Interval(value=rate.value, low=rate.low, high=rate.high)
