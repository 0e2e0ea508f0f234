"""The threads of one agent: claimed for a run, and found again."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.engine.engine import Engine
from asyncguard.engine.sessions import Sessions
from asyncguard.frontends.claims import claim_thread
from asyncguard.frontends.durability import JournalKeeper, JournalTarget
from asyncguard.frontends.run import Run
from asyncguard.frontends.state import Thread


class Threads:
    """Claims and finds the threads of one agent."""

    def __init__(self, engine: Engine, journal: JournalTarget) -> None:
        """Know no thread yet.

        Args:
            engine: What the threads share.
            journal: Where calls with effects are written down; opened when the first run begins.
        """
        self._engine = engine
        self._keeper = JournalKeeper(engine, journal)
        self._sessions = Sessions(engine)

    def identity_of(self, state: Mapping[str, Any]) -> Thread:
        """Return the identity of a thread, a new one where the state has none."""
        new_id = self._engine.ports.new_id
        return state.get("asyncguard") or Thread(session=new_id(), nonce=new_id())

    async def claim(self, config: RunnableConfig, *, begins: bool = False) -> None:
        """Open the journal and claim the thread for a run; of a run that is refused nothing stays.

        Args:
            config: Of the node or hook.
            begins: Whether it takes the input of a run in.

        Raises:
            CallerError: Another run is at work on the thread.
            ThreadBusyError: Another run has carried the thread on since this one read its state.
        """
        await self._keeper.ready(config)
        await claim_thread(config, self._engine.journal, begins=begins)

    def find(self, state: Mapping[str, Any], config: RunnableConfig) -> Run:
        """Return the run of a thread; it has to be joined with the state before anything else."""
        return Run(self._sessions, state, config)

    def __len__(self) -> int:
        """Return the number of threads in memory."""
        return len(self._sessions)
