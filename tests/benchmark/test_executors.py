"""Properties of every tool of every category, on generated calls from the shipped tasks' states."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from jsonschema import SchemaError

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.services.catalogue import fresh_executor, toolset_of, toolsets
from asyncguard_benchmark.services.declarations import Effect, State, Tool, ToolDeclaration
from asyncguard_benchmark.services.declarations import tool as declared
from asyncguard_benchmark.services.service import Executor, copy_json
from tests.benchmark.builders import SUB_TASKS

TASKS = list(SUB_TASKS.values())
Invocation = tuple[str, dict[str, Any]]


@pytest.mark.parametrize("category", list(toolsets()), ids=str)
def test_every_schema_of_arguments_is_valid(category: Any) -> None:
    """A schema is checked when it is first used; here all are."""
    for tool in toolsets()[category].tools.values():
        assert tool.validator.schema == tool.parameters


def test_a_schema_that_is_not_valid_is_refused_when_it_is_used() -> None:
    """It would accept anything."""

    @declared()
    def broken(_: State, item: Annotated[str, {"minLength": "one"}]) -> None:
        """Do nothing."""

    with pytest.raises(SchemaError):
        _ = broken.validator


def words(value: Any) -> Iterator[Any]:
    """Every name and value in a state, and paths to them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from (f"{name}/{word}" if isinstance(word, str) else word for word in words(item))
            yield from words(item)
    elif isinstance(value, list):
        for item in value:
            yield from words(item)
    else:
        yield value


@st.composite
def situations(draw: st.DrawFn, count: int) -> tuple[SubTask, list[Invocation]]:
    """A task and calls of its category which often fit its state."""
    task = draw(st.sampled_from(TASKS))
    pool = sorted(
        {word for word in words(task.initial_state) if isinstance(word, str)}
        | {"..", "/", ".", "new"}
    )
    pool += ["/" + word for word in pool]
    numbers = sorted({word for word in words(task.initial_state) if isinstance(word, int)} | {1, 2})
    orders = [int(key) for key in task.initial_state.get("orders", {})]
    tools = list(toolset_of(task.category).tools.values())

    def value(schema: Mapping[str, Any]) -> Any:
        if "enum" in schema:
            return draw(st.sampled_from(schema["enum"]))
        return draw(st.sampled_from(pool if schema["type"] == "string" else numbers + orders))

    # Half of the calls are right ones: among random ones too few meet.
    right = [(call.tool, dict(call.arguments)) for call in task.gold]
    calls: list[Invocation] = []
    for tool in draw(st.lists(st.sampled_from(tools), min_size=count, max_size=count)):
        if draw(st.booleans()):
            calls.append(draw(st.sampled_from(right)))
            continue
        given_names = [
            n
            for n in tool.parameters["properties"]
            if n not in tool.defaults or draw(st.booleans())
        ]
        calls.append(
            (tool.name, {name: value(tool.parameters["properties"][name]) for name in given_names})
        )
    return task, calls


def everything(task: SubTask) -> Executor:
    """An executor with all tools of the task's category."""
    return Executor(toolset_of(task.category).tools, task.initial_state)


def tool_of(task: SubTask, name: str) -> Tool:
    """A tool of the task's category."""
    return toolset_of(task.category).tools[name]


@given(situations(4))
def test_running_twice_gives_the_same(situation: tuple[SubTask, list[Invocation]]) -> None:
    """Executors are deterministic and share nothing, and leave data and arguments alone."""
    task, calls = situation
    before = copy_json(task.initial_state)
    runs = []
    for _ in range(2):
        executor = everything(task)
        runs.append(([executor.call(*call) for call in calls], executor.public_state()))
    assert runs[0] == runs[1]
    assert task.initial_state == before


@given(situations(3))
def test_errors_and_pure_tools_change_nothing(situation: tuple[SubTask, list[Invocation]]) -> None:
    """A failing call is atomic, and a tool that declares no write makes none."""
    task, calls = situation
    executor = everything(task)
    for name, values in calls:
        before = executor.public_state()
        response = executor.call(name, values)
        if '{"error"' in response or tool_of(task, name).effect is Effect.PURE:
            assert executor.public_state() == before


@given(situations(2))
def test_idempotent_tools_may_be_repeated(situation: tuple[SubTask, list[Invocation]]) -> None:
    """The second call leaves and answers what the first did."""
    task, calls = situation
    executor = everything(task)
    for name, values in calls:
        first = executor.call(name, values)
        if tool_of(task, name).effect is Effect.IDEMPOTENT:
            state = executor.public_state()
            assert (executor.call(name, values), executor.public_state()) == (first, state)


def filled(task: SubTask, call: Invocation) -> tuple[set[str], set[str]]:
    """Return the tokens that a call declares to read and to write."""
    name, values = call
    declaration = tool_of(task, name).declaration
    names = {**tool_of(task, name).defaults, **values, "task_id": task.id}
    return {t.format(**names) for t in declaration.reads}, {
        t.format(**names) for t in declaration.writes
    }


def assert_honest(
    task: SubTask, before: list[Invocation], first: Invocation, second: Invocation
) -> None:
    """Two calls whose footprints do not meet give the same results and state in either order."""
    (reads, writes), (other_reads, other_writes) = filled(task, first), filled(task, second)
    if first == second or writes & (other_reads | other_writes) or other_writes & reads:
        return
    outcomes = []
    for order in ((first, second), (second, first)):
        executor = everything(task)
        for call in before:
            executor.call(*call)
        results = {json.dumps(call): executor.call(*call) for call in order}
        outcomes.append((results, executor.public_state()))
    assert outcomes[0] == outcomes[1]


@given(situations(4))
def test_calls_whose_footprints_do_not_meet_commute(
    situation: tuple[SubTask, list[Invocation]],
) -> None:
    """Declared footprints are honest: otherwise a guard that trusts them would let a hazard through."""
    task, (*before, first, second) = situation
    assert_honest(task, before, first, second)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_gold_calls_that_depend_on_each_other_have_footprints_that_meet(task: SubTask) -> None:
    """Calls of a task that do not commute are not declared to, from every state on the way."""
    calls: list[Invocation] = [(call.tool, dict(call.arguments)) for call in task.gold]
    for before in range(len(calls)):
        for first in calls:
            for second in calls:
                assert_honest(task, calls[:before], first, second)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_gold_calls_of_idempotent_tools_may_be_repeated(task: SubTask) -> None:
    """At their place in the ground truth the second call leaves and answers what the first did."""
    for position, call in enumerate(task.gold):
        if tool_of(task, call.tool).effect is Effect.AT_MOST_ONCE:
            continue
        executor = everything(task)
        for earlier in task.gold[:position]:
            executor.call(earlier.tool, earlier.arguments)
        outcomes = [
            (executor.call(call.tool, call.arguments), executor.public_state()) for _ in range(2)
        ]
        assert outcomes[0] == outcomes[1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_an_extra_harmless_call_shifts_nothing(task: SubTask) -> None:
    """Any reading call before the gold calls leaves every result as it is."""
    tools = toolset_of(task.category).tools
    plain = everything(task)
    expected = [plain.call(call.tool, call.arguments) for call in task.gold]
    extra = everything(task)
    for name, tool in tools.items():
        if tool.effect is Effect.PURE and not tool.parameters["required"]:
            extra.call(name, {})
    assert [extra.call(call.tool, call.arguments) for call in task.gold] == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cat", {}),
        ("cat", {"file": ""}),
        ("cat", {"file": 3}),
        ("cat", {"file": "x", "encoding": "utf-8"}),
        ("head", {"file": "stock.txt", "lines": 0}),
        ("head", {"file": "stock.txt", "lines": True}),
        ("head", {"file": "stock.txt", "lines": "3"}),
        ("sort", {"file": "stock.txt", "order": "backwards"}),
        ("__class__", {}),
        ("du", {"folder": "/store"}),
        ("run", {"state": {}}),
    ],
)
def test_what_a_tool_does_not_allow_never_reaches_it(name: str, values: dict[str, Any]) -> None:
    """Arguments meet the schema first, and only names on the task's own list are tools: fs-06 lists no `du`."""
    executor = fresh_executor(SUB_TASKS["fs-06"])
    assert set(json.loads(executor.call(name, values))) == {"error"}


def test_ten_and_ten_point_zero_are_one_number() -> None:
    """The way a number is written shows in no result and no state."""
    results = []
    for quantity, price in ((15, 22), (15.0, 22.0)):
        executor = everything(SUB_TASKS["tb-08"])
        order = {"symbol": "PELO", "side": "buy", "quantity": quantity, "limit_price": price}
        results.append((executor.call("place_order", order), json.dumps(executor.public_state())))
    assert results[0] == results[1]


def test_a_long_wrong_value_is_not_quoted_in_full() -> None:
    """An error message stays short."""
    assert (
        len(everything(SUB_TASKS["fs-06"]).call("head", {"file": "a", "lines": "x" * 9000})) < 500
    )


def test_a_failing_tool_leaves_nothing_behind_however_it_is_written() -> None:
    """The executor, not the care of each tool, makes a call atomic, and data and arguments stay untouched."""

    @declared(writes=("x",))
    def spoil(state: State, items: list[int]) -> None:
        state["deep"]["list"].append(1)
        items.append(2)
        raise ToolFailure("too late")

    initial: dict[str, Any] = {"deep": {"list": []}}
    executor, given_items = Executor({"spoil": spoil}, initial), [1]
    assert json.loads(executor.call("spoil", {"items": given_items})) == {"error": "too late"}
    assert executor.public_state() == initial == {"deep": {"list": []}}
    assert given_items == [1]
    executor.public_state()["deep"]["list"].append(9)
    assert executor.public_state() == initial


def test_the_task_argument_is_reserved() -> None:
    """No tool may have an argument that the native surface needs."""
    with pytest.raises(ValueError, match="task_id"):

        @declared()
        def look(_: State, task_id: str) -> None:
            """Look."""


def test_a_declaration_cannot_contradict_itself() -> None:
    """Pure means no writes, and no writes means pure."""
    with pytest.raises(ValueError, match="pure"):
        ToolDeclaration(name="x", effect=Effect.PURE, reads=(), writes=("a",))
    with pytest.raises(ValueError, match="pure"):
        ToolDeclaration(name="x", effect=Effect.IDEMPOTENT, reads=(), writes=())


@pytest.mark.parametrize("value", [None, 1, "x", True, [], {}, [[]], [{}]], ids=repr)
def test_no_rule_raises_for_a_result_of_other_types(value: Any) -> None:
    """A rule judges only what it can read, whatever stands in one field or in all."""
    for tool in (tool for toolset in toolsets().values() for tool in toolset.tools.values()):
        fields = (tool.remedies.returns or {}).get("properties", {})
        results = [value, dict.fromkeys(fields, value)]
        results += [{**dict.fromkeys(fields, 1), name: value} for name in fields]
        for rule in tool.remedies.invariants:
            assert all(isinstance(rule({}, result), str | None) for result in results)


def test_tool_names_are_unique_over_all_categories() -> None:
    """The API list of a cross composition is a union by name."""
    names = [name for toolset in toolsets().values() for name in toolset.tools]
    assert len(names) == len(set(names))
