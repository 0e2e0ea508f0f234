"""Tasks of BFCL in compositions: sources, worlds, episodes, verdicts from the file, on a package of our own."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import EpisodeFormatError
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.drawn_compositions import TooFewTasksError, draw_compositions
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.sandbox import SandboxError
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime, SourceKind, SubTask
from asyncguard_benchmark.harness.scoring.verdict import FindingKind, score
from asyncguard_benchmark.suites.bfcl.package import EXECUTORS, read_package
from asyncguard_benchmark.suites.bfcl.playing import (
    BfclWorld,
    ForeignCodeNotAllowedError,
    allow,
    notes_of,
    open_world,
)
from asyncguard_benchmark.suites.bfcl.projections import TaskKind
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from asyncguard_benchmark.suites.bfcl.shown import shown
from asyncguard_benchmark.suites.bfcl.sources import Place
from asyncguard_benchmark.suites.bfcl.summary import lines_of
from asyncguard_benchmark.suites.bfcl.tasks import Built, build_tasks
from asyncguard_benchmark.suites.bfcl.worlds import worker
from tests.benchmark.builders_bfcl import CODE, ENTRIES, entry, files, wheel


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ASYNCGUARD_BFCL_CODE", "")


def _source(place: Path, *more: Any, **changed: str) -> Source:
    return read_source(read_package(wheel(place, files([*ENTRIES, *more], changed))))


def _built(source: Source, *kinds: TaskKind) -> Built:
    with worker(source.package.unpacked()) as sandbox:
        return build_tasks(source, kinds or (TaskKind.ENTRY, TaskKind.PROJECTION), sandbox)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """The package of the builders."""
    return _source(tmp_path)


@pytest.fixture
def tasks(source: Source) -> dict[str, SubTask]:
    """Its single tasks, whose code may run."""
    allow(source.package)
    return {each.id.removeprefix("current-bfcl-"): each for each in _built(source).tasks}


@pytest.fixture
def pair(tasks: dict[str, SubTask]) -> Composition:
    """Two tasks of two classes."""
    return Composition(id="pair", kind=Kind.C2, sub_tasks=(tasks["0-TP-e"], tasks["1-TB-p"]))


@pytest.fixture
def world(pair: Composition) -> Iterator[BfclWorld]:
    """The world of the pair."""
    opened = open_world(pair)
    yield opened
    opened.close()


def _episode(composition: Composition, agent: str, arm: str, regime: Regime) -> Episode:
    condition = Condition(
        agent=AgentSpec(kind=agent), player="graph", arm=arm, declared=False, regime=regime
    )
    return play(Cell(composition=composition, condition=condition)).episode


def test_a_task_has_its_whole_class_and_recomputed_results(tasks: dict[str, SubTask]) -> None:
    """The API list is the class's document, and the origin says where the task comes from."""
    task = tasks["0-TP-e"]
    assert task.tools == ("open_ticket", "read_ticket", "colours", "leave", "dial")
    assert task.origin is not None
    assert (task.origin.id, task.origin.version) == ("multi_turn_base_0", "2026.3.23")
    assert json.loads(task.origin.results[1]) == {"id": 8, "state": {"open": True}}


def test_each_argument_has_the_first_source_that_holds(tmp_path: Path) -> None:
    """Query, result, schema, normalised, arithmetic, nowhere: one argument of each."""
    calls = [
        "price(symbol='ABC')",
        "price(symbol='a.b.c.d')",
        "order(symbol='text', price=12.5)",
        "order(symbol='QQ', price=22.5)",
    ]
    said = {"Look at ABC and at A B C D, then buy at that price and at 10 more.": calls}
    source = _source(tmp_path, entry(5, said, ["TradingBot"]))
    with worker(source.package.unpacked()) as sandbox:
        built = build_tasks(replace(source, entries=source.entries[-1:]), [TaskKind.ENTRY], sandbox)
    (task,) = built.tasks
    found = [each.sources for each in task.gold]
    assert found[0]["/symbol"].kind is SourceKind.QUERY
    assert (found[1]["/symbol"].kind, found[1]["/symbol"].how) == (
        SourceKind.DERIVED,
        "the same, normalised",
    )
    assert found[2]["/price"] == replace(found[2]["/price"], call=0, pointer="/price")
    assert found[3]["/price"].uses == {0}
    assert dict(built.places) == {
        Place.QUERY: 1,
        Place.NORMALISED: 1,
        Place.NOWHERE: 1,
        Place.RESULT: 1,
        Place.ARITHMETIC: 1,
        Place.SCHEMA: 1,
    }


def test_a_task_whose_truth_fails_is_left_out(tmp_path: Path) -> None:
    """It is named with the text of the failure; the others are made."""
    wrong = entry(9, {"Look.": ["read_ticket(id=99)", "read_ticket(id=1)"]}, ["TicketAPI"])
    built = _built(_source(tmp_path, wrong))
    assert len(built.tasks) == 4
    assert list(built.left_out) == ["current-bfcl-9-TP-e"]
    assert "no ticket 99" in built.left_out["current-bfcl-9-TP-e"]


def test_a_turn_begins_after_the_turns_before_it(tmp_path: Path) -> None:
    """The calls of earlier turns are executed as set-up and are not asked for."""
    two = entry(
        6,
        {
            "Open 'A'.": ["open_ticket('A')"],
            "Open 'B' and read 9.": ["open_ticket('B')", "read_ticket(9)"],
        },
        ["TicketAPI"],
    )
    task = next(
        each for each in _built(_source(tmp_path, two), TaskKind.TURN).tasks if "-6-" in each.id
    )
    assert task.origin is not None
    assert json.loads(task.origin.results[0])["id"] == 9


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ('{"a": 1.0}', {"a": 1.0}),
        ("['a', 'b']", {"result": "['a', 'b']"}),
        ("[1]", {"result": "[1]"}),
        ("Error during execution: no", {"error": "Error during execution: no"}),
    ],
)
def test_results_are_shown_as_objects(text: str, value: Any) -> None:
    """Objects stay as they are, and any other text stands in an object of its own."""
    assert shown(text) == value


def test_without_permission_no_world_opens(
    pair: Composition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Foreign code runs only in a process that was allowed the very code that the task was made with."""
    monkeypatch.setenv("ASYNCGUARD_BFCL_CODE", "")
    with pytest.raises(ForeignCodeNotAllowedError, match="--run-foreign-code"):
        open_world(pair)
    monkeypatch.setenv("ASYNCGUARD_BFCL_CODE", f"{'0' * 64}:/tmp")
    with pytest.raises(ForeignCodeNotAllowedError, match="--run-foreign-code"):
        open_world(pair)


def test_runs_of_one_world_share_nothing(world: BfclWorld, pair: Composition) -> None:
    """Tools that are given out a second time begin with the initial state, and leave the first ones theirs."""
    task = pair.task_ids[0]
    first, second = (world.tools()[task]["open_ticket"].run for _ in range(2))
    ids = [run({}, title="A")["id"] for run in (first, second, first, second)]
    assert ids == [8, 8, 9, 9]


def test_a_worker_that_ends_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    """The call raises for the infrastructure, and the world says why also after it was closed."""
    code = CODE["ticket_api"].replace("raise SystemExit(3)", "__import__('os')._exit(3)")
    source = _source(tmp_path, **{f"{EXECUTORS}/ticket_api.py": code})
    allow(source.package)
    tasks = [each for each in _built(source).tasks if "-TP-" in each.id]
    world = open_world(Composition(id="pair", kind=Kind.S2, sub_tasks=tuple(tasks)))
    with pytest.raises(SandboxError, match="code 3"):
        world.tools()[tasks[0].id]["leave"].run({})
    world.close()
    assert world.ended is not None
    assert "code 3" in world.ended


def test_a_world_that_was_closed_in_order_has_not_ended(
    world: BfclWorld, pair: Composition
) -> None:
    """Closing is not a failure of the infrastructure."""
    world.tools()[pair.task_ids[0]]["colours"].run({})
    world.close()
    assert world.ended is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("regime", list(Regime))
@pytest.mark.parametrize("arm", ["none", "all"])
def test_the_oracle_solves_a_pair(pair: Composition, arm: str, regime: Regime) -> None:
    """In each regime, with guards and without, calls, responses and states are right."""
    judged = score(_episode(pair, "oracle", arm, regime))
    assert judged.overall
    assert [each.findings for each in judged.sub_tasks] == [(), ()]


def test_a_guess_that_is_wrong_fails_by_upstreams_rule(pair: Composition) -> None:
    """An agent that does not wait loses responses or states, and the findings say which attribute differs."""
    judged = score(_episode(pair, "eager", "none", Regime.FIXED2))
    kinds = {each.kind for task in judged.sub_tasks for each in task.findings}
    assert not judged.overall
    assert FindingKind.MISSING_RESULT in kinds


def test_the_judgement_names_what_differs(world: BfclWorld, pair: Composition) -> None:
    """A sub-task without a call fails by state; the attribute is named, its value is not."""
    episode = _episode(pair, "oracle", "none", Regime.SYNC)
    idle = replace(
        episode,
        trajectory=tuple(each for each in episode.trajectory if each.task_id != pair.task_ids[1]),
    )
    noted = notes_of(world, replace(idle))[pair.task_ids[1]]
    assert (noted["response"], noted["state"], noted["state_strict"]) == (False, False, False)
    assert noted["differing"] == ["orders"]
    judged = score(replace(idle, settings={**idle.settings, "foreign": notes_of(world, idle)}))
    found = [
        each for each in judged.sub_tasks[1].findings if each.kind is FindingKind.DIFFERING_STATE
    ]
    assert [each.place for each in found] == ["/orders"]


@pytest.mark.parametrize("name", ["response", "state"])
def test_either_half_of_the_judgement_fails_the_task(pair: Composition, name: str) -> None:
    """A response or a state that the worker found wrong is wrong, although every call was made."""
    episode = _episode(pair, "oracle", "none", Regime.SYNC)
    noted = {task: dict(found) for task, found in episode.settings["foreign"].items()}
    noted[pair.task_ids[0]][name] = False
    first, second = score(
        replace(episode, settings={**episode.settings, "foreign": noted})
    ).sub_tasks
    assert (first.trajectory, first.accurate, second.accurate) == (True, False, True)
    assert len(first.findings) == 1


@pytest.mark.parametrize("noted", [None, [], {"response": True}, {"response": 1}])
def test_an_episode_without_its_judgement_is_not_scored(pair: Composition, noted: Any) -> None:
    """A file from elsewhere cannot leave the judgement out, nor give something else for it."""
    episode = _episode(pair, "oracle", "none", Regime.SYNC)
    foreign = {**episode.settings["foreign"], pair.task_ids[1]: noted}
    with pytest.raises(EpisodeFormatError, match=r"settings\.foreign\.current-bfcl-1-TB-p"):
        score(replace(episode, settings={**episode.settings, "foreign": foreign}))


def test_figures_tell_upstreams_rule_and_ours_apart(pair: Composition) -> None:
    """A run whose responses and states are right counts by upstream's rule although a call is another."""
    episode = _episode(pair, "oracle", "none", Regime.SYNC)
    other = tuple(
        replace(each, arguments={**each.arguments, "extra": 1}) if each.number == 0 else each
        for each in episode.trajectory
    )
    (line,) = lines_of([episode, replace(episode, trajectory=other)])
    assert (line.episodes, line.upstream, line.overall, line.strict) == (2, 1.0, 0.5, 1.0)
    assert (line.right, line.blocked, line.lost) == (8, {}, {})


def test_compositions_are_the_same_for_a_seed(tasks: dict[str, SubTask]) -> None:
    """Seeds decide, no two hold the same tasks, and kinds hold one class or several."""
    counts = {Kind.S2: 2, Kind.C2: 4}
    first, again, other = (
        draw_compositions(list(tasks.values()), counts, n, "x-") for n in (1, 1, 2)
    )
    assert first == again != other
    assert len({frozenset(each.task_ids) for each in first}) == 6
    with pytest.raises(TooFewTasksError, match="S2"):
        draw_compositions(list(tasks.values()), {Kind.S2: 3}, 1, "x-")


def test_tools_of_one_name_and_two_schemas_never_meet(tasks: dict[str, SubTask]) -> None:
    """The composer draws again until each name stands for one schema."""
    state = json.loads(json.dumps(tasks["1-TB-p"].initial_state))
    state["documents"][0] |= {"name": "open_ticket"}
    clash = replace(
        tasks["2-TB-e"],
        initial_state=state,
        tools=("open_ticket", "order", "cancel"),
        gold=tasks["2-TB-e"].gold[:1] * 2,
    )
    with pytest.raises(TooFewTasksError):
        draw_compositions([clash, tasks["0-TP-e"]], {Kind.C2: 1}, 1, "x-")


def test_the_command_plays_scores_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Episodes are played once, and other commands read the file and run nothing of the package."""
    out = tmp_path / "bfcl.jsonl"
    command = [
        *(
            "adapt",
            "bfcl",
            str(wheel(tmp_path)),
            "--run-foreign-code",
            "--compose",
            "S2=1,C2=2",
            "--jobs",
            "1",
        ),
        *(
            "--agents",
            "oracle",
            "--arms",
            "none",
            "--regimes",
            "sync,fixed1",
            "--out",
            str(out),
            "--json",
        ),
    ]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["episodes"], each["upstream"]) for each in told["conditions"]] == [(3, 1.0)] * 2
    assert told["tasks"] == 4
    size = out.stat().st_size
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == told["conditions"]
    assert out.stat().st_size == size
    assert sum(line.episode is not None for line in read_lines(out)) == 6


def test_provenance_judges_the_values_of_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each kind of task is a group, and all together."""
    command = ["adapt", "bfcl", str(wheel(tmp_path)), "--run-foreign-code", "--provenance"]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["entry", "projection", "all"]
    assert said["all"]["false_alarms"]["values"] == sum(
        said[kind]["false_alarms"]["values"] for kind in ("entry", "projection")
    )
    assert said["all"]["recall"]["refused"] > 0


def test_a_saved_file_is_scored_and_reported_without_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the package nor its cache is needed for score and report."""
    out = tmp_path / "bfcl.jsonl"
    path = wheel(tmp_path)
    command = ["adapt", "bfcl", str(path), "--run-foreign-code", "--compose", "C2=1", "--jobs", "1"]
    assert main([*command, "--agents", "oracle", "--arms", "none", "--out", str(out)]) == 0
    path.unlink()
    monkeypatch.setenv("ASYNCGUARD_BFCL_CODE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    capsys.readouterr()
    assert main(["score", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conditions"][0]["overall"]["value"] == 100
    assert main(["report", str(out), "--out", str(tmp_path / "r.html")]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--check, --replay, --provenance, or --compose"),
        (["--provenance"], "--run-foreign-code"),
        (["--compose", "C2=1"], "--run-foreign-code"),
        (["--run-foreign-code", "--compose", "C2=1"], "--agents"),
        (["--run-foreign-code", "--compose", "S4=9", "--agents", "oracle"], "S4"),
    ],
)
def test_what_is_missing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    """A command that cannot be followed says which option it needs, and plays nothing."""
    out = tmp_path / "x.jsonl"
    assert main(["adapt", "bfcl", str(wheel(tmp_path)), *words, "--out", str(out)]) == 1
    assert told in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("counts", ["S1=4", "S2", "S2=0", "S2=1,S2=2", "", "X2=1"])
def test_counts_have_one_form(tmp_path: Path, counts: str) -> None:
    """Anything but kinds with numbers is a wrong command line."""
    with pytest.raises(SystemExit):
        main(["adapt", "bfcl", str(wheel(tmp_path)), "--compose", counts])


@pytest.mark.parametrize("arms", ["everything", "", "all,grounding+foo"])
def test_arms_are_checked_with_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arms: str
) -> None:
    """The message says where the arms are listed."""
    for start in (["bfcl", str(wheel(tmp_path))], ["nestful", "x", "--functions", "y"]):
        with pytest.raises(SystemExit):
            main(["adapt", *start, "--compose", "C2=1", "--arms", arms])
        assert "see `bench list arms`" in capsys.readouterr().err


def test_an_eager_agent_guesses_a_derived_value(tmp_path: Path) -> None:
    """A value that would have to be worked out of a pending result is invented, and the run goes on."""
    said = {"What is ABC worth? Order QQ at 10 more.": ["price('ABC')", "order('QQ', 22.5)"]}
    source = _source(tmp_path, entry(5, said, ["TradingBot"]))
    allow(source.package)
    tasks = {each.id: each for each in _built(source).tasks}
    pair = (tasks["current-bfcl-5-TB-e"], tasks["current-bfcl-0-TP-e"])
    composition = Composition(id="pair", kind=Kind.C2, sub_tasks=pair)
    judged = score(_episode(composition, "eager", "none", Regime.FIXED2))
    assert judged.sub_tasks[0].calls == 2
    assert not judged.sub_tasks[0].trajectory
