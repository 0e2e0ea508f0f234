"""Figures by condition: what every report is made of."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scenario import Contract
from asyncguard_benchmark.harness.scoring.summary import Rate, Summary, summarise
from asyncguard_benchmark.harness.scoring.verdict import Score, score


@dataclass(frozen=True, kw_only=True, order=True)
class Group:
    """The condition that a row of a report stands for."""

    agent: str
    player: str
    arm: str
    declared: bool
    regime: str
    surface: str
    contract: str = Contract.OURS.value

    @classmethod
    def of(cls, episode: Episode) -> "Group":
        """Return the group that an episode belongs to; the arm is empty if the episode names none."""
        return cls(
            agent=episode.agent,
            player=episode.player,
            arm=str(episode.settings.get("arm", "")),
            declared=bool(episode.settings.get("declared", True)),
            regime=episode.run.regime.value,
            surface=episode.run.surface.value,
            contract=episode.run.contract.value,
        )

    @property
    def label(self) -> str:
        """The whole condition as one name."""
        tools = "" if self.declared else ", undeclared"
        played = f"{self.player}/{self.arm or '-'}{tools} · {self.regime} · {self.surface}"
        return f"{self.agent} · {played} · contract {self.contract}"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One row."""

    group: Group
    summary: Summary
    seconds: float | None
    """Time of playing, summed over the episodes; None for episodes read from a file."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {**asdict(self.group), "seconds": self.seconds, **asdict(self.summary)}


class Tally:
    """Scores by condition, gathered one episode at a time: the episodes themselves need not be kept."""

    def __init__(self) -> None:
        self._scores: dict[Group, list[Score]] = {}
        self._seconds: dict[Group, float] = {}

    def add(self, episode: Episode, seconds: float | None = None) -> Score:
        """Score an episode and count it."""
        group, judged = Group.of(episode), score(episode)
        self._scores.setdefault(group, []).append(judged)
        if seconds is not None:
            self._seconds[group] = self._seconds.get(group, 0.0) + seconds
        return judged

    def join(self, later: "Tally") -> None:
        """Add the counts of another tally after one's own."""
        for group, scores in later._scores.items():  # noqa: SLF001 - of its own class
            self._scores.setdefault(group, []).extend(scores)
        for group, seconds in later._seconds.items():  # noqa: SLF001 - of its own class
            self._seconds[group] = self._seconds.get(group, 0.0) + seconds

    def figures(self) -> list[Figures]:
        """Return one row for each condition, in the order of first mention."""
        return [
            Figures(group=group, summary=summarise(scores), seconds=self._seconds.get(group))
            for group, scores in self._scores.items()
        ]


def percent(rate: Rate | None) -> str:
    """Return a share, or a dash without data."""
    return "-" if rate is None else f"{rate.value:.1f}"


def interval(rate: Rate | None) -> str:
    """Return the 95 % interval of a share."""
    return "" if rate is None else f"{rate.low:.0f}-{rate.high:.0f}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a figure, or a dash without data."""
    return "-" if value is None else f"{value:.{digits}f}"


COLUMNS = (
    "agent",
    "player",
    "guards",
    "tools",
    "regime",
    "surface",
    "contract",
    "episodes",
    "overall",
    "95 %",
    "sub-tasks",
    "rounds",
    "ticks",
    "premature",
    "time",
)
"""Heads of a table of figures."""


def cells(row: Figures) -> tuple[str, ...]:
    """Return one line of a table of figures, beside `COLUMNS`."""
    group, summary = row.group, row.summary
    return (
        group.agent,
        group.player,
        group.arm or "-",
        "declared" if group.declared else "undeclared",
        group.regime,
        group.surface,
        group.contract,
        str(summary.episodes),
        percent(summary.overall),
        interval(summary.overall),
        percent(summary.accuracy),
        number(summary.rounds),
        number(summary.ticks),
        str(summary.premature_needed),
        "-" if row.seconds is None else f"{row.seconds:.1f} s",
    )


def rows_of(rows: Iterable[Figures], **wanted: Any) -> list[Figures]:
    """Return the rows whose groups have these values."""
    return [
        row
        for row in rows
        if all(getattr(row.group, name) == value for name, value in wanted.items())
    ]
