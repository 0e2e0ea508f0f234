"""Interventions of guards in an episode, read from the runtime's events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard import Details, GuardConfig
from asyncguard.config import RECOVERY_NAMES
from asyncguard.core import events as ev
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)

_SWITCH_OF = {
    "readable": ("arguments",),
    "approval": (),
    "operands": ("references", "arguments", "capacity"),
}
"""Checks without a switch of their own -> the switches by which the player meets them.

Unknown tools reach the runtime only where the guard `arguments` is on: without it the player passes them on, to be
answered by an error as in the plain loop. Operands exist only with references.
"""
_LONG = 4
"""The runtime looks at the size of a result only above its limit divided by this."""


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """One verdict other than to let pass; in shadow mode, one that was not heeded."""

    tick: int
    guard: str
    verdict: str
    """``reject``, ``defer``, ``hold``, ``wait`` or ``nudge``; ``fault`` of a guard of the user's own that failed."""
    task: str = ""
    call: str = ""
    """The call as the runtime names it; empty for the end of a run."""
    number: int | None = None
    """Number of the call in the trajectory, where it got there."""
    enforced: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON without what says nothing."""
        told = {
            "tick": self.tick,
            "guard": self.guard,
            "verdict": self.verdict,
            "task": self.task,
            "call": self.call,
        }
        number = {} if self.number is None else {"number": self.number}
        return {**told, **number, **({} if self.enforced else {"enforced": False})}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A call that a guard rejected, as far as it can be said again of another call."""

    call: str
    """The call as the runtime names it."""
    reason: str


class Watcher:
    """An observer of one episode."""

    def __init__(self, config: GuardConfig, number_of: Callable[[str], int | None]) -> None:
        """Watch.

        Args:
            config: Under which the episode is played.
            number_of: Number in the trajectory of a call by its key, or None.
        """
        self.proposed = 0
        """Calls that the agent made, refused ones included; what stands for an idle or unreadable action is none."""
        self.refusals: list[Refusal] = []
        """Calls that were rejected, in order."""
        self.reminders: list[str] = []
        """Reminders of unfinished tasks in place of an end, as the agent was told them, in order."""
        self._config = config
        self._number_of = number_of
        self._noted: list[tuple[str, Intervention]] = []
        self._diagnoses: list[dict[str, Any]] = []
        self._recoveries: list[dict[str, Any]] = []
        self._involved: set[str] = set()

    def __call__(self, details: Details) -> None:
        """Take an event; never raise, for the runtime would go on without an observer that does."""
        event = details.event
        match event:
            case ev.CallProposed():
                self.proposed += details.tool not in (IDLE_TOOL, UNREADABLE_TOOL)
                self._note_unknown(details, event)
            case ev.CallRejected():
                self.refusals.append(Refusal(call=details.label, reason=event.reason))
                self._note(details, event.guard, "reject")
            case ev.CallDeferred():
                for guard in (event.guard, *event.also):
                    self._note(details, guard, "defer")
            case ev.CallHeld():
                self._note(details, event.guard, "hold")
            case ev.CallObjected():
                self._note(details, event.guard, event.objection.value, enforced=False)
            case ev.CallDiagnosed():
                self._diagnoses.append(_diagnosis(details, event))
            case ev.CallRecovered():
                self._recoveries.append(_recovery(details, event))
            case ev.CompletionJudged() if event.verdict is not ev.CompletionVerdict.END:
                self._note(details, "completion", event.verdict.value, enforced=event.enforced)
                self.reminders += [event.reason] * (event.verdict is ev.CompletionVerdict.NUDGE)
            case _:
                self._involve(event)

    def _involve(self, event: ev.Event) -> None:
        """Note the switches that acted without a verdict."""
        match event:
            case ev.CallAdmitted() if event.arguments is not None:
                self._involved |= {"references", "dependency", "arguments", "capacity"}
            case ev.CallRetired() if event.size > self._config.limits.max_output_bytes // _LONG:
                self._involved.add("capacity")
            case ev.CallDiagnosed() | ev.CallRecovered() | ev.CallFound() | ev.CircuitMoved():
                self._involve_recovery()
            case ev.CallRetired() if event.error is not None or event.mark:
                self._involve_recovery()
            case _:
                pass

    def _involve_recovery(self) -> None:
        """Note all recovery switches: if a tool fails, each action might have been taken in place of another."""
        self._involved.update(RECOVERY_NAMES)

    def _note_unknown(self, details: Details, event: ev.CallProposed) -> None:
        # In shadow mode the player passes unknown tools on under a name of its own, which no guard can object to.
        if self._config.shadow and self._config.arguments and event.call.tool == UNKNOWN_TOOL:
            self._note(details, "arguments", "reject", enforced=False)

    def _note(self, details: Details, guard: str, verdict: str, *, enforced: bool = True) -> None:
        if details.tool in (IDLE_TOOL, UNREADABLE_TOOL):
            if enforced:  # a shadow verdict on something else than a call has no consequences
                self._involved.update(_SWITCH_OF.get(guard, (guard,)))
            return
        key = details.record.key if details.record is not None else ""
        found = Intervention(
            tick=int(details.event.at),
            guard=_SWITCH_OF[guard][0] if _SWITCH_OF.get(guard) else guard,
            verdict=verdict,
            task=details.task,
            call=details.label,
            enforced=enforced,
        )
        self._noted.append((key, found))
        if enforced:
            self._involved.update(_SWITCH_OF.get(guard, (guard,)))

    def interventions(self) -> list[dict[str, Any]]:
        """Return all verdicts in order, as plain JSON."""
        return [{**found.to_json(), **self._numbered(key)} for key, found in self._noted]

    def faults(self) -> dict[str, list[dict[str, Any]]]:
        """Return the diagnoses of tools and the recoveries, in order, as plain JSON; empty lists are left out."""
        told = {"diagnoses": self._diagnoses, "recoveries": self._recoveries}
        return {name: found for name, found in told.items() if found}

    def involved(self) -> list[str]:
        """Return the guards and features without which the episode might have been another.

        Features that change what the agent is told by merely being on are not among them.
        """
        return sorted(self._involved)

    def _numbered(self, key: str) -> Mapping[str, int]:
        number = self._number_of(key) if key else None
        return {} if number is None else {"number": number}


def _diagnosis(details: Details, event: ev.CallDiagnosed) -> dict[str, Any]:
    return {
        "tick": int(event.at),
        "task": details.task,
        "call": details.label,
        "tool": event.tool,
        "hazard": event.hazard.value,
        "rule": event.rule,
        "symptom": list(event.symptom),
    }


def _recovery(details: Details, event: ev.CallRecovered) -> dict[str, Any]:
    return {
        "tick": int(event.at),
        "task": details.task,
        "call": details.label,
        "action": event.action.value,
        "aim": event.aim.value,
        "tool": event.tool,
        "reason": event.reason,
    }
