"""Guards of the user's own that answer at random: each run ends, and what they let pass is made once."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asyncguard import (
    Admit,
    BoardView,
    Defer,
    GuardConfig,
    GuardRule,
    Proposal,
    Reject,
    Timing,
    ToolSpec,
)
from asyncguard.core.calls import OPEN_STATES
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Frontend, build, pure, script

TASKS = [{"id": "a", "goal": "Do many things."}, {"id": "b", "goal": "Do more."}]
answers = st.lists(
    st.tuples(
        st.sampled_from(["admit", "ask", "reject", "defer", "raise", "none"]),
        st.integers(-1, 7),  # the call that it names, if it names one
    ),
    max_size=12,
)
messages = st.lists(
    st.lists(st.tuples(st.sampled_from(["read", "write"]), st.sampled_from("ab")), max_size=3),
    min_size=1,
    max_size=3,
)


WILLING: Any = {"on_error": "admit", "shadow": False}


def answering(told: Iterator[tuple[str, int]]) -> Any:
    """A rule that gives these answers in turn, and then lets all pass."""

    def judge(proposal: Proposal, board: BoardView) -> Any:
        kind, number = next(told, ("admit", 0))
        keys = [call.key for call in board.calls()]
        on = (keys[number],) if 0 <= number < len(keys) else ("nope",) * (number >= 0)
        match kind:
            case "ask":
                return Admit(approval="May it?")
            case "reject":
                return Reject(reason="Not now.", on=on)
            case "defer":
                return Defer(reason="Early.", on=on)
            case "raise":
                raise ValueError
            case "none":
                return None
            case _:
                return Admit()

    return judge


@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda each: each.value)
@example(told=[("defer", 0)], wishes=[[("read", "a")]], **WILLING)  # for itself
@example(
    told=[("defer", 1)], wishes=[[("read", "a"), ("write", "b")]], **WILLING
)  # for a later one
@given(
    told=answers,
    wishes=messages,
    on_error=st.sampled_from(["reject", "admit"]),
    shadow=st.booleans(),
)
@settings(max_examples=15)
def test_every_run_ends(
    frontend: Frontend, told: Any, wishes: Any, on_error: Any, shadow: bool
) -> None:
    """No verdict leaves a call open, makes one twice, or breaks a conversation."""
    tools = [
        scripted_tool(name, lambda a: f"done {a['n']}", args={"n": int}, latency=1.0)
        for name in ("read", "write")
    ]
    numbers = iter(range(100))
    steps = [
        calls(*((tool, {"n": next(numbers), "task_id": task}) for tool, task in made))
        for made in wishes
        if made
    ]
    rule = GuardRule(name="own", judge=answering(iter(told)), on_error=on_error)
    timing = Timing(grace=0.0, linger=0.0)
    config = GuardConfig(extra=(rule,), timing=timing, shadow=shadow, grounding=False)
    specs = [pure("read", reads=()), ToolSpec(name="write", reads=(), writes=("w:{n}",))]
    agent = build(frontend, ScriptedChatModel(script(*steps)), tools, specs=specs, config=config)
    outcome = agent.run(tasks=TASKS)
    assert outcome.report["reason"] == "complete"
    if not shadow:  # there the run ends when the model says so
        left = {state for task in outcome.report["tasks"] for state in task["calls"]}
        assert not left & {state.value for state in OPEN_STATES}
    made = [call.args["n"] for each in tools for call in each.calls]
    assert len(made) == len(set(made))
    agent.check_histories()
