"""Every guard is one switch: leave one out and see what it was good for.

The model is scripted and eager. While the search runs, news about the other task gives it a turn, and it books the
flight that the user has mentioned. The number is plausible; only the guard against early calls knows that the result of
the search was not told yet.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import BaseMessage

from asyncguard import GuardConfig, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, Step, ToolSchema, calls

TASKS = [
    {"id": "trip", "goal": "Book a flight to Lisbon that is cheaper than LH-100."},
    {"id": "clock", "goal": "What time is it in Rome?"},
]


def after_the_search(messages: Sequence[BaseMessage], tools: Sequence[ToolSchema]) -> Step:
    """Book what was found if the guess was refused; an eager model that got away with it looks no further."""
    said = "\n".join(message.text for message in messages)
    if "TP-713" not in said:
        return "I wait for the search."
    made = [call["args"] for message in messages for call in getattr(message, "tool_calls", [])]
    if "was not run" not in said or any(arguments.get("flight") == "TP-713" for arguments in made):
        return "All done."
    return calls(("book", {"task_id": "trip", "flight": "TP-713"}))


async def booked_with(config: GuardConfig) -> list[str]:
    """Return the flights that are booked under a configuration."""
    booked: list[str] = []

    @guarded(effect="pure")
    async def search(city: str) -> str:
        """Search the cheapest flight to a city."""
        await asyncio.sleep(0.2)
        return "TP-713"

    @guarded(effect="at_most_once")
    async def book(flight: str) -> str:
        """Book a flight."""
        booked.append(flight)
        return f"booked {flight}"

    @guarded(effect="pure")
    async def tell_time(city: str) -> str:
        """Tell the local time in a city."""
        return "12:30"

    both = calls(
        ("search", {"task_id": "trip", "city": "Lisbon"}),
        ("tell_time", {"task_id": "clock", "city": "Rome"}),
    )
    guess = calls(("book", {"task_id": "trip", "flight": "LH-100"}))
    model = ScriptedChatModel([both, guess, *[after_the_search] * 5])
    await build_agent(model, [search, book, tell_time], config=config).ainvoke({"tasks": TASKS})
    return booked


recommended = GuardConfig()
print("all guards:       ", asyncio.run(booked_with(recommended)))
print("without premature:", asyncio.run(booked_with(replace(recommended, premature=False))))
