"""The nodes of the state machine.

prepare -> model -> execute -> model ... ; execute -> approve | park | a recovery -> execute, with one node for each
action of recovery (retry, refresh, rebind, normalise, fallback, cross_check, verify, ask, give_up). A node that decides
leaves its events in the state before the node that acts is entered: what the checkpoint holds between ``model`` and
``execute`` is the intent. Nodes that always follow each other are one node, because a super-step costs more than all
guards together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AnyMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.types import Command, interrupt
from pydantic import ValidationError

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.turns import Step
from asyncguard.engine.dispatch import issue, issue_again, settle, take_escape
from asyncguard.engine.durable import ensure_written
from asyncguard.engine.engine import Engine
from asyncguard.engine.intake import refuse_held, release_ready
from asyncguard.engine.recovering import recover
from asyncguard.engine.resume import reconcile
from asyncguard.engine.session import Session
from asyncguard.frontends.approvals import cancel_beside, enter_answer, question, resumable
from asyncguard.frontends.binding import ModelBinding
from asyncguard.frontends.callers_answers import refuse_answers
from asyncguard.frontends.durability import ensure_stored
from asyncguard.frontends.entry import (
    only_cancelled,
    put_in_place,
)
from asyncguard.frontends.heads import keeping
from asyncguard.frontends.reading import unreadable_message, with_usable_ids
from asyncguard.frontends.run import Threads, begin_run, fenced_identity
from asyncguard.frontends.running import ToolRunner
from asyncguard.frontends.state import Thread
from asyncguard.frontends.turning import closing_message, end_run, exhausted, parked, take_turn, view_message
from asyncguard.frontends.writing import Writer

State = dict[str, Any]


class NodeFunction(Protocol):
    """An async node."""

    async def __call__(self, state: State, config: RunnableConfig) -> Any:
        """Run on the state of a super-step."""
        ...


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of one agent; each method is one."""

    engine: Engine
    """What the sessions share."""
    threads: Threads
    """The threads."""
    binding: ModelBinding
    """The model with its tools."""
    runner: ToolRunner
    """Runs the tools."""
    system: SystemMessage | None
    """System prompt."""
    direct: frozenset[str]
    """Tools whose result ends the run."""
    stateless: bool = False
    """Whether the graph wants no checkpointer, not even that of a graph around it: it would begin from the start."""

    def leaving_on_error(self, function: NodeFunction, *, begins: bool = False) -> NodeFunction:
        """A node that gives the thread free for other processes where the run ends, or rests because it raises.

        Args:
            function: The node.
            begins: Whether it takes the input of a run in.
        """

        async def guarded(state: State, config: RunnableConfig) -> Any:
            await self.threads.claim(config, begins=begins)
            identity = state.get("asyncguard")
            if identity is None:
                return await function(state, config)
            session = self.threads.find(identity, config)
            with session.lease.leaving_on_error():
                async with keeping(session, config):
                    update = await function(state, config)
                if fenced := fenced_identity(session, state):
                    update = _numbered(update, fenced["asyncguard"])
                if session.ledger.ended is not None:
                    self.threads.forget(session, config)
                return update

        return guarded

    async def prepare(self, state: State, config: RunnableConfig) -> Any:
        """Turn the input into tasks and put in order what an earlier run left."""
        await refuse_answers(state, config)
        known: Any = {**state, "asyncguard": self.threads.identity_of(state)}
        session = await self._session(known, config, issuing=True, begins=True)
        with session.lease.leaving_on_error():  # at the beginning of a thread the state does not name it yet
            session.lease.claim()
            update = await begin_run(session, known, config, system=self.system)
            # What came from outside meanwhile (a late result, a word about a doubt) is told before the model speaks.
            goto = "execute" if session.has_completions or only_cancelled(update["messages"]) else "model"
            return Command(update=update, goto=goto)

    async def model(self, state: State, config: RunnableConfig) -> Any:
        """Let the model speak, and put its calls before admission."""
        session = await self._session(state, config)
        if reason := exhausted(session):
            return self._ended(session, reason, [closing_message(session, reason)])
        conversation = self.threads.conversation(session, state["asyncguard"]["nonce"])
        conversation.read(state["messages"], self.binding.provider)
        sent = conversation.request(view_message(session))
        tasks = [task.task.id for task in session.ledger.tasks()]
        try:
            with session.lease.inside():
                await ensure_written(session)
                said = await self.binding.ask([self.system, *sent] if self.system else sent, tasks, config)
        except ValidationError as error:
            said = unreadable_message(error)
        message = with_usable_ids(said, self.engine.ports.new_id, conversation.ids)
        turn = take_turn(session, message, self.binding.task_argument)
        match turn.verdict:
            case ev.CompletionVerdict.END:
                return self._ended(session, "complete", turn.messages)
            case ev.CompletionVerdict.NUDGE:
                goto = "model"
            case _:
                goto = "execute"
        return Command(update={"messages": list(turn.messages), "ledger": session.take_events()}, goto=goto)

    async def execute(self, state: State, config: RunnableConfig) -> Any:
        """Issue what was admitted, wait until something is to do, deliver what the model may know."""
        session = await self._session(state, config, issuing=True)
        await ensure_stored(session, config, session.ledger.in_state(CallState.QUEUED))
        runner = self.runner.bind(config)
        fresh = issue_again(session, runner) + issue(session, runner) > 0
        with session.lease.inside():
            step = await settle(session, fresh=fresh)
            while step is Step.PARK and not self._resumable(config):
                await session.wait_changed(None)  # nobody could resume a parked run: wait here
                step = await settle(session, fresh=False)
        match step:
            case Step.MODEL:
                return self._deliver(session, state)
            case Step.RELEASE:
                release_ready(session)
                return _go(session, "execute")
            case Step.RECOVER:
                return _go(session, next(iter(session.live.recoveries.values())).action.value)
            case Step.ESCAPE:
                raise take_escape(session, next(iter(session.live.escapes)))
            case Step.PARK:
                resting = session.ledger.in_state(CallState.PENDING)
                session.record.run_parked([record.key for record in resting])
                return _go(session, "park")
            case Step.APPROVE if self._resumable(config):
                return _go(session, "approve")
            case Step.APPROVE:
                refuse_held(session)
                return _go(session, "execute")
            case _:
                return _go(session, "execute")

    def recovering(self, action: ev.RecoveryAction) -> NodeFunction:
        """The node that carries out one action of recovery; whom it asks, and its back-off, are the executor's."""

        async def carry_out(state: State, config: RunnableConfig) -> Any:
            session = await self._session(state, config)
            recover(session, action)
            return _go(session, "execute")

        return carry_out

    async def approve(self, state: State, config: RunnableConfig) -> Any:
        """Ask a person about the calls that are held."""
        session = await self._session(state, config)
        held = session.ledger.in_state(CallState.HELD)
        enter_answer(session, config, interrupt(question(held)), held)
        return _go(session, "execute")

    async def park(self, state: State, config: RunnableConfig) -> Any:
        """Rest until an external result is delivered; the value of the resume means nothing."""
        session = await self._session(state, config)
        if not session.has_completions and session.ledger.in_state(CallState.PENDING):  # not lost with a process
            interrupt(parked(session))
            cancel_beside(session, config)
        return _go(session, "execute")

    # -- shared ----------------------------------------------------------------------------------------------------

    def _resumable(self, config: RunnableConfig) -> bool:
        return not self.stateless and resumable(config)

    async def _session(
        self, state: State, config: RunnableConfig, *, issuing: bool = False, begins: bool = False
    ) -> Session:
        """The thread's session, joined with the state and with the journal.

        Args:
            state: Of the super-step.
            config: Of the node.
            issuing: Whether an earlier, lost attempt of this node may have issued admitted calls.
            begins: Whether the node takes the input of a run in.
        """
        return await self.threads.open(
            state, config, lambda session: reconcile(session, issuing=issuing), begins=begins
        )

    def _deliver(self, session: Session, state: State) -> Any:
        delivery = Writer(session, state["asyncguard"]["nonce"]).deliver()
        direct = self._returns_directly(session, delivery.messages)
        put_in_place(session, state["messages"], delivery)
        if direct:
            return [*delivery.updates, self._ended(session, "direct_return", delivery.messages)]
        updates, added = _apart(delivery.updates)  # providers want a call's answer directly after the call
        own = Command(update={"messages": [*delivery.messages, *added], "ledger": session.take_events()}, goto="model")
        return [*updates, own] if updates else own

    def _returns_directly(self, session: Session, messages: Sequence[AnyMessage]) -> bool:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        if not self.direct or not answers or session.ledger.any_open():
            return False
        return all(message.name in self.direct and message.status != "error" for message in answers)

    def _ended(self, session: Session, reason: str, messages: Sequence[AnyMessage]) -> Any:
        report = end_run(session, reason)
        return Command(update={"messages": list(messages), "ledger": session.take_events(), "report": report}, goto=END)


def _apart(updates: Sequence[Any]) -> tuple[list[Any], list[AnyMessage]]:
    """Commands of tools without the messages that they add to this graph, and those messages."""
    rest: list[Any] = []
    added: list[AnyMessage] = []
    for command in updates:
        messages = command.update.get("messages", ()) if isinstance(command.update, dict) else ()
        # One that removes messages stays where it is: behind the answers it could take them away.
        if messages and command.graph is None and not any(isinstance(item, RemoveMessage) for item in messages):
            added += messages
            kept = {name: value for name, value in command.update.items() if name != "messages"}
            command = Command(update=kept, goto=command.goto)
        if command.graph is not None or command.update or command.goto:
            rest.append(command)
    return rest, added


def _numbered(update: Any, identity: Thread) -> Any:
    """What a node stores, with the identity of the thread."""
    if isinstance(update, list):  # updates of tools, and the node's own behind them
        return [*update[:-1], _numbered(update[-1], identity)]
    return Command(update={**update.update, "asyncguard": identity}, goto=update.goto)


def _go(session: Session, node: str) -> Any:
    return Command(update={"ledger": session.take_events()}, goto=node)
