"""Answers of other tools, in other units and in any order: converted and marked, or not reported as right."""

import json
from itertools import permutations
from typing import Any

import pytest

from asyncguard import EffectClass, Fallback, GuardConfig, Ports, Source, ToolFault, ToolSpec
from asyncguard.testing import ScriptedChatModel, ScriptedTool, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script
from tests.adapters.recovery.test_recovery import (
    ARGUMENTS,
    EXACT,
    PRICE,
    Bank,
    Log,
    ask,
    price,
    quoting,
    shop,
)

CENTS = {**PRICE, "properties": {"price": {"type": "number", "unit": "cent"}}}
PLAIN = {**PRICE, "properties": {"price": {"type": "number"}}}


def priced(name: str, schema: Any, **declaration: Any) -> ToolSpec:
    """The declaration of a tool that answers with a price."""
    return pure(name, result_schema=schema, parameters=ARGUMENTS, **declaration)


def told(outcome: Outcome, call_id: str = "call_1_1") -> tuple[Any, str]:
    """The value that the model was shown, and the mark beside it."""
    first, _, mark = outcome.answer(call_id).partition("\n")
    return json.loads(first), mark


# -- siblings ------------------------------------------------------------------------------------------------------


def test_a_sibling_in_another_unit_is_converted_and_marked(agent_of: AgentOf) -> None:
    """Its own declaration says what its number counts."""
    tools = [shop(ValueError("closed")), shop(price(1240), name="other")]
    outcome, log = ask(
        agent_of, tools, quoting(fallbacks=(Fallback(tool="other"),)), priced("other", CENTS)
    )
    value, mark = told(outcome)
    assert value == {"price": 12.4}
    assert mark.startswith("[asyncguard:")
    assert "converted the number in 'price' from cent to EUR" in mark
    assert log.actions == ["fallback", "normalise"]


def test_a_sibling_in_milliseconds_answers_in_seconds(agent_of: AgentOf) -> None:
    """A bare number in milliseconds is converted to seconds."""
    tools = [shop(ValueError("closed")), shop("4200", name="other")]
    seconds, millis = ({"type": "number", "unit": unit} for unit in ("s", "ms"))
    outcome, _ = ask(
        agent_of,
        tools,
        priced("quote", seconds, fallbacks=(Fallback(tool="other"),)),
        priced("other", millis),
    )
    assert told(outcome)[0] == 4.2


@pytest.mark.parametrize("unit", ["USD", "kg", "credits"])
def test_a_sibling_whose_unit_does_not_convert_is_not_used(unit: str, agent_of: AgentOf) -> None:
    """The next one is asked; without a next one the call fails and says so."""
    foreign = {**PRICE, "properties": {"price": {"type": "number", "unit": unit}}}
    tools = [shop(ValueError("closed")), shop(price(12.4), name="b"), shop(price(9.0), name="c")]
    both = (Fallback(tool="b"), Fallback(tool="c"))
    outcome, _ = ask(agent_of, tools, quoting(fallbacks=both), priced("b", foreign), quoting("c"))
    assert told(outcome)[0] == {"price": 9.0}
    tools = [shop(ValueError("closed")), shop(price(12.4), name="b")]
    outcome, _ = ask(agent_of, tools, quoting(fallbacks=both[:1]), priced("b", foreign))
    assert outcome.states("main") == {"failed": 1}
    assert "cannot be brought into the declared form and units" in outcome.answer("call_1_1")


def test_a_sibling_that_names_a_unit_where_the_tool_names_none(agent_of: AgentOf) -> None:
    """A field without a unit has no room for one: the answer fails, and the model reads it with the reason."""
    tools = [shop(ValueError("closed")), shop(price(1240), name="other")]
    outcome, _ = ask(
        agent_of,
        tools,
        priced("quote", PLAIN, fallbacks=(Fallback(tool="other"),)),
        priced("other", CENTS),
    )
    assert outcome.states("main") == {"failed": 1}
    assert 'It was: {"price": 1240}' in outcome.answer("call_1_1")


def test_a_sibling_without_a_unit_is_taken_at_the_declared_one_and_marked(
    agent_of: AgentOf,
) -> None:
    """It was named to stand in; that its declaration leaves the unit out is told."""
    tools = [shop(ValueError("closed")), shop(price(12.4), name="other")]
    outcome, _ = ask(
        agent_of, tools, quoting(fallbacks=(Fallback(tool="other"),)), priced("other", PLAIN)
    )
    value, mark = told(outcome)
    assert value == {"price": 12.4}
    assert "took the number of 'price' to be in EUR" in mark


def test_a_sibling_of_a_tool_that_declares_nothing_is_told_with_its_units(
    agent_of: AgentOf,
) -> None:
    """The model may judge what the number counts; the runtime hands it to no other call."""
    look = scripted_tool("look", lambda a: f"found {a['cost']}", args={"cost": float})
    tools = [shop(ValueError("closed")), shop(price(1240), name="other"), look]
    both = calls(
        ("quote", {"item": "nut"}),
        ("look", {"cost": {"from_call": "quote#1", "pointer": "/price"}}),
    )
    specs = [
        pure("quote", parameters=ARGUMENTS, fallbacks=["other"]),
        priced("other", CENTS),
        pure("look"),
    ]
    outcome = agent_of(
        ScriptedChatModel(script(both)), tools, specs=specs, config=GuardConfig(timing=EXACT)
    ).run("Go.")
    value, mark = told(outcome)
    assert value == {"price": 1240}
    assert "price in cent" in mark
    assert look.calls == []


def test_an_effect_of_a_sibling_is_converted_too(agent_of: AgentOf) -> None:
    """The answer of the sibling's effect is converted from the sibling's unit."""
    pay = scripted_tool("pay", [ToolFault("closed", started=False)], args={"item": str})
    other = scripted_tool("other", [price(1240)], args={"item": str})
    specs = [
        ToolSpec(
            name="pay", effect=EffectClass.IDEMPOTENT, result_schema=PRICE, fallbacks=("other",)
        ),
        ToolSpec(name="other", effect=EffectClass.IDEMPOTENT, result_schema=CENTS),
    ]
    outcome, _ = ask(agent_of, [pay, other], *specs)
    assert told(outcome)[0] == {"price": 12.4}


# -- sources, verifiers, probes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["sources", "verifier"])
def test_another_derivation_in_another_unit_is_converted_and_marked(
    role: str, agent_of: AgentOf
) -> None:
    """A value that replaces a failed answer is shown in the unit that the model knows."""
    tools = [shop(ValueError("closed")), shop(price(1240), name="other")]
    helper: Any = (Source(tool="other"),) if role == "sources" else Fallback(tool="other")
    outcome, _ = ask(agent_of, tools, quoting(**{role: helper}), priced("other", CENTS))
    value, mark = told(outcome)
    assert value == {"price": 12.4}
    assert "from cent to EUR" in mark


def test_sources_in_different_units_agree(agent_of: AgentOf) -> None:
    """They are compared in one unit: 90 euros are 9000 cents, however the one tool that says 900 is doubted."""
    tools = [shop(price(900)), shop(price(90), name="b"), shop(price(9000), name="c")]
    spec = quoting(sources=(Source(tool="b"), Source(tool="c")))
    outcome, _ = ask(agent_of, tools, spec, quoting("b"), priced("c", CENTS))
    assert told(outcome)[0] == {"price": 90}


@pytest.mark.parametrize("schema", [PRICE, None], ids=["declared", "undeclared"])
def test_the_sources_of_a_tool_that_failed_agree_in_different_units(
    schema: Any, agent_of: AgentOf
) -> None:
    """Without a declaration of the failed tool the sources are compared in the first one's form."""
    tools = [shop(ValueError("closed")), shop(price(12.4), name="b"), shop(price(1240), name="c")]
    spec = priced("quote", schema, sources=(Source(tool="b"), Source(tool="c")))
    outcome, _ = ask(agent_of, tools, spec, quoting("b"), priced("c", CENTS))
    value, mark = told(outcome)
    assert value == {"price": 12.4}
    assert "b, c agree" in mark


def test_calls_to_sources_in_different_units_are_no_conflict(agent_of: AgentOf) -> None:
    """Answers of two tools that the model asked are compared after conversion."""
    tools = [shop(price(12.4)), shop(price(1240), name="other")]
    steps = script(calls(("other", {"item": "nut"})), calls(("quote", {"item": "nut"})))
    specs = [quoting(sources=(Source(tool="other"),)), priced("other", CENTS)]
    log = Log()
    agent = agent_of(
        ScriptedChatModel(steps),
        tools,
        specs=specs,
        config=GuardConfig(timing=EXACT),
        ports=Ports(observers=[log]),
    )
    outcome = agent.run("Go.")
    assert outcome.answer("call_2_1") == price(12.4)
    assert log.hazards == []


def test_the_noise_of_fractions_is_no_conflict(agent_of: AgentOf) -> None:
    """0.1 + 0.2 agrees with 0.3."""
    wide = {**PRICE, "properties": {"price": {"type": "number", "unit": "EUR"}}}
    tools = [shop(price(0.1 + 0.2)), shop(price(0.3), name="other")]
    steps = script(calls(("other", {"item": "nut"})), calls(("quote", {"item": "nut"})))
    specs = [priced("quote", wide, sources=(Source(tool="other"),)), priced("other", wide)]
    outcome = agent_of(
        ScriptedChatModel(steps), tools, specs=specs, config=GuardConfig(timing=EXACT)
    ).run("Go.")
    assert outcome.answer("call_2_1") == price(0.1 + 0.2)


@pytest.mark.parametrize(("unit", "expected"), [("cent", {"price": 12.4}), ("USD", None)])
def test_what_a_probe_knows_is_in_its_own_unit(unit: str, expected: Any, agent_of: AgentOf) -> None:
    """Converted and marked; where it does not convert, the result of the effect is not known."""
    bank = Bank(lost=1)
    found = {"properties": {"happened": {"type": "boolean"}, "result": {**CENTS, "properties": {}}}}
    found["properties"]["result"]["properties"] = {"price": {"type": "number", "unit": unit}}
    check = scripted_tool(
        "check", ['{"happened": true, "result": {"price": 1240}}'], args={"item": str}
    )
    spec = ToolSpec(name="pay", effect=EffectClass.PROBED, probe="check", result_schema=PRICE)
    outcome, _ = ask(
        agent_of, [bank.pay, check], spec, pure("check", result_schema={"type": "object", **found})
    )
    if expected is None:
        assert outcome.answer("call_1_1").startswith("It took effect; its result is not known.")
    else:
        value, mark = told(outcome)
        assert value == expected
        assert "from cent to EUR" in mark
    assert bank.payments == 1


# -- order ---------------------------------------------------------------------------------------------------------


def in_order(
    agent_of: AgentOf, tools: dict[str, ScriptedTool], specs: list[ToolSpec], order: Any
) -> Outcome:
    """A run in which the model asks the tools one after the other about the same."""
    steps = script(*(calls((name, {"item": "nut"})) for name in order))
    agent = agent_of(
        ScriptedChatModel(steps),
        list(tools.values()),
        specs=specs,
        config=GuardConfig(timing=EXACT),
    )
    return agent.run("Go.")


@pytest.mark.parametrize(
    "mutual", [False, True], ids=["one names the other", "both name each other"]
)
@pytest.mark.parametrize("order", [("quote", "registry"), ("registry", "quote")], ids=" then ".join)
def test_the_trusted_tool_is_believed_whichever_was_called_first(
    order: tuple[str, ...], mutual: bool, agent_of: AgentOf
) -> None:
    """The later of the two calls brings the trusted value, and says that the other said something else."""
    tools = {"quote": shop(price(400)), "registry": shop(price(12.5), name="registry")}
    specs = [
        quoting(sources=(Source(tool="registry", trusted=True),)),
        quoting("registry", sources=(Source(tool="quote"),) if mutual else ()),
    ]
    value, mark = told(in_order(agent_of, tools, specs, order), "call_2_1")
    assert value == {"price": 12.5}
    assert "quote said something else" in mark


@pytest.mark.parametrize("order", [*permutations("abc")], ids="".join)
def test_a_majority_is_the_same_in_any_order(order: tuple[str, ...], agent_of: AgentOf) -> None:
    """The last call gives the value of the majority, in whatever order the three were made."""
    tools = {
        name: shop(*[price(value)] * 3, name=name)
        for name, value in zip("abc", (90, 90, 300), strict=True)
    }
    specs = [quoting("a", sources=(Source(tool="b"), Source(tool="c"))), quoting("b"), quoting("c")]
    value, _ = told(in_order(agent_of, tools, specs, order), "call_3_1")
    assert value == {"price": 90}


@pytest.mark.parametrize("order", [("quote", "other"), ("other", "quote")], ids=" then ".join)
def test_a_tie_is_reported_in_either_order(order: tuple[str, ...], agent_of: AgentOf) -> None:
    """Neither of two sources that differ is reported as right, in either order of the calls."""
    tools = {
        "quote": shop(price(400)),
        "other": scripted_tool("other", [price(12.5)], args={"thing": str}),
    }
    specs = [
        quoting(sources=(Source(tool="other", arguments={"thing": "item"}),)),
        pure("other", result_schema=PRICE),
    ]
    steps = script(
        *(calls((name, {"item" if name == "quote" else "thing": "nut"})) for name in order)
    )
    outcome = agent_of(
        ScriptedChatModel(steps),
        list(tools.values()),
        specs=specs,
        config=GuardConfig(timing=EXACT),
    ).run("Go.")
    assert "Sources disagree and none decides" in outcome.answer("call_2_1")


def test_a_tool_that_is_only_named_as_a_source_is_never_answered_for(agent_of: AgentOf) -> None:
    """That others name it makes them no help for its own failures."""
    tools = [shop(ValueError("closed"), name="registry"), shop(price(5.0))]
    outcome, _ = ask(
        agent_of, tools, quoting("registry"), quoting(sources=(Source(tool="registry"),))
    )
    assert outcome.states("main") == {"failed": 1}
    assert tools[1].calls == []


# -- contracts -----------------------------------------------------------------------------------------------------


def test_the_unit_of_a_changed_contract_is_told(agent_of: AgentOf) -> None:
    """An amount in another currency does not convert: only its unit tells it from the refused one."""

    def amount(unit: str) -> dict[str, Any]:
        field = {"type": "number", "unit": unit}
        return {"type": "object", "properties": {"amount": field}, "required": ["amount"]}

    pay = scripted_tool(
        "pay", [ToolFault("?", started=False, status=422, transient=False)], args={"amount": float}
    )
    describe = scripted_tool("describe", [{"parameters": amount("USD")}], args={"tool": str})
    specs = [ToolSpec(name="pay", parameters=amount("EUR"), contract="describe"), pure("describe")]
    model = ScriptedChatModel(script(calls(("pay", {"amount": 19.99}))))
    outcome = agent_of(model, [pay, describe], specs=specs).run("Pay 19.99 euros.")
    assert "its arguments: amount (required, in USD)." in outcome.answer("call_1_1")
