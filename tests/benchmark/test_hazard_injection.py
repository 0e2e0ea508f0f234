"""Faults of tools: effects and places of each mode; a rewritten call does not escape a fault."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.environment import Environment
from asyncguard_benchmark.harness.episode import digest_of, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.fault_modes import HTTPStatusError, Mode
from asyncguard_benchmark.harness.fault_pipeline import Outcome, Pipeline
from asyncguard_benchmark.harness.faults import (
    Failpoint,
    Fault,
    Hazard,
    Profile,
    draw,
    taken,
)
from asyncguard_benchmark.harness.loading import (
    composition_from_json,
    composition_to_json,
    sub_task_to_json,
)
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime
from asyncguard_benchmark.services.common_tools import (
    ANSWER_KEY,
    DESCRIBE,
    PROBLEM_KEY,
    REPORT,
    SUBMIT,
)
from asyncguard_benchmark.services.service import serialise
from asyncguard_benchmark.suites.hazards.held_out_modes import HELD_OUT_MODES
from asyncguard_benchmark.suites.hazards.mode_table import DEVELOPMENT_MODES, MODES
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, alone, hazard_task_from_json
from tests.benchmark.builders import compose, played
from tests.benchmark.builders_hazards import TASKS, bound, fault_on, gold_results, spots, tool_of

LIMITS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
ARGUMENT_DRIFT = [
    mode
    for mode in DEVELOPMENT_MODES
    if mode.name.startswith("argument_") and mode.hazard == "specification"
]
MANGLING = [mode for mode in DEVELOPMENT_MODES if mode.hazard is Hazard.INVOCATION]
ANSWERS = [
    mode for mode in DEVELOPMENT_MODES if mode not in ARGUMENT_DRIFT and not mode.hazard.passes
]
BREAKDOWNS = [mode for mode in DEVELOPMENT_MODES if mode.hazard is Hazard.EXECUTION]


def named(mode: Mode) -> str:
    """A mode in the name of a test."""
    return mode.name


def broken_keywords(value: Any, schema: Any) -> set[str]:
    """Return the keywords of a schema that a value breaks."""
    errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value)
    return {error.validator for error in errors}


# -- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", DEVELOPMENT_MODES, ids=named)
def test_every_mode_finds_a_place(mode: Mode) -> None:
    """A mode says how it is survived and what a hint would be, without a value of the answer."""
    found = list(spots(mode))
    assert found
    assert all(mode.hint(spot) for spot, _, _ in found)
    assert any(mode.ways(spot) for spot, _, _ in found)


@pytest.mark.parametrize("mode", ARGUMENT_DRIFT, ids=named)
def test_a_drifted_contract_refuses_the_old_call_and_takes_the_new_one(mode: Mode) -> None:
    """Arguments for the live contract become those of the tool's code, value for value."""
    for spot, call, _ in spots(mode):
        live = Draft202012Validator(mode.live(spot).parameters)
        new = bound(call.arguments, mode.live(spot).parameters)
        assert not live.is_valid(dict(call.arguments))
        assert live.is_valid(new)
        assert mode.accept(new, spot) == call.arguments


@pytest.mark.parametrize("mode", ANSWERS, ids=named)
def test_what_comes_out_is_what_the_mode_says(mode: Mode) -> None:
    """Another answer than the clean one, which is left alone; its structure breaks if and only if that is claimed."""
    for spot, _, result in spots(mode):
        before = serialise(result)
        answer = mode.answer(result, spot)
        text = mode.write(serialise(answer), spot)
        assert serialise(result) == before
        assert text != before
        declared = spot.tool.remedies.returns
        try:
            broken = broken_keywords(json.loads(text), declared)
        except ValueError:
            broken = {"unreadable"}
        assert bool(broken - LIMITS) == mode.visible, (spot.tool.name, spot.site, text)
        if mode.hazard is Hazard.SPECIFICATION:
            assert not broken_keywords(answer, mode.live(spot).returns)
        else:
            assert mode.live(spot).returns == declared
        if mode.hazard is Hazard.CONFLICT:
            assert not broken


@pytest.mark.parametrize("mode", MANGLING, ids=named)
def test_mangled_arguments_are_refused(mode: Mode) -> None:
    """Always: an invocation error never becomes another call."""
    for spot, call, _ in spots(mode):
        assert not spot.tool.validator.is_valid(dict(mode.transit(call.arguments, spot)))


@pytest.mark.parametrize("mode", BREAKDOWNS, ids=named)
def test_breakdowns_raise_at_each_of_their_failpoints(mode: Mode) -> None:
    """Breakdowns change neither arguments nor answers."""
    spot, call, result = next(spots(mode))
    assert all(
        isinstance(mode.breakdown(spot, failpoint), Exception) for failpoint in mode.failpoints
    )
    assert mode.transit(call.arguments, spot) == call.arguments
    assert mode.answer(result, spot) == result


def test_names_of_modes_are_unique() -> None:
    """A fault finds its mode by name."""
    assert all(MODES[mode.name] is mode for mode in (*DEVELOPMENT_MODES, *HELD_OUT_MODES))


# -- the decision ----------------------------------------------------------------------------------------------------


def test_draws_are_the_same_everywhere() -> None:
    """In every process and on every machine: the number is written here."""
    assert draw(7, "tr-01", "pay_invoice", "before_return", 0) == pytest.approx(0.157454, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 3))
def test_a_fault_that_passes_takes_its_first_calls_and_no_more(seed: int, severity: int) -> None:
    """A passing fault strikes as many calls as it is severe; a lasting one strikes all."""
    fault = Fault(
        task="t",
        hazard=Hazard.EXECUTION,
        mode="timeout",
        tool="x",
        failpoint=Failpoint.BEFORE_EXTERNAL_CALL,
        severity=severity,
        seed=seed,
    )
    assert [taken(fault, slot) for slot in range(5)] == [slot < severity for slot in range(5)]
    assert taken(replace(fault, hazard=Hazard.OUTPUT), 0)


def test_a_rate_is_the_share_that_is_taken() -> None:
    """The share of struck calls is the rate, over many seeds."""
    fault = fault_on(TASKS[0], "timeout", "submit_answer", rate=0.3)
    share = sum(taken(replace(fault, seed=seed), 0) for seed in range(2000)) / 2000
    assert share == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("values", [{"severity": 0}, {"severity": 4}, {"rate": 0}, {"rate": 1.1}])
def test_impossible_faults_are_refused(values: dict[str, Any]) -> None:
    """With a message that says what is possible."""
    with pytest.raises(
        ValueError, match=r"severity of a fault is 1 to 3|rate of a fault is above 0"
    ):
        fault_on(TASKS[0], "timeout", SUBMIT, **values)


# -- the way of a call -----------------------------------------------------------------------------------------------


def first(task: HazardTask, *, pure: bool) -> tuple[str, dict[str, Any]]:
    """The first gold call of a task that has an effect, or none."""
    found = (call for call in task.sub_task.gold if bool(tool_of(task, call.tool).writes) != pure)
    call = next(found)
    return call.tool, dict(call.arguments)


def with_effect() -> HazardTask:
    """A task with an effect before its answer."""
    return next(task for task in TASKS if first(task, pure=False)[0] != SUBMIT)


def calls(pipeline: Pipeline, tool: str, arguments: dict[str, Any], times: int) -> list[Outcome]:
    """The same call several times."""
    return [pipeline.call(number, tool, arguments) for number in range(times)]


@pytest.mark.parametrize("severity", [1, 2, 3])
@pytest.mark.parametrize("mode", [*MANGLING, *BREAKDOWNS], ids=named)
def test_passing_faults_strike_the_first_calls(mode: Mode, severity: int) -> None:
    """A call gets through after the strikes, each of which is recorded with its count."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    pipeline = Pipeline(task.sub_task, [fault_on(task, mode.name, tool, severity=severity)])
    outcomes = calls(pipeline, tool, arguments, 4)
    assert [outcome.raised is not None for outcome in outcomes] == [
        number < severity for number in range(4)
    ]
    firings = [firing for outcome in outcomes for firing in outcome.firings]
    assert [(firing.call, firing.attempt, firing.retryable) for firing in firings] == [
        (number, number + 1, True) for number in range(severity)
    ]
    assert outcomes[-1].text == Pipeline(task.sub_task).call(0, tool, arguments).text


def test_a_rewritten_request_escapes_nothing() -> None:
    """Passing faults and lasting drifts do not depend on the arguments."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    others = [dict.fromkeys(arguments, f"INV-{number}") for number in range(3)]
    passing = Pipeline(task.sub_task, [fault_on(task, "timeout", tool, severity=2)])
    raised = [passing.call(n, tool, each).raised for n, each in enumerate([*others[:2], arguments])]
    assert [isinstance(each, TimeoutError) for each in raised] == [True, True, False]
    lasting = Pipeline(task.sub_task, [fault_on(task, "truncated", tool)])
    for number in range(4):
        lasting.call(number, tool, others[number % 3])
    assert [firing.attempt for firing in lasting.call(9, tool, arguments).firings] == [1]
    assert [firing.attempt for firing in lasting.call(10, tool, {**arguments}).firings] == [2]


def test_other_tools_are_left_alone() -> None:
    """A fault belongs to its tool."""
    task = TASKS[0]
    (call, _), *rest = gold_results(0)
    pipeline = Pipeline(task.sub_task, [fault_on(task, "truncated", call.tool)])
    for number, (other, result) in enumerate(each for each in rest if each[0].tool != call.tool):
        outcome = pipeline.call(number, other.tool, other.arguments)
        assert (outcome.text, outcome.firings) == (serialise(result), ())


@pytest.mark.parametrize(
    ("mode", "failpoint", "happened"),
    [
        ("timeout", Failpoint.BEFORE_EXTERNAL_CALL, False),
        ("timeout", Failpoint.BEFORE_CHECKPOINT_WRITE, True),
        ("server_error", Failpoint.BEFORE_CHECKPOINT_WRITE, True),
        ("argument_dropped", Failpoint.BEFORE_TOOL_LOGIC, False),
        ("argument_coerced", Failpoint.BEFORE_TOOL_LOGIC, False),
        ("argument_renamed", Failpoint.BEFORE_TOOL_LOGIC, False),
        ("truncated", Failpoint.BEFORE_RETURN, True),
    ],
)
def test_an_effect_happens_once_or_not_at_all(
    mode: str, failpoint: Failpoint, happened: bool
) -> None:
    """A failure before the external call has no effect; a later one follows exactly one effect."""
    task = with_effect()
    tool, arguments = first(task, pure=False)
    pipeline = Pipeline(task.sub_task, [fault_on(task, mode, tool, failpoint=failpoint)])
    before = len(pipeline.public_state()["effects"])
    pipeline.call(0, tool, arguments)
    assert len(pipeline.public_state()["effects"]) - before == happened


@pytest.mark.parametrize("mode", ARGUMENT_DRIFT, ids=named)
@pytest.mark.parametrize("severity", [1, 2, 3])
def test_the_live_contract_leads_to_the_clean_answer(mode: Mode, severity: int) -> None:
    """`describe_tool` tells what the tool takes now; called so, it answers as ever, and nothing strikes."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    clean = Pipeline(task.sub_task)
    pipeline = Pipeline(task.sub_task, [fault_on(task, mode.name, tool, severity=severity)])
    refused = pipeline.call(0, tool, arguments)
    assert isinstance(refused.raised, HTTPStatusError)
    assert refused.raised.response.status_code == 422
    assert [(firing.mode, firing.retryable) for firing in refused.firings] == [(mode.name, False)]
    live = json.loads(pipeline.call(1, DESCRIBE, {"tool": tool}).text)
    assert live != json.loads(clean.call(0, DESCRIBE, {"tool": tool}).text)
    restored = pipeline.call(2, tool, bound(arguments, live["parameters"]))
    assert (restored.text, restored.firings) == (clean.call(1, tool, arguments).text, ())


def test_a_mistake_of_the_agent_is_no_firing() -> None:
    """A call that neither contract allows is refused, and no fault has struck."""
    task = TASKS[0]
    tool, _ = first(task, pure=True)
    pipeline = Pipeline(task.sub_task, [fault_on(task, "argument_renamed", tool)])
    outcome = pipeline.call(0, tool, {"nonsense": 1})
    assert outcome.raised is not None
    assert outcome.firings == ()


def test_a_guided_fault_hints_once() -> None:
    """With the first strange answer, never with the value that is wrong."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    fault = fault_on(task, "truncated", tool, profile=Profile.GUIDED)
    guided = calls(Pipeline(task.sub_task, [fault]), tool, arguments, 3)
    strict = calls(
        Pipeline(task.sub_task, [replace(fault, profile=Profile.STRICT)]), tool, arguments, 3
    )
    assert [bool(outcome.note) for outcome in guided] == [True, False, False]
    assert [outcome.text for outcome in guided] == [outcome.text for outcome in strict]
    assert not any(outcome.note for outcome in strict)


def test_pairs_of_faults_act_in_the_order_of_the_failpoints() -> None:
    """A call that is refused does not use up the breakdown that would follow the refusal."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    faults = [fault_on(task, name, tool) for name in ("timeout", "argument_dropped", "explained")]
    outcomes = calls(Pipeline(task.sub_task, faults), tool, arguments, 3)
    assert [[firing.mode for firing in outcome.firings] for outcome in outcomes] == [
        ["argument_dropped"],
        ["timeout"],
        ["explained"],
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mode": "no_such_mode"}, "no drift mode"),
        ({"site": "/nowhere"}, "fits"),
        ({"hazard": Hazard.OUTPUT}, "is a fault of hazard"),
        ({"failpoint": Failpoint.BEFORE_RETURN}, "is a fault of hazard"),
    ],
)
def test_a_fault_has_to_fit_where_it_is_put(values: dict[str, Any], said: str) -> None:
    """Otherwise nothing is played, and the message says what fits."""
    task = TASKS[0]
    tool, _ = first(task, pure=True)
    fault = replace(fault_on(task, "argument_renamed", tool), **values)
    with pytest.raises(ValueError, match=said):
        Pipeline(task.sub_task, [fault])


def test_one_contract_changes_once() -> None:
    """Two drifts of one contract would have to know of each other."""
    task = TASKS[0]
    tool, _ = first(task, pure=True)
    faults = [fault_on(task, name, tool) for name in ("argument_renamed", "result_renamed")]
    with pytest.raises(ValueError, match="two changes of contract"):
        Pipeline(task.sub_task, faults)


# -- compositions and episodes ---------------------------------------------------------------------------------------


def test_a_composition_says_what_was_injected() -> None:
    """It is read back as it was, and differs from the clean one and from others."""
    task = TASKS[0]
    tool, _ = first(task, pure=True)
    clean, injected = alone(task), alone(task, fault_on(task, "timeout", tool))
    other = alone(task, fault_on(task, "timeout", tool, severity=2))
    assert (
        composition_from_json(json.loads(json.dumps(composition_to_json(injected))), "x")
        == injected
    )
    assert "faults" not in composition_to_json(clean)
    assert len({digest_of(each) for each in (clean, injected, other)}) == 3
    assert len({each.id for each in (clean, injected, other)}) == 3


def test_a_fault_is_put_on_what_is_there_and_once() -> None:
    """A composition refuses faults on tools and tasks that it does not hold."""
    task = TASKS[0]
    tool, _ = first(task, pure=True)
    fault = fault_on(task, "timeout", tool)
    for wrong in (replace(fault, tool="nothing"), replace(fault, task="nobody")):
        with pytest.raises(ValueError, match="not in it"):
            alone(task, wrong)
    with pytest.raises(ValueError, match="named twice"):
        alone(task, fault, fault)


def test_an_episode_keeps_firings_and_hints() -> None:
    """Firings and hints survive the saved form; a clean episode has its former form."""
    task = TASKS[0]
    tool, arguments = first(task, pure=True)
    fault = fault_on(task, "truncated", tool, profile=Profile.GUIDED)
    episode = played(alone(task, fault), [(task.id, tool, arguments)] * 2)
    assert [(firing.call, firing.task, firing.tool) for firing in episode.firings] == [
        (n, task.id, tool) for n in (0, 1)
    ]
    assert episode_from_json(json.loads(json.dumps(episode_to_json(episode)))) == episode
    saved = episode_to_json(played(alone(task), [(task.id, tool, arguments)]))
    assert "firings" not in saved
    assert "note" not in saved["trajectory"][0]


def test_any_tool_of_any_category_may_break_down() -> None:
    """Beside a hazard task or without one; its other errors stay texts, and nothing else may be put on it."""
    pair = compose("fs-07", "tb-07")
    task = pair.sub_tasks[0]
    call = task.gold[0]
    fault = Fault(
        task=task.id,
        hazard=Hazard.EXECUTION,
        mode="connection_reset",
        tool=call.tool,
        failpoint=Failpoint.BEFORE_EXTERNAL_CALL,
    )
    environment = Environment(replace(pair, faults=(fault,)), Regime.SYNC, 0)
    records = [environment.issue(task.id, call.tool, call.arguments) for _ in range(2)]
    assert isinstance(environment.raised(0), ConnectionResetError)
    assert json.loads(records[0].response) == {
        "error": "ConnectionResetError: [Errno 104] Connection reset by peer"
    }
    assert environment.raised(1) is None
    refused = environment.issue(task.id, call.tool, {"nonsense": 1})
    assert "Invalid arguments" in refused.response
    assert environment.raised(refused.number) is None
    drift = replace(
        fault,
        hazard=Hazard.INVOCATION,
        mode="argument_dropped",
        failpoint=Failpoint.BEFORE_TOOL_LOGIC,
    )
    with pytest.raises(ValueError, match="put an execution fault on it"):
        Environment(replace(pair, faults=(drift,)), Regime.SYNC, 0)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_the_same_calls_meet_the_same_faults(data: st.DataObject) -> None:
    """A pipeline is a function of its faults and the calls before: it can be replayed."""
    task = data.draw(st.sampled_from(TASKS))
    tools = sorted({call.tool for call in task.sub_task.gold})
    drawn = st.tuples(st.sampled_from(DEVELOPMENT_MODES), st.sampled_from(tools), st.integers(1, 3))
    faults = {
        tool: fault_on(task, mode.name, tool, severity=severity)
        for mode, tool, severity in data.draw(st.lists(drawn, max_size=2))
        if mode.sites(tool_of(task, tool))
    }
    gold = data.draw(st.lists(st.sampled_from(task.sub_task.gold), max_size=6))
    one, other = (Pipeline(task.sub_task, list(faults.values())) for _ in range(2))
    for number, call in enumerate(gold):
        here, there = (each.call(number, call.tool, call.arguments) for each in (one, other))
        assert (here.text, here.note, here.firings) == (there.text, there.note, there.firings)
        assert repr(here.raised) == repr(there.raised)
    assert one.public_state() == other.public_state()


# -- tasks -----------------------------------------------------------------------------------------------------------


def test_a_task_is_closed_once() -> None:
    """A task is closed by an answer or a report; later ones are refused and change nothing."""
    task = TASKS[0].sub_task
    answered, reported = Pipeline(task), Pipeline(task)
    assert answered.call(0, SUBMIT, {"answer": 3}).raised is None
    assert answered.call(1, SUBMIT, {"answer": 4}).raised is not None
    assert answered.call(2, REPORT, {"reason": "none"}).raised is not None
    assert answered.public_state()[ANSWER_KEY] == 3
    assert reported.call(0, REPORT, {"reason": "broken"}).raised is None
    assert reported.call(1, SUBMIT, {"answer": 4}).raised is not None
    assert (reported.public_state()[PROBLEM_KEY], ANSWER_KEY in reported.public_state()) == (
        "broken",
        False,
    )


def test_a_contract_is_told_of_tools_on_the_list_only() -> None:
    """Contracts are returned of all tools on the list, those that close the task included."""
    pipeline = Pipeline(TASKS[0].sub_task)
    told = json.loads(pipeline.call(0, DESCRIBE, {"tool": SUBMIT}).text)
    assert told["parameters"]["required"] == ["answer"]
    assert pipeline.call(1, DESCRIBE, {"tool": "nothing"}).raised is not None


def task_json(task: HazardTask) -> dict[str, Any]:
    """A task as its file has it."""
    answer = {"kind": task.answer.kind.value, "value": task.answer.value}
    return {**sub_task_to_json(task.sub_task), "workflow": task.workflow.value, "answer": answer}


def test_tasks_are_read_as_they_are_written() -> None:
    """A single one is a composition of its own kind."""
    for task in TASKS:
        assert hazard_task_from_json(task_json(task), "x") == task
        assert alone(task) == Composition(id=task.id, kind=Kind.S1, sub_tasks=(task.sub_task,))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: value.pop("workflow"), "workflow"),
        (lambda value: value["tools"].remove(DESCRIBE), "lacks"),
        (lambda value: value["gold"].pop(), "the last gold call"),
        (lambda value: value["answer"].update(value="another"), "the answer is 'another'"),
        (lambda value: value["gold"][-1]["sources"].update({"/answer": "query"}), "from a result"),
    ],
)
def test_tasks_that_cannot_be_judged_are_refused(change: Any, said: str) -> None:
    """The complaint names the place."""
    value = json.loads(json.dumps(task_json(TASKS[0])))
    change(value)
    with pytest.raises(DataError, match=said):
        hazard_task_from_json(value, "x")
