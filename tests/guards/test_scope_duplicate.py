"""Scope and duplicate."""

from dataclasses import replace

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT, Admit
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.scoreboard import ForeignDoubt
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import duplicate, enabled, scope
from tests.core.builders import Scene, object_schema, rejection

PAY = ToolSpec(name="pay", tasks=frozenset({"t1"}))
ANY = ToolSpec(name="any")
SPLIT = ToolSpec(name="split", parameters=object_schema(n="integer"))


def test_a_tool_stays_in_its_task() -> None:
    """A tool of another task is refused and its tasks are named; tools for all pass."""
    scene = Scene(PAY, ANY)
    assert scene.judge(scope.judge, "pay") == ADMIT
    assert scene.judge(scope.judge, "any", task="t2") == ADMIT
    verdict = rejection(scene.judge(scope.judge, "pay", task="t2"), "scope")
    assert "pay does not belong to task t2; tasks that may use it: t1" in verdict.reason


def test_a_tool_for_no_task() -> None:
    """A tool with an empty scope belongs to no task."""
    rejection(Scene(ToolSpec(name="x", tasks=frozenset())).judge(scope.judge, "x"), "scope")


def test_an_unknown_task_is_answered_with_the_known() -> None:
    """Only open tasks are offered, and a name as long as a book is cut."""
    scene = Scene(ANY, tasks=("t1", "t2", "t3"))
    scene.stop_task("t3")
    verdict = rejection(scene.judge(scope.judge, "any", task="t9" * 500), "scope")
    assert "The open tasks are: t1, t2." in verdict.reason


@pytest.mark.parametrize("state", [TaskState.STOPPED, TaskState.CLOSED])
def test_an_ended_task_takes_no_calls(state: TaskState) -> None:
    """A stopped or closed task is refused calls; a reopened one is not."""
    scene = Scene(ANY)
    scene.stop_task("t1", state)
    assert state.value in rejection(scene.judge(scope.judge, "any"), "scope").reason
    scene.apply(ev.TaskOpened, task="t1", goal="Do more.")
    assert scene.judge(scope.judge, "any") == ADMIT


def test_the_same_call_is_not_made_twice() -> None:
    """Equal arguments (10 and 10.0 are equal) of an open call are refused; the model waits for the first."""
    scene = Scene(ANY)
    key = scene.start("any", {"n": 10, "m": 1})
    verdict = rejection(scene.judge(duplicate.judge, "any", {"m": 1, "n": 10.0}), "duplicate")
    assert verdict.on == (key,)
    assert "any#1" in verdict.reason


@pytest.mark.parametrize(
    ("tool", "values", "task"),
    [
        ("any", {"n": 11}, "t1"),
        ("any", {"n": "10"}, "t1"),
        ("any", {"n": 10}, "t2"),
        ("pay", {"n": 10}, "t1"),
    ],
)
def test_other_calls_are_no_duplicates(tool: str, values: dict[str, object], task: str) -> None:
    """Other values, another task, another tool."""
    scene = Scene(PAY, ANY)
    scene.start("any", {"n": 10})
    assert scene.judge(duplicate.judge, tool, values, task=task) == ADMIT


def test_of_two_equal_calls_the_earlier_stays() -> None:
    """The earlier of two equal calls stays, also in one message, at release, and in any order."""
    scene = Scene(ANY)
    first = scene.propose("any", {"n": 1}, message="m")
    second = scene.propose("any", {"n": 1}, message="m")
    rejection(duplicate.judge(second, scene.board), "duplicate")
    assert duplicate.judge(first, scene.board) == ADMIT


@pytest.mark.parametrize("outcome", [ev.Outcome.DONE, ev.Outcome.FAILED])
def test_a_call_that_ended_may_be_made_again(outcome: ev.Outcome) -> None:
    """A call that ended may be made again, for polling or as another try."""
    scene = Scene(ANY)
    scene.end(scene.start("any", {"n": 1}), outcome)
    assert scene.judge(duplicate.judge, "any", {"n": 1}) == ADMIT


def test_a_call_in_doubt_is_not_repeated_until_it_is_resolved() -> None:
    """Its effect may have happened; waiting would not help, so there is nothing to wait for."""
    scene = Scene(ANY)
    key = scene.start("any", {"n": 1})
    scene.end(key, ev.Outcome.IN_DOUBT)
    again = scene.propose("any", {"n": 1})
    verdict = rejection(duplicate.judge(again, scene.board), "duplicate")
    assert "unknown" in verdict.reason
    assert verdict.on == ()
    scene.end(key, ev.Outcome.FAILED)
    assert duplicate.judge(again, scene.board) == ADMIT


def test_a_call_in_doubt_of_another_agent_is_not_repeated() -> None:
    """Its task argument does not count; after a new message of the user a person is asked."""
    scene, made = Scene(SPLIT), {"n": 1, "task_id": "x"}
    scene.board.doubted_elsewhere([ForeignDoubt("split", made, heard=False)])
    assert scene.judge(duplicate.judge, "split", {"n": 2}) == ADMIT
    again = scene.propose("split", {"n": 1})
    rejection(duplicate.judge(again, scene.board), "duplicate")
    scene.board.doubted_elsewhere([ForeignDoubt("split", made, heard=True)])
    verdict = duplicate.judge(again, scene.board)
    assert isinstance(verdict, Admit)
    assert "may happen twice" in verdict.approval
    assert duplicate.judge(replace(again, approved=True), scene.board) == ADMIT


@pytest.mark.parametrize(
    ("switch", "tool", "task"),
    [("scope", "pay", "t2"), ("duplicate", "any", "t1"), ("ledger", "any", "t1")],
)
def test_the_switches(switch: str, tool: str, task: str) -> None:
    """Off, the guard is not asked; duplicates need the ledger."""
    for on in (True, False):
        scene = Scene(
            PAY,
            ANY,
            config=GuardConfig.none(scope=True, duplicate=True, ledger=True).with_switches(
                {switch: on}
            ),
        )
        scene.start("any", {"n": 1})
        verdict = scene.admit(scene.propose(tool, {"n": 1}, task=task), enabled(scene.board.config))
        assert (verdict == ADMIT) is not on
