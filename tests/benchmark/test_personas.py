"""Personas: their inputs and draws; a rehearsal without messages equals the played episode."""

import ast
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

import asyncguard_benchmark.harness.agents
import asyncguard_benchmark.suites.asynctool.agents
from asyncguard_benchmark import Composition, Regime, Run, Surface, run_episode, score
from asyncguard_benchmark.harness.agents.guesses import worked_out
from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import SerialAgent
from asyncguard_benchmark.harness.agents.transcript import Attempt
from asyncguard_benchmark.harness.players.guarded import play_graph
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.suites.asynctool.agents.personas.agent import PersonaAgent
from asyncguard_benchmark.suites.asynctool.agents.personas.draws import Draws, deviation_of_task
from asyncguard_benchmark.suites.asynctool.agents.personas.policy import Mind
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import (
    FITTED,
    RATE_NAMES,
    SPREADS,
    Rates,
    RatesError,
)
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief
from asyncguard_benchmark.suites.asynctool.calibration.rehearsal import Stage, stages_of
from tests.benchmark.builders import SUB_TASKS, compose
from tests.support.examples import examples

PAIRS = (compose("fs-08", "tb-07"), compose("fs-01", "fs-12"), compose("tb-02", "fs-13", "tb-05"))
STAGES = stages_of(PAIRS)
PAIR = PAIRS[0]

_share = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.02, 0.6))
RATES = st.builds(
    Rates, **{name: st.floats(0, 2) if name in SPREADS else _share for name in RATE_NAMES}
)


def played(
    composition: Composition, rates: Rates, regime: Regime = Regime.FIXED1, seed: int = 0
) -> Any:
    """An episode of a persona in the plain loop, on the text surface."""
    agent = PersonaAgent(plan=plan_of(composition), rates=rates, seed=seed, name="persona")
    return run_episode(composition, agent, regime, Surface.TEXT, seed)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(STAGES),
    RATES,
    st.sampled_from(Regime),
    st.sampled_from(Surface),
    st.integers(0, 3),
)
def test_a_rehearsal_is_the_agent_in_the_plain_loop(
    stage: Stage, rates: Rates, regime: Regime, surface: Surface, seed: int
) -> None:
    """Call by call and round by round, whatever the rates, the delays and the surface."""
    agent = PersonaAgent(plan=stage.plan, rates=rates, seed=seed, name="persona")
    episode = run_episode(stage.composition, agent, regime, surface, seed)
    rehearsed = stage.rehearse(rates, regime, seed)
    for task, history in zip(stage.composition.sub_tasks, rehearsed.histories, strict=True):
        assert [(r.tool, r.arguments) for r in episode.calls_of(task.id)] == list(history.calls)
        assert tuple(r.response for r in episode.calls_of(task.id)) == history.results
    assert episode.counters.rounds == rehearsed.rounds


@pytest.mark.parametrize("regime", list(Regime))
def test_a_persona_without_errors_solves_everything(regime: Regime) -> None:
    """The rates are all that makes it err."""
    for each in PAIRS:
        assert score(played(each, Rates(), regime)).overall


@pytest.mark.parametrize(
    "rate",
    [
        "haste",
        "neglect",
        "dropout",
        "slip",
        "confusion",
        "untidy",
        "repeat",
        "collapse",
        "impatience",
    ],
)
def test_every_error_rate_does_harm(rate: str) -> None:
    """At its greatest, with late results, something that was solved is not."""
    verdicts = [score(played(each, Rates(**{rate: 1.0}))).overall for each in PAIRS]
    assert not all(verdicts)


def test_garbled_calls_cost_rounds_and_no_score() -> None:
    """They come out broken, are answered at once and are said again."""
    clean, garbled = ([played(each, Rates(garbled=rate)) for each in PAIRS] for rate in (0.0, 0.5))
    assert all(score(each).overall for each in garbled)
    errors = sum(each.counters.format_errors for each in garbled)
    assert errors > 3
    assert sum(each.counters.rounds for each in garbled) > sum(
        each.counters.rounds for each in clean
    )


def test_how_it_goes_from_task_to_task_costs_rounds_and_no_score() -> None:
    """Going round leaves the last sub-task less alone; waiting for each result is as slow as one after the other."""
    three = compose("tb-02", "fs-13", "tb-05")
    usual, round_trip, waits = (
        played(three, rates) for rates in (Rates(), Rates(rotation=1.0), Rates(linger=1.0))
    )
    assert all(score(each).overall for each in (usual, round_trip, waits))
    serial = run_episode(three, SerialAgent(plan=plan_of(three)), Regime.FIXED1, Surface.TEXT, 0)
    assert waits.counters.rounds == serial.counters.rounds
    assert round_trip.counters.rounds < usual.counters.rounds < waits.counters.rounds


def test_waiting_by_choice_does_not_end_a_run() -> None:
    """A persona that could go on with another sub-task does not end the run when it waits."""
    for each in PAIRS:
        ends = [played(each, Rates(linger=rate, impatience=1.0)).trajectory for rate in (0.0, 1.0)]
        assert {record.tool for record in ends[0]} == {record.tool for record in ends[1]}


def test_arms_share_their_draws() -> None:
    """Guards change no draw: if nothing is refused, a guarded run makes the plain one's calls."""
    rates = Rates(slip=0.4, distractor=0.5)
    for each in PAIRS:
        plain = played(each, rates, Regime.SYNC)
        agent = PersonaAgent(plan=plan_of(each), rates=rates, name="persona")
        guarded = play_graph(each, agent, Run(regime=Regime.SYNC, surface=Surface.TEXT, seed=0))
        first = {(r.task_id, r.tool): r.arguments for r in reversed(plain.trajectory)}
        for record in guarded.trajectory[:1]:
            assert first[record.task_id, record.tool] == record.arguments


def test_one_rate_changes_only_what_it_is_about() -> None:
    """A draw has a name of its own: more garbling leaves every value of every call as it was."""
    rates = Rates(slip=0.5, distractor=0.3)
    one, other = (
        played(PAIR, each).trajectory for each in (rates, replace(rates, persistence=1.0))
    )
    values = [{(r.task_id, r.tool, json.dumps(r.arguments)) for r in each} for each in (one, other)]
    assert values[0] == values[1]


def test_draws_depend_on_their_key_only() -> None:
    """A draw depends on its key, composition and seed, not on the order of draws."""
    draws, again = Draws(0, "x"), Draws(0, "x")
    first = draws.share("a", 1), draws.share("b", 1)
    assert (again.share("b", 1), again.share("a", 1)) == first[::-1]
    assert len({Draws(s, c).share("a", 1) for s in (0, 1) for c in "xy"}) == 4
    assert all(0 < draws.share("t", n) < 1 for n in range(1000))
    mean = sum(draws.deviation("d", n) for n in range(4000)) / 4000
    assert abs(mean) < 0.08
    assert deviation_of_task("fs-01") == deviation_of_task("fs-01") != deviation_of_task("fs-02")


def test_thresholds_are_shares() -> None:
    """A rate of a third happens in a third of the draws; nothing happens at none, everything at all."""
    plan = plan_of(PAIR)
    mind = Mind(plan, Rates(repair=1 / 3), Draws(0, "x"))
    assert abs(sum(mind.notices("t", 0, n) for n in range(6000)) / 6000 - 1 / 3) < 0.02
    assert not any(
        Mind(plan, Rates(repair=0), Draws(0, "x")).notices("t", 0, n) for n in range(100)
    )
    assert all(Mind(plan, Rates(repair=1), Draws(0, "x")).notices("t", 0, n) for n in range(100))


def test_compliance_decides_whether_a_refusal_is_heeded() -> None:
    """A persona that heeds a refusal corrects its arguments; another one never gets through."""
    solved = {}
    for compliance in (0.0, 1.0):
        rates = Rates(untidy=1.0, compliance=compliance)
        run = Run(regime=Regime.FIXED1, surface=Surface.NATIVE, seed=0)
        agents = [
            (each, PersonaAgent(plan=plan_of(each), rates=rates, name="persona")) for each in PAIRS
        ]
        solved[compliance] = [score(play_graph(each, agent, run)).overall for each, agent in agents]
    assert all(solved[1.0])
    assert not any(solved[0.0])


def test_compliance_changes_nothing_without_guards() -> None:
    """The published tables cannot tell it, so no fit may depend on it."""
    rates = Rates(haste=0.6, slip=0.3, garbled=0.3, untidy=0.3, repair=0.5, neglect=0.2)
    for each in PAIRS:
        one, other = (played(each, replace(rates, compliance=value)) for value in (0.0, 1.0))
        assert one.trajectory == other.trajectory
    assert "compliance" not in FITTED


def test_a_reminder_brings_back_what_was_neglected() -> None:
    """Words that answer a claim and name the sub-task; results that name it do not count."""
    agent = PersonaAgent(plan=plan_of(PAIR), rates=Rates(neglect=1.0), name="persona")
    opening = HumanMessage("y")
    claim = agent.invoke([opening])
    assert json.loads(str(claim.content)) == {"content": "ALL COMPLETED"}
    result = json.dumps(
        {"role": "tool", "id": "fs-08", "function name": "cat(file='a')", "response": "{}"}
    )
    again = agent.invoke([opening, claim, HumanMessage(result)])
    assert again.content == claim.content
    call = agent.invoke(
        [opening, claim, HumanMessage("Not finished:\n- tb-07: no tool was called for it")]
    )
    assert json.loads(str(call.content))["id"] == "tb-07"


def test_rates_are_checked() -> None:
    """A share is between 0 and 1, a width not negative, and there are no others."""
    for wrong in ({"haste": 1.1}, {"slip": -0.1}, {"frailty": -1.0}, {"luck": 0.5}):
        with pytest.raises(RatesError):
            Rates.from_json(wrong)
    rates = Rates(haste=0.25, frailty=1.5)
    assert Rates.from_json(rates.to_json()) == rates


def test_a_pure_function_can_be_computed_in_the_head() -> None:
    """A function is computed from the arguments of the call; one that fails gives nothing."""
    task = SUB_TASKS["no-01"]
    gold = task.gold[0]
    tool = tools_of(task)[gold.tool]
    operand = plan_of(compose("no-01", "no-02")).tasks[0].steps[1].operands
    pointer = next(each.pointer for each in operand.values())
    place, source = next((p, s) for p, s in task.gold[1].sources.items() if s.call == 0)
    del source
    assert worked_out(tool, gold.arguments, pointer) == task.gold[1].arguments[place[1:]]
    assert worked_out(tool, {}, pointer) is None


def test_only_stateless_tools_are_in_a_plan() -> None:
    """A plan holds a tool's code only where its result says nothing of a hidden state."""
    for task in SUB_TASKS.values():
        planned = plan_of(compose(task.id, "fs-08" if task.id != "fs-08" else "fs-01")).tasks[0]
        for step in planned.steps:
            tool = tools_of(task)[step.tool]
            assert (step.head is None) == bool(tool.reads or tool.writes)
            assert step.head is None or not task.initial_state


def _attempt(
    tool: str, standing: Standing = Standing.ANSWERED, response: str = "{}", **more: Any
) -> Attempt:
    return Attempt(
        task_id="fs-08",
        tool=tool,
        arguments=more,
        call_id=None,
        standing=standing,
        response=response,
        said=1,
        told=2,
    )


def test_beliefs_tell_repeats_strays_and_refusals_apart() -> None:
    """A call said twice is one step, a foreign tool takes the next step, a refusal leaves it free."""
    plan = plan_of(PAIR).tasks[0]
    twice = Belief(plan, [_attempt("cat", file="a"), _attempt("cat", file="a")])
    assert (twice.next_position, twice.repeats(0)) == (1, 1)
    stray = Belief(plan, [_attempt("set_alert", symbol="X")])
    assert stray.next_position == 1
    refused = Belief(plan, [_attempt("cat", Standing.REJECTED, "no", file="a")])
    assert (refused.next_position, refused.refusals(0)) == (0, 1)
    broken = Belief(plan, [_attempt("", Standing.REJECTED, "unreadable")])
    assert (broken.next_position, broken.refusals(0)) == (0, 1)


GUARD_WORDS = ("GuardConfig", "scoreboard", "guard=", "ledger")


def test_no_agent_can_see_ground_truth_or_guards() -> None:
    """The code of agents names no gold, no episode, no environment and nothing of the library."""
    packages = (asyncguard_benchmark.harness.agents, asyncguard_benchmark.suites.asynctool.agents)
    folders = [Path(package.__file__).parent for package in packages]
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        # The plan is made from the ground truth, in one place that leaves out what results say.
        assert path.name == "plan.py" or not names & {"gold", "initial_state", "public_state"}, path
        imported = {
            node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        assert not any(
            name.startswith(("asyncguard.", "asyncguard_benchmark.harness.environment"))
            for name in imported
        )
        assert not any(name.startswith("asyncguard_benchmark.harness.players") for name in imported)
        assert not any(word in path.read_text(encoding="utf-8") for word in GUARD_WORDS), path


def test_a_persona_says_the_same_if_results_are_changed_that_it_was_not_told() -> None:
    """Only its messages decide: a hidden state that differs changes nothing until it is shown."""
    composition = compose("fs-08", "tb-07")
    other = replace(
        composition,
        sub_tasks=tuple(
            replace(task, initial_state=_renamed(task.initial_state))
            for task in composition.sub_tasks
        ),
    )
    rates = Rates(haste=1.0, slip=0.3, distractor=0.5, foresight=0.5)
    one, two = (
        PersonaAgent(plan=plan_of(each), rates=rates, name="persona")
        for each in (composition, other)
    )
    messages: list[Any] = [
        HumanMessage("{id:'fs-08', question:'start_here.txt'}\n{id:'tb-07', question:'TRSK'}")
    ]
    for _ in range(6):
        said = one.invoke(messages)
        assert two.invoke(messages).content == said.content
        messages += [
            AIMessage(said.content),
            HumanMessage('{"role": "tool", "content": "{\\"wait\\": \\"...\\"}"}'),
        ]


def _renamed(state: Any) -> Any:
    return json.loads(json.dumps(state).replace("left", "right"))


def test_what_is_simulated_is_said() -> None:
    """The docstring of the class says what is simulated."""
    text = inspect.getdoc(PersonaAgent) or ""
    assert "not a model of how a language model works" in text
