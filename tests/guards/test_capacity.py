"""Capacity: at each limit and one above."""

import pytest

from asyncguard.config import GuardConfig, Limits
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT
from asyncguard.core.calls import canonical_json
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import capacity, enabled
from tests.core.builders import Scene, rejection

TOOL = ToolSpec(name="x", reads=(), writes=())


def scene_with(**limits: int) -> Scene:
    """A scene with these limits."""
    return Scene(TOOL, config=GuardConfig(limits=Limits(**limits)))


def test_open_calls_up_to_the_limit() -> None:
    """The call that reaches the limit passes, the next is told to wait; a free place is taken again."""
    scene = scene_with(max_pending=3)
    keys = [scene.start("x", {"n": n}, task=("t1", "t2")[n % 2]) for n in range(2)]
    third = scene.propose("x", {"n": 3})
    assert capacity.judge(third, scene.board) == ADMIT
    fourth = scene.propose("x", {"n": 4})
    verdict = rejection(capacity.judge(fourth, scene.board), "capacity")
    assert "3 calls are open" in verdict.reason
    assert "x#3" in verdict.reason
    scene.end(keys[0])
    assert capacity.judge(fourth, scene.board) == ADMIT


def test_calls_of_other_threads_count_towards_the_limit_of_the_process() -> None:
    """At the limit a call passes, one above it is told to wait."""
    scene = scene_with(max_process_pending=5)
    scene.start("x")
    scene.board.elsewhere = 3
    assert capacity.judge(scene.propose("x", {"n": 1}), scene.board) == ADMIT
    scene.board.elsewhere = 4
    verdict = rejection(
        capacity.judge(scene.propose("x", {"n": 2}, message="m2"), scene.board), "capacity"
    )
    assert "5 calls are open in this process" in verdict.reason


def test_a_message_fills_the_places_from_its_beginning() -> None:
    """Calls that stand later in the same message, not judged yet, take no place from an earlier one."""
    scene = scene_with(max_pending=3)
    scene.start("x")
    proposals = [scene.propose("x", {"n": n}, message="m") for n in range(4)]
    verdicts = [capacity.judge(proposal, scene.board) for proposal in proposals]
    assert [verdict == ADMIT for verdict in verdicts] == [True, True, False, False]


def test_a_released_call_keeps_its_place() -> None:
    """A call that was held back counts once: with all places taken it is released all the same."""
    scene = scene_with(max_pending=3)
    first = scene.start("x", {"n": 1})
    waiting = scene.defer("x", (first,), {"n": 2})
    held = scene.propose("x", {"n": 3}).call.key
    scene.apply(ev.CallHeld, key=held, guard="trust", reason="It asks.")
    assert scene.ledger.open_count() == 3
    rejection(scene.judge(capacity.judge, "x", {"n": 4}), "capacity")
    assert scene.ledger.open_count() == 4
    for limit in (3, 2, 1):  # also where the thread continues under a smaller limit
        scene.board.config = GuardConfig(limits=Limits(max_pending=limit))
        for key in (waiting, held):
            assert capacity.judge(scene.again(key, approved=True), scene.board) == ADMIT


@pytest.mark.parametrize(("position", "passes"), [(0, True), (4, True), (5, False), (500, False)])
def test_calls_of_a_message_up_to_the_limit(position: int, passes: bool) -> None:
    """Five calls pass, the sixth is put off to a later message."""
    verdict = scene_with(max_calls_per_message=5).judge(capacity.judge, "x", position=position)
    assert (verdict == ADMIT) is passes
    if not passes:
        assert "later message" in rejection(verdict, "capacity").reason


@pytest.mark.parametrize("text", ["aaaa", "ääää", "\ud800aaa", "中中"])
def test_arguments_up_to_the_limit_in_bytes(text: str) -> None:
    """Bytes are counted and not characters; exactly the limit passes. Half a surrogate pair has a size, too."""
    arguments = {"text": text}
    size = len(canonical_json(arguments).encode("utf-8", "surrogatepass"))
    assert scene_with(max_argument_bytes=size).judge(capacity.judge, "x", arguments) == ADMIT
    verdict = rejection(
        scene_with(max_argument_bytes=size - 1).judge(capacity.judge, "x", arguments), "capacity"
    )
    assert f"{size} bytes" in verdict.reason


def test_operands_are_weighed_when_they_are_known() -> None:
    """A substituted value that is too large stops the call at release."""
    scene = scene_with(max_argument_bytes=100)
    source = scene.start("x")
    key = scene.defer("x", (source,), {"a": {"from_call": "x#1", "pointer": ""}})
    released = scene.again(key)
    assert capacity.judge(released, scene.board) == ADMIT
    large = Scene(TOOL, config=scene.board.config).propose("x", {"a": "v" * 200}).call
    rejection(capacity.judge(scene.again(key, call=large), scene.board), "capacity")


@pytest.mark.parametrize("switch", [True, False])
def test_the_switch(switch: bool) -> None:
    """With the guard off nothing is refused."""
    config = GuardConfig.none(capacity=switch, limits=Limits(max_pending=1))
    scene = Scene(TOOL, config=config)
    scene.start("x")
    assert (scene.admit(scene.propose("x"), enabled(config)) == ADMIT) is not switch
