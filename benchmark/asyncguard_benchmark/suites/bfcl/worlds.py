"""Workers that hold instances of the foreign classes. This process imports nothing of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncguard_benchmark.harness.sandbox import Load, Sandbox, SandboxLimits
from asyncguard_benchmark.suites.bfcl.calls import TruthCall
from asyncguard_benchmark.suites.bfcl.package import BrokenPackageError
from asyncguard_benchmark.suites.bfcl.reading import Entry
from asyncguard_benchmark.suites.bfcl.terms import CLASSES, STATELESS

_PROGRAM = Path(__file__).with_name("instances.py")
_NAMES = ("start", "call", "replay", "judge")
LIMITS = SandboxLimits(cpu_seconds=600, answer_bytes=2**22)
"""Bounds of a worker: one call takes milliseconds, a worker may serve a whole run of the replay."""


def worker(code: Path, limits: SandboxLimits = LIMITS, **environment: str) -> Sandbox:
    """Return a worker, not started yet, that can make instances.

    Args:
        code: Folder with the executor modules, of `Package.unpacked`.
        limits: Its bounds.
        environment: Variables of it; the time zone is UTC unless told.
    """
    variables = {"TZ": "UTC", "PYTHONPATH": str(code), **environment}
    return Sandbox(Load(module=_PROGRAM, names=_NAMES, environment=variables), limits)


def world_of(entry: Entry, class_name: str, setup: Sequence[TruthCall] = ()) -> dict[str, Any]:
    """Return class, scenario and set-up of an instance as JSON; a class without a scenario takes its defaults."""
    return {
        "class": class_name,
        "module": CLASSES[class_name].module,
        "scenario": None if class_name in STATELESS else entry.scenarios.get(class_name, {}),
        "setup": pairs(setup),
    }


def pairs(calls: Sequence[Any]) -> list[list[Any]]:
    """Return calls (anything with a tool and arguments) as the worker takes them."""
    return [[call.tool, dict(call.arguments)] for call in calls]


def answered(sandbox: Sandbox, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer of a function of `instances`.

    Raises:
        SandboxError: the worker ended, or was ended for its time or memory.
        BrokenPackageError: a class of the package cannot be imported.
    """
    try:
        found: Mapping[str, Any] = sandbox.call(name, arguments)
    except ImportError as problem:
        raise BrokenPackageError(
            f"a class of the package cannot be imported: {problem}; MathAPI needs mpmath: `pip install mpmath`"
        ) from problem
    return found


def replayed(sandbox: Sandbox, entry: Entry) -> Mapping[str, Any]:
    """Run the ground truth of an entry; see `instances.replay`."""
    worlds = {name: world_of(entry, name) for name in entry.involved}
    calls = [[call.class_name, call.tool, dict(call.arguments)] for call in entry.calls]
    return answered(sandbox, "replay", {"worlds": worlds, "calls": calls})
