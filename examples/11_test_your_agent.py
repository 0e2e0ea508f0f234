"""Test an agent without waiting: scripted model and tools, a clock that jumps, and a check of what providers accept.

pytest collects a file like this; running it as a script runs the test, too.
"""

import time

from asyncguard import build_agent
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)


def test_two_reports_take_as_long_as_one() -> None:
    """Both reports are written at the same time, and the history is one that every provider accepts."""
    write = scripted_tool(
        "write_report", lambda a: f"report on {a['topic']}", args={"topic": str}, latency=3600.0
    )
    model = ScriptedChatModel(
        [
            calls(
                ("write_report", {"task_id": "task-1", "topic": "tea"}),
                ("write_report", {"task_id": "task-2", "topic": "rice"}),
            ),
            "Both reports are written.",
        ]
    )
    agent = build_agent(model, [write])

    run = run_virtual(
        agent.ainvoke({"tasks": ["Write a report on tea.", "Write a report on rice."]})
    )

    assert run.result["report"]["reason"] == "complete"
    assert sorted(call.args["topic"] for call in write.calls) == ["rice", "tea"]
    assert 3600 <= run.elapsed < 3601
    for request in model.requests:
        check_history_all(request.messages)
    print(f"virtual time: {run.elapsed:.0f} s")


if __name__ == "__main__":
    began = time.monotonic()
    test_two_reports_take_as_long_as_one()
    print(f"real time:    {time.monotonic() - began:.1f} s")
