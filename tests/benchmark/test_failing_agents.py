"""Agents that fail in one way each: guards save them, except without the guard of the case."""

import json
from collections.abc import Sequence

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark import (
    Composition,
    Regime,
    Surface,
    run_episode,
    score,
    shipped_compositions,
)
from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.tool_match import rank
from asyncguard_benchmark.harness.agents.transcript import (
    UNREADABLE,
    read_transcript,
    reminders,
)
from asyncguard_benchmark.harness.registry import AgentSpec, agent_class, player_of
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.suites.asynctool.agents.keyword import KeywordAgent
from asyncguard_benchmark.suites.asynctool.agents.malformed import MalformedAgent
from asyncguard_benchmark.suites.asynctool.agents.slips import Slip, slipped
from asyncguard_benchmark.suites.asynctool.agents.value_candidates import candidates
from tests.benchmark.builders import compose

EVERY = shipped_compositions()
SOME = EVERY[::60]
CROSS = [each for each in EVERY if each.kind.cross][::30]
SIZES = [pytest.param(3, id="few"), pytest.param(1, id="some", marks=pytest.mark.slow)]
"""A third of the compositions; all of them where time does not count."""


def scores(
    kind: str, arm: str, compositions: Sequence[Composition], regime: Regime = Regime.FIXED1
) -> list[Score]:
    """Return an agent's scores behind the state machine."""
    player = player_of("graph", arm, declared=True)
    agents = [(each, AgentSpec(kind=kind).make(each, 0)) for each in compositions]
    return [
        score(run_episode(each, agent, regime, Surface.TEXT, 0, player)) for each, agent in agents
    ]


def solved(
    kind: str, arm: str, compositions: Sequence[Composition], regime: Regime = Regime.FIXED1
) -> float:
    """Share of compositions that are solved."""
    found = scores(kind, arm, compositions, regime)
    return sum(each.overall for each in found) / len(found)


@pytest.mark.parametrize("step", SIZES)
@pytest.mark.parametrize(
    ("kind", "guard", "compositions"),
    [
        ("neglectful", "completion", SOME),
        # Where both sub-tasks may use a tool, it cannot be seen that the call was meant for the
        # other: see below.
        ("confused", "scope", CROSS),
        ("malformed", "arguments", SOME),
    ],
)
def test_each_failing_agent_is_the_case_of_one_guard(
    kind: str, guard: str, compositions: Sequence[Composition], step: int
) -> None:
    """Lost without guards, saved by all, and lost again without that one."""
    chosen = compositions[::step]
    assert solved(kind, "none", chosen) <= 0.1
    assert solved(kind, "all", chosen) >= 0.9
    assert solved(kind, f"without-{guard}", chosen) <= 0.1


@pytest.mark.parametrize("step", SIZES)
def test_the_forgetful_agent_is_the_case_of_the_duplicate_guard(step: int) -> None:
    """The guard saves episodes that a repeated call spoils; in the others it saves rounds."""
    chosen = EVERY[:: 24 * step]
    alone = scores("forgetful", "without-duplicate", chosen)
    harmed = [each for each, verdict in zip(chosen, alone, strict=True) if not verdict.overall]
    assert harmed
    assert solved("forgetful", "all", harmed) == 1
    others = [each for each in chosen if each not in harmed][:3]
    guarded = scores("forgetful", "all", others)
    unguarded = [verdict for each, verdict in zip(chosen, alone, strict=True) if each in others]
    assert sum(each.counters.rounds for each in guarded) < sum(
        each.counters.rounds for each in unguarded
    )


@pytest.mark.parametrize("kind", ["forgetful", "malformed"])
def test_without_delay_they_mend_what_they_do(kind: str) -> None:
    """A result that comes at once tells them, so these two fail because results are late."""
    assert solved(kind, "none", SOME[:6], Regime.SYNC) == 1


@pytest.mark.parametrize("step", SIZES)
def test_a_confusion_of_like_tasks_cannot_be_seen(step: int) -> None:
    """In compositions of one category the scope guard sees only tools that the sub-task must not use."""
    similar = [each for each in EVERY if not each.kind.cross][:: 40 * step]
    assert solved("confused", "none", similar) < solved("confused", "all", similar) < 1


@pytest.mark.parametrize("step", SIZES)
@pytest.mark.parametrize("surface", list(Surface))
def test_copying_by_keywords_solves_next_to_nothing(surface: Surface, step: int) -> None:
    """Well below ten per cent of compositions and of sub-tasks, on either surface, even without delays."""
    verdicts = [
        score(run_episode(each, KeywordAgent(name="k"), Regime.SYNC, surface))
        for each in EVERY[:: 36 * step]
    ]
    singles = [task.accurate for each in verdicts for task in each.sub_tasks]
    assert sum(each.overall for each in verdicts) / len(verdicts) < 0.1
    assert sum(singles) / len(singles) < 0.1
    assert sum(task.calls for each in verdicts for task in each.sub_tasks) > 1.5 * len(singles)


def test_the_keyword_agent_has_no_plan() -> None:
    """It is given the messages and the API list, as a model is."""
    assert "plan" not in KeywordAgent.model_fields
    assert json.loads(
        str(KeywordAgent().invoke([SystemMessage("x"), HumanMessage("y")]).content)
    ) == {"content": "ALL COMPLETED"}


def test_tools_are_ranked_by_the_words_of_a_question() -> None:
    """A name counts more than a description, a rare word more than a common one."""
    tools = {
        "copy_file": {"name": "copy_file", "description": "Copies a file to a folder."},
        "remove_file": {"name": "remove_file", "description": "Deletes a file."},
        "list_folder": {"name": "list_folder", "description": "Names what a folder holds."},
    }
    assert rank("Copying the file is enough.", tools)[0].tool == "copy_file"
    assert rank("Removed files, listed folders.", tools)[0].tool in {"remove_file", "list_folder"}
    assert rank("Nothing of that.", tools) == []


@pytest.mark.parametrize(
    ("name", "schema", "question", "results", "best"),
    [
        ("folder", {"type": "string"}, "Move 'a b.txt' into /x/y please.", [], "a b.txt"),
        ("amount", {"type": "number"}, "Transfer 1,500 dollars to it.", [], 1500),
        ("count", {"type": "integer", "maximum": 9}, "Take 12 of the 7 boxes.", [], 7),
        (
            "values",
            {"type": "array", "items": {"type": "number"}},
            "the middle of 58, 71 and 66",
            [],
            [58, 71, 66],
        ),
        ("side", {"type": "string", "enum": ["buy", "sell"]}, "I would sell them all.", [], "sell"),
        ("symbol", {"type": "string"}, "Buy some.", ['{"symbol": "PELO", "price": 3}'], "PELO"),
        ("price", {"type": "number"}, "Buy some.", ['{"symbol": "PELO", "price": 3}'], 3),
    ],
)
def test_values_are_copied_by_type_look_and_name(
    name: str, schema: dict[str, object], question: str, results: list[str], best: object
) -> None:
    """A value is copied if the schema allows it, from results first, by the name of the field."""
    assert candidates(name, schema, question, results)[0].value == best


def test_nothing_is_copied_where_nothing_fits() -> None:
    """An error is not used as a result, and a truth value is never copied."""
    assert candidates("symbol", {"type": "string"}, "", ['{"error": "no"}']) == []
    assert candidates("strict", {"type": "boolean"}, "true or false?", []) == []


@pytest.mark.parametrize("slip", [slip for slip in Slip if slip is not Slip.BROKEN_JSON])
def test_slips_change_one_thing(slip: Slip) -> None:
    """One argument missing, one too many, or one of another type."""
    arguments = {"a": 1, "b": ["x"]}
    found = slipped(slip, arguments, 0.9)
    match slip:
        case Slip.MISSING:
            assert found == {"a": 1}
            assert slipped(slip, arguments, 0.9, droppable=("a",)) == {"b": ["x"]}
        case Slip.UNKNOWN:
            assert {name: found[name] for name in arguments} == arguments
            assert len(found) == 3
        case _:
            assert found == {"a": 1, "b": "several"}
    assert slipped(slip, {}, 0.0) != {}


@pytest.mark.parametrize("surface", list(Surface))
def test_broken_json_is_an_attempt_that_nobody_could_read(surface: Surface) -> None:
    """It reaches no tool, is answered at once, and the error is not laid to the call before it."""
    pair = compose("fs-08", "tb-07")
    agents = (MalformedAgent(plan=plan_of(pair), seed=seed, name="m") for seed in range(30))
    episode = next(
        each
        for agent in agents
        for each in (run_episode(pair, agent, Regime.FIXED1, surface),)
        if each.counters.format_errors
    )
    assert all(record.tool for record in episode.trajectory)


def test_an_error_is_laid_to_the_broken_call() -> None:
    """The call before it stays open."""
    messages = [
        AIMessage('{"id": "fs-08", "func_name": "cat", "params": {"file": "a"}}'),
        HumanMessage('{"role": "tool", "content": "{\\"wait\\": \\"...\\"}"}'),
        AIMessage('{"id": "fs-08", "func_name": "cat", "params": {"file": '),
        HumanMessage('{"role": "tool", "content": "{\\"error\\": \\"unreadable\\"}"}'),
    ]
    first, second = read_transcript(messages, ("fs-08", "tb-07"))
    assert first.standing is Standing.OPEN
    assert (second.tool, second.task_id, second.standing) == (
        UNREADABLE,
        "fs-08",
        Standing.REJECTED,
    )
    assert second.told_at_once


def test_broken_native_calls_are_read_back() -> None:
    """A broken native call is read back by its id, with the task from what can be read."""
    broken = {"name": "cat", "args": '{"task_id": "fs-08", "file": "a"', "id": "c1", "error": None}
    messages = [
        AIMessage("", invalid_tool_calls=[broken | {"type": "invalid_tool_call"}]),  # type: ignore[list-item]
        ToolMessage('{"error": "unreadable"}', tool_call_id="c1", status="error"),
    ]
    (found,) = read_transcript(messages, ("fs-08", "tb-07"))
    assert (found.tool, found.task_id, found.standing) == (UNREADABLE, "fs-08", Standing.REJECTED)


def test_only_an_objection_is_a_reminder() -> None:
    """A result that names a task, or a list that is only shown, is not a reminder."""
    result = '{"role": "tool", "id": "fs-08", "function name": "cat()", "response": "{}"}'
    view = (
        "State of your tasks (kept by the runtime):\n- fs-08: 1 call answered\n- tb-07: not begun"
    )
    objection = "You are about to finish, but not every task looks finished:\n- tb-07: no tool was called for it"
    first = HumanMessage("{id:'fs-08', question:'is it finished?\n- fs-08'}")
    assert reminders([first, HumanMessage(result), HumanMessage(view)]) == ()
    (said,) = reminders([first, HumanMessage(f"{result}\n{objection}\n{view}")])
    assert "tb-07" in said
    assert "fs-08" not in said


def test_agents_have_the_names_that_the_command_line_knows() -> None:
    """Every name that a suite gives leads to a class; a foreign class is named by its place."""
    untrained = set(registry().all_agents) - set(registry().trained)  # a trained one needs an extra
    for name in untrained:
        assert agent_class(name).__name__.endswith("Agent")
    composition = SOME[0]
    own = AgentSpec(kind="asyncguard_benchmark.suites.asynctool.agents.keyword:KeywordAgent").make(
        composition, 0
    )
    assert isinstance(own, KeywordAgent)
    for wrong in (
        "nobody",
        "nowhere.module:Agent",
        "asyncguard_benchmark.suites.asynctool.agents.keyword:json",
    ):
        with pytest.raises(UnknownNameError):
            AgentSpec(kind=wrong).make(composition, 0)
    with pytest.raises(UnknownNameError, match="member and compliance"):
        AgentSpec(kind="persona:gpt-4.1", settings={"luck": 1}).make(composition, 0)
