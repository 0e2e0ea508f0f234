"""Writing to the model: answers, placeholders, late results.

Every call is answered once, by a ToolMessage directly behind the message that made it: with its result if that is there
when the model gets its next turn, else with a placeholder. What ends later is told by a notification. Providers refuse
a second ToolMessage for one call, or drop it silently; so there is never one.

Tool output is data: it stands between delimiters that carry a nonce of the thread, and the nonce is taken out of
everything a tool or a user says, so that neither can forge a delimiter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    add_notification_metadata,
    get_notification_metadata,
)
from langgraph.types import Command

from asyncguard.adapters.messages.sanitize import limited, plain_content, plain_text
from asyncguard.adapters.messages.tags import MARK, without
from asyncguard.adapters.state import read_messages
from asyncguard.config import NewsStyle
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.scheduling import deliverable, held_back
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError

SOURCE = "asyncguard"
"""``lc_source`` of every message that the runtime adds."""
_OURS = frozenset({"lc_source", "lc_data"})
"""Where a message says that the runtime wrote it; a tool's message may not."""


@dataclass(kw_only=True)
class Delivery:
    """What is written in one go."""

    messages: list[AnyMessage] = field(default_factory=list)
    """In order: answers of the last message, then news."""
    updates: list[Any] = field(default_factory=list)
    """Commands of tools, without their own messages."""
    told: list[str] = field(default_factory=list)
    """Keys of the calls whose end is told."""
    placeholders: list[str] = field(default_factory=list)
    """Keys of the calls that are answered by a placeholder."""


class MessageRenderer:
    """Writes for one thread; records nothing."""

    def __init__(self, board: Scoreboard, raw: Mapping[str, Any], nonce: str) -> None:
        """Make a writer.

        Args:
            board: The thread's calls, declarations and configuration.
            raw: Answers of tools as they came, by key of the call.
            nonce: The thread's secret part of the delimiters.
        """
        self._board = board
        self._raw = raw
        self._nonce = nonce
        self._config = board.config

    def deliver(self) -> Delivery:
        """Answer every unanswered call and tell the news that may be told."""
        delivery = Delivery()
        late = deliverable(self._board)
        for record in self._board.ledger.unanswered():
            self._add_answer(
                record, delivery, final=not record.open and not self._held_together(record)
            )
        self._add_news(late, delivery)
        return delivery

    def render_answer(self, record: CallRecord) -> Delivery:
        """Answer one call as :meth:`deliver` would: one message, and at most one update."""
        delivery = Delivery()
        # The model gets no turn before every foreground call is answered: its siblings need not be there already.
        alone = self._board.in_foreground(record.call.tool) or not self._held_together(record)
        self._add_answer(record, delivery, final=alone and not record.open)
        return delivery

    def news(self) -> Delivery:
        """Tell the late results that may be told now."""
        delivery = Delivery()
        self._add_news(deliverable(self._board), delivery)
        return delivery

    def _add_answer(self, record: CallRecord, delivery: Delivery, *, final: bool) -> None:
        (delivery.told if final else delivery.placeholders).append(record.key)
        delivery.messages.append(
            self._answer(record, delivery) if final else self._placeholder(record)
        )

    def _add_news(self, late: Sequence[CallRecord], delivery: Delivery) -> None:
        if late:
            delivery.messages += self._news(late, delivery)
            delivery.told += [record.key for record in late]

    def _held_together(self, record: CallRecord) -> bool:
        if record.state in (CallState.REJECTED, CallState.SQUASHED, CallState.CANCELLED):
            return False  # nothing came of it, and the model should know at once
        return held_back(record, self._board)

    # -- one call --------------------------------------------------------------------------------------------------

    def _answer(self, record: CallRecord, delivery: Delivery) -> ToolMessage:
        raw = self._raw.get(record.key)
        message, update = _split(raw, record.call.call_id)
        if update is not None:
            delivery.updates.append(self._shown_update(record, update))
        # A marked content is recovery's, not the tool's.
        if (
            message is None
            or record.mark
            or record.state not in (CallState.DONE, CallState.RESOLVED)
        ):
            told = self._tool_message(
                record, self.outcome_text(record), failed=not record.succeeded
            )
            if record.state is CallState.IN_DOUBT:
                # Whoever finds the answer without its event (a process that ended in between) must not take it for a
                # failure of the tool: it is the runtime's word, and the doubt stays.
                told.additional_kwargs = {"lc_source": SOURCE, "lc_data": {"kind": "in_doubt"}}
            return told
        content = self._shown(record, message.content)
        answer: ToolMessage = _as_a_tools(message)
        own = {
            "name": record.call.tool,
            "tool_call_id": record.call.call_id,
        }  # a tool may write any others
        if content is message.content and all(
            getattr(message, name) == value for name, value in own.items()
        ):
            return answer
        return answer.model_copy(update={"content": content, **own})

    def _placeholder(self, record: CallRecord) -> ToolMessage:
        label = record.call.label if self._config.ledger else record.call.tool
        match record.state:
            case CallState.DEFERRED:
                names = ", ".join(
                    self._board.ledger.record(key).call.label for key in record.blocked_by
                )
                text = (
                    f"{label} is accepted and waits for {names}; the runtime runs it then. "
                    "Do not repeat it: its result arrives in a later message."
                )
            case CallState.HELD:
                text = (
                    f"{label} waits for a person's approval. Its result arrives in a later message."
                )
            case _:
                text = (
                    f"{label} is running. Its result arrives in a later message: do not guess it and do not repeat "
                    "the call. Go on with other tasks meanwhile."
                )
        message = self._tool_message(record, text, failed=False)
        message.additional_kwargs = {"lc_source": SOURCE, "lc_data": {"kind": "placeholder"}}
        return message

    def outcome_text(self, record: CallRecord) -> Any:
        """What the model is told about an ended call: its result, or why there is none."""
        label = record.call.label
        match record.state:
            case CallState.DONE | CallState.RESOLVED:
                held = (
                    record.content
                    if record.content is not None
                    else "(the result is no longer held)"
                )
                return self._marked_content(record, self._shown(record, held))
            case CallState.FAILED if record.error == ErrorCode.TOOL_ERROR:
                return self._shown(record, record.content)
            case CallState.FAILED:
                return f"{label} failed: {self._shown(record, text_of(record.content))}"
            case CallState.IN_DOUBT:
                advice = "Do not repeat it; check its effect first or ask the user."
                said = self._shown(record, text_of(record.content))
                return f"It is not known whether {label} took effect. {advice}\n{said}"
            case CallState.REJECTED:
                return f"{label} was not run. {self._shown(record, record.reason)}"
            case _:
                return (
                    f"{label} was not run: {self._shown(record, record.reason)}. "
                    "Call it again if it is still wanted."
                )

    def _marked_content(self, record: CallRecord, content: Any) -> Any:
        """The content and what recovery says about it, which stands behind it and never looks like a part of it."""
        if not record.mark:
            return content
        note = f"{MARK} {self._shown(record, record.mark)}]"
        return (
            f"{content}\n{note}"
            if isinstance(content, str)
            else [*content, {"type": "text", "text": note}]
        )

    def _tool_message(self, record: CallRecord, content: Any, *, failed: bool) -> ToolMessage:
        return ToolMessage(
            content=content,
            tool_call_id=record.call.call_id,
            name=record.call.tool,
            status="error" if failed else "success",
        )

    def _shown_update(self, record: CallRecord, command: Any) -> Any:
        """A tool's command with the messages in it as the model may see them: they are the tool's words, too."""
        if not isinstance(command.update, dict) or "messages" not in command.update:
            return command
        try:
            messages = [
                self._shown_message(record, said)
                for said in read_messages(command.update["messages"])
            ]
        except CallerError:
            # The tool's effect has happened, and other tasks go on: its mistake does not end the run.
            text = f"{record.call.label} wanted to add messages that cannot be read; they were left out."
            messages = [note_for_model(text, "unreadable")]
        return Command(
            update={**command.update, "messages": messages}, goto=command.goto, graph=command.graph
        )

    def _shown_message(self, record: CallRecord, message: Any) -> Any:
        if not isinstance(message, BaseMessage):
            return message
        told, content = _as_a_tools(message), self._shown(record, message.content)
        return told if content is message.content else told.model_copy(update={"content": content})

    # -- late results ----------------------------------------------------------------------------------------------

    def _news(self, records: Sequence[CallRecord], delivery: Delivery) -> list[AnyMessage]:
        for record in records:
            _, update = _split(self._raw.get(record.key), record.call.call_id)
            if update is not None:
                delivery.updates.append(self._shown_update(record, update))
        if self._config.news_style is NewsStyle.PAIR:
            return self._pairs(records)
        blocks: list[Any] = []
        for record in records:
            head, foot = self._delimiters(record)
            content = self.outcome_text(record)
            if isinstance(content, str):
                blocks.append(f"{head}\n{content}\n{foot}")
            else:
                blocks += [head, *content, foot]
        message = HumanMessage(content=_joined(blocks))
        return [self._marked(message, "results", records)]

    def _pairs(self, records: Sequence[CallRecord]) -> list[AnyMessage]:
        calls: list[Any] = []
        answers: list[AnyMessage] = []
        for record in records:
            call_id = f"late_{record.key[:24]}"
            name = record.call.tool
            calls.append(
                {
                    "name": name,
                    "args": dict(record.call.arguments),
                    "id": call_id,
                    "type": "tool_call",
                }
            )
            answers.append(
                ToolMessage(content=self.outcome_text(record), tool_call_id=call_id, name=name)
            )
        kwargs = {
            "lc_source": SOURCE,
            "lc_data": {"kind": "pair", "calls": [record.key for record in records]},
        }
        return [AIMessage(content="", tool_calls=calls, additional_kwargs=kwargs), *answers]

    def _delimiters(self, record: CallRecord) -> tuple[str, str]:
        task = f' task="{record.call.task}"' if self._board.several_tasks else ""
        call = f' call="{record.call.label}"' if self._config.ledger else ""
        name = f"result-{self._nonce}"
        return (
            f'<{name}{call} tool="{record.call.tool}"{task} status="{record.state.value}">',
            f"</{name}>",
        )

    def _marked(
        self, message: HumanMessage, kind: str, records: Sequence[CallRecord]
    ) -> HumanMessage:
        return add_notification_metadata(
            message, source=SOURCE, data={"kind": kind, "calls": [record.key for record in records]}
        )

    # -- text ------------------------------------------------------------------------------------------------------

    def _clean(self, content: Any) -> Any:
        return plain_content(
            without(self._nonce, content)
        )  # in this order: what it puts in leaves ink

    def _shown(self, record: CallRecord, content: Any) -> Any:
        """The content as the model may see it: within the limit, and without what only the runtime may say.

        Cut first: a beginning of a text holds no mark that the text does not hold, and removal makes it shorter.
        """
        if self._config.capacity and not self._config.shadow:
            content = limited(content, self._config.limits.max_output_bytes, record.call.label)
        return self._clean(content)


def text_of(content: Any) -> str:
    """The text of a result or message content; blocks without text are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(
            str(block.get("text", "")) if isinstance(block, dict) else str(block)
            for block in content
        )
    return str(content)


def note_for_model(text: str, kind: str, *, message_id: str | None = None) -> HumanMessage:
    """A message of the runtime to the model which is no result: a reason, a reminder, a view."""
    said = plain_text(without("", text))  # a reason may quote a tool
    return add_notification_metadata(
        HumanMessage(content=said, id=message_id), source=SOURCE, data={"kind": kind}
    )


def is_ours(message: BaseMessage) -> bool:
    """Whether the runtime wrote the message. Anyone may set the mark: it decides about wording only, never trust."""
    found = get_notification_metadata(message)
    return found is not None and found["source"] == SOURCE


def is_results(message: BaseMessage) -> bool:
    """Whether the runtime wrote the message to tell late results between delimiters; see :func:`is_ours`."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "results"


def is_pair(message: BaseMessage) -> bool:
    """Whether the message is the synthetic call of the pair style."""
    data = message.additional_kwargs.get("lc_data") if isinstance(message, AIMessage) else None
    return isinstance(data, dict) and data.get("kind") == "pair"


def _joined(blocks: list[Any]) -> Any:
    if all(isinstance(block, str) for block in blocks):
        return "\n\n".join(blocks)
    return [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
    ]


def _as_a_tools(message: Any) -> Any:
    """A tool's message without the word that the runtime wrote it; the same object where it does not say so."""
    if _OURS.isdisjoint(message.additional_kwargs):
        return message
    kept = {name: value for name, value in message.additional_kwargs.items() if name not in _OURS}
    return message.model_copy(update={"additional_kwargs": kept})


def _split(raw: Any, call_id: str) -> tuple[ToolMessage | None, Any]:
    """A tool's raw answer as its ToolMessage and, for tools that return commands, the rest of the update."""
    if isinstance(raw, dict):  # of the answer of a process that is gone, its state update
        return None, Command(update=raw)
    for item in raw or ():
        if isinstance(item, ToolMessage):
            return item, None
        if isinstance(item, Command) and isinstance(item.update, dict):
            messages = item.update.get("messages", [])
            own = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id]
            rest = {key: value for key, value in item.update.items() if key != "messages"}
            others = [m for m in messages if not isinstance(m, ToolMessage)]
            update = {**rest, **({"messages": others} if others else {})}
            return (own[0] if own else None), Command(
                update=update, goto=item.goto, graph=item.graph
            )
    return None, None
