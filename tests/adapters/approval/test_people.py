"""People: calls that need approval, tools that ask, and what an answer may do."""

from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import GuardConfig, ToolSpec, guarded
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [{"id": "a", "goal": "Pay 5 to x and 7 to y."}, {"id": "b", "goal": "Look up z."}]
PAY = ToolSpec(name="pay", approval=True, reads=(), writes=("payment:{q}",))


def pay() -> Any:
    """A payment."""
    return scripted_tool("pay", lambda a: f"paid {a['n']} to {a['q']}", args={"q": str, "n": int})


def look(latency: float = 0.0) -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)


def test_an_approved_call_is_run_and_answered_in_place(agent_of: AgentOf) -> None:
    """The run stops with a question that shows the call, and continues with the answer."""
    tool_ = pay()
    model = ScriptedChatModel([calls(("pay", {"q": "x", "n": 5})), "done"])
    agent = agent_of(model, [tool_], specs=[PAY], checkpointer=InMemorySaver())

    async def main() -> None:
        stopped = await agent.say("Pay 5 to x.", thread="t")
        (asked,) = stopped.interrupts
        assert asked["type"] == "approval"
        assert asked["calls"][0] | {"key": "", "reason": ""} == {
            "key": "",
            "reason": "",
            "call": "pay#1",
            "task": "main",
            "tool": "pay",
            "arguments": {"q": "x", "n": 5},
        }
        assert tool_.calls == []
        outcome = await agent.answer(value=True, thread="t")
        assert outcome.answer("call_1_1") == "paid 5 to x"
        assert outcome.last == "done"

    run_virtual(main())
    assert len(tool_.calls) == 1
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (False, "A person refused the call."),
        ({"approve": False, "reason": "too much"}, "A person refused the call: too much."),
        ("no, too much", "The answer 'no, too much' is not True, so the call counts as refused."),
        ("yes", "The answer 'yes' is not True, so the call counts as refused."),
        (1, "The answer '1' is not True"),
        ({"approve": "yes"}, "is not True, so the call counts as refused."),
        ({"nope": True}, "The answer does not name 'main/pay#1', so the call counts as refused."),
        ({"pay#1": "yes"}, "The answer 'yes' is not True"),
    ],
    ids=str,
)
def test_anything_but_a_yes_refuses(answer: Any, told: str, agent_of: AgentOf) -> None:
    """The call is not run; the model is shown the reason, or the answer if it was not a refusal."""
    tool_ = pay()
    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"q": "x", "n": 5})), ever="then not")),
        [tool_],
        specs=[PAY],
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        await agent.say("Pay 5 to x.", thread="t")
        outcome = await agent.resume(answer, "t")
        assert told in outcome.answer("call_1_1")

    run_virtual(main())
    assert tool_.calls == []


def test_calls_can_be_approved_one_by_one(agent_of: AgentOf) -> None:
    """An answer by label approves one and refuses the other."""
    tool_ = pay()
    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"q": "x", "n": 5}), ("pay", {"q": "y", "n": 7})))),
        [tool_],
        specs=[PAY],
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        stopped = await agent.say("Pay 5 to x and 7 to y.", thread="t")
        assert sum(len(asked["calls"]) for asked in stopped.interrupts) >= 1
        outcome = stopped
        while outcome.interrupts:
            outcome = await agent.answer({"pay#1": False, "pay#2": True}, "t")
        assert "refused" in outcome.answer("call_1_1")
        assert outcome.answer("call_1_2") == "paid 7 to y"

    run_virtual(main())
    assert [call.args["q"] for call in tool_.calls] == ["y"]


def test_no_task_waits_for_another_tasks_approval(agent_of: AgentOf) -> None:
    """The person is asked when everything else rests; by then the other task is done."""
    paying, looking = pay(), look(3.0)
    model = ScriptedChatModel(
        script(
            calls(
                ("pay", {"q": "x", "n": 5, "task_id": "a"}), ("look", {"q": "z", "task_id": "b"})
            ),
            calls(("look", {"q": "z again", "task_id": "b"})),
        )
    )
    agent = agent_of(
        model, [paying, looking], specs=[PAY, pure("look")], checkpointer=InMemorySaver()
    )

    async def main() -> None:
        stopped = await agent.go(agent.input(None, TASKS), "t")
        assert stopped.interrupts
        assert len(looking.calls) == 2
        outcome = await agent.answer(value=True, thread="t")
        assert "paid 5 to x" in outcome.text
        assert outcome.states("a") == {"done": 1}

    run_virtual(main())


def test_destructive_calls_need_approval_once_untrusted_output_was_read(agent_of: AgentOf) -> None:
    """A destructive call needs approval only after untrusted output, and only with the guard on."""
    for trust in (True, False):
        looking = look()
        wipe = scripted_tool("wipe", lambda a: "wiped", args={"q": str})
        script_ = script(
            calls(("wipe", {"q": "x"})), calls(("look", {"q": "x"})), calls(("wipe", {"q": "y"}))
        )
        specs = [pure("look"), ToolSpec(name="wipe", destructive=True, trusted_output=True)]
        agent = agent_of(
            ScriptedChatModel(script_),
            [looking, wipe],
            specs=specs,
            config=GuardConfig(trust=trust),
            checkpointer=InMemorySaver(),
        )
        outcome = run_virtual(agent.say("Wipe x, then y.", thread="t")).result
        assert [call.args["q"] for call in wipe.calls] == (["x"] if trust else ["x", "y"])
        assert bool(outcome.interrupts) is trust


@guarded(interrupts=True)
@tool
async def ask(question: str) -> str:
    """Asks a person."""
    return f"{question} {interrupt(question)}"


def test_a_tool_that_asks_by_itself_gets_its_answer(agent_of: AgentOf) -> None:
    """The run stops with the tool's question and continues with the answer."""
    agent = agent_of(
        ScriptedChatModel([calls(("ask", {"question": "Colour?"})), "done"]),
        [ask],
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        stopped = await agent.say("Ask.", thread="t")
        assert stopped.interrupts == ["Colour?"]
        outcome = await agent.resume("blue", "t")
        assert outcome.answer("call_1_1") == "Colour? blue"

    run_virtual(main())


def test_two_asking_tools_in_one_message_get_their_own_answers(agent_of: AgentOf) -> None:
    """Answers are never mixed up, in whatever order the questions come."""
    model = ScriptedChatModel(
        [calls(("ask", {"question": "Colour?"}), ("ask", {"question": "Size?"})), "done"]
    )
    agent = agent_of(model, [ask], checkpointer=InMemorySaver())
    answers = {"Colour?": "blue", "Size?": "XL"}

    async def main() -> None:
        outcome = await agent.say("Ask.", thread="t")
        rounds = 0
        while outcome.interrupts:
            rounds += 1
            assert rounds < 5
            outcome = await agent.answer(answers.__getitem__, "t")
        assert outcome.answer("call_1_1") == "Colour? blue"
        assert outcome.answer("call_1_2") == "Size? XL"

    run_virtual(main())


@tool
async def sneaky(q: str) -> str:
    """Asks a person without having said so."""
    return str(interrupt(q))


def test_an_undeclared_question_in_the_background_is_a_reported_error(agent_of: AgentOf) -> None:
    """It is a failure of that call, and the other task is not stopped."""
    model = ScriptedChatModel(
        script(calls(("sneaky", {"q": "x", "task_id": "a"}), ("look", {"q": "z", "task_id": "b"})))
    )
    agent = agent_of(model, [sneaky, look()], specs=[pure("look")], checkpointer=InMemorySaver())
    outcome = run_virtual(agent.go(agent.input(None, TASKS), "t")).result
    assert outcome.interrupts == []
    assert "interrupts=True" in outcome.text
    assert "found z" in outcome.text


def test_approval_works_through_the_sync_entry(agent_of: AgentOf) -> None:
    """``invoke``, then ``invoke`` with the answer."""
    tool_ = pay()
    model = ScriptedChatModel([calls(("pay", {"q": "x", "n": 5})), "done"])
    agent = agent_of(model, [tool_], specs=[PAY], checkpointer=InMemorySaver())
    assert agent.run_sync("Pay 5 to x.", thread="t").interrupts
    outcome = agent.go_sync(Command(resume=True), "t")
    assert outcome.answer("call_1_1") == "paid 5 to x"
