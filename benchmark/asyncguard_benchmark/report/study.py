"""What the demo plays, and what it says of the outcome."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from asyncguard_benchmark.arms import ALL, LEAVE_ONE_OUT, NONE, ONE_IN
from asyncguard_benchmark.campaign import Cell, Grid, Played, key_of
from asyncguard_benchmark.episode import Episode
from asyncguard_benchmark.names import AGENT_NAMES, PLAIN, PLAYER_NAMES
from asyncguard_benchmark.report.figures import Figures, Tally, interval, number, percent, rows_of
from asyncguard_benchmark.report.section import Bar, Section
from asyncguard_benchmark.roster import AgentSpec
from asyncguard_benchmark.scenario import Composition, Regime

_GUARDED = tuple(name for name in PLAYER_NAMES if name != PLAIN)
_RATES = (0.0, 0.25, 0.5)
_SIMULATED = """\
The agents are simulated: programs with a symbolic plan (which tool comes next, where each value comes from) and no \
value of any result. They show what guards do to a known behaviour, not how a given model would score. The tools are \
simulated, too: files and accounts in memory, with delays counted in messages. Real are the runtime, both front ends \
and every guard, and the scores, which execute every call again. One round is one message of the agent; one tick is \
one round or one wait of the runtime. Intervals are 95 % (Wilson), over the compositions played."""
_GUESSES = """\
By default the eager agent invents what it lacks, and an invention occurs nowhere: the easy case for a guard that asks \
where a value comes from. A guess may also be a value that stands in the sub-task's messages for something else. \
With {rates} of such guesses, overall with all guards is {declared} with declared and {undeclared} with \
undeclared tools ({plain} without guards). No guard here catches them."""


def agent_at(rate: float) -> AgentSpec:
    """The eager agent with this share of guesses that stand in its messages."""
    return AgentSpec(kind="eager", settings={"distractor_rate": rate} if rate else {})


def cells_of(compositions: Sequence[Composition]) -> list[Cell]:
    """Every episode of the demo, each once."""
    simple = [AgentSpec(kind=name) for name in AGENT_NAMES]
    grids = (
        Grid(compositions=compositions, agents=simple, players=PLAYER_NAMES, arms=(NONE, ALL)),
        Grid(compositions=compositions, agents=simple[:1], players=PLAYER_NAMES, arms=(ALL,), regimes=tuple(Regime)),
        Grid(compositions=compositions, agents=[agent_at(0)], players=("graph",), arms=(*LEAVE_ONE_OUT, *ONE_IN)),
        Grid(
            compositions=compositions,
            agents=[agent_at(rate) for rate in _RATES],
            players=(PLAIN, "graph"),
            arms=(ALL,),
            declared=(True, False),
        ),
    )
    return list({key_of(cell): cell for grid in grids for cell in grid.cells()}.values())


@dataclass(kw_only=True)
class Study:
    """Takes the demo's episodes one by one and reports on them."""

    tally: Tally = field(default_factory=Tally)
    episodes: int = 0
    _plain: dict[tuple[str, str], Episode] = field(default_factory=dict)
    _same: list[bool] = field(default_factory=list)

    def add(self, played: Played) -> None:
        """Scores one episode. The plain ones come before those that they are compared with."""
        episode = played.episode
        self.tally.add(episode, played.seconds)
        self.episodes += 1
        if episode.run.regime is not Regime.FIXED1 or episode.settings["arm"] != NONE:
            return
        name = (episode.agent, episode.composition.id)
        if episode.player == PLAIN:
            self._plain[name] = episode
        elif name in self._plain:
            plain = self._plain[name]
            same = episode.messages == plain.messages and episode.trajectory == plain.trajectory
            self._same.append(same)

    def sections(self) -> list[Section]:
        """The report."""
        rows = self.tally.figures()
        return [
            Section(title="What is simulated", text=_SIMULATED),
            self._agents(rows),
            _regimes(rows),
            _ablation(rows),
            Section(title="A sceptic's question", text=_sweep(rows)),
        ]

    def _agents(self, rows: Sequence[Figures]) -> Section:
        chosen = [
            row
            for name in AGENT_NAMES
            for arm in (NONE, ALL)
            for row in rows_of(rows, agent=name, arm=arm, regime=Regime.FIXED1.value, declared=True)
        ]
        text = (
            "Every result arrives one message late (fixed1). 'premature' counts calls made before a value that they "
            f"need was there. With all guards off, {sum(self._same)} of {len(self._same)} episodes of the two front "
            "ends are the plain loop's message for message."
        )
        return Section(
            title="The same agents without and with guards",
            text=text,
            heads=("agent", "player", "guards", *_HEADS, "time"),
            lines=[
                (row.group.agent, row.group.player, row.group.arm, *_figures(row), f"{row.seconds or 0:.1f} s")
                for row in chosen
            ],
            bars=[_bar(f"{row.group.agent}, {row.group.player}, {row.group.arm}", row) for row in chosen],
        )


_HEADS = ("overall", "95 %", "sub-tasks", "rounds", "ticks", "premature")


def _figures(row: Figures) -> tuple[str, ...]:
    summary = row.summary
    return (
        percent(summary.overall),
        interval(summary.overall),
        percent(summary.accuracy),
        number(summary.rounds),
        number(summary.ticks),
        str(summary.premature_needed),
    )


def _bar(label: str, row: Figures) -> Bar:
    return Bar(label=label, rate=row.summary.overall, guarded=row.group.arm != NONE)


def _regimes(rows: Sequence[Figures]) -> Section:
    chosen = [
        row
        for regime in Regime
        for player, arm in ((PLAIN, NONE), *((each, ALL) for each in _GUARDED))
        for row in rows_of(rows, agent="oracle", player=player, arm=arm, regime=regime.value)
    ]
    return Section(
        title="Guards must not harm: the oracle in all regimes",
        text="An agent that makes no mistake is to lose nothing by guards: neither score nor rounds. A call that is "
        "held back for its order costs no round, but may cost a tick.",
        heads=("regime", "player", "guards", *_HEADS),
        lines=[(row.group.regime, row.group.player, row.group.arm, *_figures(row)) for row in chosen],
    )


def _ablation(rows: Sequence[Figures]) -> Section:
    eager = rows_of(rows, agent="eager", player="graph", regime=Regime.FIXED1.value, declared=True)
    by_arm = {row.group.arm: row for row in eager}
    chosen = [by_arm[arm] for arm in (ALL, NONE, *LEAVE_ONE_OUT, *ONE_IN)]
    full = by_arm[ALL]
    return Section(
        title="Which guard does it: the eager agent with one guard out, and with one guard in",
        text="This agent has a single fault, invented values, so the guard against that fault decides the score. What "
        "changes nothing guards against faults that this agent does not have. A guard alone has ledger and waiting on.",
        heads=("guards", *_HEADS, "to all"),
        lines=[(row.group.arm, *_figures(row), _change(row, full)) for row in chosen],
        bars=[_bar(row.group.arm, row) for row in chosen],
    )


def _change(row: Figures, full: Figures) -> str:
    if row.summary.overall is None or full.summary.overall is None:
        return "-"
    return f"{row.summary.overall.value - full.summary.overall.value:+.1f}"


def _sweep(rows: Sequence[Figures]) -> str:
    def overall(player: str, *, declared: bool) -> Iterator[str]:
        for rate in _RATES:
            wanted = {"agent": agent_at(rate).label, "player": player, "declared": declared}
            arm = NONE if player == PLAIN else ALL
            yield from (percent(each.summary.overall) for each in rows_of(rows, **wanted, arm=arm, regime="fixed1"))

    return _GUESSES.format(
        rates=" / ".join(f"{rate:.0%}" for rate in _RATES),
        declared=_joined(overall("graph", declared=True)),
        undeclared=_joined(overall("graph", declared=False)),
        plain=_joined(overall(PLAIN, declared=True)),
    )


def _joined(texts: Iterable[str]) -> str:
    return " / ".join(texts)
