"""Combination of the verdicts of several guards."""

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.admission import (
    ADMIT,
    Admit,
    Defer,
    Guard,
    Proposal,
    Reject,
    Verdict,
    admit,
    objections,
)
from asyncguard.core.scoreboard import Scoreboard
from tests.core.builders import Scene

REJECT = Reject(guard="r1", reason="It is wrong.", on=("k1",))
OTHER_REJECT = Reject(guard="r2", reason="It is wrong, too.")
DEFER = Defer(guard="d1", reason="It is early.", on=("k1", "k2"))
OTHER_DEFER = Defer(guard="d2", reason="It is early, too.", on=("k2", "k3"))
ASK = Admit(guard="a1", approval="It destroys.")
OTHER_ASK = Admit(guard="a2", approval="It spends.")


def saying(verdict: Verdict) -> Guard:
    """A guard with one answer."""
    return lambda _proposal, _board: verdict


def together(*verdicts: Verdict) -> Verdict:
    """Return the combined verdict."""
    scene = Scene()
    return scene.admit(scene.propose("x"), tuple(map(saying, verdicts)))


def test_nobody_objects() -> None:
    """Without guards, and with guards that let pass."""
    assert together() == ADMIT
    assert together(ADMIT, Admit()) == ADMIT


def test_the_first_rejection_wins() -> None:
    """The first rejection counts, also over earlier deferrals and questions."""
    assert together(DEFER, ASK, REJECT, OTHER_REJECT) == REJECT


def test_after_a_rejection_nobody_is_asked() -> None:
    """The guards after a rejection are not called."""
    asked: list[str] = []

    def noting(_proposal: Proposal, _board: Scoreboard) -> Verdict:
        asked.append("asked")
        return ADMIT

    scene = Scene()
    assert scene.admit(scene.propose("x"), (saying(REJECT), noting)) == REJECT
    assert asked == []


def test_deferrals_are_merged() -> None:
    """The call waits for everything at once, each key named once, in the words of the first; the others are named."""
    assert together(OTHER_DEFER, ADMIT, DEFER) == Defer(
        guard="d2", reason="It is early, too.", on=("k2", "k3", "k1"), also=("d1",)
    )


def test_a_question_waits_until_nothing_else_is_in_the_way() -> None:
    """A deferral comes first; of two questions the first is asked."""
    assert together(ASK, DEFER) == DEFER
    assert together(ADMIT, ASK, ADMIT, OTHER_ASK) == ASK


@given(st.lists(st.sampled_from([ADMIT, REJECT, OTHER_REJECT, DEFER, OTHER_DEFER, ASK, OTHER_ASK])))
def test_the_strictest_kind_of_verdict_comes_out(verdicts: list[Verdict]) -> None:
    """Rejection over deferral over question over admission, and all keys of deferrals are kept."""
    outcome = together(*verdicts)
    rejections = [verdict for verdict in verdicts if isinstance(verdict, Reject)]
    deferrals = [verdict for verdict in verdicts if isinstance(verdict, Defer)]
    questions = [verdict for verdict in verdicts if isinstance(verdict, Admit) and verdict.approval]
    if rejections:
        assert outcome == rejections[0]
    elif deferrals:
        assert isinstance(outcome, Defer)
        assert set(outcome.on) == {key for verdict in deferrals for key in verdict.on}
        assert len(outcome.on) == len(set(outcome.on))
    else:
        assert outcome == (questions[0] if questions else ADMIT)


@given(st.lists(st.sampled_from([ADMIT, REJECT, OTHER_REJECT, DEFER, OTHER_DEFER, ASK, OTHER_ASK])))
def test_objections_are_what_each_guard_says_on_its_own(verdicts: list[Verdict]) -> None:
    """None hides another, and none is said where a call passes."""
    scene = Scene()
    found = objections(scene.propose("x"), scene.board, tuple(map(saying, verdicts)))
    assert found == [verdict for verdict in verdicts if verdict != ADMIT]


def test_guards_see_the_same_proposal_and_board() -> None:
    """Nothing is passed from guard to guard."""
    seen: list[tuple[int, int]] = []

    def noting(proposal: Proposal, board: Scoreboard) -> Verdict:
        seen.append((id(proposal), id(board)))
        return DEFER

    scene = Scene()
    proposal = scene.propose("x")
    admit(proposal, scene.board, (noting, noting))
    assert seen == [(id(proposal), id(scene.board))] * 2
