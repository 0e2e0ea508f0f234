"""Tables of the project and of the reference beside each other."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from math import isclose
from typing import Any

from asyncguard_benchmark import Score, episode_from_json
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.breakdown_tables import WITHIN, Row, rows_by
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from tests.reference_scorer import breakdown as reference
from tests.reference_scorer.corpus import Episode, open_world
from tests.reference_scorer.scorer import Verdict

Accounts = Mapping[Group, Sequence[reference.Account]]


def split_of(episodes: Sequence[tuple[Episode, Score]]) -> dict[Group, Breakdown]:
    """The project's breakdown of each condition."""
    found: dict[Group, Breakdown] = {}
    for saved, judged in episodes:
        episode = episode_from_json(saved)
        found.setdefault(Group.of(episode), Breakdown()).add(episode, judged)
    return found


def accounts_of(episodes: Sequence[tuple[Episode, Verdict]]) -> Accounts:
    """The reference's accounts of each condition."""
    found = defaultdict(list)
    for saved, verdict in episodes:
        found[Group.of(episode_from_json(saved))].append(
            reference.account(saved, verdict, open_world)
        )
    return found


def table_differences(theirs: Mapping[Group, Breakdown], ours: Accounts) -> list[str]:
    """What the project says otherwise than the reference, in any cell of any table."""
    found = []
    tables = {group: reference.tables(accounts) for group, accounts in ours.items()}
    for facet in WITHIN:
        told = {_place(row): row.figures for row in rows_by(facet, theirs)}
        wanted = {
            (group, *labels): figures
            for group, each in tables.items()
            for labels, figures in each[facet.value].items()
        }
        if told.keys() != wanted.keys():
            found.append(f"{facet}: lines {told.keys() ^ wanted.keys()}")
            continue
        found += [
            f"{facet}, {place}: {name} is {_plain(told[place])[name]}, not {figure}"
            for place, figures in wanted.items()
            for name, figure in figures.items()
            if not _equal(_plain(told[place])[name], figure)
        ]
    return found + _beside_differences(theirs, ours)


def _beside_differences(theirs: Mapping[Group, Breakdown], ours: Accounts) -> list[str]:
    """The same of the tables that lay conditions beside each other."""
    found = []
    for facet in (Facet.DELAY, Facet.FEW_SHOT):
        first: Row | None = None
        for row in rows_by(facet, theirs):
            if row.figures.against in row.labels.values():
                first = row
                continue
            assert first is not None
            wanted = reference.beside(ours[row.group], ours[first.group])
            said = row.figures.difference
            told = (row.figures.pairs, None if said is None else said.value)
            if not _equal(told[1], wanted[1]) or told[0] != wanted[0]:
                found.append(f"{facet}, {row.group}: {told}, not {wanted}")
    return found


def _place(row: Row) -> tuple[Any, ...]:
    return (row.group, *row.labels.values())


def _plain(figures: Any) -> Mapping[str, Any]:
    return asdict(figures) if is_dataclass(figures) and not isinstance(figures, type) else {}


def _equal(theirs: Any, ours: Any) -> bool:
    match theirs, ours:
        case {"hits": hits, "of": of, "share": told}, (int(), int()):
            value = None if told is None else told["value"]
            wanted = 100 * ours[0] / ours[1] if ours[1] else None
            return (hits, of) == ours and _equal(value, wanted)
        case {"value": value}, _:
            return _equal(value, ours)
        case dict(), dict():
            return {str(key): value for key, value in theirs.items()} == ours
        case (None, _) | (_, None):
            return theirs is ours
    return isclose(theirs, ours, rel_tol=1e-9, abs_tol=1e-9)
