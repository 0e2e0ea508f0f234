"""Effects in doubt that recovery began by a sibling, or with other arguments, are not begun again."""

from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from asyncguard import EffectClass, Fallback, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, ScriptedTool, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

BILL = {"amount": 20, "to": "Ada"}
OTHERS = {"total": 20, "payee": "Ada"}
DOWN = ToolFault("down", started=False, transient=False)
SIBLING = Fallback(tool="wire", arguments={"total": "amount", "payee": "to"})
SPECS = (
    ToolSpec(name="pay", reads=(), writes=(), fallbacks=(SIBLING,)),
    ToolSpec(name="wire", reads=(), writes=(), timeout=5.0),
)


def banks(*outcomes: Any, latency: float = 0.0) -> tuple[ScriptedTool, ScriptedTool]:
    """A bank that is down, and its sibling."""
    wire = scripted_tool("wire", list(outcomes), args={"total": int, "payee": str}, latency=latency)
    return scripted_tool("pay", [DOWN, DOWN], args={"amount": int, "to": str}), wire


@pytest.mark.parametrize(
    ("outcome", "latency"),
    [(RuntimeError("lost"), 0.0), ("paid late", 50.0)],
    ids=["raised", "slow"],
)
def test_the_model_cannot_repeat_what_a_sibling_began(
    outcome: Any, latency: float, agent_of: AgentOf
) -> None:
    """The sibling's payment is in doubt, also while its attempt still runs: the model's is refused."""
    pay, wire = banks(outcome, outcome, latency=latency)
    model = ScriptedChatModel(script(calls(("pay", BILL)), calls(("wire", OTHERS))))
    result = agent_of(model, [pay, wire], specs=SPECS).run("Pay 20 euros to Ada.")
    assert [call.args for call in wire.calls] == [OTHERS]
    assert "pay#1 did the same and its outcome is unknown" in result.text


def test_another_payment_by_the_sibling_is_none_of_that(agent_of: AgentOf) -> None:
    """Other arguments are another payment."""
    pay, wire = banks(RuntimeError("lost"), "paid")
    again = {**OTHERS, "total": 30}
    model = ScriptedChatModel(script(calls(("pay", BILL)), calls(("wire", again))))
    agent_of(model, [pay, wire], specs=SPECS).run("Pay 20 and 30 euros to Ada.")
    assert [call.args for call in wire.calls] == [OTHERS, again]


def test_recovery_passes_over_a_sibling_whose_equal_call_is_in_doubt(agent_of: AgentOf) -> None:
    """The model pays by the sibling, in doubt, and then by the bank that is down."""
    pay, wire = banks(RuntimeError("lost"), "paid")
    model = ScriptedChatModel(script(calls(("wire", OTHERS)), calls(("pay", BILL))))
    result = agent_of(model, [pay, wire], specs=SPECS).run("Pay 20 euros to Ada.")
    assert (len(pay.calls), len(wire.calls)) == (1, 1)
    assert result.report["in_doubt"] == ["main/wire#1"]
    assert "use wire" not in result.text


def test_a_rebound_call_in_doubt_is_not_repeated_in_its_new_form(agent_of: AgentOf) -> None:
    """The live contract takes cents; the model reads it and pays in cents what is in doubt."""
    sent: list[dict[str, Any]] = []

    async def run(**given: Any) -> str:
        sent.append(given)
        if "amount" in given:
            raise ToolFault("unknown field", started=False, transient=False, status=422)
        raise RuntimeError("lost")

    def schema(name: str, unit: str) -> dict[str, Any]:
        field = {"type": "number", "unit": unit}
        return {"type": "object", "properties": {name: field}, "required": [name]}

    pay = StructuredTool(
        name="pay", description="Pay.", args_schema=schema("amount", "EUR"), coroutine=run
    )
    live = {"parameters": schema("amount_cents", "cents")}
    contract = scripted_tool("contract", [live, live], args={"tool": str})
    specs = (
        ToolSpec(name="pay", effect=EffectClass.AT_MOST_ONCE, contract="contract"),
        pure("contract"),
    )
    cents = {"amount_cents": 2000}
    proposed = [("pay", {"amount": 20}), ("contract", {"tool": "pay"}), ("pay", cents)]
    model = ScriptedChatModel(script(*map(calls, proposed)))
    result = agent_of(model, [pay, contract], specs=specs).run("Pay 20 euros.")
    assert sent == [{"amount": 20}, cents]
    assert result.report["in_doubt"] == ["main/pay#1"]
