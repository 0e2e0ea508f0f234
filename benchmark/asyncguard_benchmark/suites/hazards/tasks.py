"""The tasks of the hazard suite: ordinary sub-tasks, each with a workflow and one canonical answer."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.loading import by_id, read_list, sub_task_from_json
from asyncguard_benchmark.harness.saved_form import parse
from asyncguard_benchmark.harness.scenario import (
    Composition,
    Domain,
    Kind,
    SourceKind,
    SubTask,
    Workflow,
)
from asyncguard_benchmark.harness.scoring.answers import Answer
from asyncguard_benchmark.services.common_tools import COMMON_NAMES, SUBMIT

PACKAGE = "asyncguard_benchmark.suites.hazards"
"""It keeps the data of the suite."""


@dataclass(frozen=True, kw_only=True)
class HazardTask:
    """One task of the suite."""

    sub_task: SubTask
    workflow: Workflow
    answer: Answer

    @property
    def id(self) -> str:
        """Id of the sub-task."""
        return self.sub_task.id

    @property
    def domain(self) -> Domain:
        """Return its domain."""
        return Domain(self.sub_task.category)


@dataclass(frozen=True, kw_only=True)
class _Saved:
    """Fields beside those of the sub-task."""

    workflow: Workflow
    answer: Answer


_SAVED = TypeAdapter(_Saved)


def hazard_task_from_json(value: Any, where: str) -> HazardTask:
    """Read one task: an ordinary sub-task of a domain, with ``workflow`` and ``answer`` beside its other fields.

    Raises:
        DataError: format, API list or initial state is wrong, or the gold calls do not end with the answer.
    """
    saved = parse(_SAVED, value, where)
    beside = {each.name for each in fields(_Saved)}
    inner = {name: item for name, item in value.items() if name not in beside}
    task, answer = sub_task_from_json(inner, where), saved.answer
    problem = _problem(task, answer)
    if problem is not None:
        raise DataError(f"{where} ({task.id})", problem)
    return HazardTask(sub_task=task, workflow=saved.workflow, answer=answer)


def _problem(task: SubTask, answer: Answer) -> str | None:
    last = task.gold[-1]
    missing = [name for name in COMMON_NAMES if name not in task.tools]
    if not isinstance(task.category, Domain):
        return f"{task.category} is not a domain of the hazard suite"
    if missing:
        return f"its API list lacks {missing}, which every hazard task has"
    if [call.tool for call in task.gold].count(SUBMIT) != 1 or last.tool != SUBMIT:
        return f"the last gold call, and no other, has to be {SUBMIT}"
    if last.arguments != {"answer": answer.value}:
        return f"the gold calls submit {last.arguments}, and the answer is {answer.value!r}"
    if any(source.kind is not SourceKind.RESULT for source in last.sources.values()):
        return "the answer has to come from a result"
    return None


@cache
def load_hazard_tasks(domain: Domain) -> tuple[HazardTask, ...]:
    """Return the tasks of one domain that ship with the package.

    Raises:
        DataError: the file is missing or breaks the format, or two tasks share an id.
    """
    name = f"{domain.name.lower()}.json"
    tasks = tuple(
        hazard_task_from_json(task, f"{name}[{n}]")
        for n, task in enumerate(read_list(name, PACKAGE))
    )
    by_id(task.sub_task for task in tasks)
    return tasks


def alone(task: HazardTask, *faults: Fault) -> Composition:
    """Return a task as a composition of its own, clean or with faults.

    The id names the faults, so that a clean run and its injected ones are told apart and paired by the task.
    """
    names = "".join(
        f"+{fault.mode}-{fault.tool}{fault.site.replace('/', '.')}-{fault.severity}"
        for fault in faults
    )
    return Composition(
        id=f"{task.id}{names}", kind=Kind.S1, sub_tasks=(task.sub_task,), faults=faults
    )
