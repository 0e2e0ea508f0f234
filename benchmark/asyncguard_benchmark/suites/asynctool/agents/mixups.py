"""Calls that belong to another sub-task."""

from collections.abc import Sequence

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.protocol.actions import CallAction


def foreign_call(task: TaskProgress, tasks: Sequence[TaskProgress]) -> CallAction | None:
    """Return a call under a sub-task's id that belongs to another one; None if no other has a fitting one.

    It is the first of a tool that the sub-task has no use for and whose arguments need no result.
    """
    own = {step.tool for step in task.plan.steps}
    for other in (each for each in tasks if each is not task):
        for step in other.plan.steps:
            if step.tool not in own and not step.operands and not step.derivations:
                return CallAction(
                    task_id=task.plan.task_id, tool=step.tool, arguments=step.arguments
                )
    return None
