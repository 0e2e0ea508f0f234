"""Guesses that stand in messages, and guesses that are foreseen."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import Field, ValidationError

from asyncguard import GuardConfig
from asyncguard_benchmark import (
    Composition,
    Regime,
    Run,
    Surface,
    run_episode,
    score,
    shipped_compositions,
)
from asyncguard_benchmark.harness.agents.guesses import foreseen, recalled
from asyncguard_benchmark.harness.agents.message_reader import read_questions
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.players.guarded import Setting, play_graph
from asyncguard_benchmark.harness.protocol.prompts import first_user_message
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from tests.benchmark.builders import compose

EVERY = shipped_compositions()
ALL = EVERY[::30]
"""Of every kind some."""
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "schema", "told", "found"),
    [
        (
            "file",
            TEXT,
            "Copy /a/b.txt, then notes.md into /a/old.",
            ("/a/b.txt", "notes.md", "/a/old"),
        ),
        ("source", TEXT, '{"matches": ["/p/q.jpg", "/p/r"]}', ("/p/q.jpg", "/p/r")),
        ("symbol", TEXT, 'Sell PELO, not "ABCDEF"; {"symbol": "GULD"}', ("PELO", "GULD")),
        ("card_number", TEXT, "cards 4563-9917 and 12-34", ("4563-9917",)),
        ("text", TEXT, "to me: Odalys, Brandt", ("Odalys", "Brandt")),
        ("order_id", {"type": "integer"}, "orders 48211 and 48211, 12.5 each, 2024-01", (48211,)),
        ("price", {"type": "number"}, '{"price": 55.45, "of": 3}', (55.45, 3.0)),
        ("side", {"type": "string", "enum": ["buy"]}, "buy", ()),
        ("files", {"type": "array"}, "/a/b.txt", ()),
    ],
)
def test_what_looks_like_the_argument_is_recalled(
    name: str, schema: dict[str, Any], told: str, found: object
) -> None:
    """Values are recalled by type and look, each once, in the order of mention."""
    assert recalled(name, schema, [told]) == found


@pytest.mark.parametrize(
    ("arguments", "pointer", "value"),
    [
        ({"source": "/a/b.txt", "destination": "/c"}, "/copied_to", "/c/b.txt"),
        ({"source": "/a/b.txt", "destination": "/c/d.txt"}, "/moved_to", "/c/d.txt"),
        ({"symbol": "PELO"}, "/symbol", "PELO"),
        ({"symbol": "PELO"}, "/symbols/0", None),
        ({}, "", None),
    ],
)
def test_what_follows_from_a_call_is_foreseen(
    arguments: dict[str, Any], pointer: str, value: object
) -> None:
    """A value is foreseen if it is an argument of the same name or the place of a moved file."""
    assert foreseen(arguments, pointer) == value


def test_questions_are_read_from_the_first_message() -> None:
    """The questions of every shipped composition are read exactly."""
    for each in EVERY:
        messages = [
            SystemMessage("x"),
            HumanMessage(first_user_message(each)),
            HumanMessage("{id:'a', question:'b'}"),
        ]
        assert read_questions(messages) == {task.id: task.query for task in each.sub_tasks}
    assert read_questions([SystemMessage("x")]) == {}


class Listener(EagerAgent):
    """Keeps what it is sent."""

    heard: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.heard.append(list(messages))
        return super()._generate(messages)


def guesses(composition: Composition, agent: Listener) -> Iterator[tuple[Any, str]]:
    """The values that a run guessed, each with all that the agent had been sent by then."""
    episode = run_episode(composition, agent, Regime.FIXED2)
    heard = iter(agent.heard)
    for record in episode.trajectory:
        sent = "\n".join(str(m.text) for m in next(heard) if not isinstance(m, SystemMessage))
        task = composition.sub_task(record.task_id)
        assert task is not None
        call = next(c for c in task.gold if c.tool == record.tool)
        for place, source in call.sources.items():
            if source.call is not None and place.count("/") == 1:
                yield record.arguments[place[1:]], sent


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_distractor_stands_in_what_the_agent_was_sent(rate: float) -> None:
    """With the rate at one, every guess that can be; with the rate at none, none."""
    grounded = invented = 0
    for each in ALL:
        agent = Listener(plan=plan_of(each), distractor_rate=rate)
        for value, sent in guesses(each, agent):
            if f"{value:g}" in sent if isinstance(value, float) else str(value) in sent:
                grounded += 1
            else:
                invented += 1
    assert grounded > 20 if rate else invented > 50


def test_draws_are_shared_between_rates() -> None:
    """A guess that stays an invention is the same invention: the rates decide which, not what."""
    pair = compose("tb-05", "tb-10")  # nothing in these looks like what they need
    plain, other = (
        run_episode(pair, EagerAgent(plan=plan_of(pair), distractor_rate=rate)).trajectory[:3]
        for rate in (0, 1)
    )
    assert plain == other


def test_foreseeing_helps_where_the_call_tells() -> None:
    """A copy in a folder has a name that can be known: a guard of values holds the call that needs it."""
    pair = compose("fs-11", "tb-10")
    run = Run(regime=Regime.FIXED1, surface=Surface.TEXT, seed=0)
    # Early calls are refused whatever their values.
    setting = Setting(config=GuardConfig(premature=False))
    blind, seeing = (
        play_graph(pair, EagerAgent(plan=plan_of(pair), lucky_rate=rate), run, setting)
        for rate in (0, 1)
    )
    assert score(blind).overall
    assert score(seeing).overall
    assert seeing.counters.rounds < blind.counters.rounds


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_rates_are_shares(rate: float) -> None:
    """A rate outside of 0 and 1 is refused."""
    with pytest.raises(ValidationError):
        EagerAgent(plan=plan_of(ALL[0]), distractor_rate=rate)
