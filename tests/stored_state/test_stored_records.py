"""Traces and results that an earlier release wrote are read as they were meant, and interrupted runs are played on."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard.cli import main
from tests.stored_state.agents import FRONT_ENDS
from tests.stored_state.records import ABLATION, HAZARD_ABLATION, TRACES
from tests.stored_state.stores import RELEASE, extract

STORED = RELEASE / "traces"


def holds(now: Any, then: Any) -> bool:
    """Tell whether all that was said then is said now; objects may have got more fields."""
    match then:
        case dict():
            return isinstance(now, dict) and all(
                name in now and holds(_as_many(name, now[name], then[name]), then[name])
                for name in then
            )
        case list():
            same = isinstance(now, list) and len(now) == len(then)
            return same and all(holds(one, other) for one, other in zip(now, then, strict=True))
        case _:
            return bool(now == then)


def _as_many(name: str, now: Any, then: Any) -> Any:
    """Return the budgets that were told then; more are told now."""
    if name != "budgets":
        return now
    factors = [each["factor"] for each in then]
    return [each for each in now if each["factor"] in factors]


@pytest.mark.parametrize("front", FRONT_ENDS)
@pytest.mark.parametrize("case", TRACES)
class TestTraces:
    """Files of `TraceFile`."""

    def test_a_trace_says_what_it_said(
        self, front: str, case: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A trace gives the stored JSON object, field for field."""
        assert main(["trace", str(STORED / f"{front}-{case}.jsonl"), "--json"]) == 0
        then = json.loads((STORED / f"{front}-{case}.said.json").read_text("utf-8"))
        assert holds(json.loads(capsys.readouterr().out), then)

    @pytest.mark.parametrize("options", [[], ["--events"]], ids=["timeline", "events"])
    def test_a_trace_is_drawn(
        self, front: str, case: str, options: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A trace is drawn as a timeline, and line by line."""
        assert main(["trace", str(STORED / f"{front}-{case}.jsonl"), "--no-color", *options]) == 0
        assert "#1" in capsys.readouterr().out


def test_a_line_that_lacks_what_every_release_wrote_is_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only fields that came later may be missing."""
    lines = (STORED / "graph-held.jsonl").read_text("utf-8").splitlines()
    started = {name: value for name, value in json.loads(lines[1]).items() if name != "epoch"}
    (tmp_path / "trace.jsonl").write_text(
        "\n".join([lines[0], json.dumps(started)]) + "\n", encoding="utf-8"
    )
    assert main(["trace", str(tmp_path / "trace.jsonl")]) == 1
    assert "line 2: run_started lacks a usable 'epoch'" in capsys.readouterr().err


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stored results, which is the current one."""
    extract(RELEASE / "results.tar.gz", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_intervals(said: Any) -> Any:
    """Return what was said without the ends of its intervals; values and counts stay."""
    match said:
        case dict():
            ends = {"low", "high"} if "value" in said else set[str]()
            return {name: without_intervals(said[name]) for name in said.keys() - ends}
        case list():
            return [without_intervals(each) for each in said]
    return said


def bench(*arguments: str) -> int:
    """Run a command of the benchmark."""
    return main(["bench", *arguments])


def episodes(file: Path) -> list[str]:
    """Return the lines of a file that are episodes."""
    return [line for line in file.read_text("utf-8").splitlines() if line.startswith('{"format"')]


@pytest.mark.slow
class TestResults:
    """Files and folders of `asyncguard bench`."""

    @pytest.mark.parametrize(
        ("command", "name"),
        [(["score"], "run"), (["hazards", "score"], "hazards")],
        ids=["run", "hazards"],
    )
    def test_stored_episodes_have_the_same_figures(
        self, results: Path, command: list[str], name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """They are executed again, and scored; only intervals count shared tasks now, as they did not then."""
        assert bench(*command, f"{name}.jsonl", "--json") == 0
        then = json.loads((results / f"{name}.said.json").read_text("utf-8"))
        then.get("settings", {}).pop("version", None)  # of the release that scores
        assert holds(json.loads(capsys.readouterr().out), without_intervals(then))

    def test_a_whole_run_is_left_as_it_is(
        self, results: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its arms are of the guards of then: those of now are not mixed with them, and what to do is said."""
        before = (results / "run.jsonl").read_bytes()
        assert bench("resume", "run.jsonl") == 1
        said = capsys.readouterr().err
        assert "run.jsonl was played under other guards" in said
        assert "arms: all, none" in said
        assert "--out" in said
        assert (results / "run.jsonl").read_bytes() == before

    def test_an_interrupted_run_is_played_on(
        self, results: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The line that was cut off is named, what was whole stays as it was; other guards go to another file."""
        kept = episodes(results / "interrupted.jsonl")[:-1]
        assert bench("resume", "interrupted.jsonl") == 1
        said = capsys.readouterr().err
        assert "was cut off after 900 bytes" in said
        assert "interrupted.jsonl was played under other guards" in said
        assert episodes(results / "interrupted.jsonl") == kept

    def test_a_run_that_replayed_a_file_says_what_it_needs(
        self, results: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """ffd2604 took the other file from this one's word; now the user has to name it, and is told how."""
        before = (results / "replayed.jsonl").read_bytes()
        assert bench("resume", "replayed.jsonl") == 1
        assert (
            "asyncguard bench resume replayed.jsonl --replay oracle.jsonl"
            in capsys.readouterr().err
        )
        assert (results / "replayed.jsonl").read_bytes() == before
        assert bench("resume", "replayed.jsonl", "--replay", "oracle.jsonl") == 1
        assert "replayed.jsonl was played under other guards" in capsys.readouterr().err
        # Without the line that was cut off.
        assert before.startswith((results / "replayed.jsonl").read_bytes())

    @pytest.mark.parametrize(
        "command",
        [["report", "ablation"], ["hazards", "report", "hazard-ablation"]],
        ids=["ablation", "hazards"],
    )
    def test_a_stored_ablation_is_reported(self, results: Path, command: list[str]) -> None:
        """A stored ablation is reported as a page."""
        assert bench(*command, "--out", "page.html") == 0
        assert "<html" in (results / "page.html").read_text("utf-8")

    def test_a_stored_ablation_is_written_as_a_document(self, results: Path) -> None:
        """A stored ablation is written as a document in Markdown."""
        assert bench("results", "ablation", "--out", "page.md") == 0
        assert "eager" in (results / "page.md").read_text("utf-8")

    def test_the_same_ablation_again_finds_the_same(self, results: Path) -> None:
        """Its design is the same; the episodes of the guards of then stay, those of now are played beside them."""
        (file,) = results.glob("ablation/episodes/*.jsonl")
        found = results / "ablation" / "findings.json"
        before, then = file.read_bytes(), json.loads(found.read_text("utf-8"))
        found.unlink()
        assert bench("ablate", *ABLATION) == 0
        assert file.read_bytes().startswith(before)
        assert json.loads(found.read_text("utf-8")).keys() >= then.keys()

    def test_the_same_ablation_of_hazards_wants_another_folder(
        self, results: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its one file is not mixed with episodes of other guards."""
        assert bench("hazards", "ablate", *HAZARD_ABLATION) == 1
        assert "was played under other guards" in capsys.readouterr().err
