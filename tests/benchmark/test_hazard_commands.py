"""``asyncguard bench hazards`` as a person or a script uses it."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.faults import Hazard
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.suites.hazards.chapter import hazard_chapters
from asyncguard_benchmark.suites.hazards.commands.options import (
    ARM_NAMES,
    GATHERINGS,
    HAZARDS,
    PARTS,
)
from asyncguard_benchmark.suites.hazards.findings import (
    HazardFindingsError,
    read_hazard_findings,
    write_hazard_findings,
)
from asyncguard_benchmark.suites.hazards.instances import Gathering, Part
from tests.benchmark.pages import episodes

FEW = ("--domains", "logistics", "--hazards", "output", "--severity", "1")
RUN = ("hazards", "run", *FEW, "--quick", "--no-messages", "--out")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Return the output of the command with --json."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "command", ["list", "validate", "run", "score", "ablate", "report", "outside"]
)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Help shows examples that can be typed as they stand."""
    with pytest.raises(SystemExit) as left:
        main(["hazards", command, "--help"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"asyncguard bench hazards {command}" in said
    assert "examples:" in said


def test_the_command_line_knows_what_there_is() -> None:
    """Names that are repeated there to keep help light are those of the values."""
    assert tuple(each.value for each in Hazard) == HAZARDS
    assert tuple(each.value for each in Gathering) == GATHERINGS
    assert tuple(each.value for each in Part) == PARTS
    assert {"none", "all", "hint-only", "scaling", "only-retry", "without-retry"} <= set(ARM_NAMES)


def test_a_wrong_choice_is_refused_with_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is played, and the message names the choices."""
    with pytest.raises(SystemExit):
        main(["hazards", "run", "--arms", "most"])
    assert "choose from none, all, only-retry" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["hazards", "run", "--seeds", "1-b"])
    assert "ranges, as in 0,1,5-9" in capsys.readouterr().err


def test_instances_are_listed_as_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Instances are listed by domain, hazard and severity, each with ways to survive it."""
    found = answer(capsys, "hazards", "list", *FEW)["instances"]
    assert found
    assert all(
        each["id"].startswith("lg-") and "~output." in each["id"] and each["witness"]
        for each in found
    )
    assert main(["hazards", "list", *FEW]) == 0
    assert "can be survived by" in capsys.readouterr().out


def test_nothing_to_play_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A choice that no instance fits says where to look."""
    out = str(tmp_path / "none.jsonl")
    assert (
        main(["hazards", "run", "--domains", "rail", "--parts", "development", "--out", out]) == 1
    )
    assert "bench hazards list" in capsys.readouterr().err


def test_episodes_of_another_suite_are_no_page_of_hazards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the file, and the command that makes a page of it."""
    file, page = tmp_path / "episodes.jsonl", tmp_path / "page.html"
    with Journal(file) as journal:
        journal.add(episodes()[0])
    assert main(["hazards", "report", str(file), "--out", str(page)]) == 1
    said = capsys.readouterr().err
    assert f"{file}: no episode of the hazard suite; `asyncguard bench report`" in said
    assert not page.exists()


def test_a_run_is_scored_resumed_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played once, scored from the file to the same figures, not played again, and shown on one page."""
    out, page = tmp_path / "few.jsonl", tmp_path / "few.html"
    ran = answer(capsys, *RUN, str(out))
    assert [arm["arm"] for arm in ran["studies"][0]["arms"]] == ["none", "all"]
    size = out.stat().st_size
    again = answer(capsys, *RUN, str(out))
    assert (again["studies"], out.stat().st_size) == (ran["studies"], size)
    scored = answer(capsys, "hazards", "score", str(out), "--failures", "none")
    assert scored["studies"] == ran["studies"]
    failed = ran["studies"][0]["arms"][0]["injected"]
    assert len(scored["failures"]) == round(
        failed["count"] * (1 - failed["success"]["value"] / 100)
    )
    assert (
        answer(capsys, "hazards", "report", str(out), "--out", str(page))["bytes"]
        == page.stat().st_size
    )
    assert "Success where tools let agents down" in page.read_text(encoding="utf-8")
    beside = ("hazards", "report", str(out), "--beside", str(out), "--out", str(page))
    assert answer(capsys, *beside)["bytes"] == page.stat().st_size
    text = page.read_text(encoding="utf-8")
    assert "<h2>Episodes</h2>" in text
    assert "Success where tools let agents down" in text
    assert main(["hazards", "score", str(out)]) == 0
    assert "false alarms" in capsys.readouterr().out


@pytest.mark.slow
def test_findings_are_saved_without_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An ablation of one instance under every arm writes what the report reads; a broken file says what to do."""
    folder = tmp_path / "ablation"
    few = ("--domains", "energy", "--hazards", "conflict", "--severity", "1", "--quick")
    answer(capsys, "hazards", "ablate", *few, "--out", str(folder))
    found = read_hazard_findings(folder / "hazards.json")
    assert [arm.arm for arm in found.studies[0].arms] == list(ARM_NAMES)
    copy = tmp_path / "copy.json"
    write_hazard_findings(found, copy)
    assert read_hazard_findings(copy) == found
    assert [chapter.id for chapter in hazard_chapters(found)] == [
        "hazards",
        "hazard-actions",
        "hazard-grid",
        "hazard-costs",
        "hazard-diagnosis",
    ]
    copy.write_text('{"format": 0}', encoding="utf-8")
    with pytest.raises(HazardFindingsError, match="this version reads 1"):
        read_hazard_findings(copy)


@pytest.mark.parametrize("gathering", ["benign", "effects", "company", "broken", "pairs"])
@pytest.mark.slow
def test_every_gathering_can_be_played_and_scored(
    gathering: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every gathering can be played without a runtime, too."""
    out = tmp_path / "gathering.jsonl"
    few = (
        "--domains",
        "clinic",
        "--quick",
        "--gathering",
        gathering,
        "--players",
        "plain,graph",
        "--arms",
        "all",
    )
    assert main(["hazards", "run", *few, "--no-messages", "--out", str(out)]) == 0
    assert capsys.readouterr().out
    assert all(line.episode is not None for line in read_lines(out))
