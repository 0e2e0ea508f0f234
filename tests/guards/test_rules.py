"""Guards of the user's own: what may be declared, what they are shown, and what becomes of a wrong verdict."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import (
    Admit,
    BoardView,
    CallerError,
    DeclarationError,
    Defer,
    GuardConfig,
    GuardRule,
    Proposal,
    Reject,
    ToolSpec,
    Verdict,
)
from asyncguard.config import OPT_IN_GUARDS
from asyncguard.core.admission import ADMIT, Fault
from asyncguard.guards import GUARDS, enabled, watching
from asyncguard.guards.rules import guard_of
from tests.core.builders import Scene, approval, deferral, rejection

Judge = Callable[[Proposal, BoardView], Any]


def passes(proposal: Proposal, board: BoardView) -> Verdict:
    """Let all calls pass."""
    return Admit()


class Object:
    """A rule may be an object."""

    def __call__(self, proposal: Proposal, board: BoardView) -> Verdict:
        return Admit()


def rule(judge: Judge, **fields: Any) -> GuardRule:
    """A rule named ``own``."""
    return GuardRule(**{"name": "own", "judge": judge, **fields})


def judged(scene: Scene, answer: Any, *, on_error: Any = "reject") -> Verdict | Fault:
    """What a rule with this answer, or this function, says of a new call."""
    judge = answer if callable(answer) else lambda proposal, board: answer
    return guard_of(rule(judge, on_error=on_error))(scene.propose("x"), scene.board)


def fault(verdict: Verdict | Fault) -> Fault:
    """The verdict, which has to be a fault of ``own`` after which the call is refused."""
    assert isinstance(verdict, Fault), verdict
    assert verdict.guard == "own"
    rejection(verdict.verdict, "own")
    return verdict


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "grounding"}, "not a name of asyncguard's own, not 'grounding'"),
        ({"name": "waiting"}, "not a name of asyncguard's own"),
        ({"name": "operands"}, "not a name of asyncguard's own"),
        ({"name": "over budget"}, "an ASCII identifier"),
        ({"name": ""}, "an ASCII identifier"),
        ({"name": "größe"}, "an ASCII identifier"),
        ({"name": 3}, "GuardRule.name must be a text"),
        ({"judge": "passes"}, "GuardRule.judge must be a function"),
        ({"before": "completion"}, "is not a guard that judges calls; choose from clarification"),
        ({"before": "own"}, "before='own' is not a guard"),
        ({"on_error": "ignore"}, "GuardRule.on_error must be 'reject' or 'admit'"),
    ],
)
def test_wrong_declarations_are_refused_by_name(fields: dict[str, Any], words: str) -> None:
    """The message says which field is wrong and what it may be."""
    with pytest.raises(DeclarationError, match=words):
        GuardRule(**{"name": "own", "judge": passes, **fields})


def test_coroutine_functions_are_refused() -> None:
    """Nothing would await them: neither a function nor an object with an async call."""

    async def judge(proposal: Proposal, board: BoardView) -> Verdict:
        return Admit()

    class Later:
        async def __call__(self, proposal: Proposal, board: BoardView) -> Verdict:
            return Admit()

    for late in (judge, Later(), partial(judge)):
        with pytest.raises(DeclarationError, match="give a plain function"):
            rule(late)


def test_a_configuration_takes_each_name_once_and_nothing_but_rules() -> None:
    """A list is kept as a tuple; a bare function and two rules of one name are refused."""
    own = rule(passes)
    assert GuardConfig(extra=[own]).extra == (own,)  # type: ignore[arg-type]
    assert GuardConfig.none(extra=(own,)).extra == (own,)
    with pytest.raises(CallerError, match="more than one guard named 'own'"):
        GuardConfig(extra=(own, rule(Object())))
    with pytest.raises(CallerError, match=r"build one with GuardRule\(\.\.\.\)"):
        GuardConfig(extra=(passes,))  # type: ignore[arg-type]


def test_configurations_with_rules_are_values() -> None:
    """Equal rules make equal configurations with one hash; in JSON the functions are named."""
    one, other = (GuardConfig(extra=(rule(passes, before="capacity"),)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != GuardConfig()
    told = json.loads(json.dumps(one.to_json()))
    judge = f"{__name__}:passes"
    assert told["extra"] == [
        {"name": "own", "judge": judge, "before": "capacity", "on_error": "reject"}
    ]
    assert GuardConfig(extra=(rule(Object()),)).to_json()["extra"][0]["judge"] == (
        f"{__name__}:Object"
    )
    # Saved results are compared by these values; without rules they are as they were before there were any.
    assert "extra" not in GuardConfig().to_json()


def test_rules_are_asked_in_their_place() -> None:
    """Before the guard they name, on or off, or after all; rules of one place in the order given."""
    asked: list[str] = []

    def noting(name: str) -> GuardRule:
        def judge(proposal: Proposal, board: BoardView) -> Verdict:
            asked.append(name)
            return Admit()

        place = name.partition("_")[2] or None
        return GuardRule(name=name, judge=judge, before=place)

    rules = [noting(name) for name in ("z", "b_trust", "c_scope", "a_trust", "y")]
    for config in (GuardConfig(extra=tuple(rules)), GuardConfig.none(extra=tuple(rules))):
        asked.clear()
        scene = Scene(ToolSpec(name="x"))
        scene.admit(scene.propose("x"), enabled(config))
        assert asked == ["c_scope", "b_trust", "a_trust", "z", "y"]
    guards = enabled(GuardConfig(extra=(noting("q_grounding"),)))
    built_in = dict(GUARDS)
    assert guards.index(built_in["grounding"]) - guards.index(built_in["duplicate"]) == 2
    watched = watching(replace(GuardConfig(extra=tuple(rules)), shadow=True))
    assert len(watched) == len(GUARDS) - len(OPT_IN_GUARDS) + 5


def test_verdicts_carry_the_name_of_their_rule() -> None:
    """Whatever name the function gave them, or none."""
    scene = Scene(ToolSpec(name="x"))
    key = scene.start("x")
    reject = judged(scene, Reject(guard="grounding", reason="This is not for today."))
    assert rejection(reject, "own").on == ()  # type: ignore[arg-type]
    found = judged(scene, Defer(reason="Early.", on=(key,), also=("scope",)))
    assert deferral(found, "own").also == ()  # type: ignore[arg-type]
    approval(judged(scene, Admit(approval="It is dear.")), "own")  # type: ignore[arg-type]
    assert judged(scene, Admit(guard="trust")) == ADMIT


def test_what_raises_or_is_no_verdict_is_a_fault() -> None:
    """The problem names class and place, and quotes no message, which may hold a payload."""

    def fails(proposal: Proposal, board: BoardView) -> Verdict:
        raise ValueError("secret")

    scene = Scene(ToolSpec(name="x"))
    problem = fault(judged(scene, fails)).problem
    assert problem.startswith("raised ValueError at ")
    assert "test_rules.py:" in problem
    assert "secret" not in problem

    def cancels(proposal: Proposal, board: BoardView) -> Verdict:
        raise asyncio.CancelledError

    assert fault(judged(scene, cancels)).problem.startswith("raised CancelledError at ")

    async def late(proposal: Proposal, board: BoardView) -> Verdict:
        return Admit()

    for answer, kind in ((None, "NoneType"), (False, "bool"), (Admit, "type")):
        saying = partial(lambda answer, proposal, board: answer, answer)
        assert fault(judged(scene, saying)).problem.startswith(f"answered with {kind} instead")
    coroutine = judged(scene, lambda proposal, board: late(proposal, board))
    assert "answered with coroutine" in fault(coroutine).problem


def test_verdicts_with_wrong_fields_are_faults() -> None:
    """A text where keys belong, a reason that is none, and nothing to wait for."""
    scene = Scene(ToolSpec(name="x"))
    wrong: Any = "k1"
    for verdict, words in (
        (Reject(reason=" "), "gave no reason for its Reject"),
        (Reject(reason="No.", on=wrong), "Reject.on must be a tuple of text"),
        (Admit(approval=1), "Admit.approval must be a text"),  # type: ignore[arg-type]
        (Defer(reason="Early.", on=()), "without naming what it waits for"),
        (Defer(reason="Early.", on=("nope",)), "named a call that does not exist"),
        (Reject(reason="No.", on=("nope",)), "named a call that does not exist"),
    ):
        assert words in fault(judged(scene, verdict)).problem


def test_a_fault_may_leave_the_call_to_the_other_guards() -> None:
    """With ``on_error="admit"`` the call is judged as if the rule were not there, and the fault is reported."""
    scene = Scene(ToolSpec(name="x"))
    found = judged(scene, 3, on_error="admit")
    assert isinstance(found, Fault)
    assert found.verdict == ADMIT


@pytest.mark.parametrize("kind", [Defer, Reject])
def test_no_call_waits_for_itself_or_a_later_one(kind: type[Defer] | type[Reject]) -> None:
    """Both would wait for ever."""
    scene = Scene(ToolSpec(name="x"))
    first = scene.propose("x", message="m")
    second = scene.propose("x", message="m")
    for named in (first, second):
        own = rule(lambda proposal, board, key=named.call.key: kind(reason="Wait.", on=(key,)))
        assert "does not come before" in fault(guard_of(own)(first, scene.board)).problem


def test_no_call_is_deferred_for_one_that_has_ended() -> None:
    """It would be released and deferred without end; a refusal may name it."""
    scene = Scene(ToolSpec(name="x"))
    key = scene.finished("x")
    assert "which has ended" in fault(judged(scene, Defer(reason="Wait.", on=(key,)))).problem
    rejection(judged(scene, Reject(reason="Its result is known by now.", on=(key,))), "own")  # type: ignore[arg-type]


def test_a_rule_cannot_change_the_thread() -> None:
    """Everything it is shown is a copy or frozen."""
    scene = Scene(ToolSpec(name="x"))
    key = scene.start("x", {"deep": {"list": [1]}})
    scene.end(key, content={"rows": [1]})
    scene.start("x", {"deep": {"list": [2]}})

    def meddle(proposal: Proposal, board: BoardView) -> Verdict:
        proposal.call.arguments["deep"]["list"].append("changed")
        for call in (*board.calls(), *board.open_before(proposal.call)):
            call.arguments["deep"]["list"].append("changed")
            with pytest.raises(FrozenInstanceError):
                call.state = "done"  # type: ignore[misc, assignment]
        board.result(key)["rows"].append("changed")
        board.goals().clear()
        for what, name in ((proposal, "approved"), (proposal.call, "task"), (board, "tainted")):
            # CPython answers TypeError where a frozen class with slots has no such field.
            with pytest.raises((AttributeError, TypeError)):
                setattr(what, name, True)
        return Admit()

    proposal = scene.propose("x", {"deep": {"list": [3]}})
    before = str(scene.events), str(scene.board)
    assert guard_of(rule(meddle))(proposal, scene.board) == ADMIT
    assert (str(scene.events), str(scene.board)) == before
    assert proposal.call.arguments == {"deep": {"list": [3]}}


def test_what_a_rule_is_shown() -> None:
    """Calls of all tasks with state, result and declaration; earlier open ones on their own."""
    scene = Scene(ToolSpec(name="x"), ToolSpec(name="pay", destructive=True), tasks=("a", "b"))
    done = scene.finished("x", {"n": 1}, task="a")
    running = scene.start("pay", {"n": 2}, task="b")
    own = scene.propose("x", {"n": 3}, task="a", message="m")
    later = scene.propose("x", {"n": 4}, task="a", message="m")
    view = BoardView(_board=scene.board)
    assert [call.key for call in view.calls()] == [done, running, own.call.key, later.call.key]
    assert [call.key for call in view.open_before(own.call)] == [running]
    (pending,) = view.open_before(own.call)
    assert (pending.label, pending.task, pending.arguments) == ("pay#1", "b", {"n": 2})
    assert pending.open
    assert not pending.succeeded
    found = view.call(done)
    assert found is not None
    assert found.succeeded
    assert found.delivered
    assert view.call("nope") is None
    assert view.result(done) == "ok"
    assert view.result(running) is None
    assert view.result("nope") is None
    assert view.goals() == {"a": "Do a.", "b": "Do b."}
    assert view.spec("pay").destructive
    assert not view.tainted


verdicts = st.one_of(
    st.none() | st.booleans() | st.text(max_size=3),
    st.builds(Admit, approval=st.text(max_size=2) | st.none()),
    st.builds(Reject, reason=st.text(max_size=2) | st.none(), on=st.tuples(st.integers(-1, 4))),
    st.builds(Defer, reason=st.text(max_size=2), on=st.lists(st.integers(-1, 4)).map(tuple)),
)


@given(verdicts, st.sampled_from(["reject", "admit"]))
def test_no_answer_breaks_a_run(answer: Any, on_error: str) -> None:
    """Whatever a rule answers, each verdict that is followed can be recorded, and waits for earlier calls only."""
    scene = Scene(ToolSpec(name="x"))
    keys = [scene.finished("x"), scene.start("x"), scene.start("x")]
    proposal = scene.propose("x")
    keys += [proposal.call.key, scene.propose("x").call.key]
    if isinstance(answer, Reject | Defer):
        named = (keys[place] if place >= 0 else "nope" for place in answer.on)  # type: ignore[operator]
        answer = replace(answer, on=tuple(named))
    guard = guard_of(rule(lambda proposal, board: answer, on_error=on_error))
    found = guard(proposal, scene.board)
    verdict = found.verdict if isinstance(found, Fault) else found
    match verdict:
        case Defer():
            assert verdict.guard == "own"
            assert set(verdict.on) <= {keys[1], keys[2]}
            assert verdict.on
        case Reject():
            assert verdict.guard == "own"
            assert verdict.reason.strip()
            assert set(verdict.on) <= set(keys[:3])
        case Admit():
            assert verdict == ADMIT or verdict.guard == "own"
    if isinstance(found, Fault):
        assert isinstance(verdict, Reject if on_error == "reject" else Admit)
