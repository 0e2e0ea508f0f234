"""``bench list``: what can be played."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.commands.run import chosen
from asyncguard_benchmark.harness.arms import ALL_SWITCHES, ARMS, SWITCHES, Arm
from asyncguard_benchmark.harness.players import guarded, plain
from asyncguard_benchmark.harness.registry import agent_class
from asyncguard_benchmark.harness.scenario import Composition, SubTask
from asyncguard_benchmark.harness.suites import BenchmarkSuite, registry

Rows = list[dict[str, Any]]

TRAINED_AGENT = "Says what a trained model says; needs an extra, see benchmark/README.md."


def execute(options: Namespace) -> int:
    """Run the command."""
    lists = {**_LISTS, **(_of_set(options.suite) if options.suite else {})}
    found = {name: make() for name, make in lists.items() if options.what in (None, name)}
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


def _suites() -> Rows:
    return [
        {
            "name": suite.name,
            "what it is": suite.summary,
            "sets": list(suite.sets),
            "categories": list(suite.toolsets),
            "agents": list(suite.agents),
        }
        for suite in registry().suites.values()
    ]


def _playable() -> list[BenchmarkSuite]:
    """Return the suites whose compositions `bench run` plays."""
    return [suite for suite in registry().suites.values() if suite.sets]


def _of_set(name: str) -> Mapping[str, Callable[[], Rows]]:
    """Return the lists of one set of compositions, instead of those of every suite's first."""
    compositions = chosen(None, name)
    tasks = {task.id: task for each in compositions for task in each.sub_tasks}
    return {
        "tasks": lambda: _task_rows(sorted(tasks.values(), key=attrgetter("id"))),
        "compositions": lambda: _composition_rows(compositions),
    }


def _sets() -> Rows:
    """Say how often each set uses each task that it has, and how long its tasks are."""
    rows = []
    for name, suite in ((name, each) for each in _playable() for name in each.sets):
        compositions = suite.load(suite.compositions)(name)
        tasks = [task for each in compositions for task in each.sub_tasks]
        uses = Counter(task.id for task in tasks).values()
        rows.append(
            {
                "name": name,
                "suite": suite.name,
                "compositions": len(compositions),
                "tasks": len(uses),
                "uses of a task": f"{min(uses)} to {max(uses)}",
                "calls of a task": round(sum(len(task.gold) for task in tasks) / len(tasks), 2),
            }
        )
    return rows


def _tasks() -> Rows:
    suites = [suite for suite in _playable() if suite.tasks]
    return _task_rows(task for suite in suites for task in suite.load(suite.tasks)())


def _task_rows(tasks: Iterable[SubTask]) -> Rows:
    return [
        {
            "id": task.id,
            "category": task.category.value,
            "calls": [call.tool for call in task.gold],
            "tools": len(task.tools),
            "narration": task.narration.value,
        }
        for task in tasks
    ]


def _compositions() -> Rows:
    return _composition_rows(
        each for suite in _playable() for each in suite.load(suite.compositions)(suite.sets[0])
    )


def _composition_rows(compositions: Iterable[Composition]) -> Rows:
    return [
        {
            "id": each.id,
            "kind": each.kind.value,
            "calls": each.gold_calls,
            "sub_tasks": list(each.task_ids),
        }
        for each in compositions
    ]


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


def _agents() -> Rows:
    names = (*registry().agents, *registry().personas)
    simulated = [(name, _first_line(agent_class(name))) for name in names]
    # The class of a trained agent loads what only its extra installs.
    trained = [(name, TRAINED_AGENT) for name in registry().trained]
    return [{"name": name, "what it does": does} for name, does in (*simulated, *trained)]


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
        on = [switch for switch in ALL_SWITCHES if switch in arm.switched_on]
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
    "suites": _suites,
    "sets": _sets,
    "tasks": _tasks,
    "compositions": _compositions,
    "agents": _agents,
    "players": _players,
    "arms": _arms,
}
