"""Exports: traces that viewers load, tables that hold every figure, and a command line that says what is wrong."""

import csv
import io
import json
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.commands.report import side_of
from asyncguard_benchmark.harness.ablation.findings import write_findings
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.report.chrome_trace import trace_of
from asyncguard_benchmark.harness.report.spreadsheet import COLUMNS, write_csv
from asyncguard_benchmark.harness.scoring.verdict import score
from tests.benchmark.builders_findings import findings
from tests.benchmark.pages import data_of, episodes


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    """A few episodes, without guards and with all."""
    return episodes()


@pytest.fixture
def saved(tmp_path: Path, played: list[Episode]) -> Path:
    """The same in a file."""
    path = tmp_path / "episodes.jsonl"
    with Journal(path) as journal:
        for each in played:
            journal.add(each)
    return path


def test_a_trace_has_what_viewers_ask_for(played: list[Episode]) -> None:
    """Phase, process and thread everywhere, times where something happens, and a name for every process and thread."""
    trace = json.loads(json.dumps(trace_of(played)))
    events = trace["traceEvents"]
    assert {each["ph"] for each in events} == {"M", "X", "i"}
    for each in events:
        assert isinstance(each["pid"], int)
        assert isinstance(each["tid"], int)
        assert each["name"]
        if each["ph"] == "X":
            assert each["ts"] >= 0
            assert each["dur"] >= 1
        if each["ph"] == "i":
            assert each["s"] == "t"
            assert each["ts"] >= 0
    named = {(each["pid"], each["tid"]) for each in events if each["name"] == "thread_name"}
    assert {(each["pid"], each["tid"]) for each in events if each["ph"] != "M"} <= named
    assert sum(each["name"] == "process_name" for each in events) == len(played)


def test_a_trace_tells_the_run(played: list[Episode]) -> None:
    """One slice for each call, as long as its result took; one instant for each verdict of a guard."""
    for episode in played:
        events = trace_of([episode])["traceEvents"]
        slices = [each for each in events if each["ph"] == "X"]
        assert [each["args"]["number"] for each in slices] == list(range(len(episode.trajectory)))
        for each, record in zip(slices, episode.trajectory, strict=True):
            assert each["ts"] == record.issued
            if record.delivered is not None:
                assert each["dur"] == max(1, record.delivered - record.issued)
        verdicts = [each for each in events if each["ph"] == "i"]
        assert len(verdicts) == len(episode.settings["interventions"])


def test_every_figure_is_in_the_csv(played: list[Episode]) -> None:
    """A line for each episode and each sub-task, with what the scorers say."""
    file = io.StringIO()
    assert write_csv(played, file) == len(played)
    lines = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert tuple(lines[0]) == COLUMNS
    wholes = [line for line in lines if line["line"] == "episode"]
    parts = [line for line in lines if line["line"] == "sub_task"]
    assert len(wholes) == len(played)
    assert len(parts) == sum(len(each.composition.sub_tasks) for each in played)
    for line, episode in zip(wholes, played, strict=True):
        judged = score(episode)
        assert line["solved"] == str(int(judged.overall))
        assert (line["rounds"], line["ticks"]) == (
            str(judged.counters.rounds),
            str(judged.counters.ticks),
        )
        assert line["interventions"] == str(len(episode.settings["interventions"]))
    verdicts = [verdict for episode in played for verdict in score(episode).sub_tasks]
    for line, verdict in zip(parts, verdicts, strict=True):
        assert (line["task"], line["solved"]) == (verdict.task_id, str(int(verdict.accurate)))
        assert bool(line["mistake"]) is bool(line["first_finding"]) is not verdict.accurate


@pytest.mark.parametrize(
    ("name", "beginning"), [("chrome-trace", "{"), ("csv", "line,"), ("markdown", "# ")]
)
def test_the_command_writes_each_form(
    saved: Path, tmp_path: Path, name: str, beginning: str
) -> None:
    """Into the folder that it is told, which need not be there."""
    out = tmp_path / "new" / "file"
    assert main(["export", str(saved), "--format", name, "--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith(beginning)


def test_compositions_are_chosen(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compositions are chosen by the beginning of their ids; without a match no file is written, or replaced."""
    out = tmp_path / "some.csv"
    asked = ["export", str(saved), "--format", "csv", "--out", str(out), "--json", "--compositions"]
    assert main([*asked, "fs-02"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 4
    before = out.read_bytes()
    assert main([*asked, "nothing"]) == 1
    assert "holds no episode of nothing" in capsys.readouterr().err
    assert out.read_bytes() == before
    out.unlink()
    assert main([*asked, "nothing"]) == 1
    assert list(tmp_path.iterdir()) == [saved]


READING = [
    "export FILE --format csv",
    "export FILE --format markdown",
    "export FILE --format chrome-trace",
    "report FILE",
    "report FOLDER",
    "report OTHER --against FOLDER",
    "report OTHER --episodes FILE",
    "run --agents eager --replay FILE",
    "replay OTHER FILE",
    "results --design FILE",
    "adapt nestful FILE --functions FOLDER",
    "inspect-logs OTHER FILE",
    "calibrate --fit --work FILE",
    "missions report FOLDER",
    "hazards report FILE",
]


@pytest.mark.parametrize(
    ("command", "form"),
    [(command, "hard link") for command in READING]
    + [(READING[0], form) for form in ("same", "path", "symlink")],
)
def test_a_command_never_writes_over_what_it_reads(
    saved: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    form: str,
) -> None:
    """Whatever name or link leads to it; episodes of a model are paid for."""
    other, out = tmp_path / "other" / "more.jsonl", tmp_path / "out.jsonl"
    other.parent.mkdir()
    other.write_bytes(saved.read_bytes())
    monkeypatch.chdir(tmp_path)
    match form:
        case "same":
            out = saved
        case "path":
            out = Path("other") / ".." / saved.name
        case "symlink":
            out.symlink_to(saved)
        case _:
            out.hardlink_to(saved)
    names = {"FILE": str(saved), "FOLDER": str(tmp_path), "OTHER": str(other)}
    before = saved.read_bytes()
    words = [names.get(word, word) for word in command.split()]
    assert main([*words, "--out", str(out)]) == 1
    assert "which it would replace" in capsys.readouterr().err
    assert saved.read_bytes() == before


def test_neither_page_of_a_report_replaces_what_it_reads(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page of `--view` has a name that the user did not write."""
    page = saved.rename(tmp_path / "a-view.html")
    findings_file = tmp_path / "findings.json"
    write_findings(findings(), findings_file)
    words = ["report", str(findings_file), "--episodes", str(page), "--view"]
    assert main([*words, "--out", str(tmp_path / "a.html")]) == 1
    assert "a-view.html" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [page, findings_file]


def test_an_export_that_fails_leaves_the_old_file(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of the new one."""
    out = tmp_path / "figures.csv"
    out.write_text("old")

    def failing(_: object, file: io.TextIOBase) -> int:
        file.write("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("asyncguard_benchmark.commands.export.write_csv", failing)
    assert main(["export", str(saved), "--format", "csv", "--out", str(out)]) == 1
    assert out.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [saved, out]


def test_a_full_disk_is_said_with_what_to_do(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number of an error of the system would not say that nothing is lost and the same command goes on."""
    assert main(["export", str(saved), "--format", "csv", "--out", "/dev/full"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(
        "asyncguard bench: No space is left (No space left on device): free some"
    )
    assert "give the same command again" in said


def test_an_unreadable_line_is_left_out_and_said(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are exported."""
    saved.write_bytes(saved.read_bytes() + b'{"half": ')
    assert main(["export", str(saved), "--format", "csv", "--out", str(tmp_path / "x.csv")]) == 0
    assert "left out" in capsys.readouterr().err


def test_the_report_takes_a_folder_a_file_of_findings_or_episodes(
    saved: Path, tmp_path: Path
) -> None:
    """Findings and episodes of a folder are put together; either is enough."""
    folder = tmp_path / "ablation"
    write_findings(findings(), folder / "findings.json")
    (folder / "episodes").mkdir()
    (folder / "episodes" / "eager.jsonl").write_bytes(saved.read_bytes())
    for number, (asked, runs, told) in enumerate(
        [
            (folder, 4, True),
            (folder / "findings.json", 0, True),
            (saved, 4, False),
            (saved.parent, 4, False),
        ]
    ):
        out = tmp_path / f"{number}.html"
        assert main(["report", str(asked), "--out", str(out)]) == 0
        text = out.read_text(encoding="utf-8")
        assert len(data_of(text)["runs"]) == runs
        assert ("Which guard does it" in text) is told


def test_two_runs_are_laid_beside_each_other(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has a chapter on both, and says how large it is."""
    out = tmp_path / "two.html"
    assert main(["report", str(saved), "--against", str(saved), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == out.stat().st_size
    assert "Flips between the runs" in out.read_text(encoding="utf-8")


def test_a_folder_without_anything_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what would be there."""
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "r.html")]) == 1
    assert "holds neither findings.json nor episodes" in capsys.readouterr().err


def test_an_episode_that_is_there_twice_is_exported_and_reported_once(
    saved: Path, played: list[Episode], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that were put together count as `bench score` counts them, and both commands say so."""
    saved.write_bytes(saved.read_bytes() * 2)
    table = tmp_path / "table.csv"
    assert main(["export", str(saved), "--format", "csv", "--out", str(table)]) == 0
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert sum(row["line"] == "episode" for row in rows) == len(played)
    assert f"{len(played)} lines say again" in capsys.readouterr().err
    page = tmp_path / "page.html"
    told = [str(saved), "--episodes", str(saved), "--out", str(page)]
    assert main(["report", *told]) == 0
    assert f"{3 * len(played)} lines say again" in capsys.readouterr().err
    assert side_of(saved, [saved]).observed.episodes == len(played)
    assert sum(row.summary.episodes for row in side_of(saved, [saved]).figures) == len(played)
