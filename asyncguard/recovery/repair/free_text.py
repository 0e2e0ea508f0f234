"""Texts that hold a value and nothing beside it.

These are JSON in a fence or in a text, labels with values, and a labelled value.
"""

import ast
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from asyncguard.recovery.repair.identifiers import folded
from asyncguard.recovery.repair.unit_annotations import unit_owner
from asyncguard.recovery.repair.units import Unit, equal, kindred, units_in
from asyncguard.recovery.result_check import read_answer

_LABEL = re.compile(
    r"(?P<label>[^\W\d][\w .()/%€£°-]{0,38}?)\s*(?:[:=]|->|=>)\s*(?P<core>\S.*)", re.DOTALL
)
_FENCE = re.compile(r"```[A-Za-z]*\s*\n(?P<inside>(?:(?!```).)*)```", re.DOTALL)
_PAIR = re.compile(r"[-*\u2022]?\s*(?P<name>[^\W\d][\w .()/-]{0,38}?)\s*[:=]\s*(?P<value>\S.*)")
_MAX_TEXT = 100_000
_FAILURES = frozenset({"error", "errors"})
"""Fields in which JSON-RPC, GraphQL and JSON:API report a failure, even beside an answer."""


def document_in(text: str) -> Any:
    """Return the JSON document that a text holds: encoded twice, fenced, or as Python prints it.

    Returns:
        ``None`` if it holds none, breaks off, or has words around it: those may qualify it, in any
        language.
    """
    text = text.strip()
    if len(text) > _MAX_TEXT:
        return None
    if (fenced := _FENCE.fullmatch(text)) is not None:
        text = fenced["inside"].strip()
    whole = read_answer(text)
    if whole.parsed:
        return whole.value if isinstance(whole.value, dict | list | str) else None
    return _python_literal(text)


def _python_literal(text: str) -> Any:
    """Return a value printed by Python: single quotes, ``True``, ``None``."""
    if not text.startswith(("{", "[")):
        return None
    try:
        tree = ast.parse(text, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                # `literal_eval` would keep the last of two equal keys; JSON has text keys only.
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                texts = {key for key in keys if isinstance(key, str)}
                if len(texts) < len(keys):
                    return None
        value = ast.literal_eval(tree)
        # Through JSON, so that tuples become lists, and what JSON does not have is refused.
        return json.loads(json.dumps(value, allow_nan=False))
    # The parser also fails on deep nesting, by either of the last two.
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def pairs_in(text: str) -> dict[str, str] | None:
    """Return the fields of a text of nothing but labels and values (``total: 3; city: Graz``)."""
    # Lines first: a line may have commas and semicolons of its own.
    for separator in ("\n", ";", ", "):
        parts = [part.strip() for part in text.strip().split(separator) if part.strip()]
        matches = [match for part in parts if (match := _PAIR.fullmatch(part))]
        if len(parts) > 1 and len(matches) == len(parts):
            names = {match["name"].strip(): match["value"].strip() for match in matches}
            # A label that is given twice has two values.
            return names if len(names) == len(matches) else None
    single = _PAIR.fullmatch(text.strip())
    return {single["name"].strip(): single["value"].strip()} if single else None


def cores(text: str, names: Collection[str]) -> list[str]:
    """Return the parts of a text that may be the value.

    These are the whole text, and the part after a label that is one of the field's names.
    """
    text = text.strip()
    labelled = _LABEL.fullmatch(text)
    known = {folded(name) for name in names}
    if labelled is None or folded(labelled["label"]) not in known:
        return [text]
    return [text, labelled["core"].strip()]


def tells_failure(name: str, value: Any) -> bool:
    """Return True if a field says that the answer around it failed, wholly or in part."""
    return (
        name.casefold() in _FAILURES
        and value not in (None, False, "", 0)
        and value != []
        and value != {}
    )


def changes_others(name: str, value: Any, units: frozenset[Unit]) -> bool:
    """Return True if an undeclared field reports a failure, or another unit than declared."""
    if tells_failure(name, value):
        return True
    if isinstance(value, Mapping):
        return any(changes_others(key, item, units) for key, item in value.items())
    if not isinstance(value, str):
        return False
    if unit_owner(name) is not None:
        return bool(value)
    return any(
        kindred(one, other) and not equal(one, other) for one in units_in(value) for other in units
    )
