"""Several tasks: the model works on one while the tools of another run, and never mixes them up."""

import threading
from typing import Any

import pytest

from asyncguard import Delivery, GuardConfig, NewsStyle, Timing
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

A_AND_B = [
    {"id": "a", "goal": "Look up x and y for team a."},
    {"id": "b", "goal": "Look up z for team b."},
]
EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


def look(name: str = "look", latency: float = 1.0) -> Any:
    """A lookup that says what it was asked."""
    return scripted_tool(name, lambda a: f"{name} of {a['q']}", args={"q": str}, latency=latency)


def test_the_model_acts_for_one_task_while_the_other_waits(agent_of: AgentOf) -> None:
    """Makespan is the critical path: the slow call of one task runs beside three quick rounds of the other."""
    quick, slow = look("quick"), look("slow", 10.0)
    model = ScriptedChatModel(
        [
            calls(("slow", {"q": "x", "task_id": "a"}), ("quick", {"q": "1", "task_id": "b"})),
            calls(("quick", {"q": "2", "task_id": "b"})),
            calls(("quick", {"q": "3", "task_id": "b"})),
            "b is done",
            "all done",
        ],
        latency=0.5,
    )
    agent = agent_of(model, [quick, slow], specs=[pure("quick"), pure("slow")], config=EXACT)
    outcome = agent.run(tasks=A_AND_B)
    assert outcome.elapsed == pytest.approx(0.5 + 10.0 + 0.5)
    assert [request.at for request in model.requests] == pytest.approx([0.0, 1.5, 3.0, 4.5, 10.5])
    assert outcome.answer("call_1_2") == "quick of 1"
    assert outcome.report["reason"] == "complete"


def test_a_late_result_is_announced_then_told_once_with_its_call_and_task(
    agent_of: AgentOf,
) -> None:
    """The pending call is answered by a placeholder at once, and by one notification later."""
    model = ScriptedChatModel(
        [
            calls(("slow", {"q": "x", "task_id": "a"}), ("quick", {"q": "z", "task_id": "b"})),
            "I wait for a.",
            "all done",
        ]
    )
    agent = agent_of(model, [look("quick"), look("slow", 5.0)], specs=[pure("quick"), pure("slow")])
    outcome = agent.run(tasks=A_AND_B)
    placeholder = outcome.answer("call_1_1")
    assert "slow#1" in placeholder
    assert "slow of x" not in placeholder
    (notice,) = outcome.news()
    assert all(part in notice for part in ("slow of x", 'call="slow#1"', 'task="a"'))
    assert outcome.text.count("slow of x") == 1
    assert outcome.text.count("quick of z") == 1
    assert len(model.requests) == 3


def test_results_out_of_order_are_bound_to_their_calls(agent_of: AgentOf) -> None:
    """Three calls of the same tool that end in reverse order each come back with their own label and task."""
    tools = [look(f"tool{n}", float(seconds)) for n, seconds in ((1, 6), (2, 4), (3, 2))]
    tasks = [{"id": name, "goal": f"goal of {name}"} for name in ("t1", "t2", "t3")]
    model = ScriptedChatModel(
        [
            calls(*((f"tool{n}", {"q": f"q{n}", "task_id": f"t{n}"}) for n in (1, 2, 3))),
            "t3 is done",
            "t2 is done",
            "all done",
        ]
    )
    outcome = agent_of(model, tools, specs=[pure(tool.name) for tool in tools]).run(tasks=tasks)
    assert outcome.answer("call_1_3") == "tool3 of q3"
    first, second = outcome.news()
    assert all(part in first for part in ('call="tool2#1"', 'task="t2"', "tool2 of q2"))
    assert all(part in second for part in ('call="tool1#1"', 'task="t1"', "tool1 of q1"))


def test_one_turn_gets_every_result_that_is_ready(agent_of: AgentOf) -> None:
    """Results that came in while the model spoke are shown together."""
    model = ScriptedChatModel(
        [
            calls(("quick", {"q": "1", "task_id": "a"}), ("slow", {"q": "2", "task_id": "b"})),
            calls(("quick", {"q": "3", "task_id": "a"})),
            "b is done",
            "all done",
        ],
        latency=3.0,
    )
    agent = agent_of(
        model,
        [look("quick", 2.0), look("slow", 4.0)],
        specs=[pure("quick"), pure("slow")],
        config=EXACT,
    )
    outcome = agent.run(tasks=A_AND_B)
    assert "slow of 2" in str(model.requests[2].messages)
    # The slow call ended at 7 s, while the model spoke from 5 s to 8 s: told at 8 s, without waiting for the quick one.
    assert model.requests[2].at == pytest.approx(8.0)
    assert outcome.text.count("slow of 2") == 1


@pytest.mark.parametrize(
    ("delivery", "turns_at"), [("all", [0.0, 5.0, 5.5]), ("any", [0.0, 1.0, 5.0])]
)
def test_delivery_all_waits_for_the_siblings_of_a_message_and_any_does_not(
    delivery: str, turns_at: list[float], agent_of: AgentOf
) -> None:
    """``deliver="all"`` tells one task's results of one message together, ``"any"`` each as it comes."""
    config = GuardConfig(timing=EXACT.timing, delivery=Delivery(delivery))
    model = ScriptedChatModel(
        [
            calls(
                ("quick", {"q": "1", "task_id": "a"}),
                ("slow", {"q": "2", "task_id": "a"}),
                ("slow2", {"q": "3", "task_id": "b"}),
            ),
            "hm",
            "hm",
            "all done",
        ]
    )
    tools = [look("quick", 1.0), look("slow", 5.0), look("slow2", 5.5)]
    outcome = agent_of(model, tools, specs=[pure(tool.name) for tool in tools], config=config).run(
        tasks=A_AND_B
    )
    assert [request.at for request in model.requests][: len(turns_at)] == pytest.approx(turns_at)
    for said in ("quick of 1", "slow of 2", "slow2 of 3"):
        assert outcome.text.count(said) == 1


@pytest.mark.parametrize(("linger", "turns"), [(0.0, 3), (0.2, 2)])
def test_linger_gathers_results_that_end_close_together(
    linger: float, turns: int, agent_of: AgentOf
) -> None:
    """After a first completion the runtime waits up to ``linger`` for another, which saves a model turn."""
    config = GuardConfig(timing=Timing(grace=0.0, linger=linger))
    model = ScriptedChatModel(
        [
            calls(("one", {"q": "1", "task_id": "a"}), ("two", {"q": "2", "task_id": "b"})),
            "so far",
            "all done",
        ]
    )
    tools = [look("one", 1.0), look("two", 1.1)]
    agent_of(model, tools, specs=[pure("one"), pure("two")], config=config).run(tasks=A_AND_B)
    assert len(model.requests) == turns


@pytest.mark.parametrize(
    ("patience", "seconds", "asked_at"),
    [
        (0.0, 0.2, [0.0, 0.0, 0.0, 0.2]),
        (0.5, 0.2, [0.0, 0.0, 0.2]),
        (0.5, 3.0, [0.0, 0.0, 0.5, 3.0]),
    ],
)
def test_a_task_that_the_model_has_left_is_offered_again_after_a_while(
    patience: float, seconds: float, asked_at: list[float], agent_of: AgentOf
) -> None:
    """A result that comes within ``patience`` saves a turn in which a finished task could only be left again."""
    config = GuardConfig(timing=Timing(grace=0.0, linger=0.0, patience=patience))
    told = calls(("quick", {"q": "1", "task_id": "a"}), ("quick", {"q": "2", "task_id": "b"}))
    on = calls(("slow", {"q": "3", "task_id": "b"}))
    model = ScriptedChatModel(script(told, on, *["a is done, b runs"] * (len(asked_at) - 3)))
    tools = [look("quick", 0.0), look("slow", seconds)]
    specs = [pure("quick", mode="foreground"), pure("slow")]
    agent_of(model, tools, specs=specs, config=config).run(tasks=A_AND_B)
    assert [request.at for request in model.requests] == pytest.approx(asked_at)


def test_a_fast_tool_answers_within_the_grace_window_without_a_placeholder(
    agent_of: AgentOf,
) -> None:
    """A tool with a grace of 2 s that needs 1.5 s is answered in place, also with another task."""
    model = ScriptedChatModel(
        [
            calls(("quick", {"q": "1", "task_id": "a"})),
            calls(("quick", {"q": "2", "task_id": "b"})),
            "done",
        ]
    )
    agent = agent_of(model, [look("quick", 1.5)], specs=[pure("quick", grace=2.0)])
    outcome = agent.run(tasks=A_AND_B)
    assert outcome.answer("call_1_1") == "quick of 1"
    assert outcome.news() == []


def test_an_idle_task_gets_its_turn_while_the_other_waits(agent_of: AgentOf) -> None:
    """One call a message: after the grace window the model is asked again for the task that has nothing to do."""
    model = ScriptedChatModel(
        [
            calls(("slow", {"q": "x", "task_id": "a"})),
            calls(("slow", {"q": "z", "task_id": "b"})),
            "so far",
            "all done",
        ]
    )
    agent = agent_of(model, [look("slow", 5.0)], specs=[pure("slow")])
    outcome = agent.run(tasks=A_AND_B)
    assert model.requests[1].at == pytest.approx(0.01)
    assert outcome.elapsed < 5.1
    assert outcome.text.count("slow of x") == outcome.text.count("slow of z") == 1


def test_waiting_costs_no_model_turn(agent_of: AgentOf) -> None:
    """The model is asked only when it has something to act on, however long the tools take."""
    model = ScriptedChatModel(
        [
            calls(("slow", {"q": "x", "task_id": "a"}), ("slow", {"q": "z", "task_id": "b"})),
            "all done",
        ]
    )
    outcome = agent_of(model, [look("slow", 36_000.0)], specs=[pure("slow")]).run(tasks=A_AND_B)
    assert len(model.requests) == 2
    assert outcome.elapsed == pytest.approx(36_000.0, abs=0.1)


def test_late_results_can_be_written_as_call_and_result_pairs(agent_of: AgentOf) -> None:
    """The pair style adds a synthetic call with its result instead of a notification."""
    model = ScriptedChatModel(
        [
            calls(("slow", {"q": "x", "task_id": "a"}), ("quick", {"q": "z", "task_id": "b"})),
            "I wait.",
            "all done",
        ]
    )
    agent = agent_of(
        model,
        [look("quick"), look("slow", 5.0)],
        specs=[pure("quick"), pure("slow")],
        config=GuardConfig(news_style=NewsStyle.PAIR),
    )
    outcome = agent.run(tasks=A_AND_B)
    assert outcome.news() == []
    assert outcome.text.count("slow of x") == 1
    made = [message for message in outcome.messages if message.type == "ai" and message.tool_calls]
    assert [call["name"] for call in made[-1].tool_calls] == ["slow"]
    assert made[-1].tool_calls[0]["args"] == {"q": "x"}


@pytest.mark.parametrize("swapped", [False, True], ids=["slow first", "slow last"])
def test_the_order_of_calls_in_a_message_does_not_matter(swapped: bool, agent_of: AgentOf) -> None:
    """The model is asked when the first call of a message ends; the others are still running."""
    made = [("slow", {"q": "x", "task_id": "a"}), ("quick", {"q": "z", "task_id": "b"})]
    model = ScriptedChatModel([calls(*(made[::-1] if swapped else made)), "I wait.", "all done"])
    agent = agent_of(
        model, [look("quick"), look("slow", 5.0)], specs=[pure("quick"), pure("slow")], config=EXACT
    )
    agent.run(tasks=A_AND_B)
    assert [request.at for request in model.requests] == pytest.approx([0.0, 1.0, 5.0])


def test_the_sync_entry_works_on_several_tasks(agent_of: AgentOf) -> None:
    """``invoke`` runs the same machinery: a call of one task is held open until the other task was served twice."""
    served = threading.Event()

    def hold(_: Any) -> str:
        assert served.wait(20)
        return "late at last"

    def serve(_: Any) -> str:
        served.set()
        return "served"

    def policy(messages: Any, _: Any) -> Any:
        said = str(messages)
        if len(messages) == 1:
            return calls(
                ("hold", {"q": "x", "task_id": "a"}), ("first", {"q": "y", "task_id": "b"})
            )
        if "soon enough" in said and "served" not in said and "serve#" not in said:
            return calls(("serve", {"q": "y", "task_id": "b"}))
        return "all done"

    tools = [
        scripted_tool("hold", hold, args={"q": str}, mode=ToolMode.SYNC),
        scripted_tool("first", ["soon enough"], args={"q": str}, mode=ToolMode.SYNC),
        scripted_tool("serve", serve, args={"q": str}, mode=ToolMode.SYNC),
    ]
    agent = agent_of(ScriptedChatModel(policy), tools, specs=[pure(tool.name) for tool in tools])
    outcome = agent.run_sync(tasks=A_AND_B)
    assert any("late at last" in notice for notice in outcome.news())
    assert outcome.report["reason"] == "complete"
