"""Fixture of the journal rules: processes, threads and intents of one rule."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from asyncguard.core.calls import CallState, fingerprint
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Success
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Entry, Fresh, Journal, Refused, Signal, SignalKind, Verdict

PATIENCE = 10.0
"""Seconds within which signals of another process arrive."""
_STEP = 0.02
_T = TypeVar("_T")
_Error = TypeVar("_Error", bound=Exception)

DONE = Success(content="done")
"""A result."""
TIMEOUT = Failure(symptom=Symptom(error=ErrorCode.TIMEOUT, message="No answer."))
"""A failure that leaves open whether the effect happened."""
GIVEN_UP = Failure(
    symptom=Symptom(error=ErrorCode.TIMEOUT, message="No answer in time.", running=True)
)
"""The same of an attempt that was given up, and whose tool may still run."""
NOT_STARTED = Failure(
    symptom=Symptom(error="ToolFault", message="No.", mro=("a.B", "c.D"), status=409, started=False)
)
"""A failure that says that nothing happened."""


class Bench:
    """Names of one rule, so that rules share a database and nothing else."""

    def __init__(self, make: Callable[[], Journal], name: str) -> None:
        """Keep the factory; nothing is opened yet.

        Args:
            make: Function that opens the database as another process.
            name: Name of the rule.
        """
        self._make = make
        # Unique in the database, also if the check is run on it again.
        self._name = f"{name}-{time.time_ns():x}"
        self._journals: list[Journal] = []

    def key(self, name: str = "k") -> str:
        """Return a key that begins with its name."""
        return f"{name}-{self._name}"

    def session(self, name: str = "s") -> str:
        """Return the id of a thread in its state."""
        return f"{name}-{self._name}"

    async def process(self, *threads: str) -> Journal:
        """Return a new process that holds some threads; ``"s"`` if none is named."""
        journal = await asyncio.to_thread(self._make)
        self._journals.append(journal)
        for name in threads or ("s",):
            await self.acquire(journal, name)
        return journal

    async def outsider(self) -> Journal:
        """Return a new process that holds no thread."""
        journal = await asyncio.to_thread(self._make)
        self._journals.append(journal)
        return journal

    async def acquire(self, journal: Journal, name: str = "s") -> list[Signal]:
        """Acquire a thread; return a list that grows with its signals."""
        signals: list[Signal] = []
        await journal.acquire(
            self.session(name), f"thread {self.session(name)}", (), signals.append
        )
        return signals

    async def die(self, journal: Journal) -> None:
        """End a process; the attempts that it had begun stay begun."""
        await asyncio.to_thread(journal.close)

    async def close(self) -> None:
        """End all processes."""
        for journal in self._journals:
            await self.die(journal)

    def intent(self, name: str = "k", **changes: Any) -> Intent:
        """Return an intent to pay; the fingerprint fits tool and arguments unless one is given."""
        given: dict[str, Any] = {
            "session": self.session(),
            "namespace": "",
            "task": "t1",
            "label": "pay#1",
            "key": self.key(name),
            "attempt": 1,
            "tool": "pay",
            "effect": EffectClass.AT_MOST_ONCE,
            "arguments": {"amount": 5},
        } | changes
        given.setdefault("fingerprint", fingerprint(given["tool"], given["arguments"]))
        return Intent(**given)

    async def begun(self, journal: Journal, name: str = "k", **changes: Any) -> Intent:
        """Return an intent that was begun."""
        intent = self.intent(name, **changes)
        verdict = await journal.begin(intent)
        assert isinstance(verdict, Fresh), f"a new attempt has to be Fresh, not {verdict}"
        return intent

    async def ended(
        self, journal: Journal, result: Result, name: str = "k", **changes: Any
    ) -> Intent:
        """Return an intent that was begun and ended."""
        intent = await self.begun(journal, name, **changes)
        await journal.end(intent.key, intent.attempt, result)
        return intent

    async def doubtful(
        self, journal: Journal, name: str = "k", result: Result = TIMEOUT, **changes: Any
    ) -> Intent:
        """Return the intent of a call that its thread recorded as in doubt."""
        intent = await self.ended(journal, result, name, **changes)
        journal.record_final_state(intent.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
        await self.entry(journal, name)  # for other processes: after this answer it is on disk
        return intent

    async def entry(self, journal: Journal, name: str = "k") -> Entry:
        """Return the only call of a name."""
        found = await asyncio.to_thread(journal.entries, key=self.key(name))
        assert len(found) == 1, f"entries() has {len(found)} calls under the key of one"
        return found[0]

    async def resolve(
        self, journal: Journal, kind: SignalKind, content: Any = None, name: str = "k"
    ) -> Entry:
        """Resolve a call."""
        return await asyncio.to_thread(
            journal.resolve, self.key(name), kind, content, by="the bench"
        )


async def raises(
    error: type[_Error], work: Callable[..., object], *arguments: Any, **named: Any
) -> _Error:
    """Return the error that blocking work raises."""
    try:
        done = await asyncio.to_thread(work, *arguments, **named)
    except error as raised:
        return raised
    name = getattr(work, "__name__", "it")
    raise AssertionError(
        f"{name}{arguments!r:.200} has to raise {error.__name__}, not to return {done!r:.100}"
    )


async def wait_for(signals: list[Signal], count: int) -> None:
    """Wait until that many signals have come, and a little longer for surplus ones."""
    give_up = time.monotonic() + PATIENCE
    while len(signals) < count and time.monotonic() < give_up:  # noqa: ASYNC110 - it comes from another thread
        await asyncio.sleep(_STEP)
    assert len(signals) >= count, (
        f"{count} signals were written and {len(signals)} came; a signal is never lost"
    )
    await asyncio.sleep(_STEP)
    assert len(signals) == count, (
        f"{count} signals were written and {len(signals)} came; each comes once"
    )


def refused(verdict: Verdict, why: str) -> None:
    """Check a refusal."""
    assert isinstance(verdict, Refused), f"{why}; begin() answered {verdict}"
    assert verdict.reason, "a refusal needs a reason, which the model is shown"
