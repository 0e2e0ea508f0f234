"""The short document of several ablations."""

import json
import re
from pathlib import Path

import pytest

from asyncguard_benchmark.ablation.findings import write_findings
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.report.results import results
from tests.benchmark.builders_findings import findings


def test_every_agent_stands_in_every_table_that_speaks_of_it() -> None:
    """Two ablations are one document; the commands that repeat them come first."""
    one, other = findings("eager"), findings("confused")
    text = results([one, other])
    assert text.count(f"`{one.settings.command}`") >= 1
    for title in ("Guards by delay", "What each guard is worth (Shapley)", "Sham and A/A", "Four cells"):
        part = text.split(f"## {title}\n")[1].split("\n## ")[0]
        assert "| eager |" in part
        assert "| confused |" in part


def test_figures_are_those_of_the_findings() -> None:
    """Overall of every arm that is shown, with its difference and its verdict."""
    found = findings("eager")
    part = results([found]).split("## Guards by delay\n")[1].split("\n## ")[0]
    lines = {tuple(cell.strip() for cell in line.split("|")[1:3]): line for line in part.splitlines() if "|" in line}
    for study in found.studies:
        line = lines[(study.setup.agent, study.setup.regime)]
        for name in ("none", "all"):
            arm = study.arm(name)
            assert arm is not None
            assert arm.overall is not None
            assert f"| {arm.overall.value:.1f} |" in line
        effect = study.effect("all", "none")
        assert effect is not None
        assert f"{effect.difference.value:+.1f}" in line
        assert f"| {effect.harm.value} |" in line


def test_tables_are_whole() -> None:
    """Every line of a table has as many cells as its head."""
    for block in re.findall(r"(?:^\|.*\n)+", results([findings("eager")]), re.MULTILINE):
        widths = {line.count("|") for line in block.splitlines()}
        assert len(widths) == 1


def test_the_command_reads_folders_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what is wrong with a broken one."""
    (tmp_path / "run").mkdir()
    write_findings(findings("eager"), tmp_path / "run" / "findings.json")
    out = tmp_path / "RESULTS.md"
    assert main(["results", str(tmp_path / "run"), str(tmp_path / "run" / "findings.json"), "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == results([findings("eager")] * 2)
    capsys.readouterr()
    assert main(["results", str(tmp_path / "run"), "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(out)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert main(["results", str(tmp_path / "broken.json"), "--out", str(out)]) == 1
    assert "broken.json" in capsys.readouterr().err
