"""Tools of a small shop, for workers in processes of their own; each effect is a line in a file that survives them."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolArg, tool
from langgraph.types import Command

from asyncguard import guarded


def note(what: str) -> None:
    """Write an effect down where no death of the process can undo it."""
    file = os.open(os.environ["SHOP_EFFECTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, f"{what} {os.getpid()}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)


def effects() -> list[str]:
    """The effects so far, without who had them."""
    file = Path(os.environ["SHOP_EFFECTS"])
    return (
        [line.rpartition(" ")[0] for line in file.read_text().splitlines()] if file.exists() else []
    )


@guarded(effect="at_most_once")
async def pay(amount: int) -> str:
    """Pay an amount."""
    note(f"pay {amount}")
    return f"paid {amount}"


@guarded(effect="at_most_once")
async def pay_slowly(amount: int, seconds: float) -> str:
    """Pay an amount, and wait for the answer."""
    note(f"pay {amount}")
    await asyncio.sleep(seconds)
    return f"paid {amount}"


@guarded(effect="at_most_once")
def pay_in_thread(amount: int, seconds: float) -> str:
    """Pay an amount with code that cannot be stopped."""
    note(f"pay {amount}")
    time.sleep(seconds)
    return f"paid {amount}"


@guarded(effect="keyed", key_argument="key")
async def reserve(item: str, key: str, seconds: float = 0.0) -> str:
    """Reserve an item under a key that the shop honours."""
    note(f"reserve {item} {key}")
    await asyncio.sleep(seconds)
    return f"reserved {item} {key}"


@guarded(effect="keyed", key_argument="key")
async def hold(item: str, key: str) -> str:
    """Reserve an item, and answer only to who asks again under the same key."""
    note(f"hold {item} {key}")
    if effects().count(f"hold {item} {key}") == 1:
        await asyncio.sleep(600)
    return f"held {item}"


@guarded(effect="pure")
def look(name: str) -> str:
    """Look at something."""
    return f"seen {name} by {os.getpid()}"


@guarded(effect="pure")
async def tell(size: int) -> str:
    """Tell a long story."""
    return "x" * size


@guarded(effect="pure")
async def die(times: int) -> str:
    """End the process, the first times."""
    note("die")
    if effects().count("die") <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@guarded(effect="pure")
async def move() -> Command[Any]:
    """Change the state by a value that JSON cannot hold."""
    return Command(update={"place": object(), "messages": []})


@guarded(effect="pure")
def ask(question: str, config_of: Annotated[Any, InjectedToolArg]) -> str:
    """Take something of the graph."""
    return f"{question} {config_of}"


@guarded(effect="at_most_once", mode="external", token_argument="token")
async def order(item: str, token: str) -> str:
    """Start work that an outside service ends."""
    return f"{item} {token}"


@guarded(effect="pure", interrupts=True)
async def confirm(question: str) -> str:
    """Ask a person."""
    return question


@tool("pay_slowly")
@guarded(effect="at_most_once", approval=True)
async def careful(amount: int, seconds: float) -> str:
    """Pay an amount, and wait for the answer."""
    return await pay_slowly(amount, seconds)


def _tool(code: Any) -> BaseTool:
    made = tool(code)
    assert isinstance(made, BaseTool)
    return made


TOOLS = [pay, pay_slowly, pay_in_thread, reserve, hold, look, tell, die, move]
CAREFUL = [*TOOLS[:1], careful, *TOOLS[2:]]
ALL = [*TOOLS, _tool(ask), order, confirm]
EMPTY: list[Any] = []
NO_LIST = "tools"
