"""Timing of peers in turns: A B C, A B C, ... so that a slow minute of the machine touches all of them alike."""

import asyncio
import gc
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from asyncguard_benchmark.harness.statistics.estimates import t_quantile
from peers import Peer
from script import Script

WARM_UP_STEPS = 3

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of one peer."""

    seconds: float
    """Wall time of the run itself, without building the agent or opening its store."""
    bytes: int
    """Bytes that the run left on the disk after its store was closed; 0 without a store."""


class UnsoundRunError(Exception):
    """A peer did not do the work that it was timed for; its figure would mean nothing."""


def interleaved(
    subjects: Sequence[T],
    run: Callable[[T], Sample],
    *,
    repeats: int,
    enough: Callable[[Sequence[Sequence[Sample]]], bool] = lambda _: False,
) -> list[list[Sample]]:
    """Run every subject once per round and return the samples of each, in the order of `subjects`.

    Args:
        subjects: What is run.
        run: Runs one of them once.
        repeats: Rounds at most.
        enough: Told the samples after each round; with True that round is the last.
    """
    samples: list[list[Sample]] = [[] for _ in subjects]
    for _ in range(repeats):
        for subject, row in zip(subjects, samples, strict=True):
            row.append(run(subject))
        if enough(samples):
            break
    return samples


def seconds(samples: Sequence[Sample]) -> list[float]:
    """Return the seconds of each."""
    return [sample.seconds for sample in samples]


def uncertainty(values: Sequence[float], references: Sequence[float]) -> float:
    """Return half of the 95 % interval of a ratio, as a share of it; infinite for less than two rounds.

    Rounds are taken for independent, and the logarithm of the quotient for normal.
    """
    if len(values) < 2:
        return math.inf
    quotients = [math.log(value / base) for value, base in zip(values, references, strict=True)]
    error = statistics.stdev(quotients) / math.sqrt(len(quotients))
    return math.expm1(t_quantile(len(quotients) - 1) * error)


def timed_run(peer: Peer, *, steps: int) -> Sample:
    """Run `steps` tool calls through a fresh agent on a fresh loop, with a store of its own if the peer has one.

    Raises:
        UnsoundRunError: the tool did not run exactly `steps` times.
    """
    with tempfile.TemporaryDirectory(prefix="asyncguard-performance-") as name:
        folder = Path(name)
        script = Script(steps=steps)
        seconds = asyncio.run(_seconds(peer, script, folder))
        if script.executed != steps:
            message = f"{peer.name}: the tool ran {script.executed} times instead of {steps}"
            raise UnsoundRunError(message)
        return Sample(
            seconds=seconds,
            bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        )


def warm_up(peers: Sequence[Peer]) -> None:
    """Run every peer once, unrecorded: imports, compiled schemas and caches are not what is compared.

    Collections before later runs pass over what is there by then: ten frameworks, half a second each time.
    """
    for peer in peers:
        timed_run(peer, steps=WARM_UP_STEPS)
    gc.collect()
    gc.freeze()


async def _seconds(peer: Peer, script: Script, folder: Path) -> float:
    async with peer.session(script, folder) as run:
        # A collection in the middle of one peer's run is chance; each begins with a clean heap and ends before one.
        gc.collect()
        gc.disable()
        try:
            start = time.perf_counter()
            await run()
            return time.perf_counter() - start
        finally:
            gc.enable()
