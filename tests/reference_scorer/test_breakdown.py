"""The tables of `bench score --by` and those of the reference agree, and a broken rule is seen."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark import episode_to_json
from tests.benchmark.builders import compose, gold, played
from tests.reference_scorer import breakdown as reference
from tests.reference_scorer.breakdown_comparison import (
    Accounts,
    accounts_of,
    split_of,
    table_differences,
)
from tests.reference_scorer.corpus import (
    Episode,
    Judged,
    judged,
    open_world,
    plain_corpus,
    quick_judged,
)
from tests.reference_scorer.scorer import mean
from tests.reference_scorer.test_mutations import cases


def test_the_reference_imports_no_module_of_the_project() -> None:
    """It stands on the reference scorer and the standard library."""
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    modules = {
        node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert "tests.reference_scorer.scorer" in modules
    own = {each for each in modules if each.split(".")[0] not in sys.stdlib_module_names}
    assert own == {"tests.reference_scorer.scorer"}


@pytest.mark.slow(seconds=8)
def test_both_agree_on_played_episodes() -> None:
    """Every cell of every table, for all agents, players, regimes and surfaces."""
    theirs, ours = _split(quick_judged())
    assert table_differences(theirs, ours) == []
    tables = [reference.tables(each) for each in ours.values()]
    seen = {
        mode for each in tables for (mode,), figures in each["modes"].items() if figures["share"][0]
    }
    assert seen == set(reference.MODES)


@pytest.mark.slow
def test_both_agree_on_500_mutated_episodes() -> None:
    """The same where calls, records and ground truth were changed, all mutations as one condition too."""
    assert table_differences(*_split([each.after for each in cases()])) == []
    theirs, ours = _pooled()
    assert table_differences(theirs, ours) == []
    cascades = reference.cascades(next(iter(ours.values())))
    assert all(figures["cases"] > 50 for figures in cascades.values())


def _split(episodes: list[Judged]) -> tuple[Any, Accounts]:
    theirs = [(each.episode, each.score) for each in episodes]
    ours = [(each.episode, each.verdict) for each in episodes]
    return split_of(theirs), accounts_of(ours)


@cache
def _pooled() -> tuple[Any, Accounts]:
    """Mutated and played episodes as one condition, so that every table has many observations."""
    changed = [each.after.episode for each in cases()]
    found = [*changed, *plain_corpus()[::2], _shared_call()]
    one = {"agent": "any", "player": "plain"}
    run = {"regime": "fixed1", "surface": "text"}
    pooled = ({**each, **one, "run": {**each["run"], **run}, "settings": {}} for each in found)
    return _split([judged(each) for each in pooled])


def _shared_call() -> Episode:
    """Two sub-tasks have an equal gold call; only one of them makes it, under its own id."""
    first, *left = gold("fs-29")
    assert first[1:] in [call[1:] for call in gold("fs-44")]
    return episode_to_json(played(compose("fs-29", "fs-44"), [*left, *gold("fs-44")]))


def _single_mode(found: Any) -> Any:
    """Only the first mistake of a sub-task counts."""
    first = (next((mode for mode in reference.MODES if mode in each), None) for each in found)
    return modes_table([frozenset({each} if each else ()) for each in first])


def _sets(gold: Any, made: Any) -> Any:
    """A repeated gold call is wanted once."""
    return lacking(sorted(set(gold), key=str), sorted(set(made), key=str))


def _later_too(peer: Any, struck: Any) -> bool:
    """Runs with such a call at any time do not count as peers."""
    return comparable(peer, struck) and peer.first is None


def _any_size(peer: Any, struck: Any) -> bool:
    """Runs of any number of tasks are peers."""
    step = struck.first
    return len(peer.right) > step and (peer.first is None or peer.first > step)


modes_table, lacking, comparable, results = (
    reference.modes_table,
    reference.lacking,
    reference.comparable,
    reference.results,
)
accepts, missed, positions = reference.accepts, reference.missed, reference.positions

BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "one mistake a sub-task": ("modes_table", _single_mode),
    "missing calls are a set": ("lacking", _sets),
    "nothing was made elsewhere": ("made_elsewhere", lambda gold, made, elsewhere, theirs: False),
    "their own calls count": (
        "made_elsewhere",
        lambda gold, made, elsewhere, theirs: bool((set(gold) - set(made)) & set(elsewhere)),
    ),
    "only tools tell": ("misplaced", lambda own, call, gold, tools: call[0] not in tools[own]),
    "only gold calls tell": (
        "misplaced",
        lambda own, call, gold, tools: (
            call not in gold[own] and any(call in gold[name] for name in gold if name != own)
        ),
    ),
    "every gold call is right": (
        "still_lacked",
        lambda calls, gold: tuple(call in gold[own] for own, call in calls),
    ),
    "any arguments fit": ("accepts", lambda schema, value: True),
    "names of arguments do not matter": (
        "accepts",
        lambda schema, value: (
            schema is True or accepts({**(schema or {}), "additionalProperties": True}, value)
        ),
    ),
    "shares of hits alone": ("share", lambda verdicts: (sum(verdicts), 1)),
    "rounds of all runs": (
        "results",
        lambda accounts: {
            **results(accounts),
            "rounds_on_success": mean(a.verdict.counters["rounds"] for a in accounts),
        },
    ),
    "places from 0": (
        "positions",
        lambda accounts: {
            (size, str(int(str(place)) - 1)): each
            for (size, place), each in positions(accounts).items()
        },
    ),
    "peers are never struck": ("comparable", _later_too),
    "peers of any size": ("comparable", _any_size),
    "open before the step": ("missed", lambda run, step: missed(run, step - 1)),
    "the call itself is a later one": (
        "later_wrong",
        lambda run, step: mean(not each for each in run.right[step:]),
    ),
    "the named sub-task counts, too": (
        "others_fail",
        lambda run, step: mean(not each.accuracy for each in run.verdict.sub_tasks),
    ),
    "no run fails": ("fails", lambda run, step: 0.0),
}
"""What is broken -> the rule's name in the reference, and what stands there instead."""


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule broken, some cell differs from the project's."""
    theirs, ours = _pooled()
    monkeypatch.setattr(reference, *BROKEN[broken])
    again = {
        group: [reference.account(each.episode, each.verdict, open_world) for each in accounts]
        for group, accounts in ours.items()
    }
    assert table_differences(theirs, again)
