"""No message of a model breaks a run: thousands of malformed ones, generated, through both adapters."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from tests.fuzz.agents import Stand, stand
from tests.fuzz.judging import check
from tests.fuzz.malformed import Script, broken, call, nested, scripts, unchecked
from tests.support.examples import examples

_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_FAST, _ALL = examples(60), 5_000  # 10,000 over the two adapters


@pytest.fixture(scope="module", params=["graph", "middleware"])
def played(request: pytest.FixtureRequest) -> Iterator[Stand]:
    """One agent for all examples of an adapter."""
    made = stand(request.param)
    yield made
    made.close()


_tasks = st.sampled_from([2, 2, 1])


def _says(*messages: AIMessage, stubborn: bool = False) -> Script:
    return Script(messages=messages, stubborn=stubborn)


_SEARCH = {"q": "x", "task_id": "a"}


@example(script=_says(unchecked(None)), tasks=2)
@example(
    script=_says(unchecked(calls=[call("search", {**_SEARCH, "limit": float("nan")}, "i")])),
    tasks=2,
)
@example(
    script=_says(unchecked(calls=[call("search", {**_SEARCH, "limit": 2.0**63}, "i")])), tasks=2
)
@example(script=_says(unchecked(calls=[call("search", {**_SEARCH, "q": "\ud800"}, "i")])), tasks=2)
@example(script=_says(unchecked(calls=[call("search", {**_SEARCH, "q": b"x"}, "i")])), tasks=2)
@example(script=_says(unchecked(calls=[call("search", ["x"], "i")])), tasks=1)
@example(
    script=_says(
        unchecked(calls=[call("book", {"seat": 4}, "same")], message_id="m"), stubborn=True
    ),
    tasks=1,
)
@example(script=_says(unchecked(invalid=[broken("book", "{", None)]), stubborn=True), tasks=2)
@example(
    script=_says(unchecked("\ud800"), unchecked(["\ud800", {"type": "text", "text": "\udfff"}])),
    tasks=2,
)
@hypothesis.settings(max_examples=_FAST, suppress_health_check=_CHECKS)
@given(script=scripts, tasks=_tasks)
def test_malformed_messages_are_survived(played: Stand, script: Script, tasks: int) -> None:
    """A malformed message raises nothing, affects nothing, is answered, and the run ends with a report."""
    check(played.run(script, tasks), tasks=tasks)


@pytest.mark.parametrize(
    "value", [10**5000, nested(3000), {"k": nested(62)}], ids=["huge", "deep", "deeper_by_one"]
)
def test_values_that_nothing_can_write_are_refused(played: Stand, value: Any) -> None:
    """An integer or a nesting that no writer takes is neither run nor stored."""
    outcome = played.run(_says(unchecked(calls=[call("search", {**_SEARCH, "q": value}, "i")])), 2)
    check(outcome, tasks=2)
    assert outcome.executed == ()


@pytest.mark.full
@hypothesis.settings(max_examples=_ALL, suppress_health_check=_CHECKS)
@given(script=scripts, tasks=_tasks)
def test_ten_thousand_malformed_runs_are_survived(
    played: Stand, script: Script, tasks: int
) -> None:
    """Ten thousand generated runs of each adapter are survived."""
    check(played.run(script, tasks), tasks=tasks)
