"""Dialogues of a package as something to be played: tools that run in a worker of their own, and its verdict."""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from typing_extensions import override

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.fault_pipeline import Outcome
from asyncguard_benchmark.harness.sandbox import Sandbox, SandboxError
from asyncguard_benchmark.suites.bfcl.calls import TruthCall
from asyncguard_benchmark.suites.bfcl.judgement import judge
from asyncguard_benchmark.suites.bfcl.package import BrokenPackageError, read_package
from asyncguard_benchmark.suites.bfcl.reading import Entry, read_source
from asyncguard_benchmark.suites.bfcl.shown import ERROR
from asyncguard_benchmark.suites.bfcl.worlds import pairs, replayed, worker, world_of
from asyncguard_benchmark.suites.bfcl_missions.dialogues import (
    Turn,
    clarified_turns,
    dialogue_of,
    turns_of,
)
from asyncguard_benchmark.suites.bfcl_missions.variants import Variant, variant_of
from asyncguard_benchmark.suites.missions.playing.foreign_shelf import ForeignShelf


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The entries of variants of a package; small, as each run names it and goes to other processes."""

    path: Path
    code: str
    """Digest of the executors, so that no process runs others."""
    variants: tuple[Variant, ...]
    any_version: bool = False

    def stands(self) -> Mapping[str, "BfclShelf"]:
        """Return the dialogues by their ids.

        Raises:
            BrokenPackageError: the package is not the one that the runs were asked for with.
        """
        return _read(self).shelves

    def problems(self) -> Sequence[DataError]:
        """Return what cannot be read."""
        return _read(self).problems

    def left_out(self) -> Sequence[DataError]:
        """Return the entries that can be read and cannot be played in their variant, with the reason."""
        return _read(self).left_out

    def __str__(self) -> str:
        """Return the path, for messages."""
        return str(self.path)


@dataclass(frozen=True, kw_only=True)
class _Reading:
    shelves: Mapping[str, "BfclShelf"]
    problems: Sequence[DataError]
    left_out: Sequence[DataError]


@lru_cache(maxsize=2)
def _read(entries: Entries) -> _Reading:
    package = read_package(entries.path, any_version=entries.any_version)
    if package.code_digest != entries.code:
        raise BrokenPackageError(
            f"{entries.path} has changed since this command began; run the command again"
        )
    shelves: dict[str, BfclShelf] = {}
    problems: list[DataError] = []
    left_out: list[DataError] = []
    code = package.unpacked()
    with worker(code) as sandbox:
        for variant in entries.variants:
            source = read_source(variant_of(package, variant))
            problems += source.problems
            for entry in source.entries:
                try:
                    turns = turns_of(entry) if variant is Variant.BASE else clarified_turns(entry)
                except DataError as problem:
                    left_out.append(problem)
                    continue
                # In the order of the truth, which an entry without its empty turn keeps.
                results = replayed(sandbox, entry)["results"]
                failed = next((text for text in results if text.startswith(ERROR)), None)
                if failed is not None:
                    left_out.append(DataError(entry.id, f"its ground truth fails: {failed[:100]}"))
                    continue
                dialogue = dialogue_of(entry, turns, results, source.documents)
                owners = {tool: name for name in entry.involved for tool in source.documents[name]}
                shelves[entry.id] = BfclShelf(
                    dialogue=dialogue,
                    entry=entry,
                    variant=variant,
                    turns=tuple(turns),
                    owners=owners,
                    code=code,
                )
    return _Reading(shelves=shelves, problems=tuple(problems), left_out=tuple(left_out))


@dataclass(frozen=True, kw_only=True, eq=False)
class BfclShelf(ForeignShelf):
    """An entry as a dialogue."""

    entry: Entry
    variant: Variant
    turns: tuple[Turn, ...]
    owners: Mapping[str, str]
    """Tool -> class."""
    code: Path
    """Folder of the executors."""

    @override
    def world(self, mission: int) -> "BfclTools":
        """Return the instances of the classes as the truth of the earlier missions leaves them."""
        before = [call for turn in self.turns[:mission] for call in turn.calls]
        worlds = {
            name: world_of(self.entry, name, [call for call in before if call.class_name == name])
            for name in self.entry.involved
        }
        truth = self.turns[mission].calls
        return BfclTools(worlds=worlds, owners=self.owners, truth=truth, code=self.code)


class BfclTools:
    """Instances in a worker that no other run shares; it starts with the first call."""

    def __init__(
        self,
        *,
        worlds: Mapping[str, Mapping[str, Any]],
        owners: Mapping[str, str],
        truth: Sequence[TruthCall],
        code: Path,
    ) -> None:
        """Remember what to run.

        Args:
            worlds: Class -> what its instance is made of.
            owners: Tool -> class.
            truth: Calls of the mission's truth.
            code: Folder of the executors.
        """
        self._worlds, self._owners, self._truth = worlds, owners, truth
        self._code = code
        self._sandbox: Sandbox | None = None
        self._begun: set[str] = set()

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call; never raise for what an agent wrote, nor for a worker that ended, which `finish` tells of."""
        name = self._owners.get(tool)
        if name is None:
            return Outcome(text=f"{ERROR}name {tool!r} is not defined")
        try:
            sandbox = self._running()
            if name not in self._begun:
                sandbox.call("start", {"key": name, "world": self._worlds[name]})
                self._begun.add(name)
            asked = {"key": name, "tool": tool, "arguments": dict(arguments)}
            return Outcome(text=str(sandbox.call("call", asked)))
        except SandboxError as problem:
            return Outcome(text=f"{ERROR}{problem}")

    def state(self) -> None:
        """Return None: states are compared in the worker, as objects."""

    def finish(self, calls: Sequence[CallRecord]) -> Mapping[str, Any]:
        """Return the verdict of upstream's rules on the calls of a run, and end the worker.

        Raises:
            SandboxError: the worker ended before, or was ended for its time or memory.
        """
        try:
            sandbox = self._running()
            if sandbox.ended is not None:
                raise SandboxError(sandbox.ended)
            return {"upstream": self._verdict(sandbox, calls)}
        finally:
            if self._sandbox is not None:
                self._sandbox.close()

    def _verdict(self, sandbox: Sandbox, calls: Sequence[CallRecord]) -> dict[str, bool]:
        """Return the verdict, class by class: no tool is of two classes, so none mixes their results."""
        touched = {call.class_name for call in self._truth}
        found = [
            judge(
                sandbox,
                world,
                pairs([call for call in self._truth if call.class_name == name]),
                pairs([call for call in calls if self._owners.get(call.tool) == name]),
            )
            for name, world in self._worlds.items()
        ]
        return {
            "called": bool(calls) or not touched,
            "response": all(each.response for each in found),
            "state": not any(each.differing for each in found),
            "state_strict": not any(each.differing or each.private for each in found),
        }

    def _running(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = worker(self._code)
            # A run that is played only to be imitated is dropped without an end.
            weakref.finalize(self, self._sandbox.close)
            self._sandbox.__enter__()
        return self._sandbox
