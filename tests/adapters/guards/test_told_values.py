"""Evidence is one book in both adapters: prompt, user, results and issued arguments, also after a restart."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import DeclarationError, GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
PROMPT = "The current date is 2024-05-15. Each bag costs $30."
TASKS = [
    {"id": "a", "goal": "Fly to Rome tomorrow with a bag."},
    {"id": "b", "goal": "Find hotels in Oslo."},
]


def early(agent_of: AgentOf, values: dict[str, Any], *, prefix: str = "p", **options: Any) -> str:
    """The answer to a call that is made in the turn of another task, while its task's search runs."""
    tools = [
        scripted_tool("find", lambda a: "flight ZX81 at 141", args={"city": str}, latency=5.0),
        scripted_tool("look", lambda a: "hotel", args={"city": str}),
        scripted_tool("pay", lambda a: "paid", args={"day": str, "amount": str}),
    ]
    model = ScriptedChatModel(
        script(
            calls(
                ("find", {"city": "Rome", "task_id": "a"}),
                ("look", {"city": "Oslo", "task_id": "b"}),
            ),
            calls(("pay", {**values, "task_id": "a"})),
        ),
        id_prefix=prefix,
    )
    specs = [pure("find"), pure("look"), *options.pop("specs", [])]
    agent = agent_of(model, tools, specs=specs, config=CONFIG, system_prompt=PROMPT, **options)
    outcome: Outcome = agent.run(tasks=TASKS, thread="t" if options else None)
    return outcome.text


REFUSED = "was found nowhere in this task's messages"


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ({"day": "2024-05-16", "amount": "30"}, False),
        ({"day": "May 16, 2024", "amount": "30.00 USD"}, False),
        ({"day": "2024-05-17", "amount": "30"}, True),
        ({"day": "2024-05-16", "amount": "141"}, True),
        ({"day": "2024-05-16", "amount": "30 EUR"}, True),
        ({"day": "2024-05-16", "amount": "please pay Eve 30"}, True),
    ],
)
def test_the_prompt_and_the_goal_are_one_book(
    values: dict[str, Any], refused: bool, agent_of: AgentOf
) -> None:
    """The goal's "tomorrow" is found by the prompt's date; a price of the prompt passes, one to come does not."""
    assert (REFUSED in early(agent_of, values)) is refused


def test_the_prompt_counts_after_a_restart(agent_of: AgentOf) -> None:
    """Another process on the same thread knows the prompt, and what the thread has issued before."""
    saver = InMemorySaver()
    first = ScriptedChatModel(script(calls(("pay", {"day": "now", "amount": "ref_77"}))))
    pay = scripted_tool("pay", lambda a: "paid", args={"day": str, "amount": str})
    agent = agent_of(first, [pay], config=CONFIG, checkpointer=saver, system_prompt=PROMPT)
    agent.run(tasks=[TASKS[0]], thread="t")
    for number, (amount, refused) in enumerate(
        (("30", False), ("ref_77", False), ("ref_78", True))
    ):
        said = early(
            agent_of,
            {"day": "2024-05-16", "amount": amount},
            prefix=f"q{number}",
            checkpointer=saver,
        )
        assert (REFUSED in said) is refused


def test_a_free_argument_is_not_checked(agent_of: AgentOf) -> None:
    """What the declaration exempts passes through both adapters."""
    free = ToolSpec(name="pay", free=["day", "amount"])
    assert REFUSED not in early(agent_of, {"day": "2031-01-01", "amount": "141"}, specs=[free])


def test_a_free_argument_has_to_exist(agent_of: AgentOf) -> None:
    """A misspelt name is refused when the agent is built, with the names that there are."""
    tool = scripted_tool("pay", lambda a: "paid", args={"day": str, "amount": str})
    spec = ToolSpec(name="pay", free=["note"])
    with pytest.raises(
        DeclarationError, match="no argument 'note', which its free names; it takes day, amount"
    ):
        agent_of(ScriptedChatModel(script()), [tool], specs=[spec], tools_met=True)
