"""Figures split: by `bench score --by`, in the report and in the document of results."""

import gc
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark import Regime, episode_from_json, episode_to_json, score
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.ablation.findings import write_findings
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.report.breakdown_tables import rows_by
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.scoring.breakdown import Breakdown
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, modes_of
from asyncguard_benchmark.harness.scoring.wrong_task import Sequel
from tests.benchmark.builders import Call, compose, gold, played
from tests.benchmark.builders_findings import findings

RUN = ["run", "--agents", "confused,persona:gpt-4o", "--suite", "lite", "--jobs", "1"]
RUN += ["--compositions", "S2-00,C3-00", "--players", "plain", "--regimes", "sync,fixed1"]


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes of two agents without and with delay, and of one with an example in its prompt."""
    path = tmp_path_factory.mktemp("by") / "episodes.jsonl"
    assert main([*RUN, "--out", str(path)]) == 0
    few = path.with_name("few.jsonl")
    assert main([*RUN, "--few-shot", "--out", str(few)]) == 0
    path.write_text(path.read_text() + few.read_text())
    return path


def episodes(file: Path) -> list[Episode]:
    """The episodes of a file."""
    return [line.episode for line in read_lines(file) if line.episode is not None]


def told(file: Path, capsys: pytest.CaptureFixture[str], by: str = "all") -> dict[str, Any]:
    """What the command says as JSON."""
    capsys.readouterr()
    assert main(["score", str(file), "--by", by, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
def test_every_table_has_the_episodes_of_its_condition(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compositions by kind and number of tasks, and sub-tasks by category and place, add up to those of the row."""
    found = told(file, capsys)
    assert list(found["by"]) == list(Facet)
    for row in found["conditions"]:
        condition = {name: row[name] for name in ("agent", "arm", "regime", "player")}

        def of(facet: Facet, own: dict[str, Any] = condition) -> list[dict[str, Any]]:
            return [each for each in found["by"][facet] if own.items() <= each.items()]

        for facet in (Facet.KIND, Facet.TASKS):
            assert sum(each["overall"]["of"] for each in of(facet)) == row["episodes"]
            hits = sum(each["overall"]["hits"] for each in of(facet))
            assert hits / row["episodes"] * 100 == pytest.approx(row["overall"]["value"])
        for facet in (Facet.CATEGORY, Facet.POSITION):
            assert sum(each["accuracy"]["of"] for each in of(facet)) == row["accuracy"]["count"]
        assert {each["mistake"] for each in of(Facet.MODES)} == set(Mistake)
        assert [each["afterwards"] for each in of(Facet.CASCADES)] == list(Sequel)


def test_delays_and_prompts_stand_beside_each_other(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first has nothing to be compared with, the others are compared on the compositions of both."""
    found = told(file, capsys, "delay,few-shot")["by"]
    assert [each["delay"] for each in found["delay"]] == ["sync", "fixed1"] * 4
    assert [each["prompt"] for each in found["few-shot"]] == ["zero-shot", "few-shot"] * 4
    for rows in found.values():
        for base, other in zip(rows[::2], rows[1::2], strict=True):
            assert (base["pairs"], base["difference"]) == (0, None)
            assert other["pairs"] == base["results"]["overall"]["of"]
            values = [each["results"]["overall"]["share"]["value"] for each in (base, other)]
            assert other["difference"]["value"] == pytest.approx(values[1] - values[0])


def test_tables_are_printed_with_what_they_mean(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only those that were asked for, and none without the option."""
    capsys.readouterr()
    assert main(["score", str(file), "--by", "position,kind"]) == 0
    said = capsys.readouterr().out
    assert said.index("Neglect, by place") < said.index("By kind")
    assert "untouched: without any call" in said
    assert "By category" not in said
    assert main(["score", str(file)]) == 0
    assert "By kind" not in capsys.readouterr().out


def test_what_the_caller_has_frozen_stays_frozen(file: Path) -> None:
    """A command within a long process leaves the collector of cycles as it was."""
    gc.freeze()
    before = gc.get_freeze_count()
    assert main(["score", str(file)]) == 0
    assert gc.get_freeze_count() > before / 2


def test_an_unknown_table_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With the names of those that there are."""
    with pytest.raises(SystemExit):
        main(["score", "none.jsonl", "--by", "moon"])
    assert "'moon': choose from kind, tasks, category" in capsys.readouterr().err


def test_the_report_and_the_results_have_the_tables(file: Path, tmp_path: Path) -> None:
    """The report in a chapter of its own, the document of results from files of episodes."""
    assert main(["report", str(file), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Split by kind, category, place and mistake" in page
    assert "After the first call for the wrong task" in page
    write_findings(findings("eager"), tmp_path / "findings.json")
    out = tmp_path / "R.md"
    command = ["results", str(tmp_path / "findings.json"), "--out", str(out)]
    assert main(command) == 0
    assert "## By kind" not in out.read_text(encoding="utf-8")
    assert main([*command, "--episodes", str(file), str(file)]) == 0
    part = out.read_text(encoding="utf-8").split("## By number of tasks")[1].split("\n## ")[0]
    found = [line for line in part.splitlines() if line.startswith("| confused, fixed1 | 2 |")]
    played = {each.composition.id for each in episodes(file) if each.composition.kind.size == 2}
    assert [line.split("|")[3].strip() for line in found] == [str(len(played))]


FS, TB = gold("fs-01"), gold("tb-01")


def of_calls(*runs: Sequence[Call]) -> Breakdown:
    """The breakdown of runs of one composition with exactly these calls."""
    found = Breakdown()
    for seed, calls in enumerate(runs):
        episode = episode_to_json(played(compose("fs-01", "tb-01"), list(calls), Regime.SYNC))
        episode["run"]["seed"] = seed
        read = episode_from_json(episode)
        found.add(read, score(read))
    return found


def renamed(call: Call, task: str) -> Call:
    """The same call with the id of another sub-task."""
    return (task, *call[1:])


def test_a_call_for_the_wrong_task_is_laid_beside_the_same_step() -> None:
    """One run makes the first call of a task under another's id and leaves it; the other makes all."""
    wrong = [renamed(FS[0], "tb-01"), *TB]
    found = {each.question: each for each in of_calls(wrong, [*FS, *TB]).cascades()}
    assert {(each.runs, each.cases, each.steps) for each in found.values()} == {(1, 1, 1)}
    missed, later = found[Sequel.MISSED], found[Sequel.WRONG]
    assert missed.after == pytest.approx(100 * len(FS) / (len(FS) + len(TB)))
    assert (missed.without, later.after, later.without) == (0, 0, 0)
    # The call names tb-01, which is solved; the sub-task beside it is not.
    assert (found[Sequel.OTHERS].after, found[Sequel.OTHERS].without) == (100, 0)
    difference = found[Sequel.OVERALL].difference
    assert difference is not None
    assert difference.value == 100


def test_what_cannot_be_compared_has_no_figure() -> None:
    """A run with such a call and none beside it is counted and not compared; without calls there is none."""
    (missed, *_) = of_calls([renamed(FS[0], "tb-01"), *TB]).cascades()
    assert (missed.runs, missed.cases, missed.after, missed.difference) == (1, 0, None, None)
    (missed, *_) = of_calls([]).cascades()
    assert (missed.runs, missed.after, missed.without) == (0, None, None)
    assert Breakdown().whole().overall.share is None
    assert of_calls([]).whole().rounds_on_success is None


def test_only_what_both_conditions_played_is_compared() -> None:
    """A seed that one of two delays lacks is left out."""
    solved, failed = [*FS, *TB], list(TB)
    slow, quick = (
        Group(agent="a", player="plain", arm="", declared=True, regime=name, surface="text")
        for name in ("fixed1", "sync")
    )
    found = {slow: of_calls(failed, solved, solved), quick: of_calls(solved, solved)}
    first, second = rows_by(Facet.DELAY, found)
    assert (first.group, second.group) == (quick, slow)
    assert (second.figures.pairs, second.figures.difference.value) == (2, -50)


def test_no_difference_of_shares_reaches_beyond_100_points() -> None:
    """All pairs are lost: the interval ends at -100, and has a width all the same."""
    slow, quick = (
        Group(agent="a", player="plain", arm="", declared=True, regime=name, surface="text")
        for name in ("fixed1", "sync")
    )
    _, second = rows_by(
        Facet.DELAY, {slow: of_calls([], []), quick: of_calls([*FS, *TB], [*FS, *TB])}
    )
    found = second.figures.difference
    assert (found.value, found.low) == (-100, -100)
    assert found.high > -100


def test_a_tool_on_no_list_is_no_call_for_the_wrong_task() -> None:
    """It is invented; a tool of the other sub-task is one for the wrong task."""
    assert of_calls([("fs-01", "no_such_tool", {})]).cascades()[0].runs == 0
    assert of_calls([("fs-01", TB[0][1], {})]).cascades()[0].runs == 1


def test_mistakes_stand_together_and_alone() -> None:
    """A wrong value and a call left out in one sub-task; the other is untouched."""
    tool, arguments = FS[0][1], dict(FS[0][2])
    name = next(iter(arguments))
    found = {
        each.mode: each for each in of_calls([("fs-01", tool, {**arguments, name: "?"})]).modes()
    }
    argument, neglect = found[Mistake.ARGUMENT], found[Mistake.NEGLECT]
    assert (argument.share.hits, argument.share.of, argument.alone) == (1, 2, 0)
    assert (neglect.share.hits, neglect.alone) == (2, 1)
    assert argument.together[Mistake.NEGLECT] == neglect.together[Mistake.ARGUMENT] == 1


def test_a_repeated_gold_call_under_another_id_is_confusion() -> None:
    """fs-05 looks twice at the space in use; the second look was made for mo-17, which has no such tool."""
    looks, rest = gold("fs-05"), gold("mo-17")
    assert looks[0][1:] == looks[-1][1:]
    pair = compose("fs-05", "mo-17")
    episode = played(pair, [*looks[:-1], renamed(looks[-1], "mo-17"), *rest])
    first, second = modes_of(episode, score(episode))
    assert first == {Mistake.CONFUSION, Mistake.NEGLECT}
    assert not second


def test_neglect_is_told_by_place() -> None:
    """The second task of the prompt is untouched in both runs, the first in none."""
    found = of_calls(FS, FS).by_position()
    first, second = found[2, 1], found[2, 2]
    assert (first.neglected.hits, first.accuracy.hits, first.untouched.of) == (0, 2, 2)
    assert (second.neglected.hits, second.untouched.hits, second.accuracy.hits) == (2, 2, 0)
