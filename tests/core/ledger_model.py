"""Reference for the ledger's views, computed from all its records."""

from copy import deepcopy
from typing import Any

from asyncguard.core.calls import CallState
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord

OPEN = ("proposed", "deferred", "held", "queued", "pending")


def contents(ledger: Ledger) -> dict[str, Any]:
    """Everything that the ledger holds, as values that can be compared later."""
    values = {name: value for name, value in vars(ledger).items() if name != "resources"}
    return deepcopy({**values, "resources": vars(ledger.resources)})


def keys(records: Any) -> list[str]:
    """Keys of records in their order."""
    return [record.call.key for record in records]


def is_open(record: CallRecord) -> bool:
    """Return True if the state's name is that of an open state."""
    return record.state.value in OPEN


def check_counts(ledger: Ledger) -> None:
    """Counts and state lists agree with the records."""
    records = list(ledger.calls())
    assert len(ledger) == len(records)
    for state in CallState:
        assert sorted(keys(ledger.in_state(state))) == sorted(
            keys(r for r in records if r.state is state)
        )
        assert ledger.count(state) == sum(record.state is state for record in records)
    assert ledger.count(*CallState) == len(records)
    assert ledger.open_count() == sum(map(is_open, records))
    assert ledger.any_open() == any(map(is_open, records))
    pending = {record.call.tool for record in records if record.state is CallState.PENDING}
    assert set(ledger.pending_tools()) == pending


def check_task_views(ledger: Ledger) -> None:
    """Check the open calls by task, by message and after a barrier against the records."""
    records = list(ledger.calls())
    for task in {record.call.task for record in records} | {"nobody"}:
        mine = [record for record in records if record.call.task == task and is_open(record)]
        assert keys(ledger.open_of(task)) == keys(mine)
        assert ledger.has_open(task) == bool(mine)
        blind = [
            r for r in mine if r.call.footprint.reads is None or r.call.footprint.writes is None
        ]
        assert keys(ledger.barriers_of(task)) == keys(blind)
    for record in records:
        group = [
            r
            for r in records
            if (r.call.task, r.call.message_id) == (record.call.task, record.call.message_id)
        ]
        assert ledger.group_open(record) == any(map(is_open, group))
        assert ledger.labelled(record.call.task, record.call.label) is record
        same_message = [r for r in records if r.call.message_id == record.call.message_id]
        assert keys(ledger.of_message(record.call.message_id)) == keys(same_message)


def check_lookups(ledger: Ledger) -> None:
    """Ready calls, equal calls, ordinals and resources agree with the records."""
    records = list(ledger.calls())
    waiting = [r for r in records if r.state is CallState.DEFERRED]
    ready = [r for r in waiting if not any(is_open(ledger.record(key)) for key in r.blocked_by)]
    assert keys(ledger.ready()) == keys(ready)
    for record in records:
        task, mark = record.call.task, record.call.fingerprint
        alive = [r for r in records if is_open(r) or r.state is CallState.IN_DOUBT]
        same = [r for r in alive if (r.call.task, r.call.fingerprint) == (task, mark)]
        assert keys(ledger.same_fingerprint(task, mark)) == keys(same)
        made = sum((r.call.task, r.call.tool) == (task, record.call.tool) for r in records)
        of_tool = {r.key for r in records if (r.call.task, r.call.tool) == (task, record.call.tool)}
        assert {r.key for r in ledger.of_tool(task, record.call.tool)} == of_tool
        # A call that a person gave to another tool keeps its former label, too.
        kept = sum(r.edited for r in records if r.call.task == task)
        assert made < ledger.next_ordinal(task, record.call.tool) <= made + 1 + kept
    sides = [
        side or () for r in records for side in (r.call.footprint.reads, r.call.footprint.writes)
    ]
    for name in {name for side in sides for name in side}:
        readers = {
            r.call.key for r in records if is_open(r) and name in (r.call.footprint.reads or ())
        }
        writers = {
            r.call.key for r in records if is_open(r) and name in (r.call.footprint.writes or ())
        }
        assert readers <= set(ledger.resources.holders(name, writing=False))
        assert writers <= set(ledger.resources.holders(name, writing=True))
        held = {
            *ledger.resources.holders(name, writing=False),
            *ledger.resources.holders(name, writing=True),
        }
        assert all(is_open(ledger.record(key)) for key in held)
