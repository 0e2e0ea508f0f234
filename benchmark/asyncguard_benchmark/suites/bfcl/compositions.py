"""Compositions of the single tasks of a package."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from asyncguard_benchmark.harness.drawn_compositions import draw_compositions
from asyncguard_benchmark.harness.scenario import Composition, Kind
from asyncguard_benchmark.suites.bfcl.package import read_package
from asyncguard_benchmark.suites.bfcl.playing import allow
from asyncguard_benchmark.suites.bfcl.projections import TaskKind
from asyncguard_benchmark.suites.bfcl.reading import read_source
from asyncguard_benchmark.suites.bfcl.tasks import Built, build_tasks, label_of
from asyncguard_benchmark.suites.bfcl.terms import BfclCategory
from asyncguard_benchmark.suites.bfcl.worlds import worker

SINGLE = (TaskKind.ENTRY, TaskKind.PROJECTION)
"""Kinds of single tasks that are composed unless others are named."""


def drawn_from(path: Path, counts: Mapping[Kind, int]) -> Sequence[Composition]:
    """Draw compositions of a wheel, whose tools run for it: ground truths are executed.

    Raises:
        BrokenPackageError: the wheel cannot be read.
        SandboxError: a worker ended, or was ended for its time or memory.
    """
    source = read_source(read_package(path))
    with worker(allow(source.package)) as sandbox:
        built = build_tasks(source, SINGLE, sandbox)
    return composed(built, source.package.version, counts, seed=0)


def composed(
    built: Built, version: str, counts: Mapping[Kind, int], seed: int
) -> tuple[Composition, ...]:
    """Draw compositions of single tasks; tasks of mathematics alone are left out.

    Raises:
        TooFewTasksError: there are too few tasks for the counts.
    """
    tasks = [each for each in built.tasks if each.category is not BfclCategory.MATH]
    return draw_compositions(tasks, counts, seed, f"bfcl-{label_of(version)}-")
