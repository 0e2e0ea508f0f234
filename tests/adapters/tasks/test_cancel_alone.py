"""A cancellation without a message of the user affects the tasks that it names, and no others."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import CallerError, EffectClass, Inbox, Mode, Ports, ToolSpec
from asyncguard.testing import ScriptedChatModel, Step, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, Outcome, pure, script

YES = True
TASKS = [{"id": "a", "goal": "Do x."}, {"id": "b", "goal": "Do y."}]
PAY = ToolSpec(name="pay", approval=True, reads=(), writes=("payment:{q}",))
BOOK = ToolSpec(
    name="book", effect=EffectClass.IDEMPOTENT, reads=(), writes=("purse",), takes_from=()
)
SEARCH = pure("search", reads=())
NOTARY = ToolSpec(name="notary", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=())


@dataclass(kw_only=True)
class Desk:
    """Tools that remember what was done, over all agents that use them."""

    agent_of: AgentOf
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    inbox: Inbox = field(default_factory=Inbox)
    done: list[str] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    agent: Agent = field(init=False)

    def use(self, *steps: Step, ever: Step = "all said") -> Agent:
        """An agent of a process with these answers of the model, from now on."""
        tools = [
            scripted_tool("pay", lambda a: self._does(f"paid {a['q']}"), args={"q": str}),
            scripted_tool(
                "book", lambda a: self._does(f"booked {a['q']}"), args={"q": str}, latency=5.0
            ),
            scripted_tool("search", lambda a: f"found {a['q']}", args={"q": str}, latency=5.0),
            scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str}),
            scripted_tool("notary", self._starts, args={"q": str, "token": str}),
        ]
        self.agent = self.agent_of(
            ScriptedChatModel(script(*steps, ever=ever)),
            tools,
            specs=[PAY, BOOK, SEARCH, NOTARY, pure("look")],
            checkpointer=self.saver,
            ports=Ports(inbox=self.inbox),
        )
        return self.agent

    def _does(self, what: str) -> str:
        self.done.append(what)
        return what

    def _starts(self, arguments: Any) -> str:
        self.tokens[arguments["q"]] = arguments["token"]
        return "started"

    async def cancel(self, *names: str, said: str | None = None, tasks: Any = None) -> Outcome:
        """Take tasks back, with a message or without."""
        return await self.agent.go(self.agent.input(said, tasks) | {"cancel": list(names)}, "t")

    async def begin(self) -> Outcome:
        """Give both tasks."""
        return await self.agent.go(self.agent.input(None, TASKS), "t")

    async def broken_off(self, after: float = 1.0) -> None:
        """Give both tasks, and leave the run while it waits."""
        run = asyncio.create_task(self.begin())
        await asyncio.sleep(after)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


@pytest.fixture
def desk(agent_of: AgentOf) -> Desk:
    """Return the desk at which the agents work on the tasks."""
    return Desk(agent_of=agent_of)


def of(task: str, tool: str, q: str) -> tuple[str, dict[str, Any]]:
    """A call of a task."""
    return (tool, {"q": q, "task_id": task})


def asked(outcome: Outcome) -> list[str]:
    """The keys of the calls about which a person is asked."""
    return [
        call["key"]
        for question in outcome.interrupts
        for call in question["calls"]
        if "key" in call
    ]


def parked(outcome: Outcome) -> list[str]:
    """The calls for which a run rests."""
    return [
        call["call"]
        for question in outcome.interrupts
        for call in question["calls"]
        if "key" not in call
    ]


def states(outcome: Outcome) -> dict[str, str]:
    """Return the state of each task."""
    return {task["id"]: task["state"] for task in outcome.report["tasks"]}


def test_another_tasks_question_is_asked_again_and_its_approval_counts(desk: Desk) -> None:
    """A question of another task stays open; the cancelled task's call never runs."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        assert asked(await desk.begin()) == ["a/pay#1", "b/pay#1"]
        outcome = await desk.cancel("a")
        assert asked(outcome) == ["b/pay#1"]
        return await desk.agent.resume({"b/pay#1": True}, "t")

    outcome = run_virtual(main()).result
    assert desk.done == ["paid y"]
    assert states(outcome) == {"a": "stopped", "b": "closed"}
    assert outcome.states("a") == {"squashed": 1}
    assert "the user cancelled the task" in outcome.text
    assert "the user sent a new message" not in outcome.text


def test_another_tasks_call_behind_a_call_of_its_own_goes_on(desk: Desk) -> None:
    """Its predecessor runs on, and then it is issued."""
    desk.use(calls(of("a", "search", "x"), of("b", "search", "y")), calls(of("b", "book", "y")))

    async def main() -> Outcome:
        await desk.broken_off()
        return await desk.cancel("a")

    outcome = run_virtual(main()).result
    assert desk.done == ["booked y"]
    assert states(outcome) == {"a": "stopped", "b": "closed"}


@pytest.mark.parametrize("first", ["book", "pay"])
def test_another_tasks_call_that_only_kept_its_order_goes_on(desk: Desk, first: str) -> None:
    """The order between the two is none any more when the first one is taken back, whether it had begun or not."""
    pay = ToolSpec(name="pay", approval=True, reads=(), writes=("purse",))
    made: Callable[..., Agent] = desk.agent_of
    desk.agent_of = lambda model, tools, **options: made(
        model, tools, **(options | {"specs": [pay, BOOK, SEARCH, NOTARY, pure("look")]})
    )
    desk.use(calls(of("a", first, "x"), of("b", "book", "y")))

    async def main() -> Outcome:
        await desk.broken_off()
        return await desk.cancel("a")

    outcome = run_virtual(main()).result
    assert desk.done[-1] == "booked y"
    assert outcome.states("b") == {"done": 1}
    assert states(outcome) == {"a": "stopped", "b": "closed"}


def test_a_cancelled_finished_task_ends_with_an_answer(desk: Desk) -> None:
    """The model is told, in a request that every provider takes; no task is opened again."""
    desk.use(calls(of("a", "look", "x"), of("b", "look", "y")), "all done", ever="as you wish")

    async def main() -> Outcome:
        await desk.begin()
        return await desk.cancel("a")

    outcome = run_virtual(main()).result
    assert outcome.last == "as you wish"
    assert "The user cancelled: a." in outcome.text
    assert states(outcome) == {"a": "closed", "b": "closed"}
    assert len(desk.agent.model.requests) == 3


@pytest.mark.parametrize(
    ("first", "second"), [("pay", "notary"), ("notary", "pay"), ("notary", "notary")]
)
@pytest.mark.parametrize("spoke", [True, False])
def test_held_and_parked_calls_of_two_tasks(
    desk: Desk, first: str, second: str, spoke: bool
) -> None:
    """One task is taken back while the run rests; the other one rests on, and ends as it would have."""
    steps = [calls(of("a", first, "x")), calls(of("b", second, "y"))]
    desk.use(*(steps if spoke else [calls(of("a", first, "x"), of("b", second, "y"))]))

    async def main() -> Outcome:
        assert (await desk.begin()).interrupts
        outcome = await desk.cancel("a")
        if second == "pay":
            assert asked(outcome) == ["b/pay#1"]
            return await desk.agent.resume(YES, "t")
        assert parked(outcome) == ["notary#1"]
        desk.inbox.deliver(desk.tokens["y"], "certified y")
        return await desk.agent.resume("look", "t")

    outcome = run_virtual(main()).result
    assert outcome.states("b") == {"done": 1}
    assert ("paid y" if second == "pay" else "certified y") in outcome.text
    assert "paid x" not in desk.done
    assert states(outcome) == {"a": "stopped", "b": "closed"}


def test_cancelling_twice_changes_nothing(desk: Desk) -> None:
    """The other task's question stays, whenever and how often a task is taken back."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        for names in (["a"], ["a"], ["a", "a"]):
            assert asked(await desk.cancel(*names)) == ["b/pay#1"]
        return await desk.agent.resume(YES, "t")

    outcome = run_virtual(main()).result
    assert desk.done == ["paid y"]
    assert outcome.states("a") == {"squashed": 1}


def test_an_unknown_task_is_a_clear_error_and_nothing_is_lost(desk: Desk) -> None:
    """The held calls are asked about again as soon as the input is right."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        with pytest.raises(
            CallerError, match="There is no task 'c' to cancel; the tasks are: a, b"
        ):
            await desk.cancel("c")
        assert asked(await desk.cancel("a")) == ["b/pay#1"]
        return await desk.agent.resume(YES, "t")

    run_virtual(main())
    assert desk.done == ["paid y"]


def test_a_refused_cancellation_begins_no_run(desk: Desk) -> None:
    """An input with an unknown task leaves no event, neither in memory nor in the next state."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> None:
        await desk.begin()
        for _ in range(2):
            with pytest.raises(CallerError, match="There is no task 'c' to cancel"):
                await desk.cancel("c")
        assert asked(await desk.cancel("a")) == ["b/pay#1"]

    run_virtual(main())
    state = desk.agent.graph.get_state({"configurable": {"thread_id": "t"}})
    begun = [event for event in state.values["ledger"] if event["kind"] == "run_started"]
    assert len(begun) == 2, "one for the tasks and one for the cancellation that was accepted"


def test_all_tasks_cancelled_one_after_the_other(desk: Desk) -> None:
    """Nothing is left to be asked, and the run ends."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        await desk.cancel("a")
        outcome = await desk.cancel("b")
        assert not outcome.interrupts
        return outcome

    outcome = run_virtual(main()).result
    assert desk.done == []
    assert states(outcome) == {"a": "stopped", "b": "stopped"}


def test_with_a_message_the_messages_rule_applies(desk: Desk) -> None:
    """A message withdraws what is held in the other tasks, too, and says so truly."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        return await desk.cancel("a", said="Stop.")

    outcome = run_virtual(main()).result
    assert not outcome.interrupts
    assert desk.done == []
    assert outcome.states("b") == {"squashed": 1}
    assert "the user sent a new message" in outcome.text


def test_with_a_new_task(desk: Desk) -> None:
    """The cancelled task stays stopped, and the new one is worked on."""
    desk.use(
        calls(of("a", "pay", "x"), of("b", "look", "y")), "b is done", calls(of("c", "look", "z"))
    )

    async def main() -> Outcome:
        await desk.begin()
        return await desk.cancel("a", tasks=[{"id": "c", "goal": "Look up z."}])

    outcome = run_virtual(main()).result
    assert outcome.states("c") == {"done": 1}
    assert states(outcome)["a"] == "stopped"
    assert desk.done == []


def test_with_a_new_task_and_a_message(desk: Desk) -> None:
    """A cancellation, a new task and a message may come in one input."""
    desk.use(
        calls(of("a", "pay", "x"), of("b", "look", "y")), "b is done", calls(of("c", "look", "z"))
    )

    async def main() -> Outcome:
        await desk.begin()
        return await desk.cancel(
            "a", said="Look up z instead.", tasks=[{"id": "c", "goal": "Look up z."}]
        )

    outcome = run_virtual(main()).result
    assert outcome.states("c") == {"done": 1}
    assert states(outcome)["a"] == "stopped"
    assert "Look up z instead." in outcome.text


def test_a_new_process_asks_about_the_other_task(desk: Desk, frontend: Frontend) -> None:
    """In the middleware the call has lost its wrapper with its process; it is told so, never with a false reason."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        desk.use()
        outcome = await desk.cancel("a")
        if frontend is Frontend.GRAPH:
            assert asked(outcome) == ["b/pay#1"]
            return await desk.agent.resume(YES, "t")
        return outcome

    outcome = run_virtual(main()).result
    assert desk.done == (["paid y"] if frontend is Frontend.GRAPH else [])
    assert "the user sent a new message" not in outcome.text


def test_cancelled_after_it_was_approved(desk: Desk) -> None:
    """An effect that has happened is not taken back, and nothing follows it."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        await desk.agent.resume(YES, "t")
        return await desk.cancel("a")

    outcome = run_virtual(main()).result
    assert sorted(desk.done) == ["paid x", "paid y"]
    assert outcome.states("a") == {"done": 1}


def test_a_task_with_a_call_in_doubt_is_cancelled(desk: Desk) -> None:
    """The doubt stays, and is reported."""
    desk.use(calls(of("a", "notary", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        await desk.cancel("a")
        outcome = await desk.cancel("a")
        assert asked(outcome) == ["b/pay#1"]
        return await desk.agent.resume(YES, "t")

    outcome = run_virtual(main()).result
    assert outcome.report["in_doubt"] == ["a/notary#1"]
    assert desk.done == ["paid y"]


def test_a_refusal_after_a_cancellation(desk: Desk) -> None:
    """The other task's question may be answered with no."""
    desk.use(calls(of("a", "pay", "x"), of("b", "pay", "y")))

    async def main() -> Outcome:
        await desk.begin()
        await desk.cancel("a")
        return await desk.agent.go(
            Command(resume={"b/pay#1": {"approve": False, "reason": "too much"}}), "t"
        )

    outcome = run_virtual(main()).result
    assert desk.done == []
    assert "A person refused the call: too much." in outcome.text
    assert outcome.states("b") == {"rejected": 1}


def test_the_only_task_is_cancelled_alone(desk: Desk) -> None:
    """Nothing is left to do, so the run ends, with a report and without a turn of the model."""
    desk.use(calls(("pay", {"q": "x"})))

    async def main() -> Outcome:
        await desk.agent.say("Pay x.", thread="t")
        return await desk.cancel("main")

    outcome = run_virtual(main()).result
    assert not outcome.interrupts
    assert desk.done == []
    assert states(outcome) == {"main": "stopped"}
    assert len(desk.agent.model.requests) == 1


def test_words_beside_the_cancellation_of_the_only_task_are_heard(desk: Desk) -> None:
    """Its call never runs, and the task goes on with the message, as a message alone opens an ended one."""
    desk.use(calls(("pay", {"q": "x"})), calls(("look", {"q": "y"})))

    async def main() -> Outcome:
        await desk.agent.say("Pay x.", thread="t")
        return await desk.cancel("main", said="No, look y up.")

    outcome = run_virtual(main()).result
    assert desk.done == []
    assert "saw y" in outcome.text
    assert outcome.report["reason"] == "complete"
    assert states(outcome) == {"main": "closed"}


@pytest.mark.parametrize("first", ["search", "book"])
def test_words_beside_the_cancellation_of_a_running_call_are_heard(desk: Desk, first: str) -> None:
    """The model is shown the end of the call before it acts on the message, so its next call is not too early."""
    desk.use(calls((first, {"q": "x"})), calls(("look", {"q": "y"})))

    async def main() -> Outcome:
        run = asyncio.create_task(desk.agent.say("Find x.", thread="t"))
        await asyncio.sleep(1.0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        return await desk.cancel("main", said="No, look y up.")

    outcome = run_virtual(main()).result
    assert outcome.answer("call_2_1") == "saw y"
    assert states(outcome) == {"main": "closed"}


def test_words_beside_the_cancellation_of_all_tasks_are_a_task_of_their_own(desk: Desk) -> None:
    """What the user named stays stopped; calls for the message belong to `main`."""
    desk.use(
        calls(of("a", "pay", "x"), of("b", "pay", "y")),
        calls(of("main", "look", "z"), of("a", "look", "z")),
    )

    async def main() -> Outcome:
        await desk.begin()
        return await desk.cancel("a", "b", said="Look z up instead.")

    outcome = run_virtual(main()).result
    assert desk.done == []
    assert outcome.states("main") == {"done": 1}
    assert outcome.states("a") == {"squashed": 1, "rejected": 1}
    assert states(outcome) == {"a": "stopped", "b": "stopped", "main": "closed"}
    assert outcome.report["reason"] == "complete"


def test_the_user_goes_on_after_a_cancellation_alone(desk: Desk) -> None:
    """A later message opens the task again, as the documents say of every stopped task."""
    steps = (
        calls(of("a", "pay", "x"), of("b", "look", "y")),
        "b is done",
        "noted",
        calls(of("a", "look", "x")),
    )
    desk.use(*steps)

    async def main() -> Outcome:
        await desk.begin()
        await desk.cancel("a")
        return await desk.agent.say("Look x up, after all.", thread="t")

    outcome = run_virtual(main()).result
    assert "saw x" in outcome.text
    assert states(outcome) == {"a": "closed", "b": "closed"}


@pytest.mark.parametrize("given_again", [False, True])
def test_the_model_is_reminded_of_a_cancelled_task_only_if_it_is_given_again(
    desk: Desk, given_again: bool
) -> None:
    """A message opens the task again; a model that was reminded of it would do what was cancelled."""

    async def main() -> tuple[Outcome, list[str]]:
        desk.use(calls(of("a", "pay", "x"), of("b", "look", "y")), "b is done")
        await desk.begin()
        await desk.cancel("a")
        agent = desk.use("You are welcome.", "You are welcome, once more.")
        if given_again:
            outcome = await agent.go(agent.input(None, TASKS[:1]), "t")
        else:
            outcome = await agent.say("Thank you for y.", thread="t")
        return outcome, [message.text for message in outcome.messages]

    outcome, texts = run_virtual(main()).result
    assert any("not every task looks finished" in text for text in texts) is given_again
    assert states(outcome)["a"] == "closed"


def test_a_cancelled_task_that_a_call_was_made_for_again_is_one_like_others(desk: Desk) -> None:
    """The user has said that it is wanted, after all, and the call was refused."""
    desk.use(calls(of("a", "pay", "x"), of("b", "look", "y")), "b is done")

    async def main() -> Outcome:
        await desk.begin()
        await desk.cancel("a")
        agent = desk.use(calls(of("a", "nope", "x")), "done", "done, I say")
        return await agent.say("Do x, after all.", thread="t")

    outcome = run_virtual(main()).result
    assert "its last call nope#1 was rejected" in "".join(m.text for m in outcome.messages)


def test_a_message_that_the_model_has_not_answered_is_cancelled_with_its_task(desk: Desk) -> None:
    """The process died in the model's turn; the cancellation is not the message said once more."""

    async def main() -> Outcome:
        desk.use(ConnectionError("gone"))
        with pytest.raises(ConnectionError):
            await desk.agent.say("Book x.", thread="t")
        desk.use(calls(("book", {"q": "x"})))
        return await desk.cancel("main")

    outcome = run_virtual(main()).result
    assert desk.done == []
    assert outcome.report["reason"] == "tasks_stopped"
