"""An agent that works values out before it is told them: its early calls are right."""

from collections.abc import Sequence
from dataclasses import replace

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.guesses import worked_out
from asyncguard_benchmark.harness.agents.progress import Operands, TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import ParallelAgent
from asyncguard_benchmark.harness.agents.simulated import Decision


class _Foreseen(TaskProgress):
    """Progress in which a value is known as soon as its pure function was called with known arguments."""

    @override
    def operands(self, position: int) -> Operands:
        """Return the values that were told, and those that can be worked out from calls that were made."""
        told, step = super().operands(position), self.step(position)
        known = dict(told.known)
        for place in told.awaited:
            if place in step.operands:
                operand = step.operands[place]
                value = self._result(operand.call, operand.pointer)
            elif all(self._result(call, "") is not None for call in step.derivations[place].uses):
                value = step.derivations[place].value
            else:
                value = None
            if value is not None:
                known[place] = value
        awaited = tuple(place for place in told.awaited if place not in known)
        return replace(told, known=known, awaited=awaited)

    def _result(self, call: int, pointer: str) -> object:
        """Return the result of a call at a place: as it was told, or of a pure function; else None."""
        made, head = self.made(call), self.step(call).head
        if made is None:
            return None
        if made.response is not None and not pointer:
            return made.response
        return None if head is None else worked_out(head, made.arguments, pointer)


class ForeseeingAgent(ParallelAgent):
    """The parallel agent, which also computes what a pure tool is going to return, and goes on with that at once.

    It knows the result of a function without state as soon as it has called it, as a model does sums in its head, and
    is always right. A value that depends on a state it awaits.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from the calls of the conversation, and from what they are going to return."""
        return self.decide(self.progress(messages, _Foreseen))
