"""Files of played missions: JSON lines that both scorers judge without anything else.

A dialogue stands on a line of its own, in the official form with what that form has no place for, before the first row
that plays it; rows name it by its digest. A process that is killed leaves at most the last line unfinished: it is
taken away before a run goes on, and the mission is played again.
"""

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.json_lines import cut_line, read_lines
from asyncguard_benchmark.suites.missions.bundled.bundle import Bundle, BundledDialogue
from asyncguard_benchmark.suites.missions.bundled.export import official_row
from asyncguard_benchmark.suites.missions.entries import Entry, EntryKey
from asyncguard_benchmark.suites.missions.gold_form import graph_of, tools_of
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Tool
from asyncguard_benchmark.suites.missions.row_form import (
    DialogueForm,
    JointName,
    JointRowForm,
    RowForm,
    RunName,
    checked,
)
from asyncguard_benchmark.suites.missions.scorers.joint import Across, JointGold, Place
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import letters_of, relations_of

_DIALOGUE = "dialogue_of_missions"
"""The only key of a line that holds a dialogue."""
_RUN = "run"
"""Key of the name of a row."""
_LOST = "lost_run"
"""The only key of a line about a run that the infrastructure ended; it is played again."""

_BEGINS = (b'{"%s": {' % _DIALOGUE.encode(), b'{"%s": {' % _LOST.encode())
"""How the first line of a file may begin."""


class OtherSettingsError(BenchmarkError):
    """A file was played under other guards or other missions than those of this release."""


class RunKey(NamedTuple):
    """Name of a run in a file."""

    dialogue: str
    mission: int
    """Place in the dialogue, from 0."""
    history: str
    agent: str
    player: str
    arm: str
    regime: str
    observations: str
    seed: int
    play_on: bool


class JointKey(NamedTuple):
    """Name of a run of overlapping missions in a file."""

    dialogue: str
    overlap: int
    agent: str
    player: str
    arm: str
    regime: str
    observations: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class JointRow:
    """A run of all missions of a dialogue together."""

    key: JointKey
    gold: JointGold
    tools: Mapping[str, Tool]
    steps: tuple[Mapping[int, Step], ...]
    """By step the mission -> its calls or its text."""
    value: Mapping[str, Any]
    """The row as it stands in the file."""


@dataclass(frozen=True, kw_only=True)
class LostRun:
    """A run that the infrastructure ended; it is in no figure, and counted."""

    key: RunKey
    error: str


@dataclass(frozen=True, kw_only=True)
class PlayedRow:
    """A run with the mission that it played."""

    key: RunKey
    entry: Entry
    value: Mapping[str, Any]
    """The row as it stands in the file."""


def dialogue_line(bundle: Bundle, written: BundledDialogue) -> dict[str, Any]:
    """Return a dialogue as it stands in a file."""
    row = official_row(bundle, written)
    beside = [
        [
            {"aliases": node.aliases, "uses": sorted(node.uses or ())}
            for node in mission.graph().nodes
        ]
        for mission in written.missions
    ]
    return {**{name: row[name] for name in _FIELDS}, "beside": beside}


_FIELDS = ("id", "messages", "answer_list", "tools", "type", "turn_type", "turn_subtypes")


def joint_line(line: Mapping[str, Any], across: Mapping[Place, Across]) -> dict[str, Any]:
    """Return a dialogue with the edges between its missions, as it stands in a file of overlapping missions."""
    edges = [
        {"mission": place[0], "node": place[1], "needs": each.needs, "uses": each.uses}
        for place, each in sorted(across.items())
    ]
    return {**line, "across": edges}


def digest_of(value: Any) -> str:
    """Return a short name for a JSON value."""
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


class MissionFile:
    """A file that is being added to.

    Raises:
        OtherSettingsError: another process writes to it.
        DataError: a line cannot be read, or the file is of another kind; it stays as it is.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise OtherSettingsError(f"{path} is being written by another process") from problem
        self._file.seek(0)
        whole = self._file.read()
        self._dialogues: set[str] = set()
        self.known: dict[RunKey | JointKey, str] = {}
        """Runs that the file holds, with the digest of their settings."""
        self.dollars = 0.0
        """What the runs of models have cost, as far as it is known."""
        try:
            cut = cut_line(path, whole, _BEGINS)
            self._read(path, whole.count(b"\n") + 1 if cut else None)
        except BaseException:
            self._file.close()
            raise
        self.repaired = bool(cut)
        """True if an unfinished line was taken away."""
        self._file.truncate(len(whole) - len(cut))
        if not cut and whole and not whole.endswith(b"\n"):
            self._file.write(b"\n")

    def _read(self, path: Path, cut: int | None) -> None:
        for where, value in read_lines(path):
            if where == f"{path}:{cut}":
                continue
            if isinstance(value, DataError):
                raise value
            if _DIALOGUE in value:
                self._dialogues.add(digest_of(value[_DIALOGUE]))
            elif _LOST not in value:
                key = _key(value, where)
                if not isinstance(settings := value.get("settings"), str):
                    raise DataError(f"{where}.settings", "expected a digest")
                self.known[key] = settings
                self.dollars += value.get("usage", {}).get("dollars") or 0.0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def add(self, row: Mapping[str, Any], dialogue: Mapping[str, Any]) -> None:
        """Add a run, and its dialogue if the file does not hold it."""
        digest = digest_of(dialogue)
        if digest not in self._dialogues:
            self._dialogues.add(digest)
            self._write({_DIALOGUE: dialogue})
        self._write({**row, "dialogue_digest": digest})

    def add_lost(self, lost: LostRun) -> None:
        """Note a run that the infrastructure ended."""
        self._write({_LOST: {_RUN: lost.key._asdict(), "error": lost.error}})

    def _write(self, value: Any) -> None:
        self._file.write(
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        )
        self._file.flush()


def is_played(path: Path) -> bool:
    """Return True if a file holds played missions and not results in the published shape."""
    with path.open("rb") as file:
        first = file.read(64)
    return any(first.startswith(b'{"' + each.encode() + b'"') for each in (_DIALOGUE, _LOST))


def lost_in(path: Path, problems: list[DataError] | None = None) -> dict[RunKey | JointKey, str]:
    """Return the runs of a file that the infrastructure ended and that were not played since, each with its error.

    Args:
        path: The file.
        problems: Takes what is wrong with lines, which are then left out; without it the first one is raised.

    Raises:
        DataError: a line cannot be read.
        OSError: the file cannot be read.
    """
    lost: dict[RunKey | JointKey, str] = {}
    for where, value in _lines(path, problems):
        with _told(problems):
            if _LOST in value:
                lost[_key(value[_LOST], where)] = str(value[_LOST].get("error"))
            elif _DIALOGUE not in value:
                lost.pop(_key(value, where), None)
    return lost


def read_played(path: Path, problems: list[DataError] | None = None) -> Iterator[PlayedRow]:
    """Yield the runs of missions played alone.

    Args:
        path: The file.
        problems: As in `lost_in`.

    Raises:
        DataError: a line cannot be read, or names a dialogue that no line before it holds.
        OSError: the file cannot be read.
    """
    for key, dialogue, value, where in _runs(path, problems):
        if isinstance(key, RunKey):
            with _told(problems):
                checked(RowForm, value, where)
                yield PlayedRow(key=key, entry=dialogue.entry(key, value), value=value)


def read_joint(path: Path, problems: list[DataError] | None = None) -> Iterator[JointRow]:
    """Yield the runs of missions that overlap.

    Args:
        path: The file.
        problems: As in `lost_in`.

    Raises:
        DataError: a line cannot be read, or names a dialogue that no line before it holds.
        OSError: the file cannot be read.
    """
    for key, dialogue, value, where in _runs(path, problems):
        if isinstance(key, JointKey):
            with _told(problems):
                checked(JointRowForm, value, where)
                yield dialogue.joint_row(key, value, where)


@contextmanager
def _told(problems: list[DataError] | None) -> Iterator[None]:
    """Take what is wrong with a line, if there is a place for it."""
    try:
        yield
    except DataError as problem:
        if problems is None:
            raise
        problems.append(problem)


def _lines(path: Path, problems: list[DataError] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for where, value in read_lines(path):
        with _told(problems):
            if isinstance(value, DataError):
                raise value
            if not isinstance(value, dict):
                raise DataError(where, "expected an object")
            yield where, value


def _runs(
    path: Path, problems: list[DataError] | None
) -> Iterator[tuple[RunKey | JointKey, "_Dialogue", dict[str, Any], str]]:
    dialogues: dict[str, _Dialogue] = {}
    for where, value in _lines(path, problems):
        with _told(problems):
            if _DIALOGUE in value:
                dialogues[digest_of(value[_DIALOGUE])] = _Dialogue(value[_DIALOGUE], where)
            elif _LOST not in value:
                key = _key(value, where)
                digest = value.get("dialogue_digest")
                if not isinstance(digest, str) or digest not in dialogues:
                    raise DataError(
                        f"{where} ({key.dialogue[:60]}).dialogue_digest",
                        f"no line before it holds the dialogue {str(digest)[:60]!r}",
                    )
                yield key, dialogues[digest], value, where


def _key(value: Any, where: str) -> RunKey | JointKey:
    said = value.get(_RUN) if isinstance(value, Mapping) else None
    if isinstance(said, Mapping) and "overlap" in said:
        return JointKey(**dict(checked(JointName, said, f"{where}.{_RUN}")))
    return RunKey(**dict(checked(RunName, said, f"{where}.{_RUN}")))


class _Dialogue:
    """A dialogue of a file."""

    def __init__(self, value: Mapping[str, Any], where: str) -> None:
        checked(DialogueForm, value, where)
        self._where = where
        self._across = value.get("across")
        self.tools = tools_of(value["tools"], f"{where}.tools")
        self._letters = letters_of(value["type"], f"{where}.type")
        self._relations = relations_of(
            value["turn_type"], value["turn_subtypes"], len(self._letters), where
        )
        self._graphs = [
            graph_of(each, self.tools, f"{where}.answer_list[{n}]")
            for n, each in enumerate(value["answer_list"])
        ]
        nodes = [len(graph.nodes) for graph in self._graphs]
        if [len(each) for each in value["beside"]] != nodes:
            raise DataError(f"{where}.beside", "must have an item for each node of answer_list")
        self._graphs = list(map(_with, self._graphs, value["beside"]))
        # Where a mission's message is in its block; in bundled dialogues it is the first.
        self._tasks: Sequence[int] = value.get("task_ids", [0] * len(self._graphs))
        self._texts: list[list[str]] = [[]]
        for message in value["messages"]:
            if isinstance(message, str):
                self._texts.append([])
            else:
                self._texts[-1].append(message["content"])
        counts = {len(self._letters), len(self._graphs), len(self._tasks)}
        if len(counts) > 1 or len(self._texts) < len(self._graphs):
            raise DataError(where, "type, answer_list, task_ids and messages differ in number")
        for number, (at, texts) in enumerate(zip(self._tasks, self._texts, strict=False)):
            if at >= len(texts):
                raise DataError(f"{where}.messages", f"lack the message of mission {number}")

    @cached_property
    def joint(self) -> JointGold:
        """The missions as one graph."""
        if self._across is None:
            raise DataError(f"{self._where}.across", "the edges between missions are missing")
        across = {
            (each["mission"], each["node"]): Across(
                needs=tuple(map(tuple, each["needs"])), uses=tuple(map(tuple, each["uses"]))
            )
            for each in self._across
        }
        nodes = [len(each.nodes) for each in self._graphs]
        places = {*across, *(one for each in across.values() for one in (*each.needs, *each.uses))}
        for mission, node in places:
            if mission >= len(nodes) or node >= nodes[mission]:
                raise DataError(f"{self._where}.across", f"there is no node {node} of {mission}")
        try:
            return JointGold(tuple(self._graphs), across)
        except ValueError as problem:
            raise DataError(f"{self._where}.across", str(problem)) from problem

    def joint_row(self, key: JointKey, value: Mapping[str, Any], where: str) -> JointRow:
        steps = tuple(
            {int(mission): _step(each) for mission, each in step["parts"].items()}
            for step in value["steps"]
        )
        tasks = {f"m{number + 1}" for number in range(len(self._graphs))}
        if any(mission >= len(tasks) for step in steps for mission in step):
            raise DataError(f"{where}.steps", "name a mission that the dialogue has not")
        if any(each.get("task_id") not in tasks for each in value["calls"]):
            raise DataError(f"{where}.calls", f"task_id is none of {', '.join(sorted(tasks))}")
        if len(value["pending_at_end"]) != len(tasks):
            raise DataError(f"{where}.pending_at_end", f"expected {len(tasks)} items")
        return JointRow(key=key, gold=self.joint, tools=self.tools, steps=steps, value=value)

    def entry(self, key: RunKey, value: Mapping[str, Any]) -> Entry:
        at = key.mission
        if not 0 <= at < len(self._graphs):
            raise DataError(f"{self._where}.{_RUN}.mission", f"the dialogue has no mission {at}")
        said = [text for block in self._texts[:at] for text in block]
        if key.history == "upta":
            said += [
                json.dumps([dict(node.arguments), node.observation], ensure_ascii=False)
                for graph in self._graphs[:at]
                for node in graph.nodes
            ]
        return Entry(
            key=EntryKey(key.dialogue, at),
            letter=self._letters[at],
            pattern=self._letters[: at + 1],
            relation=self._relations[at],
            graph=self._graphs[at],
            tools=self.tools,
            steps=tuple(_step(each) for each in value["steps"]),
            said=(*said, self._texts[at][self._tasks[at]]),
            prompt_messages=value["prompt_messages"],
            without_step=value["without_step"],
            pending_at_end=value["pending_at_end"],
        )


def _with(graph: GoldGraph, beside: Sequence[Mapping[str, Any]]) -> GoldGraph:
    return GoldGraph(
        tuple(
            replace(
                node,
                aliases=tuple(map(tuple, each["aliases"])),
                uses=frozenset(each["uses"]),
            )
            for node, each in zip(graph.nodes, beside, strict=True)
        )
    )


def _step(value: Mapping[str, Any]) -> Step:
    calls = tuple(ToolCall(each["name"], each["arguments"]) for each in value["calls"])
    return Step(calls, value["text"])


def step_to_json(step: Step) -> dict[str, Any]:
    """Return a step as it stands in a file."""
    calls = [{"name": each.name, "arguments": each.arguments} for each in step.calls]
    return {"calls": calls, "text": step.text}
