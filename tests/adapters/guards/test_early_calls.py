"""Early calls in both adapters: what a model that runs ahead does, sees and pays."""

from typing import Any

import pytest

from asyncguard import DeclarationError, GuardConfig, Limits, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, after, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [
    {"id": "a", "goal": "Find flights to Rome and book one. Mine was QQ77 last year."},
    {"id": "b", "goal": "Find hotels in Oslo."},
]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
EARLY = ("book", {"id": "QQ77", "task_id": "a"})
RIGHT = ("book", {"id": "ZX81", "task_id": "a"})
ROME = ("find", {"city": "Rome", "task_id": "a"})
OSLO = ("find", {"city": "Oslo", "task_id": "b"})


def find(first: float = 3.0, others: float = 3.0) -> Any:
    """A slow search; seconds of the first call and of each later one."""
    outcomes = [after(first, {"id": "ZX81"}), *[after(others, "no hotel")] * 6]
    return scripted_tool("find", outcomes, args={"city": str})


def book() -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['id']}", args={"id": str})


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
def test_a_plausible_guess_is_not_booked(declared: bool, on: bool, agent_of: AgentOf) -> None:
    """QQ77 stands in the goal. Without the guard it is booked, beside the search or after it."""
    booking = book()
    model = ScriptedChatModel(
        script(calls(ROME), calls(EARLY, OSLO), calls(RIGHT), ever="Booked ZX81.")
    )
    specs = [pure("find"), ToolSpec(name="book", reads=(), writes=("booking:{id}",))]
    outcome = agent_of(
        model,
        [find(), booking],
        specs=specs if declared else [],
        config=CONFIG.with_switches({"premature": on}),
    ).run(tasks=TASKS)
    assert [call.args["id"] for call in booking.calls] == (["ZX81"] if on else ["QQ77", "ZX81"])
    assert ("has not seen the result of find#1" in outcome.text) is on


def test_refusal_and_result_come_in_one_turn(agent_of: AgentOf) -> None:
    """Between the early call and the search's result the model is not asked again."""
    model = ScriptedChatModel(
        script(calls(ROME), calls(EARLY, OSLO), calls(RIGHT), ever="All done.")
    )
    tools = [find(), book()]
    agent_of(model, tools, config=CONFIG).run(tasks=TASKS)
    texts = [str(request) for request in model.requests]
    refused = [n for n, text in enumerate(texts) if "has not seen the result" in text]
    assert refused
    assert refused == [n for n, text in enumerate(texts) if "ZX81" in text]


def test_the_placeholder_says_that_further_calls_wait(agent_of: AgentOf) -> None:
    """A model that heeds it makes no early call; without the guard nothing is said."""
    for on in (True, False):
        model = ScriptedChatModel(script(calls(ROME), calls(OSLO), ever="All done."))
        outcome = agent_of(model, [find()], config=CONFIG.with_switches({"premature": on})).run(
            tasks=TASKS
        )
        assert ("Further calls of this task wait for it" in outcome.text) is on


def test_no_result_of_a_refused_call_of_the_same_message_is_waited_for(agent_of: AgentOf) -> None:
    """There is no such tool, so none comes; repeated unchanged, the other call is made."""
    booking = book()
    wrong = ("fnd", {"city": "Rome", "task_id": "a"})
    model = ScriptedChatModel(script(calls(wrong, RIGHT), calls(RIGHT), ever="All done."))
    outcome = agent_of(model, [find(), booking], config=CONFIG).run(tasks=TASKS)
    refused = outcome.answer("call_1_2")
    assert "in one message with fnd#1, which was refused" in refused
    assert "ait for" not in refused
    assert [call.args["id"] for call in booking.calls] == ["ZX81"]


def test_a_declared_sibling_does_not_run_on_a_guess(agent_of: AgentOf) -> None:
    """``[find, book(guess)]`` with one task, too: the declaration says that the booking rests on the search."""
    booking = book()
    one = [("find", {"city": "Rome"}), ("book", {"id": "QQ77"})]
    model = ScriptedChatModel(script(calls(*one), calls(("book", {"id": "ZX81"})), ever="Booked."))
    specs = [pure("find"), ToolSpec(name="book", takes_from=("find",))]
    agent_of(model, [find(0.0), booking], specs=specs, config=CONFIG).run("Book QQ77 or cheaper.")
    assert [call.args["id"] for call in booking.calls] == ["ZX81"]


def test_a_batch_without_declarations_costs_one_turn(agent_of: AgentOf) -> None:
    """With several tasks the second tool of a message is refused once, and runs when it is repeated."""
    booking = book()
    batch = [ROME, ("book", {"id": "QQ77", "task_id": "a"})]
    model = ScriptedChatModel(script(calls(*batch, OSLO), calls(batch[1]), ever="All done."))
    outcome = agent_of(model, [find(), booking], config=CONFIG).run(tasks=TASKS)
    assert [call.args["id"] for call in booking.calls] == ["QQ77"]
    assert "repeat the call unchanged" in outcome.text


def test_a_model_that_repeats_itself_is_not_stopped_for_it(agent_of: AgentOf) -> None:
    """It was told nothing yet; all its early calls for one result count once against the limit."""
    config = GuardConfig(timing=Timing(grace=0.0, linger=0.0), limits=Limits(max_rejections=2))
    booking = book()
    cities = [("find", {"city": f"c{n}", "task_id": "b"}) for n in range(5)]
    model = ScriptedChatModel(
        script(
            calls(ROME),
            *(calls(EARLY, city) for city in cities),
            "I wait.",
            calls(RIGHT),
            ever="Done.",
        )
    )
    agent_of(model, [find(5.5, 1.0), booking], specs=[pure("find")], config=config).run(tasks=TASKS)
    assert [call.args["id"] for call in booking.calls] == ["ZX81"]


def test_a_call_that_is_not_wanted_after_all_is_not_asked_for(agent_of: AgentOf) -> None:
    """The search tells that nothing is to be looked up; the answer after it is final, without a reminder."""
    model = ScriptedChatModel(
        script(calls(ROME), calls(EARLY, OSLO), ever="There is no flight to look up.")
    )
    outcome = agent_of(model, [find(), book()], specs=[pure("book")], config=CONFIG).run(
        tasks=TASKS
    )
    assert outcome.last == "There is no flight to look up."
    assert "not every task looks finished" not in outcome.text


def test_an_unknown_name_in_takes_from_is_refused(agent_of: AgentOf) -> None:
    """A slip of the pen would exempt the tool from waiting."""
    model = ScriptedChatModel(script(ever="Hello."))
    specs = [ToolSpec(name="book", takes_from=("fnid",))]
    with pytest.raises(DeclarationError, match="'fnid'"):
        agent_of(model, [find(), book()], specs=specs, config=CONFIG).run("Hello.")


@pytest.mark.parametrize("started", [False, True], ids=["untouched", "idle"])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_model_that_only_repeats_an_early_call_waits_for_its_result(
    batch: int, started: bool, agent_of: AgentOf
) -> None:
    """Another task that could be worked on does not buy a turn for each repetition: it has been offered."""

    def answer(messages: Any, _: Any) -> Any:
        texts = "\n".join(message.text for message in messages)
        if "ZX81" in texts:
            return "b: no tool needed" if "booked" in texts else calls(RIGHT)
        if not any(message.type == "ai" for message in messages):
            return calls(ROME, *([("look", {"task_id": "b"})] if started else []))
        return calls(*[EARLY] * batch)

    model, booking = ScriptedChatModel(answer), book()
    tools = [find(120.0), booking, scripted_tool("look", ["seen"], args={})]
    outcome = agent_of(model, tools, specs=[pure("look"), pure("find")], config=CONFIG).run(
        tasks=TASKS
    )
    assert outcome.report["reason"] == "complete"
    assert [call.args["id"] for call in booking.calls] == ["ZX81"]
    assert len(model.requests) <= 8


@pytest.mark.parametrize("declared", [False, True], ids=["effect", "read"])
def test_an_effect_that_was_refused_early_is_asked_about(declared: bool, agent_of: AgentOf) -> None:
    """The model says that it has booked: it is reminded once. A refused read may have become needless."""
    model = ScriptedChatModel(script(calls(ROME), calls(EARLY, OSLO), ever="The flight is booked."))
    specs = [pure("book")] if declared else []
    booking = book()
    outcome = agent_of(model, [find(), booking], specs=specs, config=CONFIG).run(tasks=TASKS)
    assert booking.calls == []
    assert ("its last call book#1 was rejected" in outcome.text) is not declared


def test_a_call_that_needs_a_refused_one_is_told_to_wait_for_what_that_one_waits_for(
    agent_of: AgentOf,
) -> None:
    """The refused call has no result, so nothing advises to wait for one, nor to name it by reference."""
    model = ScriptedChatModel(
        script(
            calls(ROME, OSLO),
            calls(("price", {"task_id": "a"})),
            calls(EARLY, OSLO),
            ever="I wait.",
        )
    )
    specs = [pure("find"), pure("price"), ToolSpec(name="book", takes_from=("price",))]
    tools = [find(3.0, 1.0), book(), scripted_tool("price", ["9"], args={})]
    outcome = agent_of(model, tools, specs=specs, config=CONFIG).run(tasks=TASKS)
    assert "may need the result of price#1, which was refused" in outcome.text
    assert "has not seen the result of price#1" not in outcome.text
