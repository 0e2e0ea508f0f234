"""`bench report --view`: the report, and beside it every episode call by call."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.journal import Journal
from tests.benchmark.pages import data_of, episodes


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes of two agents, in two files, of which one is in both."""
    folder = tmp_path_factory.mktemp("played")
    saved = episodes(keep_messages=True)
    for name, part in (("one", saved[:5]), ("two", saved[4:])):
        with Journal(folder / f"{name}.jsonl") as journal:
            for episode in part:
                journal.add(episode)
    return folder


def view_index(path: Path) -> list[Any]:
    """The episodes that a page of `asyncguard view` lists."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    assert found is not None
    index: list[Any] = json.loads(found[1])["index"]
    return index


def test_every_link_of_the_report_leads_to_an_episode(played: Path, tmp_path: Path) -> None:
    """Each trajectory and each conversation names one; every episode is there once."""
    out = tmp_path / "report.html"
    assert main(["report", str(played), "--view", "--out", str(out)]) == 0
    for page in tmp_path.iterdir():  # what agents and services said is in them
        assert page.stat().st_mode & 0o077 == 0
    data = data_of(out.read_text())
    assert data["view"] == "report-view.html"
    index = [each[0] for each in view_index(tmp_path / "report-view.html")]
    assert len(index) == len(set(index)) == 8
    linked = [each["v"] for each in data["episodes"].values()]
    assert set(linked) == set(index)
    assert {talk["view"] for talk in data["talks"].values()} <= set(index)


def test_without_the_option_there_is_one_file(played: Path, tmp_path: Path) -> None:
    """It links to nothing outside of it."""
    out = tmp_path / "report.html"
    assert main(["report", str(played / "one.jsonl"), "--out", str(out)]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert data_of(out.read_text())["view"] == ""


def test_two_runs_have_no_view(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their episodes have the same names; asking for both is a usage error."""
    with pytest.raises(SystemExit) as caught:
        main(["report", str(played), "--view", "--against", str(played)])
    assert caught.value.code == 2
    assert "not allowed with" in capsys.readouterr().err
