"""Proofs that written missions can be solved in the way intended and in no other.

Each proof is a function that yields what is wrong. None of them imports what the benchmark judges.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from asyncguard_benchmark.errors import DataError, ToolFailure
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
    GoldNode,
    Kind,
    Source,
    Split,
)
from asyncguard_benchmark.suites.missions.bundled.chat_calls import fact_returned, shown_by_calls
from asyncguard_benchmark.suites.missions.bundled.compiler import pointed, state_digest
from asyncguard_benchmark.suites.missions.bundled.derivations import derivation_problem
from asyncguard_benchmark.suites.missions.bundled.history import (
    distance,
    hidden_values,
    history_sources,
    today_of,
    told_in,
)
from asyncguard_benchmark.suites.missions.bundled.normal_forms import leaves, stands
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.terms import ASK, Letter, Relation

MOST_ORDERS = 120
"""Legal orders of a mission that are all executed; above that, pairs of calls are swapped."""


@dataclass(frozen=True)
class Problem:
    """Something that a proof found."""

    where: str
    proof: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.proof}: {self.text}"


@dataclass(frozen=True)
class Place:
    """A mission, with what is around it."""

    bundle: Bundle
    dialogue: BundledDialogue
    at: int
    executor: Executor
    """World before the mission."""

    @property
    def mission(self) -> BundledMission:
        """The mission."""
        return self.dialogue.missions[self.at]

    @property
    def name(self) -> str:
        """Name of the mission in messages."""
        return f"{self.bundle.domain} {self.dialogue.id}, mission {self.at + 1}"

    def world(self) -> Executor:
        """Return a copy of the world before the mission."""
        tools = {name: self.bundle.toolset.tools[name] for name in self.dialogue.tools}
        return Executor(tools, self.executor.public_state())


Proof = Callable[[Place], Iterator[str]]


def places(bundle: Bundle, dialogue: BundledDialogue) -> Iterator[Place]:
    """Yield the missions of a dialogue with their worlds; a call that fails ends it."""
    executor = bundle.executor(dialogue)
    for at, mission in enumerate(dialogue.missions):
        place = Place(bundle, dialogue, at, executor)
        yield place
        executor = place.world()
        try:
            for number in mission.calls:
                executor.invoke(mission.nodes[number].name, mission.nodes[number].arguments)
        except ToolFailure:
            return


# -- 1: the gold ---------------------------------------------------------------------------------------------------


def executes(place: Place) -> Iterator[str]:
    """Prove that the gold runs without error and gives the stored results and state."""
    world = place.world()
    for number in place.mission.calls:
        node = place.mission.nodes[number]
        try:
            result = world.invoke(node.name, node.arguments)
        except ToolFailure as problem:
            yield f"node {number}, {node.name}, fails: {problem}"
            return
        if result != node.observation:
            yield f"node {number}, {node.name}, gives {str(result)[:80]} and not what is stored"
    if state_digest(world) != place.mission.final_state:
        yield "the gold leaves another state than is stored"


def edges_needed(place: Place) -> Iterator[str]:
    """Prove that every edge between calls carries a value, or that swapping its ends changes a result or the state."""
    mission = place.mission
    graph = mission.graph()
    for later in mission.calls:
        node = mission.nodes[later]
        used = {
            each.node
            for source in node.sources
            for each in source.origins()
            if each.kind is Kind.RESULT
        }
        for earlier in node.needs:
            if mission.nodes[earlier].name == ASK or earlier in used:
                continue
            before = [n for n in bits(graph.ancestors[later] & graph.tools) if n != earlier]
            if any(graph.ancestors[n] >> earlier & 1 for n in before):
                yield f"the edge {earlier} to {later} is implied by another way and carries no value"
            elif _outcome(place, [*before, later, earlier]) == _outcome(
                place, [*before, earlier, later]
            ):
                yield f"the edge {earlier} to {later} is not needed: swapped, nothing changes"


def others_commute(place: Place) -> Iterator[str]:
    """Prove that calls without a way between them give the same results and state in every order."""
    graph = place.mission.graph()
    orders = list(islice(_orders(graph, 0), MOST_ORDERS))
    if len(orders) == MOST_ORDERS:
        orders = list(_swaps(graph))
    expected = _outcome(place, list(place.mission.calls))
    for order in orders:
        if _outcome(place, order) != expected:
            yield f"in the legal order {order} a result or the state differs"
            return


def _orders(graph: GoldGraph, done: int) -> Iterator[list[int]]:
    ready = graph.ready(done) & ~graph.answers
    if not ready:
        yield []
    for number in bits(ready):
        own = [number] if graph.tools >> number & 1 else []
        yield from ([*own, *rest] for rest in _orders(graph, done | 1 << number))


def _swaps(graph: GoldGraph) -> Iterator[list[int]]:
    calls = list(bits(graph.tools))
    for one, other in product(calls, calls):
        if one < other and not graph.ancestors[other] >> one & 1:
            before = [n for n in calls if (graph.ancestors[one] | graph.ancestors[other]) >> n & 1]
            taken = {*before, one, other}
            yield [*before, other, one, *(n for n in calls if n not in taken)]


def _outcome(place: Place, order: Sequence[int]) -> Any:
    world, results = place.world(), {}
    for number in order:
        node = place.mission.nodes[number]
        results[number] = world.call(node.name, node.arguments)
    return sorted(results.items()), state_digest(world)


# -- sources -------------------------------------------------------------------------------------------------------


def sources_hold(place: Place) -> Iterator[str]:
    """Prove that every value has a source and stands there."""
    for number in place.mission.calls:
        node = place.mission.nodes[number]
        told = {source.at: source for source in node.sources}
        for at, value in leaves(node.arguments):
            source = next(
                (told[key] for key in told if at == key or at.startswith(f"{key}/")), None
            )
            if source is None:
                yield f"node {number}, {at}, has no source"
            elif pointed(node.arguments, source.at, place.name) != source.value:
                yield f"node {number}, {at}, is {value!r}, and its source holds {source.value!r}"
        for source in node.sources:
            yield from (
                f"node {number}, {source.at}: {text}" for text in _unfounded(place, source, node)
            )
    for fact in place.mission.facts:
        yield from (f"fact {fact.value!r}: {text}" for text in _unfounded(place, fact, None))
        if not stands(fact.value, place.mission.summary, today_of(place.dialogue)):
            yield f"fact {fact.value!r} does not stand in the summary"


def _unfounded(place: Place, source: Source, node: GoldNode | None) -> Iterator[str]:
    mission, today, value = place.mission, today_of(place.dialogue), source.value
    match source.kind:
        case Kind.MESSAGE if not stands(value, mission.text, today):
            yield f"{value!r} does not stand in the message"
        case Kind.REPLY if not any(stands(value, reply, today) for reply in mission.replies):
            yield f"{value!r} does not stand in a reply"
        case Kind.SCHEMA if node is not None and not _in_schema(place, node, source):
            yield f"{value!r} is not a word that the schema lists"
        case Kind.HISTORY if source.mission not in range(place.at):
            yield f"{value!r} names a mission that is not an earlier one"
        case Kind.HISTORY if not told_in(place.dialogue, source.mission or 0, value, results=False):
            yield f"{value!r} does not stand in the texts of mission {(source.mission or 0) + 1}"
        case Kind.DERIVED if text := derivation_problem(source):
            yield text
        case _:
            pass
    if source.node is not None and not _in_result(place, source):
        yield f"the result of node {source.node} does not hold {value!r}"
    for each in source.inputs:
        yield from _unfounded(place, each, node)


def _in_result(place: Place, source: Source) -> bool:
    holder = place.mission if source.mission is None else place.dialogue.missions[source.mission]
    result = holder.nodes[source.node or 0].observation
    return bool(pointed(result, source.pointer, place.name) == source.value)


def _in_schema(place: Place, node: GoldNode, source: Source) -> bool:
    parameters = place.bundle.toolset.tools[node.name].parameters["properties"]
    schema = parameters[source.at.split("/")[1]]
    return source.value in schema.get("enum", [schema.get("default")])


# -- 2 to 4 --------------------------------------------------------------------------------------------------------


def history_needed(place: Place) -> Iterator[str]:
    """Prove that a later mission needs a value of earlier ones alone, as far back as its relation says."""
    mission = place.mission
    if mission.history_sources != history_sources(place.bundle, place.dialogue, place.at):
        yield "the stored history sources are not those that masking shows"
    if not place.at:
        if mission.relation is not None:
            yield "a first mission has no relation"
        return
    if mission.relation is None:
        yield "a later mission names its relation"
    if not hidden_values(place.bundle, place.dialogue, place.at):
        yield "it can be solved without the history: no value stands in earlier missions alone"
    back = distance(place.bundle, place.dialogue, place.at)
    if mission.relation is Relation.LONG_MEMORY and back < 2:
        yield f"long memory looks at least 2 missions back, and this one {back}"
    if (mission.relation is Relation.REFERENCE) != bool(mission.mention):
        yield "a reference, and nothing else, has a mention"
    if mission.mention and mission.mention.casefold() not in mission.text.casefold():
        yield f"the mention {mission.mention!r} does not stand in the message"


def reply_needed(place: Place) -> Iterator[str]:
    """Prove that a value that is asked for stands nowhere before the reply, and that the reply gives it."""
    mission, today = place.mission, today_of(place.dialogue)
    asked = {(one.tool, one.parameter) for node in mission.nodes for one in node.missing}
    replied = set()
    for number, source in _replied(mission):
        node, parameter = mission.nodes[number], source.at.split("/")[1]
        replied.add((node.name, parameter))
        where = f"node {number}, {source.at}"
        schema = place.bundle.toolset.tools[node.name].parameters["properties"][parameter]
        if source.value == schema.get("default") or [source.value] == schema.get("enum"):
            yield f"{where}: the schema gives {source.value!r}"
        before = [k for k in range(place.at) if told_in(place.dialogue, k, source.value)]
        if before:
            yield f"{where}: mission {before[0] + 1} tells {source.value!r} already"
        if stands(source.value, mission.text, today):
            yield f"{where}: the message tells {source.value!r} already"
    if asked != replied:
        yield f"asked is for {sorted(asked - replied)}, and the replies give {sorted(replied - asked)}"
    if (mission.letter is Letter.CLARIFY) != bool(asked):
        yield "a mission of the action type c, and no other, asks"
    yield from _unnamed(mission)


def _replied(mission: BundledMission) -> Iterator[tuple[int, Source]]:
    for number in mission.calls:
        for source in mission.nodes[number].sources:
            if any(each.kind is Kind.REPLY for each in source.origins()):
                yield number, source


def _unnamed(mission: BundledMission) -> Iterator[str]:
    for node in mission.nodes:
        question = str(node.observation).casefold()
        for one in node.missing:
            if not any(alias.casefold() in question for alias in one.aliases):
                yield f"the question for {one.parameter} says none of {', '.join(one.aliases)}"


def shape_fits(place: Place) -> Iterator[str]:
    """Prove that the number of calls fits the action type."""
    count, letter = len(place.mission.calls), place.mission.letter
    if letter is Letter.SINGLE and count != 1:
        yield f"an s mission makes one call, this one {count}"
    if letter is Letter.MULTI and not 2 <= count <= 6:
        yield f"an m mission makes 2 to 6 calls, this one {count}"
    if letter is Letter.CHAT and count:
        yield "a t mission makes no call"
    if letter is Letter.CLARIFY and not count:
        yield "a c mission makes a call after it has asked"
    if letter is Letter.CHAT and not place.mission.facts:
        yield "a t mission states a fact"


def chat_needs_no_tool(place: Place) -> Iterator[str]:
    """Prove that no call with values of the conversation returns a fact of a chat's answer."""
    if place.mission.letter is not Letter.CHAT:
        return
    kinds = (Kind.HISTORY, Kind.COMMON, Kind.DERIVED, Kind.MESSAGE)
    yield from (
        f"fact {f.value!r} has no source in the talk"
        for f in place.mission.facts
        if f.kind not in kinds
    )
    if found := fact_returned(place.dialogue, place.at, place.world()):
        yield f"{found[0]} with {found[1]} returns the fact {found[2]!r}"


PROOFS: dict[str, Proof] = {
    "gold executes": executes,
    "edges are needed": edges_needed,
    "the rest commutes": others_commute,
    "sources": sources_hold,
    "masked history": history_needed,
    "masked reply": reply_needed,
    "action type": shape_fits,
    "chat": chat_needs_no_tool,
}
"""Name -> proof of one mission."""


def dialogue_problems(
    bundle: Bundle, dialogue: BundledDialogue, only: Sequence[str] = tuple(PROOFS)
) -> Iterator[Problem]:
    """Yield everything that the proofs of single missions find in a dialogue."""
    for place in places(bundle, dialogue):
        for name in only:
            try:
                yield from (Problem(place.name, name, text) for text in PROOFS[name](place))
            except (DataError, LookupError) as problem:
                yield Problem(place.name, name, f"it cannot be judged: {problem}")


def listed(bundle: Bundle, dialogue: BundledDialogue) -> int:
    """Return how many later missions have the values of their history shown by calls that need none, among others."""
    later = (place for place in places(bundle, dialogue) if place.at)
    hidden = ((place, hidden_values(bundle, dialogue, place.at)) for place in later)
    return sum(shown_by_calls(dialogue, p.at, p.world(), values) for p, values in hidden)


def suite_problems(bundles: Sequence[Bundle]) -> Iterator[Problem]:
    """Yield what is wrong with the dialogues together: ids, patterns, splits, numbers of tools and dialogues."""
    seen: dict[str, str] = {}
    for bundle in bundles:
        if len(bundle.dialogues) > 20:
            yield Problem(bundle.domain, "suite", f"{len(bundle.dialogues)} dialogues; at most 20")
        for dialogue in bundle.dialogues:
            where = f"{bundle.domain} {dialogue.id}"
            for key in (dialogue.id, dialogue.pattern):
                if key in seen:
                    yield Problem(where, "suite", f"{key} occurs in {seen[key]}, too")
                seen[key] = where
            if (held_out(dialogue.pattern)) != (bundle.split is Split.HELD_OUT):
                yield Problem(
                    where, "suite", f"the pattern {dialogue.pattern} belongs to the other split"
                )
            if not 5 <= len(dialogue.tools) <= 12:
                yield Problem(where, "suite", f"{len(dialogue.tools)} tools; 5 to 12")


def held_out(pattern: str) -> bool:
    """Return True if the codes of the letters (s 0, m 1, t 2, c 3) combine to 0 by exclusive or."""
    code = 0
    for letter in pattern:
        code ^= "smtc".index(letter)
    return code == 0
