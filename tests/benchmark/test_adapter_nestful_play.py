"""Tasks of NESTFUL v2 in compositions, played through the runner of all suites."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import ForeignCodeRefused
from asyncguard_benchmark.harness.campaign import Cell, Condition, Failed, Played, play_each
from asyncguard_benchmark.harness.environment import Environment
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.foreign import opened
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.sandbox import SandboxLimits
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime
from asyncguard_benchmark.suites.nestful.composer import compose
from asyncguard_benchmark.suites.nestful.matches import matches
from asyncguard_benchmark.suites.nestful.toolbox import OtherFunctionsError, allowing
from tests.benchmark.builders_nestful import (
    FUNCTIONS,
    LIMITS,
    TOOL,
    adapting,
    call,
    row,
    small,
    told,
    written,
)

EAGER = "--compose C2=5 --seed 3 --agents eager,serial"


def cell(composition: Composition, agent: str = "oracle", **changed: Any) -> Cell:
    """An episode without guards."""
    condition = Condition(agent=AgentSpec(kind=agent), player="plain")
    return Cell(composition=composition, condition=replace(condition, **changed))


@pytest.mark.slow
@pytest.mark.parametrize("surface", ["text", pytest.param("native", marks=pytest.mark.slow(20))])
def test_the_oracle_succeeds_in_all_regimes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], surface: str
) -> None:
    """Without guards always; with all of them each loss is a refused right call that a guard is named for."""
    asked = f"--compose S2=1,C2=1,C3=1 --agents oracle --regimes {','.join(Regime)} --surfaces {surface}"
    words = adapting(FUNCTIONS, tmp_path / "out.jsonl", asked)
    code, said = told(capsys, *words)
    assert code == 0
    for each in said["conditions"]:
        if each["arm"] == "none":
            assert each["overall"]["value"] == each["win"] == each["full_match"] == 100
            assert each["false_blocks_per_1000"] == 0
        elif each["overall"]["value"] < 100:
            assert sum(each["false_blocks_by_guard"].values()) == pytest.approx(
                each["false_blocks_per_1000"]
            )
            assert each["false_blocks_per_1000"] > 0
    assert len(said["conditions"]) == 10


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the eager and the serial agent, with guards and without; the functions are gone afterwards."""
    folder = tmp_path_factory.mktemp("eager")
    functions = folder / "functions"
    shutil.copytree(FUNCTIONS, functions)
    out = folder / "out.jsonl"
    assert main(adapting(functions, out, EAGER)) == 0
    shutil.rmtree(functions)
    return out


@pytest.mark.slow
def test_guards_help_an_agent_that_runs_ahead(
    eager: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file alone is scored, without any function; and a serial agent meets no refusal for a pending result."""
    code, said = told(capsys, "score", str(eager))
    assert code == 0
    found = {(each["agent"], each["arm"]): each["overall"]["value"] for each in said["conditions"]}
    assert found["eager", "none"] < found["eager", "all"]
    assert found["serial", "none"] == 100
    asked = [line.episode for line in read_lines(eager) if line.episode is not None]
    guards = {
        each["guard"]
        for episode in asked
        if episode.agent == "serial"
        for each in episode.settings.get("interventions", ())
        if each["verdict"] == "reject"
    }
    assert guards <= {"arguments"}


@pytest.mark.slow
def test_the_file_is_compared_reported_and_exported(
    eager: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of it runs foreign code: the functions are not there any more."""
    assert main(["compare", str(eager), str(eager)]) == 0
    assert main(["report", str(eager), "--out", str(tmp_path / "page.html")]) == 0
    assert (
        main(["export", str(eager), "--format", "csv", "--out", str(tmp_path / "table.csv")]) == 0
    )
    assert (
        "nestful-C2-001"
        in (tmp_path / "page.html").read_text() + (tmp_path / "table.csv").read_text()
    )


def test_a_composition_runs_only_where_that_is_allowed(tmp_path: Path) -> None:
    """A file of episodes does not give the permission."""
    tasks = small(tmp_path, row(), row(sample_id="other")).tasks
    (made,) = compose(tasks, {Kind.S2: 1}, 0)
    with pytest.raises(ForeignCodeRefused, match="play them by `bench adapt nestful"):
        list(play_each([cell(made)], 1))


def test_functions_that_have_changed_are_refused(tmp_path: Path) -> None:
    """Results of the gold were made with others."""
    tasks = small(tmp_path, row(), row(sample_id="other")).tasks
    (made,) = compose(tasks, {Kind.S2: 1}, 0)
    (tmp_path / "functions" / "double.py").write_text("def double(number): return 3 * number")
    with (
        allowing(tmp_path / "functions", LIMITS),
        pytest.raises(OtherFunctionsError, match="function double that"),
    ):
        list(play_each([cell(made)], 1))


@pytest.mark.slow
def test_an_ended_worker_ends_the_episode_as_infrastructure(tmp_path: Path) -> None:
    """It is noted as a failure; the next one is played."""
    slow = "def double(number):\n    n = 0\n    while n < 3e6 * (number - 1): n += 1\n    return 2 * number\n"
    rows = [
        row(sample_id=str(n), output=[call(number=n), call(label="$var2", number=1)])
        for n in (9, 0, 1)
    ]
    first, *others = small(tmp_path, *rows, code=slow).tasks
    late = Composition(id="late", kind=Kind.S2, sub_tasks=(first, others[0]))
    fine = compose(others, {Kind.S2: 1}, 0)[0]
    with allowing(tmp_path / "functions", SandboxLimits(seconds=0.5)):
        ended, played = play_each([cell(late), cell(fine)], 1)
    assert isinstance(ended, Failed)
    assert "double took longer than 0.5 s" in ended.error
    assert isinstance(played, Played)


def test_an_exception_is_a_result_and_a_tool_without_a_function_answers_so(tmp_path: Path) -> None:
    """The agent goes on with either; each task of an episode has its own copy of a file's state."""
    code = "seen = []\ndef double(number):\n    seen.append(number)\n    return len(seen)\n"
    missing = TOOL | {"name": "treble"}
    rows = [row(sample_id=name, tools=[TOOL, missing]) for name in "ab"]
    (made,) = compose(small(tmp_path, *rows, code=code).tasks, {Kind.S2: 1}, 0)
    one, other = made.task_ids
    with allowing(tmp_path / "functions", LIMITS), opened(made):
        first, second = (Environment(made, Regime.SYNC, 0) for _ in range(2))
        said = [
            world.issue(task, tool, arguments).response
            for world, task, tool, arguments in (
                (first, one, "double", {"number": 1}),
                (first, one, "double", {"number": 1}),
                (first, other, "double", {"number": 1}),
                (second, one, "double", {"number": 1}),
                (first, one, "double", {"number": 1, "more": 2}),
                (first, one, "treble", {"number": 1}),
            )
        ]
    assert said[:4] == ["1", "2", "1", "1"]
    assert "TypeError: double() takes 1 positional argument but 2 were given" in said[4]
    assert said[5] == '{"error": "not available"}'


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Episode:
    """An episode of two small tasks, solved by the oracle."""
    folder = tmp_path_factory.mktemp("solved")
    (made,) = compose(small(folder, row(), row(sample_id="b")).tasks, {Kind.S2: 1}, 0)
    with allowing(folder / "functions", LIMITS):
        (played,) = play_each([cell(made)], 1)
    assert isinstance(played, Played)
    return played.episode


@pytest.mark.parametrize(
    ("changed", "scores"),
    [
        (lambda calls: calls, (True, True, 1.0)),
        (lambda calls: [*calls, calls[1]], (True, False, 1.0)),
        (lambda calls: [calls[0], *calls], (True, False, 0.5)),
        (lambda calls: calls[1:], (True, False, 0.0)),
        (lambda calls: calls[:1], (False, False, 0.5)),
        (lambda calls: [calls[1], calls[0]], (False, False, 0.0)),
        (lambda calls: [replace(calls[0], arguments={"number": 5}), calls[1]], (True, False, 0.5)),
        (lambda calls: [replace(calls[1], response="16.00000001")], (True, False, 0.0)),
        (lambda calls: [replace(calls[1], response="sixteen")], (False, False, 0.0)),
        (lambda calls: [], (False, False, 0.0)),
    ],
)
def test_own_scores_compare_calls_in_their_positions(
    solved: Episode, changed: Any, scores: tuple[bool, bool, float]
) -> None:
    """The final result wins by any path; a call in excess spoils the full match only."""
    first = solved.composition.task_ids[0]
    own = [each for each in solved.trajectory if each.task_id == first]
    found = matches(replace(solved, trajectory=tuple(changed(own))))[0]
    assert (found.win, found.full, found.partial) == scores


@pytest.mark.slow(seconds=3)
def test_an_interrupted_run_goes_on_and_nothing_is_played_twice(
    eager: Path, tmp_path: Path
) -> None:
    """The same command adds what the file lacks."""
    copy = tmp_path / "out.jsonl"
    lines = eager.read_text().splitlines(keepends=True)
    copy.write_text("".join(lines[:-3]))
    assert main(adapting(FUNCTIONS, copy, EAGER)) == 0
    assert sorted(copy.read_text().splitlines()) == sorted(eager.read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--compose", "S2=1"], "say --agents oracle,eager or --model"),
        (["--compose", "S4=9", "--agents", "oracle"], "no composition S4"),
    ],
)
def test_a_command_that_cannot_be_played_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    """One line of what to do."""
    start = written(tmp_path, row(), row(sample_id="b"))
    assert main([*start, "--run-foreign-code", *words]) == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("text", ["S2", "S2=0", "S1=3", "S2=1,S2=2", "X=1", ""])
def test_kinds_are_checked(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """The message lists the kinds."""
    with pytest.raises(SystemExit):
        main(["adapt", "nestful", "x", "--functions", "y", "--compose", text])
    assert "expected KIND=NUMBER, each kind once, of S2, C2, S3" in capsys.readouterr().err
