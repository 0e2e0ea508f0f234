"""When a failpoint fires, by the decision rule of ToolBench-X: without state that an arm could change.

``u = int.from_bytes(sha256("v1|seed|task_key|tool|failpoint|slot")[:8]) / 2**64``; the failpoint fires if and only if
``u < probability`` and ``attempt < max_times``. A *slot* is the ordinal of the distinct request (tool and canonical
JSON of its arguments) in the task, an *attempt* counts the repeats of that request; both start at 0. A request that is
written anew therefore meets a fault of its own, or none: that is how the rule is, and why the suite of this benchmark
has another one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from asyncguard_benchmark.adapters.toolbench_drift import bend
from asyncguard_benchmark.adapters.toolbench_hazards import Control
from asyncguard_benchmark.adapters.toolbench_terms import EXCEPTIONS
from asyncguard_benchmark.hazards.faults import Failpoint, draw

_BEFORE = (Failpoint.BEFORE_TOOL_LOGIC, Failpoint.BEFORE_EXTERNAL_CALL)
_AFTER = tuple(each for each in Failpoint if each not in _BEFORE)
_SAID: Mapping[str, str] = {
    "TimeoutError": "the request timed out",
    "ConnectionError": "the connection was reset",
    "ValueError": "the value was not accepted",
    "KeyError": "a field is missing",
    "OSError": "the service could not be reached",
    "RuntimeError": "the service failed",
}
"""What an exception says: what went wrong, and not that somebody wanted it to."""


def fires(control: Control, *, seed: int, task: str, tool: str, slot: int, attempt: int) -> bool:
    """Whether a failpoint fires."""
    if attempt >= control.max_times:
        return False
    return draw(seed, task, tool, control.failpoint.value, slot) < control.probability


def canonical_json(arguments: Mapping[str, Any]) -> str:
    """Arguments as one text, whatever the order in which they were given."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Fired:
    """One failpoint that fired."""

    tool: str
    failpoint: str
    slot: int
    attempt: int
    exception: str | None
    drift: str | None


@dataclass(kw_only=True)
class Injector:
    """The faults of one task in one episode; calls may come from several threads."""

    seed: int
    task: str
    """Key of the task."""
    controls: Sequence[Control]
    fired: list[Fired] = field(default_factory=list)
    _slots: dict[tuple[str, str], int] = field(default_factory=dict)
    _attempts: dict[int, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def through(self, tool: str, arguments: Mapping[str, Any], run: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Takes a call past the seven failpoints.

        Args:
            tool: Its name.
            arguments: As the caller gave them; slot and attempt are counted by them.
            run: Calls the tool itself.

        Raises:
            Exception: what a failpoint raises, or the tool.
        """
        slot, attempt = self._arrived(tool, arguments)
        sent = self._passed(_BEFORE, tool, slot, attempt, dict(arguments))
        return self._passed(_AFTER, tool, slot, attempt, run(sent))

    def _arrived(self, tool: str, arguments: Mapping[str, Any]) -> tuple[int, int]:
        with self._lock:
            slot = self._slots.setdefault((tool, canonical_json(arguments)), len(self._slots))
            attempt = self._attempts.get(slot, 0)
            self._attempts[slot] = attempt + 1
        return slot, attempt

    def _passed(self, places: Sequence[Failpoint], tool: str, slot: int, attempt: int, value: Any) -> Any:
        for control in self._ordered(places, tool):
            if not fires(control, seed=self.seed, task=self.task, tool=tool, slot=slot, attempt=attempt):
                continue
            self.fired.append(
                Fired(
                    tool=tool,
                    failpoint=control.failpoint.value,
                    slot=slot,
                    attempt=attempt,
                    exception=control.exception,
                    drift=control.drift,
                )
            )
            if control.drift is None:
                name = control.exception or "RuntimeError"
                raise EXCEPTIONS[name](_SAID[name])
            value = bend(control.drift, value)
        return value

    def _ordered(self, places: Sequence[Failpoint], tool: str) -> list[Control]:
        mine = [each for each in self.controls if each.tool in (None, tool) and each.failpoint in places]
        return sorted(mine, key=lambda control: places.index(control.failpoint))
