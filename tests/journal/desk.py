"""Intents and journals for tests, and a process of its own that executes commands."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from asyncguard.core.calls import fingerprint
from asyncguard.core.footprints import EffectClass
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Signal
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]


def intent(key: str = "k", **changes: Any) -> Intent:
    """An intent to pay, once; the fingerprint fits."""
    given: dict[str, Any] = {
        "session": "s",
        "namespace": "",
        "task": "t",
        "label": f"pay#{key}",
        "key": key,
        "attempt": 1,
        "tool": "pay",
        "effect": EffectClass.AT_MOST_ONCE,
        "arguments": {"for": key},
    } | changes
    given.setdefault("fingerprint", fingerprint(given["tool"], given["arguments"]))
    return Intent(**given)


def journal_at(file: Path, *, ahead: float = 0.0) -> SqlJournal:
    """A journal whose clock is some seconds ahead."""
    return SqlJournal(SqliteStore(file, ProcessKind.AGENT, wall_clock=lambda: time.time() + ahead))


async def entered(journal: SqlJournal, session: str = "s") -> list[Signal]:
    """Enter a thread; signals that come for it are appended to the list."""
    mail: list[Signal] = []
    await journal.acquire(session, session, (), mail.append)
    return mail


class Actor:
    """Another process with a journal; see ``actor.py``."""

    def __init__(self, target: Path | str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", ROOT / "tests/journal/actor.py", str(target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.epoch: str = self.hear()

    def __enter__(self) -> "Actor":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def tell(self, *command: str) -> None:
        """Send a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """Return the next answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the process ended with {self._process.wait()}"
        return json.loads(line)

    def ask(self, *command: str) -> Any:
        """Send a command and return its answer."""
        self.tell(*command)
        return self.hear()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """``kill -STOP``."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """``kill -CONT``."""
        self._process.send_signal(signal.SIGCONT)
