"""Order between calls of different missions of a dialogue that change what the other sees.

The missions share one world. Written one after the other, their gold leaves open which calls could change places if the
user did not wait: two do if in the other order both give the same results and leave the same state.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.missions.bundled.bundle import Bundle, BundledDialogue
from asyncguard_benchmark.suites.missions.bundled.compiler import state_digest

Place = tuple[int, int]
"""Mission and node, both from 0."""


def order_edges(
    bundle: Bundle, dialogue: BundledDialogue, known: Mapping[Place, Collection[Place]]
) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of calls of two missions, the earlier first, that cannot change places.

    Calls are compared nearest first, so that what lies between two of them either follows the first, and then runs
    after both, or does not care about it.

    Args:
        bundle: The domain.
        dialogue: The missions.
        known: Call -> calls of earlier missions that it follows anyway, as it takes values from them.
    """
    before = {
        (at, number): {(at, each) for each in node.needs} | set(known.get((at, number), ()))
        for at, mission in enumerate(dialogue.missions)
        for number, node in enumerate(mission.nodes)
    }
    calls = _gold_order(dialogue)
    tools = {name: bundle.toolset.tools[name] for name in dialogue.tools}
    for place, later in enumerate(calls):
        for earlier in reversed(calls[:place]):
            if earlier[0] == later[0] or earlier in _ancestors(before, later):
                continue
            if not _may_meet(*(tools[_name(dialogue, each)] for each in (earlier, later))):
                continue
            first = [
                each
                for each in calls[:place]
                if each != earlier and earlier not in _ancestors(before, each)
            ]
            if _outcome(bundle, dialogue, [*first, earlier, later]) != _outcome(
                bundle, dialogue, [*first, later, earlier]
            ):
                before[later].add(earlier)
                yield earlier, later


def _gold_order(dialogue: BundledDialogue) -> list[Place]:
    return [
        (at, number)
        for at, mission in enumerate(dialogue.missions)
        for number in mission.graph().order
        if number in mission.calls
    ]


def _name(dialogue: BundledDialogue, place: Place) -> str:
    return dialogue.missions[place[0]].nodes[place[1]].name


def _ancestors(before: Mapping[Place, set[Place]], place: Place) -> set[Place]:
    found, left = set[Place](), [place]
    while left:
        for each in before[left.pop()] - found:
            found.add(each)
            left.append(each)
    return found


def _may_meet(one: Tool, other: Tool) -> bool:
    """Return True if one of two tools writes what the other reads or writes, by what they declare."""
    return any(
        _resources(writer.writes) & _resources((*reader.reads, *reader.writes))
        for writer, reader in ((one, other), (other, one))
    )


def _resources(templates: Sequence[str]) -> set[str]:
    """Return resources without the parts that arguments fill in."""
    return {each.split("{task_id}:")[-1].split(":")[0].split("{")[0] for each in templates}


def _outcome(bundle: Bundle, dialogue: BundledDialogue, order: Sequence[Place]) -> Any:
    """Return the results of the last two calls, by call, and the state."""
    world = bundle.executor(dialogue)
    results = {
        (at, number): world.call(
            _name(dialogue, (at, number)), dialogue.missions[at].nodes[number].arguments
        )
        for at, number in order
    }
    return {each: results[each] for each in order[-2:]}, state_digest(world)
