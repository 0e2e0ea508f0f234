"""Threads of one agent: open the journal, claim a thread for a run, and find its run."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals.run_end import when_over
from asyncguard.adapters.messages.history_cache import HistoryCache
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.active_runs import THREADS
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget, LazyJournal
from asyncguard.adapters.threads.claims import claim_thread
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.errors import CallerError
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.session.cache import Sessions


class Threads:
    """Claims and finds the threads of one agent."""

    def __init__(self, engine: Engine, journal: JournalTarget) -> None:
        """Start without any thread.

        Args:
            engine: Clock, executor, journal and configuration that all threads share.
            journal: Where calls with effects are recorded; opened when the first run begins.
        """
        self._engine = engine
        self._keeper = LazyJournal(engine, journal)
        self._sessions = Sessions(engine, when_over=when_over, dropped=self.dropped)
        self._conversations = HistoryCache()

    def identified(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the state with a thread identity; create one if the state has none."""
        if state.get("asyncguard"):
            return state
        new_id = self._engine.ports.new_id
        return {**state, "asyncguard": Thread(session=new_id(), nonce=new_id())}

    async def claim(self, config: RunnableConfig, *, begins: bool = False) -> None:
        """Open the journal and claim the thread for a run; a refused run leaves nothing stored.

        Args:
            config: Of the node or hook.
            begins: True if the node or hook is the one that reads the run's input.

        Raises:
            CallerError: Another run is active on the thread.
            ThreadBusyError: Another run has continued the thread since this one read its state.
        """
        await self._keeper.ready(config)
        if begins or not THREADS.held_by(config):  # in each node but the first it is held
            await claim_thread(config, self._engine.journal, begins=begins)

    def find(self, state: Mapping[str, Any], config: RunnableConfig) -> Run:
        """Return the run of a thread; call :meth:`Run.join` before anything else.

        Raises:
            CallerError: The state has no identity: it was made by hand, without an input.
        """
        if not state.get("asyncguard"):
            raise CallerError(
                f"Thread {thread_of(config)!r} was not begun: its state holds nothing of "
                'asyncguard. Begin it with an input, {"tasks": [...]} or {"messages": [...]}, '
                "before you change its state."
            )
        return Run(self._sessions, self._conversations, state, config)

    def dropped(self, name: tuple[str, str]) -> None:
        """Forget what else is in memory of a thread, see :attr:`Run.name`."""

    def __len__(self) -> int:
        """Return the number of threads in memory."""
        return len(self._sessions)
