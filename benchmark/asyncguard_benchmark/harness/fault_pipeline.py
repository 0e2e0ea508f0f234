"""The way of a call through the seven failpoints of one sub-task's tools.

The arguments arrive, are held against the live contract, and become what the tool's code takes; the tool runs; its
result is put into form, written as text and kept. At each failpoint the faults of the tool that strike there act, in
the order in which the composition names them. What a fault does follows from the fault, the tool and how many calls of
the tool came to the failpoint before: from nothing that an agent can write, so that no rewritten request escapes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.fault_modes import HTTPStatusError, Mode, Response, Spot
from asyncguard_benchmark.harness.faults import (
    Failpoint,
    Fault,
    Firing,
    Hazard,
    Profile,
    taken,
)
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.common_tools import DESCRIBE, describe_tool
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import State, Tool
from asyncguard_benchmark.services.service import Executor, error, refusal, serialise


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of one call."""

    text: str
    """Answer as an agent without a runtime is shown it."""
    raised: Exception | None = None
    """Exception of the tool, or None; `text` says the same in words."""
    note: str = ""
    """A hint that comes with the answer."""
    firings: tuple[Firing, ...] = ()
    """The faults that struck."""


@dataclass(frozen=True, kw_only=True)
class Injection:
    """A fault with its mode, put in its place."""

    fault: Fault
    mode: Mode
    spot: Spot


class _Broken(Exception):
    """Exception that carries what a breakdown raises past the code in between."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(str(raised))
        self.raised = raised


class Pipeline:
    """The tools of one sub-task, with the faults that were put on them."""

    def __init__(
        self, task: SubTask, faults: Sequence[Fault] = (), own: Mapping[str, Tool] | None = None
    ) -> None:
        """Set the faults.

        Args:
            task: The sub-task.
            faults: Those of the composition; the ones that are put on other sub-tasks are left out.
            own: The tools of a foreign task, which can be called.

        Raises:
            ValueError: a fault cannot be put where it is put.
        """
        self._task = task
        self._injections = tuple(
            injection(task, fault) for fault in faults if fault.task == task.id
        )
        self._drifted = _drifted(self._injections)
        tools = dict(tools_of(task) if own is None else own)
        self._live = {name: declared(tool) for name, tool in tools.items()}
        self._live |= {name: each.mode.live(each.spot) for name, each in self._drifted.items()}
        self._validators = {
            name: Draft202012Validator(self._live[name].parameters) for name in self._drifted
        }
        if self._drifted and DESCRIBE in tools:
            told = {name: contract for name, contract in self._live.items() if name != DESCRIBE}
            tools[DESCRIBE] = describe_tool(told)
        self._executor = Executor(tools, task.initial_state)
        self._arrivals: Counter[Fault] = Counter()
        self._strikes: Counter[Fault] = Counter()
        # Most tools answer a failed call by a text; those of a suite whose tasks are closed raise, as in life.
        self._raises = registry().suite_of(task.category).closing

    def contract(self, tool: str) -> Contract:
        """Return the live contract of a tool on the API list."""
        return self._live[tool]

    def public_state(self) -> State:
        """Return a copy of the state, for comparison."""
        return self._executor.public_state()

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call; never raise for what an agent wrote, nor for a fault.

        Args:
            number: Its number in the trajectory, for the firings.
            tool: Name of the tool.
            arguments: As issued.
        """
        if not self._raises and not self._injections:
            return Outcome(text=self._executor.call(tool, arguments))
        passage = _Passage(number)
        raised: Exception | None = None
        try:
            text = self._through(passage, tool, arguments)
        except _Broken as broken:
            raised = broken.raised
            text = error(f"{type(raised).__name__}: {raised}")
        except ToolFailure as failure:
            raised = failure if self._raises else None
            text = error(str(failure))
        note = f"Hint: {' '.join(passage.hints)}" if passage.hints else ""
        return Outcome(text=text, raised=raised, note=note, firings=tuple(passage.firings))

    def _through(self, passage: "_Passage", tool: str, arguments: Mapping[str, Any]) -> str:
        self._executor.tool(tool)
        arrived = arguments
        for each in self._reach(Failpoint.BEFORE_TOOL_LOGIC, passage, tool):
            mangled = each.mode.transit(arrived, each.spot)
            if serialise(mangled) != serialise(arrived):
                self._strike(passage, each)
            arrived = mangled
        accepted = self._accepted(passage, tool, arrived)
        self._reach(Failpoint.BEFORE_EXTERNAL_CALL, passage, tool)
        result = self._executor.invoke(tool, accepted)
        for failpoint in _ANSWERING:
            for each in self._reach(failpoint, passage, tool):
                answer = each.mode.answer(result, each.spot)
                if serialise(answer) != serialise(result):
                    self._strike(passage, each)
                result = answer
        text = serialise(result)
        for each in self._reach(Failpoint.BEFORE_RETURN, passage, tool):
            written = each.mode.write(text, each.spot)
            if written != text:
                self._strike(passage, each)
            text = written
        self._reach(Failpoint.BEFORE_CHECKPOINT_WRITE, passage, tool)
        return text

    def _accepted(
        self, passage: "_Passage", tool: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return arguments as the tool's code takes them, if the live contract allows them."""
        drift, found = self._drifted.get(tool), self._executor.tool(tool)
        if drift is None:
            problem = found.problem(arguments)
        else:
            problem = next(iter(self._validators[tool].iter_errors(dict(arguments))), None)
        if problem is None:
            return arguments if drift is None else drift.mode.accept(arguments, drift.spot)
        if drift is not None and found.problem(arguments) is None:
            self._strike(passage, drift)
        if not self._raises:
            return arguments  # the executor refuses them in its own words
        reason = f"Client error '422 Unprocessable Entity': {refusal(tool, problem)}"
        raise _Broken(HTTPStatusError(reason, Response(status_code=422)))

    def _reach(self, failpoint: Failpoint, passage: "_Passage", tool: str) -> list[Injection]:
        """Return the faults that act on a call at a failpoint, in their order; one that breaks it down does so here."""
        acting = []
        for each in self._injections:
            if each.fault.tool != tool or each.fault.failpoint is not failpoint:
                continue
            slot = self._arrivals[each.fault] if each.fault.hazard.passes else 0
            self._arrivals[each.fault] += 1
            if not taken(each.fault, slot):
                continue
            raised = each.mode.breakdown(each.spot, failpoint)
            if raised is not None:
                self._strike(passage, each)
                raise _Broken(raised)
            acting.append(each)
        return acting

    def _strike(self, passage: "_Passage", struck: Injection) -> None:
        fault = struck.fault
        self._strikes[fault] += 1
        passage.firings.append(
            Firing(
                call=passage.number,
                task=fault.task,
                tool=fault.tool,
                failpoint=fault.failpoint,
                mode=fault.mode,
                attempt=self._strikes[fault],
                retryable=fault.hazard.passes,
            )
        )
        if self._strikes[fault] == 1 and fault.profile is Profile.GUIDED:
            passage.hints.append(struck.mode.hint(struck.spot))


class _Passage:
    """Notes on one call on its way through the pipeline."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.firings: list[Firing] = []
        self.hints: list[str] = []


_ANSWERING = (
    Failpoint.AFTER_EXTERNAL_CALL_BEFORE_PARSE,
    Failpoint.BEFORE_WRAPPER_TRANSFORM,
    Failpoint.AFTER_WRAPPER_TRANSFORM,
)


def injection(task: SubTask, fault: Fault) -> Injection:
    """Return a fault in its place.

    Raises:
        ValueError: no mode has its name, or the mode cannot be put there.
    """
    mode = registry().fault_modes.get(fault.mode)
    if mode is None:
        raise ValueError(
            f"there is no drift mode {fault.mode!r}; there are {', '.join(registry().fault_modes)}"
        )
    if not registry().suite_of(task.category).closing and fault.hazard is not Hazard.EXECUTION:
        raise ValueError(
            f"{fault.tool} of category {task.category} has no contract: put an execution fault on it"
        )
    tool = tools_of(task)[fault.tool]
    if (fault.hazard, fault.failpoint in mode.failpoints) != (mode.hazard, True):
        where = ", ".join(mode.failpoints)
        raise ValueError(
            f"{fault.mode} is a fault of hazard {mode.hazard} at {where}, not {fault.hazard} elsewhere"
        )
    if fault.site not in mode.sites(tool):
        raise ValueError(
            f"{fault.mode} fits {fault.tool} at {list(mode.sites(tool))}, not at {fault.site!r}"
        )
    return Injection(
        fault=fault,
        mode=mode,
        spot=Spot(tool=tool, site=fault.site, severity=fault.severity, seed=fault.seed),
    )


def _drifted(injections: Sequence[Injection]) -> dict[str, Injection]:
    """Return the tools whose contract has changed."""
    drifts = [
        each
        for each in injections
        if each.fault.hazard is Hazard.SPECIFICATION and taken(each.fault, 0)
    ]
    found = {each.fault.tool: each for each in drifts}
    if len(found) != len(drifts):
        raise ValueError("two changes of contract on one tool of one task: put them on two tools")
    return found
