"""The threads of an agent made by ``create_agent``: its sessions, joined with state and journal, and their handlers."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from asyncguard.engine.durable import take_mail
from asyncguard.engine.engine import Engine
from asyncguard.engine.resume import reconcile
from asyncguard.engine.session import Session
from asyncguard.frontends.claims import claim_thread
from asyncguard.frontends.conversation import Conversation
from asyncguard.frontends.durability import JournalKeeper
from asyncguard.frontends.entry import collect_evidence
from asyncguard.frontends.heads import stands_on, take_thread
from asyncguard.frontends.joining import answers_of_others, note_answers
from asyncguard.frontends.middleware_calls import HeldHandlers
from asyncguard.frontends.namespaces import namespace_of
from asyncguard.frontends.prepared import PreparedTools
from asyncguard.frontends.registry import Registry


class Threads:
    """Finds the session of a state and the handlers of its calls."""

    def __init__(self, engine: Engine, keeper: JournalKeeper, tools: dict[str, BaseTool]) -> None:
        """Know no thread yet.

        Args:
            engine: What the sessions share.
            keeper: Opens the journal.
            tools: Tools by name, as far as they are known; grows while the agent runs.
        """
        self._engine = engine
        self._keeper = keeper
        self._tools = tools
        self._prepared = PreparedTools()
        self._registry = Registry(engine)
        self._handlers: dict[tuple[str, str], HeldHandlers] = {}

    async def session(self, state: Mapping[str, Any], config: RunnableConfig, *, begins: bool = False) -> Session:
        """The session of a state, joined with it and with the journal.

        Args:
            state: Of the super-step.
            config: Of the hook.
            begins: Whether the hook takes the input of a run in.
        """
        await self._keeper.ready(config)
        await claim_thread(config, self._engine.journal, begins=begins)
        identity = state["asyncguard"]
        session = self._registry.session(identity["session"], namespace_of(config))
        folded = session.attach(state.get("ledger") or [])
        await take_thread(session, config, known=identity.get("number", 0), begins=begins, again=folded)
        if folded:  # what was to be written is void with the ledger that knew of it
            self.take_updates(session)
        if session.reconcile_due:  # wrappers of one message arrive together; the first that goes on does it for all
            handlers = self._of(session)
            collect_evidence(session, state["messages"])
            note_answers(session, state["messages"])
            handlers.rests = reconcile(
                session,
                issuing=True,
                hands=handlers,
                answers=answers_of_others(session, state["messages"]),
                siblings=True,
                said=begins,
            )
            if not handlers.rests:
                session.reconciled()
            handlers.after_loss = True
            handlers.question = None  # on another branch
        take_mail(session)
        return session

    async def joined(
        self, state: Mapping[str, Any], config: RunnableConfig, *, begins: bool = False
    ) -> tuple[Session, HeldHandlers]:
        """The session of a state, and the handlers of its calls, which run with this state from now on."""
        session = await self.session(state, config, begins=begins)
        handlers = self._of(session)
        handlers.state, handlers.config = state, config
        return session, handlers

    def conversation(self, session: Session, nonce: str) -> Conversation:
        """What is known of the history of a session's thread."""
        return self._registry.conversation(session, nonce)

    def take_updates(self, session: Session) -> dict[str, Any]:
        """State updates of tools for the next write of a hook; the news that came with them are written by then."""
        handlers = self._of(session)
        taken, handlers.updates, handlers.news = handlers.updates, {}, []
        return taken

    def forget(self, session: Session, config: RunnableConfig) -> None:
        """Drop a session whose run ends with this step."""
        session.lease.leave(stands_on(config))
        self._handlers.pop((session.thread, session.namespace), None)
        self._registry.forget(session)

    def __len__(self) -> int:
        """Number of sessions in memory."""
        return len(self._registry)

    def _of(self, session: Session) -> HeldHandlers:
        name = (session.thread, session.namespace)
        found = self._handlers.get(name)
        if found is None:
            fresh = HeldHandlers(tools=self._tools, prepared=self._prepared)
            found = self._handlers.setdefault(name, fresh)
        return found
