"""The published rule of paths (`compat`), without enumerating paths.

The published matcher lists the paths of the gold, compares names step by step, and rejects legal schedules where names
repeat. Four of its habits make it so, and are repeated here: of neighbouring ready nodes with one name either all are
taken in one message or one after the other; of options with the same names only the first counts; the first option
that agrees fixes which calls were meant; and after a question every option stays alive, whatever was done.

The specification says that the first option fixes the nodes by their numbers. Read so, the 30 tasks of NESTFUL come to
206 accepted schedules and not to its 244. They come to 244, task by task, if nodes of equal calls (values, not
references) with equal results count as one, which is what happens here. Where all calls differ, both are the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.scorers.steps import Step
from asyncguard_benchmark.suites.missions.terms import PSEUDO

MOST_OPTIONS = 200_000
"""Options that are looked at for one mission before it is given up."""


class PublishedRuleError(BenchmarkError):
    """The published code raises here, or would not end; the mission is not scored by `compat`."""


@dataclass(frozen=True)
class Position:
    """A place on a path: what is done, and which nodes must come next, one a step."""

    done: int = 0
    forced: tuple[int, ...] = ()

    def after(self, taken: tuple[int, ...], queue: tuple[int, ...]) -> "Position":
        """Return the place after a step."""
        return Position(self.done | sum(1 << each for each in taken), queue)


Option = tuple[tuple[int, ...], Position]
"""Nodes of a step in the order of their numbers, and the place after it."""


def options(
    graph: GoldGraph, place: Position, names: Sequence[str] | None = None
) -> Iterator[Option]:
    """Yield what may come next, in the published order.

    Args:
        graph: The gold.
        place: Where the run is.
        names: Sorted names of a step: options with other names are left out. None for all options.

    Raises:
        PublishedRuleError: there are too many.
    """
    if place.forced:
        head, rest = place.forced[:1], place.forced[1:]
        if names is None or [graph.nodes[head[0]].name] == list(names):
            yield head, place.after(head, rest)
        return
    ready = tuple(bits(graph.ready(place.done)))
    runs = _runs(graph, ready)
    seen = set[tuple[str, ...]]()
    for number, taken in enumerate(_subsets(graph, ready, names)):
        if number >= MOST_OPTIONS:
            raise PublishedRuleError(f"more than {MOST_OPTIONS:,} options at one step")
        sequence = tuple(graph.nodes[each].name for each in taken)
        if sequence in seen:
            continue
        seen.add(sequence)
        run = runs.get(taken[0], ())
        if len(taken) == 1:
            yield taken, place.after(taken, run[1:])
        elif taken[: len(run)] == run:
            yield taken, place.after(taken, ())


def _runs(graph: GoldGraph, ready: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return for each ready node the neighbours of its name, if there are some."""
    groups = [tuple(group) for _, group in groupby(ready, key=lambda each: graph.nodes[each].name)]
    return {each: group for group in groups if len(group) > 1 for each in group}


def _subsets(
    graph: GoldGraph, ready: tuple[int, ...], names: Sequence[str] | None
) -> Iterator[tuple[int, ...]]:
    if names is None:
        for size in range(1, len(ready) + 1):
            yield from combinations(ready, size)
        return
    wanted = {name: names.count(name) for name in names}

    def chosen(start: int, left: int) -> Iterator[tuple[int, ...]]:
        if not left:
            yield ()
            return
        for place in range(start, len(ready)):
            name = graph.nodes[ready[place]].name
            if wanted.get(name):
                wanted[name] -= 1
                for rest in chosen(place + 1, left - 1):
                    yield (ready[place], *rest)
                wanted[name] += 1

    if len(names) <= len(ready):
        yield from chosen(0, len(names))


@dataclass(frozen=True, kw_only=True)
class PathVerdict:
    """Verdict of the published matcher on a run."""

    correct: bool
    optimal: bool
    taken: tuple[tuple[int, ...], ...]
    """By step that agreed: the nodes that it is taken for, by number; of texts the node that decided."""


def follow(graph: GoldGraph, steps: Sequence[Step]) -> PathVerdict:
    """Compare a run with the paths of the gold, by names.

    Raises:
        PublishedRuleError: the published code raises at a path that has ended, or there are too many options.
    """
    live: list[Position] = [Position()]
    taken: list[tuple[int, ...]] = []
    correct = False
    for step in steps:
        found = _after_calls(graph, live, step) if step.calls else _after_text(graph, live, step)
        if found is None:
            break
        chosen, live = found
        taken.append(chosen)
        if not step.calls and graph.answers >> chosen[0] & 1:
            correct = True
            break
    optimal = correct and len(taken) == graph.optimal_length
    return PathVerdict(correct=correct, optimal=optimal, taken=tuple(taken))


_Found = tuple[tuple[int, ...], list[Position]] | None


def _after_calls(graph: GoldGraph, live: Sequence[Position], step: Step) -> _Found:
    if any(_ended(graph, place) for place in live):
        raise PublishedRuleError(
            "a path that is kept alive after a question has ended before the run"
        )
    names = sorted(call.name for call in step.calls)
    agreeing = [each for place in live for each in options(graph, place, names)]
    if not agreeing:
        return None
    chosen = agreeing[0][0]
    meant = _content(graph, chosen)
    return chosen, [after for taken, after in agreeing if _content(graph, taken) == meant]


def _content(graph: GoldGraph, taken: tuple[int, ...]) -> list[int]:
    """Return the calls of a step, sorted by name; nodes that are the same call with the same result are one."""
    return [graph.same[each] for each in sorted(taken, key=lambda each: graph.nodes[each].name)]


def _after_text(graph: GoldGraph, live: Sequence[Position], step: Step) -> _Found:
    if not step.is_text:
        return None
    for place in live:
        if _ended(graph, place):
            raise PublishedRuleError(
                "a path that is kept alive after a question has ended before the run"
            )
        for taken, _ in options(graph, place):
            if texts := [each for each in taken if graph.nodes[each].name in PSEUDO]:
                if graph.asks >> texts[0] & 1:
                    following = [after for one in live for _, after in options(graph, one)]
                    return (texts[0],), following
                return (texts[0],), []
    return None


def _ended(graph: GoldGraph, place: Position) -> bool:
    return place.done == graph.full


def optimal_path(graph: GoldGraph) -> tuple[tuple[int, ...], ...]:
    """Return the first path of least length, in the published order of paths: the history that `upta` shows."""
    place, found = Position(), []
    while place.done != graph.full:
        left = graph.chain(graph.full & ~place.done)
        taken, place = next(
            (taken, after)
            for taken, after in options(graph, place)
            if _left(graph, after) == left - 1
        )
        found.append(taken)
    return tuple(found)


def _left(graph: GoldGraph, place: Position) -> int:
    """Return the least number of steps from a place to the end."""
    forced = sum(1 << each for each in place.forced)
    return len(place.forced) + graph.chain(graph.full & ~place.done & ~forced)
