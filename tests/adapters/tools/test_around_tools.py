"""Layers between the guard and a tool's code: middleware that repeats or swallows errors.

Every effect is counted outside of the library, in a list that the tool itself appends to.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel

from asyncguard import (
    AsyncGuardMiddleware,
    EffectClass,
    GuardConfig,
    Limits,
    Timing,
    ToolSpec,
    build_agent,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, check_history_all, run_virtual

CONFIG = GuardConfig(
    breaker=False,  # it would rest for half a minute, in real time where the entry is sync
    limits=Limits(max_attempts=3),
    timing=Timing(grace=0.0, linger=0.0, retry_initial=0.001, retry_max=0.001),
)
REPEATABLE = {"keyed", "idempotent", "pure"}
SPECS: dict[str, ToolSpec | None] = {
    "undeclared": None,
    "at_most_once": ToolSpec(name="pay", effect=EffectClass.AT_MOST_ONCE),
    "keyed": ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key"),
    "idempotent": ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT),
    "pure": ToolSpec(name="pay", effect=EffectClass.PURE),
    "probed": ToolSpec(name="pay", effect=EffectClass.PROBED, probe="look"),
}


class Receipt(BaseModel):
    """A receipt of the bank."""

    number: int


def _invalid() -> Exception:
    try:
        Receipt.model_validate({"number": "none"})
    except ValueError as error:
        return error
    raise AssertionError


FAULTS: dict[str, Callable[[], Exception]] = {
    "reset": lambda: ConnectionResetError("reset by peer"),
    "validation": _invalid,
    "tool_exception": lambda: ToolException("the bank said no"),
    "type_error": lambda: TypeError("'NoneType' object is not subscriptable"),
}


@dataclass
class Bank:
    """Pays, and fails as it is told to."""

    fault: str
    before: bool = False
    """True if it fails before the effect."""
    asynchronous: bool = True
    handled: bool = False
    """True if LangChain turns its exceptions into answers."""
    effects: list[str] = field(default_factory=list)
    entries: int = 0

    def pay(self, q: str, key: str = "") -> Any:
        """Pay once; the same key pays once in all."""
        self.entries += 1
        if self.before:
            raise FAULTS[self.fault]()
        if not key or key not in self.effects:
            self.effects.append(key or q)
        if self.fault == "answers_error":
            return ToolMessage("declined", tool_call_id="call_1_1", name="pay", status="error")
        if self.fault != "none":
            raise FAULTS[self.fault]()
        return f"paid {q}"

    def tools(self) -> list[Any]:
        """The tool and its probe."""

        async def pay(q: str, key: str = "") -> Any:
            return self.pay(q, key)

        async def look(q: str) -> dict[str, Any]:
            return {"happened": bool(self.effects), "result": "paid, says the probe"}

        def sync_pay(q: str, key: str = "") -> Any:
            return self.pay(q, key)

        def sync_look(q: str) -> dict[str, Any]:
            return {"happened": bool(self.effects), "result": "paid, says the probe"}

        how: dict[str, Any] = {"description": "Pay.", "handle_tool_error": self.handled}
        if self.asynchronous:
            tool = StructuredTool.from_function(coroutine=pay, name="pay", **how)
            return [
                tool,
                StructuredTool.from_function(coroutine=look, name="look", description="Look."),
            ]
        tool = StructuredTool.from_function(func=sync_pay, name="pay", **how)
        return [
            tool,
            StructuredTool.from_function(func=sync_look, name="look", description="Look."),
        ]


class Repeating(AgentMiddleware[Any, Any, Any]):
    """Asks three times, whatever the answer is."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """See :meth:`awrap_tool_call`."""
        answer: Any = None
        for _ in range(3):
            try:
                answer = handler(request)
            except Exception as error:  # noqa: BLE001 - as such middleware is written
                answer = ToolMessage(
                    f"failed ({error}), try again", tool_call_id=request.tool_call["id"]
                )
        return answer

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call the handler three times; the last answer counts."""
        answer: Any = None
        for _ in range(3):
            try:
                answer = await handler(request)
            except Exception as error:  # noqa: BLE001 - as such middleware is written
                answer = ToolMessage(
                    f"failed ({error}), try again", tool_call_id=request.tool_call["id"]
                )
        return answer


def _retry() -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)


AROUND: dict[str, Callable[[AsyncGuardMiddleware], list[Any]]] = {
    "nothing": lambda guard: [guard],
    "retry_inside": lambda guard: guard_middleware([_retry()], guard=guard),
    "retry_outside": lambda guard: [_retry(), guard],
    "repeating_inside": lambda guard: [guard, Repeating()],
    "repeating_outside": lambda guard: [Repeating(), guard],
}


def insisting(attempts: int = 2) -> Callable[[Any, Any], Any]:
    """A model that makes the call again until it reads that it was paid."""

    def step(messages: Any, tools: Any) -> Any:
        made = sum(
            isinstance(message, AIMessage) and bool(message.tool_calls) for message in messages
        )
        told = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        done = bool(told) and "paid" in told[-1]
        return "all done" if done or made >= attempts else calls(("pay", {"q": "rent"}))

    return step


def play(bank: Bank, level: str, around: str | None) -> Any:
    """Run an agent that pays; without ``around`` it is built by ``build_agent``."""
    spec = SPECS[level]
    specs = [ToolSpec(name="look", effect=EffectClass.PURE), *([] if spec is None else [spec])]
    model = ScriptedChatModel(insisting())
    if around is None:
        agent: Any = build_agent(model, bank.tools(), specs=specs, config=CONFIG)
    else:
        guard = AsyncGuardMiddleware(specs=specs, config=CONFIG)
        agent = create_agent(model, bank.tools(), middleware=AROUND[around](guard))
    given = {"messages": [("user", "Pay the rent.")]}
    state = run_virtual(agent.ainvoke(given)).result if bank.asynchronous else agent.invoke(given)
    for request in model.requests:
        check_history_all(request.messages)
    return state


def outcomes(state: Any) -> dict[str, int]:
    """Return the number of calls in each state."""
    found: dict[str, int] = state["report"]["tasks"][0]["calls"]
    return found


FAULTY = [*FAULTS, "answers_error", "none"]
CELLS = [(fault, False) for fault in FAULTY] + [("reset", True), ("validation", True)]
"""Faults, each with True if it occurs before the effect."""
SYNC = ("undeclared", "idempotent")
"""Levels that are tried through the sync entry, too; there time is real."""
ALIKE = {("at_most_once", True), ("pure", True), ("idempotent", False)}
"""Levels that behave as another one here: as undeclared tools, or as tools that may be repeated."""


def _cell(level: str, *, asynchronous: bool) -> Any:
    slow = (level, asynchronous) in ALIKE
    return (
        pytest.param(level, asynchronous, marks=pytest.mark.slow) if slow else (level, asynchronous)
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("fault", "before"), CELLS)
@pytest.mark.parametrize(
    ("level", "asynchronous"),
    [_cell(level, asynchronous=True) for level in SPECS]
    + [_cell(level, asynchronous=False) for level in SYNC],
)
@pytest.mark.parametrize("around", [None, *AROUND])
def test_no_middleware_repeats_an_effect(
    around: str | None, level: str, asynchronous: bool, fault: str, before: bool
) -> None:
    """An effect that must not be repeated happens once, and is in doubt exactly where it may have begun."""
    bank = Bank(fault, before=before, asynchronous=asynchronous)
    state = play(bank, level, around)
    ended = outcomes(state)
    if level == "keyed" and fault not in ("answers_error", "none"):
        assert len(bank.effects) <= 1  # under one key; a call of the model's would have another one
        assert ended["in_doubt"] == 1
    elif level in REPEATABLE:
        assert "in_doubt" not in ended
        assert level != "keyed" or len(set(bank.effects)) == len(bank.effects)
    elif fault == "answers_error":  # believed: its calls are the model's
        assert len(bank.effects) == bank.entries == sum(ended.values())
        assert "in_doubt" not in ended
    elif fault == "none":
        assert bank.effects == ["rent"]
        assert ended == {"done": 1}
    elif level == "probed":
        assert len(bank.effects) <= 1
        assert "in_doubt" not in ended  # the probe says what happened
    else:
        assert len(bank.effects) == (0 if before else 1)
        assert bank.entries == 1
        assert ended["in_doubt"] == 1
        assert not any("try again" in str(message.content) for message in state["messages"])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("level", SPECS)
@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("handled", [True, False], ids=["handled", "raised"])
def test_both_front_ends_agree(level: str, fault: str, handled: bool) -> None:
    """Effects and outcomes are the same, whether LangChain turns the tool's exceptions into answers or not."""
    first, second = Bank(fault, handled=handled), Bank(fault, handled=handled)
    graph, middleware = play(first, level, None), play(second, level, "nothing")
    assert outcomes(graph) == outcomes(middleware)
    assert (len(first.effects), first.entries) == (len(second.effects), second.entries)
