"""Single tasks of BFCL as sub-tasks of the harness, with the sources of their arguments and recomputed results."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.harness.scenario import GoldCall, Narration, Origin, SubTask
from asyncguard_benchmark.services.service import serialise
from asyncguard_benchmark.suites.bfcl.judgement import judge
from asyncguard_benchmark.suites.bfcl.projections import Cut, TaskKind, cuts_of
from asyncguard_benchmark.suites.bfcl.reading import Source
from asyncguard_benchmark.suites.bfcl.shown import ERROR, shown
from asyncguard_benchmark.suites.bfcl.sources import Place, Told, sources_of
from asyncguard_benchmark.suites.bfcl.terms import RELEASES
from asyncguard_benchmark.suites.bfcl.worlds import pairs, world_of


@dataclass(frozen=True, kw_only=True)
class Built:
    """Single tasks that were made, and what was seen on the way."""

    tasks: tuple[SubTask, ...]
    places: Mapping[Place, int]
    """Number of arguments (leaves) that stand in each place."""
    left_out: Mapping[str, str]
    """Id of a task that is not used -> why."""


def build_tasks(source: Source, kinds: Iterable[TaskKind], sandbox: Sandbox) -> Built:
    """Run the ground truth of all single tasks of some kinds, and make them.

    Args:
        source: What was read.
        kinds: Which tasks.
        sandbox: A running worker.

    Raises:
        SandboxError: the worker ended, or was ended for its time or memory.
        BrokenPackageError: a class of the package cannot be imported.
    """
    tasks: list[SubTask] = []
    places: Counter[Place] = Counter()
    left_out: dict[str, str] = {}
    code = source.package.code_digest
    for cut in cuts_of(source.entries, kinds):
        world = world_of(cut.entry, cut.class_name, cut.setup)
        texts = judge(sandbox, world, pairs(cut.calls), []).truth
        name = f"{label_of(source.package.version)}-{cut.id}"
        failed = next((text for text in texts if text.startswith(ERROR)), None)
        if failed is not None:
            left_out[name] = f"its ground truth fails: {failed[:100]}"
            continue
        documents = source.documents[cut.class_name]
        undocumented = sorted({call.tool for call in cut.calls} - documents.keys())
        if undocumented:
            left_out[name] = f"no document tells of {', '.join(undocumented)}"
            continue
        gold, counted = _gold(cut, source, texts)
        places.update(counted)
        state = {
            **world,
            "documents": [each.to_json() for each in documents.values()],
            "code": code,
        }
        tasks.append(_task(name, cut, gold, state, source.package.version, texts))
    return Built(tasks=tuple(tasks), places=places, left_out=left_out)


def label_of(version: str) -> str:
    """Return the short name of a release that begins the ids of its tasks."""
    # Ids of two releases never meet: they go into one file of results.
    return RELEASES[version].label if version in RELEASES else version.replace(".", "_")


def _gold(
    cut: Cut, source: Source, texts: Sequence[str]
) -> tuple[tuple[GoldCall, ...], Counter[Place]]:
    results = [shown(text) for text in texts]
    counted: Counter[Place] = Counter()
    gold = []
    for number, call in enumerate(cut.calls):
        told = Told(query=cut.query, results=results[:number])
        found = sources_of(call, told, source.documents[cut.class_name].get(call.tool))
        counted.update(place for place, _ in found.values())
        gold.append(
            GoldCall(
                tool=call.tool,
                arguments=dict(call.arguments),
                sources={pointer: each for pointer, (_, each) in found.items()},
            )
        )
    return tuple(gold), counted


def _task(
    name: str,
    cut: Cut,
    gold: tuple[GoldCall, ...],
    state: Mapping[str, Any],
    version: str,
    texts: Sequence[str],
) -> SubTask:
    return SubTask(
        id=name,
        category=cut.category,
        query=cut.query,
        narration=Narration.IN_ORDER,
        tools=tuple(each["name"] for each in state["documents"]),
        initial_state=state,
        gold=gold,
        origin=Origin(
            source="bfcl",
            version=version,
            id=cut.entry.id,
            kind=f"{cut.kind}{', shared turn' if cut.shared_turn else ''}",
            results=tuple(serialise(shown(text)) for text in texts),
        ),
    )
