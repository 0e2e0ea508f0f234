"""The strict comparison of arguments: equal values by the schema, with a verdict for each argument."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.suites.missions.gold_graph import Node, Tool


class Fault(StrEnum):
    """Faults of a call's arguments."""

    MALFORMED = "malformed"
    NAME = "name"
    MISSING = "missing"
    TYPE = "type"
    VALUE = "value"
    OMITTED = "omitted"
    EXTRA = "extra"


_DEFAULT = re.compile(
    r"\bdefault(?:s\s+to|\s+is)?\s*[:=]?\s*"
    r"(?:'([^']*)'|\"([^\"]*)\"|`([^`]*)`|([+-]?\d+(?:\.\d+)?|[A-Za-z_]\w*)(?![\w-]))",
    re.IGNORECASE,
)
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "none": "null"}
_NO_LITERALS = frozenset(
    {"a", "an", "and", "are", "as", "by", "for", "if", "in", "is", "of", "on", "the", "to", "value"}
)
"""Words after "default" that begin a phrase instead of a literal."""


@dataclass(frozen=True)
class ArgumentVerdict:
    """Faults by argument; `""` stands for the call as a whole."""

    faults: Mapping[str, Fault]
    right: int
    """Arguments of the gold that are right."""

    @property
    def passed(self) -> bool:
        """True if nothing is wrong."""
        return not self.faults


@dataclass(frozen=True)
class ExpectedCall:
    """A gold call, prepared for comparison."""

    node: Node
    tool: Tool

    def judge(self, arguments: Mapping[str, Any] | None) -> ArgumentVerdict:
        """Compare arguments with those of the gold.

        Args:
            arguments: As the model wrote them; None if they are something else than an object.
        """
        try:
            return self._judged(arguments)
        except RecursionError:  # nested deeper than any schema
            return ArgumentVerdict({"": Fault.MALFORMED}, 0)

    def _judged(self, arguments: Mapping[str, Any] | None) -> ArgumentVerdict:
        if arguments is None:
            return ArgumentVerdict({"": Fault.MALFORMED}, 0)
        faults: dict[str, Fault] = {}
        for name in arguments:
            if name not in self.tool.properties:
                faults[name] = Fault.NAME
        for name in self.tool.required:
            if name not in arguments:
                faults[name] = Fault.MISSING
        said = {
            name: value for name, value in arguments.items() if not self._is_default(name, value)
        }
        for name in self._wanted.keys() - said.keys() - faults.keys():
            faults[name] = Fault.OMITTED
        for name in said.keys() - self._wanted.keys() - faults.keys():
            faults[name] = Fault.EXTRA
        for name in said.keys() & self._wanted.keys() - faults.keys():
            if self._form(name, said[name]) not in self._wanted[name]:
                same = _kind(said[name]) == _kind(self.node.arguments[name])
                faults[name] = Fault.VALUE if same else Fault.TYPE
        right = len(self._wanted) - len(self._wanted.keys() & faults.keys())
        return ArgumentVerdict(dict(sorted(faults.items())), right)

    @cached_property
    def key(self) -> Any:
        """Equal for gold calls that accept the same arguments."""
        return frozenset(self._wanted.items())

    @cached_property
    def _wanted(self) -> Mapping[str, frozenset[Any]]:
        """By argument that is not at its default: the values that are right."""
        return {
            name: frozenset(
                self._form(name, each) for each in (value, *self.node.alternatives.get(name, ()))
            )
            for name, value in self.node.arguments.items()
            if not self._is_default(name, value)
        }

    def _form(self, name: str, value: Any) -> Any:
        return _frozen(value, self.tool.properties.get(name), free=name in self.node.unordered)

    def _is_default(self, name: str, value: Any) -> bool:
        schema = self.tool.properties.get(name)
        if not isinstance(schema, Mapping):
            return False
        if "default" in schema and self._form(name, schema["default"]) == self._form(name, value):
            return True
        stated = stated_default(schema.get("description"))
        return stated is not None and stated == _text(value)


def stated_default(description: Any) -> str | None:
    """Return the literal that a description states outright as the default; None if there is none."""
    for found in _DEFAULT.finditer(description) if isinstance(description, str) else ():
        quoted, bare = (
            next((each for each in found.groups()[:3] if each is not None), None),
            found[4],
        )
        if quoted is not None:
            return quoted
        if bare.lower() in _CONSTANTS:
            return _CONSTANTS[bare.lower()]
        if bare.lower() not in _NO_LITERALS:
            return _text(float(bare)) if bare[-1].isdigit() and not bare[0].isalpha() else bare
    return None


def _text(value: Any) -> str:
    """Return a value as a description would write it."""
    if isinstance(value, str):
        return normal(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def normal(text: str) -> str:
    """Return a text in Unicode's normal form C, trimmed, with single blanks."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _frozen(value: Any, schema: Any, *, free: bool = False) -> Any:
    """Return a value that is equal to another if they are equally right.

    Args:
        value: A JSON value.
        schema: Its schema, as loose as it comes.
        free: True if the order of an array does not matter.
    """
    schema = schema if isinstance(schema, Mapping) else {}
    match value:
        case str():
            return freeze(normal(value))
        case list():
            items = tuple(_frozen(each, schema.get("items")) for each in value)
            if free or schema.get("uniqueItems") is True:
                return ("bag", frozenset(Counter(items).items()))
            return ("list", items)
        case dict():
            inner = schema.get("properties")
            inner = inner if isinstance(inner, Mapping) else {}
            return (
                "object",
                frozenset(
                    (normal(name), _frozen(each, inner.get(name))) for name, each in value.items()
                ),
            )
        case _:
            return freeze(value)


_KINDS: Mapping[type, str] = {int: "number", float: "number"}


def _kind(value: Any) -> str:
    """Return the JSON type of a value."""
    return _KINDS.get(type(value), type(value).__name__)
