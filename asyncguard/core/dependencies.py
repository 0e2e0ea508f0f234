"""Dependencies between calls: operand references, and the open calls that a call has to wait for.

An operand names the result of another call instead of a value: ``{"from_call": "search#1", "pointer": "/items/0/id"}``
stands for the value at an RFC 6901 pointer in the result of the first ``search`` call of the same task. The runtime
substitutes it when the result is there, so that a chain of calls runs without a model turn per link.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncguard.core.calls import Call
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.errors import CallerError

_KEYS = ({"from_call"}, {"from_call", "pointer"})
_HOLDERS = (Mapping, list)
Path = tuple[str | int, ...]

REFERENCE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "description": "The result of an earlier call of the same task, used when it arrives.",
    "properties": {
        "from_call": {"type": "string", "description": "Label of the call, as in search#1."},
        "pointer": {
            "type": "string",
            "description": "JSON pointer into its result, as in /items/0/id; empty for all.",
        },
    },
    "required": ["from_call", "pointer"],
    "additionalProperties": False,
}
"""JSON Schema of a reference, offered beside the schema of an argument."""


class OperandError(CallerError):
    """A reference cannot be resolved; name a call of this task and a pointer that exists in its result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """One operand in a call's arguments."""

    path: Path
    """Where it stands in the arguments."""
    label: str
    """Label of the call whose result is meant."""
    pointer: str
    """RFC 6901 pointer into that result."""


def as_reference(value: Any, path: Path = ()) -> Reference | None:
    """The reference that a value is, or ``None``."""
    if isinstance(value, Mapping) and set(value) in _KEYS and isinstance(value["from_call"], str):
        pointer = value.get("pointer", "")
        if isinstance(pointer, str):
            return Reference(path=path, label=value["from_call"], pointer=pointer)
    return None


def references(arguments: Any, path: Path = ()) -> Iterator[Reference]:
    """All references in the arguments, depth first."""
    if (
        not path
        and isinstance(arguments, Mapping)
        and not any(isinstance(v, _HOLDERS) for v in arguments.values())
    ):
        return  # the common case: every argument is a plain value
    if (found := as_reference(arguments, path)) is not None:
        yield found
    elif isinstance(arguments, Mapping):
        for name, value in arguments.items():
            yield from references(value, (*path, name))
    elif isinstance(arguments, list):
        for position, value in enumerate(arguments):
            yield from references(value, (*path, position))


def substitute(arguments: Any, values: Mapping[Path, Any], path: Path = ()) -> Any:
    """A copy of the arguments with the references at the given paths replaced by values."""
    if path in values:
        return values[path]
    if isinstance(arguments, Mapping):
        return {name: substitute(value, values, (*path, name)) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [
            substitute(value, values, (*path, position)) for position, value in enumerate(arguments)
        ]
    return arguments


class Hazard(StrEnum):
    """Why one call must not overtake another."""

    OPERAND = "operand"
    """It uses the other's result."""
    RAW = "read_after_write"
    """It reads what the other writes."""
    WAR = "write_after_read"
    """It writes what the other reads."""
    WAW = "write_after_write"
    """Both write the same."""
    ORDER = "task_order"
    """One of the two has an unknown footprint and may change something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependency:
    """One call that has to retire first."""

    on: str
    """Its key."""
    hazard: Hazard
    """Why."""
    resource: str = ""
    """The resource or label in question."""


def operand_dependencies(call: Call, ledger: Ledger) -> Iterator[Dependency]:
    """Open calls whose results the arguments name."""
    for reference in references(call.arguments):
        source = ledger.labelled(call.task, reference.label)
        if source is not None and source.open and source.call.sequence < call.sequence:
            yield Dependency(on=source.key, hazard=Hazard.OPERAND, resource=reference.label)


def footprint_dependencies(call: Call, ledger: Ledger) -> Iterator[Dependency]:
    """Open calls of any task whose declared resources collide with the call's."""
    for name in sorted(call.footprint.reads or ()):
        yield from _holders(call, ledger, name, Hazard.RAW)
    for name in sorted(call.footprint.writes or ()):
        yield from _holders(call, ledger, name, Hazard.WAW)
        yield from _holders(call, ledger, name, Hazard.WAR)


def _holders(call: Call, ledger: Ledger, name: str, hazard: Hazard) -> Iterator[Dependency]:
    for key in ledger.resources.holders(name, writing=hazard is not Hazard.WAR):
        if ledger.record(key).call.sequence < call.sequence:
            yield Dependency(on=key, hazard=hazard, resource=name)


def order_dependencies(call: Call, ledger: Ledger) -> Iterator[Dependency]:
    """Open calls of the same task, from earlier messages, behind which the barrier holds the call."""
    others = ledger.barriers_of(call.task) if call.footprint.known else ledger.open_of(call.task)
    for record in others:
        if _earlier(record, call) and not (
            record.call.footprint.writes_nothing and call.footprint.writes_nothing
        ):
            yield Dependency(on=record.key, hazard=Hazard.ORDER, resource=call.task)


def _earlier(record: CallRecord, call: Call) -> bool:
    return record.call.sequence < call.sequence and record.call.message_id != call.message_id


def earlier_open(call: Call, ledger: Ledger) -> list[CallRecord]:
    """Open calls of the same task from earlier messages: the model has not seen their results."""
    return [record for record in ledger.open_of(call.task) if _earlier(record, call)]
