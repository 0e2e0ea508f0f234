"""One run of an agent, as both front ends make it: open its thread, begin, and give the thread free.

The front ends differ in what calls need to be run (``create_agent`` has wrappers) and in how a step is told to
LangGraph; what is the same for both stands here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from asyncguard.engine.cancelling import cancel_tasks
from asyncguard.engine.durable import take_mail
from asyncguard.engine.engine import Engine
from asyncguard.engine.session import Session
from asyncguard.frontends.claims import claim_thread
from asyncguard.frontends.conversation import Conversation
from asyncguard.frontends.durability import JournalKeeper, JournalTarget
from asyncguard.frontends.entry import (
    add_user_evidence,
    check_input,
    collect_evidence,
    enter,
    read_cancelled,
    read_tasks,
    user_spoke,
)
from asyncguard.frontends.heads import keep_thread, numbered, stands_on, take_thread
from asyncguard.frontends.namespaces import namespace_of
from asyncguard.frontends.registry import Registry
from asyncguard.frontends.state import Thread

Reconcile = Callable[[Session], bool]
"""Decides about the open calls of a state that this process has not written; returns whether some have to wait."""


class Threads:
    """The threads of one agent: opened, found again and given free here alone."""

    def __init__(self, engine: Engine, journal: JournalTarget) -> None:
        """Know no thread yet.

        Args:
            engine: What the sessions share.
            journal: Where calls with effects are written down; opened when the first run begins.
        """
        self._engine = engine
        self._keeper = JournalKeeper(engine, journal)
        self._registry = Registry(engine)

    def identity_of(self, state: Mapping[str, Any]) -> Thread:
        """Return the identity of a thread, a new one where the state has none."""
        new_id = self._engine.ports.new_id
        return state.get("asyncguard") or Thread(session=new_id(), nonce=new_id())

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

    def find(self, identity: Thread, config: RunnableConfig) -> Session:
        """Return the session of a thread, without joining it with the state."""
        return self._registry.session(identity["session"], namespace_of(config))

    async def open(
        self,
        state: Mapping[str, Any],
        config: RunnableConfig,
        reconcile: Reconcile,
        *,
        begins: bool = False,
        folded: Callable[[Session], object] = lambda _: None,
    ) -> Session:
        """Return the session of a state, joined with it and with the journal, its open calls decided about.

        Args:
            state: Of the super-step.
            config: Of the node or hook.
            reconcile: Asked where the state is not this process's own.
            begins: Whether the node or hook takes the input of a run in.
            folded: Called where the ledger was folded anew, before anything is decided.

        Raises:
            ThreadBusyError: Another process is at work on the thread.
            JournalError: The journal cannot be read or written.
        """
        identity = state["asyncguard"]
        session = self.find(identity, config)
        anew = session.attach(state.get("ledger") or [])
        await take_thread(session.lease, config, known=identity.get("number", 0), begins=begins, again=anew)
        if anew:
            folded(session)
        if session.reconcile_due:  # also where an earlier entry failed between the two
            collect_evidence(session, state.get("messages") or [])
            if not reconcile(session):
                session.reconciled()
        take_mail(session)
        return session

    def forget(self, session: Session, config: RunnableConfig) -> None:
        """Give a thread free whose run ends with this step, and drop its session if nothing of it is alive."""
        session.lease.leave(stands_on(config))
        self._registry.forget(session)

    def conversation(self, session: Session, nonce: str) -> Conversation:
        """Return what is known of the history of a session's thread."""
        return self._registry.conversation(session, nonce)

    def __len__(self) -> int:
        """Return the number of sessions in memory."""
        return len(self._registry)


def fenced_identity(session: Session, state: Mapping[str, Any]) -> Mapping[str, Thread]:
    """Return the update of a thread's identity, empty where the state has the number of this process already."""
    identity = state["asyncguard"]
    if identity.get("number", 0) == session.lease.number:
        return {}
    return {"asyncguard": numbered(identity, session.lease)}


async def begin_run(
    session: Session, state: Mapping[str, Any], config: RunnableConfig, *, system: SystemMessage | None = None
) -> Mapping[str, Any]:
    """Take the input of a run in: tasks, cancellations and the user's words.

    Args:
        session: The thread, claimed.
        state: With the thread's identity.
        config: Of the node or hook.
        system: System prompt, whose values the user is taken to have said.

    Returns:
        The update of the state; under ``messages`` what is written into the history.

    Raises:
        CallerError: The input cannot be read, or says nothing new.
    """
    messages: Sequence[AnyMessage] = state.get("messages") or []
    identity: Thread = state["asyncguard"]
    tasks = read_tasks(state.get("tasks"), {task.task.id for task in session.ledger.tasks()})
    cancelled = read_cancelled(state.get("cancel"))
    check_input(session, tasks, messages, cancelled)
    known = session.ledger.turns
    session.record.run_started(session.engine.ports.new_id(), said=user_spoke(tasks, messages))
    cancel_tasks(session, cancelled)
    written = enter(session, tasks, messages, nonce=identity["nonce"], cancelled=cancelled)
    if known:
        collect_evidence(session, messages)
    else:
        add_user_evidence(session, [*messages, *([system] if system is not None else [])])
    await keep_thread(session.lease, config)
    return {"asyncguard": numbered(identity, session.lease), "messages": written, "ledger": session.take_events()}
