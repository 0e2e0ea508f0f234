"""``asyncguard bench`` as a person or a script uses it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main, output
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness import journal, json_lines
from asyncguard_benchmark.harness.arms import ARMS
from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.suites.asynctool.suite import AGENTS, PERSONA_NAMES
from tests.benchmark.builders import LITE

ROOT = Path(__file__).parents[2]
THREE = ",".join(each.id for each in LITE[:3])
RUN = (
    "run",
    "--agents",
    "eager",
    "--suite",
    "lite",
    "--compositions",
    THREE,
    "--no-messages",
    "--out",
)


def bench(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, without a network proxy or a terminal."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "benchmark")])
    code = (
        "import sys; from asyncguard_benchmark.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        timeout=300,
    )


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Return the output of the command with --json."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_log_gets_few_lines_of_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where lines cannot overwrite each other they come ever less often, and the last says that all is done."""
    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])

    def slow(seconds: float, number: int) -> Iterator[None]:
        for _ in range(number):
            now[0] += seconds
            yield None

    for seconds, number in ((7.0, 86), (0.5, 2000)):
        assert len(list(output.with_progress(slow(seconds, number), number))) == number
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) <= 30
        assert lines[-1].startswith(f"{number}/{number} episodes, ")
        # Not silent for long either: a line a minute.
        passed = [int(re.findall(r", (\d+) s, ", line)[0]) for line in lines]
        pauses = [later - earlier for earlier, later in zip([0, *passed], passed, strict=False)]
        assert max(pauses) <= 62 + seconds


def test_help_shows_examples_and_loads_nothing_heavy() -> None:
    """It answers before LangChain could be imported."""
    code = (
        "import sys; from asyncguard_benchmark.commands import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('langchain_core', 'langgraph', 'jsonschema', 'rich') if name in sys.modules])"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "benchmark")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "examples:" in done.stdout
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("command", ["demo", "list", "validate", "run", "score"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has --help and prints JSON."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "required: COMMAND"),
        (("dance",), "invalid choice: 'dance'"),
        (("run", "--agents", "genius"), "'genius': choose from oracle, serial, eager"),
        (("run", "--arms", ""), "'': choose from all, none"),
        (("run", "--distractor-rate", "2"), "'2' is not between 0 and 1"),
        (("run", "--seeds", "one"), "must be a list of whole numbers, not 'one'"),
        (("run", "--jobs", "0"), "must be a whole number of at least 1, not '0'"),
        (("run", "--jobs", "10000000000000000000"), "must be at most 1000, not '1"),
        (("run", "--workers", "1001"), "must be at most 1000, not '1001'"),
        (("ablate", "--resamples", "10000000000000000000"), "must be at most 1000000000, not '1"),
    ],
)
def test_a_wrong_command_line_is_explained(
    arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line of what was expected."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("score", "/dev/zero"),
        ("resume", "/dev/full"),
        ("compare", "/dev/zero", "/dev/zero"),
        ("export", "/dev/zero", "--format", "csv", "--out", "out.csv"),
        ("report", "/dev/zero"),
        ("replay", "/dev/zero"),
        ("run", "--replay", "/dev/zero"),
        ("run", "--agents", "eager", "--out", "/dev/full"),
        ("run", "--model", "openai:none", "--dry-run", "--prices", "/dev/zero"),
        ("results", "--dry-run", "--design", "/dev/zero"),
    ],
    ids=" ".join,
)
def test_what_has_no_end_is_not_read_until_the_memory_ends(
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A device that was given for a file is one clear line."""
    monkeypatch.chdir(tmp_path)
    for module, name in (
        (journal, "LONGEST_LINE"),
        (json_lines, "LONGEST_LINE"),
        (json_lines, "_LARGEST"),
    ):
        monkeypatch.setattr(module, name, 1000)
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.search(r"/dev/\w+.* (has more than 1,000 bytes|is a pipe or a device).*name", said), (
        said
    )


def test_a_line_without_an_end_is_passed_over_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines after one that is too long are read, unless it has no end."""
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 10)
    (tmp_path / "long.jsonl").write_text("1" * 50 + '\n{"a": 1}\n')
    found = [value for _, value in json_lines.read_lines(tmp_path / "long.jsonl")]
    assert isinstance(found[0], DataError)
    assert found[1:] == [{"a": 1}]
    found = [value for _, value in json_lines.read_lines(Path("/dev/zero"))]
    assert [type(each) for each in found] == [DataError]


@pytest.mark.parametrize(
    "words",
    [
        ("report", "pipe"),
        ("report", "episodes.jsonl", "--view", "--episodes", "pipe"),
        ("resume", "pipe"),
        ("run", "--agents", "eager", "--out", "pipe"),
    ],
    ids=" ".join,
)
def test_a_pipe_where_a_file_is_needed_is_refused(
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """As from `report <(...)`; it is not waited for, and the line says what to give."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.search("pipe:? is a pipe.*name", said), said


def test_lists_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """Every list in JSON, and one as a table."""
    found = answer(capsys, "list")
    assert {name: len(rows) for name, rows in found.items()} == {
        "suites": len(registry().suites),
        "sets": len(registry().sets),
        "tasks": 358,
        "compositions": 712,
        "agents": len(AGENTS) + len(PERSONA_NAMES) + len(registry().trained),
        "players": 3,
        "arms": len(ARMS),
    }
    assert main(["list", "arms"]) == 0
    assert "without-grounding" in capsys.readouterr().out
    assert main(["list", "agents"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("persona:")]
    assert len(lines) == len(PERSONA_NAMES)
    assert all("nothing of that model was run" in line for line in lines)


def test_calibration_tells_what_was_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Forecasts beside published figures and naive forecasts, and a claim for every model; the same in JSON."""
    assert main(["calibrate"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Claims about persona:MODEL, by the mean error of columns held out in turn" in said
    assert "a regression without any agent" in said
    assert "nothing of that model was run" in said
    found = answer(capsys, "calibrate")
    assert len(found["claims"]) == len(PERSONA_NAMES)
    assert {each["held_out"] for each in found["held_out"]} >= {"overall", "rounds", "model"}
    withdrawn = [each for each in found["claims"] if not each["scores_stand"]]
    assert all(each["points"] is None or each["points"] > 3 for each in withdrawn)


@pytest.mark.slow(seconds=36)
def test_the_shipped_data_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """The proof finds no problem, in words and in JSON."""
    found = answer(capsys, "validate", "--jobs", "1")
    assert found["problems"] == []
    assert found["compositions"] == {"main": 712, "four": 600, "lite": 120, "plain": 160}
    assert sum(found["tasks"].values()) == 358
    assert found["wild"] >= 80
    assert found["plain"] >= 120
    assert found["later_calls"].keys() == {"main", "wild", "plain"}
    later = sum(len(task.gold) - 1 for task in shipped_sub_tasks())
    assert sum(found["later_calls"]["main"].values()) == later


def test_a_category_is_proved_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """In words and in JSON; an unknown code is refused."""
    assert main(["validate", "--category", "NO,TP*"]) == 0
    assert "44 tasks and 13 of the wild split: no problems" in capsys.readouterr().out
    assert answer(capsys, "validate", "--category", "SC") == {
        "main": 18,
        "indirect": 6,
        "wild": 6,
        "problems": [],
    }
    with pytest.raises(SystemExit):
        main(["validate", "--category", "XX"])


def test_a_run_is_saved_scored_and_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process as a script would do it: what run prints, score finds again here; another run plays nothing."""
    file = tmp_path / "deep" / "episodes.jsonl"
    first = bench(*RUN, str(file), "--players", "plain,graph", "--jobs", "1", "--json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert (told["played"], told["known"]) == (9, 0)
    scored = answer(capsys, "score", str(file), "--json")
    assert not scored["partial"]
    for mine, theirs in zip(told["conditions"], scored["conditions"], strict=True):
        assert mine.pop("seconds") > 0
        assert theirs.pop("seconds") is None
        assert mine == theirs
    assert [
        (row["player"], row["arm"], row["overall"]["value"]) for row in scored["conditions"]
    ] == [
        ("plain", "none", 0.0),
        ("graph", "none", 0.0),
        ("graph", "all", 100.0),
    ]
    before = file.read_bytes()
    assert main([*RUN, str(file), "--players", "plain,graph", "--jobs", "1"]) == 0
    again = capsys.readouterr()
    assert "0 episodes added" in again.out
    assert "9 of 9 episodes are in" in again.err
    assert file.read_bytes() == before


def test_a_run_that_was_cut_off_is_repaired_with_a_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The repaired file holds the same episodes, and a notice is printed."""
    file = tmp_path / "episodes.jsonl"
    assert main([*RUN, str(file), "--jobs", "1"]) == 0
    whole = file.read_bytes()
    file.write_bytes(whole[:-1000])
    capsys.readouterr()
    assert main([*RUN, str(file), "--jobs", "1"]) == 0
    assert "was cut off after" in capsys.readouterr().err
    assert file.read_bytes() == whole


def broken_file(folder: Path) -> Path:
    """A file whose second episode, on line 5, has no trajectory, and whose last, on line 8, repeats the first."""
    file = folder / "episodes.jsonl"
    assert main([*RUN, str(file), "--jobs", "1", "--arms", "none"]) == 0
    lines = file.read_text(encoding="utf-8").splitlines()
    second = {name: part for name, part in json.loads(lines[4]).items() if name != "trajectory"}
    lines = [*lines[:4], json.dumps(second), *lines[5:7], lines[2]]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_malformed_file_is_not_scored_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names line and fault; a partial score says that it is one, and counts a repeated episode once."""
    file = broken_file(tmp_path)
    capsys.readouterr()
    assert main(["score", str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{file}:5: episode: lacks 'trajectory'" in said.err
    assert main(["score", str(file), "--partial", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["partial"]
    assert len(found["unreadable"]) == 1
    assert found["conditions"][0]["episodes"] == 2
    assert "this score is partial: 1 of 3" in said.err
    assert ":8: says what line 3 says; counted once" in said.err


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xff\xfe\n", b"[]\n", b"[" * 100_000, b'{"format": 2}\n']
)
def test_what_is_no_file_of_episodes_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file without episodes is refused in one line that names it, with exit code 1."""
    file = tmp_path / "odd.jsonl"
    file.write_bytes(content)
    assert main(["score", str(file)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert str(file) in said.err
    assert main(["score", str(tmp_path / "missing.jsonl")]) == 1
    assert "missing.jsonl'; `asyncguard bench run --out` writes" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "missing")]) == 1
    assert "missing'; `asyncguard bench ablate` makes one." in capsys.readouterr().err
    for command in (["score"], ["resume"], ["compare", str(file)]):
        assert main([*command, str(tmp_path)]) == 1
        assert f"{tmp_path} is a folder; name a file in it." in capsys.readouterr().err


def test_failures_are_explained_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An explanation names the argument, the expected value and the value that was found."""
    file = tmp_path / "episodes.jsonl"
    assert main([*RUN, str(file), "--jobs", "1", "--arms", "none"]) == 0
    capsys.readouterr()
    assert main(["score", str(file), "--explain"]) == 0
    assert re.search(
        r"differing_argument at \w+\.\w+: expected \S.*, found \S", capsys.readouterr().err
    )
    assert main(["score", str(file), "--explain", "--json"]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert any("differing_argument at " in each for each in json.loads(said.out)["findings"])


def test_a_value_that_cannot_be_compared_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No player lets a call with such arguments pass, but a file may hold one."""
    file = tmp_path / "episodes.jsonl"
    assert main([*RUN, str(file), "--jobs", "1", "--arms", "none", "--agents", "oracle"]) == 0
    deep = "[" * 500 + "]" * 500
    rest, made, calls = file.read_text().rpartition('"trajectory": ')
    calls = re.sub(r'"arguments": {"(\w+)": "[^"]*"', rf'"arguments": {{"\1": {deep}', calls)
    file.write_text(rest + made + calls)
    assert main(["score", str(file)]) == 1
    assert "nested too deeply to be compared" in capsys.readouterr().err


def test_a_binary_file_is_told_by_its_first_wrong_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not guessed to be UTF-16."""
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(b"\x00{\x00}\xff\n")
    assert main(["score", str(file)]) == 1
    assert "'utf-8' codec can't decode byte 0xff in position 4" in capsys.readouterr().err


def test_the_text_surface_allows_one_call_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user of an agent that makes several is told so."""
    batch = [*RUN, str(tmp_path / "x.jsonl"), "--jobs", "1", "--arms", "none", "--agents", "batch"]
    assert main(batch) == 0
    assert "batch: one call a message on the text surface" in capsys.readouterr().err
    assert main([*batch, "--surfaces", "native"]) == 0
    assert "one call a message" not in capsys.readouterr().err


def test_an_unknown_composition_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown composition is refused before anything is written."""
    file = tmp_path / "episodes.jsonl"
    assert main(["run", "--compositions", "S9", "--out", str(file)]) == 1
    assert "no composition of main has an id that begins with 'S9'" in capsys.readouterr().err
    assert not file.exists()
