"""Guards as detectors: what they say of the calls of unguarded runs, beside what was wrong with these calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asyncguard.config import GUARD_NAMES, OPT_IN_GUARDS
from asyncguard_benchmark.harness.ablation.findings import (
    Detection,
    GuardDetections,
    Setup,
    Shadow,
    Truth,
)
from asyncguard_benchmark.harness.ablation.labels import irrecoverable, wrong
from asyncguard_benchmark.harness.arms import DROPPED
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.harness.statistics.clustered import Sources, share_among

_CALL_GUARDS = tuple(name for name in GUARD_NAMES if name != "completion")
"""Completion judges the end of a run and no call."""


@dataclass(frozen=True, kw_only=True)
class JudgedCall:
    """One call of an unguarded run."""

    truths: frozenset[Truth]
    objections: Mapping[str, str]
    """Guard -> ``reject``, ``defer`` or ``hold``."""


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """All calls of one unguarded run."""

    sources: Sources
    calls: tuple[JudgedCall, ...]


def dropped(number: int) -> str:
    """Return the arm in which an agent without guards is refused one call, by its number from 0."""
    return f"{DROPPED}-{number}"


def continuations(shadowed: Episode) -> Iterator[str]:
    """Yield the arms that tell whether a call was harmful: the same agent without each of its calls.

    A run that solved everything has no harmful call, so nothing of it needs to be played again.
    """
    if not score(shadowed).overall:
        yield from (dropped(record.number) for record in shadowed.trajectory)


def judged_run(shadowed: Episode, without: Mapping[str, Episode]) -> JudgedRun:
    """Lay labels and objections of a run beside each other.

    Args:
        shadowed: The run, with what the guards would have done.
        without: The continuations by arm.
    """
    truths: list[set[Truth]] = [set() for _ in shadowed.trajectory]
    for task in shadowed.composition.sub_tasks:
        records = shadowed.calls_of(task.id)
        for truth, labels in (
            (Truth.WRONG, wrong(task, records)),
            (Truth.IRRECOVERABLE, irrecoverable(task, records)),
        ):
            for record, is_so in zip(records, labels, strict=True):
                if is_so:
                    truths[record.number].add(truth)
    solved = _solved(shadowed)
    for number, found in enumerate(truths):
        other = without.get(dropped(number))
        if other is not None and _solved(other) > solved:
            found.add(Truth.HARMFUL)
    said = _objections(shadowed)
    calls = (
        JudgedCall(truths=frozenset(found), objections=said.get(n, {}))
        for n, found in enumerate(truths)
    )
    return JudgedRun(sources=frozenset(shadowed.composition.task_ids), calls=tuple(calls))


def _solved(episode: Episode) -> int:
    return sum(task.accurate for task in score(episode).sub_tasks)


def _objections(shadowed: Episode) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for each in shadowed.settings.get("interventions", ()):
        # A guard of the user's own that failed has said nothing of the call.
        if "number" in each and not each.get("enforced", True) and each["verdict"] != "fault":
            found.setdefault(each["number"], {})[each["guard"]] = each["verdict"]
    return found


def shadow_of(setup: Setup, runs: Sequence[JudgedRun]) -> Shadow:
    """Return precision and recall of every guard that judges calls."""
    said = {guard for run in runs for call in run.calls for guard in call.objections}
    own = [name for name in OPT_IN_GUARDS if name in said]
    own += sorted(said.difference(GUARD_NAMES, OPT_IN_GUARDS))
    return Shadow(
        setup=setup,
        episodes=len(runs),
        calls=sum(len(run.calls) for run in runs),
        guards=tuple(_of_guard(name, runs) for name in (*_CALL_GUARDS, *own)),
    )


def _of_guard(guard: str, runs: Sequence[JudgedRun]) -> GuardDetections:
    verdicts = [call.objections.get(guard) for run in runs for call in run.calls]
    return GuardDetections(
        guard=guard,
        rejections=verdicts.count("reject") + verdicts.count("hold"),
        deferrals=verdicts.count("defer"),
        detections=tuple(_detection(guard, truth, runs) for truth in Truth),
    )


def _detection(guard: str, truth: Truth, runs: Sequence[JudgedRun]) -> Detection:
    objected = [_count(guard in call.objections for call in run.calls) for run in runs]
    positive = [_count(truth in call.truths for call in run.calls) for run in runs]
    hits = [
        _count(guard in call.objections and truth in call.truths for call in run.calls)
        for run in runs
    ]
    sources = [run.sources for run in runs]
    precision, recall = share_among(hits, objected, sources), share_among(hits, positive, sources)
    return Detection(
        truth=truth,
        positives=sum(positive),
        hits=sum(hits),
        precision=precision.scaled(100) if precision else None,
        recall=recall.scaled(100) if recall else None,
    )


def _count(verdicts: Iterable[bool]) -> int:
    return sum(verdicts)
