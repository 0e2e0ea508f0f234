"""Dependency and conflict: what is right but early."""

from typing import Any

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT
from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import conflict, dependency, enabled
from tests.core.builders import Scene, deferral, pure


def tool(
    name: str, reads: tuple[str, ...] | None = (), writes: tuple[str, ...] | None = ()
) -> ToolSpec:
    """A tool with declared resources."""
    return ToolSpec(name=name, reads=reads, writes=writes)


READ = tool("read", reads=("file:{path}",))
WRITE = tool("write", writes=("file:{path}",))
APPEND = tool("append", reads=("file:{path}",), writes=("file:{path}",))
WIPE = tool("wipe", writes=("file:*",))
ODD = ToolSpec(name="odd")
LOOK = ToolSpec(name="look", effect=EffectClass.PURE)
FIND = pure("find", id="string")
TOOLS = (READ, WRITE, APPEND, WIPE, ODD, LOOK, FIND)
A, B = {"path": "a"}, {"path": "b"}


@pytest.mark.parametrize(
    ("first", "second", "waits_for_read", "waits_for_effect"),
    [
        (("read", A), ("read", A), False, False),
        (("write", A), ("read", A), True, False),
        (("write", A), ("read", B), False, False),
        (("read", A), ("write", A), False, True),
        (("write", A), ("write", A), False, True),
        (("write", A), ("write", B), False, False),
        (("append", A), ("append", A), True, True),
        (("wipe", {}), ("read", A), True, False),
        (("wipe", {}), ("write", B), False, True),
        (("read", A), ("wipe", {}), False, True),
        (("write", {}), ("read", A), True, False),
    ],
)
def test_declared_resources(
    first: tuple[str, dict[str, Any]],
    second: tuple[str, dict[str, Any]],
    waits_for_read: bool,
    waits_for_effect: bool,
) -> None:
    """Reading after a write is a dependency, writing after either a conflict; also across tasks and in one message."""
    for task, message in (("t1", None), ("t2", None), ("t1", "m")):
        scene = Scene(*TOOLS)
        key = scene.start(first[0], first[1], message=message)
        proposal = scene.propose(second[0], second[1], task=task, message=message)
        for guard, name, waits in (
            (dependency.judge, "dependency", waits_for_read),
            (conflict.judge, "conflict", waits_for_effect),
        ):
            verdict = guard(proposal, scene.board)
            if waits:
                assert deferral(verdict, name).on == (key,)
                assert f"{first[0]}#1" in deferral(verdict, name).reason
            else:
                assert verdict == ADMIT


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("odd", "odd", True),
        ("odd", "look", True),
        ("look", "odd", True),
        ("look", "look", False),
        ("odd", "read", True),
        ("read", "odd", True),
        ("look", "write", True),
        ("write", "look", True),
        ("look", "read", False),
        ("read", "find", False),
    ],
)
def test_the_order_of_a_task(first: str, second: str, waits: bool) -> None:
    """A tool whose resources are unknown keeps its place in its task, unless neither of the two changes anything."""
    scene = Scene(*TOOLS)
    key = scene.start(first, A)
    verdict = scene.judge(dependency.judge, second, B)
    assert verdict == ADMIT if not waits else deferral(verdict, "dependency").on == (key,)


def test_the_barrier_is_no_wider_than_its_task() -> None:
    """Neither another task's call nor one of the same message is a barrier."""
    scene = Scene(*TOOLS)
    scene.start("odd", task="t2")
    scene.start("odd", message="m")
    assert scene.judge(dependency.judge, "odd", {"n": 1}, message="m") == ADMIT


def test_operands_hold_a_call_back() -> None:
    """All open sources are waited for, those that ended are not, and a source may be held back itself."""
    scene = Scene(*TOOLS)
    running = scene.start("find", {"id": "1"})
    held_back = scene.defer("find", (running,), {"id": "2"})
    scene.finished("find", {"id": "3"})
    operands = {name: {"from_call": f"find#{name}", "pointer": ""} for name in "123"}
    verdict = deferral(scene.judge(dependency.judge, "find", {"id": operands}), "dependency")
    assert verdict.on == (running, held_back)
    assert "find#1, find#2" in verdict.reason
    scene.end(running)
    assert deferral(scene.judge(dependency.judge, "find", {"id": operands}), "dependency").on == (
        held_back,
    )


def test_a_call_does_not_wait_for_itself_or_a_later_one() -> None:
    """Judged again at release, with a later call open, it passes."""
    scene = Scene(*TOOLS)
    first = scene.start("append", A)
    second = scene.defer("append", (first,), A)
    third = scene.defer("append", (second,), A)
    scene.end(first)
    assert dependency.judge(scene.again(second), scene.board) == ADMIT
    assert conflict.judge(scene.again(second), scene.board) == ADMIT
    assert deferral(conflict.judge(scene.again(third), scene.board), "conflict").on == (second,)


@pytest.mark.parametrize("end", [ev.Outcome.DONE, ev.Outcome.FAILED, ev.Outcome.IN_DOUBT])
def test_what_ended_holds_nobody(end: ev.Outcome) -> None:
    """Success, failure and doubt all end the waiting; what follows from them is decided elsewhere."""
    scene = Scene(*TOOLS)
    scene.end(scene.start("append", A), end)
    scene.end(scene.start("odd"), end)
    for name in ("append", "odd"):
        proposal = scene.propose(name, A, message="m")
        assert scene.admit(proposal, (dependency.judge, conflict.judge)) == ADMIT


def test_everything_is_waited_for_at_once() -> None:
    """The merged deferral names each call once, whatever the number of reasons."""
    scene = Scene(*TOOLS)
    first, second = scene.start("append", A), scene.start("read", A, task="t2")
    verdict = scene.admit(scene.propose("append", A), (dependency.judge, conflict.judge))
    assert deferral(verdict, "dependency").on == (first, second)


@pytest.mark.parametrize(("guard", "second"), [("dependency", "read"), ("conflict", "write")])
@pytest.mark.parametrize("switch", ["guard", "ledger"])
def test_the_switches(guard: str, second: str, switch: str) -> None:
    """Off, or without the ledger, nothing is held back."""
    for on in (True, False):
        config = GuardConfig.none(
            **{guard: True, "ledger": True, guard if switch == "guard" else "ledger": on}
        )
        scene = Scene(*TOOLS, config=config)
        scene.start("write", A)
        verdict = scene.admit(scene.propose(second, A), enabled(config))
        assert (verdict == ADMIT) is not on
