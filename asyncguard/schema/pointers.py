"""JSON pointers (RFC 6901): resolution in a value, and the pointer of a path.

Own code, not jsonpointer: it would save ten lines; the rest words the error for the model.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from asyncguard.errors import CallerError

# RFC 6901 allows no leading zeros; no list is so long that its index has more digits.
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


class PointerError(CallerError):
    """The pointer leads to no value; name one that exists in the result."""


def in_result(content: Any, pointer: str) -> Any:
    """Return the value at a pointer in a tool's result.

    Args:
        content: The result; text is read as JSON where it is JSON.
        pointer: RFC 6901 pointer, empty for the whole.

    Raises:
        PointerError: The pointer does not lead to a value.
    """
    if isinstance(content, str):
        # A text that cannot be parsed is a value itself; only the empty pointer leads to it.
        with suppress(ValueError, RecursionError):
            content = json.loads(content)
    return value_at(content, pointer)


def in_schema(schema: Mapping[str, Any], reference: str) -> Any:
    """Return the part of a schema at a local reference (``#/$defs/Name``), ``None`` if absent."""
    try:
        return value_at(schema, reference.removeprefix("#"))
    except PointerError:
        return None


def value_at(document: Any, pointer: str) -> Any:
    """Return the value at a pointer.

    Args:
        document: Data of JSON types.
        pointer: RFC 6901 pointer, empty for the whole.

    Raises:
        PointerError: The pointer does not lead to a value.
    """
    if pointer == "":
        return document
    if not pointer.startswith("/"):
        raise PointerError(f"Pointer {pointer!r} has to be empty or start with '/'.")
    for raw in pointer[1:].split("/"):
        # In this order: "~01" is the key "~1" and not a slash (RFC 6901, section 4).
        token = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping) and token in document:
            document = document[token]
        elif isinstance(document, list) and _INDEX.fullmatch(token) and int(token) < len(document):
            document = document[int(token)]
        else:
            raise PointerError(f"Pointer {pointer!r} leads nowhere in the result (at {token!r}).")
    return document


def pointer_of(path: Iterable[object]) -> str:
    """Return the pointer to the value at the end of a path."""
    # In this order: the other one would encode the tildes that stand for slashes a second time.
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)
