import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from asyncguard_benchmark.harness.pointers import leaves, put, resolve
from asyncguard_benchmark.harness.scenario import (
    HELD_OUT_DOMAINS,
    Domain,
    GoldCall,
    SourceKind,
    Workflow,
)
from asyncguard_benchmark.harness.scoring.answers import AnswerKind
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.services.catalogue import toolset_of
from asyncguard_benchmark.services.declarations import Alternative, Effect, Tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, load_hazard_tasks

COMMON = {"submit_answer", "report_problem", "describe_tool"}
COMPUTING = {
    "compensation_due",
    "add_fares",
    "instalment",
    "copies_together",
    "energy_needed",
    "charge_gap",
}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One gold call of a task, all but the last, and what it gave."""

    run: "Run"
    position: int
    tool: Tool
    arguments: Mapping[str, Any]
    result: Any

    @property
    def operand(self) -> bool:
        return any(
            self.position in later.needs()
            for later in self.run.task.sub_task.gold[self.position + 1 :]
        )


@dataclass(frozen=True, kw_only=True)
class Run:
    """A task after its gold calls."""

    task: HazardTask
    tools: Mapping[str, Tool]
    calls: list[Call]
    executor: Executor

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return json.loads(self.executor.call(tool, arguments))


@cache
def runs(domain: Domain) -> tuple[Run, ...]:
    """The gold runs of a domain, each on a fresh state."""
    return tuple(_run(task, toolset_of(domain).tools) for task in load_hazard_tasks(domain))


def _run(task: HazardTask, tools: Mapping[str, Tool]) -> Run:
    run = Run(
        task=task, tools=tools, calls=[], executor=Executor(tools, task.sub_task.initial_state)
    )
    for position, call in enumerate(task.sub_task.gold[:-1]):
        result = run.ask(call.tool, call.arguments)
        made = Call(
            run=run,
            position=position,
            tool=tools[call.tool],
            arguments=call.arguments,
            result=result,
        )
        run.calls.append(made)
    return run


def calls_of(domain: Domain) -> Iterator[Call]:
    """Every gold call of a domain but those that submit the answer."""
    return (call for run in runs(domain) for call in run.calls)


def siblings(tool: Tool) -> tuple[Alternative, ...]:
    """Return all tools that are declared to answer the same question."""
    declared = tool.remedies
    return (
        *declared.fallbacks,
        *declared.sources,
        *([declared.verifier] if declared.verifier else []),
    )


def translated(other: Alternative, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a call as the other tool names them."""
    kept = {
        name: value for name, value in arguments.items() if name not in other.arguments.values()
    }
    return kept | {theirs: arguments[ours] for theirs, ours in other.arguments.items()}


def complaints(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return the violations of a schema by a value, formats included."""
    return [
        each.message
        for each in Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value)
    ]


@pytest.fixture(params=sorted(HELD_OUT_DOMAINS))
def domain(request: pytest.FixtureRequest) -> Domain:
    """Each held-out domain."""
    return Domain(request.param)


def test_tools_declare_siblings_that_take_the_same_question(domain: Domain) -> None:
    """Arguments fit after translation, results have one schema, and nothing but reading is replaced."""
    tools = toolset_of(domain).tools
    assert 9 <= len(tools) <= 13
    assert not COMMON & set(tools)
    for tool in tools.values():
        for other in siblings(tool):
            asked = translated(other, dict.fromkeys(tool.parameters["properties"], "x"))
            assert set(asked) == set(tools[other.tool].parameters["properties"])
            assert tools[other.tool].remedies.returns == tool.remedies.returns
            assert tools[other.tool].effect is tool.effect is Effect.PURE
            assert set(tools[other.tool].reads).isdisjoint(tool.reads)
    renamed = [
        tool
        for tool in tools.values()
        if tool.remedies.fallbacks and tool.remedies.fallbacks[0].arguments
    ]
    assert len(renamed) >= 3
    assert sum(tool.remedies.verifier is not None for tool in tools.values()) >= 2


def test_questions_have_three_sources_one_trusted_and_some_dates(domain: Domain) -> None:
    """Each of the three declares the other two, and all compare the same parts."""
    tools = toolset_of(domain).tools
    questions = {
        frozenset({tool.name, *(other.tool for other in tool.remedies.sources)})
        for tool in tools.values()
        if tool.remedies.sources
    }
    assert len(questions) >= 2
    for question in questions:
        declared = {name: tools[name].remedies for name in question}
        assert len(question) == 3
        assert all(
            {o.tool for o in each.sources} == question - {name} for name, each in declared.items()
        )
        assert len({o.tool for each in declared.values() for o in each.sources if o.trusted}) == 1
        assert len({(each.compared, each.dated) for each in declared.values()}) == 1
        assert all(pointer != "" for each in declared.values() for pointer in each.compared)
    assert any(tools[name].remedies.dated for question in questions for name in question)


def test_effects_leave_a_trace_for_every_time(domain: Domain) -> None:
    """Two kinds have a probe and one has none; to repeat one is not refused and gives another number."""
    tools = toolset_of(domain).tools
    effects = [tool for tool in tools.values() if tool.effect is Effect.AT_MOST_ONCE]
    assert sum(tool.remedies.probe is not None for tool in effects) >= 2
    assert any(tool.remedies.probe is None for tool in effects)
    repeated = set()
    for run in runs(domain):
        for call in (call for call in run.calls if call.tool.effect is Effect.AT_MOST_ONCE):
            executor = Executor(run.tools, run.task.sub_task.initial_state)
            first, second = (
                json.loads(executor.call(call.tool.name, call.arguments)) for _ in range(2)
            )
            assert len(executor.public_state()["effects"]) == 2
            assert next(iter(first.values())) != next(iter(second.values()))
            repeated.add(call.tool.name)
    assert repeated == {tool.name for tool in effects}


def test_probes_tell_the_truth_before_and_after(domain: Domain) -> None:
    """A probe answers from some of the effect's arguments, in the declared form."""
    probed = set()
    for run in runs(domain):
        for call in (call for call in run.calls if call.tool.remedies.probe):
            probe = run.tools[call.tool.remedies.probe or ""]
            names = probe.parameters["properties"]
            assert set(names) <= set(call.tool.parameters["properties"])
            known = {name: call.arguments[name] for name in names}
            before = json.loads(
                Executor(run.tools, run.task.sub_task.initial_state).call(probe.name, known)
            )
            after = run.ask(probe.name, known)
            assert before == {"happened": False, "result": None}
            assert after == {"happened": True, "result": call.result}
            assert probe.remedies.returns is not None
            assert (
                complaints(probe.remedies.returns, before)
                == complaints(probe.remedies.returns, after)
                == []
            )
            other = {**known, next(iter(known)): "X-0000"}
            assert run.ask(probe.name, other)["happened"] is False
            probed.add(probe.name)
    assert len(probed) == 2


def test_schemas_of_results_are_closed_and_annotated(domain: Domain) -> None:
    """All fields are required and described; units, limits, patterns, formats and both kinds of aliases occur."""
    seen: set[str] = set()
    for tool in toolset_of(domain).tools.values():
        assert tool.remedies.returns is not None
        assert tool.parameters["additionalProperties"] is False
        assert all(field.get("description") for field in tool.parameters["properties"].values())
        for schema in _objects(tool.remedies.returns):
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) == set(schema["properties"])
            for field in schema["properties"].values():
                assert field["description"]
                seen |= {*field, f"aliases: {type(field.get('aliases')).__name__}"}
                spellings = field.get("aliases", {})
                targets = set(spellings.values()) if isinstance(spellings, dict) else set()
                assert targets <= set(field.get("enum", ()))
                assert not set(spellings) & {*field.get("enum", ()), *schema["properties"]}
    assert {
        "unit",
        "minimum",
        "maximum",
        "pattern",
        "format",
        "enum",
        "aliases: list",
        "aliases: dict",
    } <= seen


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for item in schema:
            yield from _objects(item)
    elif isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for item in schema.values():
            yield from _objects(item)


@pytest.mark.parametrize("factor", [100, 1000])
def test_limits_show_about_half_of_the_numbers_in_a_wrong_unit(domain: Domain, factor: int) -> None:
    """A number that is too large by a hundred or a thousand is outside in at least half of the fields, not in all."""
    outside, inside = set(), set()
    for call in calls_of(domain):
        for pointer, value in leaves(call.result):
            if isinstance(value, int | float) and value > 0:
                wrong = put(call.result, pointer, value * factor)
                field = (call.tool.name, "".join(part for part in pointer if not part.isdigit()))
                (outside if complaints(call.tool.remedies.returns or {}, wrong) else inside).add(
                    field
                )
    only_inside = inside - outside
    assert only_inside
    assert len(outside) >= len(only_inside)


def test_a_domain_has_fifteen_different_tasks(domain: Domain) -> None:
    """Five of each workflow, each kind of answer at least twice, nothing twice that an agent could carry over."""
    tasks = load_hazard_tasks(domain)
    assert [task.id for task in tasks] == [f"{domain.value.lower()}-{n:02}" for n in range(1, 16)]
    assert all(sum(task.workflow is each for task in tasks) == 5 for each in Workflow)
    assert all(sum(task.answer.kind is each for task in tasks) >= 2 for each in AnswerKind)
    assert len({task.answer.value for task in tasks}) == 15
    assert len({task.sub_task.query for task in tasks}) == 15
    assert len({json.dumps(task.sub_task.initial_state, sort_keys=True) for task in tasks}) == 15


def test_gold_runs_are_grounded_and_give_the_answer(domain: Domain) -> None:
    """Every value is said by the query or by an earlier result, the answer only by a result."""
    for run in runs(domain):
        task = run.task.sub_task
        assert 3 <= len(task.gold) <= 7
        for call in task.gold:
            assert {place for place, _ in leaves(call.arguments)} == set(call.sources)
            for place, source in call.sources.items():
                value = resolve(call.arguments, place)
                if source.kind is SourceKind.RESULT and source.call is not None:
                    assert resolve(run.calls[source.call].result, source.pointer or "") == value
                else:
                    assert in_query(task.query, value)
        assert not in_query(task.query, run.task.answer.value)


def test_states_and_results_satisfy_their_schemas(domain: Domain) -> None:
    """States and results fit their schemas before, during and after a gold run."""
    toolset = toolset_of(domain)
    for run in runs(domain):
        assert complaints(toolset.state_schema, run.task.sub_task.initial_state) == []
        assert complaints(toolset.state_schema, run.executor.public_state()) == []
    for call in calls_of(domain):
        assert complaints(call.tool.remedies.returns or {}, call.result) == [], (
            call.run.task.id,
            call.tool.name,
        )


def test_siblings_agree_on_clean_data(domain: Domain) -> None:
    """Sources, fallbacks and verifiers answer every gold call of their tool with an equal result."""
    compared = 0
    for call in calls_of(domain):
        for other in siblings(call.tool):
            compared += 1
            assert call.run.ask(other.tool, translated(other, call.arguments)) == call.result
    assert compared >= 60


def test_siblings_draw_on_data_of_their_own(domain: Domain) -> None:
    """Each of three sources reads a table of its own: all other tables may be emptied."""
    for run in runs(domain)[:3]:
        for call in (call for call in run.calls if call.tool.remedies.sources):
            state = run.task.sub_task.initial_state
            reading = [name for name in state if _fails_without(run, call, name)]
            assert len(reading) == 1
            for other in call.tool.remedies.sources:
                emptied = {**state, reading[0]: type(state[reading[0]])()}
                answer = Executor(run.tools, emptied).call(
                    other.tool, translated(other, call.arguments)
                )
                assert json.loads(answer) == call.result


def _fails_without(run: Run, call: Call, name: str) -> bool:
    state = run.task.sub_task.initial_state
    value = state[name]
    without = type(value)() if isinstance(value, dict | list) else value
    if isinstance(value, dict) and "trains" in value:
        without = {**value, "trains": []}
    answer = json.loads(
        Executor(run.tools, {**state, name: without}).call(call.tool.name, call.arguments)
    )
    return "error" in answer


def test_unknown_things_are_refused(domain: Domain) -> None:
    """A tool that tells of something, asked about what is not there, fails and does not invent."""
    run = runs(domain)[0]
    for tool in run.tools.values():
        if tool.remedies.sources:
            properties = tool.parameters["properties"]
            asked = {name: _unheard_of(schema) for name, schema in properties.items()}
            assert "error" in run.ask(tool.name, asked)


def _unheard_of(schema: Mapping[str, Any]) -> str:
    return (
        str(schema["enum"][0])
        if "enum" in schema
        else "1999-01-01"
        if "pattern" in schema
        else "X-0000"
    )


def test_invariants_hold_and_notice(domain: Domain) -> None:
    """On clean results all hold, and each is broken by a change of one value that it speaks of."""
    unbroken, numeric = {}, set()
    for call in calls_of(domain):
        for index, rule in enumerate(call.tool.remedies.invariants):
            assert rule(call.arguments, call.result) is None
            name = (call.tool.name, index)
            unbroken.setdefault(name, 0)
            for pointer, value in leaves(call.result):
                changed = put(call.result, pointer, _other(value))
                if rule(call.arguments, changed) is not None:
                    unbroken[name] += 1
                    numeric |= {name} if isinstance(value, int | float) else set()
    assert all(unbroken.values()), unbroken
    assert len(numeric) >= 3
    assert {tool for tool, _ in numeric} >= {
        call.tool.name for call in calls_of(domain) if call.tool.remedies.sources
    }


def _other(value: Any) -> Any:
    return (
        value + 7
        if isinstance(value, int | float)
        else "00:00"
        if ":" in str(value)
        else f"{value}0"
    )


def test_invariants_do_not_judge_what_they_cannot_read(domain: Domain) -> None:
    """A result of another shape is for the schema to refuse; no invariant fails on it."""
    for call in calls_of(domain):
        for rule in call.tool.remedies.invariants:
            for strange in (
                None,
                [],
                "3",
                {},
                dict.fromkeys(call.result, None),
                dict.fromkeys(call.result, "x"),
            ):
                assert rule({}, strange) is None


def test_faults_can_be_recovered_from(domain: Domain) -> None:
    """In at least twelve tasks an operand has both a fallback and two sources or a verifier."""
    assert sum(any(_recoverable(call) for call in run.calls) for run in runs(domain)) >= 12


def _recoverable(call: Call) -> bool:
    declared = call.tool.remedies
    return (
        call.operand
        and bool(declared.fallbacks)
        and (len(declared.sources) >= 2 or declared.verifier is not None)
    )


def test_some_tasks_act_and_some_ask_two_sources(domain: Domain) -> None:
    """At least six have an effect, none more than two; at least four use the second of two sources that they ask."""
    effects = [
        [c for c in run.calls if c.tool.effect is Effect.AT_MOST_ONCE] for run in runs(domain)
    ]
    assert sum(bool(each) for each in effects) >= 6
    assert all(len(each) <= 2 for each in effects)
    assert sum(any(map(_confirms, run.calls)) for run in runs(domain)) >= 4


def _confirms(second: Call) -> bool:
    for first in second.run.calls[: second.position]:
        for other in first.tool.remedies.sources:
            if (
                other.tool == second.tool.name
                and translated(other, first.arguments) == second.arguments
            ):
                return second.operand
    return False


def test_workflows_are_what_the_dependencies_say(domain: Domain) -> None:
    """Sequential is a chain, parallel has no dependencies before the last computing, mixed is neither."""
    for run in runs(domain):
        assert run.task.workflow is _workflow(run.task.sub_task.gold), run.task.id


def _workflow(gold: tuple[GoldCall, ...]) -> Workflow:
    if all(position - 1 in call.needs() for position, call in enumerate(gold) if position):
        return Workflow.SEQUENTIAL
    independent = gold[:-2] if gold[-2].tool in COMPUTING else gold[:-1]
    return Workflow.PARALLEL if not any(call.needs() for call in independent) else Workflow.MIXED


def test_api_lists_are_complete_and_have_a_few_distractors(domain: Domain) -> None:
    """All that a listed tool declares is listed, too; one to three have nothing to do with the task."""
    for run in runs(domain):
        listed = set(run.task.sub_task.tools) - COMMON
        needed = _with_all_they_declare(run.tools, {call.tool.name for call in run.calls})
        assert needed <= listed
        assert _with_all_they_declare(run.tools, listed) == listed
        assert 1 <= len(listed - needed) <= 3
        assert set(run.task.sub_task.tools) >= COMMON
        query = run.task.sub_task.query
        assert not any(name in query or name.replace("_", " ") in query for name in listed)


def _with_all_they_declare(tools: Mapping[str, Tool], names: set[str]) -> set[str]:
    found, todo = set(names), list(names)
    while todo:
        tool = tools[todo.pop()]
        declared = {other.tool for other in siblings(tool)} | (
            {tool.remedies.probe} if tool.remedies.probe else set()
        )
        todo += declared - found
        found |= declared
    return found
