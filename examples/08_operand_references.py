"""A call may name the result of another call instead of a value; the runtime fills it in when it arrives.

A chain of calls then takes one model turn instead of one a link. References are offered for pure tools; a tool with an
effect allows them with ``references=True``. The model is scripted; any real one takes its place.
"""

import asyncio
from typing import Any

from asyncguard import build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls


@guarded(effect="pure")
async def search(city: str) -> dict[str, Any]:
    """Search flights to a city."""
    await asyncio.sleep(0.1)
    return {"flights": [{"id": "TP-713", "price": 268}, {"id": "LH-100", "price": 640}]}


@guarded(effect="pure")
async def seat_map(flight: str) -> dict[str, Any]:
    """Show the free seats of a flight."""
    await asyncio.sleep(0.1)
    return {"flight": flight, "free": ["12A", "30C"]}


@guarded(references=True)
async def reserve(flight: str, seat: str) -> str:
    """Reserve a seat."""
    print("reserve", flight, seat)
    return f"reserved {seat} on {flight}"


model = ScriptedChatModel(
    [
        calls(
            ("search", {"city": "Lisbon"}),
            ("seat_map", {"flight": {"from_call": "search#1", "pointer": "/flights/0/id"}}),
            (
                "reserve",
                {
                    "flight": {"from_call": "search#1", "pointer": "/flights/0/id"},
                    "seat": {"from_call": "seat_map#1", "pointer": "/free/0"},
                },
            ),
        ),
        "Seat 12A on TP-713 is reserved.",
    ]
)
agent = build_agent(model, [search, seat_map, reserve])
result = asyncio.run(
    agent.ainvoke({"messages": [("user", "Reserve a seat on the first flight to Lisbon.")]})
)
print("turns of the model:", result["report"]["turns"])
print("answer:", result["messages"][-1].text)
