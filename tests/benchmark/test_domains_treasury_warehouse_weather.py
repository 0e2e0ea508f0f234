import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from asyncguard_benchmark.harness.pointers import leaves, put, resolve
from asyncguard_benchmark.harness.scenario import Domain, Workflow
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.services.declarations import Alternative, Effect, Tool
from asyncguard_benchmark.services.service import Executor, Toolset
from asyncguard_benchmark.suites.hazards.domains import treasury, warehouse, weather
from asyncguard_benchmark.suites.hazards.tasks import load_hazard_tasks

TOOLSETS = {each.category: each for each in (treasury.TOOLSET, warehouse.TOOLSET, weather.TOOLSET)}
COMMON = {"submit_answer", "report_problem", "describe_tool"}


@dataclass(frozen=True, kw_only=True)
class Played:
    """A task and what its gold calls, all but the last, gave on a fresh state."""

    toolset: Toolset
    task: Mapping[str, Any]
    calls: tuple[tuple[Tool, Mapping[str, Any], Any], ...]
    executor: Executor

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return json.loads(self.executor.call(tool, arguments))


@cache
def _tasks_of(domain: Domain) -> tuple[Mapping[str, Any], ...]:
    path = files("asyncguard_benchmark.suites.hazards") / "data" / f"{domain.name.lower()}.json"
    return tuple(json.loads(path.read_text(encoding="utf-8")))


@cache
def _played(domain: Domain) -> tuple[Played, ...]:
    return tuple(_play(TOOLSETS[domain], task) for task in _tasks_of(domain))


def _play(toolset: Toolset, task: Mapping[str, Any]) -> Played:
    executor = Executor(toolset.tools, task["initial_state"])
    calls = []
    for call in task["gold"][:-1]:
        result = json.loads(executor.call(call["tool"], call["arguments"]))
        calls.append((toolset.tools[call["tool"]], call["arguments"], result))
    return Played(toolset=toolset, task=task, calls=tuple(calls), executor=executor)


def _every_call(domain: Domain) -> Iterator[tuple[Played, Tool, Mapping[str, Any], Any]]:
    for run in _played(domain):
        for tool, arguments, result in run.calls:
            yield run, tool, arguments, result


def _translated(other: Alternative, arguments: Mapping[str, Any]) -> dict[str, Any]:
    kept = {
        name: value for name, value in arguments.items() if name not in other.arguments.values()
    }
    return kept | {theirs: arguments[ours] for theirs, ours in other.arguments.items()}


def _alternatives(tool: Tool) -> tuple[Alternative, ...]:
    remedies = tool.remedies
    return (
        *remedies.fallbacks,
        *remedies.sources,
        *([remedies.verifier] if remedies.verifier else []),
    )


def _broken_schema(schema: Mapping[str, Any], value: Any) -> list[str]:
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    return [problem.message for problem in validator.iter_errors(value)]


def _needs(call: Mapping[str, Any]) -> set[int]:
    return {source["call"] for source in call["sources"].values() if isinstance(source, dict)}


@pytest.fixture(params=list(TOOLSETS))
def domain(request: pytest.FixtureRequest) -> Domain:
    """One domain after the other."""
    found: Domain = request.param
    return found


def test_a_domain_declares_what_every_kind_of_recovery_needs(domain: Domain) -> None:
    """Siblings, sources, verifiers, probes and rules are there, under names that exist and arguments that fit."""
    tools = TOOLSETS[domain].tools
    assert 9 <= len(tools) <= 13
    assert not COMMON & set(tools)
    for tool in tools.values():
        for other in _alternatives(tool):
            asked = _translated(other, dict.fromkeys(tool.parameters["properties"]))
            assert set(asked) == set(tools[other.tool].parameters["properties"])
            assert tools[other.tool].remedies.returns == tool.remedies.returns
            assert tools[other.tool].effect is tool.effect is Effect.PURE
        assert len({other.tool for other in tool.remedies.sources} | {tool.name}) in (1, 3)
        for pointer in (*tool.remedies.compared, tool.remedies.dated or ""):
            assert pointer == "" or pointer[1:] in (tool.remedies.returns or {})["properties"]
    declared = [tool.remedies for tool in tools.values()]
    assert sum(bool(each.fallbacks and each.fallbacks[0].arguments) for each in declared) >= 3
    assert sum(each.verifier is not None for each in declared) >= 2
    assert sum(len(each.invariants) for each in declared) >= 3


def test_three_tools_answer_each_question_and_one_of_them_is_trusted(domain: Domain) -> None:
    """Each names the other two; at least two questions, at least one of them dated."""
    tools = TOOLSETS[domain].tools
    asked = {name: {other.tool for other in tool.remedies.sources} for name, tool in tools.items()}
    questions = {frozenset({name, *others}) for name, others in asked.items() if others}
    assert len(questions) >= 2
    assert any(tools[next(iter(names))].remedies.dated for names in questions)
    for names in questions:
        assert all(asked[name] == names - {name} for name in names)
        trusted = {
            other.tool for name in names for other in tools[name].remedies.sources if other.trusted
        }
        assert len(trusted) == 1
        assert (
            len({(tools[name].remedies.compared, tools[name].remedies.dated) for name in names})
            == 1
        )


def test_effects_come_with_and_without_a_probe(domain: Domain) -> None:
    """A probe is pure, takes some of the effect's arguments and answers in the declared form."""
    tools = TOOLSETS[domain].tools
    effects = [tool for tool in tools.values() if tool.effect is Effect.AT_MOST_ONCE]
    assert len(effects) >= 3
    assert sum(tool.remedies.probe is not None for tool in effects) >= 2
    assert any(tool.remedies.probe is None for tool in effects)
    for tool in effects:
        if tool.remedies.probe:
            probe = tools[tool.remedies.probe]
            assert probe.effect is Effect.PURE
            assert set(probe.parameters["properties"]) <= set(tool.parameters["properties"])


def test_a_domain_has_fifteen_different_tasks(domain: Domain) -> None:
    """Five of each workflow, every kind of answer at least twice, no answer, query or state twice."""
    tasks = _tasks_of(domain)
    assert [task["id"] for task in tasks] == [
        f"{domain.value.lower()}-{n:02}" for n in range(1, 16)
    ]
    assert {task["category"] for task in tasks} == {domain.value}
    assert all(sum(task["workflow"] == each for task in tasks) == 5 for each in Workflow)
    kinds = [task["answer"]["kind"] for task in tasks]
    assert all(kinds.count(kind) >= 2 for kind in ("number", "date", "code", "enum"))
    assert len(kinds) == sum(map(kinds.count, ("number", "date", "code", "enum")))
    for unique in (
        [task["answer"]["value"] for task in tasks],
        [task["query"] for task in tasks],
        [json.dumps(task["initial_state"], sort_keys=True) for task in tasks],
    ):
        assert len(set(unique)) == 15


def test_the_suite_loads_the_tasks_as_they_are(domain: Domain) -> None:
    """API lists, states and gold calls fit the tools, and the last call submits the canonical answer."""
    assert [task.id for task in load_hazard_tasks(domain)] == [
        task["id"] for task in _tasks_of(domain)
    ]


def test_states_and_results_satisfy_their_schemas(domain: Domain) -> None:
    """States and results fit their schemas before, during and after the gold calls."""
    schema = TOOLSETS[domain].state_schema
    for run in _played(domain):
        assert _broken_schema(schema, run.task["initial_state"]) == []
        assert _broken_schema(schema, run.executor.public_state()) == []
    for run, tool, _, result in _every_call(domain):
        assert _broken_schema(tool.remedies.returns or {}, result) == [], (
            run.task["id"],
            tool.name,
        )


def test_the_gold_run_gives_each_value_where_its_source_says(domain: Domain) -> None:
    """Query or earlier result; every leaf of the arguments has one source, and the last call submits the answer."""
    for run in _played(domain):
        task = run.task
        results = [result for _, _, result in run.calls]
        for call in task["gold"]:
            assert set(call["sources"]) == {
                pointer for pointer, _ in leaves(call["arguments"]) if pointer
            }
            for pointer, source in call["sources"].items():
                value = resolve(call["arguments"], pointer)
                if source == "query":
                    assert in_query(task["query"], value), (task["id"], value)
                else:
                    assert resolve(results[source["call"]], source["pointer"]) == value
        last = task["gold"][-1]
        assert last["tool"] == "submit_answer"
        assert last["arguments"] == {"answer": task["answer"]["value"]}
        assert isinstance(last["sources"]["/answer"], dict)
        assert not in_query(task["query"], task["answer"]["value"])
        assert 3 <= len(task["gold"]) <= 7


def test_siblings_sources_and_verifiers_agree_on_clean_data(domain: Domain) -> None:
    """For every gold call each tool that may stand in for another gives the same result."""
    for run, tool, arguments, result in _every_call(domain):
        for other in _alternatives(tool):
            assert run.ask(other.tool, _translated(other, arguments)) == result, (
                run.task["id"],
                other.tool,
            )


def test_tasks_can_be_recovered(domain: Domain) -> None:
    """At least twelve tasks take an operand from a tool with a sibling and two sources or a verifier."""
    recoverable = 0
    for run in _played(domain):
        taken = {index for call in run.task["gold"] for index in _needs(call)}
        remedies = [run.calls[index][0].remedies for index in taken]
        recoverable += any(
            each.fallbacks and (len(each.sources) >= 2 or each.verifier) for each in remedies
        )
    assert recoverable >= 12


def test_rules_hold_on_clean_results_and_each_is_broken_by_a_change(domain: Domain) -> None:
    """Each tool that a gold run calls has for each of its rules one changed value that the rule refuses."""
    broken: set[tuple[str, int]] = set()
    by_number: set[tuple[str, int]] = set()
    used: set[tuple[str, int]] = set()
    for _, tool, arguments, result in _every_call(domain):
        for index, rule in enumerate(tool.remedies.invariants):
            used.add((tool.name, index))
            assert rule(arguments, result) is None
            for pointer, value in leaves(result):
                number = isinstance(value, int | float)
                changed = put(result, pointer, value * 3 + 7 if number else f"{value}x")
                if rule(arguments, changed):
                    broken.add((tool.name, index))
                    by_number |= {(tool.name, index)} if number else set()
    assert broken == used
    assert len(by_number) >= 3


def test_a_probe_tells_the_truth_before_and_after_its_effect(domain: Domain) -> None:
    """It answers no before, the result of the effect afterwards, and the first result after a repetition."""
    probed = 0
    for task in _tasks_of(domain):
        executor = Executor(TOOLSETS[domain].tools, task["initial_state"])
        for call in task["gold"][:-1]:
            probe = TOOLSETS[domain].tools[call["tool"]].remedies.probe
            if probe is None:
                executor.call(call["tool"], call["arguments"])
                continue
            probed += 1
            returns = TOOLSETS[domain].tools[probe].remedies.returns or {}
            known = {
                name: call["arguments"][name]
                for name in TOOLSETS[domain].tools[probe].parameters["properties"]
            }
            before = json.loads(executor.call(probe, known))
            assert before == {"happened": False, "result": None}
            result = json.loads(executor.call(call["tool"], call["arguments"]))
            after = {"happened": True, "result": result}
            assert json.loads(executor.call(probe, known)) == after
            executor.call(call["tool"], call["arguments"])
            assert json.loads(executor.call(probe, known)) == after
            assert _broken_schema(returns, before) == _broken_schema(returns, after) == []
    assert probed >= 3


def test_a_repeated_effect_shows_in_the_log(domain: Domain) -> None:
    """An effect never refuses a repetition: the log holds both, under two ids."""
    for run, tool, arguments, result in _every_call(domain):
        if tool.effect is Effect.AT_MOST_ONCE:
            again = Executor(run.toolset.tools, run.executor.public_state())
            before = again.public_state()["effects"]
            repeated = json.loads(again.call(tool.name, arguments))
            assert again.public_state()["effects"] == [
                *before,
                {"tool": tool.name, "result": repeated},
            ]
            assert repeated != result
            assert len([name for name in result if result[name] != repeated[name]]) == 1


def test_workflow_labels_fit_the_dependencies(domain: Domain) -> None:
    """Sequential: each call needs the one before; parallel: all are independent but the end; mixed: neither."""
    for task in _tasks_of(domain):
        assert task["workflow"] == _workflow_of(task), task["id"]


def _workflow_of(task: Mapping[str, Any]) -> str:
    gold = task["gold"]
    if all(index in _needs(call) for index, call in enumerate(gold[1:])):
        return Workflow.SEQUENTIAL
    tools = TOOLSETS[Domain(task["category"])].tools
    computes = not tools[gold[-2]["tool"]].reads
    free = gold[:-2] if computes else gold[:-1]
    return Workflow.MIXED if any(_needs(call) for call in free) else Workflow.PARALLEL


def test_tasks_have_effects_and_ask_two_sources(domain: Domain) -> None:
    """At least six have an effect, none more than two; four ask one question twice and use the second answer."""
    tools = TOOLSETS[domain].tools
    effects = [
        sum(tool.effect is not Effect.PURE for tool, _, _ in run.calls) for run in _played(domain)
    ]
    assert sum(map(bool, effects)) >= 6
    assert max(effects) <= 2
    twice = 0
    for task in _tasks_of(domain):
        taken = {index for call in task["gold"] for index in _needs(call)}
        twice += any(
            second in taken and _asks_again(tools, task["gold"][first], task["gold"][second])
            for second in range(len(task["gold"]) - 1)
            for first in range(second)
        )
    assert twice >= 4


def _asks_again(
    tools: Mapping[str, Tool], first: Mapping[str, Any], second: Mapping[str, Any]
) -> bool:
    sources = tools[first["tool"]].remedies.sources
    return any(
        other.tool == second["tool"]
        and _translated(other, first["arguments"]) == second["arguments"]
        for other in sources
    )


def test_api_lists_hold_all_that_recovery_may_ask_and_some_distractors(domain: Domain) -> None:
    """The list holds the tools that the gold tools declare, and one to three unrelated ones."""
    tools = TOOLSETS[domain].tools
    for run in _played(domain):
        listed = run.task["tools"]
        wanted: set[str] = set()
        todo = [tool.name for tool, _, _ in run.calls]
        while todo:
            name = todo.pop()
            wanted.add(name)
            related = {other.tool for other in _alternatives(tools[name])} | {
                tools[name].remedies.probe or name
            }
            todo += related - wanted
        assert set(listed) >= wanted | COMMON
        assert len(set(listed)) == len(listed)
        assert 1 <= len(set(listed) - wanted - COMMON) <= 3


def test_the_query_names_no_tool(domain: Domain) -> None:
    """Users do not speak of tools."""
    for task in _tasks_of(domain):
        spellings = {name: name.replace("_", "[ _-]?") for name in TOOLSETS[domain].tools}
        assert not [
            name
            for name, said in spellings.items()
            if re.search(said, task["query"], re.IGNORECASE)
        ]


def test_limits_catch_many_wrong_units_and_not_all(domain: Domain) -> None:
    """A factor of 1000 leaves the limits in at least half of the fields with a number, one of 100 not in all."""
    seen: dict[tuple[str, str], tuple[Mapping[str, Any], list[float]]] = {}
    for _, tool, _, result in _every_call(domain):
        for pointer, value in leaves(result):
            if isinstance(value, int | float) and not isinstance(value, bool):
                schema = _schema_of(tool.remedies.returns or {}, pointer)
                seen.setdefault((tool.name, pointer.rstrip("0123456789")), (schema, []))[1].append(
                    value
                )
    outside = {
        field: [
            all(not _inside(schema, value * factor) for value in values) for factor in (100, 1000)
        ]
        for field, (schema, values) in seen.items()
    }
    assert sum(thousand for _, thousand in outside.values()) >= len(outside) / 2
    assert not all(hundred for hundred, _ in outside.values())


def _schema_of(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    for part in pointer.split("/")[1:]:
        schema = schema["items"] if part.isdecimal() else schema["properties"][part]
    return schema


def _inside(schema: Mapping[str, Any], value: float) -> bool:
    return bool(schema["minimum"] <= value <= schema["maximum"])


def test_what_is_not_there_is_refused(domain: Domain) -> None:
    """A reader that is asked for something unknown says so, and an effect on it changes nothing."""
    for run, tool, arguments, _ in _every_call(domain):
        before = run.executor.public_state()
        for name, value in arguments.items():
            if isinstance(value, str):
                assert "error" in run.ask(tool.name, {**arguments, name: "nowhere"}), (
                    tool.name,
                    name,
                )
        assert run.executor.public_state() == before


def test_asking_another_tool_and_back_gives_the_same_arguments(domain: Domain) -> None:
    """Between any two tools that stand in for each other, also where they share a name for different things."""
    tools = TOOLSETS[domain].tools
    for tool in tools.values():
        asked = {name: f"value of {name}" for name in tool.parameters["properties"]}
        for other in tool.remedies.sources:
            (back,) = (
                each for each in tools[other.tool].remedies.sources if each.tool == tool.name
            )
            assert _translated(back, _translated(other, asked)) == asked
