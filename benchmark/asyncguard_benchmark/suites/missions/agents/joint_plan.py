"""Plans of missions that overlap: what the history told is told by missions that may still be under way.

An earlier mission tells by its messages: those of the user, and results of its calls. What only its written summary
says is traced to what the summary was made of. Where a call takes a value so, it follows that call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from asyncguard_benchmark.suites.missions.agents.plan import (
    Elsewhere,
    FromResult,
    FromText,
    Given,
    Plan,
    Planner,
    Value,
    WorkedOut,
    key_of,
    mark_of,
    seal,
    told_by,
    values_of,
    written,
)
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    Kind,
    Source,
)
from asyncguard_benchmark.suites.missions.bundled.history import today_of
from asyncguard_benchmark.suites.missions.bundled.normal_forms import leaves, stands
from asyncguard_benchmark.suites.missions.bundled.order import Place, order_edges
from asyncguard_benchmark.suites.missions.scorers.joint import Across
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK


def joint_plans(
    bundle: Bundle, dialogue: BundledDialogue
) -> tuple[tuple[Plan, ...], dict[Place, Across]]:
    """Return the plans of all missions of a dialogue, and the edges between missions."""
    planners: list[_JointPlanner] = []
    for at in range(len(dialogue.missions)):
        planners.append(_JointPlanner(bundle, dialogue, at, tuple(planners)))
    plans = [each.plan() for each in planners]
    uses = {
        (at, number): tuple(dict.fromkeys(_givers(plans, at, values)))
        for at, plan in enumerate(plans)
        for number, values in _values(plan)
    }
    needs = {place: list(givers) for place, givers in uses.items()}
    for earlier, later in order_edges(bundle, dialogue, uses):
        needs[later].append(earlier)
    whole = [
        replace(
            plan,
            nodes=tuple(
                replace(node, follows=tuple(needs[at, number]))
                for number, node in enumerate(plan.nodes)
            ),
        )
        for at, plan in enumerate(plans)
    ]
    across = {
        place: Across(
            needs=tuple(each),
            uses=tuple(one for one in uses[place] if not _asks(plans, one)),
        )
        for place, each in needs.items()
        if each
    }
    return tuple(whole), across


def _asks(plans: Sequence[Plan], place: Place) -> bool:
    return plans[place[0]].nodes[place[1]].name == ASK


def _values(plan: Plan) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the nodes of a plan with the values that they take; the end takes the facts."""
    for number, node in enumerate(plan.nodes):
        facts = plan.facts if node.name == ANSWER else ()
        yield number, (*(leaf.value for leaf in node.leaves), *facts)


def _givers(plans: Sequence[Plan], at: int, values: Sequence[Value]) -> Iterator[Place]:
    """Yield the calls and questions that give values, but for those of the mission itself.

    Args:
        plans: Those of all missions.
        at: The mission in whose terms the values are.
        values: Where they stand.
    """
    for value in values:
        match value:
            case WorkedOut(inputs=inputs):
                yield from _givers(plans, at, inputs)
            case Elsewhere(mission=mission, value=FromResult(node=node)):
                yield mission, node
            case Elsewhere(mission=mission, value=FromText(text=number)) if number:
                # Number 0 is the message; then questions and replies take turns.
                asks = [n for n in range(len(plans[mission].nodes)) if _asks(plans, (mission, n))]
                yield mission, asks[number // 2 - 1]
            case Elsewhere(mission=mission, value=WorkedOut(inputs=inputs)):
                there = (replace(value, value=each) for each in inputs)
                yield from _givers(plans, mission, tuple(there))
            case Elsewhere(mission=mission, value=Elsewhere() as further):
                yield from _givers(plans, mission, (further,))


class _JointPlanner(Planner):
    """Writes the plan of a mission whose earlier ones are under way."""

    def __init__(
        self,
        bundle: Bundle,
        dialogue: BundledDialogue,
        at: int,
        earlier: tuple["_JointPlanner", ...],
    ) -> None:
        super().__init__(bundle, dialogue, at)
        self._before = [0] * (at + 1)  # a mission's own message is the only text before it
        self._earlier = earlier
        self._day = today_of(dialogue)

    @override
    def value(self, source: Source) -> Value:
        if source.kind is not Kind.HISTORY:
            return super().value(source)
        if source.mission is not None and source.node is not None:
            inner: Value = FromResult(node=source.node, pointer=source.pointer)
            return _elsewhere(source.mission, inner, source.value)
        places = range(self._at) if source.mission is None else (source.mission,)
        for k in places:
            found = self._earlier[k].told(source.value)
            if found is not None:
                return _elsewhere(k, found, source.value)
        # The agent says it itself in the earlier mission, from what anyone knows.
        return Given(source.value)

    @override
    def stale(self, source: Source) -> FromText | Elsewhere | None:
        name = source.at.split("/")[1]
        if not any(each.kind in (Kind.REPLY, Kind.HISTORY) for each in source.origins()):
            return None
        for k in reversed(range(self._at)):
            for value in values_of(self._dialogue.missions[k], name):
                if value == source.value or isinstance(value, bool) or value is None:
                    continue
                for text in self._earlier[k].said():
                    if (found := written(value, *text)) is not None:
                        return _elsewhere(k, found, value)
        return None

    def said(self) -> list[tuple[int, int, str]]:
        """Return number, mission and text of what the user says in this mission."""
        texts = enumerate(self._mission.texts())
        return [(number, self._at, text) for number, (role, text) in texts if role == "user"]

    def told(self, value: Any) -> Value | None:
        """Return where this mission tells a value: its user, its results, or what those were asked with."""
        if (found := told_by(value, self.said(), self._day)) is not None:
            return found
        results = [
            (number, at, leaf)
            for number in self._mission.calls
            for at, leaf in leaves(self._mission.nodes[number].observation)
        ]
        for number, at, leaf in results:
            if leaf == value and type(leaf) is type(value):
                return FromResult(node=number, pointer=at)
        for number, at, leaf in results:
            if isinstance(leaf, str) and stands(value, leaf, self._day):
                place = FromResult(node=number, pointer=at)
                return WorkedOut(inputs=(place,), sealed=seal(value, key_of([leaf])))
        nodes = self._mission.nodes
        sources = (*self._mission.facts, *(one for node in nodes for one in node.sources))
        same = (one for one in sources if one.value == value and one.kind is not Kind.MESSAGE)
        return next(map(self.value, same), None)


def _elsewhere(mission: int, value: Value, told: Any) -> Elsewhere:
    return Elsewhere(mission=mission, value=value, mark=mark_of(told))
