"""Failures that prove that nothing began, so that another tool may have the effect instead."""

from typing import Any

import pydantic
import pytest

from asyncguard import EffectClass, Fallback, GuardConfig, Limits, Timing, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure

EXACT = Timing(grace=0.0, linger=0.0, retry_initial=1.0, retry_jitter=0.0)
CONFIG = GuardConfig(timing=EXACT, limits=Limits(max_attempts=2))
PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


class HttpError(Exception):
    """An HTTP error as client libraries raise it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.response = type("Response", (), {"status_code": status, "headers": {}})()


def bank(name: str, *outcomes: Any) -> Any:
    """A payment service."""
    return scripted_tool(name, list(outcomes), args={"q": str})


def paying(agent_of: AgentOf, first: Any, *specs: ToolSpec) -> tuple[Outcome, Any]:
    """One payment by the first bank, with a second one as its sibling."""
    second = bank("b", "paid by b")
    model = ScriptedChatModel([calls(("a", {"q": "x"})), "done"])
    return agent_of(model, [first, second], specs=specs, config=CONFIG).run("Pay x."), second


ATOMIC = ToolSpec(name="a", atomic=True, fallbacks=(Fallback(tool="b"),))


def _inner_type_error() -> Exception:
    return TypeError("settle() missing 1 required positional argument: 'account'")


def _after(before: Exception, after: Exception) -> Exception:
    """An exception that was raised while another one was being handled."""
    after.__context__ = before
    return after


BODY = [
    ValueError("odd receipt"),
    KeyError("receipt"),
    _inner_type_error(),
    TypeError("pay() got an unexpected keyword argument 'currency'"),
    HttpError(500),
    HttpError(406),
    HttpError(408),
    HttpError(409),
    HttpError(499),
    ToolFault("refused?", status=409),
    ConnectionRefusedError("down"),
    _after(HttpError(422), ValueError("in the handler, after more was done")),
    _after(HttpError(429), ValueError("in the handler, after more was done")),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("error", BODY, ids=lambda error: repr(error)[:40])
def test_no_error_of_the_tools_own_says_that_nothing_began(
    error: Exception, agent_of: AgentOf
) -> None:
    """An atomic tool had its effect, perhaps, and then failed by itself: no other bank pays."""
    first = bank("a", error)
    outcome, second = paying(agent_of, first, ATOMIC)
    assert (len(first.calls), second.calls) == (1, [])
    assert outcome.report["in_doubt"] == ["main/a#1"]


def test_a_validation_error_inside_an_atomic_tool_is_no_refusal(agent_of: AgentOf) -> None:
    """A validation error may come after the payment was made, so that no second bank pays."""

    def act(_: Any) -> Any:
        pydantic.TypeAdapter(int).validate_python("no number")

    outcome, second = paying(agent_of, scripted_tool("a", act, args={"q": str}), ATOMIC)
    assert second.calls == []
    assert outcome.report["in_doubt"] == ["main/a#1"]


REFUSED = [400, 401, 402, 403, 404, 410, 412, 415, 422, 423, 425, 429, 451]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("status", REFUSED)
def test_a_refusal_of_the_service_says_that_nothing_began(status: int, agent_of: AgentOf) -> None:
    """Its one request was not carried out: the second bank may pay."""
    first = bank("a", HttpError(status), HttpError(status))
    outcome, second = paying(agent_of, first, ATOMIC)
    assert len(second.calls) == 1
    assert outcome.report["in_doubt"] == []
    assert outcome.answer("call_1_1") == "paid by b"


def test_a_refusal_that_another_error_was_raised_from_counts(agent_of: AgentOf) -> None:
    """``raise ... from`` says that the refusal is the reason."""
    error = ValueError("the bank refused")
    error.__cause__ = HttpError(422)
    outcome, second = paying(agent_of, bank("a", error), ATOMIC)
    assert len(second.calls) == 1
    assert outcome.report["in_doubt"] == []


@pytest.mark.parametrize("effect", [EffectClass.KEYED, EffectClass.IDEMPOTENT])
@pytest.mark.parametrize("error", [ConnectionError("reset"), ValueError("odd receipt")], ids=repr)
def test_what_may_be_repeated_may_not_be_had_by_two_tools(
    effect: EffectClass, error: Exception, agent_of: AgentOf
) -> None:
    """The key is honoured by the bank that knows it, and by no other one: the second bank is not asked to pay, too."""
    key = "key" if effect is EffectClass.KEYED else None
    spec = ToolSpec(name="a", effect=effect, fallbacks=(Fallback(tool="b"),), key_argument=key)
    first = scripted_tool("a", [error, error], args={"q": str, "key": (str, "")})
    outcome, second = paying(agent_of, first, spec)
    assert second.calls == []
    assert "use b" not in outcome.answer("call_1_1")


def test_a_repeatable_effect_that_was_refused_may_be_had_elsewhere(agent_of: AgentOf) -> None:
    """Nothing had begun; and a sibling without an effect may always be asked."""
    fault = ToolFault("closed", started=False)
    spec = ToolSpec(name="a", effect=EffectClass.IDEMPOTENT, fallbacks=(Fallback(tool="b"),))
    outcome, second = paying(agent_of, bank("a", fault), spec)
    assert len(second.calls) == 1
    outcome, second = paying(agent_of, bank("a", ValueError("odd")), spec, pure("b"))
    assert outcome.answer("call_1_1") == "paid by b"


@pytest.mark.parametrize("effect", [EffectClass.KEYED, EffectClass.IDEMPOTENT])
def test_a_reader_asked_in_between_does_not_hide_what_may_have_begun(
    effect: EffectClass, agent_of: AgentOf
) -> None:
    """A sibling without an effect fails, too: the second bank is still not asked to pay."""
    key = "key" if effect is EffectClass.KEYED else None
    siblings = (Fallback(tool="read"), Fallback(tool="b"))
    spec = ToolSpec(name="a", effect=effect, fallbacks=siblings, key_argument=key)
    first = scripted_tool("a", [ValueError("odd receipt")], args={"q": str, "key": (str, "")})
    second, read = bank("b", "paid by b"), bank("read", ValueError("nothing there"))
    model = ScriptedChatModel([calls(("a", {"q": "x"})), "done"])
    specs = (spec, pure("read"))
    outcome = agent_of(model, [first, read, second], specs=specs, config=CONFIG).run("Pay x.")
    assert (len(first.calls), len(read.calls), len(second.calls)) == (1, 1, 0)
    assert outcome.report["in_doubt"] == (["main/a#1"] if key else [])
