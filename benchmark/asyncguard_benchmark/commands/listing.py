"""``bench list``: what can be played."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.harness.arms import ARMS, SWITCHES, Arm
from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.names import PERSONA_NAMES
from asyncguard_benchmark.harness.players import guarded, plain
from asyncguard_benchmark.harness.registry import AGENTS
from asyncguard_benchmark.suites.asynctool.agents.personas.agent import PersonaAgent

Rows = list[dict[str, Any]]


def execute(options: Namespace) -> int:
    """Run the command."""
    found = {name: make() for name, make in _LISTS.items() if options.what in (None, name)}
    if options.json:
        print_json(found)
        return 0
    out = console()
    for name, rows in found.items():
        heads = tuple(rows[0])
        lines = [[_shown(row[head]) for head in heads] for row in rows]
        out.print(
            table(heads, lines, title=f"{name} ({len(rows)})" if options.what is None else None)
        )
        if options.what is None:
            out.print()
    return 0


def _shown(value: Any) -> str:
    return ", ".join(value) or "-" if isinstance(value, list) else str(value)


def _tasks() -> Rows:
    return [
        {
            "id": task.id,
            "category": task.category.value,
            "calls": [call.tool for call in task.gold],
            "tools": len(task.tools),
            "narration": task.narration.value,
        }
        for task in shipped_sub_tasks()
    ]


def _compositions() -> Rows:
    return [
        {
            "id": each.id,
            "kind": each.kind.value,
            "calls": each.gold_calls,
            "sub_tasks": list(each.task_ids),
        }
        for each in shipped_compositions()
    ]


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


def _agents() -> Rows:
    scripted = [{"name": name, "what it does": _first_line(kind)} for name, kind in AGENTS.items()]
    fitted = [{"name": name, "what it does": _first_line(PersonaAgent)} for name in PERSONA_NAMES]
    return [*scripted, *fitted]


def _players() -> Rows:
    functions = {
        "plain": plain.play_plain,
        "graph": guarded.play_graph,
        "middleware": guarded.play_middleware,
    }
    return [
        {"name": name, "what it does": _first_line(function)}
        for name, function in functions.items()
    ]


def _arms() -> Rows:
    rows = []
    for name, arm in ARMS.items():
        on = [switch for switch in SWITCHES if switch in arm.switched_on]
        off = [switch for switch in SWITCHES if switch not in arm.switched_on]
        said = on if len(on) < len(off) else ["all but " + ", ".join(off)] if off else ["all"]
        rows.append({"name": name, "kind": arm.kind.value, "on": [*said, *_beyond_switches(arm)]})
    return rows


def _beyond_switches(arm: Arm) -> list[str]:
    told = {
        "judged and not heeded": arm.config.shadow,
        "refusals without a reason": not arm.wording,
        "refusals at random": arm.sham,
    }
    return [words for words, said in told.items() if said]


_LISTS: Mapping[str, Callable[[], Rows]] = {
    "tasks": _tasks,
    "compositions": _compositions,
    "agents": _agents,
    "players": _players,
    "arms": _arms,
}
