"""Dialogues of BFCL as missions: a value is asked for and told, tools run, and upstream's rules judge."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.suites.bfcl.package import EXECUTORS, read_package
from asyncguard_benchmark.suites.bfcl_missions.shelf import Entries
from asyncguard_benchmark.suites.bfcl_missions.variants import Variant, variant_of
from asyncguard_benchmark.suites.missions.gold_graph import bits
from asyncguard_benchmark.suites.missions.played_rows import PlayedRow, lost_in, read_played
from asyncguard_benchmark.suites.missions.terms import Letter
from tests.benchmark.builders_bfcl import (
    CODE,
    ENTRIES,
    QUESTIONS,
    TRUTHS,
    entry,
    files,
    wheel,
)

LACKING = (
    entry(
        0,
        {
            "Open a ticket and look at it.": [],
            "Call it 'Leak'.": list(ENTRIES[0][1]["ground_truth"][0]),
        },
    ),
    entry(
        2,
        {
            "What is ABC worth?": ["price('ABC')"],
            "Buy ABC.": [],
            "At 3.5, please.": ["order('ABC', 3.5)"],
        },
        ["TradingBot"],
    ),
    entry(3, {"Open 'End'.": ["open_ticket('End')"], "Order XY.": []}),
    entry(4, {"Thanks.": [], "Order.": [], "XY at 2.": ["order('XY', 2.0)"]}),
)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def package(place: Path, lines: Sequence[Any] = LACKING, **changed: str) -> Path:
    """Return a wheel with both variants."""
    base = [
        *ENTRIES[:1],
        entry(
            2,
            {"What is ABC worth?": ["price('ABC')"], "Buy ABC at 3.5.": ["order('ABC', 3.5)"]},
            ["TradingBot"],
        ),
    ]
    content = files(base, changed)
    for name, at in ((QUESTIONS, 0), (TRUTHS, 1)):
        text = "".join(json.dumps(each[at]) + "\n" for each in lines)
        content[name.replace("_base", "_miss_param")] = text.replace("_base_", "_miss_param_")
    return wheel(place, content)


def entries(path: Path) -> Entries:
    """Return both variants of a wheel."""
    code = read_package(path).code_digest
    return Entries(path=path, code=code, variants=(Variant.MISS_PARAM, Variant.BASE))


def run(path: Path, out: Path, *words: str) -> int:
    """Play into a file."""
    command = ["adapt", "bfcl-missions", str(path), "--run-foreign-code", "--out", str(out)]
    return main([*command, "--jobs", "1", *words])


def accepted(row: PlayedRow) -> bool:
    """Return True if upstream's rules accept a run."""
    said = row.value["upstream"]
    return bool(said["called"] and said["response"] and said["state"])


def test_a_turn_that_lacks_a_value_and_the_next_are_one_mission(tmp_path: Path) -> None:
    """The second is the reply; its calls come after the question, and its words name what is missing."""
    found = entries(package(tmp_path)).stands()["multi_turn_miss_param_2"].dialogue
    assert found.pattern == (Letter.SINGLE, Letter.CLARIFY)
    graph = found.missions[1].graph
    (ask,) = bits(graph.asks)
    assert graph.nodes[ask].reply == "At 3.5, please."
    assert graph.nodes[ask].arguments == {"missing_required_parameters": ["price"]}
    assert graph.nodes[ask + 1].arguments == {"symbol": "ABC", "price": 3.5}


def test_entries_without_one_question_are_left_out_by_name(tmp_path: Path) -> None:
    """One that ends with its question, and one with two empty turns; the others are there."""
    found = entries(package(tmp_path))
    told = " ".join(map(str, found.left_out()))
    assert "multi_turn_miss_param_3" in told
    assert "ends with the turn" in told
    assert "multi_turn_miss_param_4" in told
    assert "2 turns have no call" in told
    assert not found.problems()
    assert set(found.stands()) == {
        f"multi_turn_{kind}_{n}" for kind in ("base", "miss_param") for n in (0, 2)
    }


@pytest.mark.slow
@pytest.mark.parametrize("player", ["plain", "graph", "middleware"])
def test_the_oracle_asks_and_is_right_by_upstream(tmp_path: Path, player: str) -> None:
    """It asks where a value is missing and not beside it; all its missions are accepted, with guards too."""
    out = tmp_path / "runs.jsonl"
    words = [
        "--agents",
        "oracle",
        "--players",
        player,
        "--arms",
        "none,all",
        "--regimes",
        "sync,fixed1",
    ]
    assert run(package(tmp_path), out, *words) == 0
    rows = list(read_played(out))
    assert len(rows) == (8 if player == "plain" else 16)
    assert all(map(accepted, rows))
    asked = {(row.entry.letter is Letter.CLARIFY, row.entry.steps[0].is_text) for row in rows}
    assert asked == {(True, True), (False, False)}


def test_an_invented_value_is_wrong_and_provenance_mends_it(tmp_path: Path, capsys: Any) -> None:
    """Without guards the state is another; refused once, the agent asks and is accepted."""
    out = tmp_path / "runs.jsonl"
    words = ["--agents", "inventing", "--arms", "none,with-provenance", "--json"]
    assert run(package(tmp_path), out, *words) == 0
    said = json.loads(capsys.readouterr().out)["conditions"]
    found = {(each["arm"], each["turns"]): each for each in said}
    assert found["none", "lack a value"]["accepted"] == 0
    assert found["none", "lack a value"]["invented"] == 1
    assert found["with-provenance", "lack a value"]["accepted"] == 1
    assert found["with-provenance", "lack nothing"]["accepted"] == 1
    assert found["none", "lack nothing"]["asked_first"] == 0


def test_a_worker_that_ends_is_no_verdict_on_the_agent(tmp_path: Path) -> None:
    """A tool that kills its process ends the run as lost; it is in no figure."""
    code = CODE["trading_bot"]
    order = "number = self._random"
    assert code.count(order) == 1
    killing = f"(price == 3.5) or __import__('os')._exit(1)\n        {order}"
    changed = code.replace(order, killing)
    path = package(tmp_path, [LACKING[1]], **{f"{EXECUTORS}/trading_bot.py": changed})
    out = tmp_path / "runs.jsonl"
    words = ["--agents", "inventing", "--players", "plain", "--arms", "none"]
    assert run(path, out, *words) != 0
    (lost,) = lost_in(out)
    assert lost.dialogue == "multi_turn_miss_param_2"
    assert [row.key.dialogue for row in read_played(out)] == ["multi_turn_base_2"]


def test_an_entry_whose_truth_fails_is_left_out_by_name(tmp_path: Path) -> None:
    """A mission cannot be held against an error."""
    failing = entry(7, {"Look.": [], "At 99.": ["read_ticket(99)"]})
    found = entries(package(tmp_path, [*LACKING[:2], failing]))
    (told,) = map(str, found.left_out())
    assert told.startswith("multi_turn_miss_param_7: its ground truth fails: Error")
    assert "multi_turn_miss_param_0" in found.stands()


def test_foreign_code_runs_only_when_it_is_allowed(tmp_path: Path, capsys: Any) -> None:
    """Without the option nothing is unpacked or written, and the message names it."""
    command = ["adapt", "bfcl-missions", str(package(tmp_path)), "--agents", "oracle"]
    assert main([*command, "--out", str(tmp_path / "runs.jsonl")]) != 0
    assert "--run-foreign-code" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "multi_turn_miss_param_9", "question": [[', "line 1: expected a JSON object"),
        ('{"id": "multi_turn_miss_param_9"}', "line 1 (multi_turn_miss_param_9)"),
    ],
)
def test_a_broken_line_of_the_variant_is_named(
    tmp_path: Path, capsys: Any, line: str, told: str
) -> None:
    """File, line and id; with --partial the others are played."""
    content = files(ENTRIES[:1])
    question, truth = (json.dumps(each).replace("_base_", "_miss_param_") for each in LACKING[0])
    content[QUESTIONS.replace("_base", "_miss_param")] = f"{line}\n{question}\n"
    content[TRUTHS.replace("_base", "_miss_param")] = f"{truth}\n"
    path, out = wheel(tmp_path, content), tmp_path / "runs.jsonl"
    words = ["--agents", "oracle", "--players", "plain", "--arms", "none"]
    assert run(path, out, *words) != 0
    said = capsys.readouterr().err
    assert "BFCL_v4_multi_turn_miss_param.json" in said
    assert told in said
    assert not out.exists()
    assert run(path, out, *words, "--partial") == 0
    assert len(list(read_played(out))) == 2


def test_a_package_without_the_variant_says_so(tmp_path: Path, capsys: Any) -> None:
    """The missing file is named."""
    assert run(wheel(tmp_path), tmp_path / "runs.jsonl", "--agents", "oracle") != 0
    assert "multi_turn_miss_param.json" in capsys.readouterr().err


def test_the_variant_is_read_from_a_folder_too(tmp_path: Path) -> None:
    """An unpacked wheel, by its folder or by that of the package in it."""
    with zipfile.ZipFile(package(tmp_path)) as archive:
        archive.extractall(tmp_path / "there")
    for folder in (tmp_path / "there", tmp_path / "there" / "bfcl_eval"):
        found = variant_of(read_package(folder), Variant.MISS_PARAM)
        assert b"miss_param" in found.files[found.questions]
