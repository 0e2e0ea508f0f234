"""Run of one thread within one node, hook or wrapper: join the thread, advance, leave.

Theory of operation. Every node, hook and wrapper builds a :class:`Run` from the state that
LangGraph gives it and joins it (:meth:`Run.join`) before it does anything else: join acquires the
lease of the thread, folds the events of the state into the session's ledger if they are new to this
process, reconciles the open calls, and applies signals. What a run changes is recorded as events;
:meth:`Run.drain_events` hands them to the caller, which must return them as a state update, because
only events in the state survive the process.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.followed import Asked, asking, follow_run
from asyncguard.adapters.langgraph_internals.run import run_of, streams
from asyncguard.adapters.messages.deliver import ResultNotifier
from asyncguard.adapters.messages.history import (
    collect_conversation,
    collect_evidence,
    collect_foreign_doubts,
)
from asyncguard.adapters.messages.history_cache import CachedHistory, HistoryCache
from asyncguard.adapters.messages.render import MessageRenderer, text_of
from asyncguard.adapters.messages.run_messages import report
from asyncguard.adapters.refused_input import taking_back
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.checkpoint_barrier import ensure_stored
from asyncguard.adapters.threads.checkpoint_fence.acquisition import (
    acquire_thread,
    release_when_over,
)
from asyncguard.adapters.threads.checkpoint_fence.owned import Owned, with_fencing_token
from asyncguard.adapters.threads.runnable_config import namespace_of, thread_of
from asyncguard.adapters.ui_events import emit, ui_events
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Why
from asyncguard.core.scheduling import Step
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError
from asyncguard.runtime import dispatcher, proposals
from asyncguard.runtime.attempt_outcomes import restore_updates
from asyncguard.runtime.kept_jobs import take_back
from asyncguard.runtime.recovery_driver import recover
from asyncguard.runtime.resume.case import ALL_TOOLS, Answer, Circumstances, Hands
from asyncguard.runtime.resume.resolve import cancel_changed, never_begun, reconcile, resolve
from asyncguard.runtime.session.cache import Sessions
from asyncguard.runtime.signals import any_written_down, apply_signals, ensure_written, outcome_due
from asyncguard.runtime.tasks import close_tasks


def _check_whole(ledger: Sequence[Mapping[str, Any]], thread_id: str) -> None:
    """Raise if a run went on to store its steps after its thread was deleted.

    LangGraph stores only what is new of a list, so the beginning is gone, and with it what those
    events are about.
    """
    if ledger and ledger[0].get("n", 1) != 1:
        raise CallerError(
            f"Thread {thread_id!r} lacks its beginning: it was deleted while a run of it was under "
            "way, which stored more of it afterwards. Delete it again, or use another thread_id."
        )


class Run:
    """Run of one thread within one node, hook or wrapper."""

    def __init__(
        self,
        sessions: Sessions,
        conversations: HistoryCache,
        state: Mapping[str, Any],
        config: RunnableConfig,
    ) -> None:
        """Find the session of a thread; see :meth:`join`.

        Args:
            sessions: Sessions of the agent.
            conversations: Cached facts about the histories of its threads.
            state: State of the super-step, with the thread's identity.
            config: Of the node, hook or wrapper.
        """
        self.identity: Thread = state["asyncguard"]
        self._sessions = sessions
        self._conversations = conversations
        # For the modules of this package alone; a test finds a use of it in any other adapter.
        # Two agents of one graph share the thread, so the namespace is part of the session's key.
        self.session = sessions.of(self.identity["session"], namespace_of(config), run_of(config))
        self.state = state
        self.config = config

    @property
    def name(self) -> tuple[str, str]:
        """Minted id of the thread, and path of the agent among nested agents."""
        return self.session.thread, self.session.namespace

    @property
    def is_inside(self) -> bool:
        """True if the agent is run by another graph, with which it may share its history."""
        return bool(self.session.namespace)

    @property
    def messages(self) -> Sequence[AnyMessage]:
        """History, as the state has it."""
        return self.state.get("messages") or []

    @property
    def board(self) -> Scoreboard:
        """Current scoreboard of the thread; it is changed by its own methods only."""
        return self.session.board

    @property
    def ledger(self) -> Ledger:
        """Calls and tasks of the thread."""
        return self.session.board.ledger

    @property
    def conversation(self) -> CachedHistory:
        """Cached facts about the history, so that only new messages are examined."""
        return self._conversations.of(self.session, self.identity["nonce"])

    def drain_events(self) -> list[dict[str, Any]]:
        """Return and forget the events that no state holds yet, as plain JSON."""
        return self.session.drain_events()

    # -- the thread --------------------------------------------------

    async def join(
        self,
        reconcile: Callable[[], bool],
        *,
        begins: bool = False,
        folded: Callable[[], object] = lambda: None,
    ) -> None:
        """Join the session with the state and the journal, and reconcile its open calls.

        Args:
            reconcile: Decides about the open calls of a state that this process has not written;
                returns True if some of them have to wait.
            begins: True if the node or hook is the one that reads the run's input.
            folded: Called if the ledger was folded again, before anything is decided.

        Raises:
            CallerError: Another run of the thread waits for its model or tools in this process; or
                what is stored of the thread lacks its beginning.
            ThreadBusyError: Another process holds the thread's lease.
            JournalError: The journal cannot be read or written.
        """
        session, state = self.session, self.state
        session.identify(thread_of(self.config))
        if begins:  # before anything changes
            async with taking_back(self.config):
                session.lease.claim()
        follow_run(session, self.config)
        # Before the first event of this node or hook: the listener of an earlier run is of no use.
        session.listen(self._tell_interface if streams(self.config, "custom") else None)
        ledger = state.get("ledger") or []
        _check_whole(ledger, thread_of(self.config))
        refolded = session.attach(ledger)
        number = self.identity.get("number", 0)
        # A ledger that was folded again may belong to another branch: the journal is asked again.
        await acquire_thread(
            session.lease,
            self.config,
            known=number,
            begins=begins,
            again=refolded,
            then=self._take_back if refolded else None,
        )
        release_when_over(session.lease, self.config, calls_run=session.runs_calls)
        if refolded:
            restore_updates(session)
            folded()
        if session.reconcile_due:  # also if an earlier join failed after it had folded the ledger
            collect_evidence(session.board, self.messages)
            collect_conversation(session.board, self.messages)
            collect_foreign_doubts(session.board, self.messages)
            if not reconcile():
                session.reconciled()
        apply_signals(session)

    async def _take_back(self) -> None:
        with self.leaving_on_error():
            await take_back(self.session, thread_of(self.config))

    def read_prompt(self, system: SystemMessage | None) -> None:
        """Count the system prompt of the model's turns as evidence; call it after :meth:`join`."""
        if system is not None:
            self.board.evidence.prompt = text_of(system.content)
            self.board.evidence.add_common(self.board.evidence.prompt)

    def identity_update(self) -> dict[str, Any]:
        """Return the update that writes this process's fencing token, empty if it is there."""
        if self.identity.get("number", 0) == self.session.lease.fencing_token:
            return {}
        return {"asyncguard": with_fencing_token(self.identity, self.session.lease)}

    def leaving_on_error(self) -> AbstractContextManager[None]:
        """Release the lease if the block raises: the run ends, or rests, there."""
        return self.session.lease.releasing_on_error()

    def inside(self) -> AbstractContextManager[None]:
        """Mark that the run waits inside the block; another run that enters then is refused."""
        return self.session.lease.inside()

    def keeping(self) -> AbstractAsyncContextManager[None]:
        """End the run after the block if it has lost the lease, and undo what it has stored.

        Raises:
            ThreadBusyError: Another process has acquired the thread.
        """
        return Owned(self.session.lease, self.config)

    async def keep(self) -> None:
        """End the run if another process has acquired its thread; see :meth:`keeping`."""
        async with self.keeping():
            pass

    async def ask_journal_again(self) -> None:
        """Ask the journal about the open calls once more.

        A branch may begin here, and its calls may have been made on another branch.
        """
        await self.session.lease.ask_again(thread_of(self.config))

    def _tell_interface(self, event: ev.Event) -> None:
        """Write an event into the stream for user interfaces, if it is one for them."""
        session = self.session
        renderer = MessageRenderer(session.board, session.live.raw_results, self.identity["nonce"])
        for told in ui_events(event, session.ledger, renderer):
            emit(told)

    def leave(self) -> None:
        """Release the thread at the end of its run; drop the session if nothing of it is alive."""
        self.session.lease.release(ends=True)
        self.session.listen(None)
        self._sessions.forget(self.session)

    # -- open calls --------------------------------------------------

    def reconcile(self, *, issuing: bool, given: Circumstances | None = None) -> bool:
        """Decide about the open calls of a state from elsewhere, see ``resume.resolve``."""
        return reconcile(self.session, issuing=issuing, given=given or Circumstances())

    def decide(
        self,
        records: Iterable[CallRecord],
        why: Why,
        *,
        hands: Hands = ALL_TOOLS,
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        """Decide the fate of open calls, and carry it out, see ``resume.resolve``."""
        given = Circumstances(hands=hands, answers=answers or {})
        for record in tuple(records):  # resolving a call changes the index that they come from
            resolve(self.session, record, why, given)

    def never_begun(self, record: CallRecord) -> bool:
        """Return True if no attempt of a call was begun, in this process or elsewhere."""
        return never_begun(self.session, record)

    def cancel_changed(self, record: CallRecord, now: str) -> None:
        """Cancel a call that was never begun, and is another one in its message now."""
        cancel_changed(self.session, record, now)

    # -- the model's turn --------------------------------------------------

    async def ensure_written(self) -> None:
        """Wait until ended calls are recorded in the journal.

        Neither client nor model may be told an outcome that a crash could still undo.
        """
        await ensure_written(self.session)

    def asking(
        self, model: BaseChatModel, provider: str, messages: Sequence[AnyMessage]
    ) -> AbstractContextManager["Asked"]:
        """Tell observers of a request to the model that is made inside the block."""
        return asking(self.session, model, provider, messages)

    # -- calls --------------------------------------------------

    @property
    def has_news(self) -> bool:
        """True if a result or a signal from outside waits to be applied."""
        return self.session.has_completions

    @property
    def stopping(self) -> bool:
        """True if a call that the user cancelled still runs."""
        pending, barred = self.ledger.in_state(CallState.PENDING), self.session.live.barred
        return any(record.key in barred for record in pending)

    async def outcome_due(self) -> bool:
        """Return True if the journal knows what became of a call that a lost process has begun.

        Raises:
            JournalError: The journal cannot be read.
        """
        return await outcome_due(self.session)

    @property
    def questions(self) -> Collection[str]:
        """Keys of the calls whose tools have raised an interrupt."""
        return self.session.live.interrupts.keys()

    async def ensure_stored(self, records: Iterable[CallRecord]) -> None:
        """Wait until the checkpoint before these calls is stored, if one of them has an effect.

        Raises:
            CallerError: The run stores nothing before its end.
            JournalError: The checkpoint was not stored in time.
        """
        written_down = any_written_down(self.session, records)
        await ensure_stored(self.config, self.session.stored, written_down=written_down)

    def issue(self, runner: dispatcher.Runner, records: Iterable[CallRecord] | None = None) -> int:
        """Hand admitted calls, by default all, to the executor; return how many were issued."""
        return dispatcher.issue(self.session, runner, records)

    def issue_again(self, runner: dispatcher.Runner) -> int:
        """Hand the calls of a lost process to the executor, under their former attempt numbers."""
        return dispatcher.issue_again(self.session, runner)

    async def advance(self, *, fresh: bool, due: Callable[[], bool] = lambda: False) -> Step:
        """Run the engine until it needs the adapter; see :func:`dispatcher.run_until_blocked`."""
        return await dispatcher.run_until_blocked(self.session, fresh=fresh, due=due)

    async def wait_changed(self, timeout: float | None = None) -> bool:
        """Wait for a completion or :meth:`wake`; return False if ``timeout`` seconds pass first."""
        return await self.session.wait_changed(timeout)

    def wake(self) -> None:
        """Wake all waits of :meth:`wait_changed` on this thread."""
        self.session.wake()

    def release(self) -> None:
        """Judge the deferred calls whose reason to wait has gone."""
        proposals.release_ready(self.session)

    @property
    def recovery_due(self) -> ev.RecoveryAction:
        """Action of recovery that is carried out next."""
        return next(iter(self.session.live.recoveries.values())).action

    def recover(self, action: ev.RecoveryAction) -> None:
        """Carry out the decisions of recovery for one action."""
        recover(self.session, action)

    # -- results and the end --------------------------------------------------

    def park(self) -> None:
        """Record that the run rests until external results are delivered."""
        pending = self.ledger.in_state(CallState.PENDING)
        self.session.record.run_parked([record.key for record in pending])

    @property
    def teller(self) -> ResultNotifier:
        """Notifier that writes the results of calls for the model."""
        session = self.session
        return ResultNotifier(session.board, session.record, session.live, self.identity["nonce"])

    def end(self, reason: str, *, asks: Sequence[str] = ()) -> dict[str, Any]:
        """Close the tasks and return the report.

        Args:
            reason: ``complete``, ``max_model_turns``, ``tasks_stopped`` or ``direct_return``.
            asks: Tasks that wait for the user's answer to the last message.
        """
        close_tasks(self.session)
        self.session.record.run_ended(reason)
        told = report(self.board, reason)
        return {**told, "waits_for_user": list(asks)} if asks else told
