"""Wrap your model and your tools, and hand over two tasks at once.

The model is scripted, so that this runs offline. For a real one write ``model = "openai:gpt-5"`` and nothing else.
"""

import time

from asyncguard import build_agent
from asyncguard.testing import ScriptedChatModel, calls


def check_weather(city: str) -> str:
    """Tell the weather in a city."""
    time.sleep(0.05)
    return f"{city}: 21 degrees and sunny"


def find_hotel(city: str) -> str:
    """Find a hotel in a city."""
    time.sleep(0.4)
    return f"{city}: Hotel Mira, 95 euros"


model = ScriptedChatModel(
    [
        calls(
            ("check_weather", {"task_id": "task-1", "city": "Lisbon"}),
            ("find_hotel", {"task_id": "task-2", "city": "Rome"}),
        ),
        "Lisbon has 21 degrees and sun. I am still waiting for the hotel in Rome.",
        "Lisbon has 21 degrees and sun. In Rome I found Hotel Mira for 95 euros.",
    ]
)

agent = build_agent(model, [check_weather, find_hotel])
result = agent.invoke({"tasks": ["How is the weather in Lisbon?", "Find a hotel in Rome."]})

print("answer:", result["messages"][-1].text)
print("turns of the model:", result["report"]["turns"])
for task in result["report"]["tasks"]:
    print(task["id"], "is", task["state"], "after", task["calls"])
