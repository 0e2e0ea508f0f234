"""One run of an agent, as both front ends make it: open its thread, take the model's words, advance, tell, end.

The front ends differ in what calls need to be run (``create_agent`` has wrappers) and in how a step is told to
LangGraph; what is the same for both stands here. Outside of the engine this is the only module that knows sessions.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.approvals import cancel_beside, decisions
from asyncguard.adapters.messages.deliver import ResultNotifier
from asyncguard.adapters.messages.history import (
    add_user_evidence,
    collect_evidence,
    repaired,
    unknown_call,
)
from asyncguard.adapters.messages.history_cache import CachedHistory, HistoryCache
from asyncguard.adapters.messages.parse import parse_calls
from asyncguard.adapters.messages.render import note_for_model, text_of
from asyncguard.adapters.messages.run_messages import report
from asyncguard.adapters.run_input import (
    cancellation,
    check_input,
    heard_user,
    read_cancelled,
    read_tasks,
    task_message,
    user_spoke,
)
from asyncguard.adapters.state import Thread
from asyncguard.adapters.threads.checkpoint_barrier import (
    JournalTarget,
    LazyJournal,
    ensure_stored,
)
from asyncguard.adapters.threads.checkpoint_fence import (
    acquire_thread,
    owned,
    stands_on,
    with_fencing_token,
)
from asyncguard.adapters.threads.claims import claim_thread
from asyncguard.adapters.threads.runnable_config import namespace_of, thread_of
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import Task
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_policy import Why
from asyncguard.core.scheduling import Step
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError
from asyncguard.runtime import dispatcher, proposals
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.recovery_driver import recover
from asyncguard.runtime.resume import ALL_TOOLS, Answer, Circumstances, Hands, reconcile, resolve
from asyncguard.runtime.session.cache import Sessions
from asyncguard.runtime.signals import any_written_down, apply_signals, ensure_written
from asyncguard.runtime.tasks import cancel_tasks, close_tasks, open_tasks, reopen_tasks

Runner = dispatcher.Runner
"""Makes the function that runs an attempt's tool once."""


class Threads:
    """Claims and finds the threads of one agent."""

    def __init__(self, engine: Engine, journal: JournalTarget) -> None:
        """Know no thread yet.

        Args:
            engine: What the threads share.
            journal: Where calls with effects are written down; opened when the first run begins.
        """
        self._engine = engine
        self._keeper = LazyJournal(engine, journal)
        self._sessions = Sessions(engine)
        self._conversations = HistoryCache()

    def identified(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a state with the identity of its thread, a new one where it has none: a thread begins here."""
        if state.get("asyncguard"):
            return state
        new_id = self._engine.ports.new_id
        return {**state, "asyncguard": Thread(session=new_id(), nonce=new_id())}

    async def claim(self, config: RunnableConfig, *, begins: bool = False) -> None:
        """Open the journal and claim the thread for a run; of a run that is refused nothing stays.

        Args:
            config: Of the node or hook.
            begins: Whether it takes the input of a run in.

        Raises:
            CallerError: Another run is at work on the thread.
            ThreadBusyError: Another run has carried the thread on since this one read its state.
        """
        await self._keeper.ready(config)
        await claim_thread(config, self._engine.journal, begins=begins)

    def find(self, state: Mapping[str, Any], config: RunnableConfig) -> "Run":
        """Return the run of a thread; it has to be joined with the state before anything else.

        Raises:
            CallerError: The state has no identity: it was made by hand, and no input began the thread.
        """
        if not state.get("asyncguard"):
            raise CallerError(
                "The thread was not begun: its state holds nothing of asyncguard. Begin it with an input, "
                '{"tasks": [...]} or {"messages": [...]}, before you change its state.'
            )
        return Run(self._sessions, self._conversations, state, config)

    def __len__(self) -> int:
        """Return the number of threads in memory."""
        return len(self._sessions)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What follows from a model message."""

    messages: Sequence[AnyMessage]
    """To write: the message, or what replaces it."""
    verdict: ev.CompletionVerdict | None
    """For a message without calls; ``None`` if it made calls."""


class Run:
    """A run of one thread within one node, hook or wrapper."""

    def __init__(
        self,
        sessions: Sessions,
        conversations: HistoryCache,
        state: Mapping[str, Any],
        config: RunnableConfig,
    ) -> None:
        """Find the session of a thread; see :meth:`join`.

        Args:
            sessions: Those of the agent.
            conversations: What is known of the histories of its threads.
            state: Of the super-step, with the thread's identity.
            config: Of the node, hook or wrapper.
        """
        self._identity: Thread = state["asyncguard"]
        self._sessions = sessions
        self._conversations = conversations
        self._session = sessions.of(self._identity["session"], namespace_of(config))
        self._state = state
        self.config = config

    @property
    def name(self) -> tuple[str, str]:
        """The thread's minted id, and the path of the agent among agents."""
        return self._session.thread, self._session.namespace

    @property
    def messages(self) -> Sequence[AnyMessage]:
        """The history, as the state has it."""
        return self._state.get("messages") or []

    @property
    def board(self) -> Scoreboard:
        """What is known of the thread now; changed by its own methods."""
        return self._session.board

    @property
    def ledger(self) -> Ledger:
        """The thread's calls and tasks."""
        return self._session.ledger

    @property
    def conversation(self) -> CachedHistory:
        """What is known of the thread's history, so that only what is new is looked at."""
        return self._conversations.of(self._session, self._identity["nonce"])

    def drain_events(self) -> list[dict[str, Any]]:
        """Take the events that no state holds yet, as plain JSON."""
        return self._session.drain_events()

    # -- the thread ------------------------------------------------------------------------------------------------

    async def join(
        self,
        reconcile: Callable[[], bool],
        *,
        begins: bool = False,
        folded: Callable[[], object] = lambda: None,
    ) -> None:
        """Join the session with the state and with the journal, and decide about its open calls.

        Args:
            reconcile: Decides about the open calls of a state that this process has not written; returns whether some
                have to wait.
            begins: Whether the node or hook takes the input of a run in.
            folded: Called where the ledger was folded anew, before anything is decided.

        Raises:
            ThreadBusyError: Another process is at work on the thread.
            JournalError: The journal cannot be read or written.
        """
        session, state = self._session, self._state
        anew = session.attach(state.get("ledger") or [])
        number = self._identity.get("number", 0)
        await acquire_thread(session.lease, self.config, known=number, begins=begins, again=anew)
        if anew:
            folded()
        if session.reconcile_due:  # also where an earlier entry failed between the two
            collect_evidence(session.board, self.messages)
            if not reconcile():
                session.reconciled()
        apply_signals(session)

    def identity_update(self) -> dict[str, Any]:
        """Return the update of the thread's identity, empty where the state has the number of this process already."""
        if self._identity.get("number", 0) == self._session.lease.fencing_token:
            return {}
        return {"asyncguard": with_fencing_token(self._identity, self._session.lease)}

    def leaving_on_error(self) -> AbstractContextManager[None]:
        """Release the thread for other processes if the block raises: the run ends, or rests, there."""
        return self._session.lease.releasing_on_error()

    def inside(self) -> AbstractContextManager[None]:
        """Mark that the run waits inside the block; any other run that enters meanwhile is refused."""
        return self._session.lease.inside()

    def keeping(self) -> AbstractAsyncContextManager[None]:
        """End a run after the block whose thread another process has taken meanwhile, and undo what it has stored.

        Raises:
            ThreadBusyError: Another process carries the thread on.
        """
        return owned(self._session.lease, self.config)

    async def keep(self) -> None:
        """End the run if another process has taken its thread meanwhile; see :meth:`keeping`."""
        async with self.keeping():
            pass

    async def ask_journal_again(self) -> None:
        """Ask the journal about the open calls: a branch may begin here, whose calls were made on another one."""
        await self._session.lease.acquire(thread_of(self.config), again=True)

    def leave(self) -> None:
        """Give the thread free, as the run ends with this step, and drop its session if nothing of it is alive."""
        self._session.lease.release(stands_on(self.config))
        self._sessions.forget(self._session)

    # -- beginning -------------------------------------------------------------------------------------------------

    def reconcile(
        self,
        *,
        issuing: bool,
        hands: Hands = ALL_TOOLS,
        answers: Mapping[str, Answer] | None = None,
        siblings: bool = False,
        said: bool = False,
    ) -> bool:
        """Decide about the open calls of a state that this process has not written; see :func:`resume.reconcile`."""
        return reconcile(
            self._session,
            issuing=issuing,
            hands=hands,
            answers=answers,
            siblings=siblings,
            said=said,
        )

    def decide(
        self,
        records: Iterable[CallRecord],
        why: Why,
        *,
        hands: Hands = ALL_TOOLS,
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        """Decide what becomes of open calls, and carry it out; see :func:`resume.resolve`."""
        given = Circumstances(hands=hands, answers=answers or {})
        for record in list(records):
            resolve(self._session, record, why, given)

    def claim(self) -> None:
        """Begin a run on the thread.

        Raises:
            CallerError: Another run of the thread waits for its model or its tools in this process.
        """
        self._session.lease.claim()

    def begin(self, *, system: SystemMessage | None = None) -> dict[str, Any]:
        """Take the input of a run in: tasks, cancellations and the user's words.

        Args:
            system: System prompt, whose values the user is taken to have said.

        Returns:
            The update of the state; under ``messages`` what is written into the history.

        Raises:
            CallerError: The input cannot be read, or says nothing new.
        """
        session, messages = self._session, self.messages
        tasks = read_tasks(self._state.get("tasks"), {task.task.id for task in self.ledger.tasks()})
        cancelled = read_cancelled(self._state.get("cancel"))
        check_input(self.board, tasks, messages, cancelled, news=session.has_completions)
        known = self.ledger.turns
        session.record.run_started(session.engine.ports.new_id(), said=user_spoke(tasks, messages))
        cancel_tasks(session, cancelled)
        written = self._take_input(tasks, cancelled)
        if known:
            collect_evidence(self.board, messages)
        else:
            add_user_evidence(self.board, [*messages, *([system] if system is not None else [])])
        identity = with_fencing_token(self._identity, session.lease)
        return {"asyncguard": identity, "messages": written, "ledger": session.drain_events()}

    def _take_input(self, tasks: Sequence[Task], cancelled: Sequence[str]) -> list[AnyMessage]:
        """Return the messages to write: the tasks, or the whole history where calls were left unanswered."""
        written: list[AnyMessage] = []
        if cancelled and not tasks and not heard_user(self.messages):
            written.append(
                cancellation(cancelled)
            )  # alone it says nothing about the other tasks, which go on
        else:
            proposals.squash_unissued_effects(self._session)
            written += self._open_tasks(tasks, cancelled)
        return repaired(self.messages, written, self._answers) or written

    def _open_tasks(self, tasks: Sequence[Task], cancelled: Sequence[str]) -> list[AnyMessage]:
        if tasks:
            open_tasks(self._session, tasks)
            return [task_message(tasks, several=self.board.several_tasks)]
        last = next(
            (message for message in reversed(self.messages) if isinstance(message, HumanMessage)),
            None,
        )
        reopen_tasks(
            self._session, "" if last is None else text_of(last.content), cancelled=cancelled
        )
        return []

    def _answers(self, message_id: str, calls: Sequence[Mapping[str, Any]]) -> list[AnyMessage]:
        records = {record.call.call_id: record for record in self.ledger.of_message(message_id)}
        answers: list[AnyMessage] = []
        for call in calls:
            record = records.get(str(call["id"]))
            answers.append(unknown_call(call) if record is None else self.teller.answer(record)[0])
        return answers

    # -- the model's turn ------------------------------------------------------------------------------------------

    async def ensure_written(self) -> None:
        """Wait until what ended is written down: the model speaks of nothing that a crash could make undone."""
        await ensure_written(self._session)

    def on_model_message(self, message: AIMessage, task_argument: str) -> Turn:
        """Take a model message: put its calls before admission, or judge the end.

        Args:
            message: With usable ids.
            task_argument: Name of the task argument.
        """
        wishes = parse_calls(message, self.board, task_argument)
        proposals.propose_calls(self._session, str(message.id), wishes)
        if wishes:
            return Turn(messages=[message], verdict=None)
        completion = proposals.judge_end(self._session)
        if self.board.config.shadow:
            return Turn(messages=[message], verdict=ev.CompletionVerdict.END)
        if completion.verdict is ev.CompletionVerdict.NUDGE:
            # Same id: the reason stands in the history where "all done" stood.
            nudge = note_for_model(completion.reason, "nudge", message_id=message.id)
            return Turn(messages=[nudge], verdict=completion.verdict)
        return Turn(messages=[message], verdict=completion.verdict)

    # -- calls -----------------------------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        """Whether a result, or a word from outside, waits to be taken in."""
        return self._session.has_completions

    @property
    def questions(self) -> Collection[str]:
        """Keys of the calls whose tools ask a person."""
        return self._session.live.interrupts.keys()

    async def ensure_stored(self, records: Iterable[CallRecord]) -> None:
        """Wait until the checkpoint before these calls is on disk, if one of them has an effect.

        Raises:
            CallerError: The run stores nothing before its end.
            JournalError: The checkpoint did not come.
        """
        written_down = any_written_down(self._session, records)
        await ensure_stored(self.config, self._session.stored, written_down=written_down)

    def issue(self, runner: Runner, records: Iterable[CallRecord] | None = None) -> int:
        """Hand admitted calls to the executor, all that may be issued by default; return how many."""
        return dispatcher.issue(self._session, runner, records)

    def issue_again(self, runner: Runner) -> int:
        """Hand the calls of a lost process to the executor again, under the numbers of their attempts."""
        return dispatcher.issue_again(self._session, runner)

    async def advance(self, *, fresh: bool, due: Callable[[], bool] = lambda: False) -> Step:
        """Collect completions and wait until something is to do outside the engine; see :func:`dispatcher.settle`."""
        return await dispatcher.run_until_blocked(self._session, fresh=fresh, due=due)

    async def wait_changed(self, timeout: float | None = None) -> bool:
        """Wait until something completes or :meth:`wake` is called; return whether that happened in time (s)."""
        return await self._session.wait_changed(timeout)

    def wake(self) -> None:
        """Wake what waits for a change of the thread."""
        self._session.wake()

    def release(self) -> None:
        """Judge the deferred calls that wait for nothing any more."""
        proposals.release_ready(self._session)

    @property
    def recovery_due(self) -> ev.RecoveryAction:
        """The action of recovery that is carried out next."""
        return next(iter(self._session.live.recoveries.values())).action

    def recover(self, action: ev.RecoveryAction) -> None:
        """Carry out the decisions of recovery for one action."""
        recover(self._session, action)

    def take_question(self, key: str) -> BaseException:
        """Take what a call's tool raised to ask a person; the call is queued again."""
        return dispatcher.take_interrupt(self._session, key)

    def give_up_questions(self) -> None:
        """End the calls whose tools ask a person where nobody is left to ask for them."""
        dispatcher.give_up_interrupts(self._session)

    # -- people ----------------------------------------------------------------------------------------------------

    def refuse_held(self) -> None:
        """Reject the held calls of a run that nobody could resume, so that nobody can be asked."""
        proposals.reject_held_calls(self._session)

    def enter_answer(self, answer: Any, records: Sequence[CallRecord]) -> None:
        """Enter a person's answer about held calls, after what was cancelled with it.

        Args:
            answer: See :func:`~asyncguard.adapters.approvals.decisions`; with a wrong cancellation it refuses.
            records: The calls that were asked.
        """
        wrong = self.cancel_beside()
        decided = [(False, wrong)] * len(records) if wrong else decisions(answer, records)
        for record, (approved, told) in zip(records, decided, strict=True):
            if record.state is CallState.HELD:
                proposals.answer_approval(self._session, record, approved=approved, told=told)

    def cancel_beside(self) -> str:
        """Stop the tasks that were cancelled with an answer; return what is wrong with that, empty if nothing is."""
        return cancel_beside(self.config, partial(cancel_tasks, self._session))

    def park(self) -> None:
        """Record that the run rests until external results are delivered."""
        pending = self.ledger.in_state(CallState.PENDING)
        self._session.record.run_parked([record.key for record in pending])

    @property
    def teller(self) -> ResultNotifier:
        """Tells the model what became of calls."""
        session = self._session
        return ResultNotifier(session.board, session.record, session.live, self._identity["nonce"])

    def end(self, reason: str) -> dict[str, Any]:
        """Close the tasks and return the report.

        Args:
            reason: ``complete``, ``max_model_turns``, ``tasks_stopped`` or ``direct_return``.
        """
        close_tasks(self._session)
        self._session.record.run_ended(reason)
        return report(self.board, reason)
