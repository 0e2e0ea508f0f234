"""Logistics, energy and clinic: tasks can be done, and everything that recovery may use tells the truth."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.pointers import leaves, put, resolve
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.services.declarations import Alternative, Effect, Tool
from asyncguard_benchmark.services.service import Executor, Toolset
from asyncguard_benchmark.suites.hazards.domains import clinic, energy, logistics

TOOLSETS = {
    name: module.TOOLSET
    for name, module in (("logistics", logistics), ("energy", energy), ("clinic", clinic))
}
COMMON = {"submit_answer", "report_problem", "describe_tool"}
each_domain = pytest.mark.parametrize("domain", TOOLSETS)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One gold call and the world around it."""

    tool: Tool
    arguments: Mapping[str, Any]
    result: Any
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A task as data, and its gold calls but the answer, carried out."""

    task: Mapping[str, Any]
    steps: tuple[Step, ...]


@cache
def runs(domain: str) -> tuple[Run, ...]:
    """All tasks of a domain, carried out once."""
    text = (
        files("asyncguard_benchmark.suites.hazards")
        .joinpath(f"data/{domain}.json")
        .read_text(encoding="utf-8")
    )
    return tuple(
        Run(task=task, steps=tuple(carry_out(TOOLSETS[domain], task))) for task in json.loads(text)
    )


def carry_out(toolset: Toolset, task: Mapping[str, Any]) -> Iterator[Step]:
    """Makes the gold calls of a task one after the other."""
    executor = Executor(
        {name: toolset.tools[name] for name in task["tools"] if name not in COMMON},
        task["initial_state"],
    )
    for call in task["gold"][:-1]:
        before = executor.public_state()
        result = json.loads(executor.call(call["tool"], call["arguments"]))
        tool = toolset.tools[call["tool"]]
        after = executor.public_state()
        yield Step(
            tool=tool, arguments=call["arguments"], result=result, before=before, after=after
        )


def steps(domain: str) -> Iterator[Step]:
    """All gold calls of a domain."""
    return (step for run in runs(domain) for step in run.steps)


def ask(domain: str, tool: str, arguments: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """The answer of a tool in a given state."""
    return json.loads(Executor(TOOLSETS[domain].tools, state).call(tool, arguments))


def ask_instead(domain: str, step: Step, other: Alternative) -> Any:
    """Return the answer of another tool in place of the step's own."""
    ours = {mine: theirs for theirs, mine in other.arguments.items()}
    return ask(
        domain,
        other.tool,
        {ours.get(name, name): value for name, value in step.arguments.items()},
        step.before,
    )


def alternatives(tool: Tool) -> tuple[Alternative, ...]:
    """Return all tools that may be asked in place of a tool."""
    verifier = () if tool.remedies.verifier is None else (tool.remedies.verifier,)
    return (*tool.remedies.fallbacks, *tool.remedies.sources, *verifier)


def needs(call: Mapping[str, Any]) -> set[int]:
    """Return the earlier gold calls from which a gold call takes values."""
    return {source["call"] for source in call["sources"].values() if isinstance(source, dict)}


@each_domain
def test_fifteen_tasks_with_all_workflows_and_kinds_of_answer(domain: str) -> None:
    """Five tasks of each workflow; every kind of answer at least twice; no answer and no state twice."""
    tasks = [run.task for run in runs(domain)]
    assert Counter(task["workflow"] for task in tasks) == {
        "sequential": 5,
        "parallel": 5,
        "mixed": 5,
    }
    kinds = Counter(task["answer"]["kind"] for task in tasks)
    assert set(kinds) == {"number", "date", "code", "enum"}
    assert min(kinds.values()) >= 2
    for part in ("id", "query", "answer", "initial_state"):
        assert len({json.dumps(task[part], sort_keys=True) for task in tasks}) == 15, part


@each_domain
def test_gold_runs_give_the_answer(domain: str) -> None:
    """No gold call fails, each argument is where its source says, and the last call submits the answer."""
    for run in runs(domain):
        task, results = run.task, [step.result for step in run.steps]
        assert [result for result in results if "error" in result] == []
        for call in task["gold"]:
            assert [place for place, _ in leaves(call["arguments"])] == list(call["sources"]), task[
                "id"
            ]
            for place, source in call["sources"].items():
                value = resolve(call["arguments"], place)
                if source == "query":
                    assert in_query(task["query"], value), (task["id"], place)
                else:
                    assert resolve(results[source["call"]], source["pointer"]) == value, (
                        task["id"],
                        place,
                    )
        assert task["gold"][-1]["tool"] == "submit_answer"
        assert task["gold"][-1]["arguments"] == {"answer": task["answer"]["value"]}
        assert not in_query(task["query"], task["answer"]["value"]), task["id"]


@each_domain
def test_gold_runs_are_short_and_act_seldom(domain: str) -> None:
    """Three to seven calls, never more than two effects, effects in at least six tasks, with and without a probe."""
    acting = [
        [step.tool for step in run.steps if step.tool.effect is Effect.AT_MOST_ONCE]
        for run in runs(domain)
    ]
    assert all(3 <= len(run.task["gold"]) <= 7 for run in runs(domain))
    assert max(map(len, acting)) <= 2
    assert sum(bool(tools) for tools in acting) >= 6
    assert {tool.remedies.probe is None for tools in acting for tool in tools} == {True, False}


@each_domain
def test_workflow_labels_fit_the_dependencies(domain: str) -> None:
    """Sequential: each call needs the one before; parallel: all but the last, and one that computes, need none."""
    for run in runs(domain):
        needed = [needs(call) for call in run.task["gold"]]
        sequential = all(place - 1 in earlier for place, earlier in enumerate(needed) if place)
        computing = len(needed) > 2 and bool(needed[-2]) and not alternatives(run.steps[-1].tool)
        computing = computing and run.steps[-1].tool.effect is Effect.PURE
        parallel = not any(needed[: -2 if computing else -1])
        label = "sequential" if sequential else "parallel" if parallel else "mixed"
        assert run.task["workflow"] == label, run.task["id"]


@each_domain
def test_states_and_results_satisfy_their_schemas(domain: str) -> None:
    """States and results fit their schemas before and after every gold call."""
    state_schema = Draft202012Validator(TOOLSETS[domain].state_schema)
    checkers = {
        name: Draft202012Validator(dict(tool.remedies.returns or {}))
        for name, tool in tools_of(domain)
    }
    for run in runs(domain):
        assert list(state_schema.iter_errors(run.task["initial_state"])) == []
        assert list(state_schema.iter_errors(run.steps[-1].after)) == []
        for step in run.steps:
            assert list(checkers[step.tool.name].iter_errors(step.result)) == [], (
                run.task["id"],
                step.tool.name,
            )


def tools_of(domain: str) -> list[tuple[str, Tool]]:
    """Names and tools of a domain."""
    return list(TOOLSETS[domain].tools.items())


def helpers(tools: Iterable[Tool]) -> set[str]:
    """Names of all tools that these declare for the case of a fault."""
    declared = [(alternatives(tool), tool.remedies.probe) for tool in tools]
    asked = {other.tool for others, _ in declared for other in others}
    return asked | {probe for _, probe in declared if probe is not None}


@each_domain
def test_api_lists_hold_what_recovery_needs_and_a_few_others(domain: str) -> None:
    """All that a listed tool declares is listed, too; one to three distractors; no query names a tool."""
    for run in runs(domain):
        listed = set(run.task["tools"])
        gold = {step.tool.name: step.tool for step in run.steps}
        helping = helpers(gold.values())
        assert helping | set(gold) | COMMON <= listed
        assert helpers(TOOLSETS[domain].tools[name] for name in listed - COMMON) <= listed, (
            run.task["id"]
        )
        assert 1 <= len(listed - helping - set(gold) - COMMON) <= 3, run.task["id"]
        spoken = run.task["query"].lower()
        assert [name for name in listed if name in spoken or name.replace("_", " ") in spoken] == []


@each_domain
def test_who_is_asked_instead_says_the_same(domain: str) -> None:
    """Fallbacks, sources and verifiers repeat the result of every gold call from their own data."""
    for step in steps(domain):
        for other in alternatives(step.tool):
            assert ask_instead(domain, step, other) == step.result, (step.tool.name, other.tool)


@each_domain
def test_tools_that_answer_one_question_read_different_data(domain: str) -> None:
    """Tools that answer one question have the same result schema and share no resource."""
    tools = TOOLSETS[domain].tools
    asked = [(tool, tools[other.tool]) for tool in tools.values() for other in alternatives(tool)]
    assert asked
    for tool, other in asked:
        assert tool.remedies.returns == other.remedies.returns
        assert not set(tool.reads) & set(other.reads), (tool.name, other.name)


@each_domain
def test_every_question_has_three_sources_one_of_them_trusted(domain: str) -> None:
    """Two questions, one of them dated; each source names the other two, and all of them trust the same one."""
    questions: dict[frozenset[str], set[str]] = {}
    for name, tool in tools_of(domain):
        if tool.remedies.sources:
            asked = frozenset({name, *(source.tool for source in tool.remedies.sources)})
            questions.setdefault(asked, set()).update(
                s.tool for s in tool.remedies.sources if s.trusted
            )
            assert tool.remedies.compared != ("",)
    assert [len(names) for names in questions] == [3, 3]
    assert [len(trusted) for trusted in questions.values()] == [1, 1]
    dated = {name for name, tool in tools_of(domain) if tool.remedies.dated}
    assert frozenset(dated) in questions
    assert sum(tool.remedies.verifier is not None for _, tool in tools_of(domain)) >= 2


@each_domain
def test_most_tasks_can_be_recovered(domain: str) -> None:
    """At least 12 of 15 take an operand from a tool with a fallback and two sources or a verifier."""
    recoverable = 0
    for run in runs(domain):
        giving = [
            run.steps[index].tool.remedies for call in run.task["gold"] for index in needs(call)
        ]
        recoverable += any(
            each.fallbacks and (len(each.sources) > 1 or each.verifier) for each in giving
        )
    assert recoverable >= 12


@each_domain
def test_four_tasks_ask_two_sources_and_use_the_second(domain: str) -> None:
    """A user who wants something confirmed has it asked twice; the later answer is the operand."""
    confirmed = 0
    for run in runs(domain):
        used = {index for call in run.task["gold"] for index in needs(call)}
        for later, step in enumerate(run.steps):
            names = {source.tool for source in step.tool.remedies.sources}
            earlier = [other for other in run.steps[:later] if other.tool.name in names]
            confirmed += later in used and any(other.result == step.result for other in earlier)
    assert confirmed >= 4


def changes(value: Any) -> Iterator[Any]:
    """Copies of a result with one leaf changed: a number, a day or a text."""
    for place, leaf in leaves(value):
        if isinstance(leaf, str):
            yield from (put(value, place, other) for other in ("1990-01-01", "2090-01-01"))
        else:
            yield put(value, place, leaf * 1000 + 1)


@each_domain
def test_invariants_hold_on_clean_results_and_notice_a_change(domain: str) -> None:
    """No complaint about a gold result; every rule that is met complains of some change of it, without its values."""
    met = set()
    for step in steps(domain):
        for rule in step.tool.remedies.invariants:
            assert rule(step.arguments, step.result) is None, step.tool.name
            complaints = {rule(step.arguments, other) for other in changes(step.result)} - {None}
            assert complaints, step.tool.name
            assert not any(character.isdecimal() for text in complaints for character in str(text))
            met.add(rule)
    declared = {rule for _, tool in tools_of(domain) for rule in tool.remedies.invariants}
    assert met == declared
    assert len(declared) >= 3


@each_domain
def test_a_wrong_headline_is_seen_without_a_second_call(domain: str) -> None:
    """A changed number breaks a rule if sources are compared in it and its parts are listed."""
    seen = 0
    for step in steps(domain):
        remedies = step.tool.remedies
        if remedies.sources and any(isinstance(field, list) for field in step.result.values()):
            for place in remedies.compared:
                changed = put(step.result, place, resolve(step.result, place) + 1)
                assert any(rule(step.arguments, changed) for rule in remedies.invariants), (
                    step.tool.name,
                    place,
                )
                seen += 1
    assert seen >= 4


@each_domain
def test_probes_tell_the_truth(domain: str) -> None:
    """A probe denies an effect before it happened, and afterwards repeats its result, within its own schema."""
    probed = 0
    for step in steps(domain):
        if step.tool.remedies.probe is None:
            continue
        probe = TOOLSETS[domain].tools[step.tool.remedies.probe]
        known = {name: step.arguments[name] for name in probe.parameters["properties"]}
        checker = Draft202012Validator(dict(probe.remedies.returns or {}))
        before, after = (
            ask(domain, probe.name, known, state) for state in (step.before, step.after)
        )
        assert before == {"happened": False, "result": None}
        assert after == {"happened": True, "result": step.result}
        assert not [*checker.iter_errors(before), *checker.iter_errors(after)]
        assert probe.effect is Effect.PURE
        probed += 1
    assert probed >= 3


@each_domain
def test_a_repeated_effect_is_seen_in_the_log(domain: str) -> None:
    """An effect tool does not refuse a repetition, and the log then holds two entries under two numbers."""
    for step in steps(domain):
        if step.tool.effect is Effect.AT_MOST_ONCE:
            executor = Executor(TOOLSETS[domain].tools, step.after)
            again = json.loads(executor.call(step.tool.name, step.arguments))
            assert again != step.result
            log = executor.public_state()["effects"]
            assert [entry["result"] for entry in log[-2:]] == [step.result, again]


@each_domain
def test_limits_notice_some_wrong_units_but_not_all(domain: str) -> None:
    """A mistake by a factor of 100 or 1000 leaves the limits in at least half of the quantities, but not in all."""
    noticed: dict[tuple[str, str], bool] = {}
    for step in steps(domain):
        for name, schema in (step.tool.remedies.returns or {})["properties"].items():
            held = schema.get("items", schema)
            value = step.result[name][0] if held is not schema else step.result[name]
            if "unit" in held:
                factors = (100, 1000, 0.01, 0.001)
                outside = [
                    not held["minimum"] <= value * factor <= held["maximum"] for factor in factors
                ]
                noticed[step.tool.name, name] = noticed.get((step.tool.name, name), True) and any(
                    outside
                )
    assert len(noticed) / 2 <= sum(noticed.values()) < len(noticed)


@each_domain
def test_declarations_are_closed_and_say_what_they_hold(domain: str) -> None:
    """Nine to thirteen tools; arguments and results are closed objects in which every field is described."""
    tools = tools_of(domain)
    assert 9 <= len(tools) <= 13
    assert not COMMON & {name for name, _ in tools}
    for name, tool in tools:
        returns = dict(tool.remedies.returns or {})
        for schema in (tool.parameters, returns):
            Draft202012Validator.check_schema(schema)
            assert schema["additionalProperties"] is False
            assert all(field["description"] for field in schema["properties"].values()), name
        assert set(returns["required"]) == set(returns["properties"])
    fields = [
        field for _, tool in tools for field in (tool.remedies.returns or {})["properties"].values()
    ]
    assert {type(field["aliases"]) for field in fields if "aliases" in field} == {list, dict}
    effects = [tool for _, tool in tools if tool.effect is not Effect.PURE]
    assert Counter(tool.remedies.probe is None for tool in effects) == {False: 2, True: 1}


@each_domain
def test_no_two_fields_of_a_result_share_a_name(domain: str) -> None:
    """Names and aliases of a result's fields are distinct; spellings mean a word's values."""
    for name, tool in tools_of(domain):
        fields = (tool.remedies.returns or {})["properties"]
        listed = [
            other
            for field in fields.values()
            if isinstance(field.get("aliases"), list)
            for other in field["aliases"]
        ]
        assert len({*listed, *fields}) == len(listed) + len(fields), name
        for field in fields.values():
            spellings = field.get("aliases")
            if isinstance(spellings, dict):
                assert set(spellings.values()) <= set(field["enum"])
                assert not {spelling.lower() for spelling in spellings} & set(field["enum"])
