"""A stand-in for a guarded adapter: drives environment and agent in its own way, with other messages.

It refuses a call of a sub-task that has a pending one with an error tool message, or holds it and issues it later;
lets the clock run without model turns while nothing is ready; adds a status message before every turn; and delivers
results one user message each. None of it imports the library.
"""

import json
from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark.harness.environment import CallRecord, Environment
from asyncguard_benchmark.harness.episode import Episode, Run, finished
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle, read_native
from asyncguard_benchmark.harness.protocol.surfaces import NativeSpeech, native_tools
from asyncguard_benchmark.harness.scenario import Composition


@dataclass
class GuardedLoop:
    """One run; call `play`."""

    composition: Composition
    agent: BaseChatModel
    run: Run
    hold: bool
    """True if early calls are held instead of refused."""
    messages: list[BaseMessage] = field(default_factory=list)
    held: list[CallAction] = field(default_factory=list)
    call_ids: dict[int, str] = field(default_factory=dict)

    def play(self) -> Episode:
        """Run to the end, or for 100 turns."""
        environment = Environment(self.composition, self.run.regime, self.run.seed)
        model = self.agent.bind_tools(native_tools(self.composition))
        self.messages = NativeSpeech(self.composition).opening()
        for _ in range(100):
            status = HumanMessage(f"Status: {len(environment.pending())} calls pending.")
            message = model.invoke([*self.messages, status])
            environment.begin_round()
            self.messages.append(message)
            actions = read_native(message, self.composition.task_ids, parallel=True)
            if isinstance(actions[0], Completed) and not environment.pending():
                break
            self.answer(environment, actions, message)
            self.deliver(environment, wait=isinstance(actions[0], Idle | Completed))
        return finished(environment, self.messages, self.run, agent="agent", player="stand-in")

    def answer(
        self, environment: Environment, actions: tuple[object, ...], message: AIMessage
    ) -> None:
        """A tool message for every call."""
        for action in actions:
            if not isinstance(action, CallAction):
                continue
            early = environment.pending(action.task_id) or any(
                h.task_id == action.task_id for h in self.held
            )
            if early and not self.hold:
                reason = f"{action.tool} was not run: a call of task {action.task_id} is pending. Ask again later."
                self.messages.append(
                    ToolMessage(reason, tool_call_id=action.call_id or "", status="error")
                )
                continue
            self.messages.append(
                ToolMessage("Running; its result will follow.", tool_call_id=action.call_id or "")
            )
            if early:
                self.held.append(action)
            else:
                self.issue(environment, action)
        if not any(isinstance(action, CallAction) for action in actions):
            self.messages.append(HumanMessage("Not everything is done yet."))

    def issue(self, environment: Environment, action: CallAction) -> None:
        """Make a call and keep the id that it answers."""
        record = environment.issue(action.task_id, action.tool, action.arguments)
        self.call_ids[record.number] = action.call_id or ""

    def deliver(self, environment: Environment, *, wait: bool) -> None:
        """Deliver the results that are due; let ticks pass first if the model has nothing to do."""
        delivered = list(environment.due())
        while wait and not delivered and environment.pending():
            environment.advance()
            delivered = list(environment.due())
        for record in delivered:
            self.messages.append(HumanMessage(self.notification(record)))
        for action in list(self.held):
            if not environment.pending(action.task_id):
                self.held.remove(action)
                self.issue(environment, action)

    def notification(self, record: CallRecord) -> str:
        """A result as the benchmark's reader understands it, among other lines."""
        return "News:\n" + json.dumps(entries.result(record, self.call_ids[record.number]))
