"""The table of recovery: each row by a case that hits it, each switch, each budget."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import RetryCallState

from asyncguard.config import RECOVERY_NAMES, GuardConfig, Limits, Timing
from asyncguard.core.calls import Call
from asyncguard.core.events import Aim, CallFound, CallStarted, Outcome, RecoveryAction
from asyncguard.core.faults import (
    Anomaly,
    AnomalyKind,
    Contract,
    Diagnosis,
    ErrorCode,
    HazardKind,
    Symptom,
)
from asyncguard.core.footprints import EffectClass, Footprint
from asyncguard.core.records import CallRecord, Finding
from asyncguard.core.tool_spec import Fallback, Retry, Source, ToolSpec
from asyncguard.recovery.consensus import Candidate, Consensus
from asyncguard.recovery.decisions import Attempt, End, Recovery, Spent
from asyncguard.recovery.effect_probe import ProbeAnswer, Probed
from asyncguard.recovery.failure_case import CallObservation, Case
from asyncguard.recovery.policy import (
    FAILED,
    STRANGE,
    Row,
    decide,
)
from asyncguard.recovery.repair.arguments import Rebound
from asyncguard.recovery.repair.results import Normalised

A = RecoveryAction
CONFIG = GuardConfig(timing=Timing(retry_initial=1.0, retry_jitter=0.0))
NOTHING = Spent(run=0, task=0)
RESET = Symptom(error="ConnectionError", message="reset", mro=("builtins.ConnectionError",))
BUSY = Symptom(error="ToolFault", message="busy", transient=True, started=False)
REFUSED = Symptom(error="ToolFault", message="unprocessable", status=422, started=False)
CLOSED = Symptom(error="ValueError", message="closed", mro=("builtins.ValueError",))
SAID_NO = Symptom(error="tool_error", message="no", transient=False, answered=True)
RESTS = Symptom(
    error=ErrorCode.CIRCUIT_OPEN, message="rests", transient=True, started=False, retry_after=60.0
)
STOPPED = Symptom(error=ErrorCode.USER_SPOKE, message="stopped", transient=False, started=False)
CANCELLED_CALL = Symptom(error=ErrorCode.CANCELLED, message="cancelled")
READ = Finding(aim=Aim.CONTRACT, tool="describe", content="{}")
VERIFIED = Finding(aim=Aim.VERIFIER, tool="v", content="1")
SOURCED = Finding(aim=Aim.SOURCE, tool="s", content="1")
LIVE = Contract(parameters={"type": "object"}, returns=None)


def bound(*, firm: bool = True, decided: bool = True) -> Consensus:
    """Return a consensus of sources."""
    own = Candidate(source="t", value=1, trusted=False, date=None)
    return Consensus(
        decided=decided, firm=firm, value=1, reason="s agrees", candidates=(own,), agreeing=("s",)
    )


@dataclass(frozen=True, kw_only=True)
class Given:
    """A case in short."""

    effect: EffectClass = EffectClass.PURE
    symptom: Symptom | None = None
    anomaly: AnomalyKind | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    recoveries: tuple[RecoveryAction, ...] = ()
    tries: int = 1
    hazard: HazardKind = HazardKind.EXECUTION
    normalised: Normalised | None = None
    rebound: Rebound | None = None
    probed: Probed = Probed.UNASKED
    result: Any = None
    settlement: Consensus | None = None

    def case(self) -> Case:
        """All of it."""
        spec = ToolSpec(name="t", effect=self.effect, key_argument="key", **self.spec)
        call = Call(
            key="k",
            sequence=1,
            task="a",
            tool="t",
            ordinal=1,
            arguments={"x": 1},
            call_id="c",
            message_id="m",
            footprint=Footprint(reads=None, writes=None),
            fingerprint="f",
        )
        record = CallRecord(
            call=call,
            tool="t",
            answer_tool="t",
            answer_attempts=self.tries,
            attempts=self.tries,
            findings=self.findings,
            recoveries=self.recoveries,
        )
        wrong = (
            ()
            if self.anomaly is None
            else (Anomaly(kind=self.anomaly, pointer="", message="It is odd."),)
        )
        return Case(
            seen=CallObservation(symptom=self.symptom, content="odd", anomalies=wrong),
            called=spec,
            attempted=spec,
            record=record,
            diagnosis=Diagnosis(hazard=self.hazard, rule="r", evidence=("seen",), confidence=0.9),
            contract=LIVE if self.findings else None,
            normalised=self.normalised,
            rebound=self.rebound,
            probe=ProbeAnswer(probed=self.probed, result=self.result),
            settlement=self.settlement,
        )


PROBED = {"probe": "check"}
TOLD = {"contract": "describe"}
SIBLING = {"fallbacks": (Fallback(tool="b", arguments={"y": "x"}),)}
VERIFIER = {"verifier": Fallback(tool="v")}
SOURCE = {"sources": (Source(tool="s"),)}
CHANGED = Rebound(arguments={"y": 1}, changes=("x is y",))
MENDED = Normalised(value=[1, 2], changes=("cost is price",))
_BOUNDS, _UNREADABLE = AnomalyKind.BOUNDS, AnomalyKind.UNREADABLE

ROWS: list[tuple[Given, RecoveryAction, str, Aim | Outcome]] = [
    (Given(symptom=STOPPED, spec=SIBLING), A.GIVE_UP, "the user stopped it", Outcome.FAILED),
    (
        Given(effect=EffectClass.AT_MOST_ONCE, symptom=CANCELLED_CALL, spec=SIBLING),
        A.GIVE_UP,
        "the user stopped it",
        Outcome.IN_DOUBT,
    ),
    (
        Given(
            effect=EffectClass.PROBED,
            symptom=RESET,
            spec=PROBED,
            probed=Probed.HAPPENED,
            result="paid",
        ),
        A.VERIFY,
        "the probe says that it happened",
        Outcome.DONE,
    ),
    (
        Given(effect=EffectClass.PROBED, symptom=RESET, spec={**PROBED, **SIBLING}),
        A.VERIFY,
        "the effect may have begun",
        Aim.PROBE,
    ),
    (
        Given(effect=EffectClass.AT_MOST_ONCE, symptom=REFUSED, rebound=CHANGED, findings=(READ,)),
        A.REBIND,
        "the live contract differs",
        Aim.ANSWER,
    ),
    (Given(symptom=REFUSED, spec=TOLD), A.REFRESH, "the tool refused the call", Aim.CONTRACT),
    (Given(symptom=RESTS, spec=SIBLING), A.FALLBACK, "the tool rests", Aim.ANSWER),
    (Given(symptom=RESET, spec=SIBLING), A.RETRY, "transient", Aim.ANSWER),
    (Given(symptom=RESTS), A.RETRY, "transient", Aim.ANSWER),
    (Given(symptom=REFUSED, hazard=HazardKind.INVOCATION), A.RETRY, "transient", Aim.ANSWER),
    (
        Given(effect=EffectClass.PROBED, symptom=CLOSED, spec=PROBED, probed=Probed.TOO_EARLY),
        A.VERIFY,
        "the attempt may still run",
        Aim.PROBE,
    ),
    (
        Given(effect=EffectClass.PROBED, symptom=CLOSED, spec=PROBED, probed=Probed.NOT_HAPPENED),
        A.RETRY,
        "transient",
        Aim.ANSWER,
    ),
    (Given(symptom=CLOSED, spec=SIBLING), A.FALLBACK, "sibling declared", Aim.ANSWER),
    (
        Given(symptom=CLOSED, spec=VERIFIER, findings=(VERIFIED,), settlement=bound()),
        A.VERIFY,
        "another derivation agrees",
        Outcome.DONE,
    ),
    (
        Given(symptom=CLOSED, spec=SOURCE, findings=(SOURCED,), settlement=bound()),
        A.CROSS_CHECK,
        "another source answers",
        Outcome.DONE,
    ),
    (
        Given(symptom=CLOSED, spec=VERIFIER),
        A.VERIFY,
        "it can be derived in another way",
        Aim.VERIFIER,
    ),
    (Given(symptom=CLOSED, spec=SOURCE), A.CROSS_CHECK, "another source can answer", Aim.SOURCE),
    (Given(symptom=CLOSED), A.ASK, "nothing more can be done here", Outcome.FAILED),
    (
        Given(
            effect=EffectClass.AT_MOST_ONCE,
            symptom=RESET,
            spec={**SIBLING, **SOURCE, **VERIFIER, **TOLD},
        ),
        A.ASK,
        "nothing more can be done here",
        Outcome.IN_DOUBT,
    ),
    (
        Given(
            effect=EffectClass.AT_MOST_ONCE,
            symptom=replace(REFUSED, started=True),
            spec={**TOLD, **SIBLING},
        ),
        A.ASK,
        "nothing more can be done here",
        Outcome.IN_DOUBT,
    ),
    (
        Given(effect=EffectClass.AT_MOST_ONCE, symptom=SAID_NO, spec=SIBLING),
        A.ASK,
        "nothing more can be done here",
        Outcome.FAILED,
    ),
    (
        Given(anomaly=AnomalyKind.MISSING, normalised=MENDED),
        A.NORMALISE,
        "it takes no guess",
        Outcome.DONE,
    ),
    (
        Given(effect=EffectClass.PROBED, anomaly=_UNREADABLE, spec=PROBED, probed=Probed.HAPPENED),
        A.VERIFY,
        "the probe says what happened",
        Outcome.DONE,
    ),
    (
        Given(anomaly=_BOUNDS, spec=VERIFIER, findings=(VERIFIED,), settlement=bound()),
        A.VERIFY,
        "another derivation decides",
        Outcome.DONE,
    ),
    (
        Given(anomaly=_BOUNDS, spec=SOURCE, findings=(SOURCED,), settlement=bound()),
        A.CROSS_CHECK,
        "the sources decide",
        Outcome.DONE,
    ),
    (Given(anomaly=_BOUNDS, spec=TOLD), A.REFRESH, "the contract may differ", Aim.CONTRACT),
    (
        Given(effect=EffectClass.PROBED, anomaly=_UNREADABLE, spec=PROBED),
        A.VERIFY,
        "the effect's answer is strange",
        Aim.PROBE,
    ),
    (
        Given(anomaly=_BOUNDS, spec={**VERIFIER, **SIBLING}),
        A.VERIFY,
        "the content is doubted",
        Aim.VERIFIER,
    ),
    (
        Given(anomaly=_BOUNDS, spec={**SOURCE, **SIBLING}),
        A.CROSS_CHECK,
        "the content is doubted",
        Aim.SOURCE,
    ),
    (Given(anomaly=_UNREADABLE, spec=SIBLING), A.RETRY, "unreadable", Aim.ANSWER),
    (
        Given(anomaly=_UNREADABLE, spec=SIBLING, recoveries=(A.RETRY,)),
        A.FALLBACK,
        "sibling declared",
        Aim.ANSWER,
    ),
    (
        Given(anomaly=AnomalyKind.TYPE, spec=VERIFIER),
        A.VERIFY,
        "it can be derived in another way",
        Aim.VERIFIER,
    ),
    (
        Given(anomaly=AnomalyKind.TYPE, spec=SOURCE),
        A.CROSS_CHECK,
        "another source can answer",
        Aim.SOURCE,
    ),
    (Given(anomaly=_BOUNDS), A.ASK, "nothing more can be done here", Outcome.FAILED),
    (
        Given(
            effect=EffectClass.AT_MOST_ONCE,
            anomaly=_UNREADABLE,
            spec={**SIBLING, **SOURCE, **VERIFIER},
        ),
        A.ASK,
        "nothing more can be done here",
        Outcome.DONE,
    ),
]


def comes_to(decided: Recovery) -> Aim | Outcome:
    """Return the aim or outcome that follows."""
    return decided.then.aim if isinstance(decided.then, Attempt) else decided.then.outcome


@pytest.mark.parametrize(
    ("given_case", "action", "reason", "then"), ROWS, ids=[f"{r[1].value}: {r[2]}" for r in ROWS]
)
def test_a_case_meets_its_row(
    given_case: Given, action: RecoveryAction, reason: str, then: Aim | Outcome
) -> None:
    """Action, reason for the log, and what follows."""
    decided = decide(given_case.case(), CONFIG, NOTHING)
    assert (decided.action, decided.reason, comes_to(decided)) == (action, reason, then)


@pytest.mark.parametrize(
    ("table", "failed"), [(FAILED, True), (STRANGE, False)], ids=["failed", "strange"]
)
def test_no_row_is_untested(table: tuple[Row, ...], failed: bool) -> None:
    """A row that no case hits could be wrong, or never be reached."""
    hit = {
        (action, reason) for case, action, reason, _ in ROWS if (case.symptom is not None) is failed
    }
    assert hit == {(row.action, row.reason) for row in table}


@pytest.mark.parametrize(
    "switch", [name for name in RECOVERY_NAMES if name != "breaker"]
)  # the breaker is asked by the engine, not by the table
def test_an_action_that_is_off_is_never_decided(switch: str) -> None:
    """No row decides an action that is off, although one of them would have."""
    off = replace(CONFIG, **{switch: False})
    actions = {"refresh": {A.REFRESH, A.REBIND}}.get(
        switch, {A(switch)} if switch in list(A) else set()
    )
    assert actions
    assert any(action in actions for _, action, _, _ in ROWS)
    for case, *_ in ROWS:
        assert decide(case.case(), off, NOTHING).action not in actions


def test_all_switched_off_everything_ends_as_it_came() -> None:
    """No attempt follows, and no result is made up."""
    config = CONFIG.with_switches(dict.fromkeys(RECOVERY_NAMES, False))
    for case, *_ in ROWS:
        decided = decide(case.case(), config, NOTHING)
        assert decided.action is A.GIVE_UP
        assert isinstance(decided.then, End)
        assert decided.then.content == ("odd" if case.symptom is None else case.symptom.message)


@pytest.mark.parametrize(
    "spent",
    [Spent(run=3, task=0), Spent(run=0, task=2), Spent(run=9, task=9)],
    ids=["run", "task", "both"],
)
@pytest.mark.parametrize(
    "case", [Given(symptom=RESET), Given(anomaly=_UNREADABLE)], ids=["failed", "unreadable"]
)
def test_budgets_of_run_and_task_end_retries(case: Given, spent: Spent) -> None:
    """Nothing is repeated once a budget is used up."""
    config = replace(CONFIG, limits=Limits(max_run_retries=3, max_task_retries=2))
    assert decide(case.case(), config, Spent(run=2, task=1)).action is A.RETRY
    assert decide(case.case(), config, spent).action is A.ASK


def test_a_call_that_has_been_recovered_often_enough_ends() -> None:
    """A call that was recovered often enough asks no more; known results are accepted."""
    limit = (A.CROSS_CHECK,) * CONFIG.limits.max_recoveries
    for case, action, reason, then in ROWS:
        decided = decide(replace(case, recoveries=limit).case(), CONFIG, NOTHING)
        assert isinstance(decided.then, End)
        if isinstance(then, Outcome):
            assert (decided.action, decided.reason) == (action, reason)


def test_attempts_are_counted_without_those_that_asked_somebody() -> None:
    """Three at most here, the first included."""
    config = replace(CONFIG, limits=Limits(max_attempts=3))
    assert decide(Given(symptom=RESET, tries=2).case(), config, NOTHING).action is A.RETRY
    assert decide(Given(symptom=RESET, tries=3).case(), config, NOTHING).action is A.ASK


def test_a_list_is_told_as_json() -> None:
    """A list would be taken for content blocks."""
    then = decide(
        Given(anomaly=AnomalyKind.MISSING, normalised=MENDED).case(), CONFIG, NOTHING
    ).then
    assert isinstance(then, End)
    assert (then.content, then.doubtful) == ("[1,2]", False)
    assert "cost is price" in then.mark


def test_an_answer_that_is_passed_on_although_it_is_strange_is_doubtful() -> None:
    """A strange answer that is passed on is doubtful, so that nothing is computed from it."""
    then = decide(
        Given(effect=EffectClass.AT_MOST_ONCE, anomaly=_UNREADABLE).case(), CONFIG, NOTHING
    ).then
    assert isinstance(then, End)
    assert then.doubtful
    assert "do not rely on it" in then.mark


def test_an_undecided_settlement_is_never_accepted() -> None:
    """A tie is reported."""
    case = Given(
        anomaly=_BOUNDS,
        spec=SOURCE,
        findings=(SOURCED,),
        settlement=bound(decided=False, firm=False),
    )
    decided = decide(case.case(), CONFIG, NOTHING)
    assert (decided.action, comes_to(decided)) == (A.ASK, Outcome.FAILED)


def test_while_a_settlement_could_be_turned_over_the_next_source_is_asked() -> None:
    """A trusted source speaks last."""
    two = {"sources": (Source(tool="s"), Source(tool="z"))}
    case = Given(anomaly=_BOUNDS, spec=two, findings=(SOURCED,), settlement=bound(firm=False))
    assert decide(case.case(), CONFIG, NOTHING).then == Attempt(
        aim=Aim.SOURCE, tool="z", arguments={"x": 1}
    )


# -- what is safe --------------------------------------------------------------------------------------------------

SYMPTOMS = st.builds(
    Symptom,
    error=st.sampled_from(
        ["timeout", "cancelled", "ConnectionError", "ToolFault", "process_lost", "tool_error"]
    ),
    message=st.just("m"),
    status=st.sampled_from([None, 400, 404, 422, 429, 500, 503]),
    transient=st.sampled_from([None, True, False]),
    started=st.booleans(),
    answered=st.booleans(),
    retry_after=st.sampled_from([None, 0.0, 5.0, float("inf")]),
)
EVERYTHING = {**TOLD, **SIBLING, **VERIFIER, **SOURCE}


@given(st.data())
def test_nothing_has_an_effect_after_an_effect_that_may_have_begun(data: st.DataObject) -> None:
    """Neither tool nor sibling is called, unless the tool or its probe denied that it began."""
    effect = data.draw(st.sampled_from([EffectClass.AT_MOST_ONCE, EffectClass.PROBED]))
    symptom = data.draw(st.none() | SYMPTOMS)
    probed = data.draw(
        st.sampled_from([each for each in Probed if each is not Probed.NOT_HAPPENED])
    )
    case = Given(
        effect=effect,
        symptom=symptom,
        anomaly=data.draw(st.sampled_from(AnomalyKind)) if symptom is None else None,
        spec=EVERYTHING | (PROBED if effect is EffectClass.PROBED else {}),
        probed=probed,
        hazard=data.draw(st.sampled_from(HazardKind)),
        findings=tuple(
            data.draw(st.lists(st.sampled_from([READ, VERIFIED, SOURCED]), unique=True))
        ),
        rebound=data.draw(st.sampled_from([None, CHANGED])),
    ).case()
    off = data.draw(st.sets(st.sampled_from(RECOVERY_NAMES)))
    then = decide(case, CONFIG.with_switches(dict.fromkeys(off, False)), NOTHING).then
    if symptom is not None and not symptom.started:
        return
    assert not (isinstance(then, Attempt) and then.aim is Aim.ANSWER)
    unknown = symptom is not None and not symptom.answered and probed is not Probed.HAPPENED
    if unknown and isinstance(then, End):
        assert then.outcome is Outcome.IN_DOUBT


# -- timing and lost processes -------------------------------------------------------------------------------------


def delay_of(case: Given, config: GuardConfig = CONFIG) -> float:
    """Return the wait that the policy decides for a case."""
    then = decide(case.case(), config, NOTHING).then
    assert isinstance(then, Attempt)
    return then.delay


def test_a_back_off_doubles_and_has_a_limit() -> None:
    """It is 1, 2, 4 s ... up to the longest; a wait that the server asks for replaces it."""
    many = replace(CONFIG, limits=Limits(max_attempts=5000))
    waits = [delay_of(Given(symptom=RESET, tries=n), many) for n in (1, 2, 3, 20, 4000)]
    assert waits == [1.0, 2.0, 4.0, 30.0, 30.0]
    assert delay_of(Given(symptom=replace(BUSY, retry_after=7.5))) == 7.5
    assert delay_of(Given(symptom=replace(BUSY, retry_after=-1.0))) == 0.0


def test_the_jitter_is_the_same_in_a_replay() -> None:
    """It is drawn from key and attempt."""
    config = replace(CONFIG, timing=Timing(retry_initial=1.0, retry_jitter=0.5))
    drawn = int.from_bytes(hashlib.sha256(b"k|1").digest()[:8], "big") / 2**64
    assert delay_of(Given(symptom=RESET), config) == pytest.approx(1.0 + drawn * 0.5)


def test_the_time_since_the_first_attempt_begins_with_the_process() -> None:
    """The clock of the process that made earlier attempts was another one."""
    seen: list[tuple[int, float | None]] = []

    def stop(state: RetryCallState) -> bool:
        seen.append((state.attempt_number, state.seconds_since_start))
        return False

    given = replace(Given(symptom=RESET), spec={"retry": Retry(stop=stop)}).case()
    for number, (process, at) in enumerate([("old", 9000.0), ("new", 3.0), ("new", 7.0)], start=1):
        start = CallStarted(n=number, at=at, key="k", attempt=number, tool="t", epoch=process)
        found = CallFound(n=number, at=at + 1, key="k", aim=Aim.ANSWER, tool="t", content={})
        given.record.history += (start, found)
    assert decide(given, CONFIG, NOTHING).action is A.RETRY
    assert seen == [(3, 5.0)]


def test_an_unreadable_answer_counts_as_an_attempt() -> None:
    """With one attempt allowed, nothing is tried again, whatever the answer looked like."""
    once = replace(CONFIG, limits=Limits(max_attempts=1))
    case = Given(anomaly=_UNREADABLE)
    assert decide(case.case(), CONFIG, NOTHING).action is A.RETRY
    assert decide(case.case(), once, NOTHING).action is not A.RETRY
