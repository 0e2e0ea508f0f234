"""Reviewers of ``HumanInTheLoopMiddleware`` beside the guard: what they decide, or leave open, is what counts."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import AsyncGuardMiddleware, GuardConfig, Timing, ToolSpec, guard_middleware
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import pure
from tests.support.histories import check_next_request

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
THREAD: Any = {"configurable": {"thread_id": "t"}}
PER_CALL = "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware.__init__).parameters
MODES = ["batched", *(["per_call"] if PER_CALL else [])]
BOOK = calls(("book", {"q": "Mira"}))
HELD = ToolSpec(name="book", approval=True)
PURE = pure("book")


@dataclass(kw_only=True)
class Desk:
    """A thread whose calls a reviewer sees, with the events that user interfaces get."""

    mode: str = "batched"
    specs: Sequence[ToolSpec] = ()
    config: GuardConfig = CONFIG
    reviewed: Sequence[str] = ("book",)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    tools: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    state: Any = None

    def __post_init__(self) -> None:
        """Make the tools, which are those of every process."""
        for name in ("book", "look"):
            done = lambda a, name=name: f"{name} {a['q']}"  # noqa: E731 - a tool's outcome
            self.tools[name] = scripted_tool(name, done, args={"q": str})

    def process(self, *steps: Any) -> Any:
        """Return the agent of a process, and its model's further words."""
        options = {} if self.mode == "batched" else {"interrupt_mode": self.mode}
        reviewer = HumanInTheLoopMiddleware(dict.fromkeys(self.reviewed, True), **options)
        guard = AsyncGuardMiddleware(config=self.config, specs=list(self.specs))
        return create_agent(
            ScriptedChatModel(list(steps)),
            list(self.tools.values()),
            middleware=guard_middleware([reviewer], guard=guard),
            checkpointer=self.saver,
        )

    def go(self, agent: Any, given: Any) -> None:
        """Play one input."""

        async def play() -> None:
            async for event in agent.astream(given, THREAD, stream_mode="custom"):
                self.events.append(event)
            self.state = await agent.aget_state(THREAD)

        run_virtual(play())

    def decide(self, agent: Any, *decisions: Any) -> None:
        """Answer what the reviewer was asked."""
        if self.mode == "batched":
            self.go(agent, Command(resume={"decisions": list(decisions)}))
            return
        ids = [item.id for item in self.state.interrupts]
        self.go(agent, Command(resume=dict(zip(ids, decisions, strict=True))))

    @property
    def messages(self) -> list[Any]:
        """The conversation."""
        return list(self.state.values["messages"])

    @property
    def calls(self) -> Any:
        """The number of calls in each state, as the report has it."""
        return self.state.values["report"]["tasks"][0]["calls"]

    @property
    def ran(self) -> list[Any]:
        """What the tools did."""
        return [(name, each.args["q"]) for name, t in self.tools.items() for each in t.calls]

    def told(self, call_id: str = "call_1_1") -> Any:
        """Return the last event about a call."""
        found = [e for e in self.events if e.get("tool_call_id") == call_id]
        return found[-1]

    def answer(self, call_id: str = "call_1_1") -> str:
        """Return the one answer to a call."""
        (found,) = [m for m in self.messages if getattr(m, "tool_call_id", None) == call_id]
        return str(found.text)

    def kinds(self) -> set[str]:
        """Return the kinds of the runtime's messages."""
        return {m.additional_kwargs.get("lc_data", {}).get("kind", "") for m in self.messages}


REFUSED = {"type": "reject", "message": "Too dear."}
ANSWERED = {"type": "respond", "message": "It is booked already."}


@pytest.mark.parametrize("later", [False, True], ids=["one process", "another process"])
@pytest.mark.parametrize("specs", [[], [HELD], [PURE]], ids=["", "approval", "pure"])
@pytest.mark.parametrize("decision", [REFUSED, ANSWERED], ids=["reject", "respond"])
@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_a_reviewer_ends_was_not_run(
    mode: str, decision: dict[str, str], specs: Any, later: bool
) -> None:
    """Its end holds the reviewer's words, in the events, too, and nothing invites the model to repeat it."""
    desk = Desk(mode=mode, specs=specs)
    first = desk.process(BOOK, "It stays as it is.", "Nudged.")
    desk.go(first, {"messages": [("user", "Book the Mira.")]})
    again = desk.process("It stays as it is.", "Nudged.") if later else first
    desk.decide(again, decision)
    assert desk.ran == []
    assert desk.messages[-1].text == "It stays as it is."
    assert desk.calls == {"cancelled": 1}
    assert decision["message"] in desk.answer()
    event = desk.told()
    assert (event["state"], event["attempt"]) == ("cancelled", 0)
    assert decision["message"] in event["reason"]
    check_next_request(desk.messages)


@pytest.mark.parametrize("mode", MODES)
def test_a_refused_call_that_waits_for_another_is_not_run_after_it(mode: str) -> None:
    """It was deferred, and the reviewer saw it all the same."""
    specs = [ToolSpec(name="book", reads=(), writes=("r",)), pure("look", reads=("r",))]
    desk = Desk(mode=mode, specs=specs, reviewed=("book", "look"))
    agent = desk.process(calls(("book", {"q": "Mira"}), ("look", {"q": "Mira"})), "Booked.")
    desk.go(agent, {"messages": [("user", "Book the Mira, then look.")]})
    assert desk.told("call_1_2")["state"] == "deferred"
    desk.decide(agent, {"type": "approve"}, REFUSED)
    assert desk.ran == [("book", "Mira")]
    assert desk.calls == {"done": 1, "cancelled": 1}
    assert desk.messages[-1].text == "Booked."


@pytest.mark.parametrize("later", [False, True], ids=["one process", "another process"])
@pytest.mark.parametrize("specs", [[], [HELD], [PURE]], ids=["", "approval", "pure"])
@pytest.mark.parametrize("mode", MODES)
def test_a_message_instead_of_a_reviewers_answer(mode: str, specs: Any, later: bool) -> None:
    """The call was not run and is not in doubt, a read neither; and the model's answer stands."""
    desk = Desk(mode=mode, specs=specs)
    first = desk.process(BOOK, "It is 2 km.", "Nudged.")
    desk.go(first, {"messages": [("user", "Book the Mira.")]})
    again = desk.process("It is 2 km.", "Nudged.") if later else first
    desk.go(again, {"messages": [("user", "Is it far?")]})
    assert desk.ran == []
    assert desk.messages[-1].text == "It is 2 km."
    assert desk.kinds() <= {"", "not_executed"}
    state = "squashed" if specs == [HELD] else "cancelled"
    assert desk.calls == {state: 1}
    assert "the user sent a new message before it began" in desk.answer()
    assert (desk.told()["state"], desk.told()["attempt"]) == (state, 0)
    check_next_request(desk.messages)


@pytest.mark.parametrize("mode", MODES)
def test_a_cancellation_instead_of_a_reviewers_answer_lets_no_read_run(mode: str) -> None:
    """Any new input ends the question; what it was about is not run without an answer."""
    desk = Desk(mode=mode, specs=[PURE, pure("look")], reviewed=("book",))
    tasks = [{"id": "a", "goal": "Book the Mira."}, {"id": "b", "goal": "Look at x."}]
    both = calls(("book", {"q": "Mira", "task_id": "a"}), ("look", {"q": "x", "task_id": "b"}))
    agent = desk.process(both, "b: no tool needed. I was not allowed to.", "So it is.")
    desk.go(agent, {"messages": [], "tasks": tasks})
    desk.go(agent, {"messages": [], "cancel": ["b"]})
    assert ("book", "Mira") not in desk.ran
    assert desk.told("call_1_1")["state"] == "cancelled"


def test_a_question_that_another_run_of_the_process_has_answered_is_no_doubt() -> None:
    """After a reviewer's yes the call may have begun: a message to another process leaves it in doubt."""
    desk = Desk()
    first = desk.process(BOOK)
    desk.go(first, {"messages": [("user", "Book the Mira.")]})

    async def approved_and_lost() -> None:
        answer = Command(resume={"decisions": [{"type": "approve"}]})
        async for _ in first.astream(answer, THREAD, interrupt_before=["tools"]):
            pass

    run_virtual(approved_and_lost())
    desk.go(desk.process("I will look."), {"messages": [("user", "Is it far?")]})
    assert desk.ran == []
    assert desk.told()["state"] == "in_doubt"
