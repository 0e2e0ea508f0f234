"""Dependencies between the gold calls of a task, found by executing them.

A later call *takes a value* if an argument of it is read from the result of an earlier one, which is executed and
looked at. If the query says that value, too, the call is counted apart as *selected*: the earlier call chooses among
what the query says. Any other call is moved in front of each earlier one: if its own result or the final state changes,
it depends on that call *through state* (a login before a post); if only results of the earlier calls change, *order*
matters to them alone (a reading before a change). What can be moved unnoticed is *independent*.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.harness.pointers import leaves, resolve
from asyncguard_benchmark.harness.scenario import SourceKind, SubTask
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.services.catalogue import fresh_executor


class Dependency(StrEnum):
    """Reason why a later call of a task stands where it does."""

    VALUE = "value"
    """An argument is read from an earlier result."""
    SELECTED = "selected"
    """An argument is read from an earlier result, and the query says it, too."""
    STATE = "state"
    """Moved in front of an earlier call, its result or the final state changes."""
    ORDER = "order"
    """Moved in front of an earlier call, only that call's result changes."""
    INDEPENDENT = "independent"
    """It can be moved in front of every earlier call."""


def dependencies(task: SubTask) -> tuple[Dependency, ...]:
    """Return how each gold call depends on earlier ones, from the second call on.

    Raises:
        PointerError: a source names nothing in the result of its call.
        ValueError: it names another value than the argument's.
    """
    usual = range(len(task.gold))
    results, _ = _outcome(task, usual)
    return tuple(_value(task, place, results) or _position(task, place) for place in usual[1:])


def dependency_mix(tasks: Iterable[SubTask]) -> dict[Dependency, int]:
    """Return the number of later calls of each kind, kinds without a call among them."""
    counted = Counter(each for task in tasks for each in dependencies(task))
    return {kind: counted[kind] for kind in Dependency}


def _value(task: SubTask, place: int, results: dict[int, str]) -> Dependency | None:
    """Return the kind of a call that takes a value of a result, None for any other."""
    call, found = task.gold[place], None
    for pointer, source in call.sources.items():
        value = resolve(call.arguments, pointer)
        if source.kind is SourceKind.RESULT:
            read = resolve(json.loads(results[source.call or 0]), source.pointer or "")
            if read != value:
                raise ValueError(f"{task.id}: gold call {place} takes {value!r} from {read!r}")
        if source.needs():
            said = all(in_query(task.query, leaf) for _, leaf in leaves(value))
            found = Dependency.SELECTED if said and found is None else found
            found = found if said else Dependency.VALUE
    return found


def _position(task: SubTask, place: int) -> Dependency:
    """Return the kind of a call that takes no value, by moving it in front of each earlier one."""
    usual = range(len(task.gold))
    expected = _outcome(task, usual)
    found = Dependency.INDEPENDENT
    for earlier in range(place):
        order = [each for each in usual if each != place]
        order.insert(earlier, place)
        results, state = _outcome(task, order)
        if (results[place], state) != (expected[0][place], expected[1]):
            return Dependency.STATE
        if results != expected[0]:
            found = Dependency.ORDER
    return found


def _outcome(task: SubTask, order: Sequence[int]) -> tuple[dict[int, str], dict[str, Any]]:
    """Return the result of each gold call, by its place in the ground truth, and the final state."""
    executor, results = fresh_executor(task), {}
    for place in order:
        call = task.gold[place]
        results[place] = executor.call(call.tool, call.arguments)
    return results, executor.public_state()
