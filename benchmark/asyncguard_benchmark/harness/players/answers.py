"""Outcomes that the runtime reports, as records that the protocol can show.

The runtime may report something else than its last attempt was answered: it may have put the answer
into form, taken that of a sibling, or marked it. The agent is shown its own call with the outcome
that the runtime reports, whatever attempts were made.
"""

from dataclasses import replace
from typing import Any

from asyncguard import Details
from asyncguard.adapters.messages.render import text_of
from asyncguard.core import events as ev
from asyncguard.core.results import Failure, Result, Success
from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.players.ticks import TickExecutor
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)
from asyncguard_benchmark.services.service import error


class AnswerBook:
    """An observer of one episode that remembers how its calls ended."""

    def __init__(self, executor: TickExecutor) -> None:
        """Listen.

        Args:
            executor: Knows what the attempts were answered.
        """
        self.executor = executor
        """Executor that made the calls."""
        self._told: dict[str, CallRecord] = {}
        self._call_ids: dict[int, str] = {}
        self._unmade = 0

    def __call__(self, details: Details) -> None:
        """Take an event; never raise, for the runtime would go on without an observer that does."""
        event, record = details.event, details.record
        if not isinstance(event, ev.CallRetired) or record is None:
            return
        if record.call.tool in (IDLE_TOOL, UNREADABLE_TOOL):
            return
        tool, arguments = record.call.tool, dict(record.effective_arguments)
        if tool == UNKNOWN_TOOL:
            tool, arguments = arguments["tool"], dict(arguments["arguments"])
        attempts = self.executor.attempts(event.key)
        last = attempts[-1] if attempts else self._never_made(record.call.task)
        hint = next(
            (each.note for each in attempts if _says(self.executor.result(each), event.content)), ""
        )
        told = replace(
            last,
            number=attempts[0].number if attempts else last.number,
            tool=tool,
            arguments=arguments,
            response=text_of(event.content)
            if event.error is None
            else error(text_of(event.content)),
            note=" ".join(part for part in (event.mark, hint) if part),
        )
        self._told[event.key] = self._told[record.call.call_id] = told
        self._call_ids[told.number] = record.call.call_id

    def _never_made(self, task: str) -> CallRecord:
        """Return a call that ended without reaching a tool, say by an open circuit; no call has a number below 0."""
        self._unmade += 1
        tick = self.executor.environment.tick
        return CallRecord(
            number=-self._unmade,
            task_id=task,
            tool="",
            arguments={},
            response="",
            issued=tick,
            due=tick,
        )

    def made(self, name: str) -> bool:
        """Return True if a call has reached a tool, by the runtime's key or the provider's call id."""
        return bool(self.executor.attempts(name))

    def told(self, name: str) -> CallRecord | None:
        """Return an ended call and what is told of it, by the runtime's key or the provider's call id."""
        return self._told.get(name)

    def call_id(self, number: int) -> str:
        """Return the provider's id of an ended call, by its number."""
        return self._call_ids[number]


def _says(result: Result, content: Any) -> bool:
    """Return True if the runtime reports exactly the answer of an attempt."""
    match result:
        case Success():
            return bool(result.content == content)
        case Failure():
            return bool(result.symptom.message == content)
        case _:
            return False
