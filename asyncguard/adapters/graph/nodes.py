"""Nodes of the state machine.

prepare -> model -> execute -> model ... ; execute -> approve | park | a recovery -> execute, with
one node for each action of recovery (retry, refresh, rebind, normalise, fallback, cross_check,
verify, ask, give_up). A node that decides stores its events before the node that acts runs: the
checkpoint between ``model`` and ``execute`` holds the intent. Nodes that would always follow each
other are one node, because a super-step costs more than all guards together.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.graph import END
from langgraph.types import Command, interrupt
from pydantic import ValidationError

from asyncguard.adapters.answer_log.new_answer import (
    drop_stale_answer,
    store_answer,
    store_taken_answer,
    take_answer,
)
from asyncguard.adapters.answered_calls import UNISSUED, drop_changed, take_handed_over
from asyncguard.adapters.approvals import question, resumable
from asyncguard.adapters.graph.bound_model import ModelBinding
from asyncguard.adapters.graph.structured import Reading
from asyncguard.adapters.graph.unseen_steps import shows_steps
from asyncguard.adapters.langgraph_internals.run import single_channels
from asyncguard.adapters.messages.history import put_in_place, without_removed
from asyncguard.adapters.messages.parse import unreadable_message, with_usable_ids
from asyncguard.adapters.messages.run_messages import (
    closing_message,
    exhausted,
    parked,
    view_message,
)
from asyncguard.adapters.messages.tool_updates import without_replaced
from asyncguard.adapters.refused_input import check_input_of
from asyncguard.adapters.run.answers import (
    cancel_alone,
    cancel_at_question,
    cancel_with_answer,
    enter_answer,
    is_cancelling,
    refuse_held,
)
from asyncguard.adapters.run.hand_over import complete_hand_over, is_ahead
from asyncguard.adapters.run.questions import may_begin_here, raise_question
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.start import begin
from asyncguard.adapters.run.threads import Threads
from asyncguard.adapters.run.turn import holds_text, on_model_message, on_unfit_answer
from asyncguard.adapters.run_input import only_cancelled
from asyncguard.adapters.state import Thread
from asyncguard.adapters.tools.invoke import ToolRunner
from asyncguard.adapters.ui_events import asking_event, emit, silenced
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.scheduling import Step, has_news
from asyncguard.runtime.dispatcher import Runner
from asyncguard.runtime.engine import Engine

State = dict[str, Any]
NodeFunction = Callable[[State, RunnableConfig], Coroutine[Any, Any, Any]]
"""An async node."""


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Nodes of one agent: the coroutine methods, which :meth:`node` turns into node functions."""

    engine: Engine
    """Clock, executor, journal and configuration that all sessions share."""
    threads: Threads
    """Threads of the agent."""
    binding: ModelBinding
    """Model with its tools."""
    runner: ToolRunner
    """Runner of the tools."""
    system: SystemMessage | None
    """System prompt."""
    direct: frozenset[str]
    """Names of the tools whose result ends the run."""
    stateless: bool = False
    """True if the graph refuses any checkpointer, so that a resumed run would start again."""

    def node(
        self, act: Callable[[Run], Awaitable[Any]], *, begins: bool = False, issues: bool = False
    ) -> NodeFunction:
        """Make a node that opens the thread, acts, and releases the thread on an error or the end.

        Args:
            act: Acts on the run and returns an update.
            begins: True if the node is the one that reads the run's input.
            issues: True if an earlier, lost execution of the node may have issued admitted calls.
        """

        async def opened(state: State, config: RunnableConfig) -> Any:
            await self.threads.claim(config, begins=begins)
            run = self.threads.find(self.threads.identified(state) if begins else state, config)
            with run.leaving_on_error():
                async with run.keeping():
                    if begins:  # before join(), so that a refused input changes nothing
                        await check_input_of(state, config)
                    await run.join(lambda: run.reconcile(issuing=issues), begins=begins)
                    run.read_prompt(self.system)
                    run.board.runs_at_once(config.get("max_concurrency"))
                    update = await act(run)
                # After keeping(): the token is stored only while the lease is still held.
                if identity := run.identity_update():
                    update = _numbered(update, identity["asyncguard"])
                if run.ledger.ended is not None:
                    run.leave()
                return update

        return opened

    async def prepare(self, run: Run) -> Any:
        """Apply the input, and repair the history that an earlier run has left."""
        if run.is_inside:
            take_handed_over(run)
        update = await begin(run)
        # What has arrived or was taken back (a late result, a resolved doubt, a call of a lost
        # process, one that the message withdraws or cancels) is told before the model's next turn:
        # its calls may rest on it.
        waits = (
            run.has_news
            or run.stopping
            or await run.outcome_due()
            or has_news(run.board)
            or only_cancelled(update["messages"])
        )
        goto = "execute" if waits else "model"
        if self.binding.structured:  # that of an earlier run answered something else
            update["structured_response"] = None
        return Command(update=update, goto=goto)

    async def model(self, run: Run) -> Any:
        """Call the model, and propose the calls of its message."""
        if reason := exhausted(run.board):
            return _ended(run, reason, [closing_message(run.board, reason)])
        conversation = run.conversation
        conversation.read(run.messages, self.binding.provider)
        sent = conversation.request(view_message(run.board, run.messages))
        tasks = [task.task.id for task in run.ledger.tasks()]
        try:
            whole = [self.system, *sent] if self.system else sent
            with run.inside():
                await run.ensure_written()
                with run.asking(self.binding.chat, self.binding.provider, whole) as asked:
                    config = silenced(run.config) if holds_text(run) else run.config
                    asked.answer = said = await self.binding.ask(whole, tasks, config)
        except ValidationError as error:
            said = unreadable_message(error)
        engine, form = self.engine, self.binding.structured
        known = (*engine.specs, *(tool.name for tool in form.tools)) if form else engine.specs
        message = with_usable_ids(said, engine.ports.new_id, conversation.ids, known)
        return self._answered(run, message)

    def _answered(self, run: Run, message: AIMessage) -> Any:
        """Propose the calls of a message, or judge whether the run may end with it."""
        form = self.binding.structured
        reading = form.read(message) if form else Reading(judged=message)
        whole: list[AnyMessage] = [message, *reading.answers]
        if reading.unfit:
            on_unfit_answer(run, reading.judged)
            return _to("model", run, whole)
        turn = on_model_message(
            run, reading.judged, self.binding.task_argument, structured=bool(reading.answers)
        )
        emit(turn.event)
        match turn.verdict:
            case ev.CompletionVerdict.END:
                answer = {"structured_response": form.final(reading)} if form else {}
                said = turn.messages if turn.asks else whole
                return _ended(run, "complete", said, asks=turn.asks, **answer)
            case ev.CompletionVerdict.NUDGE:
                return _to("model", run, turn.messages)
            case ev.CompletionVerdict.WAIT:
                return _to("execute", run, turn.messages)
            case _:
                return _to("execute", run, whole)

    async def _next_step(self, run: Run, runner: Runner, asker: str) -> Step:
        """Issue the admitted calls, and wait until the run needs something else.

        Args:
            run: The run.
            runner: Runs the tools.
            asker: Key of the call whose tool has asked what was answered, if it was one's.
        """
        # First the calls of a lost process, under their old attempt numbers: the journal may know
        # their outcomes.
        fresh = run.issue_again(runner) + run.issue(runner) > 0
        with run.inside():
            step = await run.advance(fresh=fresh)
            # In this execution of the node: the answer to a question is of use in no other one.
            while step is Step.DISPATCH and may_begin_here(run, asker):
                step = await run.advance(fresh=run.issue(runner) > 0)
            while step is Step.PARK and not self._resumable(run.config):
                await run.wait_changed()  # a parked run could not be resumed: wait here
                step = await run.advance(fresh=False)
            return step

    async def execute(self, run: Run) -> Any:
        """Issue the admitted calls, wait until the run needs another node, or deliver results."""
        taken = await take_answer(run.config)
        if is_cancelling(run) and cancel_at_question(run, run.ledger.find(taken.asker)):
            return _go(run, "execute")  # which has no answer: that beside the cancellation is void
        await store_taken_answer(run.config)
        self._drop_changed(run)
        await run.ensure_stored(run.ledger.in_state(CallState.QUEUED))
        runner = self.runner.bind(run.config)
        match await self._next_step(run, runner, taken.asker):
            case Step.MODEL:
                # The model's turn and the end of the run wait for the writer, too: unless the step
                # is shown before, it is stored meanwhile.
                if shows_steps(run.config):
                    await run.ensure_written()
                return self._deliver(run)
            case Step.RELEASE:
                run.release()
            case Step.RECOVER:
                return _go(run, run.recovery_due.value)
            case Step.INTERRUPT:
                raise_question(run, next(iter(run.questions)))
            case Step.PARK:
                run.park()
                return _go(run, "park")
            case Step.APPROVE if self._resumable(run.config):
                return _go(run, "approve")
            case Step.APPROVE:  # no person can be asked
                refuse_held(run)
            case _:
                pass
        return _go(run, "execute")

    def recovering(self, action: ev.RecoveryAction) -> Callable[[Run], Awaitable[Any]]:
        """Return the node function of one action of recovery; its calls and back-off run later."""

        async def carry_out(run: Run) -> Any:
            run.recover(action)
            return _go(run, "execute")

        return carry_out

    async def approve(self, run: Run) -> Any:
        """Ask a person about the calls that are held."""
        drop_stale_answer(run.config)
        await store_answer(run.config)
        held = run.ledger.in_state(CallState.HELD)
        try:
            answer = interrupt(question(held))
        except GraphInterrupt:  # there is no answer yet
            if cancel_alone(run) or self._drop_changed(run):
                return _go(run, "execute")
            emit(asking_event(held))
            raise
        # After the answer was taken: it must not be given to another question.
        self._drop_changed(run)
        enter_answer(run, answer, held)
        return _go(run, "execute")

    async def park(self, run: Run) -> Any:
        """Interrupt until an external result is delivered; the value of the resume is not used."""
        # Executed again after a loss, there may be nothing to wait for any more.
        if not run.has_news and run.ledger.in_state(CallState.PENDING):
            try:
                interrupt(parked(run.board))
            except GraphInterrupt:
                if not cancel_alone(run):
                    raise
            else:
                cancel_with_answer(run)
        return _go(run, "execute")

    # -- shared --------------------------------------------------

    def _resumable(self, config: RunnableConfig) -> bool:
        return not self.stateless and resumable(config)

    def _drop_changed(self, run: Run) -> bool:
        unissued = run.ledger.in_state(*UNISSUED)
        return drop_changed(run, unissued, self.binding.task_argument)

    def _deliver(self, run: Run) -> Any:
        if is_ahead(run):  # the calls' ends are stored with this step, before the command
            return _go(run, "execute")
        delivery = run.teller.deliver()
        delivery.updates = [
            each if each.graph is None else complete_hand_over(run, each)
            for each in delivery.updates
        ]
        if len(delivery.updates) > 1:
            delivery.updates = without_replaced(delivery.updates, single_channels(run.config))
        # Before put_in_place(), which may replace the answers by the whole history.
        answers = [item for item in delivery.messages if isinstance(item, ToolMessage)]
        direct = answers and all(
            item.name in self.direct and item.status != "error" for item in answers
        )
        put_in_place(run.board, run.messages, delivery)
        if direct and not run.ledger.any_open():
            return [*delivery.updates, _ended(run, "direct_return", delivery.messages)]
        # Providers want answers directly after their calls, so messages of tools come after them.
        updates, added = _apart(delivery.updates)
        told = without_removed(delivery.messages, updates)
        own = Command(
            update={"messages": [*told, *added], "ledger": run.drain_events()},
            goto="model",
        )
        return [*updates, own] if updates else own


def _to(node: str, run: Run, messages: Sequence[AnyMessage]) -> Any:
    return Command(update={"messages": list(messages), "ledger": run.drain_events()}, goto=node)


def _ended(
    run: Run,
    reason: str,
    messages: Sequence[AnyMessage],
    *,
    asks: Sequence[str] = (),
    **answer: Any,
) -> Any:
    report = run.end(reason, asks=asks)
    ledger = run.drain_events()
    return Command(
        update={"messages": list(messages), "ledger": ledger, "report": report, **answer}, goto=END
    )


def _apart(updates: Sequence[Any]) -> tuple[list[Any], list[AnyMessage]]:
    """Separate the messages that commands of tools add to this graph from the commands."""
    rest: list[Any] = []
    added: list[AnyMessage] = []
    for command in updates:
        messages = command.update.get("messages", ()) if isinstance(command.update, dict) else ()
        # A command that removes messages stays unchanged: after the answers it could remove them.
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
    """Return the update of a node with the identity of the thread added."""
    if isinstance(update, list):  # updates of tools, and the node's own as the last
        return [*update[:-1], _numbered(update[-1], identity)]
    return Command(update={**update.update, "asyncguard": identity}, goto=update.goto)


def _go(run: Run, node: str) -> Any:
    return Command(update={"ledger": run.drain_events()}, goto=node)
