"""The tasks of the suite, and its one composition."""

from asyncguard_benchmark.harness.loading import sub_task_from_json
from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask

_PEOPLE = {"b1": "Ada", "b2": "Grace"}


def tasks() -> tuple[SubTask, ...]:
    """Return one task for each person."""
    return tuple(_task(badge, name) for badge, name in _PEOPLE.items())


def compositions(name: str) -> tuple[Composition, ...]:
    """Return the compositions of a set; there is one set."""
    return (Composition(id=f"{name}-1", kind=Kind.S2, sub_tasks=tasks()),)


def _task(badge: str, name: str) -> SubTask:
    gold = [
        {"tool": "look_up", "arguments": {"badge": badge}, "sources": {"/badge": "query"}},
        {
            "tool": "greet",
            "arguments": {"name": name},
            "sources": {"/name": {"call": 0, "pointer": "/name"}},
        },
    ]
    whole = {
        "id": f"toy-{badge}",
        "category": "GR",
        "query": f"Greet the person with the badge {badge}.",
        "narration": "in_order",
        "tools": ["look_up", "greet"],
        "initial_state": {"people": _PEOPLE, "greeted": []},
        "gold": gold,
    }
    return sub_task_from_json(whole, f"toy.{badge}")
