"""Chapters of the page of ``bench missions report``, from played missions alone."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    HeatCell,
    HeatMap,
    Mark,
    Panels,
    Plot,
    Table,
    Tone,
)
from asyncguard_benchmark.harness.report.number_format import NO_DATA, number
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.played_rows import PlayedRow
from asyncguard_benchmark.suites.missions.scorers.frontier import match
from asyncguard_benchmark.suites.missions.scorers.metrics import (
    Figure,
    Scorer,
    success,
    success_by,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step
from asyncguard_benchmark.suites.missions.scorers.summary import GROUPS
from asyncguard_benchmark.suites.missions.scorers.trajectories import Cells, compared
from asyncguard_benchmark.suites.missions.scorers.verdict import StrictRules, Verdict
from asyncguard_benchmark.suites.missions.terms import LETTERS

_EPISODES = 12
"""Missions whose frontier can be chosen."""
_ARMS = 3
"""Arms of one mission that are shown under each other."""
_LONGEST = 60
"""Characters of an argument that are shown."""
_SPLITS = ("letter", "position", "relation", "subtype", "ptf")


class Judged(NamedTuple):
    """A played mission with its verdict."""

    row: PlayedRow
    verdict: Verdict


Conditions = Mapping[str, Sequence[Judged]]
"""Name of a condition -> its missions."""


def conditions_of(judged: Iterable[Judged]) -> Conditions:
    """Sort missions by agent, player, regime and arm; a part that is the same everywhere is not named."""
    known = list(judged)
    parts = ("agent", "player", "regime", "observations", "arm")
    varying = [
        name for name in parts if len({getattr(each.row.key, name) for each in known}) > 1
    ] or ["agent", "arm"]
    found: dict[str, list[Judged]] = {}
    for each in known:
        name = " · ".join(str(getattr(each.row.key, part)) for part in varying)
        found.setdefault(name, []).append(each)
    return found


def _verdicts(judged: Iterable[Judged]) -> list[Verdict]:
    return [each.verdict for each in judged]


# -- rates -------------------------------------------------------------------------------------------------------------


def rates(conditions: Conditions) -> Chapter:
    """Return the first chapter: missions passed by condition, with intervals."""
    figures = {
        name: [success(_verdicts(judged), scorer) for scorer in Scorer]
        for name, judged in conditions.items()
    }
    table = Table(
        title="Missions passed",
        heads=("condition", "SR", "95 %", "n", "SR, compat"),
        lines=[
            (name, *_cells(strict), _percent(compat)) for name, (strict, compat) in figures.items()
        ],
        plot=Plot(
            axis=PERCENT,
            unit="% of missions",
            marks=[_marks(strict, name) for name, (strict, _) in figures.items()],
        ),
        note="strict is the frontier with exact arguments, compat the published rules.",
    )
    text = (
        "Missions that were passed under each condition. Intervals are 95 % and know that missions of one dialogue "
        "belong together."
    )
    return Chapter(id="rates", title="Missions passed", text=text, blocks=[table])


def splits(conditions: Conditions) -> Chapter:
    """Return SR by properties of missions, one condition at a time."""
    return Chapter(
        id="splits",
        title="By kind of mission",
        text="SR under strict, by action type (s one call, m several, c something is missing, t nothing to call), "
        "place in the dialogue, relation to earlier missions, order of the calls, and switches of the action type.",
        blocks=[
            Panels(name="condition", choices={n: [_split(j, n)] for n, j in conditions.items()})
        ],
    )


def _split(judged: Sequence[Judged], name: str) -> Table:
    figures = {
        f"{split} {key}": figure
        for split in _SPLITS
        for key, figure in success_by(_verdicts(judged), Scorer.STRICT, GROUPS[split]).items()
    }
    return Table(
        title=f"SR, {name}",
        heads=("missions", "SR", "95 %", "n"),
        lines=[(label, *_cells(figure)) for label, figure in figures.items()],
        plot=Plot(
            axis=PERCENT,
            unit="% of missions",
            marks=[_marks(figure, name) for figure in figures.values()],
        ),
    )


def _cells(figure: Figure) -> tuple[str, str, str]:
    if figure.interval is None:
        return NO_DATA, NO_DATA, str(figure.cases)
    low, high = (number(100 * end) for end in (figure.interval.low, figure.interval.high))
    return _percent(figure), f"{low} to {high}", str(figure.cases)


def _percent(figure: Figure) -> str:
    return number(None if figure.value is None else 100 * figure.value)


def _marks(figure: Figure, condition: str) -> tuple[Mark, ...]:
    tone = Tone.BARE if condition.split(" · ")[-1] == NONE else Tone.GUARDED
    if figure.interval is None:
        return ()
    return (Mark(interval=figure.interval.scaled(100), tone=tone),)


# -- routes ------------------------------------------------------------------------------------------------------------


def routes(conditions: Conditions) -> Chapter:
    """Return the heat map: SR of the last mission of each pattern."""
    return Chapter(
        id="routes",
        title="Routes",
        text="SR of a mission by the action types of the missions before it and its own: the last letter is that of "
        "the mission that was judged. Four letters are split in the middle.",
        blocks=[Panels(name="condition", choices={n: _routes(j) for n, j in conditions.items()})],
    )


def _routes(judged: Sequence[Judged]) -> list[Block]:
    figures = {
        "".join(pattern): HeatCell(value=100 * figure.value, count=figure.cases)
        for pattern, figure in success_by(
            _verdicts(judged), Scorer.STRICT, GROUPS["pattern"]
        ).items()
        if figure.value is not None
    }
    pairs = ["".join(each) for each in product(LETTERS, repeat=2)]
    shapes: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
        ("One or two missions", ("", *LETTERS), LETTERS),
        ("Three missions", pairs, LETTERS),
        ("Four missions", pairs, pairs),
    )
    return [
        _heat_map(title, rows, columns, figures)
        for title, rows, columns in shapes
        if any(row + column in figures for row in rows for column in columns)
    ]


def _heat_map(
    title: str, rows: Sequence[str], columns: Sequence[str], figures: Mapping[str, HeatCell]
) -> HeatMap:
    """Return the part of the figures that has these rows and columns, without empty ones."""
    held = [each for each in columns if any(row + each in figures for row in rows)]
    return HeatMap(
        title=title,
        corner="before",
        columns=held,
        rows=[
            (row or "first", [figures.get(row + column) for column in held])
            for row in rows
            if any(row + column in figures for column in held)
        ],
    )


# -- trajectories ------------------------------------------------------------------------------------------------------


def trajectories(conditions: Conditions) -> Chapter | None:
    """Return the four outcomes of C2 and C3 by PTF; None if no condition was played in both."""
    choices = {name: found for name, judged in conditions.items() if (found := _fourfold(judged))}
    if not choices:
        return None
    text = (
        "Later missions after texts alone (C2) and after texts and calls (C3): right or wrong (R, W) in C2, then in "
        "C3, by the number of switches of the action type (PTF). VF is the share of verdicts that differ, p McNemar's "
        "exact one of the first repeat. With one repeat of an agent that draws nothing every difference is an "
        "effect; for others VF holds the noise between two runs."
    )
    panels = Panels(name="condition", choices=choices)
    return Chapter(id="trajectories", title="C2 against C3", text=text, blocks=[panels])


def _fourfold(judged: Sequence[Judged]) -> list[Block]:
    runs = {
        history: {
            seed: [
                each.verdict
                for each in judged
                if (each.row.key.history, each.row.key.seed) == (history, seed)
                and each.row.entry.position > 1
            ]
            for seed in sorted({each.row.key.seed for each in judged})
        }
        for history in ("ua", "upta")
    }
    seeds = [seed for seed in runs["ua"] if runs["ua"][seed] and runs["upta"][seed]]
    if not seeds:
        return []
    found = compared(
        [runs["ua"][seed] for seed in seeds], [runs["upta"][seed] for seed in seeds], Scorer.STRICT
    )
    if found is None:
        return []
    groups = {"all": (found.cells, found.first)} | {
        f"PTF {number}": cells for number, cells in found.by_switches.items()
    }
    return [
        HeatMap(
            title="Outcomes",
            corner="missions",
            columns=["RR", "RW", "WR", "WW"],
            rows=[(name, _shares(every)) for name, (every, _) in groups.items()],
        ),
        Table(
            title="Figures",
            heads=("missions", "n", "VF", "Acc2", "DDD", "DDD, smoothed", "p"),
            lines=[
                (
                    *(name, str(every.total), number(every.vf, 3), number(every.acc2, 3)),
                    *(number(every.ddd, 2), number(every.smoothed_ddd, 2), number(first.p, 3)),
                )
                for name, (every, first) in groups.items()
            ],
            note=f"VF between repeats of one condition: {number(found.null_vf, 3)}.",
        ),
    ]


def _shares(cells: Cells) -> list[HeatCell]:
    return [
        HeatCell(value=100 * each / cells.total, count=cells.total)
        for each in (cells.rr, cells.rw, cells.wr, cells.ww)
    ]


# -- one episode -------------------------------------------------------------------------------------------------------


def episodes(conditions: Conditions) -> Chapter | None:
    """Return the frontier of some missions, step by step: first those whose verdict an arm changes."""
    places: dict[tuple[object, ...], list[tuple[str, Judged]]] = {}
    for name, judged in conditions.items():
        for each in judged:
            places.setdefault(tuple(each.row.key._replace(arm="")), []).append((name, each))
    failed = [
        several for several in places.values() if any(not _passed(each) for _, each in several)
    ]
    failed.sort(key=lambda several: all(not _passed(each) for _, each in several))
    choices = {_title(several[0][1]): _episode(several) for several in failed[:_EPISODES]}
    if not choices:
        return None
    text = (
        "What a run may have done of the gold after each step: every set of calls that its steps can stand for, and "
        "what was ready next. The first step that fits nothing that is ready is where the run left the gold."
    )
    panels = Panels(name="mission", choices=choices)
    return Chapter(id="frontier", title="One mission, step by step", text=text, blocks=[panels])


def _passed(judged: Judged) -> bool:
    return judged.verdict.strict is not None and judged.verdict.strict.passed


def _title(judged: Judged) -> str:
    key = judged.row.key
    return (
        f"{key.dialogue}, mission {key.mission + 1}, {key.agent}, {key.player}, {key.regime}, "
        f"{key.history}, seed {key.seed}"
    )


def _episode(several: Sequence[tuple[str, Judged]]) -> list[Block]:
    entry = several[0][1].row.entry
    gold = Table(
        title="The gold",
        heads=("number", "call", "after", "arguments"),
        lines=[
            (
                *(str(n), node.name, ", ".join(map(str, node.needs)) or "-"),
                _short(json.dumps(dict(node.arguments), ensure_ascii=False)),
            )
            for n, node in enumerate(entry.graph.nodes)
        ],
        note=f"The mission: {entry.said[-1]}" if entry.said else "",
    )
    return [gold, *(block for name, each in several[:_ARMS] for block in _steps(name, each))]


def _steps(name: str, judged: Judged) -> Iterator[Block]:
    entry = judged.row.entry
    rules = StrictRules(entry.graph, entry.tools).rules
    lines, left = [], False
    for count, step in enumerate(entry.steps, 1):
        found = match(rules, entry.steps[:count])
        fits = NO_DATA if left else "no" if found.diverged else "yes"
        left = left or found.diverged
        done = [_named(entry.graph, each) for each in sorted(found.ideals)]
        ready = [_named(entry.graph, entry.graph.ready(each)) for each in sorted(found.ideals)]
        lines.append((str(count), _made(step), fits, " or ".join(done), " or ".join(ready)))
    strict = judged.verdict.strict
    labels = () if strict is None or strict.divergence is None else strict.divergence.labels
    yield Table(
        title=f"{name}: {'passed' if _passed(judged) else 'failed, ' + ', '.join(labels)}",
        heads=("step", "made", "fits", "done", "ready next"),
        lines=lines,
        note=f"{entry.without_step} messages led to no step, as their calls were refused."
        if entry.without_step
        else "",
    )


def _named(graph: GoldGraph, mask: int) -> str:
    return "{" + ", ".join(f"{n} {graph.nodes[n].name}" for n in bits(mask)) + "}"


def _made(step: Step) -> str:
    if not step.calls:
        return _short(f"“{step.text}”")
    return "; ".join(
        f"{call.name} {_short(json.dumps(call.arguments, ensure_ascii=False))}"
        for call in step.calls
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
