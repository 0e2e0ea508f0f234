"""Breakdowns of verdicts as tables and as JSON: the same rows on a terminal, in a report and in RESULTS.md."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from asyncguard_benchmark.harness.names import FEW_SHOT, Facet
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.report.number_format import (
    count,
    difference,
    number,
    share,
    signed_span,
    span,
)
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.breakdown import (
    Breakdown,
    CategoryResults,
    ModeResults,
    PositionResults,
    Results,
    Share,
)
from asyncguard_benchmark.harness.scoring.mistakes import Mistake
from asyncguard_benchmark.harness.scoring.wrong_task import Aftermath
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import Pair, difference_interval

Found = Mapping[Group, Breakdown]
"""Condition -> its verdicts."""
WITHIN = tuple(each for each in Facet if each not in (Facet.DELAY, Facet.FEW_SHOT))
"""Facets that split one condition; the others lay conditions beside each other."""
_RESULTS = (
    "compositions",
    "overall",
    "95 %",
    "sub-tasks",
    "accuracy",
    "95 %",
    "solved",
    "rounds on success",
)
_BESIDE = ("pairs", "difference", "95 %")


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Figures of a condition beside those of another, on the compositions and seeds that both played."""

    results: Results
    against: str
    """The value of the other; its own for the one that the others are compared with."""
    pairs: int
    difference: Interval | None
    """Overall, in points; None without a pair, and against itself."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table."""

    group: Group
    labels: Mapping[str, str]
    """Heads of the columns after the condition -> their cells."""
    figures: Any

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {**asdict(self.group), **self.labels, **asdict(self.figures)}


def rows_by(facet: Facet, found: Found) -> list[Row]:
    """Return the rows of one table.

    Args:
        facet: What the verdicts are split by.
        found: The verdicts.
    """
    match facet:
        case Facet.DELAY:
            return [
                row
                for _, groups in _alike(found, lambda group: replace(group, regime=""))
                for row in _beside(found, groups, "delay", lambda group: group.regime)
            ]
        case Facet.FEW_SHOT:
            return [
                row
                for _, groups in _alike(found, _without_example)
                for row in _beside(found, groups, "prompt", _prompt)
            ]
    return [
        Row(group=group, labels=labels, figures=figures)
        for group, breakdown in found.items()
        for labels, figures in _split(facet, breakdown)
    ]


def _split(facet: Facet, found: Breakdown) -> Iterator[tuple[Mapping[str, str], Any]]:
    match facet:
        case Facet.KIND:
            yield from (({"kind": kind}, each) for kind, each in found.by_kind().items())
        case Facet.TASKS:
            yield from (({"tasks": str(size)}, each) for size, each in found.by_tasks().items())
        case Facet.CATEGORY:
            yield from (({"category": name}, each) for name, each in found.by_category().items())
        case Facet.POSITION:
            for (size, place), each in found.by_position().items():
                yield {"tasks": str(size), "place": str(place)}, each
        case Facet.MODES:
            yield from (({"mistake": each.mode.value}, each) for each in found.modes())
        case Facet.CASCADES:
            yield from (({"afterwards": each.question.value}, each) for each in found.cascades())


def _alike(found: Found, key: Callable[[Group], Group]) -> list[tuple[Group, list[Group]]]:
    """Return the groups that differ in one thing alone, where there are at least two."""
    groups: dict[Group, list[Group]] = {}
    for group in found:
        groups.setdefault(key(group), []).append(group)
    return [(rest, each) for rest, each in groups.items() if len(each) > 1]


def _without_example(group: Group) -> Group:
    return replace(group, agent=group.agent.removesuffix(FEW_SHOT))


def _prompt(group: Group) -> str:
    return "few-shot" if group.agent.endswith(FEW_SHOT) else "zero-shot"


def _beside(
    found: Found, groups: Sequence[Group], head: str, value: Callable[[Group], str]
) -> Iterator[Row]:
    """Yield a row for each group; all are compared with the first: no delay, or no example."""
    order = [*(each.value for each in Regime), "zero-shot", "few-shot"]
    first, *others = sorted(groups, key=lambda group: order.index(value(group)))
    for group in (first, *others):
        pairs = [] if group is first else _pairs(found[group], found[first])
        figures = Beside(
            results=found[group].whole(),
            against=value(first),
            pairs=len(pairs),
            difference=difference_interval(pairs).scaled(100) if pairs else None,
        )
        yield Row(group=group, labels={head: value(group)}, figures=figures)


def _pairs(one: Breakdown, other: Breakdown) -> list[Pair]:
    return [
        Pair(
            composition=name,
            seed=seed,
            sources=one.sources[name],
            arm=one.solved[name, seed],
            against=other.solved[name, seed],
        )
        for name, seed in one.solved
        if (name, seed) in other.solved
    ]


_TITLES: Mapping[Facet, tuple[str, str]] = {
    Facet.KIND: (
        "By kind",
        "S: one category, C: several; the digit is the number of tasks. rounds on success: mean messages of the "
        "agent over the solved.",
    ),
    Facet.TASKS: (
        "By number of tasks",
        "rounds on success: mean messages of the agent over the solved.",
    ),
    Facet.CATEGORY: (
        "By category",
        "Sub-tasks with all gold calls, with the right final state, and with both and all results (accuracy).",
    ),
    Facet.DELAY: (
        "By delay",
        "difference: overall beside the first line of the condition, in points, paired.",
    ),
    Facet.FEW_SHOT: (
        "With an example in the prompt, and without",
        "difference: overall beside the prompt without an example, in points, paired.",
    ),
    Facet.MODES: (
        "What goes wrong, and what of it together",
        "Failed sub-tasks by mistake; a sub-task may have several. share: of all sub-tasks. alone: with no other "
        "mistake. The columns after it count sub-tasks with both mistakes, and with itself all that have it.",
    ),
    Facet.POSITION: (
        "Neglect, by place of the task in the prompt",
        "neglected: failed, and a gold call is missing in whose stead the tool was not called. untouched: without "
        "any call.",
    ),
    Facet.CASCADES: (
        "After the first call for the wrong task",
        "A call for the wrong task names a task that lacks its tool while another has it, or is a gold call of "
        "another task and none of its own. Beside it stand runs of the same condition and as many tasks at the same "
        "step, with no such call up to it. difference: in points.",
    ),
}


def tables_by(facets: Iterable[Facet], found: Found) -> list[Table]:
    """Return the tables for which there are data; conditions are named by what they differ in.

    Args:
        facets: The tables.
        found: The verdicts.
    """
    made, name = [], _namer(list(found))
    for facet in facets:
        if rows := rows_by(facet, found):
            title, note = _TITLES[facet]
            heads = ("condition", *rows[0].labels, *_heads(facet))
            lines = [(name(row.group), *row.labels.values(), *_cells(row.figures)) for row in rows]
            made.append(Table(title=title, heads=heads, lines=lines, note=note))
    return made


def _namer(groups: Sequence[Group]) -> Callable[[Group], str]:
    names = [each.name for each in fields(Group)]
    differing = [name for name in names if len({getattr(group, name) for group in groups}) > 1]

    def name(group: Group) -> str:
        told = asdict(group) | {"declared": "declared" if group.declared else "undeclared"}
        return ", ".join(str(told[each]) or "-" for each in differing or ["agent"])

    return name


def _heads(facet: Facet) -> tuple[str, ...]:
    match facet:
        case Facet.KIND | Facet.TASKS:
            return _RESULTS
        case Facet.DELAY | Facet.FEW_SHOT:
            return (*_RESULTS, *_BESIDE)
        case Facet.CATEGORY:
            return ("sub-tasks", "calls", "95 %", "state", "95 %", "accuracy", "95 %")
        case Facet.POSITION:
            return (
                *("sub-tasks", "neglected", "share", "95 %"),
                *("untouched", "share", "95 %", "accuracy", "95 %"),
            )
        case Facet.MODES:
            with_others = (f"& {each.value}" for each in Mistake)
            return ("sub-tasks", "of", "share", "95 %", "alone", *with_others)
        case Facet.CASCADES:
            return ("runs", "compared", "after", "steps without", "without", "difference", "95 %")


def _cells(figures: Any) -> tuple[str, ...]:
    match figures:
        case Beside():
            beside = (difference(figures.difference), signed_span(figures.difference))
            return (*_cells(figures.results), count(figures.pairs), *beside)
        case Results():
            return (
                count(figures.overall.of),
                *_share(figures.overall),
                count(figures.accuracy.of),
                *_share(figures.accuracy),
                count(figures.overall.hits),
                number(figures.rounds_on_success),
            )
        case CategoryResults():
            shares = (figures.trajectory, figures.state, figures.accuracy)
            return (count(figures.accuracy.of), *(text for each in shares for text in _share(each)))
        case PositionResults():
            return (
                count(figures.accuracy.of),
                count(figures.neglected.hits),
                *_share(figures.neglected),
                count(figures.untouched.hits),
                *_share(figures.untouched),
                *_share(figures.accuracy),
            )
        case ModeResults():
            own = (count(figures.share.hits), count(figures.share.of), *_share(figures.share))
            return (
                *own,
                count(figures.alone),
                *(count(figures.together[each]) for each in Mistake),
            )
        case Aftermath():
            return (
                count(figures.runs),
                count(figures.cases),
                number(figures.after),
                count(figures.steps),
                number(figures.without),
                difference(figures.difference),
                signed_span(figures.difference),
            )
    raise TypeError(f"there are no cells for {type(figures).__name__}")


def _share(found: Share) -> tuple[str, str]:
    return share(found.share), span(found.share)
