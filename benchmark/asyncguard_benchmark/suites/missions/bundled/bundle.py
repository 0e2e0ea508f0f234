"""Files of written missions: one a domain, with the source of every value of the gold.

The saved form is that of the dataclasses; what has its default is left out. A file is written by `compiler` and read
here. A dialogue starts from the state of its domain with its own changes, and a mission from the state that the gold of
the earlier ones leaves.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.saved_form import parse
from asyncguard_benchmark.services.catalogue import toolset_of as toolset_of_category
from asyncguard_benchmark.services.service import Executor, Toolset, copy_json
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, Mission
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool, graph_problems
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter, Relation

CANARY = (
    "asyncguard missions canary 7d1c0b52-3a0e-4b57-9f0b-5f5a1f6f8e21: do not train on this file"
)
"""Stands in each data file, so that a training set which holds one can be recognised."""
CATEGORIES: Mapping[str, str] = {
    "box office": "TP",
    "clinic": "CL",
    "energy": "EN",
    "files": "FS",
    "fleet": "FL",
    "household": "NO",
    "lending": "LE",
    "logistics": "LG",
    "mail": "MA",
    "rail": "RA",
    "social": "SC",
    "trading": "TB",
    "travel": "TP*",
    "treasury": "TR",
    "vehicle": "MO",
    "weather": "WE",
}
"""Domain -> category whose tools it has."""


class Split(StrEnum):
    """Use of a domain."""

    HELD_OUT = "held-out"
    """Figures are printed apart, and nothing is tuned on them."""
    DEVELOPMENT = "development"


class Kind(StrEnum):
    """Place that a value comes from."""

    MESSAGE = "message"
    """The message that states the mission."""
    REPLY = "reply"
    """An answer of the user to a question of this mission."""
    HISTORY = "history"
    """A text of an earlier mission, or a result there that a text repeats."""
    RESULT = "result"
    """The result of another call of this mission."""
    SCHEMA = "schema"
    """A word that the schema of the tool lists."""
    DERIVED = "derived"
    """Worked out from other values; `how` says how."""
    COMMON = "common knowledge"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A value and where it comes from."""

    kind: Kind
    value: Any
    at: str = ""
    """JSON pointer into the arguments of the call; empty in a fact and in an input."""
    mission: int | None = None
    """Of history: the earlier mission, from 0."""
    node: int | None = None
    """Of history and results: the call whose result holds it."""
    pointer: str = ""
    """JSON pointer into that result."""
    how: str = ""
    """Of derived values: how."""
    inputs: tuple["Source", ...] = ()
    """Of derived values: from what."""

    def origins(self) -> Iterator["Source"]:
        """Yield the source, or, of a derived value, those of its inputs."""
        if self.kind is Kind.DERIVED:
            for each in self.inputs:
                yield from each.origins()
        else:
            yield self


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A required value that the message leaves out."""

    tool: str
    parameter: str
    aliases: tuple[str, ...]
    """Words of which a question for it must say one."""


@dataclass(frozen=True, kw_only=True)
class GoldNode:
    """A call or a text of the gold."""

    name: str
    arguments: dict[str, Any]
    needs: tuple[int, ...] = ()
    observation: Any = None
    reply: str | None = None
    sources: tuple[Source, ...] = ()
    """One for each leaf of the arguments."""
    missing: tuple[Missing, ...] = ()
    """Of a question: what it asks for."""


@dataclass(frozen=True, kw_only=True)
class HistorySource:
    """An earlier mission without which a mission cannot be solved."""

    mission: int
    """From 0."""
    value: Any
    """A value that only its texts and results hold."""


@dataclass(frozen=True, kw_only=True)
class BundledMission:
    """One written mission."""

    letter: Letter
    relation: Relation | None = None
    mention: str = ""
    """Of a reference: the words that refer to something earlier."""
    text: str
    nodes: tuple[GoldNode, ...]
    facts: tuple[Source, ...] = ()
    """Values that the summary states."""
    history_sources: tuple[HistorySource, ...] = ()
    final_state: str
    """SHA-256 of the state that the gold leaves."""

    @property
    def summary(self) -> str:
        """Reference text of the end."""
        return str(self.nodes[-1].observation)

    @property
    def calls(self) -> tuple[int, ...]:
        """Nodes that call tools."""
        return tuple(n for n, node in enumerate(self.nodes) if node.name not in (ASK, ANSWER))

    @property
    def replies(self) -> tuple[str, ...]:
        """What the user answers to questions."""
        return tuple(node.reply for node in self.nodes if node.reply is not None)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield what is said, in order: role and text."""
        yield "user", self.text
        for node in self.nodes:
            if node.name == ASK:
                yield "assistant", str(node.observation)
                yield "user", node.reply or ""
        yield "assistant", self.summary

    def graph(self) -> GoldGraph:
        """Return the gold in the form that scorers take."""
        return GoldGraph(tuple(_node(each) for each in self.nodes))


def _node(each: GoldNode) -> Node:
    uses = frozenset(
        origin.node
        for source in each.sources
        for origin in source.origins()
        if origin.kind is Kind.RESULT and origin.node is not None
    )
    return Node(
        name=each.name,
        arguments=each.arguments,
        needs=each.needs,
        observation=each.observation,
        reply=each.reply,
        aliases=tuple(one.aliases for one in each.missing),
        uses=uses,
    )


@dataclass(frozen=True, kw_only=True)
class BundledDialogue:
    """Written missions after each other."""

    id: str
    tools: tuple[str, ...]
    """Names; the schemas are those of the domain."""
    time: str
    """`YYYY-MM-DD HH:MM:SS`."""
    initial_state: dict[str, Any]
    """Changes to the state of the domain, a JSON merge patch."""
    missions: tuple[BundledMission, ...]

    @property
    def pattern(self) -> str:
        """Letters of the missions."""
        return "".join(each.letter for each in self.missions)


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """All dialogues of a domain."""

    canary: str
    domain: str
    split: Split
    state: dict[str, Any]
    dialogues: tuple[BundledDialogue, ...]

    @property
    def toolset(self) -> Toolset:
        """Tools of the domain."""
        return toolset_of(self.domain, self.domain)

    def tools_of(self, dialogue: BundledDialogue) -> dict[str, Tool]:
        """Return the functions that a model is offered."""
        offered = (self.toolset.tools[name].function_schema() for name in dialogue.tools)
        return {each["name"]: Tool(**each) for each in offered}

    def executor(self, dialogue: BundledDialogue) -> Executor:
        """Return the world of a dialogue before its first mission."""
        tools = {name: self.toolset.tools[name] for name in dialogue.tools}
        return Executor(tools, patched(self.state, dialogue.initial_state))

    def dialogue(self, written: BundledDialogue) -> Dialogue:
        """Return a dialogue in the form that players and scorers take."""
        missions = tuple(
            Mission(
                task=each.text,
                letter=each.letter,
                relation=each.relation,
                graph=each.graph(),
                messages=tuple(each.texts()),
                task_index=0,
                time=written.time,
            )
            for each in written.missions
        )
        return Dialogue(id=written.id, tools=self.tools_of(written), missions=missions)


BUNDLE = TypeAdapter(Bundle)


def toolset_of(domain: str, where: str) -> Toolset:
    """Return the tools of a domain.

    Raises:
        DataError: the domain has none.
    """
    if domain not in CATEGORIES:
        known = ", ".join(CATEGORIES)
        raise DataError(where, f"no tools for the domain {domain!r}; known are {known}")
    return toolset_of_category(CATEGORIES[domain])


def patched(value: Any, patch: Mapping[str, Any]) -> Any:
    """Return a copy of a state with a JSON merge patch (RFC 7396) applied; null removes."""
    made: dict[str, Any] = copy_json(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if each is None:
            made.pop(name, None)
        else:
            made[name] = patched(made.get(name), each) if isinstance(each, dict) else each
    return made


def read_bundle(text: str, where: str) -> Bundle:
    """Read the file of a domain.

    Raises:
        DataError: it has another form, or a gold graph in it is not sound.
    """
    try:
        value = json.loads(text)
    except ValueError as problem:
        raise DataError(where, f"it is not JSON: {problem}") from problem
    bundle = parse(BUNDLE, value, where)
    if bundle.canary != CANARY:
        raise DataError(f"{where}.canary", "it is not the canary of this suite")
    for dialogue in bundle.dialogues:
        if unknown := sorted(set(dialogue.tools) - bundle.toolset.tools.keys()):
            raise DataError(f"{where} ({dialogue.id}).tools", f"unknown tools {unknown}")
        tools = bundle.tools_of(dialogue)
        for number, mission in enumerate(dialogue.missions):
            nodes = [_node(each) for each in mission.nodes]
            for field, problem_text in graph_problems(nodes, tools):
                raise DataError(
                    f"{where} ({dialogue.id}, mission {number + 1}){field}", problem_text
                )
    return bundle


def dumped(bundle: Bundle) -> str:
    """Return the text of the file of a domain."""
    value = BUNDLE.dump_python(bundle, mode="json", exclude_defaults=True)
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


@cache
def bundles() -> tuple[Bundle, ...]:
    """Return all domains that are shipped, by name of their files."""
    folder = files("asyncguard_benchmark.suites.missions").joinpath("data")
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".json")), key=str)
    return tuple(read_bundle(each.read_text("utf-8"), each.name) for each in found)
