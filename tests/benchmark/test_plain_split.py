"""The plain split: direct wording, dependencies mixed as in the paper's source, and how it is solved blind."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark import Regime, Surface, score
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.dependencies import Dependency, dependencies, dependency_mix
from asyncguard_benchmark.harness.loading import by_id
from asyncguard_benchmark.harness.pointers import PointerError
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Kind, Source, SourceKind, SubTask
from asyncguard_benchmark.harness.task_quality import problems
from asyncguard_benchmark.suites.asynctool.blind import (
    BlindCall,
    blind_view,
    difference,
    differences,
    solutions_in,
)
from asyncguard_benchmark.suites.asynctool.corpus import plain_problems
from asyncguard_benchmark.suites.asynctool.dataset import (
    PLAIN,
    compositions,
    independent_tasks,
    plain_tasks,
)
from asyncguard_benchmark.suites.asynctool.plain_builder import build_plain
from tests.benchmark.builders import changed

TASKS = by_id(plain_tasks())
NEW = [task for task in plain_tasks() if task not in independent_tasks()]
EVERY = compositions(PLAIN)
BLIND = Path(__file__).parent / "plain_blind"
VALUE, SELECTED, STATE, ORDER, INDEPENDENT = Dependency
QUERY = Source(kind=SourceKind.QUERY)


@pytest.mark.parametrize("task", NEW, ids=lambda task: task.id)
def test_every_new_task_meets_the_bar(task: SubTask) -> None:
    """It runs, every argument is grounded, the query names no tool; steps may be independent."""
    assert problems(task, ordered=False) == ()
    assert 2 <= len(task.gold) <= 5
    assert 4 <= len({*task.tools} - {call.tool for call in task.gold}) <= 7


def test_the_split_is_not_made_from_templates() -> None:
    """At least 120 tasks; queries and openings differ, sequences and initial states do among the new ones."""
    assert plain_problems(plain_tasks(), NEW) == ()
    twice = [*NEW, replace(NEW[0], id="twice")]
    found = "; ".join(plain_problems(twice, twice))
    for part in ("not 120", "read alike", "start from"):
        assert part in found


@pytest.mark.parametrize("word", ["shall", "whatever", "whichever"])
def test_no_query_riddles(word: str) -> None:
    """The words by which the other splits were known for translated English are not in it."""
    assert [task.id for task in plain_tasks() if f" {word}" in task.query.lower()] == []


def test_dependencies_are_mixed_as_in_the_source() -> None:
    """About a third of the later calls take a value, a fifth depend through state, half need nothing."""
    mix = dependency_mix(plain_tasks())
    share = {kind: count / sum(mix.values()) for kind, count in mix.items()}
    assert 0.28 <= share[VALUE] + share[SELECTED] <= 0.38
    assert 0.17 <= share[STATE] + share[ORDER] <= 0.25
    assert 0.43 <= share[INDEPENDENT] <= 0.55


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("pl-001", (STATE, STATE, STATE)),
        ("pl-005", (VALUE, STATE, STATE)),
        ("pl-036", (VALUE, VALUE)),
        ("pl-115", (VALUE,)),
        ("pl-127", (SELECTED,)),
        ("in-01", (INDEPENDENT, INDEPENDENT)),
    ],
)
def test_dependencies_as_a_reader_tells_them(task: str, expected: tuple[Dependency, ...]) -> None:
    """A directory that later paths start from, a file that is joined first, a result that is passed on, and none."""
    assert dependencies(TASKS[task]) == expected


def test_a_login_counts_only_where_it_is_needed() -> None:
    """The state decides and not a label: with the session open already the same calls are independent."""
    task = TASKS["pl-017"]
    assert dependencies(task) == (STATE, STATE)
    open_already = {**task.initial_state, "session": "paddle_pia"}
    assert dependencies(replace(task, initial_state=open_already)) == (INDEPENDENT, INDEPENDENT)


def test_a_reading_before_a_change_is_order_alone() -> None:
    """Only the reading would come out otherwise; the change does not rest on it."""
    task = TASKS["pl-034"]
    assert dependencies(task) == (STATE,)
    assert dependencies(replace(task, gold=task.gold[::-1])) == (ORDER,)


def test_a_dependency_that_is_labelled_wrong_is_seen() -> None:
    """A value that is said to be in the query, or taken from another place, or said twice."""
    task = TASKS["pl-036"]
    hidden = {**task.gold[2].sources, "/limit_price": QUERY}
    assert "query does not say" in "; ".join(
        problems(replace(task, gold=changed(task, 2, sources=hidden)), ordered=False)
    )
    other = {"/symbol": Source(kind=SourceKind.RESULT, call=0, pointer="/biggest_loss")}
    with pytest.raises(ValueError, match="takes 'GUST' from 'TORF'"):
        dependencies(replace(task, gold=changed(task, 1, sources=other)))
    nowhere = {"/symbol": Source(kind=SourceKind.RESULT, call=0, pointer="/symbol")}
    with pytest.raises(PointerError):
        dependencies(replace(task, gold=changed(task, 1, sources=nowhere)))
    said = replace(task, query=f"{task.query} It is GUST, I think.")
    assert dependencies(said) == (SELECTED, VALUE)


def test_the_compositions_are_what_the_builder_builds() -> None:
    """At least 150 of two and three tasks, none twice, each task used about equally."""
    assert build_plain(plain_tasks()) == EVERY
    assert len(EVERY) >= 150
    assert len({frozenset(each.task_ids) for each in EVERY}) == len(EVERY)
    assert {each.kind for each in EVERY} == {Kind.S2, Kind.C2, Kind.S3, Kind.C3}
    assert all(each.id.startswith(f"P-{each.kind}-") for each in EVERY)
    uses = Counter(task for each in EVERY for task in each.task_ids)
    assert uses.keys() == TASKS.keys()
    assert max(uses.values()) - min(uses.values()) <= 1
    assert build_plain(plain_tasks(), seed=18) != EVERY


def test_the_builder_says_when_there_are_too_few_tasks() -> None:
    """It neither repeats a composition nor loops for ever."""
    for kind in (Kind.S2, Kind.C3):
        with pytest.raises(ValueError, match="too few"):
            build_plain(NEW[:2], {kind: 2})


def solved(agent: str, regime: Regime, every: int) -> list[bool]:
    """Whether an agent solves each nth composition, without a runtime."""
    condition = Condition(
        agent=AgentSpec(kind=agent),
        player="plain",
        arm="none",
        regime=regime,
        surface=Surface.TEXT,
    )
    cells = [Cell(composition=each, condition=condition) for each in EVERY[::every]]
    return [score(play(cell).episode).overall for cell in cells]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("regime", list(Regime))
def test_the_oracle_solves_the_compositions(regime: Regime) -> None:
    """Under every delay; `bench validate` plays all of them."""
    assert all(solved("oracle", regime, every=4))


def test_matching_words_does_not_solve_them() -> None:
    """An agent that matches words and copies values solves fewer than one in ten."""
    found = solved("keyword-and-copy", Regime.SYNC, every=4)
    assert sum(found) < 0.1 * len(found)


def test_the_set_is_played_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As any other, from the command line."""
    out = tmp_path / "run.jsonl"
    asked = ("--suite", "plain", "--compositions", "P-C2-001,P-S3-001", "--jobs", "1")
    assert main(["run", "--agents", "oracle", "--players", "plain", *asked, "--out", str(out)]) == 0
    assert main(["score", str(out), "--json"]) == 0
    assert '"P-C2-001"' in out.read_text(encoding="utf-8")
    assert '"episodes": 2' in capsys.readouterr().out
    assert main(["list", "tasks", "--suite", "plain", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["tasks"]
    assert {row["id"] for row in listed} == TASKS.keys()
    assert len(listed) == len(TASKS)
    assert main(["list", "compositions", "--suite", "plain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["compositions"]) == len(EVERY)


def gold(task: SubTask) -> list[BlindCall]:
    """The ground truth as a blind solution."""
    return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in task.gold]


def test_a_solver_sees_neither_ground_truth_nor_state() -> None:
    """Query and API list only."""
    for task in plain_tasks():
        view = blind_view(task)
        assert view.keys() == {"id", "query", "functions"}
        assert [each["name"] for each in view["functions"]] == list(task.tools)


def test_a_blind_solution_is_compared_by_executing_it() -> None:
    """The ground truth agrees in any order that changes nothing; other, missing, more or misplaced calls do not."""
    for task in plain_tasks():
        assert difference(task, gold(task)) is None
    assert difference(TASKS["in-01"], gold(TASKS["in-01"])[::-1]) is None
    task = TASKS["pl-034"]
    calls = gold(task)
    assert "order" in str(difference(task, calls[::-1]))
    assert "lacks ['list_orders']" in str(difference(task, calls[:1]))
    assert "has ['cancel_order']" in str(difference(task, [*calls, calls[0]]))
    wrong: BlindCall = {"tool": "cancel_order", "arguments": {"order_id": 60141}}
    assert difference(task, [wrong, calls[1]]) is not None


def test_a_file_of_solutions_is_read_strictly(tmp_path: Path) -> None:
    """Two solutions of one task, a solution of none, and lines of another form are refused."""

    def read(*solutions: Any) -> dict[str, str]:
        path = tmp_path / "solutions.jsonl"
        path.write_text("\n".join(map(json.dumps, solutions)), encoding="utf-8")
        return differences(solutions_in(path), TASKS)

    good = {"id": "pl-034", "calls": gold(TASKS["pl-034"])}
    assert read(good) == {}
    assert read({**good, "id": "pl-033"}).keys() == {"pl-033"}
    for wrong in ((good, good), ({**good, "id": "pl-999"},), ({**good, "calls": []},)):
        with pytest.raises(ValueError, match=r"two solutions|no tasks|at least 1"):
            read(*wrong)


def test_the_committed_blind_solutions_are_scored_again() -> None:
    """Those that differ are listed with the reason; all tasks are there, and 98 % agree."""
    solutions = solutions_in(BLIND / "solutions.jsonl")
    listed = json.loads((BLIND / "disagreements.json").read_text(encoding="utf-8"))
    assert differences(solutions, TASKS).keys() == listed.keys()
    assert all(listed.values()), "each says why"
    assert solutions.keys() == TASKS.keys()
    assert len(listed) <= 0.02 * len(TASKS)
