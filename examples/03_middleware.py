"""The same guards inside LangChain's ``create_agent``, among other middleware.

``guard_middleware`` puts the guard in its place in the list. The model is scripted and eager: it fills in a flight
number before the search has answered. For a real one, pass its name to ``create_agent``.
"""

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware

from asyncguard import AgentInput, guard_middleware
from asyncguard.testing import ScriptedChatModel, calls


async def search_flights(city: str) -> str:
    """Search the cheapest flight to a city."""
    await asyncio.sleep(0.3)
    return "cheapest: TP-713"


async def book_flight(flight: str) -> str:
    """Book a flight."""
    print("booking", flight)
    return f"booked {flight}"


async def tell_time(city: str) -> str:
    """Tell the local time in a city."""
    return "12:30"


model = ScriptedChatModel(
    [
        calls(
            ("search_flights", {"task_id": "trip", "city": "Lisbon"}),
            ("tell_time", {"task_id": "clock", "city": "Rome"}),
        ),
        calls(
            ("book_flight", {"task_id": "trip", "flight": "LH-100"})
        ),  # a guess: the search is still running
        "I wait for the search.",
        calls(("book_flight", {"task_id": "trip", "flight": "TP-713"})),
        "It is 12:30 in Rome, and TP-713 to Lisbon is booked.",
    ]
)
agent = create_agent(
    model,
    [search_flights, book_flight, tell_time],
    middleware=guard_middleware([ModelCallLimitMiddleware(run_limit=20)]),
)
tasks = [
    {"id": "trip", "goal": "Book the cheapest flight to Lisbon."},
    {"id": "clock", "goal": "What time is it in Rome?"},
]
result = asyncio.run(agent.ainvoke(AgentInput(messages=[], tasks=tasks)))

for message in result["messages"]:
    if message.type == "tool" and message.status == "error":
        print("guard:", message.text)
print("answer:", result["messages"][-1].text)
