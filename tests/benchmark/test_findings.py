import json
from pathlib import Path

import pytest

from asyncguard_benchmark.harness.ablation.findings import (
    FindingsFormatError,
    findings_from_json,
    findings_to_json,
    read_findings,
    write_findings,
)
from tests.benchmark.builders_findings import findings


def test_round_trip() -> None:
    """Findings survive JSON, values that are None and mappings included."""
    whole = findings()

    assert findings_from_json(json.loads(json.dumps(findings_to_json(whole)))) == whole


def test_round_trip_through_a_file(tmp_path: Path) -> None:
    """Findings that are written to a file are read back unchanged."""
    write_findings(findings("serial"), tmp_path / "new" / "findings.json")

    assert read_findings(tmp_path / "new" / "findings.json") == findings("serial")


def test_another_version_is_refused() -> None:
    """The version is said before anything else is looked at."""
    with pytest.raises(FindingsFormatError, match="has format 99; this version reads 1"):
        findings_from_json({"format": 99})


def test_a_mistake_is_named_by_its_place() -> None:
    """A wrong value is named by where it stands."""
    value = findings_to_json(findings())
    value["studies"][1]["arms"][0]["overall"]["low"] = "much"

    with pytest.raises(FindingsFormatError, match=r"studies\.1\.arms\.0\.overall\.low"):
        findings_from_json(value)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"format": 1}'])
def test_no_findings(tmp_path: Path, text: str) -> None:
    """A file that holds something else is refused with its path."""
    path = tmp_path / "findings.json"
    path.write_text(text)

    with pytest.raises(FindingsFormatError, match=r"findings\.json"):
        read_findings(path)


def test_lookups() -> None:
    """Arms and effects are found by name; one that was not played is None."""
    study = findings().studies[0]

    assert study.arm("all") is study.arms[1]
    assert study.effect("all", "none") is study.effects[0]
    assert study.arm("nothing") is None
    assert study.effect("none", "all") is None
