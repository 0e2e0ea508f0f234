"""The events of a run, as JSON lines in a file and as a list in the terminal.

Arguments and results are left out by default. ``asyncguard trace FILE`` draws such a file as a
timeline, ``--events`` lists it. An application with structlog adds ``log_events()`` to the
observers and finds the events in its own log. The model is scripted; any real one takes its place.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from asyncguard import Ports, TraceFile, build_agent, guarded
from asyncguard.cli import main as asyncguard_command
from asyncguard.testing import ScriptedChatModel, calls


@guarded(effect="pure")
async def look_up(word: str) -> str:
    """Look up a word in the dictionary."""
    await asyncio.sleep(0.05)
    return "a secret meaning"


model = ScriptedChatModel(
    [
        calls(("look_up", {"word": "serendipity"})),
        calls(("look_up", {"word": "TBD"})),  # a stand-in: the guard asks for a real value
        "I know the first word; which is the second?",
    ]
)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "run.jsonl"
    with TraceFile(path) as trace:
        agent = build_agent(model, [look_up], ports=Ports(observers=[trace]))
        asyncio.run(agent.ainvoke({"messages": [("user", "Look up two words for me.")]}))

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    print("events:", len(lines) - 1)
    rejected = next(line for line in lines if line.get("event") == "call_rejected")
    print("rejected by:", rejected["guard"])
    print("the secret was logged:", "secret" in path.read_text())
    asyncguard_command(["trace", str(path), "--events"])
