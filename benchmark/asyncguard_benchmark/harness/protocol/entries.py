"""The lines in which the environment answers, byte for byte the same for every player."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord

EXECUTING = "The current function is being executed."
"""Answers a call whose result comes later."""
# The first letter is outside the part that ignores case: `re` skips to it, where else it would try each place.
CALLS_WAIT = re.compile(r"[cC](?<!\w.)(?i:alls of (?:this|its|the same) task\b[^.]*\bwait\b)")
"""Found in a sentence of a runtime that says that further calls of a task wait for a result."""
NO_NEWS = "No new results."
"""Answers an idle turn when nothing is due."""

Entry = Mapping[str, Any]


def wait_content(text: str) -> str:
    """Return the content that tells an agent to wait."""
    return json.dumps({"wait": text})


def executing(said: str) -> str:
    """Return the answer to a call whose result comes later, with what a runtime says of further calls of its task."""
    further = (each for each in re.split(r"(?<=[.!]) ", said) if CALLS_WAIT.search(each))
    return " ".join((EXECUTING, *further))


def error_content(reason: str) -> str:
    """Return the content that answers something unreadable."""
    return json.dumps({"error": reason}, ensure_ascii=False)


def note(content: str) -> Entry:
    """Return an entry that belongs to no result."""
    return {"role": "tool", "content": content}


def result(record: CallRecord, call_id: str | None = None) -> Entry:
    """Return an entry with a result, and with the note that comes beside it, if one does.

    Args:
        record: The delivered call.
        call_id: The provider's id of the call, on the native surface.
    """
    native = {} if call_id is None else {"call_id": call_id}
    return {
        "role": "tool",
        "id": record.task_id,
        **native,
        "function name": signature(record.tool, record.arguments),
        "response": record.response,
        **({"note": record.note} if record.note else {}),
    }


def answer_content(record: CallRecord) -> str:
    """Return the content of a tool message with a result: the result as it is, or beside its note."""
    if not record.note:
        return record.response
    return json.dumps({"response": record.response, "note": record.note}, ensure_ascii=False)


def signature(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as it is shown beside its result: ``tool(name='value', ...)``."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def lines(entries: Iterable[Entry]) -> str:
    """Return all entries of one turn: they travel in one user message, a line each."""
    return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
