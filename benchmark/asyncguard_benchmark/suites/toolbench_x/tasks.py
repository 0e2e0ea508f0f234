"""Task files of ToolBench-X: ``tasks/<workflow>/<topic>/<subtopic>.json``."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.scenario import Workflow
from asyncguard_benchmark.suites.toolbench_x.terms import (
    WORKFLOWS,
    Reading,
    expect,
    load_json,
    segment,
    shown,
)


@dataclass(frozen=True, kw_only=True)
class ForeignTask:
    """One task."""

    id: str
    """Unique in its file only."""
    workflow: Workflow
    folder: str
    """``<workflow>/<topic>/<subtopic>``, as it stands on the disk."""
    prompt: str
    """Question of the user."""
    tools: tuple[str, ...]
    """Names of the tools that the agent has, in the order of the file."""
    answer: str
    """The canonical answer."""

    @property
    def key(self) -> str:
        """``<workflow>/<topic>/<subtopic>/<id>``: the name by which all other files mean the task."""
        return f"{self.folder}/{self.id}"

    @property
    def module(self) -> tuple[str, ...]:
        """Return the place of its tools below a folder of tools: workflow, topic, subtopic, file."""
        return (*map(segment, self.folder.split("/")), f"{segment(self.id)}.py")


def read_tasks(root: Path) -> Reading[ForeignTask]:
    """Return all tasks below a folder; what cannot be read is told, and hides no other task.

    JSON files that do not lie three levels deep under a workflow (reports and checkpoints of generators) are skipped.
    """
    found: list[ForeignTask] = []
    problems: list[DataError] = []
    skipped: list[str] = []
    for path in sorted(root.rglob("*.json")):
        parts = path.relative_to(root).parts
        where = path.relative_to(root.parent).as_posix()
        if len(parts) != 3 or parts[0] not in WORKFLOWS:
            skipped.append(where)
            continue
        folder = f"{parts[0]}/{parts[1]}/{path.stem}"
        seen: set[str] = set()
        for read in _tasks(path, where, folder):
            if isinstance(read, DataError):
                problems.append(read)
            elif read.id in seen:
                problems.append(
                    DataError(
                        where, f"two tasks have the id {read.id!r}; expected each id once in a file"
                    )
                )
            else:
                seen.add(read.id)
                found.append(read)
    return Reading(found=tuple(found), problems=tuple(problems), skipped=tuple(skipped))


def _tasks(path: Path, where: str, folder: str) -> Iterator[ForeignTask | DataError]:
    try:
        items = _items(load_json(path, where), where)
    except DataError as problem:
        yield problem
        return
    for number, item in enumerate(items):
        try:
            yield _task(item, f"{where}, tasks[{number}]", folder)
        except DataError as problem:
            yield problem


def _items(content: Any, where: str) -> list[Any]:
    """Return the tasks of a file in any form of the published loader: an object of tasks, a list, or one task."""
    if isinstance(content, dict):
        content = content.get("tasks", content)
    if isinstance(content, dict):
        content = [content]
    return expect(content, list, where, 'an object with "tasks", or a list of tasks')


def _task(item: Any, where: str, folder: str) -> ForeignTask:
    expect(item, dict, where, "an object")
    return ForeignTask(
        id=_text(item, "id", where),
        workflow=WORKFLOWS[folder.split("/")[0]],
        folder=folder,
        prompt=_text(item, "user_prompt", where),
        tools=_tools(item.get("tools_used"), f"{where}.tools_used"),
        answer=_answer(item, where),
    )


def _text(item: dict[str, Any], name: str, where: str) -> str:
    value = expect(item.get(name), str, f"{where}.{name}", "a text")
    if not value.strip():
        raise DataError(f"{where}.{name}", "expected a text, found an empty one")
    return value.strip()


def _tools(value: Any, where: str) -> tuple[str, ...]:
    names = []
    for number, item in enumerate(expect(value, list, where, "a list of tools")):
        name = item.get("tool_name") if isinstance(item, dict) else item
        if not isinstance(name, str) or not name.isidentifier():
            text = 'the name of a Python function, or {"tool_name": ..., "type": ...}'
            raise DataError(f"{where}[{number}]", f"expected {text}, found {shown(item)}")
        names.append(name)
    if not names:
        raise DataError(where, "expected at least one tool, found an empty list")
    return tuple(dict.fromkeys(names))


def _answer(item: dict[str, Any], where: str) -> str:
    """Return ``expected_answer``, else ``final_answer``, as published generators do; an empty one counts as none."""
    for name in ("expected_answer", "final_answer"):
        value = item.get(name)
        if isinstance(value, bool | list | dict):
            raise DataError(f"{where}.{name}", f"expected a text or a number, found {shown(value)}")
        if value is not None and str(value).strip():
            return str(value).strip()
    raise DataError(
        f"{where}.final_answer",
        'expected the canonical answer there or in "expected_answer", found none',
    )
