"""Ways of working on a workload with `create_agent` alone, and under middleware that does nothing."""

from functools import partial
from typing import Any

from langchain.agents import create_agent

from asyncguard import AsyncGuardMiddleware
from chains import Chains, Work, key_of
from peers.create_agent import empty_middleware, overridden_hooks

_LIMITS = {"recursion_limit": 10_000}


def barrier(chains: Chains, *middleware: Any) -> Work:
    """Give all tasks at once: the model calls for all of them in parallel, and a turn waits for the slowest result."""
    agent: Any = create_agent(chains.model(), [chains.tool()], middleware=middleware)
    goals = " ".join(key_of(task, 0) for task in range(chains.workload.tasks))
    return partial(
        agent.ainvoke,
        {"messages": [("user", f"Follow these keys to their ends: {goals}")]},
        _LIMITS,
    )


def empty_hooks(chains: Chains) -> Work:
    """Return `barrier` under middleware that has the guard's hooks: the cost of the hooks without any guard."""
    return barrier(chains, empty_middleware(overridden_hooks(AsyncGuardMiddleware)))


def sequential(chains: Chains) -> Work:
    """Give one task after the other."""
    agent: Any = create_agent(chains.model(), [chains.tool()])

    async def run() -> None:
        for task in range(chains.workload.tasks):
            goal = f"Follow this key to its end: {key_of(task, 0)}"
            await agent.ainvoke({"messages": [("user", goal)]}, _LIMITS)

    return run
