"""The project's scorer and the reference agree on what agents do."""

import ast
import sys
from dataclasses import fields
from itertools import chain
from pathlib import Path

import pytest

from asyncguard_benchmark import (
    Regime,
    Suite,
    Summary,
    Surface,
    shipped_compositions,
    summarise,
)
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.suites import registry
from tests.reference_scorer import scorer as reference
from tests.reference_scorer.breakdown import tables
from tests.reference_scorer.comparison import disagreements, figure_differences
from tests.reference_scorer.corpus import (
    GUARDED,
    PERSONAS,
    PLAIN,
    Judged,
    judged,
    quick_corpus,
    quick_judged,
    settings,
)
from tests.reference_scorer.scorer import Figures


def test_the_reference_imports_nothing_of_the_project() -> None:
    """Every module that it imports is of the standard library."""
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    names = [
        *(
            each.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for each in node.names
        ),
        *(node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)),
    ]
    assert names
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.slow
def test_both_agree_on_a_few_hundred_episodes() -> None:
    """Every verdict and every figure is the same, for all agents, players, regimes and surfaces."""
    episodes = quick_corpus()
    assert len(episodes) >= 250
    assert {each["agent"] for each in episodes} == {*registry().agents, *PERSONAS}
    assert {each["player"] for each in episodes} == {"plain", "graph", "middleware"}
    assert {each["run"]["regime"] for each in episodes} == {each.value for each in Regime}
    assert {each["run"]["surface"] for each in episodes} == {each.value for each in Surface}
    _demand_agreement(quick_judged())


@pytest.mark.slow(seconds=49)
def test_both_agree_on_more_than_a_thousand_episodes() -> None:
    """The same with every player in every regime, over compositions of two, three and four tasks."""
    compositions = (*shipped_compositions()[::3], *shipped_compositions(Suite.FOUR)[::20])
    wanted = (*settings(compositions, GUARDED, (1,)), *settings(compositions, (PLAIN,), (1, 2, 3)))
    episodes = [each.play() for each in wanted]
    assert len(episodes) >= 1000
    _demand_agreement([judged(each) for each in episodes])


def test_every_metric_has_its_second_opinion() -> None:
    """The reference computes each figure and each split that `bench score` prints."""
    assert {each.name for each in fields(Summary)} == {each.name for each in fields(Figures)}
    paired = {Facet.DELAY.value, Facet.FEW_SHOT.value}
    assert {each.value for each in Facet} == {*tables([]), *paired}


def test_both_say_nothing_of_nothing() -> None:
    """Without episodes the figures are None and 0 in both."""
    assert figure_differences(summarise([]), reference.summarise([])) == []


def _demand_agreement(episodes: list[Judged]) -> None:
    scores = [each.score for each in episodes]
    verdicts = [each.verdict for each in episodes]
    assert disagreements(scores, verdicts) == []
    assert figure_differences(summarise(scores), reference.summarise(verdicts)) == []
    # An agreement over episodes that are all right, or all wrong, would say little.
    sub_tasks = list(chain.from_iterable(verdict.sub_tasks for verdict in verdicts))
    for name in ("trajectory", "result", "state", "accuracy", "changes_state"):
        share = sum(getattr(each, name) for each in sub_tasks) / len(sub_tasks)
        assert 0.1 < share < 0.9, name
