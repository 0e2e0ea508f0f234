"""Questions to a person about held calls, and their answers, in one format for both front ends."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.core.records import CallRecord


def resumable(config: RunnableConfig) -> bool:
    """Whether a person can be asked: without a thread nothing is stored, and nobody could resume the run."""
    return config.get("configurable", {}).get("thread_id") is not None


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
            to ``{"approve": bool, "reason": str}``. Anything else refuses, with the answer as the reason.
        record: The call.

    Returns:
        Whether it is approved, and why not.
    """
    if isinstance(answer, dict) and "approve" not in answer:
        answer = answer.get(_answer_key(record), answer.get(record.call.label, False))
    if isinstance(answer, dict):
        return answer.get("approve") is True, str(answer.get("reason", ""))
    return answer is True, "" if isinstance(answer, bool) else str(answer)


def _answer_key(record: CallRecord) -> str:
    # Not the idempotency key: LangGraph takes an answer whose keys all are 32 hex digits for one by interrupt ids.
    return f"{record.call.task}/{record.call.label}"
