"""Dependencies between calls: operand references, and the open calls that a call waits for.

An operand names the result of another call instead of a value:
``{"from_call": "search#1", "pointer": "/items/0/id"}`` stands for the value at an RFC 6901 pointer
in the result of the first ``search`` call of the same task. The runtime substitutes it when the
result is there, so that a chain of calls runs without a model turn per link.
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
_CONTAINERS = (Mapping, list)
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
    """A reference cannot be resolved; name a call of this task and a pointer in its result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """One operand in a call's arguments."""

    path: Path
    """Place in the arguments."""
    label: str
    """Label of the call whose result is used."""
    pointer: str
    """RFC 6901 pointer into that result."""


def as_reference(value: Any, path: Path = ()) -> Reference | None:
    """Return a value as a reference, ``None`` if it is not one."""
    # The keys have to match exactly: an argument of the tool may have a field of the same name.
    if isinstance(value, Mapping) and set(value) in _KEYS and isinstance(value["from_call"], str):
        pointer = value.get("pointer", "")
        if isinstance(pointer, str):
            return Reference(path=path, label=value["from_call"], pointer=pointer)
    return None


def references(arguments: Any, path: Path = ()) -> Iterator[Reference]:
    """Yield all references in the arguments, depth first."""
    if (
        not path
        and isinstance(arguments, Mapping)
        and not any(isinstance(v, _CONTAINERS) for v in arguments.values())
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
    """Return a copy of the arguments with the references at the given paths replaced by values."""
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
    """Reason why one call must not overtake another."""

    OPERAND = "operand"
    """The call uses the other's result."""
    RAW = "read_after_write"
    """The call reads what the other writes."""
    WAR = "write_after_read"
    """The call writes what the other reads."""
    WAW = "write_after_write"
    """Both write the same."""
    ORDER = "task_order"
    """One of the two has an unknown footprint and may change something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependency:
    """One call that has to retire before another."""

    on: str
    """Key of the call to wait for."""
    hazard: Hazard
    """Reason to wait."""
    resource: str = ""
    """Name of the resource, label or task concerned."""


def operand_dependencies(call: Call, ledger: Ledger) -> Iterator[Dependency]:
    """Yield the open calls whose results the arguments name."""
    for reference in references(call.arguments):
        source = ledger.labelled(call.task, reference.label)
        # Waiting for earlier calls only keeps the waits free of cycles.
        if source is not None and source.open and source.call.sequence < call.sequence:
            yield Dependency(on=source.key, hazard=Hazard.OPERAND, resource=reference.label)


def footprint_dependencies(call: Call, ledger: Ledger) -> Iterator[Dependency]:
    """Yield the open calls of any task whose declared resources conflict with the call's."""
    # Sorted, here and below: the order of a set differs between processes, and a reason must not.
    # Reads and double writes wait for writers, ``WAR`` for readers.
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
    """Yield the open calls of the same task, from earlier messages, that the barrier orders first.

    The barrier orders calls of a task where either footprint is unknown and either may write.
    """
    # Two known footprints are compared by their resources, so a known one meets unknown ones here.
    others = ledger.barriers_of(call.task) if call.footprint.known else ledger.open_of(call.task)
    for record in others:
        if _earlier(record, call) and not (
            record.call.footprint.writes_nothing and call.footprint.writes_nothing
        ):
            yield Dependency(on=record.key, hazard=Hazard.ORDER, resource=call.task)


def _earlier(record: CallRecord, call: Call) -> bool:
    # Calls of one message were made together: the model did not mean one to wait for another.
    return record.call.sequence < call.sequence and record.call.message_id != call.message_id


def earlier_untold(call: Call, ledger: Ledger) -> list[CallRecord]:
    """Return the calls of the same task from earlier messages whose end was not told to the model.

    They are open, or their result is there and held back, or known to this process alone.
    """
    return [record for record in ledger.untold_of(call.task) if _earlier(record, call)]
