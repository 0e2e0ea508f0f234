"""Failing tools: which failures are retried, when, and the effect on other calls and tasks."""

from typing import Any

import pytest

from asyncguard import Fallback, GuardConfig, Limits, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, after, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
EXACT = Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0)


def config(**limits: int) -> GuardConfig:
    """Exact times: back-off of 1, 2, 4 s without jitter."""
    return GuardConfig(timing=EXACT, limits=Limits(**limits))


def one_call(
    agent_of: AgentOf, tools: Any, *specs: ToolSpec, task: str = "x", **limits: int
) -> Outcome:
    """A single task that calls the first tool once."""
    model = ScriptedChatModel([calls((tools[0].name, {"q": task})), "done"])
    return agent_of(model, tools, specs=specs, config=config(**limits)).run("Go.")


def look(*outcomes: Any, name: str = "look", latency: float = 0.0) -> Any:
    """A lookup with scripted outcomes."""
    return scripted_tool(name, list(outcomes), args={"q": str}, latency=latency)


def test_an_exception_ends_and_delays_no_other_task(agent_of: AgentOf) -> None:
    """The failure is reported for its own call; the other task's call runs as long as it needs."""
    bad, good = (
        look(ValueError("no such thing"), name="bad"),
        look("found y", name="good", latency=3.0),
    )
    made = calls(("bad", {"q": "x", "task_id": "a"}), ("good", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(made))
    outcome = agent_of(model, [bad, good], specs=[pure("bad"), pure("good")], config=config()).run(
        tasks=TASKS
    )
    assert "ValueError: no such thing" in outcome.answer("call_1_1")
    assert "found y" in outcome.text
    assert outcome.elapsed == pytest.approx(3.0)
    assert outcome.states("a") == {"failed": 1}
    assert outcome.states("b") == {"done": 1}


def test_a_transient_failure_is_tried_again_after_a_growing_back_off(agent_of: AgentOf) -> None:
    """Attempts at 0, 1 and 1+2 seconds; the model sees the result only."""
    tool = look(ConnectionError("reset"), ConnectionError("reset"), "found")
    outcome = one_call(agent_of, [tool], pure("look"))
    assert [call.started for call in tool.calls] == pytest.approx([0.0, 1.0, 3.0])
    assert outcome.answer("call_1_1") == "found"
    assert outcome.report["turns"] == 2


def test_the_server_says_how_long_to_wait(agent_of: AgentOf) -> None:
    """``retry_after`` of a fault replaces the back-off."""
    tool = look(ToolFault("busy", transient=True, retry_after=7.5), "found")
    one_call(agent_of, [tool], pure("look"))
    assert [call.started for call in tool.calls] == pytest.approx([0.0, 7.5])


class HttpError(Exception):
    """An HTTP error as client libraries raise it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.response = type("Response", (), {"status_code": status, "headers": dict(headers)})()


@pytest.mark.parametrize(
    ("status", "attempts"), [(429, 2), (500, 2), (503, 2), (400, 1), (404, 1), (401, 1)], ids=str
)
def test_http_errors_are_tried_again_where_that_may_help(
    status: int, attempts: int, agent_of: AgentOf
) -> None:
    """Server trouble is transient, a wrong request is not; ``Retry-After`` is honoured."""
    tool = look(HttpError(status, **{"retry-after": "3"}), "found")
    one_call(agent_of, [tool], pure("look"))
    assert [call.started for call in tool.calls] == pytest.approx([0.0, 3.0][:attempts])


def test_a_failure_that_is_not_transient_is_not_repeated(agent_of: AgentOf) -> None:
    """A wrong value is not retried."""
    tool = look(ValueError("wrong"))
    outcome = one_call(agent_of, [tool], pure("look"))
    assert len(tool.calls) == 1
    assert "look#1 failed: ValueError: wrong" in outcome.answer("call_1_1")


def test_attempts_of_a_call_are_limited(agent_of: AgentOf) -> None:
    """After the last attempt the failure is reported."""
    tool = look(*[ConnectionError("reset")] * 5)
    outcome = one_call(agent_of, [tool], pure("look"), max_attempts=4)
    assert [call.started for call in tool.calls] == pytest.approx([0.0, 1.0, 3.0, 7.0])
    assert "ConnectionError" in outcome.answer("call_1_1")


def test_retries_of_a_run_are_limited(agent_of: AgentOf) -> None:
    """All calls share one budget."""
    tool = scripted_tool("look", lambda a: ConnectionError("reset"), args={"q": str})
    model = ScriptedChatModel(
        script(calls(*(("look", {"q": f"q{n}"}) for n in range(4))), ever="done")
    )
    agent_of(model, [tool], specs=[pure("look")], config=config(max_run_retries=3)).run("Go.")
    assert len(tool.calls) == 4 + 3


def test_back_off_of_one_task_delays_no_other(agent_of: AgentOf) -> None:
    """While one call waits for a minute, the other task gets its result and its turns at once."""
    slow = look(ToolFault("busy", transient=True, retry_after=60.0), "found x", name="busy")
    quick = look("found y", "found z", name="quick", latency=1.0)
    model = ScriptedChatModel(
        script(
            calls(("busy", {"q": "x", "task_id": "a"}), ("quick", {"q": "y", "task_id": "b"})),
            calls(("quick", {"q": "z", "task_id": "b"})),
        )
    )
    agent = agent_of(model, [slow, quick], specs=[pure("busy"), pure("quick")], config=config())
    outcome = agent.run(tasks=TASKS)
    assert [request.at for request in model.requests] == pytest.approx([0.0, 1.0, 2.0, 60.0])
    assert "found x" in outcome.text


def test_a_sibling_answers_when_the_tool_cannot(agent_of: AgentOf) -> None:
    """The arguments are renamed for the sibling, and its result answers the call."""
    tool = look(ValueError("closed"))
    sibling = scripted_tool(
        "other",
        lambda a: f"other found {a['query']} in {a['lang']}",
        args={"query": str, "lang": (str, "en")},
    )
    spec = pure("look", fallbacks=(Fallback(tool="other", arguments={"query": "q"}),))
    outcome = one_call(agent_of, [tool, sibling], spec, pure("other"))
    assert [dict(call.args) for call in sibling.calls] == [{"query": "x", "lang": "en"}]
    assert outcome.answer("call_1_1") == "other found x in en"
    assert outcome.messages[2].name == "look"


def test_siblings_are_tried_in_order_each_once(agent_of: AgentOf) -> None:
    """If all siblings fail, the last failure is reported."""
    tools = [look(ValueError(f"no {name}"), name=name) for name in ("first", "second", "third")]
    spec = pure("first", fallbacks=(Fallback(tool="second"), Fallback(tool="third")))
    outcome = one_call(agent_of, tools, spec, pure("second"), pure("third"))
    assert [len(tool.calls) for tool in tools] == [1, 1, 1]
    assert "no third" in outcome.answer("call_1_1")


def test_an_effect_that_may_have_begun_is_in_doubt_and_not_repeated(agent_of: AgentOf) -> None:
    """The model is told so, and an equal call is refused."""
    tool = look(ConnectionError("reset"), "paid twice", name="pay")
    model = ScriptedChatModel(
        script(calls(("pay", {"q": "x"})), calls(("pay", {"q": "x"})), ever="I cannot tell.")
    )
    outcome = agent_of(model, [tool], config=config()).run("Pay x.")
    assert len(tool.calls) == 1
    assert "It is not known whether pay#1 took effect" in outcome.answer("call_1_1")
    assert "outcome is unknown" in outcome.answer("call_2_1")
    assert outcome.report["in_doubt"] == ["main/pay#1"]


def test_a_tool_can_say_that_its_effect_did_not_begin(agent_of: AgentOf) -> None:
    """A tool with effects is retried, too, if its failure says that the effect did not begin."""
    tool = look(ToolFault("queue full", transient=True, started=False), "paid", name="pay")
    outcome = one_call(agent_of, [tool])
    assert len(tool.calls) == 2
    assert outcome.answer("call_1_1") == "paid"


def test_a_refused_connection_does_not_say_that_the_effect_did_not_begin(agent_of: AgentOf) -> None:
    """It may have been the tool's second connection, after it had paid over the first."""
    tool = look(ConnectionRefusedError("down"), "paid twice", name="pay")
    outcome = one_call(agent_of, [tool])
    assert len(tool.calls) == 1
    assert outcome.report["in_doubt"] == ["main/pay#1"]


def test_a_timeout_of_a_pure_tool_is_tried_again(agent_of: AgentOf) -> None:
    """The attempt is given up after its seconds."""
    tool = look(after(100.0, "never"), after(1.0, "found"))
    outcome = one_call(agent_of, [tool], pure("look", timeout=5.0))
    assert [call.started for call in tool.calls] == pytest.approx([0.0, 6.0])
    assert outcome.answer("call_1_1") == "found"


def test_a_timeout_of_a_tool_with_effects_is_in_doubt(agent_of: AgentOf) -> None:
    """The call is in doubt: it may have had its effect before the timeout."""
    tool = look(after(100.0, "paid"), name="pay")
    outcome = one_call(agent_of, [tool], ToolSpec(name="pay", timeout=5.0))
    assert len(tool.calls) == 1
    assert outcome.elapsed == pytest.approx(5.0)
    assert outcome.states("main") == {"in_doubt": 1}


def test_every_kind_of_exception_becomes_an_answer(agent_of: AgentOf) -> None:
    """Exceptions that look like control flow or like asyncio's own become answers, too."""

    class Odd(Exception):
        def __str__(self) -> str:
            return "odd \ud800 text"

    for error in (
        KeyError("k"),
        StopIteration(),
        RuntimeError(),
        TimeoutError(),
        Odd(),
        ExceptionGroup("two", [ValueError()]),
    ):
        tool = look(error)
        outcome = one_call(agent_of, [tool], pure("look"), max_attempts=1)
        assert "look#1" in outcome.answer("call_1_1")
        assert outcome.last == "done"


def test_the_sync_entry_retries_without_sleeping_in_a_node(agent_of: AgentOf) -> None:
    """``invoke`` with a sync tool: a transient failure is tried again."""
    tool = look(ConnectionError("reset"), "found")
    timing = Timing(grace=0.0, linger=0.0, retry_initial=0.001, retry_jitter=0.0)
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    outcome = agent_of(
        model, [tool], specs=[pure("look")], config=GuardConfig(timing=timing)
    ).run_sync("Go.")
    assert outcome.answer("call_1_1") == "found"
    assert len(tool.calls) == 2
