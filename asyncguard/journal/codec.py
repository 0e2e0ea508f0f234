"""Codec: results of attempts to plain JSON and back, and text that every database accepts."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from asyncguard.core.faults import Symptom
from asyncguard.core.results import Failure, Interrupted, Result, Started, Success
from asyncguard.errors import CallerError


def result_to_json(result: Result) -> dict[str, Any]:
    """Return a result as plain JSON values, without what only the adapter uses.

    That is ``raw``, and the error of an interrupt.
    """
    match result:
        case Success():
            return {"kind": "success", "content": result.content, "update": result.update}
        case Failure():
            return {
                "kind": "failure",
                "symptom": {**asdict(result.symptom), "mro": list(result.symptom.mro)},
            }
        case Started():
            return {"kind": "started"}
        case Interrupted():
            return {"kind": "asked"}


def result_from_json(data: Mapping[str, Any]) -> Result:
    """Return the result that :func:`result_to_json` wrote.

    Raises:
        CallerError: The data is not a result: written by a newer version, or changed by hand.
    """
    try:
        match data["kind"]:
            case "success":
                return Success(content=data["content"], update=data.get("update"))
            case "failure":
                symptom = data["symptom"]
                return Failure(symptom=Symptom(**{**symptom, "mro": tuple(symptom["mro"])}))
            case "started":
                return Started()
            case kind:
                raise CallerError(
                    f"The journal holds a result of the unknown kind {kind!r}; "
                    "it may come from a newer version."
                )
    except (KeyError, TypeError) as error:
        raise CallerError(f"The journal holds a result that is incomplete ({error!r}).") from error


def as_content(content: Any) -> str | list[Any]:
    """Return delivered content as a message can hold it.

    Text and content blocks stay as they are; other values become JSON text.

    Raises:
        CallerError: The content is not JSON.
    """
    if isinstance(content, str):
        return content
    try:
        written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallerError(
            f"content must be text or a JSON value ({error}); deliver it in one of these forms."
        ) from error
    # Blocks are read back, so that what is kept is what was checked: a tuple becomes a list, and a
    # number that is a key becomes text.
    blocks = isinstance(content, list) and all(
        isinstance(item, dict) and isinstance(item.get("type"), str) for item in content
    )
    return json.loads(written) if blocks and content else written


def to_json(value: Any) -> str:
    """Return JSON text in ASCII, so that no database refuses a lone surrogate or a zero byte.

    A value that JSON does not know is written as its ``str``.

    Raises:
        CallerError: The value contains itself, has keys that are not text, or its ``str`` raises.
    """
    try:
        return _encode(value)
    except Exception as error:  # what a tool returned may do anything when it is asked for its text
        raise CallerError(
            f"The value must be plain JSON to be stored in the journal ({error}); convert it first."
        ) from error


# ``default=str`` as for fingerprints: an effect that happened must be recorded, whatever its tool
# returned.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


def plain(text: str) -> str:
    """Return text with escapes in place of characters that UTF-8 or PostgreSQL cannot hold."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
