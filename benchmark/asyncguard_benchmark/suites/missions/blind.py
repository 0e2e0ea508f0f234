"""Solve the bundled missions blind: from the dialogue so far, its tools and the user's replies.

``python -m asyncguard_benchmark.suites.missions.blind tools DOMAIN ...`` prints the API list of domains.
``... blind view --position K DOMAIN ...`` prints what a solver gets of every K-th mission, from 1: what was said since
the mission before began, and the new message. Positions are solved in order, as a later one tells how an earlier ended.
``... blind try FILE`` executes the calls of the solutions in a file in the world of each mission and prints their
results and the user's replies to questions, as an agent sees them; it says nothing of the ground truth.
``... blind compare FILE ...`` prints which solutions differ from the ground truth.
A solution is a line ``{"id": "RA01.2", "steps": [...]}``; a step is ``{"calls": [{"tool", "arguments"}, ...]}``,
``{"ask": "..."}`` or, as the last one, ``{"answer": "..."}``.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from asyncguard_benchmark.errors import DataError, UnknownNameError
from asyncguard_benchmark.harness.scoring.canonical import canonical, same
from asyncguard_benchmark.suites.missions.bundled.bundle import Bundle, BundledMission, bundles
from asyncguard_benchmark.suites.missions.bundled.history import today_of
from asyncguard_benchmark.suites.missions.bundled.normal_forms import stands
from asyncguard_benchmark.suites.missions.playing.course import NEUTRAL
from asyncguard_benchmark.suites.missions.playing.shelf import Shelf, shelf, shelves
from asyncguard_benchmark.suites.missions.terms import Letter


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BlindCall(_Strict):
    """One call."""

    tool: str
    arguments: dict[str, Any]


class Calls(_Strict):
    """Calls of one message."""

    calls: Annotated[tuple[BlindCall, ...], Field(min_length=1)]


class Question(_Strict):
    """A question to the user."""

    ask: Annotated[str, Field(min_length=1)]


class Answer(_Strict):
    """The end of a mission."""

    answer: str


class Solution(_Strict):
    """All that a solver does in one mission, in order."""

    id: str
    """Dialogue and number of the mission, from 1, as `RA01.2`."""
    steps: Annotated[tuple[Calls | Question | Answer, ...], Field(min_length=1)]

    @property
    def place(self) -> tuple[Shelf, int]:
        """The dialogue, and the mission's place in it, from 0.

        Raises:
            UnknownNameError: there is no such mission.
        """
        dialogue, _, number = self.id.rpartition(".")
        if dialogue not in shelves() or number not in {"1", "2", "3", "4"}:
            raise UnknownNameError(f"there is no mission {self.id!r}")
        return shelf(dialogue), int(number) - 1


_SOLUTION = TypeAdapter(Solution)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def identified() -> Mapping[str, BundledMission]:
    """Return all missions by their ids."""
    return {
        f"{name}.{number}": mission
        for name, found in shelves().items()
        for number, mission in enumerate(found.written.missions, 1)
    }


def tool_list(bundle: Bundle) -> dict[str, Any]:
    """Return what a solver is told of a domain's tools."""
    tools = bundle.toolset.tools
    return {
        "domain": bundle.domain,
        "functions": [each.function_schema() for each in tools.values()],
    }


def blind_view(found: Shelf, at: int) -> dict[str, Any]:
    """Return what a solver gets of a mission, from 0, who has read the ones before; no call, no source, no state."""
    missions = found.written.missions
    before = list(missions[at - 1].texts())[1:] if at else []
    view: dict[str, Any] = {"id": f"{found.written.id}.{at + 1}"}
    if not at:
        view |= {"now": found.written.time, "tools": list(found.written.tools)}
    return {**view, "said": [*map(list, before), ["user", missions[at].text]]}


def told(solution: Solution) -> Iterator[str]:
    """Yield what the tools and the user say to a solution, step by step."""
    found, at = solution.place
    executor = found.executor(at)
    replies = iter(found.written.missions[at].replies)
    for step in solution.steps:
        if isinstance(step, Calls):
            yield from (executor.call(call.tool, call.arguments) for call in step.calls)
        elif isinstance(step, Question):
            yield next(replies, NEUTRAL)


def difference(solution: Solution) -> str | None:
    """Return how a solution differs from the ground truth, None if it is as good.

    It is as good if it makes the same calls, none more and none less, with the same results and final state (where
    calls are independent, their order is free), asks the user if and only if the ground truth does, for a value that is
    missing, ends with an answer, and tells the numbers of a chat. The words of an answer are not compared.
    """
    found, at = solution.place
    mission = found.written.missions[at]
    if not isinstance(solution.steps[-1], Answer) or any(
        isinstance(step, Answer) for step in solution.steps[:-1]
    ):
        return "does not end with its one answer"
    return (
        _other_calls(found, at, solution)
        or _other_questions(mission, solution)
        or _lacking_numbers(found, at, solution.steps[-1].answer)
    )


def _other_calls(found: Shelf, at: int, solution: Solution) -> str | None:
    nodes = found.written.missions[at].nodes
    gold = [
        BlindCall(tool=nodes[number].name, arguments=nodes[number].arguments)
        for number in found.written.missions[at].graph().order
        if number in found.written.missions[at].calls
    ]
    made = [call for step in solution.steps if isinstance(step, Calls) for call in step.calls]
    ours, theirs = (
        Counter(canonical(call.tool, call.arguments, found.tools) for call in each)
        for each in (gold, made)
    )
    if ours != theirs:
        lacks, has = ((one - two).elements() for one, two in ((ours, theirs), (theirs, ours)))
        return f"lacks {sorted(map(str, lacks))}, has {sorted(map(str, has))}"
    (results, state), (heard, reached) = (_outcome(found, at, each) for each in (gold, made))
    if Counter(results) != Counter(heard) or not same(state, reached):
        return "has the same calls in an order that gives another result or state"
    return None


def _outcome(found: Shelf, at: int, calls: Sequence[BlindCall]) -> tuple[list[str], dict[str, Any]]:
    executor = found.executor(at)
    return [executor.call(each.tool, each.arguments) for each in calls], executor.public_state()


def _other_questions(mission: BundledMission, solution: Solution) -> str | None:
    asked = [step.ask.casefold() for step in solution.steps if isinstance(step, Question)]
    wanted = {word.casefold() for node in mission.nodes for m in node.missing for word in m.aliases}
    if asked and not wanted:
        return f"asks needlessly: {asked[0]!r}"
    if wanted and not any(word in text for word in wanted for text in asked):
        return f"asks {asked}, which holds none of {sorted(wanted)}" if asked else "does not ask"
    return None


def _lacking_numbers(found: Shelf, at: int, answer: str) -> str | None:
    """Return which numbers are lacking in the answer of a chat; they may be words, or rounded to two digits."""
    mission, today = found.written.missions[at], today_of(found.written)
    if mission.letter is not Letter.CHAT:
        return None
    told = [float(each.replace(",", "")) for each in _NUMBER.findall(answer)]
    lacks = [
        fact.value
        for fact in mission.facts
        if isinstance(fact.value, int | float)
        and not stands(fact.value, answer, today)
        and not any(isclose(fact.value, each, rel_tol=0.01) for each in told)
    ]
    return f"the answer lacks {lacks}" if lacks else None


def solutions_in(path: Path) -> dict[str, Solution]:
    """Return the solutions in a file under their ids.

    Raises:
        DataError: a line has another form, two are of one mission, or one is of none.
    """
    found: dict[str, Solution] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            solution = _SOLUTION.validate_json(line)
            _ = solution.place
        except (ValidationError, UnknownNameError) as problem:
            raise DataError(f"{path}:{number}", str(problem)) from problem
        if solution.id in found:
            raise DataError(f"{path}:{number}", f"two solutions of {solution.id}")
        found[solution.id] = solution
    return found


def differences(solutions: Mapping[str, Solution]) -> dict[str, str]:
    """Return the missions whose solution differs from the ground truth, with the difference."""
    judged = {key: difference(each) for key, each in solutions.items()}
    return {key: said for key, said in judged.items() if said is not None}


def _views(domains: Sequence[str], position: int) -> Iterator[str]:
    for each in shelves().values():
        if each.bundle.domain in domains:
            yield json.dumps(blind_view(each, position - 1), ensure_ascii=False)


def _compared(files: Sequence[Path]) -> Iterator[str]:
    solutions = {key: each for file in files for key, each in solutions_in(file).items()}
    found = differences(solutions)
    yield from (f"{key}: {said}" for key, said in found.items())
    count = len(solutions)
    yield f"{count - len(found)} of {count} solved, {len(identified())} missions"


def _main() -> int:
    domains = [each.domain for each in bundles()]
    reader = argparse.ArgumentParser(prog="blind", description=(__doc__ or "").split("\n")[0])
    doing = reader.add_subparsers(dest="doing", required=True)
    for name, about in (("tools", "print the API list"), ("view", "print what a solver gets")):
        part = doing.add_parser(name, help=about)
        part.add_argument("domains", nargs="+", choices=domains, metavar="DOMAIN")
        if name == "view":
            part.add_argument("--position", type=int, choices=range(1, 5), required=True)
    trying = doing.add_parser("try", help="execute the calls and print what comes of them")
    trying.add_argument("file", type=Path)
    comparing = doing.add_parser("compare", help="print which solutions differ")
    comparing.add_argument("files", nargs="+", type=Path)
    options = reader.parse_args()
    lines: Iterator[str]
    if options.doing == "tools":
        lines = (json.dumps(tool_list(b)) for b in bundles() if b.domain in options.domains)
    elif options.doing == "view":
        lines = _views(options.domains, options.position)
    elif options.doing == "try":
        solutions = solutions_in(options.file)
        lines = (
            json.dumps({"id": key, "told": list(told(each))}, ensure_ascii=False)
            for key, each in solutions.items()
        )
    else:
        lines = _compared(options.files)
    for line in lines:
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
