"""Section `makespan`: several tasks of chained slow calls in real time, against bounds computed in virtual time."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chains import Chains, Work
from measure import UnsoundRunError
from peers import UnavailableError, load_driver
from settings import Settings
from table import Reference, Row, row
from workload import Workload, fixed, lognormal

_LINKS = 4
_MODEL = 0.05

Drive = Callable[[Chains], Work]


@dataclass(frozen=True, kw_only=True)
class Driver:
    """One way of working on a workload."""

    name: str
    """As printed in the table."""
    source: str
    """As `peers.load_driver` takes it."""
    guarded: bool
    """True if the targets are set for it."""


_BARRIER = Driver(name="create_agent, parallel calls", source="drivers:barrier", guarded=False)
_EMPTY = Driver(
    name="create_agent, the same hooks empty", source="drivers:empty_hooks", guarded=False
)
_SEQUENTIAL = Driver(name="create_agent, task by task", source="drivers:sequential", guarded=False)
_GRAPH = Driver(name="build_agent", source="guarded_graph:work", guarded=True)
_MIDDLEWARE = Driver(name="AsyncGuardMiddleware", source="guarded_middleware:work", guarded=True)
# Real time over the critical path or over the same schedule in virtual time.
_LIMIT = 1.05


@dataclass(frozen=True, kw_only=True)
class Case:
    """Workloads of one kind; each is run once by every driver."""

    name: str
    """As printed in the table."""
    workloads: Sequence[Workload]
    """One per round."""
    drivers: Sequence[Driver] = (_BARRIER, _GRAPH, _MIDDLEWARE)
    """Runtimes of the case. Task by task, a case with a long tail would take minutes: its figure
    there is computed."""
    limits_on_critical_path: bool = False
    """True if the critical path can be met: not if results come while the model is busy with
    others."""


def cases(settings: Settings) -> list[Case]:
    """Return what is measured: the same latencies every time the command runs."""
    even = fixed(tasks=3, links=_LINKS, tool=0.1, model=_MODEL)
    return [
        Case(
            name="3 tasks x 4 calls of 100 ms",
            workloads=[even] * settings.repeats,
            drivers=(_SEQUENTIAL, _BARRIER, _EMPTY, _GRAPH, _MIDDLEWARE),
            limits_on_critical_path=True,
        ),
        *(
            Case(
                name=f"{tasks} x 4, lognormal, {tool * 1000:.0f} ms",
                workloads=_drawn(tasks, tool, settings.seeds),
            )
            for tasks, tool in ((3, 0.1), (10, 0.1), (10, 0.5))
        ),
    ]


def _drawn(tasks: int, tool: float, seeds: int) -> list[Workload]:
    return [
        lognormal(tasks=tasks, links=_LINKS, tool=tool, model=_MODEL, seed=seed)
        for seed in range(seeds)
    ]


def measure(settings: Settings) -> list[Row]:
    """Run every case and compare each run with its own workload's critical path and virtual schedule."""
    sources = {driver.source for case in cases(settings) for driver in case.drivers}
    drives: dict[str, Drive] = {}
    for source in sorted(sources):
        try:
            drives[source] = load_driver(source)
        except UnavailableError as error:
            settings.note(f"not available: {error}")
    for drive in drives.values():
        _timed(drive, fixed(tasks=2, links=1, tool=0.0, model=0.0))
    return [line for case in cases(settings) for line in _rows(case, drives, settings)]


def _rows(case: Case, drives: Mapping[str, Drive], settings: Settings) -> Iterator[Row]:
    settings.note(f"makespan: {case.name}, {len(case.workloads)} rounds")
    heading = ("makespan", case.name)
    drivers = [driver for driver in case.drivers if driver.source in drives]
    rounds = [
        [_timed(drives[driver.source], workload) for driver in drivers]
        for workload in case.workloads
    ]
    bound = [workload.critical_path() for workload in case.workloads]
    virtual = [workload.asynchronous() for workload in case.workloads]
    yield row(heading, "critical path", bound, "s", None)
    path = Reference(name="critical path", values=bound)
    if _SEQUENTIAL not in drivers:
        computed = [workload.sequential() for workload in case.workloads]
        yield row(heading, "task by task, virtual time", computed, "s", path)
    yield row(
        heading,
        "barrier, virtual time",
        [workload.barrier() for workload in case.workloads],
        "s",
        path,
    )
    yield row(heading, "asynchronous, virtual time", virtual, "s", path)
    limited = Reference(
        name="critical path", values=bound, limit=_LIMIT if case.limits_on_critical_path else None
    )
    schedule = Reference(name="asynchronous, virtual time", values=virtual, limit=_LIMIT)
    for driver, seconds in zip(drivers, zip(*rounds, strict=True), strict=True):
        yield row(heading, driver.name, seconds, "s", limited if driver.guarded else path)
        if driver.guarded and not case.limits_on_critical_path:
            yield row(heading, driver.name, seconds, "s", schedule)


def _timed(drive: Drive, workload: Workload) -> float:
    chains = Chains(workload=workload)
    gc.collect()
    seconds = asyncio.run(_seconds(drive(chains)))  # a process makes an agent once
    if not chains.done:
        message = f"{drive.__qualname__}: {chains.executed} calls ran in {chains.turns} turns"
        raise UnsoundRunError(message)
    return seconds


async def _seconds(work: Work) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start
