"""Blocks of the published design that are drawn from a package of another benchmark."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.ablation.design_file import check_frozen, read_design
from asyncguard_benchmark.harness.arms import ALL, NONE, SHAM
from asyncguard_benchmark.harness.scenario import Kind
from tests.benchmark.builders_bfcl import wheel
from tests.docs.markdown import ROOT

SHIPPED = ROOT / "benchmark" / "design-foreign.json"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ASYNCGUARD_BFCL_CODE", "")


def _design(folder: Path, **more: Any) -> tuple[Path, Path]:
    """Write a design with one block of a package of our own; return it and the package."""
    folder.mkdir(exist_ok=True)
    made = wheel(folder)
    whole = json.loads(SHIPPED.read_text(encoding="utf-8"))
    package = {
        **whole["blocks"][0]["package"],
        "sha256": hashlib.sha256(made.read_bytes()).hexdigest(),
        "compose": {"S2": 1, "C2": 2},
    }
    block = {**whole["blocks"][0], "every": 3, "package": package, **more}
    path = folder / "design.json"
    path.write_text(json.dumps({**whole, "blocks": [block]}), encoding="utf-8")
    if block["suite"] == whole["blocks"][0]["suite"]:
        assert main(["results", "--design", str(path), "--freeze"]) == 0
    return path, made


def _command(path: Path, *words: str) -> list[str]:
    folder = path.parent
    return [
        "results",
        *("--design", str(path), "--packages", str(folder), "--runs", str(folder / "runs")),
        *("--out", str(folder / "R.md"), "--jobs", "1", "--resamples", "20", *words),
    ]


def test_the_shipped_design_is_frozen_and_has_a_control() -> None:
    """Compositions are drawn from a file whose content is known; all guards are beside a sham."""
    design = read_design(SHIPPED)
    check_frozen(design, SHIPPED)
    for block in design.blocks:
        assert block.package is not None
        assert len(block.package.sha256) == 64
        assert block.package.compose.keys() == {Kind.S2, Kind.C2}
        assert {NONE, SHAM, ALL} <= set(block.arms)
    assert not list(design.designs())


@pytest.mark.slow
def test_compositions_of_a_package_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its code runs if the option says so; the second run plays nothing."""
    path, _ = _design(tmp_path / "runs of it")
    assert main(_command(path)) == 1
    assert "--run-foreign-code" in capsys.readouterr().err
    assert not (path.parent / "runs").exists()
    assert main(_command(path, "--run-foreign-code")) == 0
    assert "5 of 5 units are to be played" in capsys.readouterr().err
    text = (path.parent / "R.md").read_text(encoding="utf-8")
    assert "| tasks of BFCL, eager |" in text
    assert "eager, undeclared" in text
    assert main(_command(path, "--run-foreign-code")) == 0
    assert "0 of 5 units" in capsys.readouterr().err


def test_a_package_that_is_not_there_or_another_one_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is played, with the command that gets it."""
    path, made = _design(tmp_path)
    made.write_bytes(made.read_bytes() + b"x")
    assert main(_command(path, "--run-foreign-code")) == 1
    assert "is not the file that the design was made with" in capsys.readouterr().err
    made.unlink()
    assert main(_command(path, "--run-foreign-code")) == 1
    said = capsys.readouterr().err
    assert f"pip download --no-deps --dest {tmp_path} bfcl-eval==2026.3.23" in said
    assert not (tmp_path / "runs").exists()


def test_a_suite_without_packages_is_refused(tmp_path: Path) -> None:
    """Compositions of our own suites are sets."""
    path, _ = _design(tmp_path, suite="asynctool")
    with pytest.raises(DataError, match="'asynctool' reads no packages"):
        read_design(path)
