"""Which open calls a call has to wait for, and how we know.

Sources, in order of trust: references declared in the arguments, footprints declared by the tools, and task order: a
barrier per task around calls whose footprint is not fully known. Only calls that are earlier in program order count,
so that two calls never wait for each other. Calls of one model message are concurrent unless their declared
footprints conflict; a model that wanted one after the other would have waited.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from asyncguard.core.calls import Call
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.core.references import references


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
        if _earlier(record, call) and not (record.call.footprint.writes_nothing and call.footprint.writes_nothing):
            yield Dependency(on=record.key, hazard=Hazard.ORDER, resource=call.task)


def _earlier(record: CallRecord, call: Call) -> bool:
    return record.call.sequence < call.sequence and record.call.message_id != call.message_id


def earlier_open(call: Call, ledger: Ledger) -> list[CallRecord]:
    """Open calls of the same task from earlier messages: the model has not seen their results."""
    return [record for record in ledger.open_of(call.task) if _earlier(record, call)]
