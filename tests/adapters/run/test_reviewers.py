"""Reviewers of ``HumanInTheLoopMiddleware`` beside the guard: what they decide, or leave open, is what counts."""

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    GuardConfig,
    GuardRule,
    Ports,
    Reject,
    Timing,
    ToolSpec,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import pure
from tests.adapters.processes import MortalJournal
from tests.support.histories import check_next_request

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
THREAD: Any = {"configurable": {"thread_id": "t"}}
PER_CALL = "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware.__init__).parameters
MARKED = hasattr(human_in_the_loop, "add_notification_metadata")
MODES = ["batched", *(["per_call"] if PER_CALL else [])]
BOOK = calls(("book", {"q": "Mira"}))
HELD = ToolSpec(name="book", approval=True)
PURE = pure("book")


OPENED: list[MortalJournal] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close the journals that a test has opened."""
    yield
    while OPENED:
        OPENED.pop().close()


@dataclass(kw_only=True)
class Desk:
    """A thread whose calls a reviewer sees, with the events that user interfaces get."""

    mode: str = "batched"
    specs: Sequence[ToolSpec] = ()
    config: GuardConfig = CONFIG
    reviewed: Sequence[str] = ("book",)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    path: Path | None = None
    """Place of the journal, ``None`` for none."""
    journals: list[MortalJournal] = field(default_factory=list)
    tools: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    state: Any = None

    def __post_init__(self) -> None:
        """Make the tools, which are those of every process."""
        for name in ("book", "look"):
            done = lambda a, name=name: f"{name} {a['q']}"  # noqa: E731 - a tool's outcome
            self.tools[name] = scripted_tool(name, done, args={"q": str})

    def process(self, *steps: Any) -> Any:
        """Return the agent of a process; the one before has ended."""
        for former in self.journals[-1:]:
            former.close()
            OPENED.remove(former)
        if self.path is not None:
            self.journals.append(MortalJournal(self.path))
            OPENED.append(self.journals[-1])
        ports = Ports(journal=self.journals[-1]) if self.journals else Ports()
        options = {} if self.mode == "batched" else {"interrupt_mode": self.mode}
        reviewer = HumanInTheLoopMiddleware(dict.fromkeys(self.reviewed, True), **options)
        guard = AsyncGuardMiddleware(config=self.config, specs=list(self.specs), ports=ports)
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

        asyncio.run(play()) if self.journals else run_virtual(play())

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
        return [(name, each.args.get("q")) for name, t in self.tools.items() for each in t.calls]

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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("later", [False, True], ids=["one process", "another process"])
@pytest.mark.parametrize("specs", [[], [HELD], [PURE]], ids=["", "approval", "pure"])
@pytest.mark.parametrize("decision", [REFUSED, ANSWERED], ids=["reject", "respond"])
@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_a_reviewer_ends_was_not_run(
    mode: str, decision: dict[str, str], specs: Any, later: bool, tmp_path: Path
) -> None:
    """Its end holds the reviewer's words, in the events, too, and nothing invites the model to repeat it."""
    if later and specs == [PURE] and not MARKED:
        pytest.skip("this release of LangChain does not mark the words of a reviewer")
    desk = Desk(mode=mode, specs=specs, path=tmp_path / "effects" if later else None)
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
def test_a_message_instead_of_a_reviewers_answer(
    mode: str, specs: Any, later: bool, tmp_path: Path
) -> None:
    """The call was not run and is not in doubt, a read neither; and the model's answer stands."""
    desk = Desk(mode=mode, specs=specs, path=tmp_path / "effects" if later else None)
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


@pytest.mark.parametrize("again", [False, True], ids=["nothing", "the same messages"])
def test_an_input_without_a_new_word_leaves_a_reviewers_question_open(*, again: bool) -> None:
    """It is refused, and the answer is taken as if it had not been."""
    desk = Desk()
    agent = desk.process(BOOK, "Booked.")
    desk.go(agent, {"messages": [("user", "Book the Mira.")]})
    with pytest.raises(CallerError, match="Nothing to do"):
        desk.go(agent, {"messages": desk.messages if again else [("user", "")]})
    desk.go(agent, None)
    assert desk.state.interrupts
    desk.decide(agent, {"type": "approve"})
    assert desk.ran == [("book", "Mira")]


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


def test_a_call_that_a_lost_process_may_have_begun_stays_in_doubt() -> None:
    """After a reviewer's yes it was let pass, and without a journal no other process knows what followed."""
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


def edit(tool: str, q: Any) -> dict[str, Any]:
    """The decision to make another call in place of the model's."""
    return {"type": "edit", "edited_action": {"name": tool, "args": {"q": q}}}


ROMA = edit("book", "Roma")
EDITS = [
    pytest.param("batched", ROMA, id="arguments"),
    pytest.param("batched", edit("look", "Mira"), id="tool"),
    *([pytest.param("per_call", ROMA, id="per call")] if PER_CALL else []),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("later", [False, True], ids=["one process", "another process"])
@pytest.mark.parametrize("specs", [[], [HELD], [PURE]], ids=["", "approval", "pure"])
@pytest.mark.parametrize("shadow", [False, True], ids=["guarded", "shadow"])
@pytest.mark.parametrize(("mode", "written"), EDITS)
def test_what_a_reviewer_writes_is_run_once_in_place_of_the_call(
    mode: str, written: Any, *, shadow: bool, specs: Any, later: bool, tmp_path: Path
) -> None:
    """Its result answers the model's call, after LangChain's words about the edit, and the run is complete."""
    tool, q = written["edited_action"]["name"], written["edited_action"]["args"]["q"]
    path = tmp_path / "effects" if later else None
    desk = Desk(mode=mode, specs=specs, config=replace(CONFIG, shadow=shadow), path=path)
    first = desk.process(BOOK, "As the reviewer wished.")
    desk.go(first, {"messages": [("user", "Book the Mira.")]})
    desk.decide(desk.process("As the reviewer wished.") if later else first, written)
    assert desk.state.interrupts == ()
    assert desk.ran == [(tool, q)]
    assert desk.calls == {"done": 1}
    answer = desk.answer()
    assert answer.endswith(f"{tool} {q}")
    assert "human reviewer" in answer
    assert "Nothing was executed" not in answer
    assert (desk.told()["state"], desk.told()["tool"]) == ("done", tool)
    assert desk.messages[-1].text == "As the reviewer wished."
    assert desk.kinds() == {""}
    check_next_request(desk.messages)


def test_an_edit_that_the_guards_refuse_is_told_so_alone() -> None:
    """No message says that it was executed; what the model calls then is asked about again."""
    desk = Desk()
    agent = desk.process(BOOK, calls(("book", {"q": "Roma"})), "Booked.")
    desk.go(agent, {"messages": [("user", "Book the Mira.")]})
    desk.decide(agent, edit("book", {"no": "text"}))
    assert desk.ran == []
    answer = desk.answer()
    assert answer.startswith("A reviewer replaced this call of yours by book(")
    assert "book#1 was not run." in answer
    assert "Executed" not in answer
    assert desk.state.interrupts
    desk.decide(agent, {"type": "approve"})
    assert desk.ran == [("book", "Roma")]


def test_an_edit_is_no_approval_of_another_call() -> None:
    """Neither of its sibling, which is decided by itself, nor of the same call once more."""
    desk = Desk()
    two = calls(("book", {"q": "Mira"}), ("book", {"q": "Sole"}))
    agent = desk.process(two, calls(("book", {"q": "Roma"})), "Done.")
    desk.go(agent, {"messages": [("user", "Book the Mira and the Sole.")]})
    desk.decide(agent, edit("book", "Roma"), REFUSED)
    assert desk.ran == [("book", "Roma")]
    assert desk.state.interrupts
    desk.decide(agent, REFUSED)
    assert desk.ran == [("book", "Roma")]


def test_an_edited_call_keeps_its_order_with_others() -> None:
    """It waits for the call that writes what it reads, is told as edited meanwhile, and its late result, too."""
    specs = [
        ToolSpec(name="book", reads=(), writes=("r:{q}",)),
        pure("look", reads=("r:{q}",), takes_from=()),
    ]
    desk = Desk(specs=specs, reviewed=("book", "look"))
    desk.tools["book"] = scripted_tool("book", ["booked"], args={"q": str}, latency=5.0)
    desk.tools["quick"] = scripted_tool("quick", ["quick"], args={})
    tasks = [{"id": "a", "goal": "Book Roma, look at Mira."}, {"id": "b", "goal": "Quick."}]
    made = calls(
        ("book", {"q": "Roma", "task_id": "a"}),
        ("look", {"q": "Mira", "task_id": "a"}),
        ("quick", {"task_id": "b"}),
    )
    agent = desk.process(made, "I wait.", "All done.")
    desk.go(agent, {"messages": [], "tasks": tasks})
    desk.decide(agent, {"type": "approve"}, edit("look", "Roma"))
    assert desk.ran[:2] == [("book", "Roma"), ("look", "Roma")]
    assert desk.calls == {"done": 2}
    by = 'A reviewer replaced this call of yours by look({"q":"Roma"}); what follows is about that.'
    assert desk.answer("call_1_2").startswith(f"{by}\nlook#1 is accepted and waits for book#1")
    (news,) = [m.text for m in desk.messages if "look Roma" in m.text]
    assert f"{by}\nlook Roma" in news
    assert "Executed" not in desk.answer("call_1_2")
    check_next_request(desk.messages)


def test_an_edit_of_a_call_that_was_made_on_another_branch_does_not_run() -> None:
    """The call has one effect: gone back to the question, a reviewer cannot have it do another thing as well."""
    desk = Desk()
    agent = desk.process(BOOK, "Booked.", "It was booked before.")
    desk.go(agent, {"messages": [("user", "Book the Mira.")]})
    asked = desk.state.config
    desk.decide(agent, {"type": "approve"})

    async def back() -> Any:
        answer = Command(resume={"decisions": [edit("book", "Roma")]})
        again = await agent.aupdate_state(asked, {"messages": []}, as_node="model")
        await agent.ainvoke(None, again)
        return await agent.ainvoke(answer, THREAD)

    state = run_virtual(back()).result
    assert desk.ran == [("book", "Mira")]
    (answer,) = [m.text for m in state["messages"] if getattr(m, "tool_call_id", None)]
    assert "begun before with other arguments" in answer
    assert "Executed" not in answer


@pytest.mark.parametrize(
    ("effect", "state", "times"), [("at_most_once", "in_doubt", 1), ("idempotent", "done", 2)]
)
@pytest.mark.parametrize("specs", [{}, {"approval": True}], ids=["", "approval"])
def test_an_edited_call_of_a_process_that_was_killed(
    specs: Any, effect: Any, state: str, times: int, tmp_path: Path
) -> None:
    """The next process finds what was begun in the reviewer's words, and nothing else is made of the call."""
    desk = Desk(specs=[ToolSpec(name="book", effect=effect, **specs)], path=tmp_path / "effects")
    entered = asyncio.Event()

    async def booked(arguments: Any) -> str:
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        return f"book {arguments['q']}"

    desk.tools["book"] = scripted_tool("book", booked, args={"q": str})
    first = desk.process(BOOK)

    async def killed() -> None:
        await first.ainvoke({"messages": [("user", "Book the Mira.")]}, THREAD)
        answer = Command(resume={"decisions": [ROMA]})
        run = asyncio.create_task(first.ainvoke(answer, THREAD))
        await entered.wait()
        desk.journals[0].die()
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

    asyncio.run(killed())
    desk.journals.clear()
    # The next process would not let it pass: too late.
    strict = GuardRule(name="strict", judge=lambda proposal, board: Reject(reason="Not today."))
    desk.config = replace(CONFIG, extra=(strict,))
    desk.go(desk.process("I cannot tell."), None)
    assert desk.ran == [("book", "Roma")] * times
    assert desk.calls == {state: 1}
    assert ("book Roma" in desk.answer()) is (state == "done")
    check_next_request(desk.messages)
