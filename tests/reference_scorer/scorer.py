"""A second scorer of AsyncTool episodes, written from the paper's rules alone, to be compared with the project's.

It imports nothing of the project. Input is the saved form of an episode with its composition in full; its tools are
reached through one door, `OpenWorld`, which the caller passes in. Each rule is one function of the module, so that a
test can replace one and see the comparison fail.

Readings where the paper's rules leave something open, all stated in `benchmark/README.md` or the specification:

- P is the trajectory: the calls that reached an executor, executed again; saved responses and ticks are not believed.
- JSON values are equal by type and value: 10 is 10.0, true is not 1, the order of names does not matter, the order of a
  list does.
- A call stands for the next gold call of its tool: the first one for the first, the second for the second. One too many
  is another attempt at the last of them, and needs what that needs. Pending calls stand for gold calls
  in the same way.
- Macro F1 takes labels that occur in the ground truth of the corpus; parameters are judged per function of the ground
  truth in one sub-task, by its last call. Micro F1 takes every call.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, Protocol


class World(Protocol):
    """The tools of one sub-task on a fresh copy of its initial state."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Make a call and return its result as text, an error included."""
        ...

    def state(self) -> Any:
        """Return the public state as JSON."""
        ...

    def parameters(self, tool: str) -> Mapping[str, Any]:
        """Return the JSON schema of a tool's arguments; an empty one if the sub-task has no such tool."""
        ...


OpenWorld = Callable[[Mapping[str, Any]], World]
"""From the saved form of a sub-task to its world."""

Call = Mapping[str, Any]
"""A gold call, or a record of a trajectory: both have `tool` and `arguments`."""


@dataclass(frozen=True, kw_only=True)
class SubTaskVerdict:
    """The verdict on one sub-task."""

    task_id: str
    trajectory: bool
    ordered_trajectory: bool
    result: bool
    state: bool
    accuracy: bool
    changes_state: bool
    """True if the ground truth leaves another state than it found."""
    calls: int
    premature_needed: int
    premature_harmless: int


@dataclass(frozen=True, kw_only=True)
class F1Counts:
    """What one sub-task contributes to the F1 figures."""

    gold_functions: Counter[Hashable]
    made_functions: Counter[Hashable]
    gold_parameters: Counter[Hashable]
    made_parameters: Counter[Hashable]
    samples: tuple[tuple[frozenset[Hashable], frozenset[Hashable]], ...]
    """Labels of each gold function: in its last gold call, and in the last call made."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one episode."""

    sub_tasks: tuple[SubTaskVerdict, ...]
    same_task_streak: int
    counters: Mapping[str, Any]
    """As the episode holds them."""
    f1_counts: tuple[F1Counts, ...]

    @property
    def task_trajectory(self) -> bool:
        """True if all calls of all sub-tasks were made."""
        return all_of(each.trajectory for each in self.sub_tasks)

    @property
    def task_state(self) -> bool:
        """True if all sub-tasks end in the right state."""
        return all_of(each.state for each in self.sub_tasks)

    @property
    def overall(self) -> bool:
        """True if all sub-tasks are right in every way."""
        return all_of(each.accuracy for each in self.sub_tasks)


def score(episode: Mapping[str, Any], open_world: OpenWorld) -> Verdict:
    """Return the verdict on an episode in its saved form."""
    tasks = episode["composition"]["sub_tasks"]
    judged = [_judge(task, calls_of(episode, task["id"]), open_world) for task in tasks]
    return Verdict(
        sub_tasks=tuple(verdict for verdict, _ in judged),
        same_task_streak=streak([record["task_id"] for record in episode["trajectory"]]),
        counters=episode["counters"],
        f1_counts=tuple(counts for _, counts in judged),
    )


def calls_of(episode: Mapping[str, Any], task_id: str) -> list[Call]:
    """Return P: the calls made with the id of a sub-task, in the order of issue."""
    return [record for record in episode["trajectory"] if record["task_id"] == task_id]


def _judge(
    task: Mapping[str, Any], made: Sequence[Call], open_world: OpenWorld
) -> tuple[SubTaskVerdict, F1Counts]:
    gold_world, made_world = open_world(task), open_world(task)
    before = exact(gold_world.state())
    gold_results, made_results = execute(task["gold"], gold_world), execute(made, made_world)
    gold_form = [canonical(call, gold_world) for call in task["gold"]]
    made_form = [canonical(call, made_world) for call in made]
    after = exact(gold_world.state())
    traj = contained(gold_form, made_form)
    result = contained(gold_results, made_results)
    state = same_state(after, exact(made_world.state()), made)
    needed, harmless = premature(task["gold"], made)
    verdict = SubTaskVerdict(
        task_id=task["id"],
        trajectory=traj,
        ordered_trajectory=in_order(gold_form, made_form),
        result=result,
        state=state,
        accuracy=accurate(trajectory=traj, result=result, state=state),
        changes_state=before != after,
        calls=len(made),
        premature_needed=needed,
        premature_harmless=harmless,
    )
    return verdict, f1_counts(gold_form, made_form)


def exact(value: Any) -> Hashable:
    """Return a hashable form that two JSON values share exactly if they are equal as JSON."""
    match value:
        case bool() | None:
            return ("constant", value)
        case float() if not isfinite(value):
            return ("number", repr(value))  # Python reads and writes it, though it is not JSON
        case int() | float():
            return ("number", Fraction(value))
        case str():
            return ("text", value)
        case Mapping():
            return ("object", frozenset((name, exact(item)) for name, item in value.items()))
        case _:
            return ("list", tuple(exact(item) for item in value))


CanonicalCall = tuple[str, frozenset[tuple[str, Hashable]]]


def canonical(call: Call, world: World) -> CanonicalCall:
    """Return a call as tool and arguments, without the arguments that are equal to their default."""
    absent = defaults(world.parameters(call["tool"]))
    pairs = ((name, exact(value)) for name, value in call["arguments"].items())
    return call["tool"], frozenset(pair for pair in pairs if pair not in absent)


def defaults(schema: Mapping[str, Any]) -> set[tuple[str, Hashable]]:
    """Return the arguments of a schema that have a default, with it."""
    properties = schema.get("properties", {}).items()
    return {(name, exact(each["default"])) for name, each in properties if "default" in each}


def execute(calls: Sequence[Call], world: World) -> list[str]:
    """Return the results of calls made one after the other."""
    return [world.call(call["tool"], call["arguments"]) for call in calls]


def contained(gold: Sequence[Hashable], made: Sequence[Hashable]) -> bool:
    """Return True if the multiset of the ground truth is part of the multiset of what was made."""
    there = Counter(made)
    return all(there[each] >= count for each, count in Counter(gold).items())


def in_order(gold: Sequence[Hashable], made: Sequence[Hashable]) -> bool:
    """Return True if the ground truth is a subsequence of what was made."""
    position = 0
    for each in made:
        if position < len(gold) and each == gold[position]:
            position += 1
    return position == len(gold)


def same_state(gold: Hashable, made: Hashable, calls: Sequence[Call]) -> bool:
    """Return True if the states are equal and at least one call was made."""
    return gold == made and bool(calls)


def accurate(*, trajectory: bool, result: bool, state: bool) -> bool:
    """Return True if a sub-task is right in all three ways."""
    return trajectory and result and state


def all_of(verdicts: Iterable[bool]) -> bool:
    """Return True if every sub-task of a composition passes."""
    return all(verdicts)


def premature(gold: Sequence[Call], made: Sequence[Call]) -> tuple[int, int]:
    """Return how many calls were made too early and needed a pending value, and how many did not need one."""
    steps = dict(zip((record["number"] for record in made), steps_of(gold, made), strict=True))
    needed = harmless = 0
    for record in made:
        if not record["pending_before"]:
            continue
        wanted = needs(gold, steps[record["number"]])
        if any(steps.get(number) in wanted for number in record["pending_before"]):
            needed += 1
        else:
            harmless += 1
    return needed, harmless


def steps_of(gold: Sequence[Call], made: Sequence[Call]) -> list[int | None]:
    """Return the index of the gold call that each call stands for; None if the ground truth does not use its tool."""
    steps = defaultdict(list)
    for index, call in enumerate(gold):
        steps[call["tool"]].append(index)
    earlier: Counter[str] = Counter()
    found: list[int | None] = []
    for call in made:
        own = steps[call["tool"]]
        found.append(own[min(earlier[call["tool"]], len(own) - 1)] if own else None)
        earlier[call["tool"]] += 1
    return found


def needs(gold: Sequence[Call], step: int | None) -> set[int]:
    """Return the indices of the gold calls whose results a gold call takes values from."""
    if step is None:
        return set()
    found: set[int] = set()
    for source in gold[step]["sources"].values():
        if not isinstance(source, str):
            found |= {source["call"]} if "call" in source else set(source["uses"])
    return found


def streak(task_ids: Sequence[str]) -> int:
    """Return the longest run of consecutive calls with one id."""
    longest = current = 0
    for position, task_id in enumerate(task_ids):
        current = current + 1 if position and task_id == task_ids[position - 1] else 1
        longest = max(longest, current)
    return longest


def f1_counts(gold: Sequence[CanonicalCall], made: Sequence[CanonicalCall]) -> F1Counts:
    """Return function names and "argument = value" pairs of a sub-task, in the ground truth and as made."""
    last_gold, last_made = dict(gold), dict(made)
    return F1Counts(
        gold_functions=Counter(tool for tool, _ in gold),
        made_functions=Counter(tool for tool, _ in made),
        gold_parameters=Counter((tool, pair) for tool, pairs in gold for pair in pairs),
        made_parameters=Counter((tool, pair) for tool, pairs in made for pair in pairs),
        samples=tuple(
            (frozenset(pairs), frozenset(last_made.get(tool, frozenset())))
            for tool, pairs in last_gold.items()
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures over many episodes: shares in per cent, means, F1 from 0 to 1; None where there is no data."""

    episodes: int
    trajectory: float | None
    ordered_trajectory: float | None
    result: float | None
    state: float | None
    state_where_changed: float | None
    accuracy: float | None
    accuracy_without_result: float | None
    task_trajectory: float | None
    task_state: float | None
    overall: float | None
    function_f1: float | None
    parameter_f1: float | None
    function_micro_f1: float | None
    parameter_micro_f1: float | None
    rounds_on_success: Mapping[int, float]
    """Number of sub-tasks -> mean rounds of the episodes that are right."""
    rounds: float | None
    ticks: float | None
    same_task_streak: float | None
    idle_turns: float | None
    format_errors: float | None
    truncated: float | None
    premature_needed: int
    premature_harmless: int


def summarise(verdicts: Sequence[Verdict]) -> Figures:
    """Return the figures over the verdicts on many episodes."""
    tasks = [each for verdict in verdicts for each in verdict.sub_tasks]
    counts = [each for verdict in verdicts for each in verdict.f1_counts]
    functions = [(frozenset(c.gold_functions), frozenset(c.made_functions)) for c in counts]
    won: dict[int, list[float]] = defaultdict(list)
    for each in verdicts:
        if each.overall:
            won[len(each.sub_tasks)].append(each.counters["rounds"])
    return Figures(
        episodes=len(verdicts),
        trajectory=_share(each.trajectory for each in tasks),
        ordered_trajectory=_share(each.ordered_trajectory for each in tasks),
        result=_share(each.result for each in tasks),
        state=_share(each.state for each in tasks),
        state_where_changed=_share(each.state for each in tasks if each.changes_state),
        accuracy=_share(each.accuracy for each in tasks),
        accuracy_without_result=_share(each.trajectory and each.state for each in tasks),
        task_trajectory=_share(each.task_trajectory for each in verdicts),
        task_state=_share(each.task_state for each in verdicts),
        overall=_share(each.overall for each in verdicts),
        function_f1=macro_f1(functions),
        parameter_f1=macro_f1([sample for each in counts for sample in each.samples]),
        function_micro_f1=micro_f1((c.gold_functions, c.made_functions) for c in counts),
        parameter_micro_f1=micro_f1((c.gold_parameters, c.made_parameters) for c in counts),
        rounds_on_success={size: mean(rounds) or 0.0 for size, rounds in won.items()},
        rounds=mean(each.counters["rounds"] for each in verdicts),
        ticks=mean(each.counters["ticks"] for each in verdicts),
        same_task_streak=mean(each.same_task_streak for each in verdicts),
        idle_turns=mean(each.counters["idle_turns"] for each in verdicts),
        format_errors=mean(each.counters["format_errors"] for each in verdicts),
        truncated=_share(each.counters["truncated"] for each in verdicts),
        premature_needed=sum(each.premature_needed for each in tasks),
        premature_harmless=sum(each.premature_harmless for each in tasks),
    )


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None of nothing."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _share(verdicts: Iterable[bool]) -> float | None:
    return mean(100.0 * verdict for verdict in verdicts)


def macro_f1(samples: Sequence[tuple[frozenset[Hashable], frozenset[Hashable]]]) -> float | None:
    """Return the mean F1 over the labels that occur in the ground truth of any sample."""
    gold = Counter(label for expected, _ in samples for label in expected)
    made = Counter(label for _, found in samples for label in found)
    both = Counter(label for expected, found in samples for label in expected & found)
    return mean(2 * both[label] / (gold[label] + made[label]) for label in gold)


def micro_f1(pairs: Iterable[tuple[Counter[Hashable], Counter[Hashable]]]) -> float | None:
    """Return the F1 of all labels together, each as often as it occurs."""
    both = total = 0
    for gold, made in pairs:
        both += (gold & made).total()
        total += gold.total() + made.total()
    return 2 * both / total if total else None
