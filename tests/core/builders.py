"""Scoreboards for tests, built event by event as a run would build them."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import Admit, Defer, Guard, Proposal, Reject, Verdict, admit
from asyncguard.core.calls import Call, call_key, fingerprint
from asyncguard.core.footprints import EffectClass, Footprint
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import compile_schema

UNKNOWN = Footprint(reads=None, writes=None)


def object_schema(*required: str, **properties: Any) -> dict[str, Any]:
    """A closed object schema; a property given as text is that type, one given as mapping is taken as it is."""
    types = {
        name: {"type": value} if isinstance(value, str) else value
        for name, value in properties.items()
    }
    return {
        "type": "object",
        "properties": types,
        "required": list(required),
        "additionalProperties": False,
    }


def pure(name: str, *required: str, **properties: Any) -> ToolSpec:
    """A tool without effects, so that it may take operands."""
    return ToolSpec(
        name=name,
        effect=EffectClass.PURE,
        reads=(),
        parameters=object_schema(*required, **properties),
    )


def footprint(reads: str | None = "", writes: str | None = "") -> Footprint:
    """A footprint from names separated by spaces; ``None`` is unknown."""
    return Footprint(
        reads=None if reads is None else frozenset(reads.split()),
        writes=None if writes is None else frozenset(writes.split()),
    )


def make_call(
    sequence: int,
    tool: str = "search",
    *,
    task: str = "t1",
    arguments: Mapping[str, Any] | None = None,
    message: str = "",
    resources: Footprint = UNKNOWN,
) -> Call:
    """A call on its own, the first of its tool, in a message of its own unless one is named."""
    given = dict(arguments or {})
    return Call(
        key=f"k{sequence}",
        sequence=sequence,
        task=task,
        tool=tool,
        ordinal=1,
        arguments=given,
        call_id=f"id{sequence}",
        message_id=message or f"m{sequence}",
        footprint=resources,
        fingerprint=fingerprint(tool, given),
    )


class Scene:
    """A scoreboard under construction; events are a second apart, calls each have a message."""

    def __init__(
        self,
        *specs: ToolSpec,
        config: GuardConfig | None = None,
        tasks: tuple[str, ...] = ("t1", "t2"),
    ) -> None:
        self.board = Scoreboard(
            config=config or GuardConfig(),
            specs={spec.name: spec for spec in specs},
            validators={
                spec.name: compile_schema(spec.parameters)
                for spec in specs
                if spec.parameters is not None
            },
        )
        self.events: list[ev.Event] = []
        for task in tasks:
            self.apply(ev.TaskOpened, task=task, goal=f"Do {task}.")

    @property
    def ledger(self) -> Any:
        return self.board.ledger

    def apply(self, kind: type[ev.Event], **values: Any) -> ev.Event:
        """Make the next event and fold it in."""
        n = len(self.events) + 1
        event = kind(n=n, at=float(n), **values)
        self.board.ledger.apply(event)
        self.events.append(event)
        return event

    def propose(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        task: str = "t1",
        message: str | None = None,
        **values: Any,
    ) -> Proposal:
        """The model makes a call; ``values`` are fields of the proposal."""
        given = dict(arguments or {})
        spec = self.board.specs.get(tool)
        sequence = len(self.board.ledger) + 1
        message_id = message or f"message{sequence}"
        position = len(self.board.ledger.of_message(message_id))
        call = Call(
            key=call_key("test", "thread", message_id, position),
            sequence=sequence,
            task=task,
            tool=tool,
            ordinal=self.board.ledger.next_ordinal(task, tool),
            arguments=given,
            call_id=f"id{sequence}",
            message_id=message_id,
            footprint=UNKNOWN if spec is None else spec.footprint(given, task),
            fingerprint=fingerprint(tool, given),
        )
        self.apply(ev.CallProposed, call=call)
        return Proposal(**{"call": call, "spec": spec, "position": position, **values})

    def start(self, tool: str, arguments: Mapping[str, Any] | None = None, **values: Any) -> str:
        """A call that is pending; gives its key."""
        key = self.propose(tool, arguments, **values).call.key
        self.apply(ev.CallAdmitted, key=key)
        self.run(key)
        return key

    def run(self, key: str) -> None:
        """Hand an admitted call to the executor."""
        record = self.board.ledger.record(key)
        self.apply(
            ev.CallStarted, key=key, attempt=record.attempts + 1, tool=record.call.tool, epoch="e1"
        )

    def end(self, key: str, outcome: ev.Outcome = ev.Outcome.DONE, content: Any = "ok") -> None:
        """A pending call ends."""
        error = None if outcome is ev.Outcome.DONE else "OSError"
        self.apply(
            ev.CallRetired,
            key=key,
            outcome=outcome,
            content=content,
            size=len(str(content)),
            error=error,
        )

    def admit_and_finish(self, proposals: Sequence[Proposal]) -> None:
        """Run the calls of a message to their end, and tell the model."""
        for proposal in proposals:
            self.apply(ev.CallAdmitted, key=proposal.call.key)
            self.run(proposal.call.key)
        for proposal in proposals:
            self.end(proposal.call.key)
        self.apply(ev.CallsDelivered, keys=tuple(item.call.key for item in proposals))

    def finished(self, tool: str, arguments: Mapping[str, Any] | None = None, **values: Any) -> str:
        """A call that is done and delivered; gives its key."""
        key = self.start(tool, arguments, **values)
        self.end(key)
        self.apply(ev.CallsDelivered, keys=(key,))
        return key

    def reject(
        self, tool: str, guard: str = "arguments", on: tuple[str, ...] = (), task: str = "t1"
    ) -> str:
        """A call that was rejected and answered; gives its key."""
        key = self.propose(tool, task=task).call.key
        self.apply(ev.CallRejected, key=key, guard=guard, reason="It was wrong.", on=on)
        self.apply(ev.CallsDelivered, keys=(key,))
        return key

    def defer(
        self,
        tool: str,
        on: tuple[str, ...],
        arguments: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> str:
        """A call that waits for others; gives its key."""
        key = self.propose(tool, arguments, **values).call.key
        self.apply(ev.CallDeferred, key=key, guard="dependency", reason="It is early.", on=on)
        return key

    def again(self, key: str, **values: Any) -> Proposal:
        """A known call in front of admission once more, as at release; ``values`` are fields of the proposal."""
        call = self.board.ledger.record(key).call
        return Proposal(**{"call": call, "spec": self.board.specs.get(call.tool), **values})

    def stop_task(self, task: str, state: TaskState = TaskState.STOPPED) -> None:
        """A task ends."""
        self.apply(ev.TaskEnded, task=task, state=state, reason="A limit was reached.")

    def judge(
        self, guard: Guard, tool: str, arguments: Mapping[str, Any] | None = None, **values: Any
    ) -> Verdict:
        """Return the verdict of a guard on a new call."""
        return guard(self.propose(tool, arguments, **values), self.board)

    def admit(self, proposal: Proposal, guards: tuple[Guard, ...]) -> Verdict:
        """Return the joint verdict of several guards on a proposal."""
        return admit(proposal, self.board, guards)


def rejection(verdict: Verdict, guard: str) -> Reject:
    """The verdict, which has to be a rejection by this guard that speaks to the model in a few sentences."""
    assert isinstance(verdict, Reject), verdict
    assert verdict.guard == guard
    assert 20 <= len(verdict.reason) <= 900
    assert verdict.reason.rstrip()[-1] in ".?!"
    return verdict


def deferral(verdict: Verdict, guard: str) -> Defer:
    """The verdict, which has to be a deferral by this guard."""
    assert isinstance(verdict, Defer), verdict
    assert verdict.guard == guard
    assert verdict.on
    return verdict


def approval(verdict: Verdict, guard: str) -> Admit:
    """The verdict, which has to be an admission that a person must approve."""
    assert isinstance(verdict, Admit), verdict
    assert verdict.guard == guard
    assert verdict.approval
    return verdict
