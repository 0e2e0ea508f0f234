"""A person approves what a tool may do; the other task goes on meanwhile.

The run stops with a question once nothing else is left to do, and goes on with the answer, also days later and in
another process if the checkpointer keeps it. The model is scripted; any real one takes its place.
"""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls


@guarded(destructive=True, approval=True)
async def delete_account(user: str) -> str:
    """Delete an account for ever."""
    print("deleted the account of", user)
    return "deleted"


@guarded(effect="pure")
async def count_accounts() -> int:
    """Count the accounts."""
    return 42


async def main() -> None:
    """Ask, and answer each question."""
    model = ScriptedChatModel(
        [
            calls(
                ("delete_account", {"task_id": "task-1", "user": "ann"}),
                ("delete_account", {"task_id": "task-1", "user": "bob"}),
                ("count_accounts", {"task_id": "task-2"}),
            ),
            "There are 42 accounts. The deletions wait for approval.",
            "Ann's account is deleted. Bob's is not: he asked to stay. There are 42 accounts.",
        ]
    )
    agent = build_agent(model, [delete_account, count_accounts], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "support-7"}}
    result = await agent.ainvoke(
        {"tasks": ["Delete the accounts of ann and bob.", "How many accounts are there?"]}, thread
    )
    while "__interrupt__" in result:
        answers = {}
        for call in result["__interrupt__"][0].value["calls"]:
            print("question:", call["tool"], call["arguments"], "-", call["reason"])
            approve = call["arguments"]["user"] == "ann"  # here a person would decide
            answers[call["key"]] = {
                "approve": approve,
                "reason": "" if approve else "He asked to stay.",
            }
        result = await agent.ainvoke(Command(resume=answers), thread)
    print("answer:", result["messages"][-1].text)


asyncio.run(main())
