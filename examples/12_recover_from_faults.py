"""Tools that fail or disagree: declare what may be asked instead, and read in the log what was seen and done.

Ten declared lines: what an answer looks like, a sibling, and two sources of the same fact. The shop's faults are
injected: asked for bolts it breaks down, and its price of nuts is an old one. The model is scripted; any real one takes
its place.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from asyncguard import Ports, TraceFile, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls

PRICE = {
    "type": "object",
    "properties": {"price": {"type": "number", "minimum": 1, "maximum": 500, "unit": "EUR"}},
    "required": ["price"],
}


@guarded(
    effect="pure",
    result_schema=PRICE,
    fallbacks=["ask_archive"],
    sources=["ask_archive", "ask_wholesaler"],
)
async def ask_shop(item: str) -> dict[str, float]:
    """Ask the shop for a price."""
    if item == "bolt":
        raise EOFError("the line is cut")
    return {"price": 9.9}


@guarded(effect="pure", result_schema=PRICE)
async def ask_archive(item: str) -> dict[str, float]:
    """Look up a price in the archive."""
    return {"price": 12.4 if item == "nut" else 3.1}


@guarded(effect="pure", result_schema=PRICE)
async def ask_wholesaler(item: str) -> dict[str, float]:
    """Ask the wholesaler for a price."""
    return {"price": 12.4 if item == "nut" else 3.1}


model = ScriptedChatModel(
    [
        calls(("ask_archive", {"item": "nut"})),
        calls(("ask_shop", {"item": "nut"}), ("ask_shop", {"item": "bolt"})),
        "A nut is 12.40 euros, which the shop alone denies, and a bolt 3.10 euros.",
    ]
)
CHAIN = {
    "call_diagnosed": ("symptom", "hazard", "rule"),
    "call_recovered": ("action",),
    "call_retired": ("outcome",),
}

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "run.jsonl"
    with TraceFile(path) as trace:
        agent = build_agent(
            model, [ask_shop, ask_archive, ask_wholesaler], ports=Ports(observers=[trace])
        )
        result = asyncio.run(agent.ainvoke({"messages": [("user", "What are a nut and a bolt?")]}))
    rows = [json.loads(line) for line in path.read_text().splitlines()]

for row in sorted((row for row in rows if row.get("event") in CHAIN), key=lambda row: row["label"]):
    print(row["label"], row["event"], *(row[name] for name in CHAIN[row["event"]]))
for message in result["messages"][-3:]:
    print(f"{message.type}: {message.text}")
