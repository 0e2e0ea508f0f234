"""Threads of an agent made by ``create_agent``, with the handlers of their calls."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from asyncguard.adapters.answered_calls import answers_of_others, note_answers
from asyncguard.adapters.langgraph_internals.run import run_of, single_channels
from asyncguard.adapters.messages.tool_updates import Write, last_of_single
from asyncguard.adapters.middleware.pending_handlers import PendingHandlers
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.threads import Threads
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.fast_path import PreparedTools
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.resume.case import Circumstances


class GuardedThreads(Threads):
    """Threads of one agent, and the handlers of their calls."""

    def __init__(self, engine: Engine, journal: JournalTarget, tools: dict[str, BaseTool]) -> None:
        """Start without any thread.

        Args:
            engine: Clock, executor, journal and configuration that all sessions share.
            journal: Where calls with effects are recorded.
            tools: Known tools by name; the caller adds to it while the agent runs.
        """
        super().__init__(engine, journal)
        self._tools = tools
        self._prepared = PreparedTools()
        # By Run.name; an entry lives from the first hook of a run to the end of that run, or until
        # the session is dropped if the run rests at a question.
        self._handlers: dict[tuple[str, str], PendingHandlers] = {}

    async def joined(
        self,
        state: Mapping[str, Any],
        config: RunnableConfig,
        *,
        begins: bool = False,
    ) -> tuple[Run, PendingHandlers]:
        """Return the joined run of a state, and the handlers of its calls.

        The handlers run with this state from now on.

        Args:
            state: Of the super-step.
            config: Of the hook.
            begins: True if the hook is the one that reads the run's input.
        """
        await self.claim(config, begins=begins)
        run = self.find(state, config)

        def reconcile() -> bool:
            handlers = self._of(run)
            note_answers(run)
            # Wrappers of one message arrive together; the first one reconciles the calls of all.
            given = Circumstances(
                hands=handlers,
                answers=answers_of_others(run),
                siblings=True,
                said=begins,
            )
            waits = run.reconcile(issuing=True, given=given)
            handlers.after_loss = True
            handlers.question = None  # it was asked on another branch
            return waits

        # Updates that wait to be written belong to the ledger that is discarded: they go with it.
        await run.join(reconcile, begins=begins, folded=partial(self.take_updates, run))
        handlers = self._of(run)  # not before: a refused run leaves no entry
        handlers.state, handlers.config = state, config
        handlers.enter_execution(run_of(config))
        return run, handlers

    def take_updates(self, run: Run) -> list[Write]:
        """Return and forget the tools' state updates, for the next update of a hook.

        The messages that came with them are forgotten, too: the model's message was written with
        them.
        """
        handlers = self._of(run)
        taken, handlers.updates, handlers.news = handlers.updates, [], []
        return last_of_single(taken, single_channels(run.config)) if len(taken) > 1 else taken

    def dropped(self, name: tuple[str, str]) -> None:
        """Forget the handlers: they hold LangGraph's run, with its whole state."""
        self._handlers.pop(name, None)

    def leave(self, run: Run) -> None:
        """Release a thread whose run ends with this step."""
        self._handlers.pop(run.name, None)
        run.leave()

    def _of(self, run: Run) -> PendingHandlers:
        found = self._handlers.get(run.name)
        if found is None:
            fresh = PendingHandlers(tools=self._tools, prepared=self._prepared)
            found = self._handlers.setdefault(run.name, fresh)
        return found
