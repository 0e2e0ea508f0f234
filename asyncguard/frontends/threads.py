"""The threads of one agent: claimed, opened, and found again."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.engine.engine import Engine
from asyncguard.engine.sessions import Sessions
from asyncguard.frontends.claims import claim_thread
from asyncguard.frontends.durability import JournalKeeper, JournalTarget
from asyncguard.frontends.run import Run
from asyncguard.frontends.state import Thread


class Threads:
    """Opens the threads of one agent."""

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
        """Return the run of a thread, without joining it with the state."""
        return Run(self._sessions, state, config)

    async def open(
        self,
        state: Mapping[str, Any],
        config: RunnableConfig,
        reconcile: Callable[[Run], bool],
        *,
        begins: bool = False,
        folded: Callable[[Run], object] = lambda _: None,
    ) -> Run:
        """Return the run of a state, joined with it and with the journal, its open calls decided about.

        Args:
            state: Of the super-step.
            config: Of the node or hook.
            reconcile: Decides about the open calls of a state that this process has not written; returns whether some
                have to wait.
            begins: Whether the node or hook takes the input of a run in.
            folded: Called where the ledger was folded anew, before anything is decided.

        Raises:
            ThreadBusyError: Another process is at work on the thread.
            JournalError: The journal cannot be read or written.
        """
        run = self.find(state, config)
        await run.join(begins=begins, reconcile=reconcile, folded=folded)
        return run

    def __len__(self) -> int:
        """Return the number of threads in memory."""
        return len(self._sessions)
