"""Ways of working on a workload with asyncguard: all tasks at once, results in whatever order they come."""

from typing import Any

from langchain.agents import create_agent

from asyncguard import AsyncGuardMiddleware, GuardConfig, build_agent
from chains import Chains, key_of

TASK_ARGUMENT = "task_id"
_LIMITS = {"recursion_limit": 10_000}


async def graph(chains: Chains) -> None:
    """Runs the state machine."""
    chains.task_argument = TASK_ARGUMENT
    agent = build_agent(chains.model(), [chains.tool()], config=GuardConfig())
    await agent.ainvoke(_tasks(chains), _LIMITS)


async def middleware(chains: Chains) -> None:
    """Runs `create_agent` under the middleware."""
    chains.task_argument = TASK_ARGUMENT
    tools = [chains.tool()]
    guard = AsyncGuardMiddleware(tools=tools, config=GuardConfig())
    agent: Any = create_agent(chains.model(), tools, middleware=[guard])
    await agent.ainvoke(_tasks(chains), _LIMITS)


def _tasks(chains: Chains) -> dict[str, Any]:
    tasks = range(chains.workload.tasks)
    return {
        "tasks": [{"id": f"task-{task}", "goal": f"Follow this key to its end: {key_of(task, 0)}"} for task in tasks]
    }
