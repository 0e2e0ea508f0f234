"""The dispatcher: issue admitted calls, collect their completions, wait for the next step.

The adapter drives it: :func:`issue` starts attempts, :func:`run_until_blocked` collects completions
and waits until the graph has to act (show results to the model, carry out a recovery, raise an
interrupt, end). Nothing here calls a tool or stores a state; the executor and the adapter do.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from functools import partial

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Result
from asyncguard.core.resume_terms import Fate, Why
from asyncguard.core.scheduling import Step, dispatchable, next_step, offers_again
from asyncguard.errors import ThreadBusyError
from asyncguard.runtime.attempt_outcomes import handle_failure
from asyncguard.runtime.attempts import Attempt, attempt_of
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.runtime.late_results import record_late_end, resolved_late, took_own_end
from asyncguard.runtime.recovery_driver import ask_again, handle_completion, may_begin
from asyncguard.runtime.resume.resolve import resolve
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import apply_signals, intent_of

Runner = Callable[[Attempt], Callable[[], Awaitable[Result]]]
"""Factory that returns, for an attempt, the function that runs its tool once."""
_INSIDE: ContextVar[bool] = ContextVar("asyncguard_inside_a_call", default=False)
"""True in code that a tool of an agent runs."""


def issue(session: Session, runner: Runner, records: Iterable[CallRecord] | None = None) -> int:
    """Hand admitted calls to the executor.

    Args:
        session: The thread.
        runner: Runs the tools.
        records: Calls to issue; all that may be issued by default.

    Returns:
        Number of the chosen calls.
    """
    chosen = dispatchable(session.board) if records is None else list(records)
    for record in chosen:
        if resolve(session, record, Why.ISSUED) is not Fate.KEEP:
            continue  # another branch made the call already; its attempt gives the result
        # Read first, as the start clears it. What the gate will refuse does not wait for its turn.
        delay = 0.0 if session.live.makes_no_further(record.key) else record.delay
        session.record.started(record.key, attempt=record.attempts + 1, tool=record.tool)
        _start(session, record, runner, delay=delay)
    return len(chosen)


def issue_again(session: Session, runner: Runner) -> int:
    """Hand the calls of a lost process to the executor again, with the same attempt numbers.

    Args:
        session: The thread.
        runner: Runs the tools.

    Returns:
        Number of calls handed out.
    """
    keys = session.live.drain_replays()
    for key in keys:
        _start(session, session.ledger.record(key), runner, delay=0.0)
    return len(keys)


def _start(session: Session, record: CallRecord, runner: Runner, *, delay: float) -> None:
    # Before intent_of: it issues the delivery token of an external call, which the intent holds.
    attempt = attempt_of(session, record)
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
        # A probe or another side query is made also after the user has spoken.
        pause=session.live.pauses(record.key) if delay and record.aim is ev.Aim.ANSWER else None,
        timeout=None if attempt.external else attempt.spec.timeout,
        stoppable=attempt.spec.effect.repeatable,
        late=partial(record_late_end, session, record.tool),
        gate=partial(may_begin, session, record.key, record.tool, record.aim),
        intent=intent_of(session, record, attempt.arguments) if journaled else None,
        unapproved=_unapproved(session, record),
    )
    if attempt.external:
        session.board.begins_outside(record.key)
    else:  # an earlier attempt may have been external, under another declaration or by another tool
        session.live.attempt_over(record.key)
    session.engine.executor.start(job, _receiver(session, record, attempt))


def _unapproved(session: Session, record: CallRecord) -> bool:
    tools = (record.tool, record.call.tool)
    declared = any(session.board.spec(tool).approval for tool in tools)
    return not (declared or record.approved or record.wanted_again)


def inside_a_call() -> bool:
    """Return True if a tool of an agent runs this code; a nested agent must not interrupt."""
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
    """Return the callback for a completion; an effect that must not be repeated is registered."""
    if attempt.spec.effect.repeatable or attempt.external:
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
    """Handle arrived completions: results retire calls, failures go to the recovery policy."""
    session.engine.executor.poll()
    apply_signals(session)
    if session.board.starting:
        session.board.still_pending(session.engine.executor.pending())
    arrived = deque(session.drain_completions())
    if not arrived:
        return
    while arrived:
        before = session.ledger.n
        try:
            _handle(session, arrived[0])
        except BaseException as error:
            # Code of the tool's author may raise anything, Ctrl-C among it. What was not handled is
            # handled by the next run; an end of which a part is recorded is decided again.
            if session.ledger.n != before or isinstance(error, ThreadBusyError):
                arrived.popleft()
                session.demand_reconcile()
            session.put_back(arrived)
            raise
        arrived.popleft()
    # Again: an operator's word may have come before the report that puts its call in doubt.
    apply_signals(session)


def _handle(session: Session, completion: Completion) -> None:
    record = session.ledger.find(completion.key)
    if record is None:
        return  # a call of another branch of the thread
    if resolved_late(session, record, completion) or took_own_end(session, record, completion):
        return
    if record.state is CallState.PENDING and completion.attempt == record.attempts:
        handle_completion(session, record, completion)


def take_interrupt(session: Session, key: str) -> BaseException:
    """Return the interrupt that a call raised, and queue the call to run again with the answer."""
    error = session.live.take_interrupt(key).error
    ask_again(session, session.ledger.record(key))
    return error


def give_up_interrupts(session: Session) -> None:
    """End calls whose tools ask a person, if no adapter is left to raise the interrupt.

    The call was deferred and its wrapper has returned, or its run was cancelled. Its tool stopped
    at the question. If the model makes the call again, it gets a wrapper.
    """
    for key in list(session.live.interrupts):
        session.live.take_interrupt(key)
        text = (
            "It has to ask a person first, and could not from here; nothing was done. "
            "Call it again to have it ask."
        )
        symptom = Symptom(error=ErrorCode.CANCELLED, message=text, transient=False, started=False)
        handle_failure(session, session.ledger.record(key), symptom)


async def run_until_blocked(
    session: Session, *, fresh: bool, due: Callable[[], bool] = lambda: False
) -> Step:
    """Collect completions and wait until the graph has something to do.

    Args:
        session: The thread.
        fresh: True if calls were issued just now; the grace window applies to them.
        due: Returns True if the model's turn was decided elsewhere; asked at each change.

    Returns:
        Any step but ``WAIT``.
    """
    waited = False
    while True:
        if due():
            return Step.MODEL
        collect(session)
        # Interrupts and recoveries come before the model's turn.
        if session.live.interrupts:
            if not _others_run(session):
                return Step.INTERRUPT
            await session.wait_changed(None)
            continue
        if session.live.recoveries:
            return Step.RECOVER
        step = next_step(session.board)
        if step is Step.MODEL and not waited and session.ledger.count(CallState.PENDING):
            waited = True
            await _linger(session, fresh=fresh, due=due)
            continue
        if step is not Step.WAIT:
            return step
        fresh = False
        await session.wait_changed(None)


def _others_run(session: Session) -> bool:
    """Return True if calls run in this process beside a tool that asks a person.

    Its question stops the run; if the caller's event loop ends with the run, they are in doubt.
    """
    board = session.board
    waiting = {*session.live.interrupts, *session.live.recoveries}
    return any(
        record.key not in waiting
        and (record.key in board.starting or not board.runs_outside(record))
        for record in session.ledger.in_state(CallState.PENDING)
    )


async def _linger(session: Session, *, fresh: bool, due: Callable[[], bool]) -> None:
    """Wait up to grace or patience for a first completion, then up to ``linger`` for others.

    Other waiters wake the session, too; such a change does not end a window.
    """
    clock, timing = session.engine.clock, session.engine.config.timing
    patient = offers_again(session.board)
    before, window, waits = 0, 0.0, fresh or patient
    if waits:
        before = _ended(session)
        # The longest grace period among the tools of the pending calls.
        specs = [session.board.spec(tool) for tool in session.ledger.pending_tools()]
        grace = max(timing.grace if spec.grace is None else spec.grace for spec in specs)
        window = clock.now() + max(grace if fresh else 0.0, timing.patience if patient else 0.0)
    while waits and not session.has_completions and _ended(session) == before and not due():
        if not await session.wait_changed(max(window - clock.now(), 0.0)):
            return
    collect(session)
    end = clock.now() + timing.linger
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
