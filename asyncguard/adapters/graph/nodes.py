"""The nodes of the state machine.

prepare -> model -> execute -> model ... ; execute -> approve | park | a recovery -> execute, with one node for each
action of recovery (retry, refresh, rebind, normalise, fallback, cross_check, verify, ask, give_up). A node that decides
leaves its events in the state before the node that acts is entered: what the checkpoint holds between ``model`` and
``execute`` is the intent. Nodes that always follow each other are one node, because a super-step costs more than all
guards together.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.types import Command, interrupt
from pydantic import ValidationError

from asyncguard.adapters.approvals import question, resumable
from asyncguard.adapters.caller_answers import refuse_answers
from asyncguard.adapters.graph.model_binding import ModelBinding
from asyncguard.adapters.messages.history import put_in_place
from asyncguard.adapters.messages.parse import unreadable_message, with_usable_ids
from asyncguard.adapters.messages.run_messages import (
    closing_message,
    exhausted,
    parked,
    view_message,
)
from asyncguard.adapters.run import Run, Threads
from asyncguard.adapters.run_input import only_cancelled
from asyncguard.adapters.state import Thread
from asyncguard.adapters.tools.invoke import ToolRunner
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.scheduling import Step
from asyncguard.runtime.engine import Engine

State = dict[str, Any]
NodeFunction = Callable[[State, RunnableConfig], Coroutine[Any, Any, Any]]
"""An async node."""


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

    def node(
        self, act: Callable[[Run], Awaitable[Any]], *, begins: bool = False, issues: bool = False
    ) -> NodeFunction:
        """Make a node that opens the thread, acts, and gives the thread free if it raises or if the run has ended.

        Args:
            act: Acts on the run and returns an update.
            begins: Whether the node takes the input of a run in.
            issues: Whether an earlier, lost attempt of the node may have issued admitted calls.
        """

        async def opened(state: State, config: RunnableConfig) -> Any:
            await self.threads.claim(config, begins=begins)
            run = self.threads.find(self.threads.identified(state) if begins else state, config)
            with run.leaving_on_error():
                async with run.keeping():
                    if begins:
                        await refuse_answers(state, config)
                    await run.join(lambda: run.reconcile(issuing=issues), begins=begins)
                    update = await act(run)
                if identity := run.identity_update():
                    update = _numbered(update, identity["asyncguard"])
                if run.ledger.ended is not None:
                    run.leave()
                return update

        return opened

    async def prepare(self, run: Run) -> Any:
        """Turn the input into tasks and put in order what an earlier run left."""
        run.claim()
        update = run.begin(system=self.system)
        # What came from outside meanwhile (a late result, a word about a doubt) is told before the model speaks.
        goto = "execute" if run.has_news or only_cancelled(update["messages"]) else "model"
        return Command(update=update, goto=goto)

    async def model(self, run: Run) -> Any:
        """Let the model speak, and put its calls before admission."""
        if reason := exhausted(run.board):
            return _ended(run, reason, [closing_message(run.board, reason)])
        conversation = run.conversation
        conversation.read(run.messages, self.binding.provider)
        sent = conversation.request(view_message(run.board))
        tasks = [task.task.id for task in run.ledger.tasks()]
        try:
            with run.inside():
                await run.ensure_written()
                said = await self.binding.ask(
                    [self.system, *sent] if self.system else sent, tasks, run.config
                )
        except ValidationError as error:
            said = unreadable_message(error)
        message = with_usable_ids(said, self.engine.ports.new_id, conversation.ids)
        turn = run.on_model_message(message, self.binding.task_argument)
        match turn.verdict:
            case ev.CompletionVerdict.END:
                return _ended(run, "complete", turn.messages)
            case ev.CompletionVerdict.NUDGE:
                goto = "model"
            case _:
                goto = "execute"
        return Command(
            update={"messages": list(turn.messages), "ledger": run.drain_events()}, goto=goto
        )

    async def execute(self, run: Run) -> Any:
        """Issue what was admitted, wait until something is to do, deliver what the model may know."""
        await run.ensure_stored(run.ledger.in_state(CallState.QUEUED))
        runner = self.runner.bind(run.config)
        fresh = run.issue_again(runner) + run.issue(runner) > 0
        with run.inside():
            step = await run.advance(fresh=fresh)
            while step is Step.PARK and not self._resumable(run.config):
                await run.wait_changed()  # nobody could resume a parked run: wait here
                step = await run.advance(fresh=False)
        match step:
            case Step.MODEL:
                return self._deliver(run)
            case Step.RELEASE:
                run.release()
            case Step.RECOVER:
                return _go(run, run.recovery_due.value)
            case Step.INTERRUPT:
                raise run.take_question(next(iter(run.questions)))
            case Step.PARK:
                run.park()
                return _go(run, "park")
            case Step.APPROVE if self._resumable(run.config):
                return _go(run, "approve")
            case Step.APPROVE:
                run.refuse_held()
            case _:
                pass
        return _go(run, "execute")

    def recovering(self, action: ev.RecoveryAction) -> Callable[[Run], Awaitable[Any]]:
        """Return what carries out one action of recovery; whom it asks, and its back-off, are the executor's."""

        async def carry_out(run: Run) -> Any:
            run.recover(action)
            return _go(run, "execute")

        return carry_out

    async def approve(self, run: Run) -> Any:
        """Ask a person about the calls that are held."""
        held = run.ledger.in_state(CallState.HELD)
        run.enter_answer(interrupt(question(held)), held)
        return _go(run, "execute")

    async def park(self, run: Run) -> Any:
        """Rest until an external result is delivered; the value of the resume means nothing."""
        if not run.has_news and run.ledger.in_state(CallState.PENDING):  # not lost with a process
            interrupt(parked(run.board))
            run.cancel_beside()
        return _go(run, "execute")

    # -- shared --------------------------------------------------

    def _resumable(self, config: RunnableConfig) -> bool:
        return not self.stateless and resumable(config)

    def _deliver(self, run: Run) -> Any:
        delivery = run.teller.deliver()
        direct = self._returns_directly(run, delivery.messages)
        put_in_place(run.board, run.messages, delivery)
        if direct:
            return [*delivery.updates, _ended(run, "direct_return", delivery.messages)]
        updates, added = _apart(
            delivery.updates
        )  # providers want a call's answer directly after the call
        own = Command(
            update={"messages": [*delivery.messages, *added], "ledger": run.drain_events()},
            goto="model",
        )
        return [*updates, own] if updates else own

    def _returns_directly(self, run: Run, messages: Sequence[AnyMessage]) -> bool:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        if not self.direct or not answers or run.ledger.any_open():
            return False
        return all(message.name in self.direct and message.status != "error" for message in answers)


def _ended(run: Run, reason: str, messages: Sequence[AnyMessage]) -> Any:
    report = run.end(reason)
    return Command(
        update={"messages": list(messages), "ledger": run.drain_events(), "report": report},
        goto=END,
    )


def _apart(updates: Sequence[Any]) -> tuple[list[Any], list[AnyMessage]]:
    """Commands of tools without the messages that they add to this graph, and those messages."""
    rest: list[Any] = []
    added: list[AnyMessage] = []
    for command in updates:
        messages = command.update.get("messages", ()) if isinstance(command.update, dict) else ()
        # One that removes messages stays where it is: behind the answers it could take them away.
        if (
            messages
            and command.graph is None
            and not any(isinstance(item, RemoveMessage) for item in messages)
        ):
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


def _go(run: Run, node: str) -> Any:
    return Command(update={"ledger": run.drain_events()}, goto=node)
