"""Run of an agent, shared by both adapters: open the thread, apply messages, advance, deliver, end.

The adapters differ in what a call needs to run (``create_agent`` has wrappers) and in how a step is
reported to LangGraph. Everything else is here, and outside the runtime only this module and the
session cache know sessions.

Theory of operation. Every node, hook and wrapper builds a :class:`Run` from the state that
LangGraph gives it and joins it (:meth:`Run.join`) before it does anything else: join acquires the
lease of the thread, folds the events of the state into the session's ledger if they are new to this
process, reconciles the open calls, and applies signals. What a run changes is recorded as events;
:meth:`Run.drain_events` hands them to the caller, which must return them as a state update, because
only events in the state survive the process.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.errors import is_invalid_resume
from langgraph.types import Command

from asyncguard.adapters.answer_log import asks_here, keep_question, put_back_question
from asyncguard.adapters.approvals import cancel_beside, decisions
from asyncguard.adapters.followed import Asked, asking, follow_run
from asyncguard.adapters.langgraph_internals.keys import channels_of
from asyncguard.adapters.langgraph_internals.run import input_of, streams
from asyncguard.adapters.messages.deliver import ResultNotifier
from asyncguard.adapters.messages.hand_over import is_kept_hand_over, made_whole
from asyncguard.adapters.messages.history import (
    add_user_evidence,
    collect_conversation,
    collect_evidence,
    handed_over,
    repaired,
    unknown_call,
)
from asyncguard.adapters.messages.history_cache import CachedHistory, HistoryCache
from asyncguard.adapters.messages.markers import mark, note_for_model
from asyncguard.adapters.messages.parse import parse_calls, parse_edit
from asyncguard.adapters.messages.render import MessageRenderer, text_of
from asyncguard.adapters.messages.run_messages import report
from asyncguard.adapters.refused_input import taking_back
from asyncguard.adapters.run_input import (
    cancellation,
    check_input,
    heard_user,
    read_cancelled,
    read_tasks,
    says_something,
    task_message,
    user_spoke,
)
from asyncguard.adapters.state import Thread, read_messages
from asyncguard.adapters.threads.active_runs import THREADS
from asyncguard.adapters.threads.checkpoint_barrier import (
    JournalTarget,
    LazyJournal,
    ensure_stored,
)
from asyncguard.adapters.threads.checkpoint_fence import (
    Owned,
    acquire_thread,
    release_when_over,
    with_fencing_token,
)
from asyncguard.adapters.threads.claims import claim_thread
from asyncguard.adapters.threads.runnable_config import namespace_of, thread_of
from asyncguard.adapters.ui_events import (
    QuestionEvent,
    TextEvent,
    asking_event,
    emit,
    question_event,
    text_event,
    ui_events,
)
from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import Task
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Why
from asyncguard.core.scheduling import Step, dispatchable
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.errors import CallerError
from asyncguard.guards import asked_tasks
from asyncguard.runtime import dispatcher, proposals
from asyncguard.runtime.attempt_outcomes import restore_updates
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.kept_jobs import take_back
from asyncguard.runtime.recovery_driver import recover
from asyncguard.runtime.resume import ALL_TOOLS, Answer, Circumstances, Hands, reconcile, resolve
from asyncguard.runtime.session.cache import Sessions
from asyncguard.runtime.signals import any_written_down, apply_signals, ensure_written, outcome_due
from asyncguard.runtime.tasks import (
    cancel_tasks,
    check_known,
    close_tasks,
    open_tasks,
    reopen_tasks,
)

Runner = dispatcher.Runner
"""Factory of the function that runs the tool of an attempt once."""


class Threads:
    """Claims and finds the threads of one agent."""

    def __init__(self, engine: Engine, journal: JournalTarget) -> None:
        """Start without any thread.

        Args:
            engine: Clock, executor, journal and configuration that all threads share.
            journal: Where calls with effects are recorded; opened when the first run begins.
        """
        self._engine = engine
        self._keeper = LazyJournal(engine, journal)
        self._sessions = Sessions(engine)
        self._conversations = HistoryCache()

    def identified(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the state with a thread identity; create one if the state has none."""
        if state.get("asyncguard"):
            return state
        new_id = self._engine.ports.new_id
        return {**state, "asyncguard": Thread(session=new_id(), nonce=new_id())}

    async def claim(self, config: RunnableConfig, *, begins: bool = False) -> None:
        """Open the journal and claim the thread for a run; a refused run leaves nothing stored.

        Args:
            config: Of the node or hook.
            begins: True if the node or hook is the one that reads the run's input.

        Raises:
            CallerError: Another run is active on the thread.
            ThreadBusyError: Another run has continued the thread since this one read its state.
        """
        await self._keeper.ready(config)
        if begins or not THREADS.held_by(config):  # in each node but the first it is held
            await claim_thread(config, self._engine.journal, begins=begins)

    def find(self, state: Mapping[str, Any], config: RunnableConfig) -> "Run":
        """Return the run of a thread; call :meth:`Run.join` before anything else.

        Raises:
            CallerError: The state has no identity: it was made by hand, without an input.
        """
        if not state.get("asyncguard"):
            raise CallerError(
                f"Thread {thread_of(config)!r} was not begun: its state holds nothing of "
                'asyncguard. Begin it with an input, {"tasks": [...]} or {"messages": [...]}, '
                "before you change its state."
            )
        return Run(self._sessions, self._conversations, state, config)

    def __len__(self) -> int:
        """Return the number of threads in memory."""
        return len(self._sessions)


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


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Consequence of a model message."""

    messages: Sequence[AnyMessage]
    """Messages to write: the model's own, or its replacement."""
    verdict: ev.CompletionVerdict | None
    """Verdict on a message without calls; ``None`` if it made calls."""
    event: TextEvent | QuestionEvent | None = None
    """What user interfaces are told of the message's text, ``None`` if it may be shown as it is."""
    asks: tuple[str, ...] = ()
    """Tasks that wait for the user's answer, if the message ends the run with a question."""


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
        self._identity: Thread = state["asyncguard"]
        self._sessions = sessions
        self._conversations = conversations
        # Two agents of one graph share the thread, so the namespace is part of the session's key.
        self._session = sessions.of(self._identity["session"], namespace_of(config))
        self._state = state
        self.config = config

    @property
    def name(self) -> tuple[str, str]:
        """Minted id of the thread, and path of the agent among nested agents."""
        return self._session.thread, self._session.namespace

    @property
    def is_inside(self) -> bool:
        """True if the agent is run by another graph, with which it may share its history."""
        return bool(self._session.namespace)

    @property
    def messages(self) -> Sequence[AnyMessage]:
        """History, as the state has it."""
        return self._state.get("messages") or []

    @property
    def board(self) -> Scoreboard:
        """Current scoreboard of the thread; it is changed by its own methods only."""
        return self._session.board

    @property
    def ledger(self) -> Ledger:
        """Calls and tasks of the thread."""
        return self._session.board.ledger

    @property
    def conversation(self) -> CachedHistory:
        """Cached facts about the history, so that only new messages are examined."""
        return self._conversations.of(self._session, self._identity["nonce"])

    def drain_events(self) -> list[dict[str, Any]]:
        """Return and forget the events that no state holds yet, as plain JSON."""
        return self._session.drain_events()

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
        session, state = self._session, self._state
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
        number = self._identity.get("number", 0)
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
            if not reconcile():
                session.reconciled()
        apply_signals(session)

    async def _take_back(self) -> None:
        with self.leaving_on_error():
            await take_back(self._session, thread_of(self.config))

    def read_prompt(self, system: SystemMessage | None) -> None:
        """Count the system prompt of the model's turns as evidence; call it after :meth:`join`."""
        if system is not None:
            self.board.evidence.prompt = text_of(system.content)
            self.board.evidence.add_common(self.board.evidence.prompt)

    def identity_update(self) -> dict[str, Any]:
        """Return the update that writes this process's fencing token, empty if it is there."""
        if self._identity.get("number", 0) == self._session.lease.fencing_token:
            return {}
        return {"asyncguard": with_fencing_token(self._identity, self._session.lease)}

    def leaving_on_error(self) -> AbstractContextManager[None]:
        """Release the lease if the block raises: the run ends, or rests, there."""
        return self._session.lease.releasing_on_error()

    def inside(self) -> AbstractContextManager[None]:
        """Mark that the run waits inside the block; another run that enters then is refused."""
        return self._session.lease.inside()

    def keeping(self) -> AbstractAsyncContextManager[None]:
        """End the run after the block if it has lost the lease, and undo what it has stored.

        Raises:
            ThreadBusyError: Another process has acquired the thread.
        """
        return Owned(self._session.lease, self.config)

    async def keep(self) -> None:
        """End the run if another process has acquired its thread; see :meth:`keeping`."""
        async with self.keeping():
            pass

    async def ask_journal_again(self) -> None:
        """Ask the journal about the open calls once more.

        A branch may begin here, and its calls may have been made on another branch.
        """
        await self._session.lease.ask_again(thread_of(self.config))

    def _tell_interface(self, event: ev.Event) -> None:
        """Write an event into the stream for user interfaces, if it is one for them."""
        session = self._session
        renderer = MessageRenderer(session.board, session.live.raw_results, self._identity["nonce"])
        for told in ui_events(event, session.ledger, renderer):
            emit(told)

    def tell_asking(self, records: Iterable[CallRecord]) -> None:
        """Tell user interfaces that the run stops with a question to a person.

        Args:
            records: Calls that the question is about.
        """
        emit(asking_event(records))

    def leave(self) -> None:
        """Release the thread at the end of its run; drop the session if nothing of it is alive."""
        self._session.lease.release(ends=True)
        self._session.listen(None)
        self._sessions.forget(self._session)

    # -- beginning --------------------------------------------------

    def reconcile(self, *, issuing: bool, given: Circumstances | None = None) -> bool:
        """Decide about the open calls of a state from elsewhere; see :func:`resume.reconcile`."""
        return reconcile(self._session, issuing=issuing, given=given or Circumstances())

    def decide(
        self,
        records: Iterable[CallRecord],
        why: Why,
        *,
        hands: Hands = ALL_TOOLS,
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        """Decide the fate of open calls, and carry it out; see :func:`resume.resolve`."""
        given = Circumstances(hands=hands, answers=answers or {})
        for record in tuple(records):  # resolving a call changes the index that they come from
            resolve(self._session, record, why, given)

    async def begin(self, *, overtaken: Iterable[str] = ()) -> dict[str, Any]:
        """Apply the input of a run: tasks, cancellations and the user's messages.

        Args:
            overtaken: Keys of calls that the input ends: other middleware asked about them.

        Returns:
            The update of the state; ``messages`` holds what is written into the history.

        Raises:
            CallerError: The input cannot be read, or says nothing new; the thread keeps its former
                state.
        """
        session, messages = self._session, self.messages
        names = [task.task.id for task in self.ledger.tasks()]
        # Before the first event: the session keeps it for the next state, and the observers have
        # seen it, even if the input is refused after it.
        async with taking_back(self.config):
            tasks = read_tasks(self._state.get("tasks"), set(names))
            cancelled = read_cancelled(self._state.get("cancel"))
            check_input(self.board, tasks, messages, cancelled, news=session.has_completions)
            check_known(cancelled, names)
        known = self.ledger.turns  # run_started sets it to 0
        spoke = user_spoke(tasks, messages) and self._input_speaks(tasks, cancelled)
        session.record.run_started(session.engine.ports.new_id(), said=spoke)
        cancel_tasks(session, cancelled)
        proposals.end_overtaken(session, overtaken)
        opened = self._open_tasks(tasks, cancelled)
        # The whole history is written if calls in it were left without an answer.
        written = repaired(messages, opened, self._answers) or opened
        if known:
            collect_evidence(self.board, messages)
        else:
            # No turn yet: the caller brought the history along, and it may hold untrusted output.
            add_user_evidence(self.board, messages)
        collect_conversation(self.board, [*messages, *opened])
        identity = with_fencing_token(self._identity, session.lease)
        update = {"asyncguard": identity, "messages": written, "ledger": session.drain_events()}
        # That of the run before would be returned by a run that stops with a question.
        return update | ({"report": None} if self._state.get("report") else {})

    def _open_tasks(self, tasks: Sequence[Task], cancelled: Sequence[str]) -> list[AnyMessage]:
        """Open the tasks of the input, or reopen those of the thread; return what to write."""
        heard = heard_user(self.messages) and self._input_speaks(tasks, cancelled)
        if cancelled and not tasks and not heard:
            # A cancellation alone says nothing about the other tasks, which continue. Nor does a
            # message that the model is still to be shown: it came beside an answer.
            return [cancellation(cancelled)]
        proposals.squash_unissued_effects(self._session)
        if tasks:
            open_tasks(self._session, tasks)
            if heard_user(self.messages):
                # The words beside new tasks may be the answer to what an ended task has asked.
                reopen_tasks(self._session, "", cancelled=cancelled)
            return [task_message(tasks, several=self.board.several_tasks)]
        said = (item for item in reversed(self.messages) if isinstance(item, HumanMessage))
        last = next(said, None)
        goal = "" if last is None else text_of(last.content)
        reopen_tasks(self._session, goal, cancelled=cancelled)
        return []

    def _input_speaks(self, tasks: Sequence[Task], cancelled: Sequence[str]) -> bool:
        """Return False if the words of the user are known to be older than the run's input.

        They stand in the history while calls are open to which they came beside an answer, or if
        the process died in the model's turn; then a cancellation of all tasks is one of them, too.
        """
        given = input_of(self.config)
        if tasks or not isinstance(given, Mapping):
            return True
        known = {record.task.id for record in self.ledger.tasks()}
        if not (cancelled and known.issubset(cancelled)) and not self.ledger.in_state(*OPEN_STATES):
            return True
        return says_something(read_messages(given.get("messages") or []))

    def _answers(self, message_id: str, calls: Sequence[Mapping[str, Any]]) -> list[AnyMessage]:
        records = {record.call.call_id: record for record in self.ledger.of_message(message_id)}
        answers: list[AnyMessage] = []
        for call in calls:
            record = records.get(str(call["id"]))
            answers.append(unknown_call(call) if record is None else self.teller.answer(record)[0])
        return answers

    # -- the model's turn --------------------------------------------------

    async def ensure_written(self) -> None:
        """Wait until ended calls are recorded in the journal.

        Neither client nor model may be told an outcome that a crash could still undo.
        """
        await ensure_written(self._session)

    def on_model_message(
        self, message: AIMessage, task_argument: str, *, structured: bool = False
    ) -> Turn:
        """Propose the calls of a model message, or judge whether the run may end with it.

        Args:
            message: With usable ids.
            task_argument: Name of the task argument.
            structured: See :meth:`judge_end`.
        """
        if self.propose(message, task_argument):
            return Turn(messages=[message], verdict=None)
        return self.judge_end(message, structured=structured)

    def propose(self, message: AIMessage, task_argument: str) -> bool:
        """Count the turn of a model message and judge its calls; return False if it has none."""
        calls = parse_calls(message, self.board, task_argument)
        proposals.propose_calls(self._session, str(message.id), calls)
        return bool(calls)

    def edit(
        self, record: CallRecord, tool: str, arguments: Mapping[str, Any], task_argument: str
    ) -> None:
        """Have the call judged that a person wrote in place of one that was not issued.

        Args:
            record: The call.
            tool: Its tool now.
            arguments: Its arguments now.
            task_argument: Name of the task argument, which is stripped from them.
        """
        parsed = parse_edit(record, tool, arguments, task_argument)
        same = (record.call.tool, record.call.arguments) == (parsed.tool, parsed.arguments)
        if not same:  # else it was judged before: the wrapper is executed again
            proposals.edit_call(self._session, record, parsed)

    def judge_end(self, message: AIMessage, *, structured: bool = False) -> Turn:
        """Judge whether the run may end with a message that has no calls.

        Args:
            message: Of the newest turn.
            structured: True if the message held a structured answer, which counts for its caller:
                a premature one is taken out, while a text stays and is marked.
        """
        completion = proposals.judge_end(self._session, text_of(message.content))
        if self.board.config.shadow:
            return Turn(messages=[message], verdict=ev.CompletionVerdict.END)
        if completion.verdict is ev.CompletionVerdict.NUDGE:
            # Same id: the reason stands in the history where "all done" stood.
            nudge = note_for_model(completion.reason, "nudge", message_id=message.id)
            event = text_event(str(message.id), "replaced", ())
            return Turn(messages=[nudge], verdict=completion.verdict, event=event)
        if completion.verdict is ev.CompletionVerdict.WAIT:
            return self._interim(message, structured=structured)
        return self._final(message, structured=structured)

    def judge_left(self, message: AIMessage) -> Turn | None:
        """Return the consequence of a text whose run ended before it was judged, if it has one."""
        return self._interim(message, structured=False) if self._waits else None

    @property
    def holds_text(self) -> bool:
        """True if the coming message is held back unless it makes calls: the run waits for some."""
        return self.board.config.hold_text and self._waits

    @property
    def _waits(self) -> bool:
        """True if a text of the model can be interim only."""
        config, ledger = self.board.config, self.ledger
        judged = config.completion and config.ledger and not config.shadow
        return judged and (ledger.any_open() or bool(ledger.news()))

    def _final(self, message: AIMessage, *, structured: bool) -> Turn:
        """Return the consequence of a message that ends the run; a question is marked as one."""
        end = ev.CompletionVerdict.END
        asks = () if structured else asked_tasks(self.board, text_of(message.content))
        if not asks:
            return Turn(messages=[message], verdict=end)
        kept = {**message.additional_kwargs, **mark("question", tasks=list(asks))}
        marked = message.model_copy(update={"additional_kwargs": kept})
        event = question_event(str(message.id), asks)
        return Turn(messages=[marked], verdict=end, event=event, asks=asks)

    def _interim(self, message: AIMessage, *, structured: bool) -> Turn:
        """Return the consequence of a message that claims an end while the run waits for calls."""
        ledger = self.ledger
        waiting = [*(record for record in ledger.calls() if record.open), *ledger.news()]
        verdict = ev.CompletionVerdict.WAIT
        if structured:
            event = text_event(str(message.id), "replaced", waiting)
            return Turn(messages=[], verdict=verdict, event=event)
        if self.board.config.hold_text:
            return Turn(messages=[], verdict=verdict)  # nothing was streamed, see `holds_text`
        event = text_event(str(message.id), "interim", waiting)
        marker = mark("interim", tool_call_ids=event["tool_call_ids"])
        kept = {**message.additional_kwargs, **marker}
        marked = message.model_copy(update={"additional_kwargs": kept})
        return Turn(messages=[marked], verdict=verdict, event=event)

    def asking(
        self, model: BaseChatModel, provider: str, messages: Sequence[AnyMessage]
    ) -> AbstractContextManager["Asked"]:
        """Tell observers of a request to the model that is made inside the block."""
        return asking(self._session, model, provider, messages)

    def on_unfit_answer(self, message: AIMessage) -> None:
        """Count the turn of a message that gave an unusable structured answer and no calls."""
        proposals.propose_calls(self._session, str(message.id), [])

    # -- calls --------------------------------------------------

    @property
    def has_news(self) -> bool:
        """True if a result or a signal from outside waits to be applied."""
        return self._session.has_completions

    @property
    def stopping(self) -> bool:
        """True if a call that the user cancelled still runs."""
        pending, barred = self.ledger.in_state(CallState.PENDING), self._session.live.barred
        return any(record.key in barred for record in pending)

    async def outcome_due(self) -> bool:
        """Return True if the journal knows what became of a call that a lost process has begun.

        Raises:
            JournalError: The journal cannot be read.
        """
        return await outcome_due(self._session)

    @property
    def questions(self) -> Collection[str]:
        """Keys of the calls whose tools have raised an interrupt."""
        return self._session.live.interrupts.keys()

    async def ensure_stored(self, records: Iterable[CallRecord]) -> None:
        """Wait until the checkpoint before these calls is stored, if one of them has an effect.

        Raises:
            CallerError: The run stores nothing before its end.
            JournalError: The checkpoint was not stored in time.
        """
        written_down = any_written_down(self._session, records)
        await ensure_stored(self.config, self._session.stored, written_down=written_down)

    def issue(self, runner: Runner, records: Iterable[CallRecord] | None = None) -> int:
        """Hand admitted calls, by default all, to the executor; return how many were issued."""
        return dispatcher.issue(self._session, runner, records)

    def issue_again(self, runner: Runner) -> int:
        """Hand the calls of a lost process to the executor, under their former attempt numbers."""
        return dispatcher.issue_again(self._session, runner)

    async def advance(self, *, fresh: bool, due: Callable[[], bool] = lambda: False) -> Step:
        """Run the engine until it needs the adapter; see :func:`dispatcher.run_until_blocked`."""
        return await dispatcher.run_until_blocked(self._session, fresh=fresh, due=due)

    async def wait_changed(self, timeout: float | None = None) -> bool:
        """Wait for a completion or :meth:`wake`; return False if ``timeout`` seconds pass first."""
        return await self._session.wait_changed(timeout)

    def wake(self) -> None:
        """Wake all waits of :meth:`wait_changed` on this thread."""
        self._session.wake()

    def release(self) -> None:
        """Judge the deferred calls whose reason to wait has gone."""
        proposals.release_ready(self._session)

    @property
    def recovery_due(self) -> ev.RecoveryAction:
        """Action of recovery that is carried out next."""
        return next(iter(self._session.live.recoveries.values())).action

    def recover(self, action: ev.RecoveryAction) -> None:
        """Carry out the decisions of recovery for one action."""
        recover(self._session, action)

    def asked_here(self, key: str) -> bool:
        """Return True if a call's tool has asked within the present execution of the node or hook.

        See :func:`asyncguard.adapters.answer_log.asks_here`.
        """
        return asks_here(self.config, key)

    def take_question(self, key: str) -> BaseException:
        """Return the interrupt that a call's tool has raised, to raise it here.

        The call is queued again, and its next attempt is given the answer. If one does not fit the
        question's schema, LangGraph's error about it is returned, and the question stays.
        """
        refused = is_invalid_resume(self._session.live.interrupts[key].error)
        (put_back_question if refused else keep_question)(self.config, key)
        self.tell_asking([self.ledger.record(key)])
        return dispatcher.take_interrupt(self._session, key)

    def raise_question(self, key: str) -> None:
        """Raise the question of a call's tool if it was asked here; else have it asked again.

        Raises:
            GraphInterrupt: The person has not answered.
            ValidationError: The answer does not fit the question.
        """
        if self.asked_here(key):
            raise self.take_question(key)
        self.repeat_question(key)

    def repeat_question(self, key: str) -> None:
        """Queue a call again whose tool has asked, so that it asks once more."""
        dispatcher.take_interrupt(self._session, key)

    def give_up_questions(self) -> None:
        """End the calls whose tools ask a person, if no wrapper is left to raise the interrupt."""
        dispatcher.give_up_interrupts(self._session)

    # -- people --------------------------------------------------

    def refuse_held(self) -> None:
        """Reject the held calls of a run that cannot be resumed, so that no person can answer."""
        proposals.reject_held_calls(self._session)

    def enter_answer(self, answer: Any, records: Sequence[CallRecord]) -> str:
        """Apply a person's answer about held calls, after the cancellations that came with it.

        Args:
            answer: See :func:`~asyncguard.adapters.approvals.decisions`.
            records: The calls that the question named.

        Returns:
            The error of a wrong cancellation, which refuses all calls; empty if there is none.
        """
        # First: a call of a cancelled task must not be issued by the approval beside it.
        wrong = self.cancel_beside(approving=True)
        self._decide_held(records, [(False, wrong)] * len(records) if wrong else None, answer)
        return wrong

    def repeat_answer(self, answer: Any, records: Sequence[CallRecord]) -> None:
        """Apply a person's answer about held calls that an earlier execution was given.

        Args:
            answer: As for :meth:`enter_answer`.
            records: The calls that the question named.
        """
        self._decide_held(records, None, answer)

    def _decide_held(
        self, records: Sequence[CallRecord], decided: list[tuple[bool, str]] | None, answer: Any
    ) -> None:
        for record, (approved, reason) in zip(
            records, decided or decisions(answer, records), strict=True
        ):
            if record.state is CallState.HELD:  # a cancellation may have ended it
                proposals.answer_approval(self._session, record, approved=approved, message=reason)

    def cancel_beside(self, *, approving: bool = False) -> str:
        """Stop the tasks that were cancelled with an answer; return the error, or an empty text.

        Args:
            approving: True if the answer is about held calls.
        """
        known = [task.task.id for task in self.ledger.tasks()]
        cancel = partial(cancel_tasks, self._session)
        wrong = cancel_beside(self.config, known, cancel, approving=approving)
        read = channels_of(self.config)
        said: Sequence[AnyMessage] = (read("messages") if read is not None else None) or []
        if heard_user(said) and not self.ledger.open_tasks():
            reopen_tasks(self._session, text_of(said[-1].content), cancelled=known)
        return wrong

    def cancel_alone(self) -> bool:
        """Stop the tasks that a ``Command`` without an answer cancels; return True if any stops."""
        before = len(self.ledger.open_tasks()), self.ledger.open_count()
        self.cancel_beside()
        return (len(self.ledger.open_tasks()), self.ledger.open_count()) != before

    @property
    def cancelling(self) -> bool:
        """True if the ``Command`` that resumed the thread cancels tasks."""
        read = channels_of(self.config)
        return read is not None and bool(read("cancel"))

    def next_to_ask(self, absent: Collection[str] = ()) -> CallRecord | None:
        """Return the admitted call whose tool may ask a person next, if there is one."""
        chosen = dispatchable(self.board, absent)
        return next((each for each in chosen if self.board.asks_person(each)), None)

    def goes_on(self, asker: str) -> bool:
        """Return True if the admitted calls begin where an answer was given, not apart from it.

        A tool that asks does not, but for one that goes on with what it was answered, after the
        journal has told of a later attempt than the state does.

        Args:
            asker: Key of the call whose tool was answered.
        """
        record = self.next_to_ask()
        return record is None or (record.key == asker and record.error == ErrorCode.INTERRUPT)

    def cancel_at_question(self, asker: CallRecord | None) -> bool:
        """Stop the tasks that a ``Command`` cancels while a tool's own question is open.

        Args:
            asker: The call whose tool asks.

        Returns:
            True if an answer beside it is not for the tool: its call was stopped, or a task is
            unknown. Then the question comes again, as the name may mean the task that asks.
        """
        wrong = self.cancel_beside()
        if asker is None:
            return False
        stopped = not asker.open or asker.key in self._session.live.barred
        return bool(wrong) or stopped

    def park(self) -> None:
        """Record that the run rests until external results are delivered."""
        pending = self.ledger.in_state(CallState.PENDING)
        self._session.record.run_parked([record.key for record in pending])

    @property
    def teller(self) -> ResultNotifier:
        """Notifier that writes the results of calls for the model."""
        session = self._session
        return ResultNotifier(session.board, session.record, session.live, self._identity["nonce"])

    def hands_over(self, record: CallRecord) -> bool:
        """Return True if a call's tool answered with a command to the graph around the agent."""
        raw = self._session.live.raw_results.get(record.key)
        parts = raw if isinstance(raw, list) else ()
        return is_kept_hand_over(raw) or any(
            isinstance(item, Command) and item.graph is not None for item in parts
        )

    def handed_over(self, command: Any) -> Any:
        """Return a tool's command to the graph around; see :func:`history.handed_over`."""
        session, newest = self._session, self.ledger.last_message
        renderer = MessageRenderer(session.board, session.live.raw_results, self._identity["nonce"])
        answers = [
            cast(ToolMessage, renderer.render_answer(record).messages[0])
            for record in self.ledger.of_message(newest)
        ]
        whole = made_whole(command, self.messages, newest)
        return handed_over(whole, newest, answers)

    def end(self, reason: str, *, asks: Sequence[str] = ()) -> dict[str, Any]:
        """Close the tasks and return the report.

        Args:
            reason: ``complete``, ``max_model_turns``, ``tasks_stopped`` or ``direct_return``.
            asks: Tasks that wait for the user's answer to the last message.
        """
        close_tasks(self._session)
        self._session.record.run_ended(reason)
        told = report(self.board, reason)
        return {**told, "waits_for_user": list(asks)} if asks else told
