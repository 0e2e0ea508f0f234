"""The agent of ``ag-ui-langgraph``, with what it leaves out of a client's input."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ag_ui_langgraph import LangGraphAgent  # type: ignore[import-untyped]
from ag_ui_langgraph.utils import agui_messages_to_langchain  # type: ignore[import-untyped]
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from asyncguard.adapters.ag_ui.client_input import (
    contents_of,
    may_be_old,
    said_beside,
    still_new,
    unknown,
    worked_on,
)


class InnerAgent(LangGraphAgent):  # type: ignore[misc]
    """Agent of ``ag-ui-langgraph`` that reads all of an input that is new, and nothing else.

    It also sends snapshots where a question is sent again, and shows texts under their own ids.
    """

    async def prepare_stream(self, *given: Any, **named: Any) -> Any:
        """See ``ag-ui-langgraph``, which has events, and no stream, for an open question."""
        state = named["input"].state
        stored = named["agent_state"].values.get("messages") or ()
        self.has = contents_of(stored)
        self.asked = {each.id for each in named["agent_state"].interrupts}
        self.edited: str | None = None
        self.sent = await self._news(named["input"].messages, stored, named["config"])
        ids = {each.id for each in self.sent}
        news = [each for each in named["input"].messages if each.id in ids]
        named["input"] = named["input"].model_copy(update={"messages": news})
        self.cancelled = state.get("cancel") if isinstance(state, dict) else None
        # For a client that names a node it would write the client's state as that node's, unread.
        self.active_run["mode"] = "start"
        prepared = await super().prepare_stream(*given, **named)
        if again := prepared.get("events_to_dispatch"):
            config = named["config"]
            again[1:1] = [each async for each in self.get_state_and_messages_snapshots(config)]
        return prepared

    async def _news(
        self, messages: Sequence[Any], stored: Sequence[AnyMessage], config: RunnableConfig
    ) -> list[AnyMessage]:
        """Return the messages of a client that say what its thread does not know."""
        sent: list[AnyMessage] = agui_messages_to_langchain(messages)
        news = unknown(sent, self.has)
        if not may_be_old(sent, news, stored):
            return news
        done: set[tuple[str | None, str]] = set()
        async for state in self.graph.aget_state_history(config):
            done |= worked_on(state.values.get("messages") or ())
        return still_new(sent, news, stored, done)

    async def prepare_regenerate_stream(self, **named: Any) -> Any:
        """See ``ag-ui-langgraph``, which goes back to before an edited message."""
        self.edited = named["message_checkpoint"].id
        return await super().prepare_regenerate_stream(**named)

    def langgraph_default_merge_state(
        self,
        state: Any,
        messages: Any,
        input: Any,  # noqa: A002
    ) -> Any:
        """See ``ag-ui-langgraph``, which leaves out what is sent beside an edited message."""
        if self.edited is None:
            return super().langgraph_default_merge_state(state, messages, input)
        later = self.sent[[each.id for each in self.sent].index(self.edited) + 1 :]
        tasks = (input.state or {}).get("tasks")
        beside = {**state, "tasks": tasks} if tasks else state
        return super().langgraph_default_merge_state(beside, [*messages, *later], input)

    def get_stream_kwargs(self, input: Any, **named: Any) -> Any:  # noqa: A002
        """See ``ag-ui-langgraph``, which leaves out what is sent beside an answer."""
        if isinstance(input, Command):
            said = said_beside(input.resume, self.asked, self.sent, self.has)
            update = {"cancel": self.cancelled, "messages": said}
            update = {name: value for name, value in update.items() if value}
            input = replace(input, update=update or None)  # noqa: A001
        return super().get_stream_kwargs(input=input, **named)

    def _get_or_pin_text_message_id(self, fallback_id: str, node: str | None = None) -> str:
        """Return the id of the message that a text belongs to, as the state has it.

        ``ag-ui-langgraph`` shows all texts of one visit of a node under the id of the first. In a
        graph whose model is called again at once, that one may be replaced: see ``TextEvent``.
        """
        own: str = self._resolve_public_message_id(fallback_id)
        return own
