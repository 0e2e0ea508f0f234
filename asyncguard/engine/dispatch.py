"""From admitted calls to results: issue, collect, recover, wait."""

from collections.abc import Awaitable, Callable, Collection, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.error_codes import ErrorCode
from asyncguard.core.hazards import Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.toolspec import Mode, ToolSpec
from asyncguard.core.turns import Step, dispatchable, next_step
from asyncguard.engine.durable import hand_out_again, intent_of, journaled, take_mail, was_begun
from asyncguard.engine.executors.port import Completion, Failure, Job, Result
from asyncguard.engine.late import heard_late, settled_late, took_own_end
from asyncguard.engine.recovering import ask_again, give_up_lost, harmless, may_begin, reconsider, take
from asyncguard.engine.session import Session
from asyncguard.recovery.case import siblings_left
from asyncguard.recovery.policy import lost_outcome

_EDITED = "This call was begun before with other arguments; make it as a new call."
Runner = Callable[[CallRecord], Callable[[], Awaitable[Result]]]
"""Makes, for a call, the function that runs its tool once."""
_INSIDE: ContextVar[bool] = ContextVar("asyncguard_inside_a_call", default=False)


def issue(session: Session, runner: Runner, records: Iterable[CallRecord] | None = None) -> int:
    """Hand admitted calls to the executor.

    Args:
        session: The thread.
        runner: Runs the tools.
        records: Which calls; all that may be issued by default.

    Returns:
        How many were issued.
    """
    chosen = dispatchable(session.board) if records is None else list(records)
    for record in chosen:
        if _taken_over(session, record):
            continue
        delay = record.delay
        session.record.started(record.key, attempt=record.attempts + 1, tool=record.tool)
        _start(session, record, runner, delay=delay)
    return len(chosen)


def issue_again(session: Session, runner: Runner) -> int:
    """Hand the calls of a lost process to the executor again, under the numbers of their attempts.

    Args:
        session: The thread.
        runner: Runs the tools.

    Returns:
        How many were handed out.
    """
    keys = session.live.take_again()
    for key in keys:
        _start(session, session.ledger.record(key), runner, delay=0.0)
    return len(keys)


def _start(session: Session, record: CallRecord, runner: Runner, *, delay: float) -> None:
    spec = session.board.spec(record.tool)
    arguments = attempt_arguments(session, record)
    run = _inside(runner(record))  # first: it makes the delivery token of an external call, which the intent holds
    journaled = session.engine.journal is not None and record.aim is ev.Aim.ANSWER
    job = Job(
        key=record.key,
        attempt=record.attempts,
        tool=record.tool,
        task=record.call.task,
        call_id=record.call.call_id,
        arguments=arguments,
        run=run,
        delay=delay,
        timeout=None if spec.mode is Mode.EXTERNAL else spec.timeout,
        stoppable=spec.effect.repeatable,
        late=partial(heard_late, session, record.tool),
        gate=partial(may_begin, session, record.key, record.tool, record.aim),
        intent=intent_of(session, record, arguments) if journaled else None,
    )
    if spec.mode is Mode.EXTERNAL:
        session.board.begins_outside(record.key)
    session.engine.executor.start(job, _receiver(session, record, spec))


def inside_a_call() -> bool:
    """Whether this runs for a tool of an agent: an agent inside of it must not ask to be run again."""
    return _INSIDE.get()


def _inside(run: Callable[[], Awaitable[Result]]) -> Callable[[], Awaitable[Result]]:
    async def marked() -> Result:
        before = _INSIDE.set(True)
        try:
            return await run()
        finally:
            _INSIDE.reset(before)

    return marked


def _receiver(session: Session, record: CallRecord, spec: ToolSpec) -> Callable[[Completion], None]:
    if spec.effect.repeatable or spec.interrupts or spec.mode is Mode.EXTERNAL:
        return session.completed
    begun = session.engine.begun
    return begun.start(
        record.key,
        number=record.attempts,
        tool=record.tool,
        fingerprint=record.call.fingerprint,
        arguments=record.effective_arguments,
        receive=session.completed,
    )


def _taken_over(session: Session, record: CallRecord) -> bool:
    """Whether another branch of the thread made the call already, so that its attempt answers for this one."""
    if record.aim is not ev.Aim.ANSWER:
        return False  # whoever is asked for a call's sake may be asked on every branch
    begun = session.engine.begun
    if begun.differs(record.key, record.call.fingerprint):
        number, tool = record.attempts + 1, record.tool
        refused = Failure(
            symptom=Symptom(error=ErrorCode.JOURNAL_REFUSED, message=_EDITED, transient=False, started=False)
        )
        session.completed(Completion(key=record.key, attempt=number, result=refused))
    else:
        found = begun.take_over(record.key, session.completed, after=record.latest)
        if found is None:
            return False
        number, tool = found
    session.record.started(record.key, attempt=number, tool=tool)
    return True


def attempt_arguments(session: Session, record: CallRecord) -> dict[str, Any]:
    """The arguments of the current attempt: recovery's own, or translated, if a sibling answers for the tool called."""
    if record.sent is not None:
        return dict(record.sent)
    arguments = dict(record.effective_arguments)
    if record.tool == record.call.tool:
        return arguments
    fallbacks = session.board.spec(record.call.tool).fallbacks
    return next(item.translate(arguments) for item in fallbacks if item.tool == record.tool)


def collect(session: Session) -> None:
    """Take the completions that have arrived: results retire their calls, failures are put before the policy."""
    session.engine.executor.poll()
    take_mail(session)
    if session.board.starting:
        session.board.still_pending(session.engine.executor.pending())
    for completion in session.take_completions():
        record = session.ledger.find(completion.key)
        if record is None:
            continue  # a call of another branch of the thread: nobody here asked for it
        if settled_late(session, record, completion) or took_own_end(session, record, completion):
            continue
        if record.state is CallState.PENDING and completion.attempt == record.attempts:
            take(session, record, completion)


def take_escape(session: Session, key: str) -> BaseException:
    """What a call raised for the front end; the call is queued again, for the tool runs anew when it was answered."""
    error = session.live.take_escape(key)
    ask_again(session, session.ledger.record(key))
    return error


def settle_lost(session: Session, *, queued: bool, siblings: bool = False, but: Collection[str] = ()) -> None:
    """Decide about calls whose process died: repeat what may be repeated, put the rest in doubt.

    Args:
        session: The thread.
        queued: Whether admitted calls may have begun; see :meth:`Session.lost`.
        siblings: Whether siblings may have been tried of which the state does not tell.
        but: Keys of calls that are decided about later.
    """
    for record in session.lost(queued=queued):
        if record.key in but:
            continue
        if journaled(session, record):
            if record.state is CallState.PENDING and not _resumed(session, record):
                hand_out_again(session, record)
            continue  # an admitted call is issued, and the journal asked
        outcome = _lost_outcome(session, record, siblings=siblings)
        if record.state is CallState.PENDING and (_resumed(session, record) or reconsider(session, record)):
            continue
        begun = session.engine.begun.knows(record.key, after=record.latest)
        if outcome is None:
            session.live.replayed(record.key, record.attempts + 1)
        if record.state is CallState.QUEUED and (begun or outcome is None):
            continue
        if record.state is CallState.QUEUED:
            session.record.assumed_started(record.key)
        if outcome is None:
            _requeue(session, record)
        else:
            give_up_lost(session, record, outcome)


def _lost_outcome(session: Session, record: CallRecord, *, siblings: bool) -> ev.Outcome | None:
    """How a lost call ends, ``None`` if it is made again.

    An attempt that only asked somebody is made again, but not for an effect that may have begun before it.
    """
    board = session.board
    others = siblings_left(board.spec(record.call.tool), record) if siblings else []
    tools = (record.tool, *(sibling.tool for sibling in others))
    outcomes = (lost_outcome(board.spec(tool)) for tool in tools)
    return next((outcome for outcome in outcomes if outcome is not None), None)


def _resumed(session: Session, record: CallRecord) -> bool:
    """Whether the attempt was made in this process and answers to this session from now on."""
    if record.aim is not ev.Aim.ANSWER:
        return False
    found = session.engine.begun.take_over(record.key, session.completed, after=record.attempts - 1)
    return found is not None and found[0] == record.attempts


def put_in_doubt(session: Session, record: CallRecord) -> None:
    """Retire a deferred or held call that another process may have released and begun, or ask its probe first."""
    session.record.admitted(record.key, released=True)
    session.record.assumed_started(record.key)
    give_up_lost(session, record, ev.Outcome.IN_DOUBT)


def withdraw(session: Session, record: CallRecord, reason: str) -> None:
    """Take back an admitted call that nobody can run any more; it is in doubt if an attempt of it may have begun."""
    if harmless(session, record):
        session.record.cancelled(record.key, reason=reason)
        return
    text = f"{reason[:1].upper()}{reason[1:]}, and an attempt may have begun."
    session.record.assumed_started(record.key)
    session.record.retired(record.key, outcome=ev.Outcome.IN_DOUBT, content=text, error=ErrorCode.PROCESS_LOST)


def may_be_repeated(session: Session, record: CallRecord) -> bool:
    """Whether making the call does no harm: it may be repeated, or nobody has begun it."""
    if session.board.spec(record.tool).effect.repeatable or session.engine.begun.knows(record.key):
        return True
    return journaled(session, record) and not was_begun(session, record)


def _requeue(session: Session, record: CallRecord) -> None:
    session.record.requeued(
        record.key,
        error=ErrorCode.PROCESS_LOST,
        reason="process lost, repeatable",
        arguments=record.sent,
        aim=record.aim,
    )


async def settle(session: Session, *, fresh: bool, due: Callable[[], bool] = lambda: False) -> Step:
    """Collect completions and wait until something is to do outside the engine.

    Args:
        session: The thread.
        fresh: Whether calls were issued just now, so that fast ones deserve the grace window.
        due: Whether the model's turn was decided elsewhere; asked at each change.

    Returns:
        Any step but ``WAIT``.
    """
    waited = False
    while True:
        if due():
            return Step.MODEL
        collect(session)
        step = _outward_step(session)
        if step is Step.MODEL and not waited and session.ledger.count(CallState.PENDING):
            waited = True
            await _linger(session, fresh=fresh, due=due)
            continue
        if step is not Step.WAIT:
            return step
        fresh = False
        await session.wait_changed(None)


def _outward_step(session: Session) -> Step:
    if session.live.escapes:
        return Step.ESCAPE
    if session.live.recoveries:
        return Step.RECOVER
    return next_step(session.board)


async def _linger(session: Session, *, fresh: bool, due: Callable[[], bool]) -> None:
    """Wait a little for more: up to the grace window for a first completion, then up to ``linger`` for others.

    Whoever waits beside wakes the session, too: that ends no window.
    """
    clock = session.engine.clock
    before = 0 if not fresh else _ended(session)
    window = clock.now() + _grace(session) if fresh else 0.0
    while fresh and not session.has_completions and _ended(session) == before and not due():
        if not await session.wait_changed(max(window - clock.now(), 0.0)):
            return
    collect(session)
    end = clock.now() + session.engine.config.timing.linger
    while _ended(session) > before and session.ledger.count(CallState.PENDING) and (left := end - clock.now()) > 0:
        if not await session.wait_changed(left):
            return
        collect(session)


def _ended(session: Session) -> int:
    return session.ledger.count(CallState.DONE, CallState.FAILED, CallState.IN_DOUBT)


def _grace(session: Session) -> float:
    default = session.engine.config.timing.grace
    specs = [session.board.spec(tool) for tool in session.ledger.pending_tools()]
    return max(default if spec.grace is None else spec.grace for spec in specs)
