"""Dialogues in the official form, and the histories that missions are played with."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.suites.missions.dialogues import Dialogue, History, HistoryForm
from asyncguard_benchmark.suites.missions.official import (
    differing_counts,
    read_dialogues,
    without_role,
)
from asyncguard_benchmark.suites.missions.terms import Letter, Relation
from tests.benchmark.builders_missions import row, saved

Row = dict[str, Any]


def official(**fields: Any) -> Row:
    """A dialogue of two missions: a clarified call, and two independent calls."""

    def node(idx: int, name: str, arguments: Row, *needed: int, **more: Any) -> Row:
        return {
            "idx": idx,
            "action": {"name": name, "arguments": arguments},
            "observation": more.pop("observation", {"ok": name}),
            "dependency_list": list(needed),
            **more,
        }

    ask = "ask_user_for_required_parameters"
    made: Row = {
        "id": ["d", "1"],
        "task": ["Book a room.", "Ring both."],
        "task_ids": [0, 0],
        "messages": [
            {"role": "user", "content": "User: Book a room."},
            {"role": "assistant", "content": "AI: Which day?"},
            {"role": "user", "content": "12:30 on Monday."},
            {"role": "assistant", "content": "Booked."},
            "=====",
            {"role": "user", "content": "Ring both."},
            {"role": "assistant", "content": "Rung."},
            "==========",
        ],
        "answer_list": [
            [
                node(
                    0,
                    ask,
                    {"missing_required_parameters": ["x"]},
                    observation="Which day?",
                    user_input="Monday",
                ),
                node(1, "f", {"x": 1}, 0),
                node(2, "prepare_to_answer", {"answer_type": "tool"}, 1, observation="Booked."),
            ],
            [
                node(0, "f", {"x": 2}, observation=[1]),
                node(1, "g", {"x": 3}, observation="rings"),
                node(2, "prepare_to_answer", {"answer_type": "tool"}, 0, 1, observation="Rung."),
            ],
        ],
        "tools": row(2)["tools"],
        "type": "反多",
        "turn_type": [False, "真"],
        "turn_subtypes": ["省略成分"],
        "env_info": "当前时间\uff1a2024-05-01 10:00:00 星期三",
    }
    made |= {f"english_{name}": made[name] for name in ("task", "messages", "answer_list", "tools")}
    return {**made, **fields}


def dialogue(tmp_path: Path) -> Dialogue:
    """The dialogue, read back."""
    reading = read_dialogues(saved(tmp_path / "data.jsonl", official()))
    assert reading.problems == ()
    assert reading.warnings == ()
    return reading.found[0]


def test_a_dialogue_is_read(tmp_path: Path) -> None:
    """Id, letters, relations, times, subtypes."""
    found = dialogue(tmp_path)
    assert (found.id, found.pattern) == ("d1", (Letter.CLARIFY, Letter.MULTI))
    assert [each.relation for each in found.missions] == [None, Relation.ELLIPSIS]
    assert {each.time for each in found.missions} == {"2024-05-01 10:00:00"}
    assert [each.graph.subtype for each in found.missions] == [None, "P"]
    assert "missions: 2, published 1024" in differing_counts([found])


def test_the_short_history_is_what_was_said(tmp_path: Path) -> None:
    """Questions and replies too, without names of roles."""
    texts = [each["content"] for each in dialogue(tmp_path).prompt(1, History.UA)]
    assert texts == ["Book a room.", "Which day?", "12:30 on Monday.", "Booked.", "Ring both."]


def test_the_long_history_shows_one_optimal_path(tmp_path: Path) -> None:
    """Question, reply, call and result; for providers with ids, as published without."""
    found = dialogue(tmp_path)
    shown = found.prompt(1, History.UPTA)
    assert [each["role"] for each in shown] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert shown[2]["content"] == "Monday"
    assert shown[3]["tool_calls"][0]["id"] == shown[4]["tool_call_id"] == "h0_1"
    assert json.loads(shown[4]["content"]) == {"ok": "f"}
    published = found.prompt(1, History.UPTA, HistoryForm.PUBLISHED)
    assert "id" not in published[3]["tool_calls"][0]
    assert json.loads(published[4]["content"]) == [{"ok": "f"}]
    assert found.prompt(0, History.UPTA) == [{"role": "user", "content": "Book a room."}]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"english_task": ["one"]}, r"\(d1\).answer_list: has 2 missions, and task has 1"),
        ({"english_tools": []}, r"answer_list\[0\]\[1\].action.name: the tool 'f' is not in tools"),
        ({"type": "反"}, r"\.type: has 1 missions"),
        ({"type": "反x"}, "unknown action types"),
        ({"turn_subtypes": []}, "turn_subtypes: has 0 items"),
        ({"env_info": ["2024-05-01 10:00:00"]}, "env_info: has 1 items for 2"),
        ({"env_info": "Wednesday"}, "env_info: holds no time"),
        ({"task_ids": [1, 0]}, "must name a message of the user"),
        ({"english_task": ["Book a flat.", "Ring both."]}, "does not hold the text of its task"),
        ({"english_messages": 3}, "english_messages|messages"),
    ],
)
def test_what_is_wrong_with_a_dialogue_is_said(fields: Row, complaint: str, tmp_path: Path) -> None:
    """And the others are read."""
    path = saved(tmp_path / "data.jsonl", official(**fields), official(id="other"))
    found = read_dialogues(path)
    assert [each.id for each in found.found] == ["other"]
    told = list(map(str, found.problems))
    assert [each for each in told if "data.jsonl:1 (d1)" not in each] == []
    assert any(re.search(complaint, each) for each in told), told


def test_a_dialogue_without_english_fields_names_them(tmp_path: Path) -> None:
    """And can be read in Chinese."""
    made = official()
    del made["english_task"]
    path = saved(tmp_path / "data.jsonl", made)
    assert "english_task; --language zh" in str(read_dialogues(path).problems[0])
    assert len(read_dialogues(path, "zh").found) == 1


def test_a_table_of_cells_is_read_without_executing_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON, or Python's literals; a cell with code is an error."""
    monkeypatch.chdir(tmp_path)
    good = {
        name: repr(value) if name != "tools" else json.dumps(value)
        for name, value in official().items()
    }
    bad = {**good, "id": "bad", "task": "[__import__('os').system('touch executed')]"}
    with Path("data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, good.keys())
        writer.writeheader()
        writer.writerows([good, bad])
    found = read_dialogues(Path("data.csv"))
    assert [each.id for each in found.found] == ["d1"]
    assert "task: expected JSON or a Python literal" in str(found.problems[0])
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("User: hello", "hello"),
        ("AI Agent Assistant: a: b", "a: b"),
        ("用户\uff1a你好", "你好"),
        ("AI Agent助手\uff1a好", "好"),
        ("At 12:30", "At 12:30"),
        ("Note: hello", "Note: hello"),
    ],
)
def test_names_of_roles_are_cut(text: str, left: str) -> None:
    """Only these, and only at the beginning."""
    assert without_role(text) == left
