"""Tools of the tasks of NESTFUL: described by the task, and run in a worker while their world is open.

A task says of each tool the digest of the file that holds its function, and where a user has these files only the
environment of this process says: `allowing` puts it there, which is the permission to run them. Other processes that
play episodes inherit it. So a file of episodes alone can be scored and reported, and never runs anything.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused, ToolFailure
from asyncguard_benchmark.harness.sandbox import Load, Sandbox, SandboxError, SandboxLimits
from asyncguard_benchmark.harness.scenario import Composition, SubTask
from asyncguard_benchmark.services.declarations import Effect, ForeignTool, Tool
from asyncguard_benchmark.suites.nestful.functions import Function, Library, read_library
from asyncguard_benchmark.suites.nestful.terms import TOOLS

_ALLOWED = "ASYNCGUARD_NESTFUL_FUNCTIONS"
"""Variable of the environment that holds the folder of functions that may run, and the bounds of a worker."""


class OtherFunctionsError(BenchmarkError):
    """The folder of functions holds others than those that the tasks were made with."""


@contextmanager
def allowing(functions: Path, limits: SandboxLimits) -> Iterator[None]:
    """Allow the functions of a folder to run, in this process and those that it starts.

    Args:
        functions: The folder.
        limits: Bounds of one worker.
    """
    before = os.environ.get(_ALLOWED)
    told = {
        "folder": str(functions.absolute()),
        "seconds": limits.seconds,
        "memory_mb": limits.memory_mb,
    }
    os.environ[_ALLOWED] = json.dumps(told)
    try:
        yield
    finally:
        del os.environ[_ALLOWED]
        if before is not None:
            os.environ[_ALLOWED] = before


@dataclass(frozen=True, kw_only=True)
class _Key:
    """A task as the key of a cache; it cannot be hashed, and is kept so that its identity stays its own."""

    identity: int
    task: SubTask = field(compare=False)


def task_tools(task: SubTask) -> Mapping[str, Tool]:
    """Return the tools of a task, which describe themselves and cannot be called."""
    return _described(_Key(identity=id(task), task=task))


@lru_cache(maxsize=1024)
def _described(key: _Key) -> Mapping[str, Tool]:
    return {
        name: _tool(name, told, _closed) for name, told in key.task.initial_state[TOOLS].items()
    }


def _tool(name: str, told: Mapping[str, Any], run: Callable[..., Any]) -> Tool:
    return ForeignTool(
        name=name,
        description=told["description"],
        effect=Effect.PURE,
        run=run,
        schema=told["parameters"],
    )


def _closed(_: Any, /, **__: Any) -> Any:
    raise ForeignCodeRefused(
        "tools of NESTFUL are Python code from outside and run only while `bench adapt nestful` plays them"
    )


def open_world(composition: Composition) -> "FunctionWorld":
    """Return the world of a composition, if the environment allows it.

    Raises:
        ForeignCodeRefused: it does not.
        OtherFunctionsError: a function has changed since the tasks were made.
    """
    allowed = os.environ.get(_ALLOWED)
    if allowed is None:
        raise ForeignCodeRefused(
            f"{composition.id} holds tasks of NESTFUL, whose tools are Python code from outside: play them by "
            "`bench adapt nestful DATA.jsonl --functions DIR --run-foreign-code --compose ...`"
        )
    told = json.loads(allowed)
    limits = SandboxLimits(seconds=told["seconds"], memory_mb=told["memory_mb"])
    return FunctionWorld(composition, _library(told["folder"]), limits)


@lru_cache(maxsize=4)
def _library(folder: str) -> Library:
    return read_library(Path(folder))


class FunctionWorld:
    """Functions of a composition; each environment of its episode has a worker of its own."""

    def __init__(self, composition: Composition, library: Library, limits: SandboxLimits) -> None:
        """Find the functions; nothing runs yet.

        Raises:
            OtherFunctionsError: a function has changed since the tasks were made.
        """
        self._tasks = {task.id: task.initial_state[TOOLS] for task in composition.sub_tasks}
        self._functions = {
            f"{task}/{name}": _found(name, told["sha256"], library)
            for task, tools in self._tasks.items()
            for name, told in tools.items()
            if told["sha256"] is not None
        }
        self._limits = limits
        self._workers: list[_Worker] = []

    @property
    def ended(self) -> str | None:
        """Reason why a worker is gone, None if none is."""
        return next((each.ended for each in self._workers if each.ended is not None), None)

    def tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """Return tools on a new worker, which starts at the first call."""
        worker = _Worker(self._functions, self._limits)
        self._workers.append(worker)
        return {
            task: {
                name: _tool(name, told, _calling(worker, f"{task}/{name}"))
                for name, told in tools.items()
            }
            for task, tools in self._tasks.items()
        }

    def close(self) -> None:
        """End the workers."""
        for each in self._workers:
            each.close()


def _found(name: str, digest: str, library: Library) -> Function:
    function = library.find(name)
    if function is None or function.digest != digest or function.refused is not None:
        raise OtherFunctionsError(
            f"{library.folder} does not hold the function {name} that the tasks were made with (its file: SHA-256 "
            f"{digest[:16]}...): name the folder of that time with --functions, or play into another --out"
        )
    return function


def _calling(worker: "_Worker", key: str) -> Callable[..., Any]:
    def run(_: Any, /, **arguments: Any) -> Any:
        return worker.call(key, arguments)

    return run


class _Worker:
    """A sandbox that starts when it is needed; an exception of a function is a result, as is a tool without one."""

    def __init__(self, functions: Mapping[str, Function], limits: SandboxLimits) -> None:
        self.ended: str | None = None
        self._functions, self._limits = functions, limits
        self._sandbox: Sandbox | None = None
        self._lock = Lock()

    def call(self, key: str, arguments: Mapping[str, Any]) -> Any:
        if key not in self._functions:
            raise ToolFailure("not available")
        positional, named = self._functions[key].bound(arguments)
        try:
            return self._started().call(key, named, positional)
        except SandboxError as problem:
            self.ended = self.ended or str(problem)
            raise ToolFailure("not available") from problem
        except Exception as problem:
            raise ToolFailure(f"{type(problem).__name__}: {problem}") from problem

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def _started(self) -> Sandbox:
        with self._lock:
            if self._sandbox is None:
                load = Load(functions={key: each.path for key, each in self._functions.items()})
                self._sandbox = Sandbox(load, self._limits).__enter__()
            return self._sandbox
