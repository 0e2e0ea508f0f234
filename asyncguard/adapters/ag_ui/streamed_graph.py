"""The graph of a guarded agent, as ``ag-ui-langgraph`` runs and reads it."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from asyncguard.adapters.ag_ui.client_input import is_by_id, says_nothing_new
from asyncguard.adapters.ag_ui.shown import shown_messages, with_untold
from asyncguard.adapters.answer_log.index import answered_questions
from asyncguard.adapters.threads.checkpoints import stored
from asyncguard.core import events as ev

MADE = "asyncguard.made"
"""Event that carries the calls of a message to the agent of AG-UI, and no further."""
KNOWN = "asyncguard.known"
"""Event that carries the calls that a thread has had before the run; as :data:`MADE`."""


class StreamedGraph:
    """Graph as ``ag-ui-langgraph`` sees it; what is not here is the graph's own."""

    def __init__(self, graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def aget_state(self, config: RunnableConfig, **options: Any) -> Any:
        """Return the state with the messages that are shown, and the questions that are open.

        See :func:`shown_messages`.
        """
        state = await self._graph.aget_state(config, **options)
        if state.interrupts:
            state = await self._unanswered(state)
        if "messages" not in (state.values or {}):
            return state
        history = with_untold(state.values) if state.interrupts else state.values["messages"]
        values = {**state.values, "messages": shown_messages(history)}
        return state._replace(values=values)

    async def _unanswered(self, state: StateSnapshot) -> StateSnapshot:
        """Leave out questions that were answered in a run that did not store its step.

        A client that lost that run is not asked again: the next one goes on with the answer, which
        may have had effects.
        """
        found = await stored(self._graph.checkpointer, state.config)
        answered = [] if found is None else answered_questions(found)
        tasks = tuple(
            task._replace(
                interrupts=tuple(each for each in task.interrupts if each not in answered)
            )
            for task in state.tasks
        )
        left = tuple(each for task in tasks for each in task.interrupts)
        return state._replace(tasks=tasks, interrupts=left)

    async def _named(self, given: Command[Any], before: StateSnapshot) -> Command[Any]:
        """Give an answer without a name to the question that is open, beside an answered one."""
        answer = given.resume
        if answer is None or is_by_id(answer) or len(before.interrupts) < 2:
            return given
        # LangGraph refuses an answer without a name even if all of them are answered.
        left = (await self._unanswered(before)).interrupts or before.interrupts[:1]
        return replace(given, resume={left[0].id: answer}) if len(left) == 1 else given

    async def aupdate_state(self, config: RunnableConfig, *_: Any, **__: Any) -> RunnableConfig:
        """Return the checkpoint itself, before which ``ag-ui-langgraph`` wants to fork the thread.

        The run forks it by its input, once it has the thread: one that is refused leaves nothing.
        """
        return config

    async def astream_events(self, input: Any, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """Yield LangChain's events, with those of the stream ``custom`` as custom events.

        Keys that ``ag-ui-langgraph`` adds to each input are left out.
        """
        given = input
        before = await self._graph.aget_state(ensure_config(options.get("config")))
        if isinstance(given, dict):
            given = {name: given[name] for name in given if name in self._graph.channels}
            if says_nothing_new(given, before.values):
                # Not `next`, which is empty between the writes of a step and its checkpoint.
                if not before.tasks:
                    return  # The run has ended unseen; a snapshot of the thread follows.
                given = None
        elif isinstance(given, Command):
            given = await self._named(given, before)
        options["stream_mode"] = ["custom"]
        # create_agent leaves this to each call, and a client could lose a card that it was shown.
        options["durability"] = "sync"
        known: Mapping[str, bool] | None = _known_calls(before.values)
        async for event in self._graph.astream_events(given, **options):
            if known is not None:
                yield {**event, "event": "on_custom_event", "name": KNOWN, "data": known}
                known = None
            chunk = event["data"].get("chunk") if event["event"] == "on_chain_stream" else None
            if isinstance(chunk, tuple) and chunk[-2:-1] == ("custom",):
                told = chunk[-1]
                name = told.get("type") if isinstance(told, dict) else None
                event = {**event, "event": "on_custom_event", "name": name or "custom"}
                event["data"] = told
            elif event["event"] == "on_chat_model_end":
                yield event  # first: it closes the text of the message
                said = event["data"].get("output")
                made = {"message_id": getattr(said, "id", None)}
                made["calls"] = [call for call in getattr(said, "tool_calls", ()) if call["id"]]
                made["held"] = TAG_NOSTREAM in (event.get("tags") or ())
                event = {**event, "event": "on_custom_event", "name": MADE, "data": made}
            elif event["event"] == "on_chain_end" and isinstance(event["data"].get("output"), dict):
                # Only snapshots of states within a run would show these messages, as they are.
                output = {**event["data"]["output"]}
                output.pop("messages", None)
                event = {**event, "data": {**event["data"], "output": output}}
            yield event


def _known_calls(state: Mapping[str, Any]) -> dict[str, bool]:
    """Return the guarded calls of a thread by their ids: True if one has ended after it was run.

    That end was told by the run that stored it. A doubt may be resolved later.
    """
    ids: dict[str, str] = {}
    known: dict[str, bool] = {}
    for event in state.get("ledger") or ():
        if event["kind"] == ev.CallProposed.kind:
            ids[event["call"]["key"]] = event["call"]["call_id"]
            known[event["call"]["call_id"]] = False
        elif event["kind"] == ev.CallRetired.kind:
            known[ids[event["key"]]] = True
    return known
