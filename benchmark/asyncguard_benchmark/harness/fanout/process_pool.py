"""Worker processes of this machine: started, replaced when they die, ended with the run."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from asyncguard_benchmark.errors import WorkersError

_MOST_DEATHS = 3
"""Workers that may die without an episode in between: what ends each of them would end the next, too."""
_PATIENCE = 10.0
"""Seconds that a worker has to end by itself."""
_TOLD = 5
"""Lines of a log that an error shows."""


class Crew:
    """The processes. Each has a thread that waits for its end."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        logs: Path,
        tell: Callable[[str], None],
        give_up: Callable[[WorkersError], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Make a crew; nothing is started yet.

        Args:
            arguments: Arguments of ``asyncguard worker``.
            logs: The folder of their logs.
            tell: Takes a line for people; from any thread.
            give_up: Told once, from any thread, when worker after worker dies.
            environment: Variables that they have beside those of this process.
        """
        self._order = (json.dumps(list(arguments)) + "\n").encode()
        self._logs = logs
        self._tell, self._give_up = tell, give_up
        self._environment = os.environ | dict(environment or {})
        self._lock = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._keepers: list[threading.Thread] = []
        self._deaths = 0
        self._closing = False

    def start(self, count: int) -> None:
        """Start so many workers."""
        for number in range(1, count + 1):
            keeper = threading.Thread(
                target=self._keep, args=(number,), name=f"worker-{number}", daemon=True
            )
            self._keepers.append(keeper)
            keeper.start()

    def progressed(self) -> None:
        """Note that a worker has answered: they can work."""
        with self._lock:
            self._deaths = 0

    def close(self, *, at_once: bool) -> None:
        """End all workers, those that do not end by themselves with force.

        Args:
            at_once: True to kill them at once: their work is of no use to any other process.
        """
        with self._lock:
            self._closing = True
            processes = list(self._processes.values())
        for process in processes:
            process.kill() if at_once else process.terminate()
        for process in processes:
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        for keeper in self._keepers:
            keeper.join()

    def _keep(self, number: int) -> None:
        """Have one worker until the crew is closed, or no worker lives long."""
        while (process := self._started(number)) is not None:
            code = process.wait()
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # what it never read
                process.stdin.close()
            with self._lock:
                if self._closing:
                    return
                self._deaths += 1
                lost = self._deaths >= _MOST_DEATHS
            if lost:
                self._give_up(WorkersError(self._epitaph(number, code)))
                return
            self._tell(f"worker {number} ended ({_said(code)}); another takes its place")

    def _started(self, number: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closing:
                return None
            with self._log(number).open("ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "asyncguard_benchmark.harness.fanout.worker"],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                    start_new_session=True,  # Ctrl-C is for the run, which ends its workers itself
                )
            self._processes[number] = process
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already, which its keeper sees
            process.stdin.write(self._order)
            process.stdin.flush()
        return process

    def _log(self, number: int) -> Path:
        return self._logs / f"worker-{number}.log"

    def _epitaph(self, number: int, code: int) -> str:
        lines = self._log(number).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = "\n".join(lines[-_TOLD:]) or "nothing"
        return f"{_MOST_DEATHS} workers ended and played nothing, the last with {_said(code)}; it said: {last}"


def _said(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
