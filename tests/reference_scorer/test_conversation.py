"""What an episode records is what its conversation shows."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from asyncguard_benchmark import Surface
from asyncguard_benchmark.harness.protocol.actions import CallAction, Idle, Malformed, read_text
from asyncguard_benchmark.harness.scenario import Contract
from tests.reference_scorer.conversation import account_of, objects_in
from tests.reference_scorer.corpus import Episode, plain_corpus
from tests.support.examples import examples

RECORDED = ("task_id", "tool", "arguments", "issued", "delivered", "pending_before")


@pytest.fixture(name="episodes", scope="module")
def _episodes() -> list[Episode]:
    """Those of the text surface, in the plain loop."""
    return [each for each in plain_corpus() if each["run"]["surface"] == Surface.TEXT.value]


def test_calls_and_counts_are_those_of_the_conversation(episodes: list[Episode]) -> None:
    """Every call with its ticks, its response and what was pending; rounds, idle turns and format errors."""
    assert len(episodes) >= 100
    for episode in episodes:
        account = account_of(episode["messages"], _ids(episode))
        for name in ("rounds", "idle_turns", "format_errors"):
            assert episode["counters"][name] == getattr(account, name)
        assert episode["counters"]["ticks"] == account.rounds
        assert _facts(episode["trajectory"]) == _facts(account.calls)
        for record, call in zip(episode["trajectory"], account.calls, strict=True):
            # What was not delivered was not told.
            assert call["response"] == (record["response"] if call["delivered"] else None)


def test_a_message_that_is_lost_shows(episodes: list[Episode]) -> None:
    """Without one assistant message the account is another one in every episode."""
    for episode in episodes:
        spoken = [n for n, each in enumerate(episode["messages"]) if each["role"] == "assistant"]
        left = [m for n, m in enumerate(episode["messages"]) if n != spoken[-1]]
        assert account_of(left, _ids(episode)).rounds != episode["counters"]["rounds"]


_CALL = '{"id": "fs-01", "func_name": "cat", "params": {"file": "a.txt"}}'
_PARTS = (
    _CALL,
    _CALL.replace("fs-01", "fs-99"),
    _CALL.replace("}}", "}"),
    '{"func_name": "cat"}',
    '{"content": "ALL COMPLETED"}',
    '{"content": "I wait."}',
    '{"content": 5}',
    '{"note": 1}',
    "{",
    "```json",
    "Then I go on.",
    "\n",
)
"""Parts of what models write."""


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(_PARTS), max_size=3), st.sampled_from(Contract))
@example(['{"content": "I wait."}', _CALL], Contract.OURS)
def test_both_read_a_text_alike(parts: list[str], contract: Contract) -> None:
    """As a call, an idle turn, the end or a format error, whatever stands beside what, under either contract."""
    text = " ".join(parts)
    message = {"role": "assistant", "content": text}
    account = account_of([{}, {}, message], ["fs-01"], strict=contract is Contract.PAPER)
    action = read_text(text, ["fs-01"], contract)
    assert account.format_errors == isinstance(action, Malformed)
    assert account.idle_turns == isinstance(action, Idle)
    assert len(account.calls) == isinstance(action, CallAction)


def test_the_first_object_in_a_text_is_found() -> None:
    """In prose, in a code fence, with braces in texts; what is not JSON is none."""
    assert objects_in('I call {"a": "}{"} now') == [{"a": "}{"}]
    assert objects_in('```json\n{"a": {"b": 1}}\n```') == [{"a": {"b": 1}}]
    assert objects_in('{"a": 1') == []


def _ids(episode: Episode) -> list[str]:
    return [task["id"] for task in episode["composition"]["sub_tasks"]]


def _facts(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**{name: call[name] for name in RECORDED}, "pending_before": [*call["pending_before"]]}
        for call in calls
    ]
