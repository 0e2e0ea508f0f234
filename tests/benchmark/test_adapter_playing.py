"""Tasks of the form of ToolBench-X, played by scripted models behind asyncguard, with guards and without."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from asyncguard import GuardConfig, Timing
from asyncguard.testing import ScriptedChatModel, Step, ToolSchema, calls
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.sandbox import SandboxLimits
from asyncguard_benchmark.harness.scoring.answers import AnswerKind, Ending
from asyncguard_benchmark.services.common_tools import REPORT, SUBMIT
from asyncguard_benchmark.suites.toolbench_x.download import Instance, Layout, read_download
from asyncguard_benchmark.suites.toolbench_x.play import (
    CannotPlayError,
    FaultSource,
    Front,
    Outcome,
    Playing,
    play,
)
from asyncguard_benchmark.suites.toolbench_x.scorer import ending_of, kind_of, summary

SAMPLE = Path(__file__).with_name("toolbench_x_sample")
AT_ONCE = Timing(retry_initial=0, retry_max=0, retry_jitter=0)
GUARDED = GuardConfig(timing=AT_ONCE)
UNGUARDED = GuardConfig.none(timing=AT_ONCE)
ALL = Playing(config=GUARDED)
NONE = Playing(arm="none", config=UNGUARDED)


def instance(workflow: str, folder: Path = SAMPLE) -> Instance:
    """The task of the sample with this workflow."""
    found = read_download(Layout.of(folder)).instances
    return next(each for each in found if each.task.workflow.value == workflow)


def naive(messages: Sequence[BaseMessage], tools: Sequence[ToolSchema]) -> Step:
    """Find the order, count its sheets, submit the result; report a problem at the first error."""
    last = messages[-1]
    if not isinstance(last, ToolMessage):
        return calls(("find_order", {"order_id": "P-204"}))
    text = str(last.content)
    if last.name in (SUBMIT, REPORT):
        return "Done."
    try:
        told = json.loads(text)
    except ValueError:
        return calls((REPORT, {"reason": text[:200]}))
    if last.name == "find_order":
        return calls(("count_sheets", {"pack": told["pack"], "packs": told["packs"]}))
    return calls((SUBMIT, {"answer": told["sheets"]}))


def played(
    playing: Playing, script: Any = naive, workflow: str = "sequential"
) -> tuple[Outcome, ScriptedChatModel]:
    """Return the outcome of a task of the sample, and its model."""
    model = ScriptedChatModel(script)
    return play(instance(workflow), model, playing), model


def heard(model: ScriptedChatModel) -> str:
    """All that the tools have told the model."""
    return "\n".join(
        str(each.content) for each in model.requests[-1].messages if isinstance(each, ToolMessage)
    )


@pytest.mark.parametrize("front", Front)
@pytest.mark.parametrize("playing", [ALL, NONE], ids=["all", "none"])
def test_a_clean_task_is_solved_with_guards_and_without(front: Front, playing: Playing) -> None:
    """With the same calls and the same turns; the tools really ran."""
    outcome, model = played(replace(playing, front=front))
    assert ending_of(outcome.said, outcome.problem, "3000") is Ending.SUCCESS
    assert (outcome.proposed, outcome.attempts, outcome.turns, outcome.sandbox) == (3, 2, 4, None)
    assert "count_sheets" in model.requests[0].tool_names
    assert model.requests[0].messages[-1].content == instance("sequential").task.prompt


@pytest.mark.parametrize("front", Front)
@pytest.mark.parametrize("faults", [FaultSource.OWN, FaultSource.RULE])
def test_guards_recover_from_what_a_naive_agent_gives_up_on(
    front: Front, faults: FaultSource
) -> None:
    """Two time-outs of a tool: one arm retries them, the other passes them on; nothing else differs."""
    recovered, _ = played(replace(ALL, front=front, faults=faults))
    assert (recovered.said, recovered.problem) == ("3000", None)
    # The faulty module of the sample breaks one of its tools, its profile applied from outside breaks both.
    assert (recovered.proposed, recovered.attempts) == (3, 4 if faults is FaultSource.OWN else 6)
    gave_up, _ = played(replace(NONE, front=front, faults=faults))
    assert gave_up.said is None
    assert "TimeoutError" in str(gave_up.problem)
    assert gave_up.attempts == 1


def test_the_rule_tells_what_fired_and_the_modules_own_faults_follow_the_seed() -> None:
    """Outside every firing is known; inside, the module gets the seed and the strict profile."""
    outside, _ = played(replace(ALL, faults=FaultSource.RULE))
    assert [(each.tool, each.slot, each.attempt, each.exception) for each in outside.fired] == [
        ("find_order", 0, 0, "TimeoutError"),
        ("find_order", 0, 1, "TimeoutError"),
        ("count_sheets", 1, 0, "TimeoutError"),
        ("count_sheets", 1, 1, "TimeoutError"),
    ]
    inside, _ = played(replace(NONE, faults=FaultSource.OWN, seed=41))
    assert "injected at find_order::before_tool_logic, seed 41" in str(inside.problem)
    assert inside.fired == ()


def test_a_module_without_profiles_gets_the_published_default(tmp_path: Path) -> None:
    """The default is set before the module is loaded, and the result says so."""
    own, _ = played(replace(ALL, faults=FaultSource.OWN))
    outside, _ = played(replace(ALL, faults=FaultSource.RULE))
    assert (own.profiled, outside.profiled) == (True, None)
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    (path,) = copy.glob("tools_exception/sequential/*/*/*/task_1.py")
    text = path.read_text().replace("set_injection_config", "other_name")
    path.write_text(
        text.replace(
            "return payload\n", "raise RuntimeError(str(_CONFIG['before_external_call']))\n"
        )
    )
    outcome = play(
        instance("sequential", copy),
        ScriptedChatModel(naive),
        replace(NONE, faults=FaultSource.OWN),
    )
    assert outcome.profiled is False
    assert "'probability': 0.5, 'max_times': 1, 'exception_type': 'TimeoutError'" in str(
        outcome.problem
    )


def test_a_hint_comes_with_a_failure_and_changes_no_fault() -> None:
    """The same faults fire with hints and without; a clean run shows no hint."""
    with_hint, model = played(replace(NONE, faults=FaultSource.RULE, hints=True))
    without, plain = played(replace(NONE, faults=FaultSource.RULE))
    assert with_hint.fired == without.fired
    assert "Hint: The order service is slow" in heard(model)
    assert "Hint" not in heard(plain)
    _, clean = played(replace(NONE, hints=True))
    assert "Hint" not in heard(clean)


def test_a_hint_comes_beside_an_answer_that_has_drifted() -> None:
    """Both tools at once; the one whose hint is known carries it, the answer stays what it was."""
    both = calls(("read_wing", {"room": "Birch"}), ("read_floor", {"room": "Birch"}))
    script = [both, calls((SUBMIT, {"answer": "North-2"})), "Done."]
    outcome, model = played(replace(NONE, faults=FaultSource.RULE, hints=True), script, "parallel")
    told = {
        str(each.name): str(each.content)
        for each in model.requests[1].messages
        if isinstance(each, ToolMessage)
    }
    assert '"wing": "Result: North"' in told["read_wing"]
    assert "take the label away" in told["read_wing"]
    assert "recovery_hint" not in told["read_floor"]
    assert sorted(each.tool for each in outcome.fired) == ["read_floor", "read_wing"]
    assert outcome.said == "North-2"


def test_a_call_that_nothing_struck_carries_no_hint() -> None:
    """A request that is repeated after its fault gets the right answer without a hint."""
    wing = calls(("read_wing", {"room": "Birch"}))
    _, model = played(
        replace(NONE, faults=FaultSource.RULE, hints=True), [wing, wing, "Done."], "parallel"
    )
    first, second = (
        str(each.content) for each in model.requests[2].messages if isinstance(each, ToolMessage)
    )
    assert "recovery_hint" in first
    assert "recovery_hint" not in second
    assert '"wing": "North"' in second


def test_a_task_is_closed_once() -> None:
    """An answer that is submitted after the first one is refused, and the first one stands."""
    twice = [calls((SUBMIT, {"answer": "1"})), calls((SUBMIT, {"answer": "3000"})), "Done."]
    outcome, model = played(NONE, twice)
    assert outcome.said == "1"
    assert "closed already" in heard(model)


def test_an_agent_that_never_ends_is_stopped() -> None:
    """An agent is stopped after its limit of messages; its task is unfinished without an answer."""
    outcome, _ = played(
        replace(NONE, rounds=3), lambda *_: calls(("find_order", {"order_id": "P-204"}))
    )
    assert (outcome.turns, outcome.reason) == (3, "max_model_turns")
    assert ending_of(outcome.said, outcome.problem, "3000") is Ending.UNFINISHED


def test_an_episode_whose_sandbox_ended_is_marked_and_left_out(tmp_path: Path) -> None:
    """A tool that never answers is not the agent's fault, so that no figure counts the episode."""
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    module = copy / "tools/sequential/Office_Supplies/Paper_orders/task_1.py"
    module.write_text(re.sub(r"    known = .*", "    while True: pass", module.read_text()))
    playing = replace(NONE, limits=SandboxLimits(seconds=0.2))
    outcome = play(instance("sequential", copy), ScriptedChatModel(naive), playing)
    assert "find_order took longer than 0.2 s" in str(outcome.sandbox)
    common = {
        "model": "m",
        "front": "graph",
        "arm": "none",
        "faults": "none",
        "hints": False,
        "declared": True,
    }
    figures = {"exact": False, "attempts": 1, "fired": []}
    rows = [{**common, **figures, "ending": "honest_failure", "sandbox": outcome.sandbox}]
    (left,) = summary(rows)
    assert (left["episodes"], left["left_out"], left["success_rate"], left["honest_failure"]) == (
        0,
        1,
        None,
        0,
    )


def test_faults_that_a_download_lacks_are_refused(tmp_path: Path) -> None:
    """A missing fault is refused before anything runs, with the reason."""
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    shutil.rmtree(copy / "tools_exception")
    with pytest.raises(CannotPlayError, match="no readable module with faults"):
        play(
            instance("sequential", copy),
            ScriptedChatModel(naive),
            replace(NONE, faults=FaultSource.OWN),
        )


def test_a_tool_that_is_named_as_ours_is_refused() -> None:
    """The agent could not tell the two apart."""
    task = instance("sequential")
    taken = replace(task, task=replace(task.task, tools=(*task.task.tools, SUBMIT)))
    with pytest.raises(CannotPlayError, match="a tool of its own named submit_answer"):
        play(taken, ScriptedChatModel(naive), NONE)


@pytest.mark.parametrize(
    ("said", "problem", "answer", "ending"),
    [
        ("3000.0", None, "3000", Ending.SUCCESS),
        ("3000 sheets", None, "3000", Ending.WRONG_ANSWER),
        ("north-2", None, "North-2", Ending.SUCCESS),
        ("2026-05-04", None, "2026-05-04", Ending.SUCCESS),
        ("42.180", None, "42.18", Ending.SUCCESS),
        (None, "it is down", "3000", Ending.HONEST_FAILURE),
        (None, None, "3000", Ending.UNFINISHED),
    ],
)
def test_answers_are_scored_by_what_they_mean(
    said: str | None, problem: str | None, answer: str, ending: Ending
) -> None:
    """Answers are compared as numbers, dates, codes or words; further text makes them wrong."""
    assert ending_of(said, problem, answer) is ending


def test_kinds_of_answers() -> None:
    """The kind of an answer follows from the canonical answer."""
    kinds = [
        kind_of(each) for each in ("-12.5", "2026-05-04", "electric_car", "P-204", "3000 sheets")
    ]
    assert kinds == [
        AnswerKind.NUMBER,
        AnswerKind.DATE,
        AnswerKind.ENUM,
        AnswerKind.CODE,
        AnswerKind.CODE,
    ]


def test_the_command_plays_saves_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two arms over one task; a second run plays nothing and says the same figures."""
    monkeypatch.setattr(ModelSpec, "client", lambda _: ScriptedChatModel(naive))
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    fault = {"tool": "find_order", "failpoint": "before_return", "probability": 1.0, "max_times": 1}
    manifest = json.loads((copy / "hazard_manifest.json").read_text())
    manifest["items"][0]["faults"] = [{**fault, "exception_type": "ConnectionError"}]
    (copy / "hazard_manifest.json").write_text(json.dumps(manifest))
    out = tmp_path / "rows.jsonl"
    command = [
        "adapt",
        "toolbench-x",
        str(copy),
        "--run-foreign-code",
        "--model",
        "openai:scripted",
    ]
    command += ["--tasks", "sequential/", "--faults", "rule", "--out", str(out), "--json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    rows = sorted(
        (json.loads(line) for line in out.read_text().splitlines()), key=lambda row: row["exact"]
    )
    assert [(row["arm"], row["ending"], row["exact"]) for row in rows] == [
        ("none", "honest_failure", False),
        ("all", "success", True),
    ]
    assert rows[1]["task"] == "sequential/Office_Supplies/Paper_orders/task_1"
    assert (rows[1]["hazard"], rows[1]["workflow"], rows[1]["said"]) == (
        "execution",
        "sequential",
        "3000",
    )
    assert [each["failpoint"] for each in rows[1]["fired"]] == ["before_return"]
    assert rows[1]["settings"]["config"]["retry"] is True
    assert rows[1]["usage"]["calls"] == rows[1]["model_turns"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert len(out.read_text().splitlines()) == 2
    assert {each["arm"]: each["success_rate"] for each in first["conditions"]} == {
        "none": 0.0,
        "all": 1.0,
    }


def test_what_the_infrastructure_ends_is_told_and_not_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that cannot be asked, a module that cannot be loaded: exit code 1, and the next run plays them."""
    monkeypatch.setattr(ModelSpec, "client", lambda _: ScriptedChatModel([OSError("no route")]))
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    module = copy / "tools/parallel/Office_Supplies/Room_labels/task_1.py"
    module.write_text("import a_module_that_nobody_has\n" + module.read_text())
    out = tmp_path / "rows.jsonl"
    command = [
        "adapt",
        "toolbench-x",
        str(copy),
        "--run-foreign-code",
        "--model",
        "openai:x",
        "--arms",
        "none",
    ]
    assert main([*command, "--out", str(out), "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"file": str(out), "failed": 2, "conditions": []}
    assert "OSError: no route" in printed.err
    assert "No module named 'a_module_that_nobody_has'" in printed.err
    assert not out.exists()


def test_a_spent_budget_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends before a request that could exceed the budget; finished episodes stay."""
    monkeypatch.setattr(ModelSpec, "client", lambda _: ScriptedChatModel(naive))
    prices, out = tmp_path / "prices.json", tmp_path / "rows.jsonl"
    prices.write_text('{"x": {"input": 1, "output": 1}}')
    command = [
        "adapt",
        "toolbench-x",
        str(SAMPLE),
        "--run-foreign-code",
        "--model",
        "openai:x",
        "--arms",
        "none",
    ]
    command += ["--tasks", "sequential/", "--prices", str(prices), "--out", str(out), "--json"]
    assert main([*command, "--max-cost", "1"]) == 0
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    spent = row["usage"]["dollars"]
    assert 0 < spent < 1
    assert main([*command, "--seed", "1", "--max-cost", str(spent)]) == 1
    assert "are spent" in capsys.readouterr().err
    assert len(out.read_text().splitlines()) == 1
    out.unlink()
    assert main([*command, "--max-cost", "0.00001"]) == 1
    assert "$0 of $0.000010 are spent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "name a model with --model"),
        (("--model", "openai:x"), "--run-foreign-code"),
        (("--model", "openai:x", "--dry-run"), "--max-cost"),
        (("--model", "openai:x", "--run-foreign-code", "--tasks", "nowhere/"), "no task in"),
        (("--model", "openai:x", "--run-foreign-code", "--arms", "sham"), "more than switches"),
        (("--check", "--temperature", "1"), "without --model"),
    ],
)
def test_command_lines_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    """The error for a contradictory command line says what to write instead."""
    assert (
        main(["adapt", "toolbench-x", str(SAMPLE), "--out", str(tmp_path / "o"), *arguments]) == 1
    )
    assert expected in capsys.readouterr().err


def test_a_broken_download_is_played_only_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Episodes are not added to a results file that holds something else."""
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "download"))
    (copy / "hazard_manifest.json").write_text("[]")
    out = tmp_path / "rows.jsonl"
    out.write_text('{"task": 1}\n')
    command = [
        "adapt",
        "toolbench-x",
        str(copy),
        "--run-foreign-code",
        "--model",
        "openai:x",
        "--out",
        str(out),
    ]
    assert main(command) == 1
    assert "1 parts of" in capsys.readouterr().err
    assert main([*command, "--partial"]) == 1
    assert "line 1: expected a row with" in capsys.readouterr().err
    out.write_text("3\n")
    assert main([*command, "--partial"]) == 1
    assert "line 1: expected a row with" in capsys.readouterr().err
    out.write_text('{"task"')
    assert main([*command, "--partial"]) == 1
    assert "Take the line away" in capsys.readouterr().err
