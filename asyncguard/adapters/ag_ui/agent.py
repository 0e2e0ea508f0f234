"""The agent that an endpoint of AG-UI serves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from asyncguard.adapters.ag_ui.cards import Cards
from asyncguard.adapters.ag_ui.client_input import as_one_answer
from asyncguard.adapters.ag_ui.inner_agent import InnerAgent
from asyncguard.adapters.ag_ui.streamed_graph import StreamedGraph
from asyncguard.adapters.thread_id import check_stores_threads

_PATIENCE = 5.0
"""Seconds that a run waits for one whose client has left, which stores its last step."""


class AgUiAgent:
    """Guarded agent for AG-UI: ``add_langgraph_fastapi_endpoint(app, AgUiAgent(...), "/")``.

    A card starts with the model's call, is followed by ``CUSTOM`` events of the name
    ``asyncguard.call``, and gets its ``TOOL_CALL_RESULT`` when the call has ended: late results
    included, once for each call over all runs, with the reason as content if the guard held it
    back. A doubt that is resolved later has its new text in the snapshot. All other events for
    user interfaces (:data:`UIEvent`) are ``CUSTOM`` events of their type's name.

    The conversation is the thread's state. Of the messages that a client sends, only those of its
    user are read, so a client cannot add results of tools.

    A run that asks a person, or parks, ends with a ``CUSTOM`` event ``on_interrupt``, and with the
    interrupts as the outcome of ``RUN_FINISHED`` if ``emit_interrupt_outcome=True`` is passed. The
    next run answers with ``resume`` of the protocol. An answer reaches the interrupt that it names
    and no other; a cancelled one refuses all that was asked.
    """

    def __init__(
        self,
        *,
        name: str,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        description: str | None = None,
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> None:
        """Prepare an agent.

        Args:
            name: Name of the agent.
            graph: Agent of ``build_agent`` or ``create_agent``, with a checkpointer.
            description: What the agent is for.
            config: Configuration of its runs.
            options: Further arguments of ``ag_ui_langgraph.LangGraphAgent``.

        Raises:
            CallerError: ``graph`` is not a compiled graph, or has no checkpointer.
        """
        check_stores_threads("AgUiAgent", graph, named="graph")
        self.name = name
        self.description = description
        # Events of LangGraph itself hold the thread's private state.
        settings = {**options, "emit_raw_events": False}
        self._inner: Any = InnerAgent(
            name=name,
            graph=StreamedGraph(graph),
            description=description,
            config=config,
            **settings,
        )
        self._left: dict[str, asyncio.Task[None]] = {}
        """Runs that end because their client has left, by thread."""

    def clone(self) -> "AgUiAgent":
        """Return an agent for one request; the endpoint asks for it."""
        other = object.__new__(AgUiAgent)
        other.name, other.description = self.name, self.description
        other._inner, other._left = self._inner.clone(), self._left
        return other

    async def run(self, given: RunAgentInput) -> AsyncIterator[Any]:
        """Run the agent.

        Args:
            given: Input of the protocol; ``state`` may hold ``tasks`` and ``cancel``.

        Yields:
            AG-UI's events.
        """
        said = [message for message in given.messages if message.role == "user"]
        read = given.model_copy(update={"messages": said, "resume": as_one_answer(given.resume)})
        if (left := self._left.get(given.thread_id)) is not None:
            await asyncio.wait([left], timeout=_PATIENCE)
        cards, events = Cards(), asyncio.Queue[Any]()
        following = asyncio.create_task(_follow(self._inner.run(read), events))
        try:
            while (event := await events.get()) is not None:
                for passed in cards.pass_on(event):
                    yield passed
            await following
        finally:
            if following.cancel():
                self._left[given.thread_id] = following
                following.add_done_callback(lambda ended: self._forget(given.thread_id, ended))

    def _forget(self, thread: str, ended: asyncio.Task[None]) -> None:
        if self._left.get(thread) is ended:
            del self._left[thread]
        if not ended.cancelled():
            ended.exception()  # read, as there is no client to tell


async def _follow(run: AsyncIterator[Any], events: asyncio.Queue[Any]) -> None:
    """Put the events of a run into a queue, and ``None`` at its end.

    It is a task of its own, since a server cancels the answer to a client that has left at every
    step of its clean-up: the run would keep its thread for ever.
    """
    try:
        async for event in run:
            events.put_nowait(event)
    finally:
        events.put_nowait(None)
