"""Lines of played missions that are broken: named by file, line, id and field, and left out with --partial."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main

CODE = "__import__('os').system('touch pwned')"


@pytest.fixture(scope="module", params=["alone", "overlapping"])
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """A file of one dialogue, under two agents."""
    out = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    how = ["--overlap", "1"] if request.param == "overlapping" else ["--challenges", "all"]
    command = ["missions", "run", "--agents", "oracle,eager", "--players", "plain", "--jobs", "1"]
    assert main([*command, *how, "--arms", "none", "--patterns", "mcsc", "--out", str(out)]) == 0
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def score(path: Path, lines: list[Any], *words: str) -> int:
    """Score lines of a file."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    return main(["missions", "score", str(path), "--json", *words])


BREAKS: list[tuple[tuple[str, ...], Any]] = [
    (("run", "dialogue"), {}),
    (("run", "arm"), []),
    (("steps",), None),
    (("steps", "0"), CODE),
    (("calls", "0", "tool"), {"a": 1}),
    (("calls", "0", "pending_before"), 3),
    (("ticks",), CODE),
    (("notes",), []),
    (("notes", "interventions"), ["x"]),
    (("final_state_is_gold",), "y" * 10_000_000),
    (("dialogue_digest",), {"a": 1}),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("at", "value"), BREAKS, ids=["/".join(at) for at, _ in BREAKS])
def test_a_broken_row_is_named_and_left_out_with_partial(
    lines: list[Any], at: tuple[str, ...], value: Any, tmp_path: Path, capsys: Any
) -> None:
    """Nothing is scored without the option, nothing in a field is run, and the message is short."""
    broken = copy.deepcopy(lines)
    number = next(n for n, row in enumerate(broken) if row.get("calls"))
    place = broken[number]
    for each in at[:-1]:
        place = place[int(each) if isinstance(place, list) else each]
    place[int(at[-1]) if isinstance(place, list) else at[-1]] = value
    path = tmp_path / "runs.jsonl"
    assert score(path, broken) != 0
    told = capsys.readouterr()
    assert f"{path}:{number + 1}" in told.err
    if at[0] != "run":
        assert lines[number]["run"]["dialogue"] in told.err
    assert len(told.err) < 1000
    assert score(path, broken, "--partial") == 0
    told = capsys.readouterr()
    assert f"left out: {path}:{number + 1}" in told.err
    assert json.loads(told.out)["conditions"]
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("beside", []),
        ("beside", [True]),
        ("messages", [{}]),
        ("messages", ["====="]),
        ("task_ids", [99, 0, 0, 0]),
        ("type", ""),
        ("answer_list", CODE),
    ],
)
def test_a_broken_dialogue_is_named(
    lines: list[Any], field: str, value: Any, tmp_path: Path, capsys: Any
) -> None:
    """Its line is told, and with --partial its rows are told of, too, as nothing holds their gold."""
    broken = copy.deepcopy(lines)
    broken[0]["dialogue_of_missions"][field] = value
    path = tmp_path / "runs.jsonl"
    assert score(path, broken) != 0
    assert f"{path}:1" in capsys.readouterr().err
    assert score(path, broken, "--partial") != 0
    told = capsys.readouterr().err
    assert "no line before it holds the dialogue" in told
    assert "holds no played mission" in told
