"""Delivery of results to the model, with the record of what was delivered."""

from typing import Any

from langchain_core.messages import ToolMessage

from asyncguard.adapters.messages.render import Delivery, MessageRenderer, text_of
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.runtime.session.live_calls import LiveCalls
from asyncguard.runtime.session.recorder import Recorder


class ResultNotifier:
    """Renderer of one thread's results that records each delivery in the ledger."""

    def __init__(self, board: Scoreboard, record: Recorder, live: LiveCalls, nonce: str) -> None:
        """Store the thread's parts.

        Args:
            board: Calls, declarations and evidence of the thread.
            record: Records what is delivered.
            live: Holds the unchanged answers of tools.
            nonce: Secret part of the thread's delimiters.
        """
        self._board = board
        self._record = record
        self._live = live
        self._writer = MessageRenderer(board, live.raw_results, nonce)

    def deliver(self) -> Delivery:
        """Answer every unanswered call, and deliver the late results that are deliverable."""
        return self._told(self._writer.deliver())

    def news(self) -> Delivery:
        """Deliver the late results that are deliverable now."""
        return self._told(self._writer.news())

    def answer(self, record: CallRecord) -> tuple[ToolMessage, Any]:
        """Answer one call, as :meth:`deliver` would.

        Returns:
            The answer, and the rest of the command of the call's tool, or ``None``.
        """
        delivery = self._told(self._writer.render_answer(record))
        message: Any = delivery.messages[0]
        return message, delivery.updates[0] if delivery.updates else None

    def _told(self, delivery: Delivery) -> Delivery:
        """Record a delivery: results become evidence, untrusted ones taint the context."""
        if delivery.told or delivery.placeholders:
            self._record.delivered(delivery.told, placeholders=delivery.placeholders)
        for key in delivery.told:
            record = self._board.ledger.record(key)
            self._live.result_delivered(key)
            if record.content is not None:
                self._board.evidence.add(record.call.task, text_of(record.content))
            self._board.taint_by_end(record)
        return delivery

    def answered_elsewhere(self, record: CallRecord, text: str) -> None:
        """Record that the history holds the answer to a call that has ended.

        Args:
            record: The call.
            text: The answer, evidence for its task.
        """
        self._record.delivered([record.key])
        self._board.evidence.add(record.call.task, text)
        self._board.taint_by_output(record)

    def not_told(self, record: CallRecord) -> None:
        """Record that the model need not be told of a call that was not run and that it forgot."""
        self._record.delivered([record.key])

    def placeholder_stands(self, record: CallRecord) -> None:
        """Record that the history holds a placeholder for a call."""
        self._record.delivered((), placeholders=[record.key])
