"""Measure the scorers of missions on this machine, on one core: `python benchmark/performance/missions.py`.

Every figure is the median of several rounds and stands beside its bound; exit code 1 says that one was missed. The last
figures compare the frontier with a plain enumeration of all schedules, round by round.
"""

import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random
from statistics import median

from asyncguard_benchmark.suites.missions.entries import Entry, EntryKey
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules, match
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.summary import summary
from asyncguard_benchmark.suites.missions.scorers.verdict import judge, judge_strict
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter

ROUNDS = 5
END = Step(text="All is done.")
WORDS = ("Paris", "Rome", "Oslo", "a table by the window", "2024-05-01", "user@example.com")
PROPERTIES = {
    "place": {"type": "string", "description": "Name of a place."},
    "count": {"type": "integer", "description": "How many, default 1."},
    "tags": {"type": "array", "items": {"type": "string"}, "description": "Labels."},
}


def main() -> int:
    """Print every figure; return 1 if a bound was missed."""
    distinct, twins = _independent("ABCDEFGHIJKLMN"), _independent("A" * 14)
    entries = list(_dialogues(Random(1)))
    figures = [
        _figure(
            "14 independent tools, names differ, one a step (ms)",
            1.0,
            1e3,
            lambda: judge_strict(distinct),
        ),
        _figure("14 interchangeable calls, one a step (ms)", 1.0, 1e3, lambda: judge_strict(twins)),
        _figure("14 pairs of one name, all successors differ (s)", 1.0, 1.0, _worst_case()),
        _figure(
            "1,024 missions of 256 dialogues, both scorers (s)",
            2.0,
            1.0,
            lambda: [judge(each) for each in entries],
        ),
    ]
    verdicts = [judge(each) for each in entries]
    figures.append(_figure("every figure of these (s)", 2.0, 1.0, lambda: summary(verdicts)))
    for number in range(2, 8):
        _ratio(number)
    return 0 if all(figures) else 1


def _figure(name: str, bound: float, unit: float, work: Callable[[], object]) -> bool:
    value = median(_seconds(work) for _ in range(ROUNDS)) * unit
    met = value < bound
    print(f"{name:52} {value:8.3f}  bound {bound:g}{'' if met else '  MISSED'}", flush=True)
    return met


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _node(
    name: str, needs: tuple[int, ...] = (), arguments: dict[str, object] | None = None
) -> Node:
    return Node(
        name=name, arguments=arguments or {"place": WORDS[0]}, needs=needs, observation={"ok": True}
    )


def _end(nodes: list[Node]) -> GoldGraph:
    return GoldGraph((*nodes, Node(name=ANSWER, needs=tuple(range(len(nodes))))))


def _entry(
    graph: GoldGraph, steps: tuple[Step, ...], key: EntryKey, letter: Letter, names: str
) -> Entry:
    schema = {"type": "object", "properties": PROPERTIES, "required": ["place"]}
    tools = {name: Tool(name=name, parameters=schema) for name in names}
    return Entry(
        key=key,
        letter=letter,
        pattern=(letter,),
        relation=None,
        graph=graph,
        tools=tools,
        steps=steps,
    )


def _independent(names: str) -> Entry:
    graph = _end([_node(name) for name in names])
    steps = (*(Step((ToolCall(name, {"place": WORDS[0]}),)) for name in names), END)
    return _entry(graph, steps, EntryKey("d", 0), Letter.MULTI, names)


def _worst_case() -> Callable[[], object]:
    nodes = [_node("A") for _ in range(14)] + [_node(f"B{each}", (each,)) for each in range(14)]
    steps = tuple(Step((ToolCall("A"),)) for _ in range(14))
    return lambda: match(Rules.by_names(_end(nodes)), steps)


def _dialogues(random: Random) -> Iterator[Entry]:
    """Yield four missions each of 256 dialogues: a third of the runs is right, others fail in names or arguments."""
    for dialogue in range(256):
        for mission in range(4):
            letter = random.choice(list(Letter))
            nodes = (
                [Node(name=ASK, arguments={"missing_required_parameters": ["place"]})]
                if letter is Letter.CLARIFY
                else []
            )
            size = {Letter.CHAT: 0, Letter.SINGLE: 1}.get(letter, random.randint(2, 6))
            for number in range(len(nodes), len(nodes) + size):
                before = [each for each in range(1, number) if random.random() < 0.4]
                asked = (0,) if letter is Letter.CLARIFY else ()
                arguments = {"place": random.choice(WORDS), "count": number, "tags": ["x", "y"]}
                nodes.append(_node(random.choice("ABCDE"), (*asked, *before), arguments))
            graph = _end(nodes)
            yield _entry(
                graph, _run(random, graph), EntryKey(str(dialogue), mission), letter, "ABCDE"
            )


def _run(random: Random, graph: GoldGraph) -> tuple[Step, ...]:
    done, steps = 0, list[Step]()
    while ready := [each for each in range(len(graph.nodes) - 1) if graph.ready(done) >> each & 1]:
        step = ready if random.random() < 0.5 else ready[:1]
        done |= sum(1 << each for each in step)
        if graph.nodes[step[0]].name == ASK:
            steps.append(Step(text="Which place?"))
            continue
        steps.append(Step(tuple(_call(random, graph.nodes[each]) for each in step)))
    return (*steps, END) if random.random() < 0.9 else tuple(steps)


def _call(random: Random, node: Node) -> ToolCall:
    arguments = dict(node.arguments)
    if random.random() < 0.15:
        arguments["place"] = random.choice(WORDS)
    return ToolCall("E" if random.random() < 0.05 else node.name, arguments)


def _ratio(number: int) -> None:
    """Print how many times longer it takes to list all schedules than to follow one, and how many there are."""
    graph = _end([_node(name) for name in "ABCDEFG"[:number]])
    steps = (*(Step((ToolCall(node.name),)) for node in graph.nodes[:-1]), END)
    rules = Rules.by_names(graph)
    ratios = [
        _seconds(lambda: sum(1 for _ in _schedules(graph, 0)))
        / _seconds(lambda: match(rules, steps))
        for _ in range(ROUNDS)
    ]
    count = sum(1 for _ in _schedules(graph, 0))
    print(
        f"{number} independent tools: {count:6,} schedules, listing them takes {median(ratios):9.1f} times as long"
    )


def _schedules(graph: GoldGraph, done: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    left = [each for each in range(len(graph.nodes) - 1) if graph.ready(done) >> each & 1]
    if not left:
        yield ()
    for size in range(1, len(left) + 1):
        for step in combinations(left, size):
            for rest in _schedules(graph, done | sum(1 << each for each in step)):
                yield (step, *rest)


if __name__ == "__main__":
    sys.exit(main())
