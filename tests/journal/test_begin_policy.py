"""The rules of the begin policy as a table: known facts, answer, and what is written."""

from dataclasses import replace

import pytest

from asyncguard.core.calls import CallState
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Started, Success
from asyncguard.errors import JournalError
from asyncguard.journal.begin_policy import Facts, Recorded, Write, in_doubt, judge
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import (
    Attempt,
    AttemptState,
    Fresh,
    Known,
    Lost,
    Refused,
    Running,
    Signal,
    SignalKind,
    Verdict,
)

ONCE, KEYED, PROBED = EffectClass.AT_MOST_ONCE, EffectClass.KEYED, EffectClass.PROBED
DONE = Success(content="done")
NEW, TAKE_OVER, NOTHING = Write.NEW, Write.TAKE_OVER, Write.NOTHING
ASK = Intent(
    session="s",
    namespace="",
    task="t",
    label="pay#1",
    key="k",
    attempt=1,
    tool="pay",
    effect=ONCE,
    arguments={},
    fingerprint="f",
)
KNOWN = Facts(
    process_id="me", ended=False, holder="me", recorded=None, signals=(), followed=False, rival=""
)


def recorded(
    state: AttemptState,
    *,
    alive: bool = False,
    effect: EffectClass = ONCE,
    fingerprint: str = "f",
    process_id: str = "other",
    result: Result | None = None,
) -> Recorded:
    """An attempt that is in the journal."""
    attempt = Attempt(
        number=1,
        tool="pay",
        fingerprint=fingerprint,
        state=state,
        process_id=process_id,
        begun_at=1.0,
        ended_at=None,
        deadline=None,
        result=result,
    )
    return Recorded(attempt=attempt, effect=effect, alive=alive)


def mail(kind: SignalKind, *, attempt: int = 1, content: object = None) -> Signal:
    """Return a signal about the call."""
    return Signal(kind=kind, key="k", attempt=attempt, content=content)


def not_happened(*, again: bool) -> Known:
    """Return the answer for an effect that did not happen."""
    text = "It did not happen, as an operator found. Call it again if it is still wanted."
    return Known(
        result=Failure(
            symptom=Symptom(error="not_happened", message=text, started=False, transient=again)
        )
    )


INTENT = recorded(AttemptState.INTENT)
ENDED = recorded(AttemptState.ENDED, result=DONE)
HAPPENED, DENIED, RETRY = (
    mail(SignalKind.HAPPENED, content="x"),
    mail(SignalKind.NOT_HAPPENED),
    mail(SignalKind.RETRY),
)


OTHER = Lost(process_id="other", other=True)


def answered() -> Known:
    """Return the verdict on an attempt that asked a person and is followed by another one."""
    symptom = Symptom(error="interrupt", message="A person was asked, and answered.", started=False)
    return Known(result=Failure(symptom=symptom))


@pytest.mark.parametrize(
    ("intent", "facts", "verdict", "write"),
    [
        (ASK, KNOWN, Fresh(), NEW),
        (replace(ASK, remote=True), replace(KNOWN, holder=""), Fresh(), NEW),
        (replace(ASK, remote=True), replace(KNOWN, holder="other"), Fresh(), NEW),
        (replace(ASK, effect=EffectClass.IDEMPOTENT), replace(KNOWN, rival="pay#0"), Fresh(), NEW),
        (
            ASK,
            replace(KNOWN, recorded=replace(INTENT, alive=True)),
            Running(process_id="other"),
            NOTHING,
        ),
        (ASK, replace(KNOWN, recorded=INTENT), Lost(process_id="other"), NOTHING),
        (
            replace(ASK, effect=KEYED),
            replace(KNOWN, recorded=INTENT),
            Lost(process_id="other"),
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=replace(INTENT, effect=KEYED)),
            Lost(process_id="other"),
            NOTHING,
        ),
        (
            replace(ASK, effect=PROBED),
            replace(KNOWN, recorded=replace(INTENT, effect=PROBED)),
            Lost(process_id="other"),
            NOTHING,
        ),
        (
            replace(ASK, effect=KEYED),
            replace(KNOWN, recorded=replace(INTENT, effect=KEYED)),
            Fresh(again=True),
            TAKE_OVER,
        ),
        (
            replace(ASK, effect=KEYED),
            replace(KNOWN, recorded=replace(INTENT, effect=KEYED, alive=True)),
            Running(process_id="other"),
            NOTHING,
        ),
        (ASK, replace(KNOWN, recorded=recorded(AttemptState.ASKED)), Fresh(), TAKE_OVER),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.ASKED), followed=True),
            answered(),
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.INTENT, fingerprint="g")),
            OTHER,
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.STARTED)),
            Known(result=Started()),
            NOTHING,
        ),
        (ASK, replace(KNOWN, recorded=ENDED), Known(result=DONE), NOTHING),
        (ASK, replace(KNOWN, recorded=ENDED, rival="pay#0"), Known(result=DONE), NOTHING),
        (
            ASK,
            replace(KNOWN, recorded=INTENT, signals=(HAPPENED,)),
            Known(result=Success(content="x")),
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=INTENT, signals=(DENIED,)),
            not_happened(again=False),
            NOTHING,
        ),
        (ASK, replace(KNOWN, recorded=INTENT, signals=(RETRY,)), not_happened(again=True), NOTHING),
        (
            ASK,
            replace(KNOWN, recorded=ENDED, signals=(DENIED, HAPPENED)),
            Known(result=Success(content="x")),
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=INTENT, signals=(replace(RETRY, attempt=2),)),
            Lost(process_id="other"),
            NOTHING,
        ),
        (
            ASK,
            replace(KNOWN, recorded=INTENT, signals=(mail(SignalKind.DELIVERY),)),
            Lost(process_id="other"),
            NOTHING,
        ),
    ],
)
def test_an_intent_is_answered_by_what_is_known(
    intent: Intent, facts: Facts, verdict: Verdict, write: Write
) -> None:
    """Every answer but a refusal, with what is written."""
    assert judge(intent, facts) == (verdict, write)


@pytest.mark.parametrize(
    ("intent", "facts", "said"),
    [
        (ASK, replace(KNOWN, ended=True), "declared dead"),
        (replace(ASK, remote=True), replace(KNOWN, ended=True), "declared dead"),
        (ASK, replace(KNOWN, ended=True, recorded=ENDED), "declared dead"),
        (ASK, replace(KNOWN, holder="other"), "another process"),
        (ASK, replace(KNOWN, holder=""), "another process"),
        (ASK, replace(KNOWN, holder="other", recorded=ENDED), "another process"),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.ENDED, fingerprint="g", result=DONE)),
            "other arguments",
        ),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.ASKED, fingerprint="g")),
            "other arguments",
        ),
        (
            ASK,
            replace(KNOWN, recorded=recorded(AttemptState.INTENT, fingerprint="g", effect=PROBED)),
            "other arguments",
        ),
        (
            ASK,
            replace(
                KNOWN, recorded=recorded(AttemptState.INTENT, fingerprint="g"), signals=(HAPPENED,)
            ),
            "other arguments",
        ),
        (ASK, replace(KNOWN, rival="pay#0"), "pay#0"),
        (replace(ASK, effect=PROBED), replace(KNOWN, rival="pay#0"), "pay#0"),
    ],
)
def test_a_refusal_says_why_and_writes_nothing(intent: Intent, facts: Facts, said: str) -> None:
    """Every refusal has a reason and writes nothing."""
    verdict, write = judge(intent, facts)
    assert isinstance(verdict, Refused)
    assert said in verdict.reason
    assert verdict.fenced is (said in ("declared dead", "another process"))
    assert write is NOTHING


def test_an_ended_attempt_without_a_result_is_an_error() -> None:
    """A row that no journal writes decides nothing."""
    with pytest.raises(JournalError, match="without a result"):
        judge(ASK, replace(KNOWN, recorded=recorded(AttemptState.ENDED)))


@pytest.mark.parametrize(
    ("state", "resolution", "latest", "expected"),
    [
        (CallState.IN_DOUBT, "", None, True),
        (CallState.IN_DOUBT, "", ENDED, True),
        (CallState.IN_DOUBT, "happened", ENDED, False),
        (CallState.PENDING, "", None, False),
        (CallState.PENDING, "", INTENT, True),
        (CallState.PENDING, "retry", INTENT, False),
        (CallState.PENDING, "", replace(INTENT, alive=True), False),
        (CallState.PENDING, "", replace(INTENT, effect=KEYED), False),
        (CallState.PENDING, "", replace(INTENT, effect=PROBED), True),
        (CallState.PENDING, "", ENDED, False),
        (CallState.PENDING, "", recorded(AttemptState.STARTED), False),
        (CallState.DONE, "", INTENT, False),
        (CallState.FAILED, "", INTENT, False),
    ],
)
def test_what_is_in_doubt(
    state: CallState, resolution: str, latest: Recorded | None, expected: bool
) -> None:
    """A call is in doubt by its thread's word or after a loss, until a resolution ends it."""
    assert in_doubt(state, resolution, latest) is expected
