"""Guarded agents that ``langgraph dev`` serves for the tests of the page: scripted, offline, by keyword.

The user's last message names the scene. LangGraph's server loads this file by path.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Inbox,
    NewsStyle,
    Ports,
    build_agent,
    guarded,
)
from asyncguard.testing import ScriptedChatModel, Step, calls

EARLY = "All done: the hotel is Roma."
LATE = float(os.environ.get("ASYNCGUARD_TEST_LATE", "1.5"))
"""Seconds that the slow search takes."""
inbox = Inbox()


@guarded(effect="pure", reads=[])
async def weather(city: str) -> str:
    """Tell the weather."""
    return f"sun in {city}"


@guarded(effect="pure", reads=[], takes_from=())
async def hotel(city: str) -> str:
    """Search the hotels of a city, which takes its time."""
    await asyncio.sleep(LATE)
    return f"Hotel Mira in {city}"


@guarded(effect="pure", reads=[], takes_from=())
async def photos(city: str) -> list[Any]:
    """Find photos, answered in content blocks, as every tool of MCP does."""
    await asyncio.sleep(LATE / 2)
    texts = (f"Two photos of {city}:\n", "the river and the bridge")
    first, last = ({"type": "text", "text": text} for text in texts)
    return [first, {"type": "image", "url": "data:image/gif;base64,R0lGODlhAQABAAAAACw="}, last]


@guarded(effect="idempotent", reads=[], writes=["bookings:{room}"], approval=True, takes_from=())
async def book(room: str) -> str:
    """Book a room."""
    return f"booked {room}"


@guarded(mode="external", token_argument="token", reads=[])
async def notary(document: str, token: str = "") -> str:
    """Have a document certified; the answer comes from outside."""
    answer = f"certified {document}"
    asyncio.get_running_loop().call_later(0.5, inbox.deliver, token, answer)
    return "The letter is on its way."


@guarded(effect="at_most_once", reads=[], writes=["account"])
async def wire(to: str) -> str:
    """Send money, after which the line is cut."""
    raise RuntimeError(f"the line was cut after the wire to {to}")


@guarded(effect="pure", reads=[])
async def choose() -> str:
    """Let the user choose."""
    return f"chosen {interrupt('Which room?')}"


@guarded(effect="pure", reads=[])
async def measure(question: Any) -> str:
    """Ask the user what the model says, which may be any JSON."""
    return f"measured {interrupt(question)}"


def speak(messages: Sequence[AnyMessage], _: Any) -> Step:
    """Answer by the scene that the user's last message names."""
    at = max(n for n, each in enumerate(messages) if _names_a_scene(each))
    scene, since = messages[at].text, messages[at + 1 :]
    begun = any(isinstance(each, AIMessage) for each in since)
    told = " ".join(each.text for each in since)
    if "nights" in scene:
        return "How many nights?"
    if "idle" in scene:
        return "There was nothing to do." if "about to finish" in told else EARLY
    if "fault" in scene:
        raise RuntimeError("the model is out of order")
    if begun:
        return _report(scene, told)
    return _FIRST[next(name for name in _FIRST if name in scene)]


def _names_a_scene(message: AnyMessage) -> bool:
    """Return True for the user's words and goals, not for results and reminders of the runtime."""
    kind = message.additional_kwargs.get("lc_data", {}).get("kind")
    names = (*_FIRST, "nights", "idle", "fault")
    said = isinstance(message, HumanMessage) and kind in (None, "tasks")
    return said and any(name in message.text for name in names)


def _report(scene: str, told: str) -> Step:
    if "tour" in scene:
        return "Photos, and Hotel Mira." if "Hotel Mira" in told else EARLY
    if "trip" in scene:
        return "Sun, and Hotel Mira." if "Hotel Mira" in told else EARLY
    if "stay" in scene and not ("booked 12" in told or "refused the call" in told):
        return EARLY
    return f"Reported: {' '.join(part for part in _ENDS if part in told)}"


_FIRST: Mapping[str, Step] = {
    "trip": calls(
        ("weather", {"city": "Rome", "task_id": "task-1"}),
        ("hotel", {"city": "Rome", "task_id": "task-2"}),
        ("weather", {"task_id": "task-1"}),
    ),
    "tour": calls(
        ("weather", {"city": "Rome", "task_id": "task-1"}),
        ("photos", {"city": "Rome", "task_id": "task-2"}),
        ("hotel", {"city": "Rome", "task_id": "task-2"}),
    ),
    "rooms": calls(("book", {"room": "12"}), ("book", {"room": "14"})),
    "suite": calls(
        ("book", {"room": "12", "task_id": "task-1"}), ("book", {"room": "14", "task_id": "task-2"})
    ),
    "stay": calls(
        ("hotel", {"city": "Rome", "task_id": "task-1"}),
        ("photos", {"city": "Rome", "task_id": "task-2"}),
        ("book", {"room": "12", "task_id": "task-2"}),
    ),
    "view": calls(("photos", {"city": "Rome"}), ("book", {"room": "12"})),
    "deed": calls(("notary", {"document": "deed"})),
    "pick": calls(("choose", {})),
    "size": calls(("measure", {"question": {"question": "Which size?", "type": "approval"}})),
    "null": calls(("measure", {"question": None})),
    "wire": calls(("wire", {"to": "Ann"})),
    "Two": "Two nights, noted.",
}
_ENDS = ("booked 12", "booked 14", "too dear", "certified deed", "chosen 14", "measured M")
TOOLS: Sequence[Any] = [weather, photos, hotel, book, notary, choose, measure, wire]


def model() -> ScriptedChatModel:
    """Return a fresh model; ids of its calls are unique, as threads outlive the process."""
    return ScriptedChatModel(speak, id_prefix=uuid.uuid4().hex[:8])


def ports() -> Ports:
    """Return the ports of an agent: the answers from outside reach all of them."""
    return Ports(inbox=inbox)


def _middleware(config: GuardConfig, name: str) -> Any:
    guard = AsyncGuardMiddleware(config=config, ports=ports())
    return create_agent(model(), TOOLS, middleware=[guard], name=name)


_HOLD = GuardConfig(hold_text=True)
state_machine = build_agent(model(), TOOLS, ports=ports(), name="state_machine")
state_machine_hold = build_agent(
    model(), TOOLS, config=_HOLD, ports=ports(), name="state_machine_hold"
)
state_machine_pair = build_agent(
    model(),
    TOOLS,
    config=GuardConfig(news_style=NewsStyle.PAIR),
    ports=ports(),
    name="state_machine_pair",
)
middleware = _middleware(GuardConfig(), "middleware")
middleware_hold = _middleware(_HOLD, "middleware_hold")


@asynccontextmanager
async def threads() -> AsyncIterator[AsyncSqliteSaver]:
    """Keep threads in a file of the working directory: the server's own memory is lost when it is killed."""
    async with AsyncSqliteSaver.from_conn_string("threads.sqlite") as saver:
        yield saver
