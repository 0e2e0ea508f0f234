"""Desk at which an agent ends a task of ToolBench-X: with an answer, or with a problem that it reports."""

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from asyncguard import EffectClass, ToolSpec
from asyncguard_benchmark.services.common_tools import REPORT, SUBMIT

_ANSWER = {
    "type": "object",
    "properties": {
        "answer": {
            "type": ["string", "number"],
            "description": "The bare value, nothing around it.",
        }
    },
    "required": ["answer"],
    "additionalProperties": False,
}
_REASON = {
    "type": "object",
    "properties": {"reason": {"type": "string", "description": "What went wrong."}},
    "required": ["reason"],
    "additionalProperties": False,
}
_CLOSING = ("closing",)


class Desk:
    """Desk that takes one answer or one problem, and nothing after it."""

    def __init__(self) -> None:
        self.answer: str | None = None
        self.problem: str | None = None

    def tools(self) -> Sequence[BaseTool]:
        """Return the two tools that end a task."""
        submit = "Submit the answer of the task and close it. It can be submitted once."
        report = "Close the task without an answer, because it cannot be solved, and say why."
        return (
            StructuredTool(name=SUBMIT, description=submit, args_schema=_ANSWER, func=self._submit),
            StructuredTool(name=REPORT, description=report, args_schema=_REASON, func=self._report),
        )

    def specs(self) -> Sequence[ToolSpec]:
        """Return their declarations: each has one effect, which is not made twice."""
        once = EffectClass.AT_MOST_ONCE
        return tuple(
            ToolSpec(name=name, effect=once, reads=_CLOSING, writes=_CLOSING)
            for name in (SUBMIT, REPORT)
        )

    def _submit(self, answer: Any) -> dict[str, bool]:
        self._refuse_if_closed()
        self.answer = str(answer).strip()
        return {"received": True}

    def _report(self, reason: str) -> dict[str, bool]:
        self._refuse_if_closed()
        self.problem = reason
        return {"received": True}

    def _refuse_if_closed(self) -> None:
        if self.answer is not None or self.problem is not None:
            raise ValueError("This task was closed already.")
