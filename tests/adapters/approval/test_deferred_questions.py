"""A question of a tool whose wrapper has returned with a placeholder."""

import asyncio
from pathlib import Path
from typing import Any

from langgraph.types import Command, interrupt

from asyncguard import ToolSpec
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import Machine

PLACE: Any = {"configurable": {"thread_id": "t"}}
TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look up y."}]
ALL = calls(
    ("look", {"item": "x", "task_id": "a"}),
    ("pay", {"item": "x", "task_id": "a"}),
    ("fast", {"item": "y", "task_id": "b"}),
)


async def test_a_deferred_call_asks_when_it_is_released(agent_of: AgentOf, tmp_path: Path) -> None:
    """The model had its turn meanwhile: a person is asked all the same, and the answer counts."""
    machine, made = Machine(agent_of=agent_of, path=tmp_path / "effects.db"), list[str]()

    def pay(arguments: Any) -> str:
        if interrupt("Shall I?") is not True:
            return "no"
        made.append(arguments["item"])
        return "paid"

    tools = [
        scripted_tool("look", lambda _: asyncio.sleep(0.1, "seen"), args={"item": str}),
        scripted_tool("fast", lambda _: "fast", args={"item": str}),
        scripted_tool("pay", pay, args={"item": str}),
    ]
    asking = ToolSpec(name="pay", reads=(), writes=("a",), takes_from=(), interrupts=True)
    process = machine.process(tools, [pure("look", reads=("a",)), pure("fast"), asking], ALL)
    graph = process.agent.graph
    state = await graph.ainvoke(process.agent.input(None, TASKS), PLACE, durability="sync")
    assert [each.value for each in state["__interrupt__"]] == ["Shall I?"]
    assert made == []
    state = await graph.ainvoke(Command(resume=True), PLACE, durability="sync")
    assert made == ["x"]
    assert state["report"]["in_doubt"] == []
    machine.close()
