"""Renderer of messages to the model: answers, placeholders, late results.

Every call is answered once, by a ToolMessage directly after the message that made it: with its
result if that is there when the model gets its next turn, else with a placeholder. The result of a
call that ends later is delivered by a notification. Providers refuse a second ToolMessage for one
call, or drop it silently; so there is never one.

Tool output is data: it stands between delimiters that carry a nonce of the thread. The nonce is
removed from all output of tools and all words of users, so that neither can forge a delimiter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    ToolMessage,
)
from langgraph.types import Command

from asyncguard.adapters.messages.hand_over import command_of, is_kept_hand_over
from asyncguard.adapters.messages.late_results import delimited
from asyncguard.adapters.messages.markers import (
    as_a_tools,
    guard_of,
    identified,
    mark,
    note_for_model,
)
from asyncguard.adapters.messages.sanitize import limited, plain_content
from asyncguard.adapters.messages.tags import MARK, without
from asyncguard.adapters.state import read_messages
from asyncguard.config import NewsStyle
from asyncguard.core.calls import CallState, canonical_json
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.scheduling import deliverable, held_back
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError
from asyncguard.guards.call_names import labels

NOT_RUN = (CallState.REJECTED, CallState.SQUASHED, CallState.CANCELLED)
_DOES = {CallState.QUEUED: "is about to run", CallState.PENDING: "is running"}


@dataclass(kw_only=True)
class Delivery:
    """Messages and state updates that are written in one step."""

    messages: list[AnyMessage] = field(default_factory=list)
    """Messages in order: answers to the last message, then late results."""
    updates: list[Any] = field(default_factory=list)
    """Commands of tools, without their own messages."""
    told: list[str] = field(default_factory=list)
    """Keys of the calls whose end the messages deliver."""
    placeholders: list[str] = field(default_factory=list)
    """Keys of the calls that are answered by a placeholder."""


class MessageRenderer:
    """Renderer for one thread; it records nothing."""

    def __init__(self, board: Scoreboard, raw: Mapping[str, Any], nonce: str) -> None:
        """Store the sources of the texts.

        Args:
            board: Calls, declarations and configuration of the thread.
            raw: Unchanged answers of tools, by key of the call.
            nonce: Secret part of the thread's delimiters.
        """
        self._board = board
        self._raw = raw
        self._nonce = nonce
        self._config = board.config

    def deliver(self) -> Delivery:
        """Return answers to all unanswered calls, and the late results that are deliverable."""
        delivery = Delivery()
        late = deliverable(self._board)
        for record in self._board.ledger.unanswered():
            final = not record.open and not self._held_together(record)
            self._add_answer(record, delivery, final=final)
        self._add_news(late, delivery)
        return delivery

    def render_answer(self, record: CallRecord) -> Delivery:
        """Return the answer to one call as in :meth:`deliver`: one message, at most one update."""
        delivery = Delivery()
        # The model gets no turn before every foreground call is answered, so the siblings of a
        # foreground call need not have ended yet.
        alone = self._board.in_foreground(record.call.tool) or not self._held_together(record)
        self._add_answer(record, delivery, final=alone and not record.open)
        return delivery

    def ended(self, record: CallRecord) -> ToolMessage:
        """Return the answer to a call that has ended, also while the model may not be told it."""
        return self._answer(record, Delivery())

    def news(self) -> Delivery:
        """Return the late results that are deliverable now."""
        delivery = Delivery()
        self._add_news(deliverable(self._board), delivery)
        return delivery

    def _add_answer(self, record: CallRecord, delivery: Delivery, *, final: bool) -> None:
        (delivery.told if final else delivery.placeholders).append(record.key)
        delivery.messages.append(
            self._answer(record, delivery) if final else self._placeholder(record)
        )

    def _add_news(self, late: Sequence[CallRecord], delivery: Delivery) -> None:
        if not late:
            return
        for record in late:
            _, update = _split(self._raw.get(record.key), record.call.call_id)
            if update is not None:
                delivery.updates.append(self._shown_update(record, update))
        pairs = self._config.news_style is NewsStyle.PAIR
        delivery.messages += self._pairs(late) if pairs else [self._notification(late)]
        delivery.told += [record.key for record in late]

    def _held_together(self, record: CallRecord) -> bool:
        if record.state in NOT_RUN:
            return False  # it has no result to hold back, and the model should know at once
        return held_back(record, self._board)

    # -- one call --------------------------------------------------

    def _answer(self, record: CallRecord, delivery: Delivery) -> ToolMessage:
        raw = self._raw.get(record.key)
        message, update = _split(raw, record.call.call_id)
        if update is not None:
            delivery.updates.append(self._shown_update(record, update))
        # A content with a mark comes from recovery, not from the tool.
        succeeded = record.state in (CallState.DONE, CallState.RESOLVED)
        if message is None or record.mark or not succeeded:
            outcome = self._noted(record, self.outcome_text(record))
            rendered = self._tool_message(record, outcome, failed=not record.succeeded)
            if message is not None and message.status == "error":
                rendered.artifact = message.artifact
                rendered.additional_kwargs = as_a_tools(message).additional_kwargs
            if record.state is CallState.IN_DOUBT:
                # A process that finds the answer without its event must not read it as a failure of
                # the tool: the runtime wrote it, and the doubt remains.
                rendered.additional_kwargs = mark("in_doubt")
            elif record.state in NOT_RUN:
                guard = {"guard": found} if (found := guard_of(record)) else {}
                rendered.additional_kwargs = mark("not_executed", state=record.state.value, **guard)
            return rendered
        content = self.shown(record, message.content)
        answer: ToolMessage = as_a_tools(message)
        # A tool may have written any name or id into its message.
        own = {"name": record.call.tool, "tool_call_id": record.call.call_id}
        unchanged = all(getattr(message, name) == value for name, value in own.items())
        if content is message.content and unchanged:
            return answer
        return answer.model_copy(update={"content": content, **own})

    def _placeholder(self, record: CallRecord) -> ToolMessage:
        label = record.call.label if self._config.ledger else record.call.tool
        match record.state:
            case CallState.DEFERRED:
                awaited = map(self._board.ledger.record, record.blocked_by)
                names = labels(awaited, record.call.task)
                text = (
                    f"{label} is accepted and waits for {names}; the runtime runs it then. "
                    "Do not repeat it: its result arrives in a later message."
                )
            case CallState.HELD:
                text = (
                    f"{label} waits for a person's approval. Its result arrives in a later message."
                )
            case _:
                does = _DOES.get(record.state, "has ended")  # its result is held back for siblings
                text = (
                    f"{label} {does}. Its result arrives in a later message: do not guess it "
                    f"and do not repeat the call. {self._meanwhile(record.call.tool)}"
                )
        message = self._tool_message(record, self._edit_note(record) + text, failed=False)
        # The card of a call that has ended stays open, too: no message holds its result.
        state = record.state if record.open else CallState.PENDING
        message.additional_kwargs = mark("placeholder", state=state.value)
        return message

    def _noted(self, record: CallRecord, content: Any) -> Any:
        """Return a content after the note that a reviewer has edited the call, if one has."""
        if not (note := self._edit_note(record)):
            return content
        if isinstance(content, str):
            return note + content
        return [{"type": "text", "text": note.strip()}, *content]

    def _edit_note(self, record: CallRecord) -> str:
        if not record.edited:
            return ""
        call = record.call
        made = f"{call.tool}({canonical_json(record.effective_arguments)})"
        text = f"A reviewer replaced this call of yours by {made}; what follows is about that."
        return f"{self.shown(record, text)}\n"

    def _meanwhile(self, tool: str) -> str:
        """Return what the model can do while a call of a tool runs."""
        config = self._config
        on = config.premature and config.ledger and not config.shadow
        # Nothing waits for a tool of which every other declares that it takes nothing.
        needed = any(spec.may_take_from(tool) for spec in self._board.specs.values())
        if not (on and needed and self._board.several_tasks):
            return "Go on with other tasks meanwhile."
        return (
            "Further calls of this task wait for it; calls that do not need each other's results "
            "go in one message. Go on with other tasks meanwhile."
        )

    def outcome_text(self, record: CallRecord) -> Any:
        """Return the text for the model about an ended call: its result, or why there is none."""
        label = record.call.label
        match record.state:
            case CallState.DONE | CallState.RESOLVED:
                held = (
                    record.content
                    if record.content is not None
                    else "(the result is no longer held)"
                )
                return self._marked_content(record, self.shown(record, held))
            case CallState.FAILED if record.error == ErrorCode.TOOL_ERROR:
                return self.shown(record, record.content)
            case CallState.FAILED:
                return f"{label} failed: {self.shown(record, text_of(record.content))}"
            case CallState.IN_DOUBT:
                advice = "Do not repeat it; check its effect first or ask the user."
                said = self.shown(record, text_of(record.content))
                return f"It is not known whether {label} took effect. {advice}\n{said}"
            case CallState.REJECTED:
                return f"{label} was not run. {self.shown(record, record.reason)}"
            case _:
                return (
                    f"{label} was not run: {self.shown(record, record.reason)}. "
                    "Call it again if it is still wanted."
                )

    def _marked_content(self, record: CallRecord, content: Any) -> Any:
        """Return the content, followed by recovery's note in a form that content cannot forge."""
        if not record.mark:
            return content
        note = f"{MARK} {self.shown(record, record.mark)}]"
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
        """Return a tool's command with sanitized messages: they are output of the tool, too."""
        if not isinstance(command.update, dict) or "messages" not in command.update:
            return command
        if command.graph is not None:
            return command  # of another graph's conversation, whose messages stay what they are
        messages: list[AnyMessage] = []
        try:
            for said in read_messages(command.update["messages"]):
                own, content = as_a_tools(said), self.shown(record, said.content)
                same = content is said.content
                messages.append(own if same else own.model_copy(update={"content": content}))
        except CallerError:
            # The tool's effect has happened, and other tasks continue: its mistake must not end the
            # run.
            text = (
                f"{record.call.label} wanted to add messages that cannot be read; they were left "
                "out."
            )
            messages = [note_for_model(text, "unreadable")]
        return Command(
            update={**command.update, "messages": messages}, goto=command.goto, graph=command.graph
        )

    # -- late results --------------------------------------------------

    def _notification(self, records: Sequence[CallRecord]) -> HumanMessage:
        """Return one message with all results, each between delimiters."""
        results: list[tuple[str, Any]] = []
        for record in records:
            call = f'call="{record.call.label}" ' if self._config.ledger else ""
            task = f' task="{record.call.task}"' if self._board.several_tasks else ""
            said = f'{call}tool="{record.call.tool}"{task} status="{record.state.value}"'
            results.append((said, self._noted(record, self.outcome_text(record))))
        message = HumanMessage(content=delimited(results, self._nonce))
        message.additional_kwargs = mark("results", **identified(records))
        return message

    def _pairs(self, records: Sequence[CallRecord]) -> list[AnyMessage]:
        calls: list[Any] = []
        answers: list[AnyMessage] = []
        for record in records:
            # A new id: the call's own is answered by the placeholder already, and another one once
            # a doubt is resolved that was told in the same way.
            told = "resolved" if record.state is CallState.RESOLVED else "late"
            call_id = f"{told}_{record.key[:24]}"
            name = record.call.tool
            calls.append(
                {
                    "name": name,
                    "args": dict(record.call.arguments),
                    "id": call_id,
                    "type": "tool_call",
                }
            )
            content = self._noted(record, self.outcome_text(record))
            answers.append(ToolMessage(content=content, tool_call_id=call_id, name=name))
        kwargs = mark("pair", **identified(records))
        return [AIMessage(content="", tool_calls=calls, additional_kwargs=kwargs), *answers]

    # -- text --------------------------------------------------

    def shown(self, record: CallRecord, content: Any) -> Any:
        """Return the content as the model may see it: within the limit, without nonce and mark.

        Cut first: the beginning of a text holds no mark that the text does not hold, and removal
        only makes it shorter.
        """
        if self._config.capacity and not self._config.shadow:
            content = limited(content, self._config.limits.max_output_bytes, record.call.label)
        # In this order: the replacement character that plain_content writes leaves ink, so it would
        # hide a nonce with a lone surrogate in it.
        return plain_content(without(self._nonce, content))


def text_of(content: Any) -> str:
    """Return the text of a result or message content; blocks without text are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(
            str(block.get("text", "")) if isinstance(block, dict) else str(block)
            for block in content
        )
    return str(content)


def _split(raw: Any, call_id: str) -> tuple[ToolMessage | None, Any]:
    """Split a tool's raw answer into its ToolMessage and, for a command, the rest of the update.

    A command to the graph around the agent stays whole: the conversation there has its own copies.
    """
    if isinstance(raw, dict):  # the state update that the journal kept from a lost process
        return None, command_of(raw) if is_kept_hand_over(raw) else Command(update=raw)
    for item in raw or ():
        if isinstance(item, ToolMessage):
            return item, None
        if isinstance(item, Command) and item.graph is not None:
            said = item.update.get("messages", []) if isinstance(item.update, dict) else []
            answers = (m for m in said if isinstance(m, ToolMessage) and m.tool_call_id == call_id)
            return next(answers, None), item
        if isinstance(item, Command) and isinstance(item.update, dict):
            messages = item.update.get("messages", [])
            # Answers to other calls are dropped: each call has one answer, and the runtime writes
            # it.
            own = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id]
            rest = {key: value for key, value in item.update.items() if key != "messages"}
            others = [m for m in messages if not isinstance(m, ToolMessage)]
            update = {**rest, **({"messages": others} if others else {})}
            return (own[0] if own else None), Command(
                update=update, goto=item.goto, graph=item.graph
            )
    return None, None
