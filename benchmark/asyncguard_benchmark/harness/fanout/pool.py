"""Send episodes to workers and return their outcomes, in the order in which they were asked for.

Some parcels of a few episodes are under way at any time, and no more: results that were not fetched
yet count, too. Parcels that were sent and not fetched when a run ends are withdrawn; the parcels of
a killed run are played in vain.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from asyncguard_benchmark.errors import WorkersError
from asyncguard_benchmark.harness.campaign import Cell, Played
from asyncguard_benchmark.harness.fanout import QUEUE
from asyncguard_benchmark.harness.fanout.messages import GUARDS, answer_from_json, cell_to_json
from asyncguard_benchmark.harness.fanout.process_pool import Crew
from asyncguard_benchmark.harness.fanout.queue_client import QueueClient
from asyncguard_benchmark.harness.fanout.versions import difference, own_versions
from asyncguard_benchmark.harness.fanout.workplace import Workplace

_PARCEL = 4
"""Episodes in a parcel: one takes about as long as carrying a parcel."""
_PER_WORKER = 3
"""Parcels under way for each worker of this machine: one at work, the others on their ways."""
_ELSEWHERE = 64
"""Parcels under way if the number of workers is not known."""
_TOOLS = "asyncguard_benchmark.harness.fanout:tools"


@dataclass(frozen=True, kw_only=True)
class WorkerPoolSettings:
    """Workers of a run, and their place."""

    folder: Path
    """Folder for the logs of this machine's workers, and for their queue if no database is named;
    removed at the end."""
    workers: int = 0
    """Workers to be started on this machine, and ended with the run."""
    database: str | None = None
    """The queue of workers that run already, ``postgresql://...`` or a SQLite file; ``None`` if there are none."""
    queue: str = QUEUE
    """Name of the queue."""
    guards: tuple[str, ...] = ()
    """Guards of the user's own that workers of this machine may import; others have to be told by their owners."""
    silence: float = 20.0
    """Seconds without an answer after which a person is told."""
    run: str = field(default_factory=lambda: uuid4().hex)
    """Begins the names of this run's parcels: no run takes what another one asked for."""

    def __post_init__(self) -> None:
        if not self.workers and self.database is None:
            raise WorkersError(
                "no workers: give --workers N, or the --database-url of workers that run already"
            )

    @property
    def in_flight(self) -> int:
        """Parcels under way at most."""
        return _ELSEWHERE if self.database is not None else _PER_WORKER * self.workers


class WorkerPool:
    """The workers of one run; a context manager. Nothing is started before there is something to play."""

    def __init__(self, settings: WorkerPoolSettings, tell: Callable[[str], None]) -> None:
        """Make a pool.

        Args:
            settings: Workers of the run.
            tell: Takes a line for people; from any thread.
        """
        self.settings = settings
        self._tell = tell
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._place: Workplace | None = None
        self._queue: QueueClient | None = None
        self._crew: Crew | None = None
        self._told_at = 0.0

    def play_all(self, cells: Iterable[Cell], *, keep_messages: bool = True) -> Iterator[Played]:
        """Play episodes in the order given.

        Args:
            cells: Episodes to play.
            keep_messages: True if episodes keep their conversations.

        Raises:
            WorkersError: workers cannot be reached, are of another version, or end again and again.
            EpisodeError: an episode ended in an error; those before it have been yielded.
        """
        todo = iter(cells)
        sent: deque[tuple[Sequence[Cell], Future[str]]] = deque()
        while parcel := list(islice(todo, _PARCEL)):
            sent.append((parcel, self._send(parcel, keep_messages=keep_messages)))
            if len(sent) == self.settings.in_flight:
                yield from self._received(*sent.popleft())
        while sent:
            yield from self._received(*sent.popleft())

    def play(self, cell: Cell) -> Played:
        """Play one episode and wait for it; for as many threads as parcels may be under way.

        Raises:
            WorkersError: workers cannot be reached, are of another version, or end again and again.
            EpisodeError: the episode ended in an error.
        """
        return next(self._received([cell], self._send([cell], keep_messages=True)))

    def give_up(self) -> None:
        """End every wait for an episode: the run is over."""
        if self._queue is not None:
            self._queue.fail(WorkersError("the run was interrupted"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._queue is not None:
            self._queue.close()
        if self._crew is not None:
            self._crew.close(at_once=self.settings.database is None)
        if self._place is not None:
            self._place.remove()

    def _send(self, cells: Sequence[Cell], *, keep_messages: bool) -> "Future[str]":
        arguments = {
            "versions": dict(own_versions()),
            "cells": [cell_to_json(cell) for cell in cells],
            "keep_messages": keep_messages,
        }
        return self._started().send(f"{self.settings.run}-{next(self._numbers)}", arguments)

    def _received(self, cells: Sequence[Cell], future: "Future[str]") -> Iterator[Played]:
        queue = self._started()
        while not wait([future], timeout=self.settings.silence).done:
            self._say_if_silent(queue)
        answer = answer_from_json(future.result(), cells)
        if self._crew is not None:
            self._crew.progressed()
        queue.tidy()
        if what := difference(answer.versions, own_versions()):
            raise WorkersError(
                f"the worker on {answer.worker} has {what}: nothing was played there; bring both to one"
            )
        yield from answer.played
        if answer.error is not None:
            raise answer.error
        if len(answer.played) < len(cells):
            raise WorkersError(
                f"the worker on {answer.worker} played {len(answer.played)} of {len(cells)} episodes"
            )

    def _started(self) -> QueueClient:
        with self._lock:
            if self._queue is None:
                self._queue = self._begun()
            return self._queue

    def _begun(self) -> QueueClient:
        settings = self.settings
        if settings.workers:
            self._place = Workplace(settings.folder)
        database = settings.database or str(settings.folder / "queue.db")
        queue = QueueClient(database, settings.queue)
        if settings.workers:
            options = ["--database-url", database, "--queue", settings.queue, "--tools", _TOOLS]
            limits = ["--concurrency", "1", "--drain-timeout", "1"]
            self._crew = Crew(
                [*options, *limits],
                logs=settings.folder,
                tell=self._tell,
                give_up=queue.fail,
                environment={GUARDS: ",".join(settings.guards)} if settings.guards else None,
            )
            self._crew.start(settings.workers)
        return queue

    def _say_if_silent(self, queue: QueueClient) -> None:
        """Tell a person what may be the matter, and how workers are started where none were."""
        now, silence = time.monotonic(), self.settings.silence
        with self._lock:
            if now - max(queue.heard_at, self._told_at) < silence:
                return
            self._told_at = now
        said = [f"no episode came back for {now - queue.heard_at:.0f} s.", queue.trouble()]
        if self._crew is None:
            said.append(f"Workers are started so: {worker_command('URL', self.settings.queue)}")
        self._tell(" ".join(filter(None, said)))


def worker_command(database: str, queue: str = QUEUE) -> str:
    """Return the command line that starts a worker for episodes, one for each processor."""
    return f"asyncguard worker --database-url {database} --queue {queue} --tools {_TOOLS} --concurrency 1"
