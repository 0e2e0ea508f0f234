"""Small missions, and an enumerator of legal schedules that shares nothing with the scorers."""

import json
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from typing import Any

from asyncguard_benchmark.suites.missions.entries import Entry, EntryKey
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter

TEXT = Step(text="Which one?")
ANY = {"x": {"type": "integer", "description": "A number."}}


def graph(text: str, *, closed: bool = True) -> GoldGraph:
    """A graph written as in the specification: `A0 B1(0)`, or `A A B`; closed by the end unless told otherwise.

    The digits are the call's argument: equal ones make equal calls; without them all calls differ.
    """
    nodes = []
    for number, word in enumerate(text.split()):
        label, _, needs = word.removesuffix(")").partition("(")
        name = {"ask": ASK}.get(label.rstrip("0123456789"), label.rstrip("0123456789"))
        value = int(label[len(label.rstrip("0123456789")) :] or number)
        needed = tuple(int(each) for each in needs.split(",") if each)
        nodes.append(Node(name=name, needs=needed, arguments={} if name == ASK else {"x": value}))
    if closed:
        nodes.append(Node(name=ANSWER, needs=tuple(range(len(nodes)))))
    return GoldGraph(tuple(nodes))


def schedule(text: str) -> tuple[Step, ...]:
    """Steps written as in the specification: `[A][AB]`, one letter a call; `?` is a text."""
    inner = text.strip("[]").split("][")
    return tuple(
        TEXT if each == "?" else Step(tuple(ToolCall(name) for name in each)) for each in inner
    )


def legal_schedules(gold: GoldGraph) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to do all calls: by step the nodes, each step a set of nodes that are ready."""

    def after(done: frozenset[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
        left = [
            number
            for number, node in enumerate(gold.nodes)
            if node.name != ANSWER and number not in done and done.issuperset(node.needs)
        ]
        if not left:
            yield ()
        for size in range(1, len(left) + 1):
            for step in combinations(left, size):
                for rest in after(done | set(step)):
                    yield (step, *rest)

    return after(frozenset())


def legal_by_search(gold: GoldGraph, steps: Sequence[Sequence[str]]) -> bool:
    """Tell by trying all assignments whether steps of names are a legal schedule of the whole gold."""

    def possible(place: int, done: frozenset[int]) -> bool:
        if place == len(steps):
            return len(done) == sum(node.name != ANSWER for node in gold.nodes)
        ready = [
            number
            for number, node in enumerate(gold.nodes)
            if node.name != ANSWER and number not in done and done.issuperset(node.needs)
        ]
        return any(
            all(
                gold.nodes[number].name == name
                for number, name in zip(chosen, steps[place], strict=True)
            )
            and possible(place + 1, done | set(chosen))
            for chosen in permutations(ready, len(steps[place]))
        )

    return possible(0, frozenset())


def spoken(gold: GoldGraph, nodes: Sequence[Sequence[int]]) -> tuple[Step, ...]:
    """Steps that make the calls of nodes with the gold's arguments; the end is a text."""
    made = [
        Step(
            tuple(
                ToolCall(gold.nodes[each].name, dict(gold.nodes[each].arguments)) for each in step
            )
        )
        for step in nodes
    ]
    return (*made, Step(text="Done."))


def random_graph(random: Random, size: int, names: int) -> GoldGraph:
    """Nodes with random earlier predecessors and a few names."""
    words = []
    for number in range(size):
        needs = [str(each) for each in range(number) if random.random() < 0.3]
        name = random.choice("ABCDEFGH"[:names])
        words.append(f"{name}({','.join(needs)})" if needs else name)
    return graph(" ".join(words))


def tools_for(gold: GoldGraph) -> dict[str, Tool]:
    """A tool with the argument x for each name."""
    names = {node.name for node in gold.nodes} - {ASK, ANSWER}
    return {name: Tool(name=name, parameters={"properties": ANY}) for name in names}


def entry(gold: GoldGraph, steps: Sequence[Step], **fields: Any) -> Entry:
    """A mission with a run."""
    given: dict[str, Any] = {
        "key": EntryKey("d", 0),
        "letter": Letter.MULTI,
        "pattern": (Letter.MULTI,),
        "relation": None,
        "graph": gold,
        "tools": tools_for(gold),
        "steps": tuple(steps),
    }
    return Entry(**{**given, **fields})


def result_row(
    dialogue: str, mission: int, letter: str, gold: GoldGraph, steps: Sequence[Step], **fields: Any
) -> dict[str, Any]:
    """A row in the published shape."""
    names = sorted({node.name for node in gold.nodes} - {ASK, ANSWER} | {"f", "g", "h", "k"})
    return {
        "id": dialogue,
        "idx": mission,
        "type": letter,
        "task": f"task {mission}",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": name,
                    "parameters": {"type": "object", "properties": ANY},
                },
            }
            for name in names
        ],
        "answer_list": [
            {
                "idx": number,
                "action": {"name": node.name, "arguments": dict(node.arguments)},
                "observation": node.observation,
                "dependency_list": list(node.needs),
            }
            for number, node in enumerate(gold.nodes)
        ],
        "predict_result": [
            {
                "step": number,
                "content": step.text,
                "tool_calls": [
                    {
                        "type": "function",
                        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                    }
                    for call in step.calls
                ],
            }
            for number, step in enumerate(steps)
        ],
        "messages": [{"role": "user", "content": f"task {mission}"}],
        "turn_type": [mission > 0],
        "turn_subtypes": ["reference"] if mission else [],
        **fields,
    }


END = Step(text="All done.")


def said(gold: GoldGraph, text: str) -> tuple[Step, ...]:
    """Steps written as in the specification: `(f g), k, text`; `!` is a wrong argument."""
    steps = []
    for word in text.split(", "):
        if word == "text":
            steps.append(END)
            continue
        calls, left = [], list(gold.nodes)
        for name in word.strip("()").split():
            node = next((each for each in left if each.name == name.strip("!")), None)
            right = {} if node is None else dict(node.arguments)
            calls.append(ToolCall(name.strip("!"), {"x": 99} if name.endswith("!") else right))
        steps.append(Step(tuple(calls)))
    return tuple(steps)


RUNS = (
    ("", "t", "text"),
    ("", "t", "f"),
    ("f", "s", "f, text"),
    ("f", "s", "text"),
    ("f g(0)", "m", "f, g!, text"),
    ("f g", "m", "f, g, text"),
    ("f g h(0,1)", "m", "(f g), k"),
    ("ask f(0)", "c", "f"),
    ("f g", "m", "(g f), text"),
    ("f g(0)", "m", "g"),
)
"""Gold, action type and run of the ten missions of the mini example."""


def row(number: int = 2, **fields: Any) -> dict[str, Any]:
    """A mission of the mini example, by its number from 0."""
    text, letter, run = RUNS[number]
    gold = graph(text)
    return result_row(f"d{number}", 0, letter, gold, said(gold, run), **fields)


def saved(path: Path, *lines: dict[str, Any] | str) -> Path:
    """A file of these lines."""
    texts = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in lines
    ]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path
