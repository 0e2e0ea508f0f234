"""Files that were tampered with run no code, steer no terminal, and give a clear error."""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.cli import main as command
from asyncguard_benchmark import shipped_compositions
from asyncguard_benchmark.commands import main as bench
from asyncguard_benchmark.commands.output import harmless
from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.campaign import Cell, Grid, play
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.registry import AgentSpec
from tests.observability.story import trip_file

STEERING = "\x1b[31m\x1b]0;owned\x07\r\x9b2J\u202e\x00"
"""Colors, a title, a bell, a return and an erasure in one byte: all that a terminal would obey."""
_FIXED = {
    "event",
    "outcome",
    "task_state",
    "end",
    "action",
    "verdict",
    "call_state",
    "guard",
    "aim",
    "hazard",
    "circuit",
}
_HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**400,
    1e308,
    STEERING,
    "\ud800",
    [],
    {},
    "[/bold]",
    ["a", 1],
    "../../x",
)


def _steered(value: Any, name: str = "") -> Any:
    """The value with names and texts that would steer a terminal."""
    if isinstance(value, str):
        return value if name in _FIXED else value + STEERING
    if isinstance(value, list):
        return [_steered(item) for item in value]
    if isinstance(value, dict):
        return {name: _steered(item, name) for name, item in value.items()} | {STEERING: STEERING}
    return value


def _calm(printed: Any) -> None:
    """Nothing but text and ends of lines was printed."""
    for text in printed:
        assert [char for char in text if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize(
    "options",
    [[], ["--events"], ["--json"], ["--task", "none"], ["--run", "none"], ["--width", "40"]],
    ids=" ".join,
)
def test_no_name_in_a_trace_steers_the_terminal(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names, ids, payloads, unknown events and unknown fields come out harmless, also in errors."""
    lines = [json.loads(line) for line in trip_file(tmp_path / "t.jsonl").read_text().splitlines()]
    hostile = [lines[0], *map(_steered, lines[1:]), {"event": f"strange{STEERING}"}]
    file = tmp_path / f"t{STEERING[:-1]}.jsonl"
    file.write_text("\n".join(map(json.dumps, hostile)) + "\n")
    assert command(["trace", str(file), *options]) == int("none" in options)
    printed = capsys.readouterr()
    _calm(printed)
    assert "owned" in "".join(printed)


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with something cut out, put in, turned over, or said twice."""
    for _ in range(chance.randint(1, 4)):
        place, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(5):
            case 0:
                data = data[:place] + chance.randbytes(chance.randint(1, 9)) + data[place:]
            case 1:
                data = data[:place] + data[min(end, place + 200) :]
            case 2:
                data = data[:end] + data[place:]
            case 3:
                data = data.replace(
                    chance.choice((b'"at"', b"1", b'"', b"{", b"false")),
                    chance.choice((b"2", b"[", b"")),
                    1,
                )
            case _:
                data = (
                    data[:place]
                    + chance.choice((b"\x1b[2J", b"\\u001b", b"NaN", b"1e999", b"\xff"))
                    + data[place:]
                )
    return data


@pytest.mark.parametrize(
    "seeds",
    [range(60), pytest.param(range(60, 4_000), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_damaged_traces_are_refused_in_a_sentence(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with 0 or 1 and prints text, whatever the bytes are."""
    whole, file = trip_file(tmp_path / "t.jsonl").read_bytes(), tmp_path / "damaged.jsonl"
    codes = set()
    for seed in seeds:
        chance = random.Random(seed)
        file.write_bytes(_damaged(whole, chance))
        codes.add(command(["trace", str(file), *chance.choice(([], ["--events"], ["--json"]))]))
        _calm(capsys.readouterr())
    assert codes == {0, 1}


def test_an_event_of_a_run_with_the_key_of_a_call_moves_no_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged line may have the fields of two events."""
    file = trip_file(tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    command(["trace", str(file)])
    whole = capsys.readouterr().out
    keyed = [
        row if row.get("event") != "run_ended" else {**row, "key": "k", "task": "a"} for row in rows
    ]
    assert keyed != rows
    file.write_text("".join(f"{json.dumps(row)}\n" for row in keyed), encoding="utf-8")
    assert command(["trace", str(file)]) == 0
    assert capsys.readouterr().out == whole


# -- the benchmark -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of episodes."""
    [cell] = _cells()
    file = tmp_path_factory.mktemp("bench") / "episodes.jsonl"
    with Journal(file) as journal:
        journal.add_command(["run", "--agents", "eager", "--suite", "lite"])
        journal.add(play(cell).episode)
    return file


def _cells() -> list[Cell]:
    agents = [AgentSpec(kind="eager")]
    return Grid(
        compositions=shipped_compositions()[:1], agents=agents, players=["plain"], arms=[NONE]
    ).cells()


def _commands(file: Path, folder: Path) -> Iterator[list[str]]:
    for options in ([], ["--partial"], ["--partial", "--explain"], ["--partial", "--json"]):
        yield ["score", str(file), *options]
    yield ["compare", str(file), str(file)]
    yield ["report", str(file), "--out", str(folder / "r.html")]
    yield ["export", str(file), "--out", str(folder / "r.csv"), "--format", "csv"]
    yield ["export", str(file), "--out", str(folder / "r.md"), "--format", "markdown"]
    yield ["resume", str(file)]


@pytest.mark.slow
def test_no_name_in_a_file_of_episodes_steers_the_terminal(
    episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agents, unreadable lines, the named command and markup do not steer the terminal."""
    first, *rest = map(json.loads, episodes.read_text(encoding="utf-8").splitlines())
    rest[-1] |= {"agent": f"eager{STEERING}[/bold]", "player": f"plain{STEERING}"}
    command_line = {"command": [*first["command"][:-1], f"lite{STEERING}"]}
    strange = [{STEERING: STEERING}, {"composition": {"id": STEERING}}, STEERING]
    file = tmp_path / f"e{STEERING[:-1]}.jsonl"
    file.write_text(
        "\n".join(map(json.dumps, [command_line, *rest, *strange])) + "\n", encoding="utf-8"
    )
    for arguments in _commands(file, tmp_path):
        assert bench(arguments) in (0, 1)
        printed = capsys.readouterr()
        _calm(printed)
        assert "owned" in "".join(printed) or arguments[0] in ("report", "export")


@pytest.mark.slow
def test_tampered_episodes_are_refused_in_a_sentence(
    episodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any value of any line replaced by a hostile one: every command ends with 0 or 1, and prints text."""
    lines = [json.loads(line) for line in episodes.read_text(encoding="utf-8").splitlines()]
    places = [(number, path) for number, line in enumerate(lines) for path in _paths(line) if path]
    file = tmp_path / "tampered.jsonl"
    for seed in range(400):
        chance = random.Random(seed)
        number, path = chance.choice(places)
        changed = [json.loads(json.dumps(line)) for line in lines]
        _put(changed[number], path, chance.choice(_HOSTILE))
        file.write_text("\n".join(map(json.dumps, changed)) + "\n", encoding="utf-8")
        for arguments in _commands(file, tmp_path):
            if arguments[0] != "resume":
                assert bench(arguments) in (0, 1), (seed, arguments)
                _calm(capsys.readouterr())


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:4])
        if isinstance(value, list)
        else ()
    )
    for name, item in items:
        yield from _paths(item, (*before, name))


def _put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    for name in path[:-1]:
        value = value[name]
    value[path[-1]] = new


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["run", "--agents", "crafted_agents:Evil"], "asks for --agents crafted_agents:Evil;"),
        (["run", "--model", "openai:x"], "asks for --model openai:x;"),
        (
            ["run", "--model", "openai:x", "--base-url", "http://evil.example/"],
            "--base-url http://evil.example/;",
        ),
        (["run", "--agents", "eager", "--replay", "/etc/passwd"], "asks for --replay /etc/passwd;"),
        (["run", "--agents", "eager", "--help"], "does not hold a command"),
        (["report", "--out", "x"], "does not hold a command"),
        (["run", "--agents", f"eager{STEERING}"], "does not hold a command"),
    ],
    ids=["code", "model", "address", "replay", "help", "another", "steering"],
)
def test_a_file_decides_neither_what_code_runs_nor_who_gets_a_key(
    asked: list[str],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Resuming a tampered file imports none of its code and sends nothing to its server."""
    (tmp_path / "crafted_agents.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "e.jsonl"
    file.write_text(json.dumps({"command": asked}) + "\n")
    assert bench(["resume", str(file)]) == 1
    printed = capsys.readouterr()
    _calm(printed)
    assert told in printed.err
    assert "crafted_agents" not in sys.modules


@pytest.mark.slow
def test_whoever_wrote_the_file_may_say_so(tmp_path: Path) -> None:
    """With the option, an agent of one's own is looked for as in the run itself."""
    (file := tmp_path / "e.jsonl").write_text(
        json.dumps({"command": ["run", "--agents", "no_such_module_here:Agent"]}) + "\n"
    )
    assert bench(["resume", "--trusted", str(file)]) == 1


@pytest.mark.slow
def test_half_a_character_does_not_end_a_campaign(tmp_path: Path) -> None:
    """An agent may write it; the episode is stored and read back as it was."""
    [cell] = _cells()
    played = play(cell).episode
    odd = replace(played, agent="eager \ud800")
    with Journal(tmp_path / "e.jsonl") as journal:
        journal.add(odd)
    assert [line.episode for line in read_lines(tmp_path / "e.jsonl")] == [odd]


def test_harmless_text_is_left_alone() -> None:
    """Letters of any script, ends of lines, and nothing that is not printed."""
    assert harmless("Grüße, 世界\n") == "Grüße, 世界\n"
    assert harmless(STEERING).isprintable()
