"""The scheduler: situations, and the next step in each."""

from collections.abc import Callable

import pytest

from asyncguard.config import Delivery, GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.scheduling import (
    Step,
    deliverable,
    dispatchable,
    has_news,
    idle_tasks,
    next_step,
    offers_again,
    passed_over,
)
from asyncguard.core.tool_spec import Mode, ToolSpec
from tests.core.builders import Scene

SPECS = (
    ToolSpec(name="auto"),
    ToolSpec(name="front", mode=Mode.FOREGROUND),
    ToolSpec(name="back", mode=Mode.BACKGROUND),
    ToolSpec(name="outside", mode=Mode.EXTERNAL),
    ToolSpec(name="asks", interrupts=True),
)


def announce(scene: Scene, *keys: str) -> None:
    """The model is told that calls are pending."""
    scene.apply(ev.CallsDelivered, keys=(), placeholders=keys)


def pass_over(scene: Scene, *tasks: str) -> None:
    """The model had a turn and did nothing for these tasks."""
    scene.apply(ev.TurnTaken, turn=1, message_id="m0", calls=0, passed_over=tasks)


def busy(scene: Scene, tool: str = "back", task: str = "t1") -> str:
    """A pending call that the model knows of."""
    key = scene.start(tool, {"n": len(scene.events)}, task=task)
    announce(scene, key)
    return key


def nothing_done(_scene: Scene) -> None:
    """Leave every task untouched."""


def all_busy(scene: Scene) -> None:
    """Each task waits for a background call."""
    busy(scene)
    busy(scene, task="t2")


def one_idle(scene: Scene) -> None:
    """One task waits, the other could be worked on."""
    busy(scene)


def one_passed_over(scene: Scene) -> None:
    """One task waits, the model left the other alone."""
    busy(scene)
    pass_over(scene, "t2")


def late_result(scene: Scene) -> None:
    """One of two results is there."""
    busy(scene)
    scene.end(busy(scene, task="t2"))


def foreground_runs(scene: Scene) -> None:
    """News is there, and a foreground call runs."""
    late_result(scene)
    busy(scene, "front")


def only_external(scene: Scene) -> None:
    """Let each task wait for the outside world."""
    busy(scene, "outside")
    busy(scene, "outside", task="t2")


def external_and_own(scene: Scene) -> None:
    """One call is outside, one is ours."""
    busy(scene, "outside")
    busy(scene, task="t2")


def admitted(scene: Scene) -> None:
    """A call may be issued, news is there as well."""
    late_result(scene)
    scene.apply(ev.CallAdmitted, key=scene.propose("back", {"new": 1}).call.key)


def released(scene: Scene) -> None:
    """End the blocker of a deferred call while another call may be issued."""
    admitted(scene)
    first = busy(scene)
    scene.defer("back", (first,), {"m": 1})
    scene.end(first)


def deferred(scene: Scene) -> None:
    """Defer a call until a pending one ends."""
    scene.defer("back", (busy(scene),), {"m": 1})
    busy(scene, task="t2")


def hold(scene: Scene, task: str) -> None:
    """A call waits for a person."""
    key = scene.propose("back", {"hold": 1}, task=task).call.key
    scene.apply(ev.CallHeld, key=key, guard="trust", reason="It asks.")
    announce(scene, key)


def held_beside_work(scene: Scene) -> None:
    """One task waits for a person, one for a tool."""
    busy(scene)
    hold(scene, "t2")


def held_alone(scene: Scene) -> None:
    """Both tasks wait for a person."""
    hold(scene, "t1")
    hold(scene, "t2")


def held_beside_external(scene: Scene) -> None:
    """Let one task wait for a person, the other for the outside world."""
    busy(scene, "outside")
    hold(scene, "t2")


def rejected_on_pending(scene: Scene) -> None:
    """Reject a call with the advice to wait, which is not news while a blocker is pending."""
    key = busy(scene)
    busy(scene, task="t2")
    wrong = scene.propose("back", {"guess": 1}).call.key
    scene.apply(ev.CallRejected, key=wrong, guard="grounding", reason="Wait.", on=(key,))


def rejected_on_ended(scene: Scene) -> None:
    """Its result is there."""
    key = busy(scene)
    busy(scene, task="t2")
    wrong = scene.propose("back", {"guess": 1}).call.key
    scene.apply(ev.CallRejected, key=wrong, guard="grounding", reason="Wait.", on=(key,))
    scene.end(key)


def rejected_plainly(scene: Scene) -> None:
    """A rejection that the model can act on is news."""
    all_busy(scene)
    wrong = scene.propose("back", {"guess": 1}).call.key
    scene.apply(ev.CallRejected, key=wrong, guard="arguments", reason="Wrong.")


def half_a_group(scene: Scene) -> None:
    """One of two results of one message is there."""
    first = scene.start("back", {"n": 1}, message="m")
    second = scene.start("back", {"n": 2}, message="m")
    announce(scene, first, second)
    busy(scene, task="t2")
    scene.end(first)


SITUATIONS = [
    (nothing_done, Step.MODEL),
    (all_busy, Step.WAIT),
    (one_idle, Step.MODEL),
    (one_passed_over, Step.WAIT),
    (late_result, Step.MODEL),
    (foreground_runs, Step.WAIT),
    (only_external, Step.PARK),
    (external_and_own, Step.WAIT),
    (admitted, Step.DISPATCH),
    (released, Step.RELEASE),
    (deferred, Step.WAIT),
    (held_beside_work, Step.WAIT),
    (held_alone, Step.APPROVE),
    (held_beside_external, Step.APPROVE),
    (rejected_on_pending, Step.WAIT),
    (rejected_on_ended, Step.MODEL),
    (rejected_plainly, Step.MODEL),
    (half_a_group, Step.WAIT),
]


@pytest.mark.parametrize(("situation", "step"), SITUATIONS)
def test_situations(situation: Callable[[Scene], None], step: Step) -> None:
    """Each situation has one next step."""
    scene = Scene(*SPECS)
    situation(scene)
    assert next_step(scene.board) is step


@pytest.mark.parametrize(
    ("situation", "step"),
    [
        (all_busy, Step.MODEL),
        (only_external, Step.MODEL),
        (held_beside_work, Step.APPROVE),
        (foreground_runs, Step.WAIT),
    ],
)
def test_without_waiting_the_model_is_asked_instead(
    situation: Callable[[Scene], None], step: Step
) -> None:
    """The switch turns waits for background work into model turns; foreground calls are still waited for."""
    scene = Scene(*SPECS, config=GuardConfig(waiting=False))
    situation(scene)
    assert next_step(scene.board) is step


@pytest.mark.parametrize(
    ("situation", "step"),
    [
        (nothing_done, Step.MODEL),
        (one_idle, Step.WAIT),
        (late_result, Step.WAIT),
        (half_a_group, Step.WAIT),
        (only_external, Step.PARK),
        (held_beside_work, Step.WAIT),
        (held_beside_external, Step.APPROVE),
    ],
)
def test_in_shadow_mode_every_call_is_answered_first(
    situation: Callable[[Scene], None], step: Step
) -> None:
    """Neither news nor idle tasks give the model a turn while a call is open."""
    scene = Scene(*SPECS, config=GuardConfig(shadow=True))
    situation(scene)
    assert next_step(scene.board) is step


def test_delivery_any_tells_half_a_group() -> None:
    """Each result is shown as soon as it is there, or one message's results together."""
    for delivery, news in ((Delivery.ANY, True), (Delivery.ALL, False)):
        scene = Scene(*SPECS, config=GuardConfig(delivery=delivery))
        half_a_group(scene)
        assert has_news(scene.board) is news
        assert len(deliverable(scene.board)) == int(news)


def test_results_are_told_in_the_order_of_their_end() -> None:
    """Results are shown in the order of their ends, not of their calls."""
    scene = Scene(*SPECS)
    keys = [busy(scene), busy(scene), busy(scene, task="t2")]
    for key in (keys[2], keys[0], keys[1]):
        scene.end(key)
    assert [record.key for record in deliverable(scene.board)] == [keys[2], keys[0], keys[1]]


@pytest.mark.parametrize(("tasks", "step"), [(("t1",), Step.WAIT), (("t1", "t2"), Step.MODEL)])
def test_auto_is_foreground_for_one_task(tasks: tuple[str, ...], step: Step) -> None:
    """With a single task an undeclared tool is waited for; with two the model continues."""
    scene = Scene(*SPECS, tasks=tasks)
    busy(scene, "auto")
    assert next_step(scene.board) is step


def test_calls_that_ask_a_person_go_one_at_a_time() -> None:
    """The first with everything else, the next when it has ended."""
    scene = Scene(*SPECS)
    proposals = [scene.propose(tool, {"n": n}) for n, tool in enumerate(("asks", "back", "asks"))]
    for proposal in proposals:
        scene.apply(ev.CallAdmitted, key=proposal.call.key)
    first, other, second = (proposal.call.key for proposal in proposals)
    assert {record.key for record in dispatchable(scene.board)} == {first, other}
    scene.run(first)
    assert [record.key for record in dispatchable(scene.board)] == [other]
    scene.run(other)
    assert dispatchable(scene.board) == []
    scene.end(first)
    assert [record.key for record in dispatchable(scene.board)] == [second]


def test_no_more_calls_are_issued_than_may_run_at_once() -> None:
    """The first of the admitted ones; work outside takes no place."""
    scene = Scene(*SPECS)
    names = ("outside", "back", "front", "back")
    keys = [scene.propose(tool, {"n": n}).call.key for n, tool in enumerate(names)]
    for key in keys:
        scene.apply(ev.CallAdmitted, key=key)
    scene.board.runs_at_once(2)
    outside, first, second, third = keys
    assert [record.key for record in dispatchable(scene.board)] == [outside, first]
    scene.run(outside)
    assert [record.key for record in dispatchable(scene.board)] == [first, second]
    scene.run(first)
    scene.run(second)
    assert dispatchable(scene.board) == []
    assert next_step(scene.board) is Step.WAIT
    scene.end(first)
    assert [record.key for record in dispatchable(scene.board)] == [third]
    assert next_step(scene.board) is Step.DISPATCH


def test_a_turn_offers_again_what_the_model_has_left() -> None:
    """Only idle tasks that were begun and told are offered again; news, or a task to begin, is more."""
    scene = Scene(*SPECS)
    key = busy(scene)
    assert not offers_again(scene.board)  # t2 is untouched
    other = busy(scene, task="t2")
    assert not offers_again(scene.board)  # no task is idle
    scene.end(key)
    assert not offers_again(scene.board)  # the result is news
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert offers_again(scene.board)
    scene.end(other)
    assert not offers_again(scene.board)


def test_news_makes_a_task_worth_a_turn_again() -> None:
    """A task that was passed over is idle again after its next delivery."""
    scene = Scene(*SPECS)
    key = busy(scene)
    pass_over(scene, "t1", "t2")
    assert idle_tasks(scene.board) == []
    scene.end(key)
    scene.apply(ev.CallsDelivered, keys=(key,))
    assert idle_tasks(scene.board) == ["t1"]


@pytest.mark.parametrize(
    ("mentioned", "calls", "expected"),
    [
        (set(), 0, ("t1", "t2")),
        ({"t1"}, 1, ()),
        ({"t1"}, 2, ("t2",)),
        ({"t1", "t2"}, 2, ()),
        (set(), 2, ("t1", "t2")),
    ],
)
def test_what_a_message_passes_over(
    mentioned: set[str], calls: int, expected: tuple[str, ...]
) -> None:
    """Nothing said about a task is a decision only where the model could say more than one thing."""
    scene = Scene(*SPECS)
    for task in ("t1", "t2"):
        key = busy(scene, task=task)
        scene.end(key)
        scene.apply(ev.CallsDelivered, keys=(key,))
    assert passed_over(scene.board, mentioned, calls) == expected


@pytest.mark.parametrize(("calls", "expected"), [(0, ("t1", "t2")), (1, ()), (2, ())])
def test_an_untouched_task_is_passed_over_by_a_word_only(
    calls: int, expected: tuple[str, ...]
) -> None:
    """Several calls for one task do not pass over another task that was never begun."""
    assert passed_over(Scene(*SPECS).board, set(), calls) == expected
