"""From admitted calls to results: issue, collect, recover, wait."""

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Result
from asyncguard.core.resume_policy import Fate, Why
from asyncguard.core.scheduling import Step, dispatchable, next_step
from asyncguard.runtime.attempts import Attempt, attempt_of
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.runtime.failure_cases import handle_failure
from asyncguard.runtime.late_results import record_late_end, resolved_late, took_own_end
from asyncguard.runtime.recovery_driver import ask_again, handle_completion, may_begin
from asyncguard.runtime.resume import resolve
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import apply_signals, intent_of

Runner = Callable[[Attempt], Callable[[], Awaitable[Result]]]
"""Makes, for an attempt, the function that runs its tool once."""
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
        if resolve(session, record, Why.ISSUED) is not Fate.KEEP:
            continue  # another branch made the call already, and its attempt answers for this one
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
    keys = session.live.drain_replays()
    for key in keys:
        _start(session, session.ledger.record(key), runner, delay=0.0)
    return len(keys)


def _start(session: Session, record: CallRecord, runner: Runner, *, delay: float) -> None:
    attempt = attempt_of(
        session, record
    )  # first: it issues the delivery token of an external call for the intent
    journaled = session.engine.journal is not None and record.aim is ev.Aim.ANSWER
    job = Job(
        key=attempt.key,
        attempt=attempt.number,
        tool=attempt.tool,
        task=record.call.task,
        call_id=attempt.call_id,
        arguments=attempt.arguments,
        run=_inside(runner(attempt)),
        delay=delay,
        timeout=None if attempt.external else attempt.spec.timeout,
        stoppable=attempt.spec.effect.repeatable,
        late=partial(record_late_end, session, record.tool),
        gate=partial(may_begin, session, record.key, record.tool, record.aim),
        intent=intent_of(session, record, attempt.arguments) if journaled else None,
    )
    if attempt.external:
        session.board.begins_outside(record.key)
    session.engine.executor.start(job, _receiver(session, record, attempt))


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


def _receiver(
    session: Session, record: CallRecord, attempt: Attempt
) -> Callable[[Completion], None]:
    if attempt.spec.effect.repeatable or attempt.spec.interrupts or attempt.external:
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


def collect(session: Session) -> None:
    """Take the completions that have arrived: results retire their calls, failures are put before the policy."""
    session.engine.executor.poll()
    apply_signals(session)
    if session.board.starting:
        session.board.still_pending(session.engine.executor.pending())
    for completion in session.drain_completions():
        record = session.ledger.find(completion.key)
        if record is None:
            continue  # a call of another branch of the thread: nobody here asked for it
        if resolved_late(session, record, completion) or took_own_end(session, record, completion):
            continue
        if record.state is CallState.PENDING and completion.attempt == record.attempts:
            handle_completion(session, record, completion)


def take_interrupt(session: Session, key: str) -> BaseException:
    """What a call raised for the front end; the call is queued again, for the tool runs anew when it was answered."""
    error = session.live.take_interrupt(key)
    ask_again(session, session.ledger.record(key))
    return error


def give_up_interrupts(session: Session) -> None:
    """End calls whose tools ask a person where no front end is left to ask for them; they stopped at the question.

    The call was deferred, and its wrapper has returned, or its run was cancelled. Made anew, it gets a wrapper.
    """
    for key in list(session.live.interrupts):
        session.live.take_interrupt(key)
        text = "It has to ask a person first, and could not from here; nothing was done. Call it again to have it ask."
        symptom = Symptom(error=ErrorCode.CANCELLED, message=text, transient=False, started=False)
        handle_failure(session, session.ledger.record(key), symptom)


async def run_until_blocked(
    session: Session, *, fresh: bool, due: Callable[[], bool] = lambda: False
) -> Step:
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
    if session.live.interrupts:
        return Step.INTERRUPT
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
    while (
        _ended(session) > before
        and session.ledger.count(CallState.PENDING)
        and (left := end - clock.now()) > 0
    ):
        if not await session.wait_changed(left):
            return
        collect(session)


def _ended(session: Session) -> int:
    return session.ledger.count(CallState.DONE, CallState.FAILED, CallState.IN_DOUBT)


def _grace(session: Session) -> float:
    default = session.engine.config.timing.grace
    specs = [session.board.spec(tool) for tool in session.ledger.pending_tools()]
    return max(default if spec.grace is None else spec.grace for spec in specs)
