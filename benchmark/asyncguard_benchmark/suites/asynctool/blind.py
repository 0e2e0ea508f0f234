"""Solve the plain tasks blind: from query and API list alone, and compare with the ground truth.

``python -m asyncguard_benchmark.suites.asynctool.blind`` prints what the solver gets, one JSON object a task.
``... blind try ID CALLS`` executes the calls of the solver, a JSON list of ``{"tool", "arguments"}``, and prints their
results, as an agent sees them; it says nothing of the ground truth.
``... blind compare FILE`` prints which solutions differ, from a file with one ``{"id", "calls"}`` a line.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from asyncguard_benchmark.harness.loading import by_id
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring.canonical import canonical, same
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of
from asyncguard_benchmark.suites.asynctool.dataset import plain_tasks


class BlindCall(TypedDict):
    """One call of a blind solution."""

    tool: str
    arguments: dict[str, Any]


class BlindSolution(TypedDict):
    """All calls that a solver made for one task, in order."""

    id: str
    calls: Annotated[list[BlindCall], Field(min_length=1)]


_CALLS = TypeAdapter(list[BlindCall])
_SOLUTION = TypeAdapter(BlindSolution)


def blind_view(task: SubTask) -> dict[str, Any]:
    """Return what a solver gets: id, query and API list; neither ground truth nor state."""
    functions = [tool.function_schema() for tool in tools_of(task).values()]
    return {"id": task.id, "query": task.query, "functions": functions}


def outcome(task: SubTask, calls: Sequence[BlindCall]) -> tuple[list[str], dict[str, Any]]:
    """Return the results of calls on a fresh executor, and the final state."""
    executor = fresh_executor(task)
    return [
        executor.call(call["tool"], call["arguments"]) for call in calls
    ], executor.public_state()


def difference(task: SubTask, calls: Sequence[BlindCall]) -> str | None:
    """Return how a solution differs from the ground truth, None if it is the same.

    It is the same if it has the same calls, none more and none less, with the same results and final state; where calls
    are independent, their order is free.
    """
    gold: list[BlindCall] = [
        {"tool": call.tool, "arguments": dict(call.arguments)} for call in task.gold
    ]
    ours, theirs = (
        Counter(canonical(call["tool"], call["arguments"], tools_of(task)) for call in each)
        for each in (gold, calls)
    )
    if ours != theirs:
        missing = sorted(call.tool for call in (ours - theirs).elements())
        return f"lacks {missing}, has {sorted(call.tool for call in (theirs - ours).elements())}"
    (results, state), (found, reached) = outcome(task, gold), outcome(task, calls)
    if Counter(results) != Counter(found) or not same(state, reached):
        return "has the same calls in an order that gives another result or state"
    return None


def solutions_in(path: Path) -> dict[str, list[BlindCall]]:
    """Return the solutions in a file under their ids.

    Raises:
        ValueError: a line has another form, or two are of one task.
    """
    found: dict[str, list[BlindCall]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        solution = _SOLUTION.validate_json(line)
        if solution["id"] in found:
            raise ValueError(f"two solutions of {solution['id']}")
        found[solution["id"]] = solution["calls"]
    return found


def differences(
    solutions: Mapping[str, Sequence[BlindCall]], tasks: Mapping[str, SubTask]
) -> dict[str, str]:
    """Return the tasks whose solution differs from the ground truth, with the difference.

    Raises:
        ValueError: a solution is of no task.
    """
    if unknown := sorted(solutions.keys() - tasks.keys()):
        raise ValueError(f"there are no tasks {unknown}")
    judged = {key: difference(tasks[key], calls) for key, calls in solutions.items()}
    return {key: said for key, said in judged.items() if said is not None}


def _main() -> int:
    tasks = by_id(plain_tasks())
    reader = argparse.ArgumentParser(prog="blind", description=(__doc__ or "").split("\n")[0])
    doing = reader.add_subparsers(dest="doing")
    trying = doing.add_parser("try", help="execute calls and print their results")
    trying.add_argument("id", choices=tasks, metavar="ID")
    trying.add_argument("calls", help='JSON: [{"tool": ..., "arguments": {...}}, ...]')
    doing.add_parser("compare", help="print which solutions differ").add_argument("file", type=Path)
    options = reader.parse_args()
    if options.doing == "try":
        lines, _ = outcome(tasks[options.id], _CALLS.validate_json(options.calls))
    elif options.doing == "compare":
        solutions = solutions_in(options.file)
        found = differences(solutions, tasks)
        lines = [f"{key}: {said}" for key, said in found.items()]
        lines.append(
            f"{len(solutions) - len(found)} of {len(solutions)} solved, {len(tasks)} tasks"
        )
    else:
        lines = [json.dumps(blind_view(task), ensure_ascii=False) for task in tasks.values()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
