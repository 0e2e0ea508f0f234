"""A dialogue in the published form, written for these tests: a workshop that repairs instruments, loosely typed."""

import json
from pathlib import Path
from typing import Any

from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK

Row = dict[str, Any]


def node(idx: int, name: str, arguments: Row, *needed: int, **more: Any) -> Row:
    """A node of the gold."""
    return {
        "idx": idx,
        "action": {"name": name, "arguments": arguments},
        "observation": None,
        "dependency_list": list(needed),
        **more,
    }


def end(idx: int, text: str, *needed: int, kind: str = "tool") -> Row:
    """The last node of a mission."""
    return node(idx, ANSWER, {"answer_type": kind}, *needed, observation=text)


def said(*texts: str) -> list[Any]:
    """A block: user and assistant in turn."""
    roles = ("user", "assistant")
    return [
        *({"role": roles[n % 2], "content": text} for n, text in enumerate(texts)),
        "=====",
    ]


def tool(name: str, required: list[str], **types: Any) -> Row:
    """A function with arguments of some types."""
    properties = {each: {"type": kind, "description": each} for each, kind in types.items()}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} of the workshop",
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


TOOLS = [
    tool("find_order", ["customer"], customer="String"),
    tool("read_order", ["task_id"], task_id="int"),
    tool("quote", ["order", "hours"], order="UUID", hours="float|int", colour="enum[red, blue]"),
    tool("collect", ["order", "day"], order="complex_string", day="date", after="int"),
]
TASKS = [
    "Please look up the order of Ms Adeyemi.",
    "Read job 77 and quote 2.5 hours for what it is about.",
    "Let them fetch it.",
    "Thanks. Is a viola larger than a violin?",
]
ANSWERS: list[list[Row]] = [
    [
        node(0, "find_order", {"customer": "Ms Adeyemi"}, observation="order V-310, a viola"),
        end(1, "It is order V-310.", 0),
    ],
    [
        node(0, "read_order", {"task_id": 77}, observation={"order": {"id": "V-412"}}),
        node(1, "quote", {"order": "V-412", "hours": 2.5}, 0, observation=[90, None]),
        end(2, "Ninety.", 1),
    ],
    [
        node(
            0,
            ASK,
            {"tool_name": "collect", "missing_required_parameters": ["day"]},
            observation="On which day?",
            user_input="On the day after tomorrow.",
        ),
        node(
            1,
            "collect",
            {"order": "V-310", "day": "2026-02-12", "after": 77},
            0,
            observation="booked",
        ),
        end(2, "Done.", 1),
    ],
    [end(0, "Yes, it is.", kind="chat")],
]
MESSAGES = [
    *said(f"User: {TASKS[0]}", "AI: It is order V-310."),
    # The text before the message of the mission stands in the short history alone.
    *said("Good morning!", "Good morning.", TASKS[1], "Ninety."),
    *said(TASKS[2], "On which day?", "On the day after tomorrow.", "Done."),
    *said(TASKS[3], "Yes, it is."),
]


def workshop(**fields: Any) -> Row:
    """The dialogue, with its fields in both twins."""
    shared = {"task": TASKS, "messages": MESSAGES, "answer_list": ANSWERS, "tools": TOOLS}
    made: Row = {
        "id": "workshop",
        **shared,
        "task_ids": [0, 2, 0, 0],
        "type": ["单", "多", "反", "拒"],
        "turn_type": [False, True, True, True],
        "turn_subtypes": ["省略成分", "长期记忆", "指代理解"],
        "env_info": [
            f"环境\uff1a2026-02-10 {hour}:30:00 星期二" for hour in ("09", "10", "11", "12")
        ],
        **{f"english_{name}": value for name, value in shared.items()},
    }
    return {**json.loads(json.dumps(made)), **fields}


def saved_rows(path: Path, *rows: Row) -> Path:
    """The rows as JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path
