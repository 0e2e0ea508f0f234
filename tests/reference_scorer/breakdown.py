"""A second account of the tables of `bench score --by`, written from their definitions in `benchmark/README.md`.

It imports the reference scorer and the standard library, nothing of the project. Input are saved episodes with their
compositions in full and the reference's verdicts on them. Each rule is one function of the module, so that a test can
replace one and see the comparison fail.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference_scorer.scorer import (
    CanonicalCall,
    OpenWorld,
    Verdict,
    calls_of,
    canonical,
    exact,
    mean,
)

Episode = Mapping[str, Any]
Figures = Mapping[str, Any]
"""Name of a figure -> a number, a pair of hits and denominator, or None where there is no data."""
MODES = ("confusion", "premature", "format", "argument", "neglect", "other")


@dataclass(frozen=True, kw_only=True)
class Account:
    """What the tables need of one episode."""

    episode: Episode
    verdict: Verdict
    modes: tuple[frozenset[str], ...]
    """Of each sub-task, in the order of the prompt."""
    right: tuple[bool, ...]
    """Of each call: True if its sub-task still lacked it."""
    first: int | None
    """Place of the first call for the wrong sub-task."""


def account(episode: Episode, verdict: Verdict, open_world: OpenWorld) -> Account:
    """Return the account of an episode."""
    tasks = episode["composition"]["sub_tasks"]
    worlds = {task["id"]: open_world(task) for task in tasks}
    gold = {
        task["id"]: [canonical(call, worlds[task["id"]]) for call in task["gold"]] for task in tasks
    }
    calls = [
        (call["task_id"], canonical(call, worlds[call["task_id"]]))
        for call in episode["trajectory"]
    ]
    unreadable = episode["counters"]["format_errors"]
    modes = []
    for task, judged in zip(tasks, verdict.sub_tasks, strict=True):
        own, world = task["id"], worlds[task["id"]]
        if judged.accuracy:
            modes.append(frozenset[str]())
            continue
        made = calls_of(episode, own)
        elsewhere = [
            canonical(call, world) for call in episode["trajectory"] if call["task_id"] != own
        ]
        theirs = [
            canonical(call, world) for task in tasks if task["id"] != own for call in task["gold"]
        ]
        forms = [canonical(call, world) for call in made]
        lacks = lacking(gold[own], forms)
        found = {
            "confusion": any(call["tool"] not in task["tools"] for call in made)
            or made_elsewhere(gold[own], forms, elsewhere, theirs),
            "premature": judged.premature_needed > 0,
            "format": any(
                not accepts(world.parameters(call["tool"]), call["arguments"])
                for call in made
                if call["tool"] in task["tools"]
            )
            or bool(lacks["nothing"] and unreadable),
            "argument": lacks["another"] > 0,
            "neglect": lacks["nothing"] > 0,
        }
        modes.append(
            frozenset(name for name, is_so in found.items() if is_so) or frozenset({"other"})
        )
    tools = {task["id"]: set(task["tools"]) for task in tasks}
    wrong = [misplaced(own, call, gold, tools) for own, call in calls]
    return Account(
        episode=episode,
        verdict=verdict,
        modes=tuple(modes),
        right=still_lacked(calls, gold),
        first=wrong.index(True) if any(wrong) else None,
    )


def lacking(gold: Sequence[CanonicalCall], made: Sequence[CanonicalCall]) -> Counter[str]:
    """Return how many gold calls are missing with another call of their tool in their stead, and with nothing."""
    missing = Counter(call[0] for call in (Counter(gold) - Counter(made)).elements())
    spare = Counter(call[0] for call in (Counter(made) - Counter(gold)).elements())
    instead = sum(min(count, spare[tool]) for tool, count in missing.items())
    return Counter(another=instead, nothing=missing.total() - instead)


def made_elsewhere(
    gold: Sequence[CanonicalCall],
    made: Sequence[CanonicalCall],
    elsewhere: Sequence[CanonicalCall],
    theirs: Sequence[CanonicalCall],
) -> bool:
    """Return True if a gold call that was not made bears another id, where it is not that sub-task's own."""
    return bool((Counter(gold) - Counter(made)).keys() & (set(elsewhere) - set(theirs)))


def misplaced(
    own: str,
    call: CanonicalCall,
    gold: Mapping[str, Sequence[CanonicalCall]],
    tools: Mapping[str, set[str]],
) -> bool:
    """Return True if a call is one for the wrong sub-task."""
    others = [name for name in gold if name != own]
    if call[0] not in tools[own]:
        return any(call[0] in tools[name] for name in others)
    return call not in gold[own] and any(call in gold[name] for name in others)


def still_lacked(
    calls: Sequence[tuple[str, CanonicalCall]], gold: Mapping[str, Sequence[CanonicalCall]]
) -> tuple[bool, ...]:
    """Return for each call whether its sub-task had that gold call still to make."""
    made: Counter[tuple[str, CanonicalCall]] = Counter()
    found = []
    for own, call in calls:
        found.append(made[own, call] < Counter(gold[own])[call])
        made[own, call] += 1
    return tuple(found)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
}


def accepts(schema: Any, value: Any) -> bool:
    """Return True if a value fits a JSON schema, as far as the tools use the language."""
    if isinstance(schema, bool):
        return schema
    kinds = schema.get("type", list(_TYPES))
    if not any(_TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if "enum" in schema and exact(value) not in map(exact, schema["enum"]):
        return False
    match value:
        case bool() | None:
            return True
        case int() | float():
            return (
                value >= schema.get("minimum", value)
                and value <= schema.get("maximum", value)
                and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
            )
        case str():
            fits = re.search(schema.get("pattern", ""), value) is not None
            return fits and _within(schema, "Length", len(value))
        case list():
            alike = schema.get("uniqueItems") and len(set(map(exact, value))) < len(value)
            return (
                not alike
                and _within(schema, "Items", len(value))
                and all(accepts(schema.get("items", True), each) for each in value)
            )
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return (
        set(schema.get("required", ())) <= set(value)
        and _within(schema, "Properties", len(value))
        and all(accepts(known.get(name, others), each) for name, each in value.items())
    )


def _within(schema: Mapping[str, Any], what: str, size: int) -> bool:
    return bool(schema.get(f"min{what}", 0) <= size <= schema.get(f"max{what}", size))


def share(verdicts: Iterable[bool]) -> tuple[int, int]:
    """Return hits and denominator."""
    said = list(verdicts)
    return sum(said), len(said)


def results(accounts: Sequence[Account]) -> Figures:
    """Return the figures of some compositions."""
    return {
        "overall": share(each.verdict.overall for each in accounts),
        "accuracy": share(task.accuracy for each in accounts for task in each.verdict.sub_tasks),
        "rounds_on_success": mean(
            each.verdict.counters["rounds"] for each in accounts if each.verdict.overall
        ),
    }


Key = tuple[Hashable, ...]
Tables = dict[str, dict[Key, Figures]]


def tables(accounts: Sequence[Account]) -> Tables:
    """Return the tables of one condition: name -> labels of a line -> its figures."""
    return {
        "kind": _grouped(accounts, lambda each: (each.episode["composition"]["kind"],)),
        "tasks": _grouped(accounts, lambda each: (str(len(each.modes)),)),
        "category": {
            (name,): {
                "trajectory": share(task.trajectory for task in tasks),
                "state": share(task.state for task in tasks),
                "accuracy": share(task.accuracy for task in tasks),
            }
            for name, tasks in _by_category(accounts).items()
        },
        "position": positions(accounts),
        "modes": modes_table([each for one in accounts for each in one.modes]),
        "cascades": {(name,): figures for name, figures in cascades(accounts).items()},
    }


def _grouped(accounts: Sequence[Account], label: Callable[[Account], Key]) -> dict[Key, Figures]:
    groups = defaultdict(list)
    for each in accounts:
        groups[label(each)].append(each)
    return {key: results(found) for key, found in groups.items()}


def _by_category(accounts: Sequence[Account]) -> Mapping[str, list[Any]]:
    groups = defaultdict(list)
    for each in accounts:
        tasks = each.episode["composition"]["sub_tasks"]
        for task, verdict in zip(tasks, each.verdict.sub_tasks, strict=True):
            groups[task["category"]].append(verdict)
    return groups


def positions(accounts: Sequence[Account]) -> dict[Key, Figures]:
    """Return neglect by number of tasks and place in the prompt, from 1."""
    groups = defaultdict(list)
    for each in accounts:
        for place, pair in enumerate(zip(each.verdict.sub_tasks, each.modes, strict=True)):
            groups[str(len(each.modes)), str(place + 1)].append(pair)
    return {
        key: {
            "neglected": share("neglect" in modes for _, modes in pairs),
            "untouched": share(verdict.calls == 0 for verdict, _ in pairs),
            "accuracy": share(verdict.accuracy for verdict, _ in pairs),
        }
        for key, pairs in groups.items()
    }


def modes_table(found: Sequence[frozenset[str]]) -> dict[Key, Figures]:
    """Return each mistake with those that stand beside it in one sub-task."""
    return {
        (mode,): {
            "share": share(mode in each for each in found),
            "alone": sum(each == {mode} for each in found),
            "together": {
                other: sum(mode in each and other in each for each in found) for other in MODES
            },
        }
        for mode in MODES
    }


def cascades(accounts: Sequence[Account]) -> dict[str, Figures]:
    """Return what follows the first call for the wrong sub-task, beside the same step of runs without one."""
    struck = [each for each in accounts if each.first is not None]
    found: dict[str, Figures] = {}
    for question, answer in QUESTIONS.items():
        pairs: list[tuple[float, float]] = []
        others: set[tuple[int, int]] = set()
        for each in struck:
            peers = [
                (place, value)
                for place, peer in enumerate(accounts)
                if comparable(peer, each) and (value := answer(peer, each.first)) is not None
            ]
            after = answer(each, each.first)
            if after is not None and peers:
                pairs.append((after, sum(value for _, value in peers) / len(peers)))
                others |= {(place, each.first or 0) for place, _ in peers}
        found[question] = {
            "runs": len(struck),
            "cases": len(pairs),
            "steps": len(others),
            "after": mean(100 * after for after, _ in pairs),
            "without": mean(100 * other for _, other in pairs),
            "difference": mean(100 * (after - other) for after, other in pairs),
        }
    return found


def comparable(peer: Account, struck: Account) -> bool:
    """Return True if a run has as many tasks, comes to the step and has no call for the wrong sub-task up to it."""
    step = struck.first or 0
    return (
        len(peer.modes) == len(struck.modes)
        and len(peer.right) > step
        and (peer.first is None or peer.first > step)
    )


def missed(run: Account, step: int) -> float | None:
    """Of the gold calls that are open after a step: the share that is never made."""
    gold = sum(len(task["gold"]) for task in run.episode["composition"]["sub_tasks"])
    still_open = gold - sum(run.right[: step + 1])
    return (still_open - sum(run.right[step + 1 :])) / still_open if still_open else None


def later_wrong(run: Account, step: int) -> float | None:
    """Of the calls after a step: the share that is wrong."""
    return mean(not each for each in run.right[step + 1 :])


def others_fail(run: Account, step: int) -> float | None:
    """Of the sub-tasks that the call at a step does not name: the share that fails."""
    named = run.episode["trajectory"][step]["task_id"]
    return mean(not each.accuracy for each in run.verdict.sub_tasks if each.task_id != named)


def fails(run: Account, step: int) -> float | None:
    """Return 1 if the run fails, 0 if it does not."""
    return float(not run.verdict.overall)


QUESTIONS: dict[str, Callable[[Account, Any], float | None]] = {
    "open gold calls never made": lambda run, step: missed(run, step),
    "later calls that are wrong": lambda run, step: later_wrong(run, step),
    "other sub-tasks that fail": lambda run, step: others_fail(run, step),
    "runs that fail": lambda run, step: fails(run, step),
}


def beside(accounts: Sequence[Account], others: Sequence[Account]) -> tuple[int, float | None]:
    """Return the pairs of two conditions, and the mean difference of overall in points."""
    known = {_name(each): each.verdict.overall for each in others}
    pairs = [
        100 * (each.verdict.overall - known[_name(each)])
        for each in accounts
        if _name(each) in known
    ]
    return len(pairs), mean(pairs)


def _name(each: Account) -> tuple[str, int]:
    return each.episode["composition"]["id"], each.episode["run"]["seed"]
