"""The figures of hazard runs and those of the reference agree, as played and as changed; a broken rule is seen."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark import episode_from_json, episode_to_json
from asyncguard_benchmark.harness.arms import RECOVER
from asyncguard_benchmark.harness.campaign import play
from asyncguard_benchmark.harness.fault_pipeline import Pipeline
from asyncguard_benchmark.harness.faults import Fault, Profile
from asyncguard_benchmark.harness.loading import composition_from_json, read_list
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.suites.hazards.analysis import studies_of
from asyncguard_benchmark.suites.hazards.campaign import Experiment
from asyncguard_benchmark.suites.hazards.instances import Wanted, all_tasks
from asyncguard_benchmark.suites.hazards.metrics import Facet
from asyncguard_benchmark.suites.hazards.observations import observed
from asyncguard_benchmark.suites.hazards.tasks import PACKAGE
from tests.reference_scorer import hazards as reference
from tests.reference_scorer.argument_mutations import other_number, other_text
from tests.reference_scorer.corpus import Episode
from tests.reference_scorer.mutations import drop_call, repeat_call


class _FaultyWorld:
    """The project's tools of one sub-task with its faults; judges nothing."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._made = pipeline, 0

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        self._made += 1
        return self._pipeline.call(self._made - 1, tool, arguments).text

    def state(self) -> Any:
        return self._pipeline.public_state()

    def parameters(self, tool: str) -> Mapping[str, Any]:
        return {}


def _open(sub_task: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]) -> _FaultyWorld:
    value = {"id": "any", "kind": "S1", "sub_tasks": [sub_task], "faults": list(faults)}
    found = composition_from_json(json.loads(json.dumps(value)), "composition")
    placed: tuple[Fault, ...] = found.faults
    return _FaultyWorld(Pipeline(found.sub_tasks[0], placed))


@cache
def tasks() -> Mapping[str, Mapping[str, Any]]:
    """The saved form of all tasks, as they lie in the files."""
    lists = [read_list(f"{domain.name.lower()}.json", PACKAGE) for domain in Domain]
    return {task["id"]: task for each in lists for task in each}


@cache
def episodes() -> list[Episode]:
    """Runs of three agents with a hint and without, and the same with calls dropped, repeated and changed."""
    agents = ("naive", "competent", "gives-up-early")
    asked = Experiment(
        wanted=Wanted(profiles=(Profile.STRICT, Profile.GUIDED), every=60),
        agents=[AgentSpec(kind=each) for each in agents],
        players=("graph",),
        arms=("none", "all"),
        clean=False,
    ).cells()
    played = [episode_to_json(play(cell).episode) for cell in asked]
    found = []
    for seed, each in enumerate(played):
        for change in (drop_call, repeat_call, other_number, other_text):
            after = json.loads(json.dumps(each))
            after["agent"] = f"{each['agent']}-{change.__name__}"
            if change(after, Random(seed)):
                found.append(after)
    return [json.loads(json.dumps(each)) for each in played] + found


@cache
def studies() -> Any:
    """The project's figures."""
    kept = [observed(episode_from_json(each), all_tasks()) for each in episodes()]
    return studies_of([each for each in kept if each is not None])


def differences() -> list[str]:
    """What the project says otherwise than the reference."""
    groups = defaultdict(list)
    for each in episodes():
        run = reference.ended(each, tasks(), _open)
        groups[run.condition, run.profile].append(run)
    told, seen = [], 0
    for study in studies():
        for arm in study.arms:
            condition = (study.setup.agent, study.setup.player, f"{RECOVER}{arm.arm}")
            runs = groups[condition, study.setup.profile.value]
            seen += len(runs)
            theirs: dict[tuple[Any, ...], tuple[float, int]] = {
                **{
                    ("grid", hazard, workflow): (each.success.value, each.count)
                    for hazard, row in arm.grid.items()
                    for workflow, each in row.items()
                },
                **{
                    ("severity", level): (each.success.value, each.count)
                    for level, each in arm.facets[Facet.SEVERITY].items()
                },
                **{
                    ("budget", each.factor): (each.success.value, len(runs)) for each in arm.budgets
                },
            }
            ours = reference.figures(runs)
            wanted = {place: (100 * hits / of, of) for place, (hits, of) in ours.items()}
            told += [
                f"{condition}, {place}: {theirs.get(place)}, not {wanted.get(place)}"
                for place in {**theirs, **wanted}
                if theirs.get(place) != pytest.approx(wanted.get(place))
            ]
            if arm.to_strict is not None:
                gain = (
                    arm.to_strict.pairs,
                    arm.to_strict.newly_recovered,
                    arm.to_strict.regressions,
                )
                changes = reference.hint_changes(runs, groups[condition, "strict"])
                told += [f"{condition}: hint {gain}, not {changes}"] * (gain != changes)
    return told + ["runs are lost"] * (seen != len(episodes()))


@pytest.mark.slow
def test_both_agree_on_hazard_runs() -> None:
    """Every cell of the grid, every severity, every budget and every hint; all endings occur."""
    assert len(episodes()) > 150
    assert differences() == []
    endings = {reference.ended(each, tasks(), _open).ending for each in episodes()}
    assert endings == {"success", "wrong_answer", "wrong_effects", "honest_failure", "unfinished"}


BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "any answer is right": ("same_answer", lambda said, answer: True),
    "effects do not matter": ("effects", lambda state: None),
    "how often does not matter": (
        "effects",
        lambda state: {each["tool"] for each in state["effects"]},
    ),
    "a report is a success": ("ending", lambda answer, gold, made: "success"),
    "budgets do not matter": ("within", lambda run, factor: run.success),
    "a budget has to be undercut": (
        "within",
        lambda run, factor: run.success and run.calls < factor * run.gold_calls,
    ),
    "hints change nothing": ("hint_changes", lambda guided, strict: (len(guided), 0, 0)),
    "hazards are one": ("figures", lambda runs: {("grid", "", ""): (0, len(runs))}),
}
"""What is broken -> the rule's name in the reference, and what stands there instead."""


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule broken, some figure differs from the project's."""
    studies()
    monkeypatch.setattr(reference, *BROKEN[broken])
    assert differences()
