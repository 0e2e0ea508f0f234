"""Questions to a person about held calls, and their answers, in one format for both front ends."""

from typing import Any

from asyncguard.core.records import CallRecord


def asked(record: CallRecord) -> dict[str, Any]:
    """One call as a person is asked about it; arguments as they would be issued."""
    return {
        "key": record.key,
        "call": record.call.label,
        "task": record.call.task,
        "tool": record.call.tool,
        "arguments": dict(record.effective_arguments),
        "reason": record.reason,
    }


def decision(answer: Any, record: CallRecord) -> tuple[bool, str]:
    """A person's answer about one call.

    Args:
        answer: ``True`` or ``False`` for all calls, or a mapping from key or label to such a value or to
            ``{"approve": bool, "reason": str}``. Anything else refuses, with the answer as the reason.
        record: The call.

    Returns:
        Whether it is approved, and why not.
    """
    if isinstance(answer, dict) and "approve" not in answer:
        answer = answer.get(record.key, answer.get(record.call.label, False))
    if isinstance(answer, dict):
        return answer.get("approve") is True, str(answer.get("reason", ""))
    return answer is True, "" if isinstance(answer, bool) else str(answer)
