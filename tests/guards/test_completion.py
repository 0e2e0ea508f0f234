"""Completion: when the model's last word counts."""

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.events import CompletionVerdict as Word
from asyncguard.core.lifecycle import SOLE_TASK, TaskState
from asyncguard.core.resume_policy import ANSWERED, SUPERSEDED
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import Completion, judge_completion
from tests.core.builders import Scene

TOOL = ToolSpec(name="x", reads=(), writes=())


def both_done(config: GuardConfig | None = None) -> Scene:
    """Two tasks with one finished call each."""
    scene = Scene(TOOL, config=config)
    scene.finished("x")
    scene.finished("x", task="t2")
    return scene


def judged(scene: Scene) -> Completion:
    """The verdict, noted in the ledger as a run would note it."""
    found = judge_completion(scene.board)
    scene.apply(ev.CompletionJudged, verdict=found.verdict, reason=found.reason, tasks=found.tasks)
    return found


def test_all_done() -> None:
    """Every task had its call and its result: the run ends."""
    assert judged(both_done()).verdict is Word.END


@pytest.mark.parametrize("state", ["proposed", "deferred", "held", "queued", "pending"])
def test_open_calls_make_the_answer_interim(state: str) -> None:
    """The run waits for an open call, in any state, and no task is nudged meanwhile."""
    scene = both_done()
    blocker = scene.start("x", {"n": 1})
    key = scene.propose("x", {"n": 2}, task="t2").call.key
    if state == "deferred":
        scene.apply(ev.CallDeferred, key=key, guard="conflict", reason="early", on=(blocker,))
    elif state == "held":
        scene.apply(ev.CallHeld, key=key, guard="trust", reason="asks")
    elif state in ("queued", "pending"):
        scene.apply(ev.CallAdmitted, key=key)
    if state == "pending":
        scene.run(key)
    scene.end(blocker)
    scene.apply(ev.CallsDelivered, keys=(blocker,))
    found = judged(scene)
    assert found.verdict is Word.WAIT
    assert "t2 x#2" in found.reason
    assert not scene.ledger.task("t2").nudged


def test_results_that_were_not_told_are_waited_for() -> None:
    """A call that ended after its placeholder is news; told, it is not."""
    scene = both_done()
    key = scene.start("x", {"n": 1})
    scene.apply(ev.CallsDelivered, keys=(), placeholders=(key,))
    scene.end(key)
    assert judged(scene).verdict is Word.WAIT
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert judged(scene).verdict is Word.END


def test_an_untouched_task_is_named_once() -> None:
    """The first time the model is told, and how to insist; the second time its word counts."""
    scene = Scene(TOOL)
    scene.finished("x")
    first = judged(scene)
    assert first.verdict is Word.NUDGE
    assert first.tasks == ("t2",)
    assert "- t2: no tool was called for it" in first.reason
    assert "repeat your complete answer" in first.reason
    second = judged(scene)
    assert second.verdict is Word.END
    assert second.tasks == ("t2",)


@pytest.mark.parametrize(
    ("said", "missed"),
    [
        ("t1 is done.\nt2: no tool needed", ()),
        ("- **t2**: No tool needed. Three bags are free.", ()),
        ("[t2]: *no tool needed*", ()),
        ("All tasks are complete.", ("t2",)),
        ("t1: no tool needed", ("t2",)),
        ("t2: please tell me the number of your booking.", ("t2",)),
        ("t22: no tool needed", ("t2",)),
        ("Of t2: no tool needed", ("t2",)),
    ],
)
def test_a_task_that_is_said_to_need_no_tool_is_not_named(
    said: str, missed: tuple[str, ...]
) -> None:
    """Only the words that the task view asks for count, on a line that begins with the task."""
    scene = Scene(TOOL)
    scene.finished("x")
    assert judge_completion(scene.board, said).tasks == missed


def test_no_word_stands_for_a_call_that_came_to_nothing() -> None:
    """A task whose last call was rejected is named whatever the model says: it did need a tool."""
    scene = both_done()
    scene.reject("x")
    assert judge_completion(scene.board, "t1: no tool needed").tasks == ("t1",)


def test_a_new_run_may_nudge_again() -> None:
    """A task is nudged at most once a run."""
    scene = Scene(TOOL)
    judged(scene)
    scene.apply(ev.RunStarted, run="r2", epoch="e1")
    assert judged(scene).tasks == ("t1", "t2")


def test_only_the_tasks_that_were_not_named_yet_are_named() -> None:
    """A task that falls behind later gets its own nudge."""
    scene = both_done()
    scene.reject("x")
    assert judged(scene).tasks == ("t1",)
    scene.reject("x", task="t2")
    later = judged(scene)
    assert later.verdict is Word.NUDGE
    assert later.tasks == ("t2",)
    assert "t1" not in later.reason


@pytest.mark.parametrize("state", ["rejected", "squashed", "cancelled"])
def test_a_last_call_that_came_to_nothing(state: str) -> None:
    """It is named with what became of it and why; a later call of the task settles it."""
    scene = both_done()
    if state == "rejected":
        scene.reject("x")
    elif state == "squashed":
        blocker = scene.finished("x", task="t2")
        key = scene.defer("x", (blocker,))
        scene.apply(ev.CallSquashed, key=key, reason="It was wrong.")
        scene.apply(ev.CallsDelivered, keys=(key,))
    else:
        key = scene.propose("x").call.key
        scene.apply(ev.CallAdmitted, key=key)
        scene.apply(ev.CallCancelled, key=key, reason="It was wrong.")
        scene.apply(ev.CallsDelivered, keys=(key,))
    found = judge_completion(scene.board)
    assert found.verdict is Word.NUDGE
    assert found.tasks == ("t1",)
    assert f"x#2 was {state}" in found.reason
    assert "It was wrong." in found.reason
    scene.finished("x")
    assert judged(scene).verdict is Word.END


@pytest.mark.parametrize("reason", [SUPERSEDED, ANSWERED, f"{ANSWERED}: No, too dear."])
@pytest.mark.parametrize("held", [False, True])
def test_a_last_call_that_a_person_has_ended(reason: str, *, held: bool) -> None:
    """The user spoke instead, or other middleware answered in a reviewer's words: the model's answer is final."""
    scene = both_done()
    key = scene.propose("x").call.key
    if held:
        scene.apply(ev.CallHeld, key=key, guard="approval", reason="It asks.")
    else:
        scene.apply(ev.CallAdmitted, key=key)
    scene.apply(ev.CallCancelled, key=key, reason=reason)
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert judged(scene).verdict is Word.END


@pytest.mark.parametrize("outcome", [ev.Outcome.FAILED, ev.Outcome.IN_DOUBT])
def test_a_failure_that_was_told_is_an_end(outcome: ev.Outcome) -> None:
    """A tool may fail for good; the model knows and may say so."""
    scene = both_done()
    key = scene.start("x")
    scene.end(key, outcome)
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert judged(scene).verdict is Word.END


def test_asking_the_user_is_an_end() -> None:
    """After 'ask the user' a message without calls is what was wanted; after 'wait for the result' it is not."""
    scene = both_done()
    scene.reject("x", guard="clarification")
    assert judged(scene).verdict is Word.END
    other = scene.finished("x", task="t2")
    scene.reject("x", guard="clarification", on=(other,))
    assert judged(scene).verdict is Word.NUDGE


def test_a_plain_conversation_needs_no_tool() -> None:
    """The sole task of a conversation may be answered without calls, but a rejected call is not left standing."""
    scene = Scene(TOOL, tasks=(SOLE_TASK,))
    assert judged(scene).verdict is Word.END
    scene.reject("x", task=SOLE_TASK)
    assert judged(scene).verdict is Word.NUDGE


@pytest.mark.parametrize("state", [TaskState.STOPPED, TaskState.CLOSED])
def test_an_ended_task_is_nobodys_business(state: TaskState) -> None:
    """An ended task gets no nudge, whether untouched or with a rejected call."""
    scene = Scene(TOOL)
    scene.reject("x")
    for task in ("t1", "t2"):
        scene.stop_task(task, state)
    assert judged(scene).verdict is Word.END


def test_many_gaps_stay_readable() -> None:
    """Long reasons are cut."""
    scene = Scene(TOOL)
    key = scene.propose("x").call.key
    scene.apply(ev.CallRejected, key=key, guard="arguments", reason="long " * 1000)
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert len(judge_completion(scene.board).reason) < 800


def test_the_switch() -> None:
    """Off, every message without calls ends the run."""
    scene = Scene(TOOL, config=GuardConfig(completion=False))
    scene.start("x")
    assert judged(scene).verdict is Word.END


def test_without_the_ledger_only_untouched_tasks_are_seen() -> None:
    """Open, late and rejected calls are unknown then."""
    scene = Scene(TOOL, config=GuardConfig(ledger=False))
    scene.start("x")
    assert judged(scene).tasks == ("t2",)
    scene.reject("x", task="t2")
    assert judged(scene).verdict is Word.END
