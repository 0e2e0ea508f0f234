"""The command that sweeps shares of guesses and shows the price of guards."""

import json
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main
from tests.benchmark.builders import LITE

ASKED = ("--suites", "lite,independent", "--every", "60", "--tools", "declared", "--jobs", "1")


def test_one_command_sweeps_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every rate under every arm for both sets, as a table, a page with curves, and a file that is gone on with."""
    command = ["sweep", *ASKED, "--rates", "0,1", "--batch-rates", ".5", "--out", str(tmp_path)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "independent" in said
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    for heading in (
        "Plausible guesses, lite",
        "Plausible guesses, independent",
        "Price of the guards",
    ):
        assert heading in report
    assert '<svg viewBox="0 0 330 200" class="curves"' in (tmp_path / "index.html").read_text()
    saved = (tmp_path / "lite.jsonl").read_bytes()
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (tmp_path / "lite.jsonl").read_bytes() == saved
    found = {
        (row["agent"], row["arm"], row["surface"]): row["overall"]["value"]
        for row in told["sets"]["lite"]
    }
    assert {agent for agent, _, _ in found} == {
        "eager",
        "eager,distractor_rate=1",
        "eager-batch,distractor_rate=0.5",
        "oracle",
        "parallel",
        "heeding",
        "batch",
    }
    assert all(
        value == 100
        for (agent, _, _), value in found.items()
        if agent in ("oracle", "parallel", "heeding", "batch")
    )
    assert found["eager", "all", "text"] == 100
    assert found["eager", "none", "text"] == 0
    assert ("batch", "all", "native") in found
    assert sum(row["episodes"] for row in told["sets"]["lite"]) == len(found) * len(LITE[::60])


@pytest.mark.slow
def test_the_rules_for_calls_of_one_message_stand_beside_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Undeclared: plausible guesses pass where siblings are left alone, and honest batches pay rounds where not."""
    command = [
        "sweep",
        "--suites",
        "independent",
        "--every",
        "14",
        "--tools",
        "undeclared",
        "--rates",
        "0",
    ]
    assert main([*command, "--batch-rates", "1", "--jobs", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    report = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    rows = [
        line.split("|")[1:-1] for line in report if "(" in line and "| fixed1 | graph |" in line
    ]
    found = {rule.strip(): (guesses, float(rounds)) for rule, _, _, guesses, _, rounds in rows}
    assert list(found) == ["declared", "once", "every"]
    assert float(found["declared"][0].split()[0]) < 50
    assert found["once"][0].strip().startswith("100.0 ")
    assert found["declared"][1] < found["once"][1] <= found["every"][1]


def test_a_wrong_rate_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """As `run` refuses it."""
    with pytest.raises(SystemExit):
        main(["sweep", "--rates", "0,7"])
    assert "'7' is not between 0 and 1" in capsys.readouterr().err
