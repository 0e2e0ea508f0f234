"""A small package of the form of bfcl-eval, made here: classes, documents and entries of our own."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncguard_benchmark.suites.bfcl.package import EXECUTORS
from asyncguard_benchmark.suites.bfcl.terms import CLASSES

VERSION = "2026.3.23"
QUESTIONS = "data/BFCL_v4_multi_turn_base.json"
TRUTHS = "data/possible_answer/BFCL_v4_multi_turn_base.json"

_EMPTY = """\
class {name}:
    def _load_scenario(self, scenario, long_context=False):
        pass
"""
_TICKETS = """\
class Note:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == other.text


class TicketAPI:
    def __init__(self):
        self.notes, self.count, self.title = [], 0, ""

    def _load_scenario(self, scenario, long_context=False):
        self.count = scenario.get("count", 7)

    def open_ticket(self, title: str, tags=[], urgent: bool = False):
        self.count += 1
        tags.append(title)
        self.notes.append(Note(title))
        return {"id": self.count, "tags": tags, "urgent": urgent}

    def read_ticket(self, id: int):
        if id > self.count:
            raise ValueError(f"no ticket {id + 0}")
        return {"id": id, "state": {"open": True}}

    def colours(self):
        return str({"red", "green", "blue", "violet", "yellow"})

    def leave(self):
        raise SystemExit(3)

    def dial(self):
        import socket

        return str(socket.create_connection(("127.0.0.1", 9)))
"""
_TRADES = """\
import random


class TradingBot:
    def _load_scenario(self, scenario, long_context=False):
        self.orders = {}
        self._random = random.Random(scenario.get("seed", 1))
        self._seen = 0

    def price(self, symbol: str):
        self._seen += 1
        return {"symbol": symbol, "price": 12.5}

    def order(self, symbol: str, price: float):
        number = self._random.randint(1000, 9999)
        self.orders[number] = (symbol, price)
        return {"order": number, "price": price * 2}

    def cancel(self, number: int):
        return {"cancelled": self.orders.pop(number, None) is not None}
"""
CODE = {"ticket_api": _TICKETS, "trading_bot": _TRADES}


def _document(name: str, required: Sequence[str], **properties: Any) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"The tool {name}.", "parameters": parameters}


_TEXT, _WHOLE = {"type": "string", "description": "A text."}, {"type": "integer"}
DOCUMENTS = {
    "ticket_api": [
        _document(
            "open_ticket",
            ["title"],
            title=_TEXT,
            tags={"type": "array", "items": {"type": "string"}, "default": []},
            urgent={"type": "boolean", "default": False},
        ),
        _document("read_ticket", ["id"], id=_WHOLE),
        _document("colours", []),
        _document("leave", []),
        _document("dial", []),
    ],
    "trading_bot": [
        _document("price", ["symbol"], symbol=_TEXT),
        _document("order", ["symbol", "price"], symbol=_TEXT, price={"type": "float"}),
        _document("cancel", ["number"], number=_WHOLE),
    ],
}


def entry(
    number: int,
    turns: Mapping[str, Sequence[str]],
    involved: Sequence[str] = ("TicketAPI", "TradingBot"),
    **config: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the question and the truth of an entry: request -> calls of its turn."""
    name = f"multi_turn_base_{number}"
    question = {
        "id": name,
        "question": [[{"role": "user", "content": said}] for said in turns],
        "initial_config": config,
        "involved_classes": list(involved),
    }
    return question, {"id": name, "ground_truth": [list(calls) for calls in turns.values()]}


ENTRIES = (
    entry(0, {"Open 'Leak' and look at it.": ["open_ticket('Leak')", "read_ticket(id=8)"]}),
    entry(
        1,
        {
            "What is ABC worth?": ["price(symbol='ABC')"],
            "Buy it at 10, and open a ticket 'Bought'.": [
                "order(symbol='ABC', price=10)",
                "open_ticket(title='Bought', urgent=False)",
            ],
            "Thanks.": [],
            "Open 'Again', too.": ["open_ticket(title='Again')"],
        },
        TicketAPI={"count": 20},
        TradingBot={"seed": 5},
    ),
    entry(
        2,
        {"Buy XY at 3.5, then look at the price of XY.": ["order('XY', 3.5)", "price('XY')"]},
        ["TradingBot"],
    ),
)


def files(
    entries: Sequence[tuple[dict[str, Any], dict[str, Any]]] = ENTRIES,
    changed: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return path below ``bfcl_eval/`` -> text, with some files replaced."""
    made = {
        QUESTIONS: "".join(json.dumps(question) + "\n" for question, _ in entries),
        TRUTHS: "".join(json.dumps(truth) + "\n" for _, truth in entries),
        f"{EXECUTORS}/long_context.py": "",
    }
    for each in CLASSES.values():
        code = CODE.get(each.module, _EMPTY.format(name=each.name))
        made[f"{EXECUTORS}/{each.module}.py"] = code
        documents = DOCUMENTS.get(each.module, [])
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        made[f"data/multi_turn_func_doc/{each.module}.json"] = lines
    return {**made, **(changed or {})}


def wheel(place: Path, content: Mapping[str, str] | None = None, version: str = VERSION) -> Path:
    """Write a wheel and return its path."""
    path = place / f"bfcl_eval-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (files() if content is None else content).items():
            archive.writestr(f"bfcl_eval/{name}", text)
        metadata = f"Metadata-Version: 2.1\nName: bfcl_eval\nVersion: {version}\n"
        archive.writestr(f"bfcl_eval-{version}.dist-info/METADATA", metadata)
    return path
