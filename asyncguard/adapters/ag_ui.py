"""Guarded agents over AG-UI, the protocol of CopilotKit and others, by ``ag-ui-langgraph``.

That package turns LangChain's callbacks into AG-UI's events. It does not read LangGraph's stream
``custom``, takes the end of every attempt for the result of its call, and shows the runtime's own
messages as if users and tools had written them. This module stands on both sides of it:
:class:`_Streamed` is the graph that it is given, and :class:`AgUiAgent` passes its events on.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ag_ui.core import (
    EventType,
    ResumeEntry,
    RunAgentInput,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core import ToolMessage as AGUIToolMessage
from ag_ui_langgraph import LangGraphAgent  # type: ignore[import-untyped]
from ag_ui_langgraph.utils import agui_messages_to_langchain  # type: ignore[import-untyped]
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from asyncguard.adapters.answer_log import answered_questions
from asyncguard.adapters.langgraph_internals import INTERRUPT_ID
from asyncguard.adapters.messages.late_results import parts_of
from asyncguard.adapters.messages.markers import as_a_tools, is_ours, mark
from asyncguard.adapters.messages.render import MessageRenderer, text_of
from asyncguard.adapters.messages.sanitize import plain_text
from asyncguard.adapters.thread_id import check_stores_threads
from asyncguard.adapters.threads.checkpoints import stored
from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.event_codec import from_json
from asyncguard.core.ledger import Ledger
from asyncguard.core.resume_policy import ANSWERED
from asyncguard.core.scoreboard import Scoreboard

_UNREADABLE = "(the result cannot be read)"
"""Shown in place of the results of a message whose parts do not match its calls."""
_OPEN = frozenset(state.value for state in OPEN_STATES)
_TOOL_ERRORS = (CallState.FAILED, CallState.IN_DOUBT)
_SHOWN = (None, "interim", "question", "ended")
"""Kinds of the messages for users: what they or the model have said, and why a run ended."""
_CALL = "asyncguard.call"
_PATIENCE = 5.0
"""Seconds that a run waits for one whose client has left, which stores its last step."""
_OPENING = (EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END)


def shown_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a history as a user interface shows it, without the messages written for the model.

    A call has a tool message once its result is there: the late result stands in the place of the
    placeholder or the doubt, marked as if it had come at once, and a placeholder without one is
    left out. A call that was not run does not count as an error of its tool.

    Args:
        messages: Of the state.
    """
    late: dict[str, _Late] = {}
    for message in messages:
        data = _data(message)
        if data.get("kind") not in ("results", "pair"):
            continue
        if data["kind"] == "results":
            texts = _texts(message, data)
        else:
            texts = _pair_texts(messages, message, data)
        # Messages of older releases have no states.
        states = dict(zip(data.get("tool_call_ids", ()), data.get("states", ()), strict=False))
        late |= {call: _Late(states.get(call, "done"), text) for call, text in texts.items()}
    shown: list[AnyMessage] = []
    synthetic: set[str] = set()
    for message in messages:
        kind = _data(message).get("kind")
        if kind == "pair":
            synthetic |= {str(call["id"]) for call in getattr(message, "tool_calls", ())}
        elif isinstance(message, ToolMessage):
            if message.tool_call_id not in synthetic:
                shown += _answer(message, kind, late)
        elif kind in _SHOWN:
            shown.append(message)
    return shown


def _data(message: AnyMessage) -> Mapping[str, Any]:
    data = message.additional_kwargs.get("lc_data") if is_ours(message) else None
    return data if isinstance(data, dict) else {}


def _texts(message: AnyMessage, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the late results of a message, by the ids of the model's own calls."""
    ids = data.get("tool_call_ids", ())
    parts = [_words(part.content) for part in parts_of(message.content)]
    # Other middleware may have changed the message. No result is better than that of another call.
    return dict(
        zip(ids, parts if len(parts) == len(ids) else [_UNREADABLE] * len(ids), strict=True)
    )


def _words(content: Any) -> str:
    """Return a result in the protocol's form; a block without text as JSON."""
    blocks = content if isinstance(content, list) else [content]
    texts = [
        block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
        for block in blocks
    ]
    return "".join(
        text if isinstance(text, str) else json.dumps(block, default=str)
        for text, block in zip(texts, blocks, strict=True)
    )


def _pair_texts(
    messages: Sequence[AnyMessage], pair: AnyMessage, data: Mapping[str, Any]
) -> dict[str, str]:
    """Return the results of the pair style, by the ids of the model's own calls."""
    made = [str(call["id"]) for call in getattr(pair, "tool_calls", ())]
    texts = {
        each.tool_call_id: _words(each.content)
        for each in messages
        if isinstance(each, ToolMessage)
    }
    ids = zip(data.get("tool_call_ids", ()), made, strict=False)
    return {own: texts[synthetic] for own, synthetic in ids if synthetic in texts}


class _Late(NamedTuple):
    """Late result of a call."""

    state: str
    text: str

    def in_place_of(self, message: ToolMessage) -> ToolMessage:
        status = "error" if self.state in _TOOL_ERRORS else "success"
        shown: ToolMessage = as_a_tools(message)
        shown = shown.model_copy(update={"content": self.text, "status": status})
        if self.state == CallState.IN_DOUBT:
            shown.additional_kwargs = shown.additional_kwargs | mark("in_doubt")
        return shown


def _answer(message: ToolMessage, kind: Any, late: Mapping[str, _Late]) -> list[AnyMessage]:
    if kind in ("placeholder", "in_doubt") and message.tool_call_id in late:
        return [late[message.tool_call_id].in_place_of(message)]
    if kind == "placeholder":
        return []
    if kind == "not_executed":
        return [message.model_copy(update={"status": "success"})]
    if isinstance(message.content, str):
        return [message]
    # `ag-ui-langgraph` would show the first block of text alone.
    return [message.model_copy(update={"content": _words(message.content)})]


def _with_untold(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the history with the ends that wait for the model's next turn, as the cards have them.

    Of a result larger than the default of ``max_output_bytes`` it is the beginning: no state holds
    the agent's own limit.
    """
    if "asyncguard" not in state:
        return list(state["messages"])  # other middleware asked before the guard's first step
    ledger = Ledger()
    for event in state.get("ledger") or ():
        ledger.apply(from_json(event))
    board = Scoreboard(config=GuardConfig(), ledger=ledger)
    texts = MessageRenderer(board, {}, state["asyncguard"]["nonce"])
    ended = {
        record.call.call_id: texts.ended(record).model_copy(
            update={"id": _result_id(record.call.call_id)}
        )
        for record in [*ledger.unanswered(), *ledger.news()]
        if not record.open
    }
    answers = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    answered = {message.tool_call_id for message in answers}
    history: list[AnyMessage] = []
    for message in state["messages"]:
        own = ended.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
        history.append(own or message)
        made = message.tool_calls if isinstance(message, AIMessage) else ()
        history += [
            ended[call["id"]] for call in made if call["id"] in ended and call["id"] not in answered
        ]
    return history


def _result_id(call_id: str) -> str:
    return f"result-{call_id}"


class _Streamed:
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
        history = _with_untold(state.values) if state.interrupts else state.values["messages"]
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
        if answer is None or _by_id(answer) or len(before.interrupts) < 2:
            return given
        # LangGraph refuses an answer without a name even if all of them are answered.
        left = (await self._unanswered(before)).interrupts or before.interrupts[:1]
        return replace(given, resume={left[0].id: answer}) if len(left) == 1 else given

    async def aupdate_state(self, config: RunnableConfig, *_: Any, **__: Any) -> RunnableConfig:
        """Return the checkpoint itself, before which ``ag-ui-langgraph`` wants to fork the thread.

        The run forks it by its input, once it has the thread: one that is refused leaves nothing.
        """
        return config

    @staticmethod
    def _says_nothing_new(given: Mapping[str, Any], state: StateSnapshot) -> bool:
        """Return True if an input is of a client that lost a run: it sends the same once more.

        The protocol has no way to go on, or to look, without an input.
        """
        texts = {each.id: text_of(each.content) for each in state.values.get("messages", ())}
        sent = convert_to_messages(given.get("messages") or [])
        opened = {
            event["task"]: event["goal"]
            for event in state.values.get("ledger") or ()
            if event["kind"] == ev.TaskOpened.kind
        }
        rest = given.keys() - {"messages", "tasks"}
        return (
            bool(texts)
            and all(texts.get(each.id) == text_of(each.content) for each in sent)
            and all(_is_open(task, opened) for task in given.get("tasks") or ())
            and all(given[name] == state.values.get(name) for name in rest if given[name])
        )

    async def astream_events(self, input: Any, **options: Any) -> AsyncIterator[Any]:  # noqa: A002
        """Yield LangChain's events, with those of the stream ``custom`` as custom events.

        Keys that ``ag-ui-langgraph`` adds to each input are left out.
        """
        given = input
        before = await self._graph.aget_state(ensure_config(options.get("config")))
        if isinstance(given, dict):
            given = {name: given[name] for name in given if name in self._graph.channels}
            if self._says_nothing_new(given, before):
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
                yield {**event, "event": "on_custom_event", "name": _KNOWN, "data": known}
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
                event = {**event, "event": "on_custom_event", "name": _MADE, "data": made}
            elif event["event"] == "on_chain_end" and isinstance(event["data"].get("output"), dict):
                # Only snapshots of states within a run would show these messages, as they are.
                output = {**event["data"]["output"]}
                output.pop("messages", None)
                event = {**event, "data": {**event["data"], "output": output}}
            yield event


def _by_id(answer: Any) -> bool:
    return isinstance(answer, dict) and all(INTERRUPT_ID.fullmatch(str(name)) for name in answer)


def _is_open(task: Any, opened: Mapping[str, str]) -> bool:
    """Return True if a task of an input was opened with this goal, by the ids of the thread."""
    if isinstance(task, str):
        return plain_text(task) in opened.values()
    if not isinstance(task, Mapping) or "id" not in task:
        return False
    return opened.get(task["id"]) == plain_text(str(task.get("goal")))


_MADE = "asyncguard.made"
"""Event that carries the calls of a message to :class:`AgUiAgent`, and no further."""
_KNOWN = "asyncguard.known"
"""Event that carries the calls that a thread has had before the run; as :data:`_MADE`."""


def _contents(messages: Sequence[AnyMessage]) -> dict[str | None, str]:
    """Return the contents of messages by their ids."""
    return {each.id: json.dumps(each.content, sort_keys=True, default=str) for each in messages}


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


class _Inner(LangGraphAgent):  # type: ignore[misc]
    """``ag-ui-langgraph`` with snapshots where a question is sent again, and own ids of texts."""

    async def prepare_stream(self, *given: Any, **named: Any) -> Any:
        """See ``ag-ui-langgraph``, which has events, and no stream, for an open question."""
        state = named["input"].state
        stored = named["agent_state"].values.get("messages") or ()
        self.has = _contents(stored)
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
        """Return the messages of a client that say what its thread does not know.

        A client that lost a run may have an older copy than the thread: messages that were
        summarised or edited since. They count neither as new nor as edited, but for the last one,
        which may be an edit back to what it was.
        """
        sent: list[AnyMessage] = agui_messages_to_langchain(messages)
        news = [each for each in sent if not _contents([each]).items() <= self.has.items()]
        if not self._may_be_old(sent, news, stored):
            return news
        worked_on: set[tuple[str | None, str]] = set()
        async for state in self.graph.aget_state_history(config):
            known = state.values.get("messages") or ()
            answers = [at for at, each in enumerate(known) if isinstance(each, AIMessage)]
            worked_on.update(_contents(known[: max(answers, default=0)]).items())
        return [
            each
            for each in news
            if not _contents([each]).items() <= worked_on
            or (each is sent[-1] and each.id in self.has)
        ]

    def _may_be_old(
        self, sent: Sequence[AnyMessage], news: Sequence[AnyMessage], stored: Sequence[AnyMessage]
    ) -> bool:
        """Return False if a client has simply gone on from what the thread has.

        Else the thread's history has to be read.
        """
        if not news or not self.has:
            return False
        first = len(sent) - len(news)
        if sent[first:] != news or any(each.id in self.has for each in news[:-1]):
            return True
        cut = any(each.additional_kwargs.get("lc_source") == "summarization" for each in stored)
        # Some clients send only what is new.
        return first == 0 and (cut or len(news) > 1)

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
            update = {"cancel": self.cancelled, "messages": self._said_with(input.resume)}
            update = {name: value for name, value in update.items() if value}
            input = replace(input, update=update or None)  # noqa: A001
        return super().get_stream_kwargs(input=input, **named)

    def _said_with(self, answer: Any) -> list[AnyMessage]:
        """Return the new messages beside an answer, none if it leaves a question open.

        They would be messages instead of that answer, and withdraw what it is about.
        """
        answered = self.asked & answer.keys() if _by_id(answer) else self.asked
        if not self.asked or answered != self.asked or not (_by_id(answer) or len(answered) == 1):
            return []
        return [each for each in self.sent if each.id not in self.has and text_of(each.content)]

    def _get_or_pin_text_message_id(self, fallback_id: str, node: str | None = None) -> str:
        """Return the id of the message that a text belongs to, as the state has it.

        ``ag-ui-langgraph`` shows all texts of one visit of a node under the id of the first. In a
        graph whose model is called again at once, that one may be replaced: see ``TextEvent``.
        """
        own: str = self._resolve_public_message_id(fallback_id)
        return own


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
        self._inner: Any = _Inner(
            name=name,
            graph=_Streamed(graph),
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
        read = given.model_copy(update={"messages": said, "resume": _answers(given.resume)})
        if (left := self._left.get(given.thread_id)) is not None:
            await asyncio.wait([left], timeout=_PATIENCE)
        cards, events = _Cards(), asyncio.Queue[Any]()
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


def _answers(given: Sequence[ResumeEntry] | None) -> list[ResumeEntry] | None:
    """Return the answers of a client as one, which LangGraph gives to the interrupts by their ids.

    ``ag-ui-langgraph`` hands several answers, or a cancelled one, to every open question in a form
    of its own, and a single one to any question, also to a later one than it was meant for.
    """
    named: dict[str, Any] = {}
    for each in given or ():
        # LangGraph gives a mapping with any other key to the open question as it is, which
        # could name its calls.
        if INTERRUPT_ID.fullmatch(each.interrupt_id):
            payload = each.payload if each.status == "resolved" else False
            # Two answers that differ are none.
            named[each.interrupt_id] = (
                payload if named.get(each.interrupt_id, payload) == payload else False
            )
    if not given or not named:
        return None
    return [given[0].model_copy(update={"status": "resolved", "payload": named})]


class _Cards:
    """Tool cards of one run, as the client is told of them."""

    def __init__(self) -> None:
        self._guarded: set[str] = set()
        """Calls whose ends the guard tells: what a tool's callback tells is that of an attempt."""
        self._told: set[str] = set()
        """Calls that have their result: clients append each one that they are sent."""
        self._results: dict[str, Any] = {}
        """Results that this run has told. In ``create_agent`` no state has a late one that ends
        after the last checkpoint, before the run stops."""
        self._held: dict[str, list[Any]] = {}
        """Openings of cards from messages that are not streamed, by the ids of their calls.

        A card opens when the guard tells of its call. It tells of no call that is a structured
        answer, which ``hold_text`` keeps back until it is accepted; then the snapshot has it.
        """

    def pass_on(self, event: Any) -> list[Any]:
        """Return the events for the client in place of one of ``ag-ui-langgraph``."""
        if event.type in _OPENING:
            # It leaves out arguments that come in one piece with the tool's name: see _MADE.
            return []
        if event.type == EventType.TOOL_CALL_RESULT and event.tool_call_id in self._guarded:
            return []
        if event.type == EventType.MESSAGES_SNAPSHOT:
            return [event.model_copy(update={"messages": self._completed(event.messages)})]
        if event.type != EventType.CUSTOM:
            return [event]
        if event.name == _MADE:
            cards = {str(call["id"]): _opening(event, call) for call in event.value["calls"]}
            if event.value["held"]:
                self._held |= cards
                return []
            return [opened for opening in cards.values() for opened in opening]
        if event.name == _KNOWN:
            self._guarded.update(event.value)
            self._told.update(call for call, ended in event.value.items() if ended)
            return []
        if event.name == _CALL:
            call_id = event.value["tool_call_id"]
            self._guarded.add(call_id)
            result = [] if call_id in self._told else _result(event.value)
            self._results.update((each.tool_call_id, each) for each in result)
            self._told.update(self._results)
            return [*self._held.pop(call_id, ()), event, *result]
        return [event]

    def _completed(self, messages: Sequence[Any]) -> list[Any]:
        """Return the messages of a snapshot, with the results that no state holds yet."""
        left = {**self._results}
        for each in messages:
            left.pop(getattr(each, "tool_call_id", None) or "", None)
        whole: list[Any] = []
        for each in messages:
            made = [call.id for call in getattr(each, "tool_calls", None) or ()]
            results = [left[call] for call in made if call in left]
            whole += [each, *(_message_of(result) for result in results)]
        return whole


def _message_of(result: ToolCallResultEvent) -> AGUIToolMessage:
    return AGUIToolMessage(
        id=result.message_id,
        role="tool",
        content=result.content,
        tool_call_id=result.tool_call_id,
    )


def _opening(event: Any, call: Mapping[str, Any]) -> list[Any]:
    """Return the events that open the card of a call."""
    call_id, arguments = str(call["id"]), json.dumps(call["args"], default=str)
    return [
        ToolCallStartEvent(
            tool_call_id=call_id,
            tool_call_name=call["name"],
            parent_message_id=event.value["message_id"],
        ),
        ToolCallArgsEvent(tool_call_id=call_id, delta=arguments),
        ToolCallEndEvent(tool_call_id=call_id),
    ]


def _result(card: Mapping[str, Any]) -> list[Any]:
    """Return the result of a call that has ended, none for an open one."""
    if card["state"] in _OPEN:
        return []
    # Of an answer that other middleware wrote, such as a reviewer's, the words alone.
    reason = card["reason"].removeprefix(f"{ANSWERED}: ")
    content = reason if card["content"] is None else card["content"]
    return [
        ToolCallResultEvent(
            tool_call_id=card["tool_call_id"],
            message_id=_result_id(card["tool_call_id"]),
            content=_words(content),
            role="tool",
        )
    ]
