"""Questions to a person about held calls, and their answers, in one format for both front ends."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.core.records import CallRecord

_SCRATCHPAD = "__pregel_scratchpad"
"""Where LangGraph keeps the answers for a node in its configuration."""
_QUOTED = 200
"""Characters of an answer that are told to the model."""


def resumable(config: RunnableConfig) -> bool:
    """Whether a person can be asked: without a thread nothing is stored, and nobody could resume the run."""
    return config.get("configurable", {}).get("thread_id") is not None


def answer_waits(config: RunnableConfig) -> bool:
    """Whether the first question of this execution of a node was answered before it is asked."""
    notes = config.get("configurable", {}).get(_SCRATCHPAD)
    if notes is None:
        return False
    return bool(notes.resume) or notes.get_null_resume(False) is not None  # noqa: FBT003 - without taking it


def asked(record: CallRecord) -> dict[str, Any]:
    """One call as a person is asked about it: ``key`` names it in an answer, arguments are as they would be issued."""
    return {
        "key": _answer_key(record),
        "call": record.call.label,
        "task": record.call.task,
        "tool": record.call.tool,
        "arguments": dict(record.effective_arguments),
        "reason": record.reason,
    }


def decision(answer: Any, record: CallRecord) -> tuple[bool, str]:
    """A person's answer about one call.

    Args:
        answer: ``True`` or ``False`` for all calls, or a mapping from key (as it was asked) or label to such a value or
            to ``{"approve": bool, "reason": str}``. Anything else refuses, and the reason says what it was.
        record: The call.

    Returns:
        Whether it is approved, and if not, what the model is told.
    """
    if isinstance(answer, dict) and "approve" not in answer:
        names = [name for name in (_answer_key(record), record.call.label) if name in answer]
        if not names:
            return False, f"The answer does not name {_answer_key(record)!r}, so the call counts as refused."
        answer = answer[names[0]]
    approved, reason = (answer.get("approve"), answer.get("reason")) if isinstance(answer, dict) else (answer, None)
    if not isinstance(approved, bool):
        return False, f"The answer {str(answer)[:_QUOTED]!r} is not True, so the call counts as refused."
    return approved, f"A person refused the call{f': {reason}' if reason else ''}."


def _answer_key(record: CallRecord) -> str:
    # Not the idempotency key: LangGraph takes an answer whose keys all are 32 hex digits for one by interrupt ids.
    return f"{record.call.task}/{record.call.label}"
