"""A proposed tool call with its identity, idempotency key and fingerprint.

The key says *which* call this is. It is derived from the namespace, the thread, the id of the
model's message and the position in it, never from the provider's call id alone, because a model
that is asked again gives new ids. The fingerprint says *what* the call does: the same key with
another fingerprint is refused.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncguard.core.footprints import Footprint


class CallState(StrEnum):
    """State of a call; the legal moves are the table in :mod:`asyncguard.core.lifecycle`."""

    PROPOSED = "proposed"
    """Made by the model, not judged."""
    DEFERRED = "deferred"
    """Right but early: waits for other calls, issued by the runtime."""
    HELD = "held"
    """Waits for a person's approval."""
    REJECTED = "rejected"
    """Not run; the model was shown the reason."""
    QUEUED = "queued"
    """Admitted; the next dispatch starts it."""
    PENDING = "pending"
    """Issued to an executor, not completed."""
    DONE = "done"
    """Completed with a result."""
    FAILED = "failed"
    """Completed without a result; its effect is known not to have happened, or can be repeated."""
    IN_DOUBT = "in_doubt"
    """Begun, outcome unknown."""
    RESOLVED = "resolved"
    """Was in doubt; the outcome is known now."""
    SQUASHED = "squashed"
    """Deferred and never issued, because a call it waited for failed or the user intervened."""
    CANCELLED = "cancelled"
    """Cancelled before it began."""


OPEN_STATES = frozenset(
    {CallState.PROPOSED, CallState.DEFERRED, CallState.HELD, CallState.QUEUED, CallState.PENDING}
)
"""States that the runtime itself moves a call out of."""

SUCCESS_STATES = frozenset({CallState.DONE, CallState.RESOLVED})
"""States in which the result of a call may be used as an operand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call as proposed, immutable; events record what happens to it."""

    key: str
    """Idempotency key, unique in the thread."""
    sequence: int
    """Program order: calls of earlier messages, then earlier positions, come first."""
    task: str
    """Id of the task it belongs to."""
    tool: str
    """Tool name as the model gave it."""
    ordinal: int
    """Number of the call among those of its tool in the task, from 1."""
    arguments: Mapping[str, Any]
    """Arguments as the model gave them, without the task argument; may hold references."""
    call_id: str
    """The provider's id of the call, which the answer has to carry."""
    message_id: str
    """Id of the model message that made the call."""
    footprint: Footprint
    """Resources that it reads and writes."""
    fingerprint: str
    """Hash of tool and canonical arguments."""

    @property
    def label(self) -> str:
        """Name of the call for people and models: ``tool#ordinal``."""
        return f"{self.tool}#{self.ordinal}"


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; ``10`` and ``10.0`` give equal text."""
    return _encode(_canonical(value))


# Made once: `json.dumps` builds a new encoder at each call that passes options.
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str
).encode


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return value
    # Below 2**53 a float holds each integer exactly, so the conversion loses nothing.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def content_size(content: Any) -> int:
    """Return the size of a result in bytes, as UTF-8 text or canonical JSON."""
    # Models and tools may produce lone surrogates, which strict UTF-8 refuses.
    text = content if isinstance(content, str) else canonical_json(content)
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fingerprint(tool: str, arguments: Mapping[str, Any] | str) -> str:
    """Return a hash of what a call does, 32 hex digits.

    Args:
        tool: Name of the tool.
        arguments: Arguments of the call; a text has to be their canonical JSON.
    """
    text = arguments if isinstance(arguments, str) else canonical_json(arguments)
    return hashlib.sha256(f"{tool}\x00{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def as_received(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return arguments as the tool receives them, with defaults and with scalars read from text.

    Numbers and truth values that came as text are converted where the schema asks for them. Calls
    that differ in this alone do the same. Values that cannot be converted stay as they are.

    Args:
        arguments: Arguments as the model gave them.
        parameters: JSON Schema of the tool's arguments; ``None`` changes nothing.
    """
    properties = (parameters or {}).get("properties", {})
    known = {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}
    received = {name: schema["default"] for name, schema in known.items() if "default" in schema}
    return received | {name: _read(value, known.get(name, {})) for name, value in arguments.items()}


_TRUTH = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(
    ("false", "no", "off", "0"), False
)
"""Words that pydantic reads as truth values."""
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\Z", re.ASCII)
"""Numbers that pydantic reads and JSON does not: ``01``, ``+5``, ``5.``."""


def _number(text: str) -> float | None:
    """Return a number as Python reads it, None if it has too many digits."""
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return None


def _read(value: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, str):
        return value
    kinds: set[str] = set()
    lenient = False
    for branch in schema.get("anyOf", (schema,)):
        if not isinstance(branch, Mapping):
            return value
        named = branch.get("type", "string")
        found = {named} if isinstance(named, str) else set(named)
        # A text with a pattern beside a number is pydantic's way to take the number in quotes.
        kinds |= found - {"string"} if "pattern" in branch else found
        lenient |= "pattern" in branch
    # A schema that also takes text receives the text, so only those that do not are converted.
    if "string" in kinds or not kinds & {"boolean", "integer", "number"}:
        return value
    text = value.strip().lower()
    if lenient and "boolean" in kinds and text in _TRUTH:
        return _TRUTH[text]
    try:
        # Python's own spelling is common: ``True`` is not JSON, ``true`` is.
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = _number(text) if lenient and _NUMBER.match(text) else None
    # bool first: in Python it is an int, in JSON it is not.
    if isinstance(read, bool):
        return read if "boolean" in kinds else value
    return read if isinstance(read, int | float) and kinds & {"integer", "number"} else value


def call_key(namespace: str, thread: str, message_id: str, position: int) -> str:
    """Return the key of the call at ``position`` (from 0) in a message, 32 hex digits."""
    # The separator keeps parts apart that would run into each other.
    text = "\x00".join((namespace, thread, message_id, str(position)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
