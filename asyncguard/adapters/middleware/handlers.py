"""The threads of an agent made by ``create_agent``, with the handlers of their calls."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from asyncguard.adapters.middleware.reconcile import answers_of_others, note_answers
from asyncguard.adapters.middleware.tool_calls import PendingHandlers
from asyncguard.adapters.run import Run, Threads
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.fast_path import PreparedTools
from asyncguard.runtime.engine import Engine


class GuardedThreads(Threads):
    """Opens threads, and finds the handlers of their calls."""

    def __init__(self, engine: Engine, journal: JournalTarget, tools: dict[str, BaseTool]) -> None:
        """Know no thread yet.

        Args:
            engine: What the sessions share.
            journal: Where calls with effects are written down.
            tools: Tools by name, as far as they are known; grows while the agent runs.
        """
        super().__init__(engine, journal)
        self._tools = tools
        self._prepared = PreparedTools()
        self._handlers: dict[tuple[str, str], PendingHandlers] = {}

    async def joined(
        self, state: Mapping[str, Any], config: RunnableConfig, *, begins: bool = False
    ) -> tuple[Run, PendingHandlers]:
        """Return the run of a state, and the handlers of its calls, which run with this state from now on.

        Args:
            state: Of the super-step.
            config: Of the hook.
            begins: Whether the hook takes the input of a run in.
        """
        await self.claim(config, begins=begins)
        run = self.find(state, config)
        # What was to be written is void with the ledger that knew of it.
        await run.join(
            partial(self._reconcile, run, said=begins),
            begins=begins,
            folded=partial(self.take_updates, run),
        )
        handlers = self._of(run)
        handlers.state, handlers.config = state, config
        return run, handlers

    def _reconcile(self, run: Run, *, said: bool) -> bool:
        handlers = self._of(run)
        note_answers(run)
        # Wrappers of one message arrive together; the first that goes on does it for all.
        handlers.rests = run.reconcile(
            issuing=True, hands=handlers, answers=answers_of_others(run), siblings=True, said=said
        )
        handlers.after_loss = True
        handlers.question = None  # on another branch
        return handlers.rests

    def take_updates(self, run: Run) -> dict[str, Any]:
        """State updates of tools for the next write of a hook; the news that came with them are written by then."""
        handlers = self._of(run)
        taken, handlers.updates, handlers.news = handlers.updates, {}, []
        return taken

    def leave(self, run: Run) -> None:
        """Give a thread free whose run ends with this step."""
        self._handlers.pop(run.name, None)
        run.leave()

    def _of(self, run: Run) -> PendingHandlers:
        found = self._handlers.get(run.name)
        if found is None:
            fresh = PendingHandlers(tools=self._tools, prepared=self._prepared)
            found = self._handlers.setdefault(run.name, fresh)
        return found
