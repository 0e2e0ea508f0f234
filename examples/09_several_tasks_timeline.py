"""Three tasks at once, drawn as a timeline: no task waits for another task's slow tool.

The model is simulated by one function that reads the conversation: for each task it makes the next
of three calls once the last one has been answered. Any real model takes its place. The clock jumps
from one event to the next, so the example runs at once, and in virtual time cooking takes exactly
as long as it should.
"""

import asyncio
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from langchain_core.messages import BaseMessage

from asyncguard import Ports, TraceFile, build_agent, guarded
from asyncguard.cli import main as asyncguard_command
from asyncguard.testing import ScriptedChatModel, Step, ToolSchema, calls, run_virtual

SECONDS = {"soup": 0.10, "roast": 0.25, "cake": 0.15}


@guarded(effect="pure")
async def cook(dish: str, stage: int) -> str:
    """Cook one stage of a dish."""
    await asyncio.sleep(SECONDS[dish])
    return f"{dish} passed stage {stage}"


def next_calls(messages: Sequence[BaseMessage], tools: Sequence[ToolSchema]) -> Step:
    """Return the next stage of each dish whose last stage was answered."""
    said = "\n".join(message.text for message in messages)
    asked = [call["args"] for message in messages for call in getattr(message, "tool_calls", [])]
    due = []
    for dish in SECONDS:
        passed = len(set(re.findall(rf"{dish} passed stage (\d)", said)))
        if passed < 3 and passed == sum(call["dish"] == dish for call in asked):
            due.append(("cook", {"task_id": dish, "dish": dish, "stage": passed + 1}))
    return calls(*due) if due else "That is all for now."


with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "run.jsonl")
    with TraceFile(path) as trace:
        agent = build_agent(ScriptedChatModel(next_calls), [cook], ports=Ports(observers=[trace]))
        tasks = [{"id": dish, "goal": f"Cook {dish} in three stages."} for dish in SECONDS]
        run = run_virtual(agent.ainvoke({"tasks": tasks}))
    asyncguard_command(["trace", path, "--width", "100", "--no-color"])

print(f"one after the other: {3 * sum(SECONDS.values()):.2f} s of cooking")
print(f"slowest dish alone:  {3 * max(SECONDS.values()):.2f} s")
print(f"all three together:  {run.elapsed:.2f} s")
