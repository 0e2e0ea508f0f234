"""Count the code between a model's guess and the reason that it reads: functions and files a reader has to cross.

    python benchmark/performance/reach.py
    python benchmark/performance/reach.py --list

The scripted model of ``examples/03_middleware.py`` books a flight number that the search has not brought yet. It counts
the calls of functions of the library, without comprehensions and the test kit, from the end of the model's call with
the guess to its next call, which has the reason. The wait for the search is part of it, as the turn rule asks.
"""

import argparse
import asyncio
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from langchain.agents import create_agent

import asyncguard
from asyncguard import build_agent, guard_middleware
from asyncguard.testing import ScriptedChatModel, calls

LIBRARY = Path(asyncguard.__file__).parent
TASKS = [
    {"id": "trip", "goal": "Book the cheapest flight to Lisbon."},
    {"id": "clock", "goal": "What time is it in Rome?"},
]


async def search_flights(city: str) -> str:
    """Search the cheapest flight to a city."""
    await asyncio.sleep(0.3)
    return "cheapest: TP-713"


async def book_flight(flight: str) -> str:
    """Book a flight."""
    return f"booked {flight}"


async def tell_time(city: str) -> str:
    """Tell the local time in a city."""
    return "12:30"


class Reach:
    """Profile the library between two calls of the model."""

    def __init__(self) -> None:
        """Start with no calls counted."""
        self.functions: Counter[tuple[str, str]] = Counter()
        self._counting = False

    def guess_made(self) -> None:
        """Begin to count."""
        self._counting = True

    def reason_read(self) -> None:
        """End counting."""
        self._counting = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Count one call; for ``sys.setprofile``."""
        code = frame.f_code
        if not self._counting or event != "call" or code.co_name.startswith("<"):
            return
        path = Path(code.co_filename)
        if LIBRARY in path.parents and LIBRARY / "testing" not in path.parents:
            self.functions[path.relative_to(LIBRARY).as_posix(), code.co_qualname] += 1

    @property
    def files(self) -> set[str]:
        """Files with a function that was called."""
        return {file for file, _ in self.functions}


def measured(frontend: str) -> Reach:
    """Run the example on an adapter and return the files and functions that it reached.

    Args:
        frontend: ``build_agent`` or ``create_agent``.
    """
    reach = Reach()
    script: list[Any] = [
        calls(
            ("search_flights", {"task_id": "trip", "city": "Lisbon"}),
            ("tell_time", {"task_id": "clock", "city": "Rome"}),
        ),
        calls(("book_flight", {"task_id": "trip", "flight": "LH-100"})),
        "I wait for the search.",
        calls(("book_flight", {"task_id": "trip", "flight": "TP-713"})),
        "It is 12:30 in Rome, and TP-713 to Lisbon is booked.",
    ]
    turn = iter(range(len(script)))

    def speak(_: Any, __: Any) -> Any:
        place = next(turn)
        if place == 2:  # the request has the reason
            reach.reason_read()
        if place == 1:
            reach.guess_made()
        return script[place]

    model = ScriptedChatModel(speak)
    tools = [search_flights, book_flight, tell_time]
    if frontend == "build_agent":
        agent: Any = build_agent(model, tools)
    else:
        agent = create_agent(model, tools, middleware=guard_middleware([]))
    threading.setprofile(reach)
    sys.setprofile(reach)
    try:
        asyncio.run(agent.ainvoke({"messages": [], "tasks": TASKS}))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return reach


def main() -> None:
    """Print the counts of both adapters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the files and how many functions of each were called",
    )
    wanted = parser.parse_args()
    print(f"{'front end':<14}{'calls':>7}{'functions':>11}{'files':>7}")
    for frontend in ("build_agent", "create_agent"):
        reach = measured(frontend)
        print(
            f"{frontend:<14}{reach.functions.total():>7}{len(reach.functions):>11}{len(reach.files):>7}"
        )
        if wanted.list:
            for file, count in sorted(Counter(file for file, _ in reach.functions).items()):
                print(f"    {count:>3}  {file}")


if __name__ == "__main__":
    main()
