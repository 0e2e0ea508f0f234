"""Two files of episodes are compared call by call: a changed fact fails, a changed text is listed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Regime
from compare_episodes import changed_words, main
from tests.benchmark.builders import LITE

Line = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode in which guards refuse guesses."""
    path = tmp_path_factory.mktemp("episodes") / "old.jsonl"
    eager = Condition(
        agent=AgentSpec(kind="eager"), player="graph", arm="all", regime=Regime.RANDOM12
    )
    episodes = [
        play(Cell(composition=composition, condition=eager)).episode for composition in LITE[:6]
    ]
    with Journal(path) as journal:
        journal.add(max(episodes, key=lambda each: len(each.settings["interventions"])))
    return path


def edited(saved: Path, folder: Path, edit: Callable[[Line], object]) -> Path:
    """A copy of the file with a change in its episode."""
    *rest, last = saved.read_text().splitlines()
    line = json.loads(last)
    edit(line)
    path = folder / "new.jsonl"
    path.write_text("\n".join([*rest, json.dumps(line)]) + "\n")
    return path


def reworded(line: Line) -> None:
    """Other words in the reasons that the agent was told."""
    for message in line["messages"]:
        message["content"] = message["content"].replace("Do not guess", "Guess nothing")


def silent_guard(line: Line) -> None:
    """An answer that was an error is one that asks to wait."""
    for message in line["messages"][2:]:
        message["content"] = message["content"].replace('\\"error\\"', '\\"wait\\"')


EDITS: dict[str, Callable[[Line], object]] = {
    "call": lambda line: line["trajectory"][1].update(arguments={"other": 1}),
    "time": lambda line: line["trajectory"][1].update(delivered=99),
    "response": lambda line: line["trajectory"][0].update(response="{}"),
    "verdict": lambda line: line["settings"]["interventions"][0].update(guard="conflict"),
    "counters": lambda line: line["counters"].update(ticks=99),
    "proposal": lambda line: line["messages"][2].update(
        content='{"id": "x", "func_name": "y", "params": {}}'
    ),
    "answer": silent_guard,
    "setting": lambda line: line["settings"].update(refused=1),
    "score": lambda line: line["trajectory"].pop(),
    "episode": lambda line: line.update(agent="another"),
}


def test_a_file_equals_itself(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing differs, and the counts say that calls and verdicts were compared."""
    assert main([str(saved), str(saved)]) == 0
    told = capsys.readouterr().out
    assert "No fact differs." in told
    assert " 0 calls proposed" not in told
    assert " 0 verdicts" not in told


@pytest.mark.parametrize("kind", EDITS)
def test_a_changed_fact_fails(
    kind: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kind of fact is compared: one that differs is named, and ends in exit code 1."""
    assert main([str(saved), str(edited(saved, tmp_path, EDITS[kind]))]) == 1
    assert f"\n{kind}: " in capsys.readouterr().out


def test_changed_texts_are_listed_and_do_not_fail(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other words of a reason are one pair, however often they were said."""
    assert main([str(saved), str(edited(saved, tmp_path, reworded))]) == 0
    told = capsys.readouterr().out
    assert "1 pairs of changed words" in told
    assert "- Do not guess:\n    + Guess nothing:" in told


def test_changed_words_leave_out_what_both_texts_have() -> None:
    """The common beginning and end are left out, also where one text is a part of the other."""
    assert changed_words("call it again now", "call it once more now") == ("again", "once more")
    assert changed_words("wait", "wait for a") == ("", "for a")
    assert changed_words("a a", "a a a") == ("", "a")


def test_a_file_that_cannot_be_compared_is_refused(saved: Path, tmp_path: Path) -> None:
    """A file without conversations, or a damaged one, is neither equal nor different; the script runs by its path."""
    silent = edited(saved, tmp_path, lambda line: line.update(messages=[]))
    done = subprocess.run(
        [sys.executable, "benchmark/compare_episodes.py", str(saved), str(silent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--no-messages" in done.stderr
