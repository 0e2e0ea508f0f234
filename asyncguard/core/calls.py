"""One proposed tool call: identity, idempotency key and fingerprint.

The key says *which* call this is: it is derived from namespace, thread, the id of the model's message and the position
in it, never from the provider's call id alone, because a model that is asked again gives new ids. The fingerprint says
*what* the call does: the same key with another fingerprint is refused.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncguard.core.footprints import Footprint


class CallState(StrEnum):
    """Where a call stands; the legal moves are the table in :mod:`asyncguard.core.lifecycle`."""

    PROPOSED = "proposed"
    """Made by the model, not judged."""
    DEFERRED = "deferred"
    """Right but early: waits for other calls, issued by the runtime."""
    HELD = "held"
    """Waits for a person's approval."""
    REJECTED = "rejected"
    """Not run; the model was told why."""
    QUEUED = "queued"
    """Admitted; the next dispatch starts it."""
    PENDING = "pending"
    """Issued to an executor, not completed."""
    DONE = "done"
    """Completed with a result."""
    FAILED = "failed"
    """Completed without a result, and known not to have had its effect or to be repeatable."""
    IN_DOUBT = "in_doubt"
    """Begun, outcome unknown."""
    RESOLVED = "resolved"
    """Was in doubt; the outcome is known now."""
    SQUASHED = "squashed"
    """Deferred and never issued, because what it waited for failed or the user intervened."""
    CANCELLED = "cancelled"
    """Taken back before it began."""
    EXPIRED = "expired"
    """Its deadline passed before it began."""


OPEN_STATES = frozenset(
    {CallState.PROPOSED, CallState.DEFERRED, CallState.HELD, CallState.QUEUED, CallState.PENDING}
)
"""States from which more is to come without anybody asking."""

SUCCESS_STATES = frozenset({CallState.DONE, CallState.RESOLVED})
"""States in which a result may be used as an operand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call as proposed, immutable; what happens to it is told by events."""

    key: str
    """Idempotency key, unique in the thread."""
    sequence: int
    """Program order: calls of earlier messages, then earlier positions, come first."""
    task: str
    """Id of the task it belongs to."""
    tool: str
    """Tool name as the model gave it."""
    ordinal: int
    """This is the ordinal-th call of the tool in the task, from 1."""
    arguments: Mapping[str, Any]
    """Arguments as the model gave them, without the task argument; may hold references."""
    call_id: str
    """The provider's id, to answer to."""
    message_id: str
    """Id of the model message that made the call."""
    footprint: Footprint
    """What it reads and writes."""
    fingerprint: str
    """Hash of tool and canonical arguments."""

    @property
    def label(self) -> str:
        """How people and models name the call: ``tool#ordinal``."""
        return f"{self.tool}#{self.ordinal}"


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces; equal values give equal text (``10`` and ``10.0`` too)."""
    return _encode(_canonical(value))


# Made once: `json.dumps` makes an encoder at each call that asks for anything of its own.
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str
).encode


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def content_size(content: Any) -> int:
    """Size of a result in bytes, as UTF-8 text or canonical JSON."""
    text = content if isinstance(content, str) else canonical_json(content)
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fingerprint(tool: str, arguments: Mapping[str, Any] | str) -> str:
    """Hash of what a call does, 32 hex digits.

    Args:
        tool: Name of the tool.
        arguments: What it is called with; text is taken for canonical JSON.
    """
    text = arguments if isinstance(arguments, str) else canonical_json(arguments)
    return hashlib.sha256(f"{tool}\x00{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def as_received(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return arguments as the tool receives them: defaults filled in, and numbers and truth values that came as text.

    Two calls that differ in this alone do the same. What cannot be read so stays as it is.

    Args:
        arguments: As the model gave them.
        parameters: JSON Schema of the tool's arguments; ``None`` changes nothing.
    """
    properties = (parameters or {}).get("properties", {})
    known = {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}
    received = {name: schema["default"] for name, schema in known.items() if "default" in schema}
    return received | {name: _read(value, known.get(name, {})) for name, value in arguments.items()}


def _read(value: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, str):
        return value
    kinds = frozenset().union(*map(_kinds, schema.get("anyOf", (schema,))))
    if "string" in kinds or not kinds & {"boolean", "integer", "number"}:
        return value
    try:
        read = json.loads(value.strip().lower())
    except (ValueError, RecursionError):
        return value
    if isinstance(read, bool):
        return read if "boolean" in kinds else value
    return read if isinstance(read, int | float) and kinds & {"integer", "number"} else value


def _kinds(schema: Any) -> frozenset[str]:
    """Return the types that a schema names; one that names none may take a text."""
    kinds = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
    found = frozenset([kinds] if isinstance(kinds, str) else kinds)
    # A text with a pattern beside a number is pydantic's way to take the number in quotes.
    return found - {"string"} if isinstance(schema, Mapping) and "pattern" in schema else found


def call_key(namespace: str, thread: str, message_id: str, position: int) -> str:
    """Idempotency key of the call at ``position`` (from 0) in a model message, 32 hex digits."""
    text = "\x00".join((namespace, thread, message_id, str(position)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
