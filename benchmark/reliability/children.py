"""The processes of a case: forked, watched, killed, stopped and continued."""

import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reliability.evidence import Process

RAISED = 70
"""Exit code of a process whose run raised."""
PATIENCE = 90.0
"""Seconds that a process may take to its end."""
ASKED = signal.SIGUSR1
"""On this a process prints where it waits."""
_ANSWER = 0.5
_SHORTEST, _LONGEST = 0.0005, 0.005


@dataclass(kw_only=True)
class Child:
    """One process."""

    number: int
    pid: int
    kind: str
    code: int | None = None
    """Exit code, negative for a signal; ``None`` while it runs."""
    stopped: bool = False
    """True if it was frozen at least once."""

    def poll(self) -> bool:
        """Return True if it has ended."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return True if it came in time."""
        deadline, pause = time.monotonic() + seconds, _SHORTEST
        while not self.poll():
            if (left := deadline - time.monotonic()) <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST)
        return True

    def ends(self) -> bool:
        """Wait for its end; return True if it came in time. A process that does not end is asked where it waits."""
        if self.wait(PATIENCE):
            return True
        os.kill(self.pid, ASKED)
        return self.wait(_ANSWER) and self.code == 0

    def kill(self) -> None:
        """End it as a crash does, and wait until it is gone."""
        if not self.poll():
            os.kill(self.pid, signal.SIGKILL)
            self.wait(PATIENCE)

    def end(self) -> bool:
        """Ask it to end; return True if it ended well. One that has hardly begun is ended by the signal."""
        if not self.poll():
            os.kill(self.pid, signal.SIGTERM)
        return self.ends() and self.code in (0, -signal.SIGTERM)

    def stop(self) -> None:
        """Freeze it."""
        if not self.poll():
            os.kill(self.pid, signal.SIGSTOP)
            self.stopped = True

    def go_on(self) -> None:
        """Thaw it."""
        if not self.poll():
            os.kill(self.pid, signal.SIGCONT)

    @property
    def died(self) -> bool:
        """Return True if it did not end by itself, or was frozen while others went on."""
        return self.code != 0 or self.stopped


class Children:
    """The processes of a case, numbered in the order in which they were started."""

    def __init__(self, folder: Path, prepare: Callable[[], None] = lambda: None) -> None:
        """Make an empty collection.

        Args:
            folder: Gets what they print.
            prepare: Called in each before its work.
        """
        self._folder = folder
        self._prepare = prepare
        self.all: list[Child] = []
        self.restarts = 0
        """Number of times their database was stopped."""

    def fork(self, work: Callable[[int], None], kind: str = "agent") -> Child:
        """Start one.

        Args:
            work: Work of the process, given its number; it must end the process.
            kind: Kind of the process.
        """
        number = len(self.all)
        pid = os.fork()
        if pid == 0:
            self._become(number, kind, work)
        child = Child(number=number, pid=pid, kind=kind)
        self.all.append(child)
        return child

    def _become(self, number: int, kind: str, work: Callable[[int], None]) -> None:
        try:
            printed = os.open(
                self._folder / f"{number}-{kind}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600
            )
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            self._prepare()
            work(number)
        except BaseException:  # noqa: BLE001 - a child must never go on with its parent's work
            traceback.print_exc()
        finally:
            os._exit(RAISED)

    def last_words(self, child: Child) -> str:
        """Return the last line that a process printed."""
        path = self._folder / f"{child.number}-{child.kind}.log"
        printed = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        lines = printed.strip().splitlines()
        return lines[-1] if lines else "it printed nothing"

    def ask(self) -> None:
        """Have all that run print where they wait: one that does not end may wait for another."""
        for child in self.all:
            if not child.poll():
                os.kill(child.pid, ASKED)
        time.sleep(_ANSWER)

    def end_all(self) -> None:
        """Leave no process behind."""
        for child in self.all:
            child.kill()

    @property
    def kills(self) -> int:
        """Return the number of kills, freezes and stops of the database."""
        return (
            sum(child.code == -signal.SIGKILL or child.stopped for child in self.all)
            + self.restarts
        )

    def told(self) -> list[Process]:
        """Return the processes, for the judge."""
        return [
            Process(life=child.number, pid=child.pid, died=child.died, kind=child.kind)
            for child in self.all
        ]
