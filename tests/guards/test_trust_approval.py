"""Trust and approval: calls that a person has to see first."""

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core.admission import ADMIT, Verdict
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import enabled, trust
from tests.core.builders import Scene, approval, rejection

WIPE = ToolSpec(name="wipe", destructive=True)
READ = ToolSpec(name="read")
BUY = ToolSpec(name="buy", approval=True)
BOTH = ToolSpec(name="both", approval=True, destructive=True)


def verdict(tool: str, tainted: bool, config: GuardConfig | None = None, **values: bool) -> Verdict:
    """Return the joint verdict of all guards on a call."""
    scene = Scene(WIPE, READ, BUY, BOTH, config=config)
    scene.board.tainted = tainted
    return scene.admit(scene.propose(tool, **values), enabled(scene.board.config))


@pytest.mark.parametrize(
    ("tool", "tainted", "approved", "asks"),
    [
        ("wipe", True, False, True),
        ("wipe", False, False, False),
        ("wipe", True, True, False),
        ("read", True, False, False),
        ("buy", True, False, False),
        ("nothing", True, False, False),
    ],
)
def test_destruction_in_a_tainted_context(
    tool: str, tainted: bool, approved: bool, asks: bool
) -> None:
    """Only the two together ask, and only once."""
    scene = Scene(WIPE, READ, BUY)
    scene.board.tainted = tainted
    found = scene.judge(trust.judge, tool, approved=approved)
    assert found == ADMIT if not asks else approval(found, "trust").approval


def test_a_declared_approval_is_asked_for_whatever_is_off() -> None:
    """It is the developer's word: no switch turns it off, and a person's yes approves it."""
    for config in (GuardConfig(), GuardConfig.none()):
        assert "buy" in approval(verdict("buy", tainted=False, config=config), "approval").approval
        assert verdict("buy", tainted=False, config=config, approved=True) == ADMIT
        assert verdict("read", tainted=False, config=config) == ADMIT


def test_one_question_is_enough() -> None:
    """A call with two reasons is asked about once, with the more telling one."""
    approval(verdict("both", tainted=True), "trust")
    approval(verdict("both", tainted=False), "approval")


def test_nobody_is_asked_about_a_call_that_is_wrong_or_early() -> None:
    """A rejection or deferral comes before the question."""
    scene = Scene(BOTH)
    scene.board.tainted = True
    rejection(scene.admit(scene.propose("both", task="t9"), enabled(scene.board.config)), "scope")
    scene.start("both", {"n": 1})
    found = scene.admit(
        scene.propose("both", {"n": 2}), enabled(GuardConfig(grounding=False, premature=False))
    )
    assert type(found).__name__ == "Defer"


def test_the_switch() -> None:
    """With the guard off destruction is not asked about."""
    approval(verdict("wipe", tainted=True, config=GuardConfig.none(trust=True)), "trust")
    assert verdict("wipe", tainted=True, config=GuardConfig.none()) == ADMIT
