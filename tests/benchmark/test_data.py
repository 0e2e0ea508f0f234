"""The shipped data meets its bar, and the check of the bar sees what it must see."""

from dataclasses import replace

import pytest

from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.scenario import (
    Category,
    Composition,
    Kind,
    Narration,
    Source,
    SourceKind,
    SubTask,
    Suite,
)
from asyncguard_benchmark.harness.task_quality import in_query, problems
from asyncguard_benchmark.suites.asynctool.composition_builder import (
    build_compositions,
    build_suites,
)
from asyncguard_benchmark.suites.asynctool.corpus import corpus_problems
from tests.benchmark.builders import SUB_TASKS, changed, compose

QUERY = Source(kind=SourceKind.QUERY)


@pytest.mark.parametrize("task", shipped_sub_tasks(), ids=lambda task: task.id)
def test_every_single_task_meets_the_bar(task: SubTask) -> None:
    """It runs, every argument is grounded, the order is strict, and the query names no tool."""
    assert problems(task) == ()
    assert 2 <= len(task.gold) <= 5


@pytest.mark.slow
def test_the_corpus_is_not_made_from_templates() -> None:
    """Queries, openings, sequences and states differ, and many queries are not told in order."""
    tasks = shipped_sub_tasks()
    assert corpus_problems(tasks) == ()
    assert sum(task.category is Category.FILESYSTEM for task in tasks) >= 12
    assert sum(task.category is Category.TRADING_BOT for task in tasks) >= 8


def test_the_shipped_compositions_are_what_the_builder_builds() -> None:
    """The file can be made again from its seed."""
    assert {suite: shipped_compositions(suite) for suite in Suite} == build_suites(
        shipped_sub_tasks()
    )
    main = shipped_compositions(Suite.MAIN)
    assert all(each in main for each in shipped_compositions(Suite.LITE))


def test_compositions_fit_their_kind_and_differ() -> None:
    """Sizes and categories are right, ids unique, and no two hold the same tasks."""
    tasks = shipped_sub_tasks()
    counts = dict.fromkeys(Kind, 8)
    built = build_compositions(tasks, counts, 5)
    assert len({frozenset(each.task_ids) for each in built}) == len(built) == 56
    assert build_compositions(tasks, counts, 5) == built
    assert build_compositions(tasks, counts, 6) != built


def test_the_builder_says_when_there_are_too_few_tasks() -> None:
    """It neither repeats a composition nor loops for ever."""
    few = [SUB_TASKS["fs-01"], SUB_TASKS["fs-02"]]
    with pytest.raises(ValueError, match="too few"):
        build_compositions(few, {Kind.S2: 2}, 0)
    with pytest.raises(ValueError, match="two categories"):
        build_compositions(few, {Kind.C2: 1}, 0)


def said(task: SubTask) -> str:
    """All problems as one text."""
    return "; ".join(problems(task))


def test_failing_gold_is_seen() -> None:
    """A gold call with an error result ends the check."""
    task = SUB_TASKS["fs-07"]
    broken = replace(
        task,
        gold=changed(task, 0, arguments={"first": "nowhere.txt", "second": "spring_fixed.txt"}),
    )
    assert "fails" in said(broken)


def test_a_value_that_the_query_does_not_say_is_seen() -> None:
    """Near misses and parts of words do not count."""
    task = SUB_TASKS["tb-07"]
    assert "query does not say" in said(replace(task, query=task.query.replace("NUVO", "NUVOX")))


def test_a_value_that_the_result_does_not_say_is_seen() -> None:
    """The pointer is followed in the executed result."""
    task = SUB_TASKS["tb-07"]
    wrong = changed(task, 1, arguments={"symbol": "TRSK", "price": 94.5})
    assert "the result says 94.75" in said(replace(task, gold=wrong))
    lost = changed(
        task,
        1,
        sources={
            **task.gold[1].sources,
            "/price": Source(kind=SourceKind.RESULT, call=0, pointer="/x"),
        },
    )
    assert "names nothing" in said(replace(task, gold=lost))


def test_a_value_that_no_schema_fixes_is_seen() -> None:
    """Only defaults, constants and single options are fixed."""
    task = SUB_TASKS["tb-07"]
    sources = {**task.gold[0].sources, "/symbol": Source(kind=SourceKind.SCHEMA)}
    assert "schema does not fix" in said(replace(task, gold=changed(task, 0, sources=sources)))


def test_an_argument_without_a_source_is_seen() -> None:
    """Sources cover each leaf exactly once."""
    task = SUB_TASKS["tb-07"]
    assert "0 sources" in said(replace(task, gold=changed(task, 0, sources={})))
    doubled = {"/symbol": QUERY, "": QUERY}
    assert "2 sources" in said(replace(task, gold=changed(task, 0, sources=doubled)))


def test_neighbours_that_can_change_places_are_seen() -> None:
    """Two independent reads are not strictly ordered."""
    task = SUB_TASKS["fs-13"]
    twice = (task.gold[0], task.gold[0], *task.gold[1:])
    assert "can change places" in said(replace(task, gold=twice))


@pytest.mark.parametrize("words", ["get watchlist", "Get_Watchlist", "getwatchlist"])
def test_a_query_that_names_a_tool_is_seen(words: str) -> None:
    """A tool's name in a query is found in any spelling."""
    task = SUB_TASKS["tb-02"]
    assert "names the tool" in said(replace(task, query=f"{task.query} Use {words}."))


def test_a_task_without_distractors_is_seen() -> None:
    """The API list must hold more than the answer."""
    task = SUB_TASKS["tb-07"]
    assert "distractors" in said(replace(task, tools=("remove_alert", "set_alert")))


def test_templates_are_seen() -> None:
    """Five tasks with the same query and other values are reported as made from a template."""
    task = SUB_TASKS["tb-07"]
    copies = [replace(task, id=f"t{n}", narration=Narration.IN_ORDER) for n in range(5)]
    found = "; ".join(corpus_problems(copies))
    for part in ("read alike", "open with", "out of order", "use the tools", "same state"):
        assert part in found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1500, True),
        (41.5, True),
        (60.0, True),
        (15, False),
        (41, False),
        (5, False),
        ("KLVR", True),
        ("KLV", False),
    ],
)
def test_what_a_query_says(value: object, expected: bool) -> None:
    """Numbers in their usual spellings, texts as whole words."""
    assert in_query("Put 1,500 dollars in, order KLVR at 41.5, then at $60.00.", value) is expected


def test_a_composition_must_fit_its_kind() -> None:
    """Wrong size, wrong mixture and doubled tasks are refused."""
    one, two, other = (SUB_TASKS[key] for key in ("fs-01", "fs-02", "tb-01"))
    for kind, tasks in (
        (Kind.S3, (one, two)),
        (Kind.C2, (one, two)),
        (Kind.S2, (one, other)),
        (Kind.S2, (one, one)),
    ):
        with pytest.raises(ValueError, match=r"kind|fit|needs|unique"):
            Composition(id="x", kind=kind, sub_tasks=tasks)
    assert compose("fs-01", "tb-01").gold_calls == 6
