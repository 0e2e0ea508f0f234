"""Several lanes at once: they get cases and return results, which are kept so that an interrupted run goes on."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from reliability.cases import Case
from reliability.lane import Played

RESULTS = "results.jsonl"
EVIDENCE = "evidence"
_LANE = str(Path(__file__).with_name("run.py"))


class LaneDiedError(RuntimeError):
    """A lane ended in the middle of a case; its output says why."""


class Results:
    """Results of the cases so far; one JSON line each, written to disk as they come."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        """Read what an earlier run left.

        Args:
            folder: Holds the results.
            fresh: True to delete the results of an earlier run.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / RESULTS
        self._lock = threading.Lock()
        if fresh:
            self._file.unlink(missing_ok=True)
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        played = [Played(**json.loads(line)) for line in lines]
        self.played: dict[str, Played] = {item.case: item for item in played}

    def add(self, played: Played) -> None:
        """Keep one more result."""
        with self._lock, self._file.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(played.to_json())}\n")
            self.played[played.case] = played


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """Settings of the lanes in which cases are played."""

    folder: Path
    """Gets the evidence."""
    url: str = ""
    """Database of the shared PostgreSQL server, empty without one."""
    keep: bool = False
    """True if the evidence of cases without violations is kept, too."""
    number: int = 1
    """Number of lanes that play at the same time."""

    def command(self) -> list[str]:
        """Return the command line that starts a lane."""
        keep = ["--keep"] if self.keep else []
        return [
            sys.executable,
            _LANE,
            "--lane",
            str(self.folder / EVIDENCE),
            "--postgres",
            self.url,
            *keep,
        ]


def play_all(cases: Iterable[Case], lanes: Lanes, done: Callable[[Played], None]) -> None:
    """Play cases in several lanes.

    Args:
        cases: Cases to play.
        lanes: Settings of the lanes.
        done: Told of each result, from any thread.

    Raises:
        LaneDiedError: A lane ended by itself.
    """
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            _work(waiting, lanes, done)
        except BaseException as error:  # noqa: BLE001 - raised again where the lanes are waited for
            failures.append(error)

    threads = [
        threading.Thread(target=work, name=f"lane {number}") for number in range(lanes.number)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _work(waiting: "queue.SimpleQueue[Case]", lanes: Lanes, done: Callable[[Played], None]) -> None:
    with subprocess.Popen(
        lanes.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as lane:
        assert lane.stdin is not None  # asked for above
        assert lane.stdout is not None
        while (case := _next(waiting)) is not None:
            lane.stdin.write(f"{json.dumps(case.to_json())}\n")
            lane.stdin.flush()
            answer = lane.stdout.readline()
            if not answer:
                raise LaneDiedError(
                    f"A lane died as it played {case.name}; its last words stand above."
                )
            done(Played(**json.loads(answer)))
        lane.stdin.close()


def _next(waiting: "queue.SimpleQueue[Case]") -> Case | None:
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return None
