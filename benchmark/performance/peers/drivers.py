"""Ways of working on a workload with `create_agent` alone."""

from typing import Any

from langchain.agents import create_agent

from chains import Chains, key_of

_LIMITS = {"recursion_limit": 10_000}


async def barrier(chains: Chains) -> None:
    """Gives all tasks at once: the model calls for all of them in parallel, and a turn waits for the slowest result."""
    agent: Any = create_agent(chains.model(), [chains.tool()])
    goals = " ".join(key_of(task, 0) for task in range(chains.workload.tasks))
    await agent.ainvoke({"messages": [("user", f"Follow these keys to their ends: {goals}")]}, _LIMITS)


async def sequential(chains: Chains) -> None:
    """Gives one task after the other."""
    agent: Any = create_agent(chains.model(), [chains.tool()])
    for task in range(chains.workload.tasks):
        await agent.ainvoke({"messages": [("user", f"Follow this key to its end: {key_of(task, 0)}")]}, _LIMITS)
