"""Stored cases, opened as the present release would find them."""

import tarfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard import acontinue_older, open_journal
from tests.stored_state.agents import EFFECTS, THREAD, TOKEN, agent
from tests.stored_state.dumps import SCHEMA, load
from tests.stored_state.play import open_saver

RELEASE = Path(__file__).parent / "ffd2604"
ON_SERVER = RELEASE / "postgres"
QUEUES = RELEASE / "queues"
QUEUES_ON_SERVER = RELEASE / "queues-postgres"


def effects_in(folder: Path) -> list[str]:
    """Return all effects, old and new: tool, order and key."""
    file = folder / EFFECTS
    return file.read_text("utf-8").splitlines() if file.exists() else []


@dataclass(frozen=True)
class Opened:
    """A stored thread, with the files and the database that belong to it."""

    front: str
    """The adapter that wrote it."""
    case: str
    """The state that it was left in."""
    folder: Path
    """Holds effects, tokens and SQLite files."""
    url: str
    """Address of the database, empty for SQLite."""

    @property
    def journal(self) -> str:
        """Address of the journal."""
        return self.url or str(self.folder / "threads.db.effects")

    @property
    def effects(self) -> list[str]:
        """All effects, old and new: tool, order and key."""
        return effects_in(self.folder)

    @property
    def ends(self) -> set[str]:
        """Classes of the ends that the journal has of the newest attempts, ``NoneType`` for one that it has not."""
        journal = open_journal(self.journal, create=False)
        try:
            return {type(each.attempts[-1].result).__name__ for each in journal.entries()}
        finally:
            journal.close()

    def saver(self) -> AbstractAsyncContextManager[Any]:
        """Open the checkpoints."""
        return open_saver(self.folder, self.url)

    def deliver(self, content: str) -> None:
        """Deliver to the token that was given out."""
        journal = open_journal(self.journal, create=False)
        try:
            journal.deliver((self.folder / TOKEN).read_text("utf-8"), content)
        finally:
            journal.close()

    async def run(self, *inputs: Any) -> str:
        """Continue the thread with each input, and return the texts of its last two messages.

        Args:
            *inputs: What is given to the agent, or functions that make it.
        """
        async with self.saver() as saver:
            made = agent(self.front, self.case, self.folder, saver, die=False)
            if self.front == "middleware":
                await acontinue_older(made, THREAD)
            for each in inputs:
                result = await made.ainvoke(
                    each() if callable(each) else each, THREAD, durability="sync"
                )
        assert "__interrupt__" not in result
        return "\n".join(str(message.content) for message in result["messages"][-2:])


Open = Callable[[str, str], Opened]
"""From adapter and case to the thread."""


def extract(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder."""
    with tarfile.open(archive) as packed:
        # Python 3.11.2 has neither the filter nor an argument for it.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(folder)


def unpack(front: str, case: str, folder: Path) -> Opened:
    """Open a thread that was stored in SQLite files."""
    extract(RELEASE / f"{front}-{case}.tar.gz", folder)
    return Opened(front=front, case=case, folder=folder, url="")


def fill(front: str, case: str, folder: Path, url: str) -> Opened:
    """Open a thread that was stored in PostgreSQL, in an empty database."""
    load(ON_SERVER / SCHEMA, ON_SERVER / f"{front}-{case}.sql", url, folder)
    return Opened(front=front, case=case, folder=folder, url=url)
