"""Objections of a sceptic to the suite: chosen places, leaks, unequal arms, miscounted effects."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from asyncguard_benchmark import Regime, Surface
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.episode import Run
from asyncguard_benchmark.harness.faults import Hazard, Profile
from asyncguard_benchmark.harness.players.declarations import specs_of
from asyncguard_benchmark.harness.players.guarded import Setting, play_graph
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.registry import AgentSpec, player_of
from asyncguard_benchmark.harness.scenario import Composition, Domain
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of
from asyncguard_benchmark.suites.hazards.agents.simple import NaiveAgent
from asyncguard_benchmark.suites.hazards.campaign import Experiment
from asyncguard_benchmark.suites.hazards.composition_sets import anywhere
from asyncguard_benchmark.suites.hazards.effects import compare_effects
from asyncguard_benchmark.suites.hazards.fault_sites import Sign, matters, sign_of, witness_of
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Part,
    Wanted,
    all_tasks,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.metadata import gathering_of, part_of
from asyncguard_benchmark.suites.hazards.observations import observed
from asyncguard_benchmark.suites.hazards.sampling import modes_of
from asyncguard_benchmark.suites.hazards.scorer import score_hazards
from asyncguard_benchmark.suites.hazards.tasks import load_hazard_tasks

RUN = Run(regime=Regime.SYNC, surface=Surface.TEXT, seed=0)
TREASURY = load_hazard_tasks(Domain.TREASURY)
DRAWN = list(anywhere(TREASURY, modes_of(Part.DEVELOPMENT), 0))
SINGLE = [
    each
    for each in shipped_instances()
    if each.gathering is Gathering.SINGLE and each.part is Part.DEVELOPMENT
]


# -- places that were not chosen ---------------------------------------------------------------------------------------


def test_anywhere_means_one_fault_of_each_hazard_on_each_task() -> None:
    """Equal seeds give equal faults, other seeds others; both differ from the shipped instances."""
    counts = Counter((each.sub_tasks[0].id, each.faults[0].hazard) for each in DRAWN)
    assert set(counts.values()) == {1}
    assert len(counts) >= 4 * len(TREASURY)
    assert list(anywhere(TREASURY, modes_of(Part.DEVELOPMENT), 0)) == DRAWN
    assert list(anywhere(TREASURY, modes_of(Part.DEVELOPMENT), 1)) != DRAWN
    assert len({each.id for each in DRAWN}) == len(DRAWN)
    assert {(gathering_of(each), part_of(each)) for each in DRAWN} == {
        (Gathering.ANYWHERE, Part.DEVELOPMENT)
    }


def test_anywhere_holds_what_instances_are_refused_for() -> None:
    """Faults that do no harm, and faults that show nowhere: what was chosen by either is not chosen here."""
    tasks = all_tasks()
    harmless = [each for each in DRAWN if not matters(tasks[each.sub_tasks[0].id], each)]
    assert 0.1 * len(DRAWN) < len(harmless) < 0.6 * len(DRAWN)
    assert any(sign_of(each) is Sign.NONE for each in DRAWN)


def test_places_that_nothing_survives_are_few() -> None:
    """The suite leaves out faults that no plan survives; anywhere they are less than a tenth."""
    tasks = all_tasks()
    kept = [each for each in DRAWN if matters(tasks[each.sub_tasks[0].id], each)]
    hopeless = [each for each in kept if witness_of(tasks[each.sub_tasks[0].id], each) is None]
    assert len(hopeless) < 0.1 * len(kept)


def test_an_experiment_draws_anew_with_every_seed_and_plays_each_task_clean() -> None:
    """Hazards, severities and profiles choose among what was drawn; every fault has its clean run."""
    wanted = Wanted(
        gathering=Gathering.ANYWHERE,
        domains=(Domain.TREASURY,),
        hazards=(Hazard.OUTPUT,),
        severities=(1, 2),
        profiles=tuple(Profile),
    )
    experiment = Experiment(
        wanted=wanted, agents=[AgentSpec(kind="naive")], players=["graph"], arms=["all"]
    )
    first, second = experiment.compositions(0), experiment.compositions(1)
    faults = [fault for each in first for fault in each.faults]
    assert {fault.hazard for fault in faults} == {Hazard.OUTPUT}
    assert {fault.severity for fault in faults} == {1, 2}
    assert len({each.id for each in first}) == len(first)
    assert {each.sub_tasks[0].id for each in first if not each.faults} == {
        task.id for task in TREASURY
    }
    assert {each.id for each in first if each.faults} != {each.id for each in second if each.faults}


# -- leaks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("instance", SINGLE[::61], ids=lambda each: each.id)
def test_what_the_runtime_is_declared_does_not_depend_on_faults(instance: Any) -> None:
    """Specs and tool list of a task are the same with a fault and without."""
    clean = replace(instance.composition, faults=())
    assert specs_of(instance.composition, declared=True) == specs_of(clean, declared=True)


@pytest.mark.parametrize("hazard", list(Hazard))
def test_names_of_faults_reach_nobody(hazard: Hazard) -> None:
    """A composition that is called otherwise, hazard and mode left out of its id, is played call by call the same."""
    instance = next(each for each in SINGLE if each.faults[0].hazard is hazard)
    renamed = replace(instance.composition, id=instance.task.id)
    played = [_naive(each) for each in (instance.composition, renamed)]
    assert played[0].trajectory == played[1].trajectory
    assert [each["content"] for each in played[0].messages] == [
        each["content"] for each in played[1].messages
    ]
    said = str(played[0].messages)
    assert not any(
        name in said for name in (instance.faults[0].mode, "failpoint", "severity", "firing")
    )


def _naive(composition: Composition) -> Any:
    agent = NaiveAgent(name="naive", plan=plan_of(composition))
    return play_graph(composition, agent, RUN, Setting())


# -- arms --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("instance", SINGLE[::73], ids=lambda each: each.id)
def test_without_recovery_the_naive_agent_fares_as_in_the_plain_loop(instance: Any) -> None:
    """The base arm is not made worse than no runtime at all: same calls, same end."""
    composition = instance.composition
    agent = NaiveAgent(name="naive", plan=plan_of(composition))
    bare = play_plain(composition, agent, RUN)
    none = player_of("graph", "recover-none", declared=True)(composition, agent, RUN)
    tasks = all_tasks()
    assert [(each.tool, each.arguments) for each in bare.trajectory] == [
        (each.tool, each.arguments) for each in none.trajectory
    ]
    assert score_hazards(bare, tasks)[0].ending is score_hazards(none, tasks)[0].ending


@pytest.mark.parametrize(("tool", "detected"), [("hit", True), ("else", False)])
def test_a_fault_is_detected_where_it_struck_and_nowhere_else(tool: str, *, detected: bool) -> None:
    """A diagnosis counts as detection only for a tool that was struck or asks a struck one."""
    instance = next(each for each in SINGLE if each.faults[0].hazard is Hazard.OUTPUT)
    episode = _naive(instance.composition)
    named = instance.faults[0].tool if tool == "hit" else "submit_answer"
    said = [{"task": instance.task.id, "tool": named, "hazard": "output"}]
    found = observed(
        replace(episode, settings={**episode.settings, "diagnoses": said}), all_tasks()
    )
    assert found is not None
    assert (found.detected, found.diagnosed) == (detected, ("output",))


# -- effects -----------------------------------------------------------------------------------------------------------


def _entry(**result: Any) -> Mapping[str, Any]:
    return {"tool": "pay", "result": result}


def _effects(*entries: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"effects": list(entries)}


def test_a_repetition_in_the_place_of_another_effect_is_a_duplicate() -> None:
    """Two payments were meant and two were made, but one of them twice: counts alone would not show it."""
    meant = _effects(_entry(id="P1", to="a", sum=1), _entry(id="P2", to="b", sum=2))
    made = _effects(_entry(id="P1", to="a", sum=1), _entry(id="P2", to="a", sum=1))
    assert compare_effects({}, meant, made).duplicated == 1


def test_an_effect_on_the_wrong_operand_is_no_success() -> None:
    """An effect on another operand counts as one missing and one too many."""
    meant = _effects(_entry(id="P1", to="a", sum=1))
    made = _effects(_entry(id="P1", to="a", sum=100))
    found = compare_effects({}, meant, made)
    assert (found.missing, found.extra, found.exact) == (1, 1, False)


# -- false alarms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", list(Domain))
def test_no_rule_sounds_at_what_binary_arithmetic_leaves_in_the_last_digit(domain: Domain) -> None:
    """A float one unit in the last place higher is the number that was meant, for every rule of every domain."""
    judged = 0
    for task in load_hazard_tasks(domain):
        tools, executor = tools_of(task.sub_task), fresh_executor(task.sub_task)
        for call in task.sub_task.gold[:-1]:
            result = json.loads(executor.call(call.tool, call.arguments))
            for rule in tools[call.tool].remedies.invariants:
                judged += 1
                assert rule(call.arguments, result) is None
                assert rule(call.arguments, _noisy(result)) is None, (call.tool, result)
    assert judged


def _noisy(value: Any) -> Any:
    match value:
        case float():
            return math.nextafter(value, math.inf)
        case dict():
            return {name: _noisy(each) for name, each in value.items()}
        case list():
            return [_noisy(each) for each in value]
        case _:
            return value
