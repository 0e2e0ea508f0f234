"""Results of attempts as plain JSON and back, and text as every database takes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from asyncguard.core.faults import Symptom
from asyncguard.core.results import Failure, Interrupted, Result, Started, Success
from asyncguard.errors import CallerError


def result_to_json(result: Result) -> dict[str, Any]:
    """A result as plain JSON values; what belongs to the front end only (``raw``, an escape's error) is left out."""
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
    """The result that :func:`result_to_json` wrote.

    Raises:
        CallerError: It is none; the file may come from a newer version, or was changed by hand.
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
                    f"The journal holds a result of the unknown kind {kind!r}; it may come from a newer version."
                )
    except (KeyError, TypeError) as error:
        raise CallerError(f"The journal holds a result that is incomplete ({error!r}).") from error


def as_content(content: Any) -> str | list[Any]:
    """What a message may hold, made of what was delivered: text and content blocks as they are, the rest as JSON text.

    Raises:
        CallerError: It is no JSON.
    """
    if isinstance(content, str):
        return content
    try:
        written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallerError(
            f"A result is delivered as text or JSON; this one is neither ({error})."
        ) from error
    # Blocks are read back, so that what is kept is what was checked: a tuple becomes a list, a number a text as key.
    return (
        json.loads(written)
        if isinstance(content, list) and content and all(map(_is_block, content))
        else written
    )


def to_json(value: Any) -> str:
    """JSON text in ASCII: no database refuses a lone surrogate or a zero byte in it. What is no JSON becomes text.

    Raises:
        CallerError: It cannot be written: it holds itself, has keys that are no text, or does not tell what it is.
    """
    try:
        return _encode(value)
    except Exception as error:  # what a tool returned may do anything when it is asked for its text
        raise CallerError(
            f"The journal takes plain JSON values; this is none ({error})."
        ) from error


# As for fingerprints: an effect that happened is written down, also if its tool returned something odd.
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


def plain(text: str) -> str:
    """Text without what UTF-8 or PostgreSQL cannot hold, which is written as an escape instead."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def _is_block(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)
