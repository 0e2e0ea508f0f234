"""Declare what tools read and write: calls that touch the same thing keep their order, all others run side by side.

Undeclared tools work as well. They are treated with caution: within one task they run one after the other, and their
effects are never repeated. The model is scripted; any real one takes its place.
"""

import asyncio
import time

from asyncguard import build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls

started = time.monotonic()


def note(text: str) -> None:
    """Print what happens, and when."""
    print(f"{time.monotonic() - started:4.1f} s  {text}")


@guarded(effect="idempotent", reads=[], writes=["file:{path}"])
async def write_file(path: str, text: str) -> str:
    """Write a file."""
    note(f"write {path} begins")
    await asyncio.sleep(0.3)
    note(f"write {path} ends")
    return "written"


@guarded(effect="pure", reads=["file:{path}"], timeout=10)
async def read_file(path: str) -> str:
    """Read a file."""
    note(f"read {path} begins")
    return f"contents of {path}"


# One message makes three calls. The read of a.txt needs what the write leaves there; the read of b.txt does not.
model = ScriptedChatModel(
    [
        calls(
            ("write_file", {"path": "a.txt", "text": "hello"}),
            ("read_file", {"path": "a.txt"}),
            ("read_file", {"path": "b.txt"}),
        ),
        "Wrote and read both files.",
    ]
)
agent = build_agent(model, [write_file, read_file])
result = asyncio.run(
    agent.ainvoke({"messages": [("user", "Write a.txt, then read a.txt and b.txt.")]})
)
print("answer:", result["messages"][-1].text)
