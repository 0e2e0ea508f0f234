"""Result files in the published shape, and the command that scores them."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.json_lines import LONGEST_TEXT
from asyncguard_benchmark.suites.missions.result_rows import read_results
from asyncguard_benchmark.suites.missions.scorers.summary import summary
from asyncguard_benchmark.suites.missions.scorers.verdict import judge
from asyncguard_benchmark.suites.missions.terms import Letter, Relation
from tests.benchmark.builders_missions import graph, result_row, row, said, saved
from tests.benchmark.junk import spoilt

Row = dict[str, Any]


def scored(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """The answer of `bench missions score`."""
    assert main(["missions", "score", *map(str, arguments), "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_mini_example_scores_the_same_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, with both scorers."""
    path = saved(tmp_path / "runs.jsonl", *map(row, range(10)))
    found = scored(capsys, path)
    for name in ("strict", "compat"):
        said_of = found["scorers"][name]
        assert (said_of["SR"]["value"], said_of["SR"]["n"]) == (0.4, 10)
        assert said_of["OP"]["value"] == pytest.approx(1 / 3)
        assert said_of["by"]["letter"]["t"]["value"] == 0.5
    assert found["AP"]["compat"]["value"] == 0.5
    assert found["scorers"]["compat"]["errors"]["early stop"] == 1
    assert found["trajectories"] is None
    assert (found["partial"], found["unreadable"], found["relabelled"]) == (False, [], [])


def test_the_table_says_the_same_and_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --json; each failed mission has a line."""
    path = saved(tmp_path / "runs.jsonl", *map(row, range(10)))
    assert main(["missions", "score", str(path), "--explain"]) == 0
    said_of = capsys.readouterr()
    assert "errors, compat" in said_of.out
    assert "40.0" in said_of.out
    assert "d4, mission 1: strict: step 2: value: invented; ready: {g}" in said_of.err
    assert "d9, mission 1: compat: early stop" in said_of.err


def test_json_holds_where_each_mission_left_the_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If asked to explain; passed missions are not named."""
    path = saved(tmp_path / "runs.jsonl", row(2), row(4))
    assert "failures" not in scored(capsys, path)
    (failure,) = scored(capsys, path, "--explain")["failures"]
    assert (failure["dialogue"], failure["compat"]) == ("d4", "param value error")
    assert failure["strict"]["calls"] == [
        {"tool": "g", "labels": ["value: invented"], "nearest_node": 1, "arguments": {"x": "value"}}
    ]


def test_stored_labels_are_checked_and_trusted_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names are judged from the steps; rows that say otherwise are listed."""
    path = saved(
        tmp_path / "runs.jsonl",
        row(2, predict_label="error", predict_is_optimal="False"),
        row(8, predict_label="correct", predict_is_optimal="True"),
        row(9, predict_label="graph generate timeout."),
    )
    found = scored(capsys, path)
    assert found["relabelled"] == ["d2, mission 1"]
    assert found["scorers"]["compat"]["SR"]["value"] == pytest.approx(2 / 3)
    trusted = scored(capsys, path, "--trust-labels")
    assert trusted["scorers"]["compat"]["SR"]["value"] == pytest.approx(1 / 3)
    assert trusted["scorers"]["strict"]["SR"]["value"] == pytest.approx(2 / 3)


def test_the_two_published_exceptions_are_made_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run without its end counts as right; time-outs, empty ends and refusals are left out."""
    gold = graph("f g(0)")
    refusal = {"step": 0, "tool_calls": [{"name": "filter_by_prompt", "arguments": {}}]}
    path = saved(
        tmp_path / "runs.jsonl",
        row(2),
        result_row("short", 0, "m", gold, said(gold, "f, g"), predict_label="error"),
        row(3, predict_label="graph generate timeout."),
        row(4, predict_result=[{"step": 0, "content": " "}]),
        row(5, predict_result=[refusal]),
    )
    plain = scored(capsys, path)["scorers"]["compat"]["SR"]
    assert (plain["value"], plain["n"]) == (pytest.approx(1 / 5), 5)
    relabelled = scored(capsys, path, "--published-exceptions", "relabel")["scorers"]
    assert relabelled["compat"]["SR"]["value"] == pytest.approx(2 / 5)
    assert relabelled["strict"]["SR"]["value"] == pytest.approx(1 / 5)
    fewer = scored(capsys, path, "--published-exceptions", "leave-out")["scorers"]["compat"]["SR"]
    assert (fewer["value"], fewer["n"]) == (0.5, 2)


def test_a_stored_label_that_cannot_be_is_not_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Correct, though a name is called that the gold lacks: no verdict, and a reason."""
    path = saved(tmp_path / "runs.jsonl", row(2), row(6, predict_label="correct"))
    found = scored(capsys, path, "--trust-labels")
    assert found["scorers"]["compat"]["SR"]["n"] == 1
    assert [each["dialogue"] for each in found["unscored"]] == ["d6"]


def test_positions_patterns_and_relations_come_from_the_rows(tmp_path: Path) -> None:
    """A row may name its own action type, or those of all missions; later missions have a relation."""
    gold = graph("f")
    run = said(gold, "f, text")
    path = saved(
        tmp_path / "runs.jsonl",
        result_row("a", 0, "单", gold, run, turn_type="假", turn_subtypes=[]),
        result_row("a", 1, "多", gold, run, turn_type="真", turn_subtypes="长期记忆"),
        result_row(
            "b",
            2,
            "反拒单",
            gold,
            run,
            turn_type=[False, True, True],
            turn_subtypes=["省略成分", "指代理解"],
        ),
        result_row("c", 1, "s", gold, run),
    )
    first, second, third, alone = read_results(path).found
    assert (first.pattern, first.relation) == ((Letter.SINGLE,), None)
    assert (second.pattern, second.relation) == (
        (Letter.SINGLE, Letter.MULTI),
        Relation.LONG_MEMORY,
    )
    assert third.pattern == (Letter.CLARIFY, Letter.CHAT, Letter.SINGLE)
    assert (third.letter, third.relation, third.switches) == (Letter.SINGLE, Relation.REFERENCE, 2)
    assert (alone.pattern, alone.switches) == (None, None)


def test_a_row_that_stands_twice_counts_once(tmp_path: Path) -> None:
    """The first; another mission of the same name is an error."""
    path = saved(tmp_path / "runs.jsonl", row(2), row(2, predict_result=[]), row(2, task="other"))
    found = read_results(path)
    assert len(found.found) == 1
    assert found.found[0].steps
    assert "counted once" in found.warnings[0]
    assert "another mission has this id and idx" in str(found.problems[0])


def broken(change: Callable[[Row], object]) -> str:
    """A row after a change, as a line."""
    made = row(6)
    change(made)
    return json.dumps(made, ensure_ascii=False)


def needs(*lists: list[int]) -> Callable[[Row], None]:
    """Other dependencies of the first nodes."""

    def change(made: Row) -> None:
        for node, each in zip(made["answer_list"], lists, strict=False):
            node["dependency_list"] = each

    return change


BAD_LINES = {
    "cut": (broken(lambda made: None)[:200], "expected a JSON object"),
    "repr": (
        "{'id': 'x', 'idx': __import__('os').system('touch executed')}",
        "expected a JSON object",
    ),
    "list": ("[1]", "expected a JSON object, found list"),
    "number": ("NaN", "expected a JSON object"),
    "deep": ("[" * 100_000, "runs.jsonl:1"),
    "no gold": (broken(lambda made: made.pop("answer_list")), r"\(d6\).answer_list: "),
    "gold as repr": (
        broken(lambda made: made.update(answer_list=repr(made["answer_list"]))),
        r"\(d6\).answer_list: ",
    ),
    "cycle": (
        broken(needs([1], [0])),
        r"answer_list\[0\].dependency_list: nodes \[0, 1, 2, 3\] depend",
    ),
    "itself": (broken(needs([0])), r"answer_list\[0\].dependency_list: node 0 depends on itself"),
    "outside": (broken(needs([9])), "node 9, which is not there"),
    "unknown tool": (
        broken(lambda made: made["answer_list"][0]["action"].update(name="zz")),
        r"answer_list\[0\].action.name: the tool 'zz' is not in tools",
    ),
    "no end": (
        broken(lambda made: made["answer_list"].pop()),
        "the last node must be prepare_to_answer",
    ),
    "end beside a call": (
        broken(lambda made: made["answer_list"][-1].update(dependency_list=[0])),
        "ready together with node 1",
    ),
    "idx": (
        broken(lambda made: made["answer_list"][1].update(idx=7)),
        r"answer_list\[1\].idx: must be",
    ),
    "long": (
        broken(lambda made: made.update(task="x" * (LONGEST_TEXT + 1))),
        r"\(d6\).task: a text of",
    ),
    "ten megabytes": (
        broken(lambda made: made["answer_list"][0].update(observation="x" * 10_000_000)),
        r"\(d6\).answer_list: a text of 10,000,000 characters",
    ),
    "letter": (
        broken(lambda made: made.update(type="q")),
        r"\(d6\).type: unknown action types \['q'\]",
    ),
    "letters": (broken(lambda made: made.update(type="sm", idx=3)), "names 2 action types"),
    "relation": (
        broken(lambda made: made.update(turn_type=True, turn_subtypes="zz")),
        "turn_subtypes: unknown relation 'zz'",
    ),
    "relations": (
        broken(lambda made: made.update(turn_type=[False, True], turn_subtypes=["reference"] * 3)),
        "turn_subtypes: has 3 items",
    ),
    "truth": (
        broken(lambda made: made.update(turn_type="maybe")),
        "turn_type: expected true, false",
    ),
    "label": (
        broken(lambda made: made.update(predict_label="fine")),
        "predict_label: expected one of",
    ),
    "call": (
        broken(lambda made: made["predict_result"][0].update(tool_calls=[{"arguments": {}}])),
        r"predict_result\[0\].tool_calls\[0\]: expected a call with a name",
    ),
    "gold arguments": (
        broken(lambda made: made["answer_list"][0]["action"].update(arguments="{'x': 1}")),
        r"answer_list\[0\].action.arguments: expected an object",
    ),
    "two tools": (
        broken(lambda made: made["tools"].append(made["tools"][0])),
        "two tools have the name",
    ),
    "idx below": (broken(lambda made: made.update(idx=-1)), r"\(d6\).idx: "),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_and_the_rest_is_scored_only_if_asked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """File, line, id and field; nothing is executed."""
    monkeypatch.chdir(tmp_path)
    line, complaint = BAD_LINES[name]
    path = saved(Path("runs.jsonl"), line, row(2))
    assert main(["missions", "score", str(path)]) == 1
    told = capsys.readouterr().err
    assert "runs.jsonl:1" in told
    assert "--partial leaves such lines out" in told
    found = scored(capsys, path, "--partial")
    assert found["partial"]
    assert found["missions"] == 1
    (problem,) = found["unreadable"]
    assert pytest.RaisesExc(AssertionError, match=complaint).matches(AssertionError(problem)), (
        problem
    )
    assert not Path("executed").exists()


def compare_with_junk(path: Path, seeds: range) -> tuple[int, int]:
    """Read and judge rows with junk at random places; return rows that are scored and rows that are refused."""
    made = []
    for seed in seeds:
        random = Random(seed)
        prompt = [{"role": "user", "content": "At 12."}]
        sound = row(random.randrange(10), id=f"e{seed}", messages=prompt)
        made.append(json.dumps(spoilt(random, sound)))
    path.write_text("\n".join(made), encoding="utf-8")
    reading = read_results(path)
    verdicts = [judge(each) for each in reading.found]
    assert summary(verdicts)["missions"] == len(verdicts)
    return len(verdicts), len(reading.problems)


def test_junk_anywhere_is_a_complaint_or_a_verdict(tmp_path: Path) -> None:
    """Nothing else is raised, wherever it stands."""
    judged, refused = compare_with_junk(tmp_path / "runs.jsonl", range(500))
    assert judged > 100
    assert refused > 100


@pytest.mark.slow
def test_much_junk_anywhere_is_a_complaint_or_a_verdict(tmp_path: Path) -> None:
    """The same with ten thousand rows."""
    judged, refused = compare_with_junk(tmp_path / "runs.jsonl", range(1000, 11_000))
    assert judged > 1000
    assert refused > 1000


def test_a_file_without_a_mission_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither an empty table nor a zero."""
    assert main(["missions", "score", str(saved(tmp_path / "runs.jsonl", ""))]) == 1
    assert "holds no mission" in capsys.readouterr().err


def test_arguments_may_be_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Any JSON or text is a wrong call at most."""
    steps = [
        {"step": 0, "content": None, "tool_calls": [{"name": "f", "arguments": each}]}
        for each in (None, 3, "x", [], {"x": {"x": [None]}}, "\ud800")
    ]
    rows = [row(2, id=f"e{number}", predict_result=[step]) for number, step in enumerate(steps)]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = scored(capsys, path)
    assert found["scorers"]["strict"]["SR"] == pytest.approx(
        {"value": 0, "n": 6, "low": 0, "high": 0.4}, abs=0.05
    )
    assert found["scorers"]["compat"]["SR"]["n"] == 6


def test_the_two_histories_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C2 in one file, C3 in the other; repeats are further files."""
    gold = graph("f")

    def run(name: str, right: Callable[[int], bool]) -> Path:
        rows = [
            result_row(
                f"d{number}", 1, "ss", gold, said(gold, "f, text" if right(number) else "text")
            )
            for number in range(20)
        ]
        return saved(tmp_path / name, *rows)

    before = run("ua.jsonl", lambda number: number < 11)
    after = run("upta.jsonl", lambda number: number < 8 or number == 11)
    found = scored(capsys, before, "--trajectories", after)["trajectories"]["compat"]
    assert {key: found["all"][key] for key in ("RR", "RW", "WR", "WW", "VF", "mcnemar_p")} == {
        "RR": 8,
        "RW": 3,
        "WR": 1,
        "WW": 8,
        "VF": 0.2,
        "mcnemar_p": 0.625,
    }
    assert found["VF_null"] is None
    twice = scored(capsys, before, before, "--trajectories", after, after)["trajectories"]["strict"]
    assert (twice["VF_null"], twice["VF_excess"]) == (0, 0.2)
    assert main(["missions", "score", str(before), "--trajectories", str(after), str(after)]) == 1
    assert "name as many" in capsys.readouterr().err
    assert main(["missions", "score", str(before), "--trajectories", str(after)]) == 0
    assert "no null exists" in capsys.readouterr().out
