"""The world in which episodes of BFCL tasks are played: one worker an episode, an instance for each task and run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.harness.scenario import Composition, SubTask
from asyncguard_benchmark.services.declarations import State, Tool
from asyncguard_benchmark.suites.bfcl.judgement import Judgement, judge
from asyncguard_benchmark.suites.bfcl.package import Package
from asyncguard_benchmark.suites.bfcl.shown import shown
from asyncguard_benchmark.suites.bfcl.toolsets import Run, callable_tools
from asyncguard_benchmark.suites.bfcl.worlds import pairs, worker

_CODE = "ASYNCGUARD_BFCL_CODE"
"""Variable that tells the processes of a run where the code lies that they may run; set by `allow` alone."""


class ForeignCodeNotAllowedError(BenchmarkError):
    """An episode needs foreign code that the user has not allowed to run."""


def allow(package: Package) -> Path:
    """Allow this process and those it starts to run the executors of a package; return where they lie."""
    code = package.unpacked()
    os.environ[_CODE] = f"{package.code_digest}:{code}"
    return code


def open_world(composition: Composition) -> "BfclWorld":
    """Return the world of a composition; its worker starts with the first call.

    Raises:
        ForeignCodeNotAllowedError: the code that its tasks were made with may not run here.
    """
    digest, _, code = os.environ.get(_CODE, "").partition(":")
    needed = {str(task.initial_state["code"]) for task in composition.sub_tasks}
    if needed != {digest}:
        raise ForeignCodeNotAllowedError(
            f"{composition.id} needs the executors {', '.join(sorted(each[:16] for each in needed))} of bfcl-eval: "
            "play it by `asyncguard bench adapt bfcl PATH --run-foreign-code` with the package that it was made with"
        )
    return BfclWorld(composition, Path(code))


class BfclWorld:
    """The instances of one episode, in one worker that no other episode shares."""

    def __init__(self, composition: Composition, code: Path) -> None:
        """Remember what to run; nothing starts yet."""
        self._composition = composition
        self._sandbox = worker(code)
        self._started = self._closed = False
        self._gone: str | None = None
        self._runs = 0

    @property
    def ended(self) -> str | None:
        """Reason why the worker is gone; None while it runs or before it starts."""
        return self._gone if self._closed else self._sandbox.ended

    def tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """Return tools over new instances, by task and name."""
        self._runs += 1
        return {
            task.id: callable_tools(task, _Instance(self, task, f"{self._runs} {task.id}").run_of)
            for task in self._composition.sub_tasks
        }

    def judged(self, task: SubTask, calls: Any) -> Judgement:
        """Run ground truth and calls of a task on instances of their own, and compare."""
        return judge(self.running(), world_of_task(task), pairs(task.gold), pairs(calls))

    def running(self) -> Sandbox:
        """Return the worker, started if it was not.

        Raises:
            SandboxError: it could not be started.
        """
        if not self._started:
            self._started = True
            self._sandbox.__enter__()
        return self._sandbox

    def close(self) -> None:
        """End the worker."""
        self._gone, self._closed = self.ended, True
        if self._started:
            self._sandbox.close()


class _Instance:
    """The instance of one task in one run; made at its first call."""

    def __init__(self, world: BfclWorld, task: SubTask, key: str) -> None:
        self._world, self._task, self._key = world, task, key
        self._made = False

    def run_of(self, tool: str) -> Run:
        def run(state: State, **arguments: Any) -> Any:
            sandbox = self._world.running()
            if not self._made:
                sandbox.call("start", {"key": self._key, "world": world_of_task(self._task)})
                self._made = True
            asked = {"key": self._key, "tool": tool, "arguments": arguments}
            return shown(sandbox.call("call", asked))

        return run


def world_of_task(task: SubTask) -> dict[str, Any]:
    """Return what an instance of a task is made of."""
    return {name: task.initial_state[name] for name in ("class", "module", "scenario", "setup")}


def notes_of(world: BfclWorld, episode: Episode) -> Mapping[str, Any]:
    """Return the judgement on each task of an episode, for its settings: scorers run no foreign code.

    Raises:
        SandboxError: the worker ended, or was ended for its time or memory.
    """
    found = {}
    for task in episode.composition.sub_tasks:
        judged = world.judged(task, episode.calls_of(task.id))
        found[task.id] = {
            "response": judged.response,
            "state": judged.state,
            "state_strict": judged.state_strict,
            "differing": list(judged.differing),
            "generator": judged.generator,
            "changes_state": bool(judged.changed),
        }
    return found
