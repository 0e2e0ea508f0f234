"""Ports that die at a point: each wraps the real one and changes nothing else."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncguard import Details
from asyncguard.core import events as ev
from asyncguard.core.results import Result
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Fresh, Journal, Verdict
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing import Step
from reliability.cases import Broken, Point
from reliability.killing import Trigger
from reliability.savers import Steps
from reliability.story import Speaker

_DYING_REQUEST = 2
"""The process dies at the second request: calls of the first are running then."""


class DyingClock(LoopClock):
    """Clock that dies in a back-off; nothing else of the engine sleeps."""

    def __init__(self, trigger: Trigger) -> None:
        """Make a clock."""
        self._trigger = trigger

    async def sleep(self, seconds: float) -> None:
        """Sleep, or die half-way."""
        if self._trigger.point is Point.C12:
            await super().sleep(seconds / 2)
            self._trigger.at(Point.C12)
        await super().sleep(seconds)


class DyingExecutor(LocalExecutor):
    """The embedded executor, which dies when the engine has been told of a completion."""

    def __init__(self, trigger: Trigger, clock: LoopClock) -> None:
        """Make an executor."""
        super().__init__(clock)
        self._trigger = trigger

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job."""

        def told(completion: Completion) -> None:
            done(completion)
            self._trigger.at(Point.C9, job.arguments.get("item"))

        super().start(job, told)


class SteppingModel:
    """The script of the model, which dies before it answers or notes that it has."""

    def __init__(self, speaker: Speaker, trigger: Trigger, steps: Steps) -> None:
        """Make a script."""
        self._speaker = speaker
        self._trigger = trigger
        self._steps = steps
        self._requests = 0

    def __call__(self, messages: Sequence[Any], tools: Sequence[Mapping[str, Any]]) -> Step:
        """Return the model's answer."""
        self._requests += 1
        if self._requests == _DYING_REQUEST:
            self._trigger.at(Point.C0)
        answer = self._speaker(messages, tools)
        self._steps.answered = True
        return answer


class Watcher:
    """An observer that knows when the target's result was merged, and dies in recovery."""

    def __init__(self, trigger: Trigger, steps: Steps, life: int) -> None:
        """Make an observer."""
        self._trigger = trigger
        self._steps = steps
        self._life = life

    def __call__(self, details: Details) -> None:
        """Take an event."""
        item = "" if details.record is None else str(details.record.call.arguments.get("item"))
        if item != self._trigger.item:
            return
        match details.event:
            case ev.CallRetired():
                self._steps.merged = True
            case ev.CallDiagnosed():
                self._trigger.at(Point.C14, item)
            case ev.CallStarted() | ev.CallRecovered() if self._life > 0:
                self._trigger.at(Point.C14, item)


class DyingJournal:
    """The journal, which dies around its own writes; or one in which something is switched off."""

    def __init__(self, journal: Journal, trigger: Trigger, broken: Broken) -> None:
        """Make a journal.

        Args:
            journal: The real one.
            trigger: Kills.
            broken: Part that is switched off.
        """
        self.journal = journal
        self.trigger = trigger
        self._broken = broken

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute from the journal."""
        return getattr(self.journal, name)

    async def begin(self, intent: Intent) -> Verdict:
        """Ask whether an attempt may begin, or die before or after it is written down."""
        item = str(intent.arguments.get("item"))
        self.trigger.at(Point.C5, item)
        match self._broken:
            case Broken.INTENT:
                return Fresh()
            case Broken.DEDUP:
                await self.journal.begin(intent)
                return Fresh()
            case Broken.FINGERPRINT:
                verdict = await self.journal.begin(
                    replace(intent, fingerprint=await self._known_as(intent))
                )
            case Broken.NONE:
                verdict = await self.journal.begin(intent)
        if isinstance(verdict, Fresh):
            self.trigger.at(Point.C3, item)
        return verdict

    async def _known_as(self, intent: Intent) -> str:
        """Return the fingerprint under which the attempt stands already: what a journal does that compares none."""
        found = await asyncio.to_thread(lambda: self.journal.entries(key=intent.key))
        known = {a.number: a.fingerprint for entry in found for a in entry.attempts}
        return known.get(intent.attempt, intent.fingerprint)

    async def end(self, key: str, attempt: int, result: Result) -> None:
        """Write down an outcome, or die right after."""
        if self._broken is Broken.INTENT:
            return
        await self.journal.end(key, attempt, result)
        if self._dies_behind(result):
            self.trigger.at(Point.C8)

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        """Write down an outcome, or die as soon as it is on disk, before any caller gets it."""
        if self._broken is Broken.INTENT:
            return
        self.journal.end_soon(key, attempt, result)
        if self._dies_behind(result):
            self.journal.entries(key=key)  # entries() waits for the writes queued before it
            self.trigger.at(Point.C8)

    def _dies_behind(self, result: Result) -> bool:
        return self.trigger.point is Point.C8 and self.trigger.item in str(
            getattr(result, "content", "")
        )
