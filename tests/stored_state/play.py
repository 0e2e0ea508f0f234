"""Play one case until it rests or the process dies: `python -m tests.stored_state.play FRONT CASE FOLDER [URL]`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.stored_state.agents import BY_STEPS, RESTING, SAID, TASK, THREAD, agent
from tests.stored_state.tools import REFUSED


def open_saver(folder: Path, url: str) -> AbstractAsyncContextManager[Any]:
    """Open the checkpoints: in a file of the folder, or in the database that a URL names."""
    return _on_server(url) if url else AsyncSqliteSaver.from_conn_string(str(folder / "threads.db"))


@asynccontextmanager
async def _on_server(url: str) -> AsyncIterator[Any]:
    async with AsyncPostgresSaver.from_conn_string(url) as saver:
        await saver.setup()
        yield saver


def _die_after(saver: Any, steps: int) -> None:
    """End the process as soon as some steps are stored, from the one with the model's message on."""
    put, left = saver.aput, [steps]

    async def aput(*arguments: Any) -> Any:
        done = await put(*arguments)
        left[0] -= bool(SAID)
        if left[0] == 0:
            os._exit(9)
        return done

    saver.aput = aput


async def _die_in_back_off(folder: Path) -> None:
    """End the process as soon as the first attempt was refused and its outcome can be on disk."""
    while not (folder / REFUSED).exists():  # noqa: ASYNC110 - the other side is a tool in a thread
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)
    os._exit(9)


async def play(front: str, case: str, folder: Path, url: str = "") -> None:
    """Play a case."""
    async with open_saver(folder, url) as saver:
        if steps := BY_STEPS.get((front, case)):
            _die_after(saver, steps)
        made = agent(front, case, folder, saver, die=case not in RESTING)
        killer = asyncio.create_task(_die_in_back_off(folder)) if case == "back_off" else None
        result = await made.ainvoke({"messages": [("user", TASK)]}, THREAD, durability="sync")
        if case == "approved":
            assert "__interrupt__" in result
            await made.ainvoke(Command(resume=True), THREAD, durability="sync")
        if killer is not None:
            killer.cancel()


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
