import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.harness.pointers import put, resolve
from asyncguard_benchmark.harness.scenario import HELD_OUT_DOMAINS
from asyncguard_benchmark.services.catalogue import toolset_of
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.hazards.held_out_modes import HELD_OUT_MODES
from asyncguard_benchmark.suites.hazards.mode_table import DEVELOPMENT_MODES
from asyncguard_benchmark.suites.hazards.result_modes import SMALLER
from asyncguard_benchmark.suites.hazards.shapes import field_at, renamed
from asyncguard_benchmark.suites.hazards.tasks import load_hazard_tasks

_STRUCTURE = {"type", "enum", "const", "pattern", "required", "additionalProperties"}
"""Keywords that say what form a value has; limits are none of them."""


@cache
def calls() -> tuple[tuple[Tool, Mapping[str, Any], Any], ...]:
    """A gold call of every tool of the held-out domains, with its clean result; of siblings, that of one."""
    found: dict[str, tuple[Tool, Mapping[str, Any], Any]] = {}
    told: set[str] = set()
    for domain in sorted(HELD_OUT_DOMAINS):
        tools = toolset_of(domain).tools
        for task in load_hazard_tasks(domain):
            executor = Executor(tools, task.sub_task.initial_state)
            for call in task.sub_task.gold[:-1]:
                result = json.loads(executor.call(call.tool, call.arguments))
                told |= {other.tool for other in tools[call.tool].remedies.sources} - set(found)
                if call.tool not in told:
                    found.setdefault(call.tool, (tools[call.tool], call.arguments, result))
    return tuple(found.values())


@pytest.fixture(params=HELD_OUT_MODES, ids=lambda mode: mode.name)
def mode(request: pytest.FixtureRequest) -> Mode:
    """Each held-out mode."""
    found: Mode = request.param
    return found


def spots(mode: Mode) -> Iterator[tuple[Spot, Mapping[str, Any], Any]]:
    """Everywhere the mode can be put, at every severity, with a clean call of the tool."""
    for tool, arguments, result in calls():
        for site in mode.sites(tool):
            for severity in (1, 2, 3):
                yield (
                    Spot(tool=tool, site=site, severity=severity, seed=severity),
                    arguments,
                    result,
                )


@cache
def _validator(text: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(text))


def breaks(schema: Mapping[str, Any], value: Any) -> set[str]:
    """The keywords of a schema that a value breaks."""
    return {str(each.validator) for each in _validator(json.dumps(schema)).iter_errors(value)}


def read(text: str) -> Any:
    """A written answer, read back."""
    return json.loads(text)


def drifted(mode: Mode, result: Any, spot: Spot) -> Any:
    """A clean result as the caller gets to read it."""
    return read(mode.write(json.dumps(mode.answer(result, spot)), spot))


def test_a_third_of_all_modes_is_held_out_under_names_of_their_own() -> None:
    """Names are unique among all modes, and every hazard but breakdowns is there."""
    names = [mode.name for mode in (*DEVELOPMENT_MODES, *HELD_OUT_MODES)]
    assert len(set(names)) == len(names)
    assert 3 * len(HELD_OUT_MODES) >= len(names)
    assert {mode.hazard for mode in HELD_OUT_MODES} == set(Hazard) - {Hazard.EXECUTION}


def test_every_held_out_domain_has_a_place_where_the_mode_can_be_survived(mode: Mode) -> None:
    """There are open ways on a tool of each domain that gold calls use; failpoints and hints are told."""
    for domain in HELD_OUT_DOMAINS:
        tools = toolset_of(domain).tools
        assert any(spot.tool.name in tools and mode.ways(spot) for spot, _, _ in spots(mode)), (
            domain
        )
    for spot, _, _ in spots(mode):
        assert spot.tool.name in mode.hint(spot)
    assert mode.failpoints
    assert set(mode.failpoints) <= set(Failpoint)


def test_a_way_is_claimed_only_where_it_is_declared(mode: Mode) -> None:
    """Fallback, sources and verifier are open where the tool declares them."""
    for spot, _, _ in spots(mode):
        remedies, ways = spot.tool.remedies, mode.ways(spot)
        assert Way.FALLBACK not in ways or remedies.fallbacks
        assert Way.CROSS_CHECK not in ways or len(remedies.sources) >= 2
        assert Way.VERIFY not in ways or remedies.verifier or remedies.probe


def test_drift_is_visible_where_it_says_so_and_only_there(mode: Mode) -> None:
    """A visible mode breaks the structure of the declared result, an invisible one breaks nothing of it."""
    for spot, _, result in spots(mode):
        returns = spot.tool.remedies.returns or {}
        broken = breaks(returns, drifted(mode, result, spot))
        assert bool(broken & _STRUCTURE) is mode.visible, (spot.tool.name, spot.site, spot.severity)
        assert mode.visible or not broken


def test_clean_values_are_left_alone_and_nothing_is_changed_in_place(mode: Mode) -> None:
    """The given values stay as they were; the same spot does the same again."""
    for spot, arguments, result in spots(mode):
        before = json.dumps([arguments, result])
        twice = [
            json.dumps([mode.transit(arguments, spot), drifted(mode, result, spot)])
            for _ in range(2)
        ]
        assert json.dumps([arguments, result]) == before
        assert twice[0] == twice[1]


def test_live_contracts_are_schemas_that_fit_the_answers(mode: Mode) -> None:
    """A drifted result fits the schema that `describe_tool` would return, in each live contract."""
    for spot, _, result in spots(mode):
        live, before = mode.live(spot), declared(spot.tool)
        if mode.hazard is not Hazard.SPECIFICATION:
            assert live == before
            continue
        assert (live.parameters != before.parameters) is not (live.returns != before.returns)
        Draft202012Validator.check_schema(
            live.parameters if live.returns == before.returns else live.returns or {}
        )
        assert breaks(live.returns or {}, drifted(mode, result, spot)) == set()


def _in_a_list(arguments: Mapping[str, Any], spot: Spot, live: Contract) -> Mapping[str, Any]:
    (new,) = [
        name
        for name, schema in live.parameters["properties"].items()
        if schema.get("type") == "array"
    ]
    wrapped: Mapping[str, Any] = renamed(
        {**arguments, spot.site[1:]: [arguments[spot.site[1:]]]}, spot.site, new
    )
    return wrapped


def _in_the_smaller_unit(
    arguments: Mapping[str, Any], spot: Spot, live: Contract
) -> Mapping[str, Any]:
    (new,) = set(live.parameters["properties"]) - set(arguments)
    _, factor = SMALLER[field_at(spot.tool.parameters, spot.site)["unit"]]
    smaller: Mapping[str, Any] = renamed(
        {**arguments, spot.site[1:]: round(arguments[spot.site[1:]] * factor, 6)}, spot.site, new
    )
    return smaller


def _with_what_is_fixed(
    arguments: Mapping[str, Any], spot: Spot, live: Contract
) -> Mapping[str, Any]:
    added = {
        name: schema
        for name, schema in live.parameters["properties"].items()
        if name not in arguments
    }
    fixed = {
        name: schema["default"]
        if "default" in schema
        else schema["const"]
        if "const" in schema
        else schema["enum"][0]
        for name, schema in added.items()
    }
    return {**arguments, **fixed}


_BOUND: Mapping[str, Callable[[Mapping[str, Any], Spot, Contract], Mapping[str, Any]]] = {
    "argument_listed": _in_a_list,
    "argument_in_smaller_unit": _in_the_smaller_unit,
    "argument_added": _with_what_is_fixed,
}


@pytest.mark.parametrize("name", _BOUND)
def test_a_call_as_declared_is_refused_and_bound_anew_it_is_the_same_call(name: str) -> None:
    """The live contract says enough to make the call again, and the tool gets the arguments that were meant."""
    mode = next(each for each in HELD_OUT_MODES if each.name == name)
    used = 0
    for spot, arguments, _ in spots(mode):
        live = mode.live(spot)
        bound = _BOUND[name](arguments, spot, live)
        assert breaks(live.parameters, arguments)
        assert breaks(live.parameters, bound) == set()
        assert mode.accept(bound, spot) == arguments
        assert Way.REFRESH in mode.ways(spot)
        used += 1
    assert used >= 20


def _of_page(value: Any, _spot: Spot, _live: Contract) -> Any:
    value = value.get("_embedded", value)
    (found,) = next(item for item in value.values() if isinstance(item, list))
    return found


def _day(value: Any, spot: Spot, live: Contract) -> Any:
    told = field_at(live.returns, spot.site)
    moment = resolve(value, spot.site)
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(
            moment / (1000 if told["unit"] == "ms" else 1), tz=UTC
        ).isoformat()
    return put(value, spot.site, moment[:10])


def _word(value: Any, spot: Spot, live: Contract) -> Any:
    told = field_at(live.returns, spot.site)
    number = resolve(value, spot.site)
    named = {each["const"]: each["title"] for each in told.get("oneOf", ())} or {
        int(pair.split(" = ")[0][-1]): pair.split(" = ")[1]
        for pair in told["description"].split(", ")
        if " = " in pair
    }
    return put(value, spot.site, named[number])


def _number(value: Any, spot: Spot, _live: Contract) -> Any:
    whole, point, decimals = _split(resolve(value, spot.site))
    assert len(decimals) != 3, f"{point} could separate thousands"
    return put(value, spot.site, float(f"{whole}.{decimals}"))


def _split(text: str) -> tuple[str, str, str]:
    place = max(text.rfind("."), text.rfind(","))
    return "".join(filter(str.isdigit, text[:place])), text[place], text[place + 1 :]


def _declared_only(value: Any, spot: Spot, _live: Contract) -> Any:
    return {
        name: item
        for name, item in value.items()
        if name in (spot.tool.remedies.returns or {})["properties"]
    }


_RESTORED: Mapping[str, Callable[[Any, Spot, Contract], Any]] = {
    "result_paged": _of_page,
    "date_as_timestamp": _day,
    "word_numbered": _word,
    "number_localised": _number,
    "deprecation_noted": _declared_only,
}


@pytest.mark.parametrize("name", _RESTORED)
def test_an_answer_can_be_restored_without_a_guess(name: str) -> None:
    """Normalisation or the live contract restores the clean result where a mode claims so."""
    mode = next(each for each in HELD_OUT_MODES if each.name == name)
    used = 0
    for spot, _, result in spots(mode):
        if {Way.NORMALISE, Way.REFRESH} & set(mode.ways(spot)):
            assert _RESTORED[name](drifted(mode, result, spot), spot, mode.live(spot)) == result
            used += 1
    assert used >= 20


def test_numbers_of_words_are_not_their_places() -> None:
    """The number of a word is never its place among the declared words."""
    mode = next(each for each in HELD_OUT_MODES if each.name == "word_numbered")
    for spot, _, result in spots(mode):
        words = field_at(spot.tool.remedies.returns, spot.site)["enum"]
        number = resolve(drifted(mode, result, spot), spot.site)
        assert 1 <= number <= len(words)
        assert words[number - 1] != resolve(result, spot.site)


def test_a_respelled_argument_is_refused_under_the_declared_contract() -> None:
    """The name is not one that the tool knows, and the value is lost with it."""
    mode = next(each for each in HELD_OUT_MODES if each.name == "argument_respelled")
    for spot, arguments, _ in spots(mode):
        assert {"required", "additionalProperties"} <= breaks(
            spot.tool.parameters, mode.transit(arguments, spot)
        )
        assert mode.ways(spot) == (Way.RETRY,)


def test_rounding_strikes_every_number_but_zero_and_not_always_alike() -> None:
    """A rounded number is another one inside its limits, farther off the more severe the fault is."""
    mode = next(each for each in HELD_OUT_MODES if each.name == "rounded_value")
    off: dict[tuple[str, str], list[float]] = {}
    for spot, _, result in spots(mode):
        clean, rounded = resolve(result, spot.site), resolve(drifted(mode, result, spot), spot.site)
        assert clean == 0 or rounded != clean
        assert isinstance(rounded, int) or not isinstance(clean, int)
        off.setdefault((spot.tool.name, spot.site), []).append(abs(rounded - clean))
    assert any(len(set(each)) == 3 for each in off.values())


def test_a_withheld_value_is_nowhere_in_the_answer() -> None:
    """Null, left out, or an error: no way leads back from the answer itself."""
    mode = next(each for each in HELD_OUT_MODES if each.name == "field_withheld")
    for spot, _, result in spots(mode):
        assert not {Way.NORMALISE, Way.REFRESH, Way.RETRY} & set(mode.ways(spot))
        left = drifted(mode, result, spot)
        name = spot.site[1:]
        assert left.get(name) is None or left[name] == {"error": "upstream unavailable"}
        assert {key: item for key, item in left.items() if key != name} == {
            key: item for key, item in result.items() if key != name
        }
