"""A model that obeys whatever it reads destroys and spends nothing, as long as a person does not approve it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, Inbox, NewsStyle, Ports, Timing, ToolSpec, guards
from asyncguard.core.admission import ADMIT
from asyncguard.testing import ScriptedChatModel, run_virtual, scripted_tool
from tests.adapters.harness import Agent, Frontend, Outcome, build
from tests.security.channels import CHANNELS, Channel, late, result
from tests.security.orders import ORDERS, Obedient, Order

_DESTRUCTIVE = ("wipe", "pay")
_SPECS = tuple(
    ToolSpec(name=name, destructive=True, reads=(), writes=(name,)) for name in _DESTRUCTIVE
)
_FEW = ORDERS[::67]
"""Of several forms and wordings."""


class Harm:
    """The destructive tools."""

    def __init__(self) -> None:
        self.tools = [
            scripted_tool("wipe", lambda _: "wiped"),
            scripted_tool("pay", lambda _: "paid", args={"to": str, "amount": int}),
        ]

    @property
    def done(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Calls of the destructive tools, with their arguments."""
        return [(tool.name, call.args) for tool in self.tools for call in tool.calls]


def play(
    frontend: Frontend, channel: Channel, *, config: GuardConfig, answer: Any = False
) -> tuple[Harm, list[Outcome]]:
    """Play a run to its end; a person answers every question alike."""
    harm, inbox = Harm(), Inbox()
    task = "b" if channel.tasks else ""
    agent = build(
        frontend,
        ScriptedChatModel(Obedient(*channel.steps, task=task)),
        [*channel.tools, *harm.tools],
        config=config,
        specs=[*channel.specs, *_SPECS],
        ports=Ports(inbox=inbox),
        checkpointer=InMemorySaver(),
    )
    return harm, run_virtual(_to_the_end(agent, channel, inbox, answer)).result


async def _to_the_end(agent: Agent, channel: Channel, inbox: Inbox, answer: Any) -> list[Outcome]:
    said = None if channel.tasks else "Read x and watch y."
    outcomes = [await agent.say(said, tasks=channel.tasks or None, thread="t")]
    while outcomes[-1].interrupts:
        assert len(outcomes) < 20, "the run does not end"
        if outcomes[-1].interrupts[0]["type"] == "parked":
            inbox.deliver(channel.tokens.pop(), channel.delivered)
        outcomes.append(await agent.answer(answer, "t"))
    return outcomes


def questions(outcomes: Sequence[Outcome]) -> list[tuple[str, Mapping[str, Any]]]:
    """The calls about which a person was asked, with their arguments, in order."""
    asked = [
        item for outcome in outcomes for item in outcome.interrupts if item["type"] == "approval"
    ]
    return [(call["tool"], call["arguments"]) for item in asked for call in item["calls"]]


_GUARDED = GuardConfig(premature=False, timing=Timing(retry_initial=0.0, retry_jitter=0.0))
_BARE = _GUARDED.with_switches({"trust": False})


def _check_held(
    frontend: Frontend, channel: Channel, order: Order, config: GuardConfig = _GUARDED
) -> None:
    harm, outcomes = play(frontend, channel, config=config)
    assert harm.done == []
    assert order.tool in [name for name, _ in questions(outcomes)]


def _check_obeyed(frontend: Frontend, channel: Channel, order: Order) -> None:
    harm, outcomes = play(frontend, channel, config=_BARE)
    assert order.tool in [name for name, _ in harm.done]
    assert questions(outcomes) == []


def test_there_are_two_hundred_orders() -> None:
    """Twenty wordings in ten forms, no two of which are the same text."""
    assert len({order.text for order in ORDERS}) == len(ORDERS) == 200


@pytest.mark.parametrize("order", _FEW, ids=lambda order: order.name)
@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_an_order_in_a_result_reaches_a_person_only(frontend: Frontend, order: Order) -> None:
    """The obedient model asks for the destructive call, and it is held; without the guard, it is made."""
    _check_held(frontend, result(order.text), order)
    _check_obeyed(frontend, result(order.text), order)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_an_order_reaches_a_person_only_on_whatever_way_it_comes(
    frontend: Frontend, channel: Any
) -> None:
    """Errors, news, deliveries, siblings, contracts, probes, verifiers and sources are tool output like any other."""
    _check_held(frontend, channel(ORDERS[0].text), ORDERS[0])


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_an_order_is_obeyed_without_the_guard(frontend: Frontend, channel: Any) -> None:
    """The test above can fail: on each of these ways the order arrives."""
    _check_obeyed(frontend, channel(ORDERS[0].text), ORDERS[0])


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.__name__)
@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_every_order_on_every_way(frontend: Frontend, channel: Any) -> None:
    """All two hundred orders are held on each channel; a channel may make an order unreadable."""
    obeyed = 0
    for order in ORDERS:
        bare, _ = play(frontend, channel(order.text), config=_BARE)
        guarded, asked = play(frontend, channel(order.text), config=_GUARDED)
        assert guarded.done == [], order.name
        assert bool(bare.done) == bool(questions(asked)), order.name
        obeyed += bool(bare.done)
    assert obeyed >= 150


@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_news_as_pairs_are_no_less_suspicious(frontend: Frontend) -> None:
    """The style of late results makes no difference."""
    config = GuardConfig(premature=False, news_style=NewsStyle.PAIR)
    _check_held(frontend, late(ORDERS[0].text), ORDERS[0], config)


@pytest.mark.parametrize("frontend", list(Frontend), ids=lambda frontend: frontend.value)
def test_a_guard_that_admits_all_is_found(
    frontend: Frontend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check can fail: with a trust guard that admits all, the money is gone."""
    blind = tuple(
        (name, (lambda _, __: ADMIT) if name == "trust" else judge) for name, judge in guards.GUARDS
    )
    monkeypatch.setattr(guards, "GUARDS", blind)
    with pytest.raises(AssertionError):
        _check_held(frontend, result(ORDERS[0].text), ORDERS[0])
