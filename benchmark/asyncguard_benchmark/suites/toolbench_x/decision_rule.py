"""Decision rule of ToolBench-X for failpoints: without state that an arm could change.

``u = int.from_bytes(sha256("v1|seed|task_key|tool|failpoint|slot")[:8]) / 2**64``; the failpoint
fires if and only if ``u < probability`` and ``attempt < max_times``. A *slot* is the ordinal of the
distinct request (tool and canonical JSON of its arguments) in the task, an *attempt* counts the
repeats of that request; both start at 0. A rewritten request therefore meets a fault of its own, or
none: that is how the rule is, and why the suite of this benchmark has another one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from asyncguard_benchmark.harness.faults import Failpoint, draw
from asyncguard_benchmark.suites.toolbench_x.drift import bend
from asyncguard_benchmark.suites.toolbench_x.hazards import Control
from asyncguard_benchmark.suites.toolbench_x.terms import EXCEPTIONS

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
"""Message of each exception: it says what went wrong, and does not show that it was injected."""


def fires(control: Control, *, seed: int, task: str, tool: str, slot: int, attempt: int) -> bool:
    """Return True if a failpoint fires."""
    if attempt >= control.max_times:
        return False
    return draw(seed, task, tool, control.failpoint.value, slot) < control.probability


def canonical_json(arguments: Mapping[str, Any]) -> str:
    """Return arguments as one text, whatever the order in which they were given."""
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
class Visit:
    """One call on its way past the seven failpoints."""

    injector: "Injector"
    tool: str
    arguments: Mapping[str, Any]
    slot: int
    attempt: int
    fired: list[Fired] = field(default_factory=list)
    """Faults that struck this call."""

    def through(self, run: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Take the call to the tool and its answer back.

        Args:
            run: Calls the tool itself.

        Raises:
            Exception: what a failpoint raises, or the tool.
        """
        return self._passed(_AFTER, run(self._passed(_BEFORE, dict(self.arguments))))

    def _passed(self, places: Sequence[Failpoint], value: Any) -> Any:
        seed, task = self.injector.seed, self.injector.task
        for control in self.injector.ordered(places, self.tool):
            if not fires(
                control, seed=seed, task=task, tool=self.tool, slot=self.slot, attempt=self.attempt
            ):
                continue
            firing = Fired(
                tool=self.tool,
                failpoint=control.failpoint.value,
                slot=self.slot,
                attempt=self.attempt,
                exception=control.exception,
                drift=control.drift,
            )
            self.fired.append(firing)
            self.injector.fired.append(firing)
            if control.drift is None:
                name = control.exception or "RuntimeError"
                raise EXCEPTIONS[name](_SAID[name])
            value = bend(control.drift, value)
        return value


@dataclass(kw_only=True)
class Injector:
    """The faults of one task in one episode; calls may come from several threads."""

    seed: int
    task: str
    """Key of the task."""
    controls: Sequence[Control]
    fired: list[Fired] = field(default_factory=list)
    """All that struck, in order."""
    _slots: dict[tuple[str, str], int] = field(default_factory=dict)
    _attempts: dict[int, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def visit(self, tool: str, arguments: Mapping[str, Any]) -> Visit:
        """Note the arrival of a call; slot and attempt are counted by tool and arguments, as the caller gave them."""
        with self._lock:
            slot = self._slots.setdefault((tool, canonical_json(arguments)), len(self._slots))
            attempt = self._attempts.get(slot, 0)
            self._attempts[slot] = attempt + 1
        return Visit(injector=self, tool=tool, arguments=arguments, slot=slot, attempt=attempt)

    def ordered(self, places: Sequence[Failpoint], tool: str) -> list[Control]:
        """Return the controls of a tool at some places, in the order in which a call comes to them."""
        mine = [
            each for each in self.controls if each.tool in (None, tool) and each.failpoint in places
        ]
        return sorted(mine, key=lambda control: places.index(control.failpoint))
