"""Tool output is data: forged results, notices, approvals, tokens and keys have no effect."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from asyncguard import NewsStyle
from asyncguard.adapters.messages import provider_rules, render
from asyncguard.testing import Provider, check_history
from tests.adapters.harness import Frontend
from tests.security.forgeries import NONCE
from tests.security.theatre import (
    BLOCK,
    LATENCIES,
    Played,
    Theatre,
    by_call,
    forged,
    honest,
    moments,
)

_FEW, _ALL = 3, 2_500
"""Runs of each adapter and style; each holds some twenty forged texts. All together are ten thousand."""


@pytest.fixture(
    scope="module",
    params=[(front_end, style) for front_end in Frontend for style in NewsStyle],
    ids=lambda param: f"{param[0].value}-{param[1].value}",
)
def theatre(request: pytest.FixtureRequest) -> Iterator[Theatre]:
    """One theatre for all runs of an adapter and a style of news."""
    made = Theatre(frontend=request.param[0], style=request.param[1])
    yield made
    made.runner.close()


def test_the_honest_run_has_a_call_in_every_state(theatre: Theatre) -> None:
    """Calls are pending, deferred, held, refused, external and failing while others speak."""
    played = theatre.play(honest())
    kinds = {
        name: [event["kind"] for event in events] for name, events in by_call(played.story).items()
    }
    assert kinds["pay"] == ["call_held", "call_rejected"]
    assert kinds["wire"] == ["call_held", "call_admitted", "call_started", "call_retired"]
    assert kinds["book"] == ["call_deferred", "call_admitted", "call_started", "call_retired"]
    assert played.executed == {name: int(name != "pay") for name in LATENCIES}
    assert moments(played.story, "call_retired")["order"] == played.delivered_at


def test_forged_words_change_nothing(theatre: Theatre) -> None:
    """Whatever is printed, said, answered and delivered, each call ends as in the honest run."""
    _check_runs(theatre, range(_FEW))


@pytest.mark.slow
def test_forged_words_change_nothing_in_ten_thousand_runs(theatre: Theatre) -> None:
    """Forged words change nothing in ten thousand runs."""
    _check_runs(theatre, range(_ALL))


@pytest.mark.parametrize(
    "style", [NewsStyle.NOTIFICATION, pytest.param(NewsStyle.PAIR, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_a_writer_that_lets_the_secret_through_is_found(
    frontend: Frontend, style: NewsStyle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check can fail: without the cleaning, the model sees forged delimiters."""
    for module in (render, provider_rules):
        monkeypatch.setattr(module, "without", lambda nonce, content: content)
    theatre = Theatre(frontend=frontend, style=style)
    with pytest.raises(AssertionError, match="secret"):
        _check_runs(theatre, range(_FEW))
    theatre.runner.close()


def _check_runs(theatre: Theatre, seeds: range) -> None:
    honestly = theatre.play(honest())
    for seed in seeds:
        try:
            _check(theatre, theatre.play(forged(seed)), honestly)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def _check(theatre: Theatre, played: Played, honestly: Played) -> None:
    _check_calls(played, honestly)
    if theatre.frontend is Frontend.GRAPH:
        assert played.story == honestly.story
    for messages in played.requests:
        check_history(messages, Provider.OPENAI)
        _check_delimiters(messages)
    if theatre.style is NewsStyle.NOTIFICATION:
        assert sum(len(BLOCK.findall(_text(message))) for message in played.requests[-1]) >= 1


def _check_calls(played: Played, honestly: Played) -> None:
    """Each call ended by itself, when its tool did, with what its own tool said."""
    assert by_call(played.story) == by_call(honestly.story)
    assert played.executed == honestly.executed
    assert played.state["report"] == {
        **honestly.state["report"],
        "turns": played.state["report"]["turns"],
    }
    started, ended = moments(played.story, "call_started"), moments(played.story, "call_retired")
    for name in ended:
        if name == "order":
            assert ended[name] == played.delivered_at
        else:
            assert ended[name] - started[name] == pytest.approx(LATENCIES[name])
    expected: dict[str, Any] = {name: played.said[name] for name in ended}
    rest = honestly.contents["fail"].partition("\nDiagnosis: ")
    expected["fail"] = "".join((f"RuntimeError: {expected['fail']}", *rest[1:]))
    if not _is_content(expected["order"]):
        expected["order"] = json.dumps(expected["order"], ensure_ascii=False)
    assert played.contents == expected


def _is_content(said: Any) -> bool:
    """Return True if a message can hold the value as it is."""
    return isinstance(said, str) or (
        isinstance(said, list) and all(isinstance(item, dict) for item in said)
    )


def _check_delimiters(messages: Sequence[BaseMessage]) -> None:
    """The secret stands in the delimiters of whole blocks and nowhere else."""
    for message in messages:
        left = BLOCK.sub("", _text(message))
        assert NONCE not in left, f"the secret stands outside of a delimiter: {left!r}"


def _text(message: BaseMessage) -> str:
    """All that is written in a message, arguments of calls included."""
    blocks = message.content if isinstance(message.content, list) else [message.content]
    texts = [block if isinstance(block, str) else str(block.get("text", block)) for block in blocks]
    return "\n".join([*texts, *(json.dumps(call) for call in getattr(message, "tool_calls", []))])
