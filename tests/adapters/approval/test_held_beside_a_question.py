"""A call that a person has to approve, in one model message with a tool that asks a person itself."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import Mode, Ports, ToolSpec
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, Outcome, pure, script
from tests.adapters.processes import Machine

TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}]
CLOSED = {"a": "closed", "b": "closed"}
BOTH = {"id": "c", "goal": "Pay x and ship y."}
PAY, SHIP = ("pay", {"q": "x", "task_id": "a"}), ("ship", {"q": "y", "task_id": "b"})
SPECS = [
    ToolSpec(name="pay", interrupts=True, reads=(), writes=("desk",), takes_from=()),
    ToolSpec(name="ship", approval=True, reads=(), writes=("dock",), takes_from=()),
]


class Office:
    """A payment that asks by itself, and a delivery that a person approves."""

    def __init__(self, agent_of: AgentOf, *made: Any) -> None:
        self.done: list[Any] = []
        self.frontend = Frontend.GRAPH
        self._agent_of, self._made, self._saver = agent_of, made, InMemorySaver()

    def _pay(self, _: Any) -> str:
        answer = interrupt("pay x?")
        self.done.append(("pay", answer))
        return f"paid: {answer}"

    def _ship(self, _: Any) -> str:
        self.done.append(("ship", None))
        return "shipped"

    def tools(self) -> list[Any]:
        """The tools of one process."""
        return [
            scripted_tool("pay", self._pay, args={"q": str}),
            scripted_tool("ship", self._ship, args={"q": str}),
        ]

    async def run(self, path: Path | None, *processes: list[Any]) -> list[Outcome]:
        """Give each process its inputs, one after the other."""
        found = []
        for number, inputs in enumerate(processes):
            journal = None if path is None else SqlJournal(SqliteStore(path, ProcessKind.AGENT))
            made = [] if number else [calls(*self._made)]
            agent = self._agent_of(
                ScriptedChatModel(script(*made, ever="all said"), id_prefix=f"p{number}"),
                self.tools(),
                specs=SPECS,
                checkpointer=self._saver,
                ports=Ports(journal=journal),
            )
            self.frontend = agent.frontend
            for given in inputs:
                found.append(await agent.go(given, "t", durability="sync"))  # noqa: PERF401 - in turn
            if journal is not None:
                journal.close()
        return found


ORDER = pytest.mark.parametrize(
    "order", [(PAY, SHIP), (SHIP, PAY)], ids=["question first", "held first"]
)
JOURNALED = pytest.mark.parametrize("journaled", [True, False], ids=["journal", "no journal"])
SPLIT = pytest.mark.parametrize("split", [(), (1,), (2,), (1, 2)], ids=str)


@pytest.mark.sampled(4)
@JOURNALED
@ORDER
@SPLIT
@pytest.mark.parametrize("together", [True, False], ids=["one task", "two tasks"])
async def test_both_are_asked(
    agent_of: AgentOf,
    tmp_path: Path,
    order: Sequence[Any],
    split: tuple[int, ...],
    journaled: bool,
    together: bool,
) -> None:
    """Each question comes, and each answer counts, in whatever process."""
    made = [(tool, {"q": given["q"]} if together else given) for tool, given in order]
    office = Office(agent_of, *made)
    begin: Any = {"messages": [], "tasks": [BOTH] if together else TASKS}
    inputs = [begin, Command(resume="one"), Command(resume=True)]
    cuts = itertools.pairwise([0, *split, len(inputs)])
    path = tmp_path / "effects.db" if journaled else None
    first, then, outcome = await office.run(path, *(inputs[a:b] for a, b in cuts))
    assert first.interrupts == ["pay x?"]
    assert [each["type"] for each in then.interrupts] == ["approval"]
    if office.frontend is Frontend.MIDDLEWARE and 2 in split and not together:
        # The model had gone on with the result of task a, so no wrapper of the held call is left.
        assert office.done == [("pay", "one")]
        assert outcome.states("b") in ({"squashed": 1}, {"in_doubt": 1})
        return
    assert office.done == [("pay", "one"), ("ship", None)]
    if journaled or office.frontend is Frontend.GRAPH:  # else the answered call may have run again
        assert outcome.report["in_doubt"] == []
    assert outcome.last == "all said"
    assert "shipped" in outcome.text


async def test_a_held_call_that_is_given_up_is_logged(
    agent_of: AgentOf, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The model had gone on before the person was asked, and the answer comes in another process."""
    office = Office(agent_of, PAY, SHIP)
    inputs = [{"messages": [], "tasks": TASKS}, Command(resume="one"), Command(resume=True)]
    *_, outcome = await office.run(tmp_path / "effects.db", inputs[:2], inputs[2:])
    given_up = outcome.states("b") == {"squashed": 1}
    assert given_up == (office.frontend is Frontend.MIDDLEWARE)
    assert given_up == ("ship#1 of b in thread 't' was held for a person" in caplog.text)


WRONG = {"cancel": ["nosuch", "b"]}


@pytest.mark.sampled(3)
@JOURNALED
@pytest.mark.parametrize("apart", [False, True], ids=["one process", "three processes"])
@pytest.mark.parametrize(
    "refused",
    [Command(resume="yes", update=WRONG), Command(update=WRONG)],
    ids=["beside an answer", "alone"],
)
async def test_a_refused_cancellation_takes_no_effect_later(
    agent_of: AgentOf,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    refused: Any,
    apart: bool,
    journaled: bool,
) -> None:
    """It was refused as a whole for a wrong name; the next answer cancels nothing."""
    office = Office(agent_of, PAY, SHIP)
    begin: Any = {"messages": [], "tasks": TASKS}
    rest: list[Any] = [Command(resume="then yes"), Command(resume=True)]
    path = tmp_path / "effects.db" if journaled else None
    processes: list[list[Any]] = [[begin], [refused], rest] if apart else [[begin, refused, *rest]]
    _, again, asked, outcome = await office.run(path, *processes)
    assert again.interrupts == ["pay x?"]
    assert "thread 't': the cancellation in a Command was not carried out" in caplog.text
    assert [each["type"] for each in asked.interrupts] == ["approval"]
    assert [name for name, _ in office.done] == ["pay", "ship"]
    assert {each["id"]: each["state"] for each in outcome.report["tasks"]} == CLOSED


@pytest.mark.sampled(2)
async def test_a_question_that_no_wrapper_can_ask_holds_nothing_up(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """The tool of an earlier message asks while a call of a later one is held: that one is asked about."""
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    entered = asyncio.Event()

    async def look(_: Any) -> str:
        await entered.wait()
        await asyncio.sleep(0.05)  # the held call's wrapper waits by then
        return "seen"

    def judged(*_: Any) -> Any:
        entered.set()
        return calls(SHIP)

    office = Office(agent_of)
    tools = [
        *office.tools(),
        scripted_tool("look", look, args={"q": str}),
        scripted_tool("fast", lambda _: "fast", args={"q": str}),
    ]
    declared = [*SPECS, pure("look", reads=("desk",)), pure("fast")]
    first = calls(("look", {"q": "x", "task_id": "a"}), PAY, ("fast", {"q": "y", "task_id": "b"}))
    process = machine.process(tools, declared, first, judged)
    async with asyncio.timeout(20):
        found = await process.agent.go({"messages": [], "tasks": TASKS}, "t", durability="sync")
        while found.interrupts:
            asked = found.interrupts[0]
            said = "one" if asked == "pay x?" else True
            found = await process.agent.go(Command(resume=said), "t", durability="sync")
    assert ("ship", None) in office.done
    assert found.report["in_doubt"] == []
    machine.close()


@pytest.mark.parametrize("killed", [False, True], ids=["answered later", "killed in the call"])
async def test_news_does_not_take_the_answer_to_an_approval(
    agent_of: AgentOf, tmp_path: Path, killed: bool
) -> None:
    """A result from outside is there when the answer comes in another process, or when its call is taken up."""
    machine, tokens, paid = (
        Machine(agent_of=agent_of, path=tmp_path / "effects.db"),
        [""],
        list[Any](),
    )
    began, dies = asyncio.Event(), [killed]

    async def pay(given: Any) -> str:
        paid.append(given["q"])
        began.set()
        return await asyncio.Future() if dies.pop() else "paid"

    def post(given: Any) -> str:
        tokens[0] = given["token"]
        return "sent"

    tools = [
        scripted_tool("pay", pay, args={"q": str}),
        scripted_tool("post", post, args={"token": str}),
    ]
    specs = [
        ToolSpec(name="pay", approval=True, reads=(), writes=("desk",), takes_from=()),
        ToolSpec(name="post", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=()),
    ]
    begin = {"messages": [], "tasks": TASKS}
    place, options = {"configurable": {"thread_id": "t"}}, {"durability": "sync"}
    first = machine.process(tools, specs, calls(PAY, ("post", {"task_id": "b"})))
    await first.agent.graph.ainvoke(begin, place, **options)
    yes = Command(resume={"a/pay#1": True})
    if killed:
        first.run = asyncio.create_task(first.agent.graph.ainvoke(yes, place, **options))
        await began.wait()
    await first.die()
    dies.append(False)
    second = machine.process(tools, specs)
    await asyncio.to_thread(second.journal.deliver, tokens[0], "no. 815")
    state = await second.agent.graph.ainvoke(None if killed else yes, place, **options)
    assert paid == ["x"]
    assert "__interrupt__" not in state
    text = str([message.content for message in state["messages"]])
    assert "no. 815" in text
    assert ("not known whether pay#1" if killed else "paid") in text
    machine.close()
