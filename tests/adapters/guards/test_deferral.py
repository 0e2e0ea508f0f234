"""Deferral: what is right but early is issued by the runtime, in order and without a model turn."""

from typing import Any

import pytest

from asyncguard import GuardConfig, Limits, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script

A_AND_B = [
    {"id": "a", "goal": "Work on file f and file g."},
    {"id": "b", "goal": "Work on file f too."},
]
# Early calls of undeclared tools are refused by a guard of its own.
EXACT = GuardConfig(premature=False, timing=Timing(grace=0.0, linger=0.0))
WRITE = ToolSpec(name="write", reads=(), writes=("file:{path}",))
READ = pure("read", reads=("file:{path}",))


def tools(latency: float = 2.0) -> tuple[Any, Any]:
    """A reader and a writer of files."""
    read = scripted_tool(
        "read", lambda a: f"content of {a['path']}", args={"path": str}, latency=latency
    )
    write = scripted_tool(
        "write", lambda a: f"wrote {a['path']}", args={"path": str}, latency=latency
    )
    return read, write


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("write", "read", 2.0),
        ("read", "write", 2.0),
        ("write", "write", 2.0),
        ("read", "read", 0.0),
    ],
    ids=["read after write", "write after read", "write after write", "reads are free"],
)
def test_declared_footprints_order_calls_of_one_message(
    first: str, second: str, apart: float, agent_of: AgentOf
) -> None:
    """Two calls that collide on a resource run one after the other, across tasks, in the order of the message."""
    read, write = tools()
    model = ScriptedChatModel(
        script(
            calls((first, {"path": "f", "task_id": "a"}), (second, {"path": "f", "task_id": "b"}))
        )
    )
    agent_of(model, [read, write], specs=[READ, WRITE], config=EXACT).run(tasks=A_AND_B)
    began = sorted(call.started for call in (*read.calls, *write.calls))
    assert began == pytest.approx([0.0, apart])
    if first != second:
        assert (read.calls[0].started < write.calls[0].started) is (first == "read")


def test_a_call_of_another_task_is_named_with_its_task(agent_of: AgentOf) -> None:
    """Labels count within a task, so that `write#1` alone would seem to wait for itself."""
    _, write = tools()
    look = scripted_tool("look", ["seen"], args={})
    told: list[str] = []
    both = [("write", {"path": "f", "task_id": task}) for task in ("a", "b")]
    model = ScriptedChatModel(script(calls(*both, ("look", {"task_id": "c"}))))
    agent = agent_of(model, [write, look], specs=[WRITE, pure("look")], config=EXACT)

    async def main() -> None:
        tasks = [*A_AND_B, {"id": "c", "goal": "Look."}]
        async for event in agent.graph.astream(agent.input(None, tasks), stream_mode="custom"):
            told.append(event.get("reason", ""))  # noqa: PERF401 - in the order of the stream

    run_virtual(main())
    text = "\n".join(message.text for message in model.requests[1].messages)
    assert "write#1 is accepted and waits for write#1 of task a; the runtime" in text
    assert any("being written by write#1 of task a;" in reason for reason in told)


def test_a_call_says_which_one_of_another_task_gave_nothing(agent_of: AgentOf) -> None:
    """It is not run, for a failure that is not its own."""
    broken = scripted_tool("write", [ToolFault("full", started=False)], args={"path": str})
    both = [("write", {"path": "f", "task_id": task}) for task in ("a", "b")]
    outcome = agent_of(
        ScriptedChatModel(script(calls(*both))), [broken], specs=[WRITE], config=EXACT
    ).run(tasks=A_AND_B)
    assert "write#1 was not run: write#1 of task a gave no usable result" in outcome.text


def test_other_resources_are_not_held_up(agent_of: AgentOf) -> None:
    """Writing f does not delay reading g."""
    read, write = tools()
    model = ScriptedChatModel(
        script(
            calls(("write", {"path": "f", "task_id": "a"}), ("read", {"path": "g", "task_id": "b"}))
        )
    )
    agent_of(model, [read, write], specs=[READ, WRITE], config=EXACT).run(tasks=A_AND_B)
    assert read.calls[0].started == write.calls[0].started == 0.0


def _deferred_run(
    agent_of: AgentOf, specs: Any = (), config: GuardConfig = EXACT
) -> tuple[Outcome, Any, Any, Any]:
    step = scripted_tool("step", lambda a: f"step {a['path']}", args={"path": str}, latency=4.0)
    quick = scripted_tool("quick", lambda a: "quick", args={}, latency=1.0)
    model = ScriptedChatModel(
        [
            calls(("step", {"path": "f", "task_id": "a"}), ("quick", {"task_id": "b"})),
            calls(("step", {"path": "g", "task_id": "a"}), ("step", {"path": "h", "task_id": "a"})),
            *["hm"] * 2,
            "all done",
        ]
    )
    tasks = [{"id": "a", "goal": "Steps f, g and h."}, {"id": "b", "goal": "Be quick."}]
    outcome = agent_of(model, [step, quick], specs=specs, config=config).run(tasks=tasks)
    return outcome, step, quick, model


def test_undeclared_tools_wait_for_the_open_calls_of_their_task(agent_of: AgentOf) -> None:
    """Without footprints a call of a later message waits for those of earlier ones; calls of one message do not."""
    outcome, step, _, _ = _deferred_run(agent_of)
    assert [(call.args["path"], call.started) for call in step.calls] == [
        ("f", 0.0),
        ("g", 4.0),
        ("h", 4.0),
    ]
    assert outcome.states("a") == {"done": 3}


def test_the_placeholder_of_a_deferred_call_says_what_it_waits_for(agent_of: AgentOf) -> None:
    """The model learns that the call is accepted, and that repeating it is not wanted."""
    step = scripted_tool("step", lambda a: "ok", args={"path": str}, latency=4.0)
    quick = scripted_tool("quick", lambda a: "quick", args={}, latency=1.0)
    first = calls(("step", {"path": "f", "task_id": "a"}), ("quick", {"task_id": "b"}))
    again = calls(("step", {"path": "g", "task_id": "a"}), ("quick", {"task_id": "b"}))
    tasks = [{"id": "a", "goal": "Steps f and g."}, {"id": "b", "goal": "Be quick."}]
    outcome = agent_of(ScriptedChatModel(script(first, again)), [step, quick], config=EXACT).run(
        tasks=tasks
    )
    assert "waits for step#1" in outcome.answer("call_2_1")
    assert [call.started for call in step.calls] == [0.0, 4.0]


def test_pure_tools_do_not_wait_for_each_other(agent_of: AgentOf) -> None:
    """Two calls that are known to change nothing are free."""
    _, step, _, _ = _deferred_run(agent_of, specs=[pure("step"), pure("quick")])
    assert [call.started for call in step.calls] == [0.0, 1.0, 1.0]


def test_a_deferred_call_is_issued_without_a_model_turn(agent_of: AgentOf) -> None:
    """The model speaks before and after, never in order to release."""
    outcome, step, _, model = _deferred_run(agent_of)
    asked = [request.at for request in model.requests]
    assert asked == pytest.approx([0.0, 1.0, 4.0, 8.0])
    assert step.calls[1].started == pytest.approx(4.0)
    assert outcome.text.count("step g") == 1


def test_deferred_calls_of_a_chain_are_issued_in_order(agent_of: AgentOf) -> None:
    """Three writes to one file made early run one after the other in program order."""
    write = scripted_tool(
        "write", lambda a: f"wrote {a['n']}", args={"path": str, "n": int}, latency=1.0
    )
    made = [("write", {"path": "f", "n": n, "task_id": "ab"[n % 2]}) for n in range(5)]
    model = ScriptedChatModel(script(calls(*made)))
    outcome = agent_of(model, [write], specs=[WRITE], config=EXACT).run(tasks=A_AND_B)
    assert [(call.args["n"], call.started) for call in write.calls] == [
        (n, float(n)) for n in range(5)
    ]
    assert outcome.report["reason"] == "complete"


def test_a_failed_predecessor_squashes_what_waits_for_it_and_says_so(agent_of: AgentOf) -> None:
    """The deferred call never runs; the model is told and may ask again."""
    read = scripted_tool("read", lambda a: "content", args={"path": str}, latency=1.0)
    write = scripted_tool(
        "write", lambda a: ValueError("disk full"), args={"path": str}, latency=2.0
    )
    model = ScriptedChatModel(
        script(
            calls(("write", {"path": "f", "task_id": "a"}), ("read", {"path": "f", "task_id": "b"}))
        )
    )
    outcome = agent_of(model, [read, write], specs=[READ, WRITE], config=EXACT).run(tasks=A_AND_B)
    assert read.calls == []
    assert "disk full" in outcome.text
    assert "read#1 was not run" in outcome.text
    assert outcome.states("b") == {"squashed": 1}


def test_a_deferred_call_meets_the_guards_again_at_release(agent_of: AgentOf) -> None:
    """A call that became wrong while it waited is rejected instead of issued."""
    step = scripted_tool("step", lambda a: "ok", args={"path": str}, latency=2.0)
    model = ScriptedChatModel(
        script(
            calls(("step", {"path": "f", "task_id": "a"})),
            calls(("step", {"path": "g", "task_id": "a"}), *[("nothing", {"task_id": "a"})] * 2),
        )
    )
    config = GuardConfig(premature=False, timing=EXACT.timing, limits=Limits(max_rejections=1))
    outcome = agent_of(model, [step], config=config).run(tasks=A_AND_B)
    assert [call.args["path"] for call in step.calls] == ["f"]
    assert outcome.states("a") == {"done": 1, "rejected": 3}
    assert "Task a is stopped" in outcome.text


@pytest.mark.parametrize("conflict", [True, False])
def test_without_the_conflict_guard_writes_overtake(conflict: bool, agent_of: AgentOf) -> None:
    """The switch turns exactly the ordering of effects off."""
    read, write = tools()
    model = ScriptedChatModel(
        script(
            calls(("read", {"path": "f", "task_id": "a"}), ("write", {"path": "f", "task_id": "b"}))
        )
    )
    config = GuardConfig(premature=False, timing=EXACT.timing, conflict=conflict)
    agent_of(model, [read, write], specs=[READ, WRITE], config=config).run(tasks=A_AND_B)
    assert write.calls[0].started == pytest.approx(2.0 if conflict else 0.0)


@pytest.mark.parametrize("dependency", [True, False])
def test_without_the_dependency_guard_reads_overtake(dependency: bool, agent_of: AgentOf) -> None:
    """The switch turns exactly the ordering of reads off."""
    read, write = tools()
    model = ScriptedChatModel(
        script(
            calls(("write", {"path": "f", "task_id": "a"}), ("read", {"path": "f", "task_id": "b"}))
        )
    )
    config = GuardConfig(premature=False, timing=EXACT.timing, dependency=dependency)
    agent_of(model, [read, write], specs=[READ, WRITE], config=config).run(tasks=A_AND_B)
    assert read.calls[0].started == pytest.approx(2.0 if dependency else 0.0)
