"""The run whose timeline stands in the README, in virtual time and with counted ids: the same each time."""

import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from asyncguard import Ports, ToolSpec, TraceFile, build_agent
from asyncguard.core.footprints import EffectClass
from asyncguard.observability.timeline.draw import render_timeline
from asyncguard.observability.trace import read_trace
from asyncguard.testing import ScriptedChatModel, after, calls, run_virtual, scripted_tool
from asyncguard.testing.script_clock import loop_or_monotonic_time

WIDTH = 110
_TASKS = [
    {"id": "trip", "goal": "Book the cheapest flight to Lisbon for Ada, and print the ticket."},
    {"id": "sun", "goal": "How is the weather in Lisbon?"},
]
_SPECS = [
    ToolSpec(name="search", effect=EffectClass.PURE, reads=("flights:{city}",)),
    ToolSpec(name="book", reads=(), writes=("bookings:{traveller}",)),
    ToolSpec(
        name="print_ticket",
        effect=EffectClass.PURE,
        reads=("bookings:{traveller}",),
        takes_from=(),  # it waits for the booking, and takes nothing from its result
    ),
    ToolSpec(name="weather", effect=EffectClass.PURE, reads=()),
]


def timeline() -> str:
    """The run as ``asyncguard trace`` draws it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with TraceFile(path, wall=_wall) as trace:
            numbers = count(1)
            ports = Ports(observers=[trace], new_id=lambda: f"demo-{next(numbers)}")
            agent = build_agent(_model(), _tools(), specs=_SPECS, ports=ports)
            run_virtual(agent.ainvoke({"tasks": _TASKS}))
        return render_timeline(read_trace(str(path)), width=WIDTH)


def _wall() -> float:
    return 1_750_000_000 + loop_or_monotonic_time()


def _model() -> ScriptedChatModel:
    book = {"task_id": "trip", "traveller": "Ada"}
    return ScriptedChatModel(
        [
            calls(
                ("search", {"task_id": "trip", "city": "Lisbon"}),
                ("weather", {"task_id": "sun", "city": "Lisbon"}),
            ),
            calls(("book", {**book, "flight": "LH-100"})),
            "Sun in Lisbon. I wait for the search.",
            calls(("book", {**book, "flight": "TP-713"}), ("print_ticket", book)),
            "TP-713 is booked, the ticket is printed, and the sun shines.",
        ],
        latency=0.5,
    )


def _tools() -> list[Any]:
    text = {"city": str}
    return [
        scripted_tool(
            "search", [after(0.5, ConnectionError("it hung up")), after(2.5, "TP-713")], args=text
        ),
        scripted_tool("weather", ["sunny"], args=text, latency=1.0),
        scripted_tool("book", ["booked"], args={"flight": str, "traveller": str}, latency=1.5),
        scripted_tool("print_ticket", ["printed"], args={"traveller": str}, latency=0.5),
    ]
