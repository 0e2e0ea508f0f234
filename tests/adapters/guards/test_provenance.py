"""Invented values, seen from outside: asked for, answered by the user, and used in the next run of the thread."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig
from asyncguard.adapters.messages.history import add_user_evidence, collect_conversation
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, script

CONFIG = GuardConfig(provenance=True)


def book() -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['nights']}", args={"nights": int})


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_the_user_is_asked_and_the_answer_is_used(on: bool, agent_of: AgentOf) -> None:
    """The run rests with the question, and the next one on the thread goes on with the reply."""
    tool = book()
    model = ScriptedChatModel(
        script(
            calls(("book", {"nights": 3})),
            "How many nights?",
            calls(("book", {"nights": 2})),
            "Two nights are booked.",
        )
    )
    config = GuardConfig().with_switches({"provenance": on})
    agent = agent_of(model, [tool], config=config, checkpointer=InMemorySaver())
    first = agent.run("Book the Mira.", thread="t")
    assert [call.args["nights"] for call in tool.calls] == ([] if on else [3])
    assert ("No source was found for nights" in first.text) is on
    assert first.last == "How many nights?"
    assert first.report["reason"] == "complete"
    second = agent.run("Two, please.", thread="t")
    assert [call.args["nights"] for call in tool.calls][-1] == 2
    assert second.last == "Two nights are booked."
    agent.check_histories()


def test_a_model_that_insists_gets_its_way(agent_of: AgentOf) -> None:
    """The second try with the same value runs: no model can be held in a circle."""
    tool = book()
    made = calls(("book", {"nights": 3}))
    model = ScriptedChatModel(script(made, calls(("book", {"nights": 3})), ever="Booked."))
    agent_of(model, [tool], config=CONFIG).run("Book the Mira.")
    assert [call.args["nights"] for call in tool.calls] == [3]


def test_a_question_of_the_model_is_told_once_the_user_has_answered(agent_of: AgentOf) -> None:
    """A value that the model proposed counts when the user has spoken to it, and not before."""
    tool = book()
    model = ScriptedChatModel(
        script("Shall I take 3 nights?", calls(("book", {"nights": 3})), ever="Booked.")
    )
    agent = agent_of(model, [tool], config=CONFIG, checkpointer=InMemorySaver())
    agent.run("Book the Mira.", thread="t")
    agent.run("Yes.", thread="t")
    assert [call.args["nights"] for call in tool.calls] == [3]


def test_a_text_beside_the_call_does_not_launder_its_value(agent_of: AgentOf) -> None:
    """What the model says in the turn of the call, the user has not heard."""
    tool = book()
    said = AIMessage(
        content="I take 3 nights.",
        tool_calls=[{"name": "book", "args": {"nights": 3}, "id": "c1", "type": "tool_call"}],
    )
    model = ScriptedChatModel(script(said, ever="How many nights?"))
    agent_of(model, [tool], config=CONFIG).run("Book the Mira.")
    assert not tool.calls


@pytest.mark.parametrize("told", ["result", "arguments", "text"])
def test_a_history_that_the_caller_brings_along_is_read(told: str, agent_of: AgentOf) -> None:
    """Results, calls and answers of another agent are part of the conversation."""
    tool = book()
    call = {"name": "plan", "args": {"n": 3 if told == "arguments" else 1}, "id": "c1"}
    history = [
        HumanMessage("How long is the fair?"),
        AIMessage(content="", tool_calls=[{**call, "type": "tool_call"}]),
        ToolMessage("3 nights" if told == "result" else "known", tool_call_id="c1"),
        AIMessage("It takes 3 nights." if told == "text" else "I know it now."),
    ]
    model = ScriptedChatModel(script(calls(("book", {"nights": 3})), ever="Booked."))
    agent = agent_of(model, [tool], config=CONFIG)
    agent.run([*history, HumanMessage("Book the Mira for that long.")])  # type: ignore[arg-type]
    assert [call.args["nights"] for call in tool.calls] == [3]


def test_a_refusal_grounds_nothing_after_a_restart(agent_of: AgentOf) -> None:
    """Another process reads the history with the refusal in it; the value is as unknown as before."""
    tool, other = book(), scripted_tool("hold", ["held"], args={"days": int})
    saver = InMemorySaver()
    first = ScriptedChatModel(script(calls(("book", {"nights": 37})), ever="How many?"))
    agent_of(first, [tool, other], config=CONFIG, checkpointer=saver).run("Book it.", thread="t")
    second = ScriptedChatModel(script(calls(("hold", {"days": 37})), ever="How many?"))
    agent_of(second, [tool, other], config=CONFIG, checkpointer=saver).run("Hold it.", thread="t")
    assert not tool.calls
    assert not other.calls


def weighing(*steps: Any) -> tuple[Any, Any, ScriptedChatModel]:
    """Scales, a declaration, and a model that takes these steps."""
    weigh = scripted_tool("weigh", lambda a: {"kg": 607.5})
    declare = scripted_tool("declare", ["declared"] * 3, args={"kg": float})
    return weigh, declare, ScriptedChatModel(script(*steps, ever="It is declared."))


WEIGH, DECLARE = calls(("weigh", {})), calls(("declare", {"kg": 619.5}))


def test_a_request_lasts_over_a_question_and_its_reply(agent_of: AgentOf) -> None:
    """A number of it may be worked into a result when the user has said what was asked."""
    weigh, declare, model = weighing(WEIGH, "Shall the pallet count?", DECLARE)
    agent = agent_of(model, [weigh, declare], config=CONFIG, checkpointer=InMemorySaver())
    agent.run("Declare its weight plus 12 kilos.", thread="t")
    agent.run("Yes, please.", thread="t")
    assert len(declare.calls) == 1


@pytest.mark.parametrize("given", ["message", "task", "prompt", "earlier"])
def test_a_number_counts_as_part_of_the_request(given: str, agent_of: AgentOf) -> None:
    """In a message, a task's goal and the system prompt, but not in an earlier request."""
    twelve, plain = "Add 12 kilos for the pallet.", "Declare its weight."
    prompt = {"system_prompt": twelve} if given == "prompt" else {}
    earlier = ("Noted.",) if given == "earlier" else ()
    weigh, declare, model = weighing(*earlier, WEIGH, DECLARE)
    options = {"config": CONFIG, "checkpointer": InMemorySaver(), **prompt}
    agent = agent_of(model, [weigh, declare], **options)
    if earlier:
        agent.run(twelve, thread="t")
    if given == "task":
        agent.run(tasks=[{"id": "a", "goal": f"{plain} {twelve}"}], thread="t")
    else:
        agent.run(f"{plain} {twelve}" if given == "message" else plain, thread="t")
    assert len(declare.calls) == (0 if earlier else 1)


def test_tasks_are_words_of_the_user_too(agent_of: AgentOf) -> None:
    """A text of the model before new tasks was heard."""
    tool = book()
    model = ScriptedChatModel(
        script(
            "a: no tool needed. It lasts 3 nights.", calls(("book", {"nights": 3})), ever="Booked."
        )
    )
    agent = agent_of(model, [tool], config=CONFIG, checkpointer=InMemorySaver())
    agent.run(tasks=[{"id": "a", "goal": "How long is the fair?"}], thread="t")
    agent.run(tasks=[{"id": "a", "goal": "Book the Mira for that long."}], thread="t")
    assert [call.args["nights"] for call in tool.calls] == [3]


def test_a_text_after_the_last_words_of_the_user_was_not_heard() -> None:
    """A process that takes a run up reads the same conversation as the one that began it."""
    board = Scoreboard(config=CONFIG)
    collect_conversation(board, [HumanMessage("Book it."), AIMessage("I take 37 nights.")])
    assert not board.evidence.conversation().has(37)
    collect_conversation(
        board, [HumanMessage("Book it."), AIMessage("I take 37 nights."), HumanMessage("Yes.")]
    )
    assert board.evidence.conversation().has(37)


def test_words_that_come_while_calls_run_are_part_of_the_request() -> None:
    """Between a call and its answer, with the reply to an interrupt."""
    board = Scoreboard(config=CONFIG)
    collect_conversation(board, [HumanMessage("Declare its weight.")])
    add_user_evidence(board, [HumanMessage("Add 12 kilos.")])
    assert board.evidence.request == ["Declare its weight.", "Add 12 kilos."]
