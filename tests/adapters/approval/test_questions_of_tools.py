"""Questions that tools ask themselves: one at a time, each with its own answer, and cancelled without an effect."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from typing_extensions import override

from asyncguard import (
    Delivery,
    EffectClass,
    GuardConfig,
    Limits,
    Mode,
    Ports,
    Timing,
    ToolFault,
    ToolSpec,
)
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, Outcome, build, script
from tests.adapters.processes import Machine

TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}]
YES = True
PAY_X, SHIP_Y = ("pay", {"q": "x", "task_id": "a"}), ("ship", {"q": "y", "task_id": "b"})
PAY_Y = ("pay", {"q": "y", "task_id": "b"})


class Office:
    """Tools that ask a person before their effect."""

    def __init__(self, agent_of: AgentOf, *made: Any, shared: bool = False, **options: Any) -> None:
        self.done: list[tuple[str, Any]] = []
        writes = {"pay": ("desk",), "ship": ("desk",) if shared else ("dock",)}
        self.made, self._agent_of, self._saver = made, agent_of, InMemorySaver()
        self._options, self.extra = options, list[Any]()
        self.specs = [
            ToolSpec(name=name, interrupts=True, reads=(), writes=written)
            for name, written in writes.items()
        ]

    def process(self, *, first: bool = True, **options: Any) -> Agent:
        """Return the agent in a process of its own; in the first one its model makes the calls."""
        made = [calls(*self.made)] if first else []
        own = [
            scripted_tool(spec.name, self.asks(spec.name), args={"q": str})
            for spec in self.specs
            if spec.interrupts
        ]
        return self._agent_of(
            ScriptedChatModel(script(*made, ever="all said")),
            [*own, *self.extra],
            specs=self.specs,
            checkpointer=self._saver,
            **self._options,
            **options,
        )

    def asks(self, name: str) -> Any:
        def act(arguments: Any) -> str:
            answer = interrupt(f"{name} {arguments['q']}?")
            self.done.append((arguments["q"], answer))
            return f"{name}: {answer}"

        return act

    def notes(self, name: str) -> Any:
        """Return a tool that asks no one."""

        def act(arguments: Any) -> str:
            self.done.append((arguments["q"], "noted"))
            return f"{name}: noted"

        return act

    def go(self, *inputs: Any) -> list[Outcome]:
        """Give the tasks, then the inputs one after the other, and return what came of each."""
        agent = self.process()

        async def main() -> list[Outcome]:
            found = [await agent.say(tasks=TASKS, thread="t")]
            return found + [await agent.go(given, "t") for given in inputs]

        return run_virtual(main()).result

    async def go_on(self, journal: Path | None, *inputs: Any) -> list[Outcome]:
        """Do as :meth:`go` does, each in a process of its own, whose journal is on a file."""
        found = []
        for number, given in enumerate(({"messages": [], "tasks": TASKS}, *inputs)):
            opened = (
                None if journal is None else SqlJournal(SqliteStore(journal, ProcessKind.AGENT))
            )
            agent = self.process(first=not number, ports=Ports(journal=opened))
            found.append(await agent.go(given, "t"))
            if opened is not None:
                opened.close()
        return found


def answer(value: Any, *cancelled: str) -> Command[Any]:
    """Return an answer, with tasks that it cancels."""
    return Command(resume=value, update={"cancel": list(cancelled)} if cancelled else None)


CANCEL_A: Sequence[Any] = [
    pytest.param(answer("yes", "a"), id="beside the answer"),
    pytest.param(Command(update={"cancel": ["a"]}), id="by a Command alone"),
    pytest.param({"cancel": ["a"]}, id="as an input"),
]


@pytest.mark.parametrize("cancelling", CANCEL_A)
def test_a_cancelled_question_has_no_effect(agent_of: AgentOf, cancelling: Any) -> None:
    """Its tool stopped at the question: the call is cancelled, and nothing is in doubt."""
    office = Office(agent_of, PAY_X)
    *_, outcome = office.go(cancelling)
    assert office.done == []
    assert not outcome.interrupts
    assert outcome.states("a") == {"cancelled": 1}
    assert outcome.report["in_doubt"] == []
    assert "the user cancelled the task" in outcome.text


@pytest.mark.parametrize("cancelling", CANCEL_A)
@pytest.mark.parametrize("second", [PAY_Y, SHIP_Y], ids=["same tool", "other tool"])
def test_the_other_question_gets_its_own_answer(
    agent_of: AgentOf, cancelling: Any, second: Any
) -> None:
    """What was said to the cancelled question reaches no other one: that is asked, and answered by itself."""
    office = Office(agent_of, PAY_X, second)
    _, asked, outcome = office.go(cancelling, answer("ship it"))
    assert asked.interrupts == [f"{second[0]} y?"]
    assert office.done == [("y", "ship it")]
    assert outcome.states("b") == {"done": 1}


def test_a_cancellation_of_another_task_leaves_the_answer_to_its_question(
    agent_of: AgentOf,
) -> None:
    """The tool that asked gets the answer; the other task's call never asks."""
    office = Office(agent_of, PAY_X, SHIP_Y)
    *_, outcome = office.go(answer("yes", "b"))
    assert office.done == [("x", "yes")]
    assert not outcome.interrupts
    assert outcome.states("a") == {"done": 1}
    assert outcome.states("b") == {"cancelled": 1}


def test_with_a_wrong_cancellation_the_question_comes_again(agent_of: AgentOf) -> None:
    """The answer is not used, as the name may mean the asking task; the next one is."""
    office = Office(agent_of, PAY_X)
    _, again, outcome = office.go(answer("yes", "zzz"), answer("then yes"))
    assert again.interrupts == ["pay x?"]
    assert office.done == [("x", "then yes")]
    assert outcome.states("a") == {"done": 1}


@pytest.mark.parametrize("shared", [False, True], ids=["disjoint", "same resource"])
@pytest.mark.parametrize("second", [PAY_Y, SHIP_Y], ids=["same tool", "other tool"])
def test_the_questions_of_one_message_come_one_after_the_other(
    agent_of: AgentOf, second: Any, shared: bool
) -> None:
    """Each call asks, and each is given its own answer."""
    office = Office(agent_of, PAY_X, second, shared=shared)
    first, then, outcome = office.go(answer("one"), answer("two"))
    assert first.interrupts == ["pay x?"]
    assert then.interrupts == [f"{second[0]} y?"]
    assert office.done == [("x", "one"), ("y", "two")]
    assert outcome.states("a") == outcome.states("b") == {"done": 1}


JOURNALED = pytest.mark.parametrize("journaled", [False, True], ids=["no journal", "journal"])


@JOURNALED
@pytest.mark.parametrize("second", [PAY_Y, SHIP_Y], ids=["same tool", "other tool"])
async def test_each_answer_may_come_in_another_process(
    agent_of: AgentOf, frontend: Frontend, tmp_path: Path, second: Any, journaled: bool
) -> None:
    """The questions keep their order, and each answer finds its own; without a journal doubts may remain."""
    office = Office(agent_of, PAY_X, second)
    path = tmp_path / "effects.db" if journaled else None
    first, then, outcome = await office.go_on(path, answer("one"), answer("two"))
    assert first.interrupts == ["pay x?"]
    if not journaled and outcome.report["in_doubt"]:
        assert frontend is Frontend.MIDDLEWARE
        assert office.done in ([("x", "one")], [("x", "one"), ("y", "two")])
        return
    assert then.interrupts == [f"{second[0]} y?"]
    assert office.done == [("x", "one"), ("y", "two")]
    assert outcome.states("a") == outcome.states("b") == {"done": 1}


@JOURNALED
@pytest.mark.parametrize("cancelling", CANCEL_A)
async def test_a_question_may_be_cancelled_in_another_process(
    agent_of: AgentOf, tmp_path: Path, cancelling: Any, journaled: bool
) -> None:
    """No effect of the cancelled task follows, and what was said to it reaches no other question."""
    office = Office(agent_of, PAY_X, SHIP_Y)
    path = tmp_path / "effects.db" if journaled else None
    _, asked, _ = await office.go_on(path, cancelling, answer("ship it"))
    assert office.done in ([], [("y", "ship it")])
    if asked.interrupts:
        assert office.done


LOOK_Y = ("look", {"q": "y", "task_id": "b"})
INSTEAD: dict[str, tuple[dict[str, Any], str]] = {
    "message": (
        {"messages": [("user", "Hm.")]},
        "the user sent a new message instead of an answer to its question",
    ),
    "cancellation": ({"messages": [], "cancel": ["a"]}, "the user cancelled the task"),
    "both": ({"messages": [("user", "Hm.")], "cancel": ["a"]}, "the user cancelled the task"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("instead", INSTEAD)
@pytest.mark.parametrize("apart", [False, True], ids=["one process", "other processes"])
async def test_a_withdrawn_question_is_told_as_one(
    agent_of: AgentOf, tmp_path: Path, instead: str, *, apart: bool
) -> None:
    """In any process its call was not run, for the user's reason, and is not announced as one to come."""
    office = Office(agent_of, PAY_X, LOOK_Y)
    office.specs.append(ToolSpec(name="look", effect=EffectClass.PURE))
    office.extra = [scripted_tool("look", lambda _: "seen", args={"q": str})]
    given, reason = INSTEAD[instead]
    if apart:
        asked, outcome = await office.go_on(tmp_path / "effects.db", given)
    else:
        agent = office.process()
        asked = await agent.say(tasks=TASKS, thread="t")
        outcome = await agent.go(given, "t")
    assert asked.interrupts == ["pay x?"]
    assert outcome.answer("call_1_1").startswith(f"pay#1 was not run: {reason}.")
    assert outcome.states("a") == {"cancelled": 1}
    assert outcome.report["in_doubt"] == []
    assert office.done == []


class Delays(AgentMiddleware[Any, Any, Any]):
    """Lets the calls of one tool wait, or answers them itself."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self._seconds = seconds

    @override
    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] != "pay":
            return await handler(request)
        if self._seconds is None:
            return ToolMessage("paid by cheque", tool_call_id=request.tool_call["id"])
        await asyncio.sleep(self._seconds)
        return await handler(request)


@pytest.mark.parametrize("seconds", [0.5, 5.0])
def test_a_wrapper_that_comes_late_has_its_question(seconds: float) -> None:
    """Within a second the questions keep their order; later the other one is asked first."""
    office = Office(partial(build, Frontend.MIDDLEWARE), PAY_X, SHIP_Y, outside=[Delays(seconds)])
    first, then, outcome = office.go(answer("one"), answer("two"))
    asked = [first.interrupts[0], then.interrupts[0]]
    order = ["pay x?", "ship y?"] if seconds < 1 else ["ship y?", "pay x?"]
    assert asked == order
    said = dict(zip(("x", "y") if seconds < 1 else ("y", "x"), ("one", "two"), strict=True))
    assert dict(office.done) == said
    assert outcome.states("a") == outcome.states("b") == {"done": 1}


def test_a_wrapper_that_never_comes_holds_up_no_question() -> None:
    """Other middleware has answered the first call: the second one's tool asks all the same."""
    office = Office(partial(build, Frontend.MIDDLEWARE), PAY_X, SHIP_Y, outside=[Delays(None)])
    first, outcome = office.go(answer("ship it"))
    assert first.interrupts == ["ship y?"]
    assert office.done == [("y", "ship it")]
    assert outcome.states("b") == {"done": 1}
    assert "paid by cheque" in outcome.text


NO_ANSWER: Sequence[Any] = [
    pytest.param(None, id="None"),
    pytest.param(Command(resume={"f" * 32: "late"}), id="the id of another question"),
]


@pytest.mark.parametrize("given", NO_ANSWER)
@pytest.mark.parametrize("second", [PAY_Y, SHIP_Y], ids=["same tool", "other tool"])
def test_an_answer_is_not_taken_for_the_next_question(
    agent_of: AgentOf, given: Any, second: Any
) -> None:
    """LangGraph keeps an answer until its step ends; a run without one asks the second question again."""
    office = Office(agent_of, PAY_X, second)
    _, asked, again, outcome = office.go(answer("one"), given, answer("two"))
    assert asked.interrupts == again.interrupts == [f"{second[0]} y?"]
    assert office.done == [("x", "one"), ("y", "two")]
    assert outcome.states("b") == {"done": 1}


@pytest.mark.parametrize("given", NO_ANSWER)
def test_an_approval_is_not_taken_for_an_answer(agent_of: AgentOf, given: Any) -> None:
    """A tool that a person approves, and that asks then: the yes is for the call alone."""
    office = Office(agent_of, ("pay", {"q": "x"}))
    office.specs[0] = replace(office.specs[0], approval=True)
    agent = office.process()

    async def main() -> list[Outcome]:
        found = [await agent.say("Pay x.", thread="t")]
        for each in (answer(YES), given, answer("one")):
            found.append(await agent.go(each, "t"))  # noqa: PERF401 - one after the other
        return found

    first, asked, again, _ = run_virtual(main()).result
    assert first.interrupts[0]["type"] == "approval"
    assert asked.interrupts == again.interrupts == ["pay x?"]
    assert office.done == [("x", "one")]


def test_a_tool_that_asks_twice_is_answered_twice(agent_of: AgentOf) -> None:
    """The first answer does not stand for the second one in a run without an answer."""
    said: list[Any] = []

    def ask(_: Any) -> str:
        said[:] = [interrupt("first?"), interrupt("second?")]
        return "thanks"

    agent = agent_of(
        ScriptedChatModel(script(calls(("ask", {})), ever="all said")),
        [scripted_tool("ask", ask, args={})],
        specs=[ToolSpec(name="ask", interrupts=True)],
        checkpointer=InMemorySaver(),
    )

    async def main() -> list[Outcome]:
        found = [await agent.say("Ask.", thread="t")]
        for each in (answer("one"), None, answer("two")):
            found.append(await agent.go(each, "t"))  # noqa: PERF401 - one after the other
        return found

    *_, asked, again, _ = run_virtual(main()).result
    assert asked.interrupts == again.interrupts == ["second?"]
    assert said == ["one", "two"]


@JOURNALED
@pytest.mark.parametrize("looks", [1, 2])
async def test_answers_last_if_their_process_was_shown_the_question_again(
    agent_of: AgentOf, tmp_path: Path, looks: int, *, journaled: bool
) -> None:
    """Its attempts are in the journal alone: the next process goes on with the last one, and its answers."""
    said: list[Any] = []
    saver, opened = InMemorySaver(), list[SqlJournal]()

    def ask(_: Any) -> str:
        said[:] = [interrupt("first?"), interrupt("second?")]
        return "thanks"

    def process(*made: Any) -> Agent:
        if opened:
            opened.pop().close()
        if journaled:
            store = SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT)
            opened.append(SqlJournal(store))
        return agent_of(
            ScriptedChatModel(script(*made, ever="all said")),
            [scripted_tool("ask", ask, args={})],
            specs=[ToolSpec(name="ask", interrupts=True)],
            checkpointer=saver,
            ports=Ports(journal=opened[0] if opened else None),
        )

    await process(calls(("ask", {}))).say("Ask.", thread="t")
    agent = process()
    for _ in range(looks):
        assert (await agent.go(None, "t")).interrupts == ["first?"]
    assert (await agent.go(answer("one"), "t")).interrupts == ["second?"]
    agent = process()
    for _ in range(looks - 1):
        assert (await agent.go(None, "t")).interrupts == ["second?"]
    outcome = await agent.go(answer("two"), "t")
    assert not outcome.interrupts
    assert said == ["one", "two"]
    for journal in opened:
        journal.close()


@pytest.mark.parametrize("given", [None, answer("one")], ids=["None", "the answer again"])
async def test_after_a_kill_an_answer_is_not_taken_for_a_question_that_was_not_asked(
    agent_of: AgentOf, tmp_path: Path, given: Any
) -> None:
    """The process dies in the first tool, after its answer: the second question is put before it is answered."""
    office, place = Office(agent_of, PAY_X, SHIP_Y), {"configurable": {"thread_id": "t"}}
    began = asyncio.Event()

    async def dies(arguments: Any) -> str:
        office.done.append((arguments["q"], interrupt(f"pay {arguments['q']}?")))
        began.set()
        return await asyncio.Future()

    ship = scripted_tool("ship", office.asks("ship"), args={"q": str})
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    first = machine.process(
        [scripted_tool("pay", dies, args={"q": str}), ship], office.specs, calls(PAY_X, SHIP_Y)
    )
    graph, options = first.agent.graph, {"durability": "sync"}
    await graph.ainvoke({"messages": [], "tasks": TASKS}, place, **options)
    first.run = asyncio.create_task(graph.ainvoke(answer("one"), place, **options))
    await began.wait()
    await first.die()
    pay = scripted_tool("pay", office.asks("pay"), args={"q": str})
    second = machine.process([pay, ship], office.specs).agent.graph
    state = await second.ainvoke(given, place, **options)
    assert [each for each in office.done if each[0] == "y"] == []
    if state.get("__interrupt__"):
        await second.ainvoke(answer("ship it"), place, **options)
    assert [each for each in office.done if each[0] == "y"] in ([], [("y", "ship it")])
    machine.close()


@pytest.mark.parametrize("apart", [False, True], ids=["here", "in a third process"])
@pytest.mark.parametrize("instead", INSTEAD)
async def test_a_question_that_comes_again_after_a_kill_may_have_been_answered_before(
    agent_of: AgentOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    instead: str,
    *,
    apart: bool,
) -> None:
    """The process dies after the effect, and the tool asks again: withdrawn then, its call is in doubt.

    The process is of an older release, which did not store the answer.
    """
    monkeypatch.setattr(
        "asyncguard.adapters.answer_log.new_answer.storing_of_answers", lambda *_: None
    )
    given, place = INSTEAD[instead][0], {"configurable": {"thread_id": "t"}}
    paid = asyncio.Event()
    spec = ToolSpec(
        name="pay",
        interrupts=True,
        effect=EffectClass.KEYED,
        key_argument="key",
        reads=(),
        writes=("desk",),
    )

    async def pays(_: Any) -> str:
        interrupt("pay x?")
        paid.set()
        return await asyncio.Future()

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")

    def process(*made: Any) -> Any:
        pay = scripted_tool("pay", pays, args={"q": str, "key": (str, "")})
        return machine.process([pay], [spec], *made, *["all said"] * 3)

    first, options = process(calls(PAY_X)), {"durability": "sync"}
    await first.agent.graph.ainvoke({"messages": [], "tasks": TASKS}, place, **options)
    state = await first.agent.graph.aget_state(place)
    yes: Any = Command(resume={state.interrupts[0].id: "yes"})
    first.run = asyncio.create_task(first.agent.graph.ainvoke(yes, place, **options))
    await paid.wait()
    await first.die()
    second = process()
    asked = await second.agent.graph.ainvoke(None, place, **options)
    assert [each.value for each in asked["__interrupt__"]] == ["pay x?"]
    if apart:
        await second.die()
        second = process()
    state = await second.agent.graph.ainvoke(given, place, **options)
    assert state["report"]["in_doubt"] == ["a/pay#1"]
    assert "was not run" not in "".join(message.text for message in state["messages"])
    machine.close()


@pytest.mark.parametrize("last", [True, False], ids=["after it", "before it"])
def test_work_outside_does_not_keep_a_question_back(agent_of: AgentOf, last: bool) -> None:
    """An external call of the same message may take days; the person is asked at once."""
    office, tokens = Office(agent_of), list[str]()
    made = [("pay", {"q": "x"}), ("post", {})]
    office.made = tuple(made if last else reversed(made))
    post = scripted_tool("post", lambda given: tokens.append(given["token"]), args={"token": str})
    office.extra = [post]
    office.specs.append(
        ToolSpec(name="post", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=())
    )
    agent = office.process()

    async def main() -> list[Outcome]:
        found = [await agent.say("Pay x, and post it.", thread="t")]
        return [*found, await agent.go(answer("one"), "t")]

    first, _ = run_virtual(main(), patience=10.0).result
    assert first.interrupts == ["pay x?"]
    assert office.done == [("x", "one")]


@pytest.mark.parametrize("last", [True, False], ids=["after it", "before it"])
def test_work_beside_a_question_ends_before_the_loop_of_its_run_does(
    agent_of: AgentOf, last: bool
) -> None:
    """A caller may give each turn a loop of its own: what was still running then would be in doubt."""

    async def pack(_: Any) -> str:
        await asyncio.sleep(0.05)
        return "packed"

    office = Office(agent_of)
    made = [("pay", {"q": "x"}), ("pack", {})]
    office.made = tuple(made if last else reversed(made))
    office.extra = [scripted_tool("pack", pack, args={})]
    agent = office.process()
    first = asyncio.run(agent.say("Pay x, and pack it.", thread="t"))
    assert first.interrupts == ["pay x?"]
    outcome = asyncio.run(agent.go(answer("one"), "t"))
    assert office.done == [("x", "one")]
    assert "packed" in outcome.text
    assert "not known" not in outcome.text


@pytest.mark.parametrize("last", [True, False], ids=["after it", "before it"])
def test_work_outside_is_started_before_the_loop_of_its_run_ends(
    agent_of: AgentOf, last: bool
) -> None:
    """The tool that starts it runs in this process; once it has begun, the person is asked after it."""
    tokens = list[str]()

    async def post(given: Any) -> str:
        await asyncio.sleep(0.05)
        tokens.append(given["token"])
        return "started"

    office = Office(agent_of)
    made = [("pay", {"q": "x"}), ("post", {})]
    office.made = tuple(made if last else reversed(made))
    office.extra = [scripted_tool("post", post, args={"token": str})]
    office.specs.append(
        ToolSpec(name="post", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=())
    )
    agent = office.process()
    first = asyncio.run(agent.say("Pay x, and post it.", thread="t"))
    assert first.interrupts == ["pay x?"]
    outcome = asyncio.run(agent.go(answer("one"), "t"))
    assert [each["type"] for each in outcome.interrupts] == ["parked"]
    assert office.done == [("x", "one")]
    assert len(tokens) == 1  # whether it was begun before the question or after the answer


THIRD = {"id": "c", "goal": "Wait for news."}


@pytest.mark.parametrize("second", [(), (SHIP_Y,)], ids=["one call", "a waiting one"])
def test_cancelling_another_task_leaves_the_question(agent_of: AgentOf, second: Any) -> None:
    """An input begins the graph again: the question comes again, and then that of the other tool."""
    office = Office(agent_of, PAY_X, *second)
    agent = office.process()

    async def main() -> list[Outcome]:
        found = [await agent.say(tasks=[*TASKS, THIRD], thread="t")]
        for given in ({"cancel": ["c"]}, *(answer(number) for number in range(1 + len(second)))):
            found.append(await agent.go(given, "t"))  # noqa: PERF401 - one after the other
        return found

    _, again, *_, outcome = run_virtual(main()).result
    assert again.interrupts == ["pay x?"]
    assert office.done == [("x", 0), *(("y", 1) for _ in second)]
    assert outcome.states("a") == {"done": 1}
    assert outcome.report["in_doubt"] == []


@JOURNALED
async def test_in_another_process_cancelling_another_task_leaves_no_effect(
    agent_of: AgentOf, tmp_path: Path, journaled: bool
) -> None:
    """The question comes again, or the call is ended; with a journal nothing is in doubt."""
    office = Office(agent_of, PAY_X, SHIP_Y)
    path = tmp_path / "effects.db" if journaled else None
    first, outcome = await office.go_on(path, {"cancel": ["b"]})
    assert first.interrupts == ["pay x?"]
    assert office.done == []
    if not outcome.interrupts:
        assert not journaled or outcome.report["in_doubt"] == []


def reply(found: Outcome, *, by_id: bool) -> Command[Any]:
    """Answer the question that is out: yes to an approval, and the question's own words to a tool."""
    asked, *others = found.state["__interrupt__"]
    assert not others, "two questions at once"
    said = f"re: {asked.value}" if isinstance(asked.value, str) else True
    return answer({asked.id: said} if by_id else said)


EACH = [(0,), (1,), (0, 1)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("approved", EACH, ids=str)
@pytest.mark.parametrize("asking", EACH, ids=str)
@pytest.mark.parametrize("order", [(PAY_X, SHIP_Y), (SHIP_Y, PAY_X)], ids=["in order", "reversed"])
@pytest.mark.parametrize("how", ["by value", "by id", "with pauses", "in other processes"])
async def test_each_yes_and_each_answer_finds_its_own(
    agent_of: AgentOf, tmp_path: Path, order: Any, how: str, asking: Any, approved: Any
) -> None:
    """Calls of two tasks, which a person approves, or whose tools ask, or both."""
    office = Office(agent_of, *order)
    office.specs = [
        replace(spec, approval=at in approved, interrupts=at in asking)
        for at, spec in enumerate(office.specs)
    ]
    office.extra = [
        scripted_tool(spec.name, office.notes(spec.name), args={"q": str})
        for spec in office.specs
        if not spec.interrupts
    ]
    path, kept = tmp_path / "effects.db", office.process()
    found: list[Outcome] = []
    for number in range(9):
        given: Any = {"messages": [], "tasks": TASKS}
        if found:
            if not found[-1].interrupts:
                break
            paused = how == "with pauses" and number % 2
            given = None if paused else reply(found[-1], by_id=how == "by id")
        if how == "in other processes":
            journal = SqlJournal(SqliteStore(path, ProcessKind.AGENT))
            kept = office.process(first=not number, ports=Ports(journal=journal))
            found.append(await kept.go(given, "t"))
            journal.close()
        else:
            found.append(await kept.go(given, "t"))
    wanted = {
        ("x", "re: pay x?" if 0 in asking else "noted"),
        ("y", "re: ship y?" if 1 in asking else "noted"),
    }
    assert set(office.done) <= wanted
    assert len(office.done) == len(set(office.done))
    if how != "in other processes":
        assert set(office.done) == wanted
        assert found[-1].states("a") == found[-1].states("b") == {"done": 1}
    assert found[-1].report["in_doubt"] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("apart", [False, True], ids=["one process", "other processes"])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_tool_that_failed_after_its_answer_asks_again(
    agent_of: AgentOf, times: int, *, apart: bool
) -> None:
    """A retry is another attempt: its question gets an answer of its own."""
    said: list[Any] = []

    def ask(_: Any) -> str:
        said.append(tuple(interrupt(f"question {each}?") for each in range(times)))
        if len(said) == 1:
            raise ConnectionError("the line is dead")
        return "thanks"

    saver = InMemorySaver()

    def process(*made: Any) -> Agent:
        return agent_of(
            ScriptedChatModel(script(*made, ever="all said")),
            [scripted_tool("ask", ask, args={})],
            specs=[ToolSpec(name="ask", interrupts=True, effect=EffectClass.PURE)],
            config=GuardConfig(timing=Timing(retry_initial=0.05)),
            checkpointer=saver,
        )

    agent = process(calls(("ask", {})))
    outcome = await agent.say("Ask.", thread="t")
    for number in range(2 * times):
        assert outcome.interrupts == [f"question {number % times}?"]
        agent = process() if apart else agent
        outcome = await agent.go(answer(number), "t")
    assert said == [tuple(range(times)), tuple(range(times, 2 * times))]
    assert not outcome.interrupts


@pytest.mark.parametrize("fallback", [False, True], ids=["retry", "fallback"])
async def test_an_attempt_after_one_that_the_journal_knows_gets_its_answer(
    agent_of: AgentOf, tmp_path: Path, *, fallback: bool
) -> None:
    """In another process the failed attempt is not run again: the new answer is not for it."""
    said: list[Any] = []

    def card(_: Any) -> str:
        said.append(interrupt("Pay now?" if said else "Pay by card?"))
        if len(said) == 1:
            raise ToolFault("refused", transient=not fallback, started=False)
        return "paid"

    def wire(_: Any) -> str:
        said.append(interrupt("Pay by wire?"))
        return "paid"

    saver, found = InMemorySaver(), list[Outcome]()
    for given in ({"messages": [("user", "Pay.")]}, answer("one"), answer("two")):
        journal = SqlJournal(SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT))
        agent = agent_of(
            ScriptedChatModel(script(*[calls(("card", {}))] * (not found), ever="all said")),
            [scripted_tool("card", card, args={}), scripted_tool("wire", wire, args={})],
            specs=[
                ToolSpec(name="card", interrupts=True, fallbacks=("wire",) if fallback else ()),
                ToolSpec(name="wire", interrupts=True),
            ],
            config=GuardConfig(timing=Timing(retry_initial=0.05)),
            checkpointer=saver,
            ports=Ports(journal=journal),
        )
        found.append(await agent.go(given, "t"))
        journal.close()
    asked, again, outcome = found
    assert asked.interrupts == ["Pay by card?"]
    assert again.interrupts == ["Pay by wire?" if fallback else "Pay now?"]
    assert not outcome.interrupts
    assert said == ["one", "two"]


@pytest.mark.parametrize("retried", [False, True], ids=["", "retried"])
@pytest.mark.parametrize("fails", [1, 2], ids=["falls back", "falls back from two"])
@JOURNALED
async def test_each_tool_of_a_call_has_its_own_answers_in_another_process(
    agent_of: AgentOf, tmp_path: Path, *, retried: bool, fails: int, journaled: bool
) -> None:
    """Attempts at a pure tool are made again there; what the fallback was answered is not for them."""
    said = dict[str, list[Any]](quote=[], source=[], pay=[])

    def refuse(name: str) -> Callable[[Any], str]:
        def ask(_: Any) -> str:
            said[name].append(interrupt(f"{name}?"))
            raise ToolFault("closed", transient=retried, started=False)

        return ask

    def pay(_: Any) -> str:
        said["pay"].append(interrupt("pay?"))
        return "paid"

    siblings = ("source", "pay")[2 - fails :]
    order = [*["quote"] * (1 + retried), *["source"] * (fails - 1), "pay"]
    saver, found = InMemorySaver(), list[Outcome]()
    for given in ({"messages": [("user", "Pay.")]}, *map(answer, range(len(order)))):
        journal = SqlJournal(SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT))
        agent = agent_of(
            ScriptedChatModel(script(*[calls(("quote", {}))] * (not found), ever="all said")),
            [
                scripted_tool("quote", refuse("quote"), args={}),
                scripted_tool("source", refuse("source"), args={}),
                scripted_tool("pay", pay, args={}),
            ],
            specs=[
                ToolSpec(
                    name="quote", effect=EffectClass.PURE, interrupts=True, fallbacks=siblings
                ),
                ToolSpec(name="source", effect=EffectClass.PURE, interrupts=True),
                ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT, interrupts=True),
            ],
            config=GuardConfig(timing=Timing(retry_initial=0.02), limits=Limits(max_attempts=2)),
            checkpointer=saver,
            ports=Ports(journal=journal if journaled else None),
        )
        found.append(await agent.go(given, "t"))
        journal.close()
    assert [each.interrupts for each in found] == [*([f"{name}?"] for name in order), []]
    places = {name: [at for at, each in enumerate(order) if each == name] for name in said}
    assert said["pay"] == places["pay"]
    assert all(set(said[name]) == set(places[name]) for name in said)


@pytest.mark.parametrize(
    "given",
    [
        answer("late", "main"),
        {"messages": [], "cancel": ["main"]},
        {"messages": [("user", "And?")]},
        None,
    ],
    ids=["cancelled beside", "cancelled", "message", "no end"],
)
@pytest.mark.parametrize("approval", [False, True], ids=["", "approved"])
async def test_earlier_attempts_count_in_another_process(
    agent_of: AgentOf, tmp_path: Path, given: Any, *, approval: bool
) -> None:
    """The effect of one may have begun, and the limit of attempts holds, whichever process made them."""
    effects: list[Any] = []

    def pay(_: Any) -> str:
        effects.append(interrupt("Pay?"))
        raise ConnectionError("lost after the effect")

    spec = ToolSpec(
        name="pay",
        effect=EffectClass.KEYED,
        key_argument="key",
        interrupts=True,
        approval=approval,
        reads=(),
        writes=("desk",),
    )
    saver = InMemorySaver()

    async def process(given: Any, *made: Any) -> Outcome:
        journal = SqlJournal(SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT))
        agent = agent_of(
            ScriptedChatModel(script(*made, ever="all said")),
            [scripted_tool("pay", pay, args={"q": str, "key": (str, "")})],
            specs=[spec],
            config=GuardConfig(timing=Timing(retry_initial=0.02), limits=Limits(max_attempts=3)),
            checkpointer=saver,
            ports=Ports(journal=journal),
        )
        outcome = await agent.go(given, "t")
        journal.close()
        return outcome

    outcome = await process({"messages": [("user", "Pay.")]}, calls(("pay", {"q": "x"})))
    if approval:
        outcome = await process(answer(YES))
    for number in range(1 if given is not None else 3):
        assert outcome.interrupts == ["Pay?"]
        outcome = await process(answer(number))
    if given is not None:
        assert outcome.interrupts == ["Pay?"]
        outcome = await process(given)
    assert not outcome.interrupts
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert effects == ([0] if given is not None else [0, 1, 2])


@pytest.mark.parametrize("given", [answer("late", "main"), {"messages": [], "cancel": ["main"]}])
@pytest.mark.parametrize("fails", [False, True], ids=["asked", "failed"])
async def test_a_cancelled_retry_is_not_told_as_a_call_that_was_not_run(
    agent_of: AgentOf, given: Any, *, fails: bool
) -> None:
    """Its first attempt may have had the effect; a call that has only asked did nothing."""
    effects: list[Any] = []

    def pay(_: Any) -> str:
        effects.append(interrupt("Pay?"))
        raise ConnectionError("lost after the effect")

    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {})), ever="all said")),
        [scripted_tool("pay", pay)],
        specs=[ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT, interrupts=True)],
        config=GuardConfig(timing=Timing(retry_initial=0.02)),
        checkpointer=InMemorySaver(),
    )
    outcome = await agent.say("Pay.", thread="t")
    if fails:
        outcome = await agent.go(answer("yes"), "t")
    assert outcome.interrupts == ["Pay?"]
    outcome = await agent.go(given, "t")
    assert len(effects) == fails
    assert outcome.states("main") == ({"failed": 1} if fails else {"cancelled": 1})
    assert ("before it was tried again" if fails else "was not run") in outcome.text


@pytest.mark.parametrize("looks", [False, True], ids=["at once", "after a look"])
async def test_each_answer_of_a_retry_reaches_its_question_in_another_process(
    agent_of: AgentOf, tmp_path: Path, *, looks: bool
) -> None:
    """The first attempt was refused; the answer to the retry's second question is not for its first."""
    refused: list[str] = []
    paid: list[tuple[str, str]] = []

    def pay(_: Any) -> str:
        whom = interrupt("Whom?")
        if not refused:
            refused.append(whom)
            raise ToolFault("refused", transient=True, started=False)
        paid.append((whom, interrupt("How much?")))
        return "paid"

    saver, found = InMemorySaver(), list[Outcome]()
    look: list[Any] = [None] * looks
    for given in (
        {"messages": [("user", "Pay.")]},
        answer("Ann"),
        *look,
        answer("Bob"),
        *look,
        answer("9 euros"),
    ):
        journal = SqlJournal(SqliteStore(tmp_path / "effects.db", ProcessKind.AGENT))
        agent = agent_of(
            ScriptedChatModel(script(*[calls(("pay", {}))] * (not found), ever="all said")),
            [scripted_tool("pay", pay, args={})],
            specs=[ToolSpec(name="pay", interrupts=True)],
            config=GuardConfig(timing=Timing(retry_initial=0.05)),
            checkpointer=saver,
            ports=Ports(journal=journal),
        )
        found.append(await agent.go(given, "t"))
        journal.close()
    assert paid == [("Bob", "9 euros")]
    assert not found[-1].interrupts


@JOURNALED
async def test_a_void_answer_stays_void_in_another_process(
    agent_of: AgentOf, tmp_path: Path, journaled: bool
) -> None:
    """It came beside a wrong cancellation; the tool gets the answer to the question that came again."""
    office = Office(agent_of, PAY_X)
    path = tmp_path / "effects.db" if journaled else None
    _, again, *_ = await office.go_on(path, answer("yes", "nosuch"), answer("NO"))
    assert again.interrupts == ["pay x?"]
    assert office.done in ([], [("x", "NO")])
    assert office.done or not journaled


def test_the_log_says_once_that_a_tool_asks_in_the_background(
    agent_of: AgentOf, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    """The developer has to declare it; what it did before it asked is not known."""
    name = f"asks_{request.node.callspec.id}"
    ask = scripted_tool(name, lambda a: interrupt(f"secret {a['q']}?"), args={"q": str})
    both = calls((name, {"q": "x", "task_id": "a"}), (name, {"q": "y", "task_id": "b"}))
    agent = agent_of(ScriptedChatModel(script(both, ever="all said")), [ask])
    outcome = agent.run(tasks=TASKS)
    assert sorted(outcome.report["in_doubt"]) == [f"a/{name}#1", f"b/{name}#1"]
    (said,) = [each.getMessage() for each in caplog.records if name in each.getMessage()]
    assert "declare it with @guarded(interrupts=True)" in said
    assert "secret" not in said


def test_an_undeclared_question_is_answered_after_an_approval(agent_of: AgentOf) -> None:
    """The graph waits for the tool of its only task, also where the hook runs it."""
    office = Office(agent_of, ("ship", {"q": "y"}), ("pay", {"q": "x"}))
    pay, ship = office.specs
    office.specs = [
        replace(pay, approval=True, interrupts=False),
        replace(ship, interrupts=False, mode=Mode.BACKGROUND),
    ]
    office.extra = [
        scripted_tool("pay", office.asks("pay"), args={"q": str}),
        scripted_tool("ship", office.notes("ship"), args={"q": str}),
    ]
    agent = office.process(config=GuardConfig(delivery=Delivery.ANY))

    async def main() -> list[Outcome]:
        found = [await agent.say("Pay x and ship y.", thread="t")]
        for given in (answer(YES), answer("one")):
            found.append(await agent.go(given, "t"))  # noqa: PERF401 - one after the other
        return found

    first, asked, outcome = run_virtual(main()).result
    assert first.interrupts[0]["type"] == "approval"
    assert asked.interrupts == ["pay x?"]
    assert not outcome.interrupts
    assert office.done == [("y", "noted"), ("x", "one")]


def test_a_sync_run_asks_from_the_hook(agent_of: AgentOf) -> None:
    """The other task's result gave the model a turn, so that no wrapper of the approved call is left."""
    office = Office(agent_of, PAY_X, SHIP_Y)
    pay, ship = office.specs
    office.specs = [replace(pay, approval=True), replace(ship, interrupts=False)]
    office.extra = [scripted_tool("ship", office.notes("ship"), args={"q": str})]
    graph, place = office.process().graph, {"configurable": {"thread_id": "t"}}
    state = graph.invoke({"messages": [], "tasks": TASKS}, place)
    assert [each.value["type"] for each in state["__interrupt__"]] == ["approval"]
    state = graph.invoke(answer(YES), place)
    assert [each.value for each in state["__interrupt__"]] == ["pay x?"]
    state = graph.invoke(answer("one"), place)
    assert "__interrupt__" not in state
    assert office.done == [("y", "noted"), ("x", "one")]
