"""Arms of recovery, the second attempt, and the figures that are made of both."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from asyncguard.config import FEATURE_NAMES, GUARD_NAMES, RECOVERY_NAMES
from asyncguard_benchmark.harness.arms import ARMS, RECOVER, RECOVERY_ARMS, ArmKind, arm_of
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.faults import Hazard, Profile
from asyncguard_benchmark.harness.players.second_run import EARLIER, answered
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.scoring.answers import Ending
from asyncguard_benchmark.suites.hazards.analysis import studies_of
from asyncguard_benchmark.suites.hazards.fault_sites import with_faults
from asyncguard_benchmark.suites.hazards.findings import ArmFigures, HazardStudy
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Instance,
    Part,
    all_tasks,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.metrics import Facet
from asyncguard_benchmark.suites.hazards.observations import Observed, observed


def _instance(hazard: Hazard, mode: str, severity: int = 1) -> Instance:
    return next(
        each
        for each in shipped_instances()
        if (each.part, each.gathering) == (Part.DEVELOPMENT, Gathering.SINGLE)
        and (each.faults[0].hazard, each.faults[0].mode, each.faults[0].severity)
        == (hazard, mode, severity)
    )


INSTANCES = (
    _instance(Hazard.EXECUTION, "timeout"),
    _instance(Hazard.SPECIFICATION, "unit_changed"),
)


@cache
def episode(name: str, arm: str, agent: str = "naive", player: str = "graph") -> Episode:
    """One of the instances, or the clean task of the first, under an arm."""
    known: dict[str, Composition] = {each.id: each.composition for each in INSTANCES}
    known["clean"] = with_faults(INSTANCES[0].task, ())
    condition = Condition(agent=AgentSpec(kind=agent), player=player, arm=arm)
    return play(Cell(composition=known[name], condition=condition)).episode


def kept(name: str, arm: str, agent: str = "naive") -> Observed:
    """Return the observation of such an episode, read back as it was saved."""
    found = observed(
        episode_from_json(episode_to_json(episode(name, f"{RECOVER}{arm}", agent))), all_tasks()
    )
    assert found is not None
    return found


def test_arms_differ_in_recovery_alone() -> None:
    """Guards and features are on in every arm; none has no recovery, all has all, the others one or all but one."""
    switched = {}
    for name, arm in RECOVERY_ARMS.items():
        assert arm.kind is ArmKind.RECOVERY
        assert all(getattr(arm.config, switch) for switch in (*GUARD_NAMES, *FEATURE_NAMES))
        switched[name.removeprefix(RECOVER)] = {
            each for each in RECOVERY_NAMES if getattr(arm.config, each)
        }
    assert (switched["none"], switched["all"], switched["hint-only"]) == (
        set(),
        set(RECOVERY_NAMES),
        {"ask"},
    )
    assert switched["scaling"] == set()
    assert switched["only-verify"] == {"verify", "retry"}
    for action in RECOVERY_NAMES:
        assert switched[f"without-{action}"] == set(RECOVERY_NAMES) - {action}
        assert action in switched.get(f"only-{action}", switched["hint-only"])
    assert [name for name, arm in RECOVERY_ARMS.items() if arm.again] == [f"{RECOVER}scaling"]


def test_the_arms_of_guards_mean_what_they_did() -> None:
    """None of them is named like one of recovery, and none of them says anything of a second attempt."""
    assert not set(ARMS) & set(RECOVERY_ARMS)
    assert all("again" not in arm.to_json() for arm in ARMS.values())
    assert arm_of(f"{RECOVER}scaling").to_json()["again"] is True


def test_recovery_is_what_makes_the_difference() -> None:
    """The naive agent fails without it and succeeds with it; a clean run is the same call by call."""
    for instance in INSTANCES:
        assert not kept(instance.id, "none").score.success
        assert kept(instance.id, "all").score.success
    bare, full = episode("clean", f"{RECOVER}none"), episode("clean", f"{RECOVER}all")
    assert bare.trajectory == full.trajectory
    assert bare.messages == full.messages


def test_what_was_diagnosed_and_done_is_saved() -> None:
    """An injected run says it, a clean one says nothing; the saved form keeps it."""
    settings = episode(INSTANCES[0].id, f"{RECOVER}all").settings
    assert {each["hazard"] for each in settings["diagnoses"]} == {"execution"}
    assert {each["action"] for each in settings["recoveries"]} <= {"retry", "fallback", "verify"}
    assert not {"diagnoses", "recoveries"} & set(episode("clean", f"{RECOVER}all").settings)
    assert kept(INSTANCES[0].id, "all").at_fault == "execution"


def test_a_run_without_an_answer_is_followed_by_another_and_both_are_paid_for() -> None:
    """The naive agent reports the broken tool twice; calls, messages and ticks of both attempts count."""
    name = INSTANCES[0].id
    first, again = episode(name, f"{RECOVER}none"), episode(name, f"{RECOVER}scaling")
    assert not answered(first)
    assert again.settings[EARLIER]["rounds"] == first.counters.rounds
    assert "You tried the same tasks before" in str(again.messages[0]["content"])
    single, both = kept(name, "none"), kept(name, "scaling")
    assert (both.score.calls, both.score.rounds) == (
        2 * single.score.calls,
        2 * single.score.rounds,
    )


def test_a_run_with_an_answer_is_not_followed_by_another() -> None:
    """A wrong answer is an answer, too."""
    assert EARLIER not in episode("clean", f"{RECOVER}scaling").settings
    wrong = next(
        each
        for each in INSTANCES
        if kept(each.id, "none", "over-trusting").score.ending is Ending.WRONG_ANSWER
    )
    assert EARLIER not in episode(wrong.id, f"{RECOVER}scaling", "over-trusting").settings


def _study() -> HazardStudy:
    names = [*(each.id for each in INSTANCES), "clean"]
    runs = [kept(name, arm) for arm in ("none", "all") for name in names]
    # Only the task of the first instance is played clean: a pair needs its clean run.
    (study,) = studies_of([each for each in runs if each.score.task_id == INSTANCES[0].task.id])
    return study


def _arm(study: HazardStudy, name: str) -> ArmFigures:
    found = study.arm(name)
    assert found is not None
    return found


def test_figures_of_a_study() -> None:
    """Success, what is kept of clean success, what is gained, detections, false alarms and the confusion table."""
    study = _study()
    bare, full = _arm(study, "none"), _arm(study, "all")
    assert (study.setup.part, study.setup.gathering) == (Part.DEVELOPMENT, Gathering.SINGLE)
    assert (bare.injected.success.value, full.injected.success.value) == (0, 100)
    assert full.kept is not None
    assert full.kept.kept is not None
    assert full.kept.kept.value == 100
    assert full.to_none is not None
    assert (full.to_none.newly_recovered, full.to_none.regressions) == (1, 0)
    assert (bare.to_none, full.to_all) == (None, None)
    assert full.to_none_clean is not None
    assert full.to_none_clean.points.value == 0
    assert [(each.sign.value, each.detected) for each in full.detections] == [("failure", 1)]
    assert full.false_alarms is not None
    assert (full.false_alarms.runs, full.false_alarms.alarmed) == (1, 0)
    assert full.confusion == {Hazard.EXECUTION: {"execution": 1}}
    assert list(full.facets[Facet.HAZARD]) == ["execution"]


def test_what_has_no_counterpart_is_not_compared() -> None:
    """Without clean runs nothing is kept, without the arm none nothing gained; no data is None."""
    (study,) = studies_of([kept(INSTANCES[1].id, "all")])
    (full,) = study.arms
    assert (full.clean, full.kept, full.to_none, full.to_none_clean, full.false_alarms) == (
        None,
    ) * 5


def test_a_budget_turns_dear_success_into_failure() -> None:
    """A run counts within a budget only if its calls do."""
    dear = kept(INSTANCES[0].id, "all")
    dear = replace(dear, score=replace(dear.score, calls=2 * dear.gold_calls + 1))
    ((arm,),) = [study.arms for study in studies_of([dear])]
    assert [(each.factor, each.success.value) for each in arm.budgets] == [
        *((factor, 0) for factor in (1.0, 1.25, 1.5, 2.0)),
        *((factor, 100) for factor in (2.5, 3.0, 4.0)),
    ]


def test_every_split_counts_every_run_once() -> None:
    """Grid and severities, recounted from the runs themselves."""
    runs = [kept(each.id, arm) for arm in ("none", "all") for each in INSTANCES]
    for study in studies_of(runs):
        for arm in study.arms:
            own = [each.score for each in runs if each.arm == arm.arm]
            own = [each for each in own if each.faults[0].profile is study.setup.profile]
            cells = Counter((one.faults[0].hazard.value, one.workflow.value) for one in own)
            won = Counter(
                (one.faults[0].hazard.value, one.workflow.value) for one in own if one.success
            )
            told = {(h, w): each for h, row in arm.grid.items() for w, each in row.items()}
            assert {place: each.count for place, each in told.items()} == cells
            for place, each in told.items():
                assert each.success.value == pytest.approx(100 * won[place] / cells[place])
            levels = Counter(str(one.faults[0].severity) for one in own)
            assert {k: e.count for k, e in arm.facets[Facet.SEVERITY].items()} == levels


def test_a_hint_is_compared_with_the_same_run_without() -> None:
    """A run that is solved with its hint alone is one newly recovered; one without its twin is left out."""
    strict, other = kept(INSTANCES[0].id, "none"), kept(INSTANCES[1].id, "none")
    hinted, lonely = (
        replace(
            each,
            profile=Profile.GUIDED,
            score=replace(
                each.score,
                faults=tuple(replace(one, profile=Profile.GUIDED) for one in each.score.faults),
                ending=Ending.SUCCESS,
            ),
        )
        for each in (strict, other)
    )
    found = {each.setup.profile: each for each in studies_of([strict, hinted, lonely])}
    gain = _arm(found[Profile.GUIDED], "none").to_strict
    assert gain is not None
    assert (gain.pairs, gain.newly_recovered, gain.points.value) == (1, 1, 100)
    assert _arm(found[Profile.STRICT], "none").to_strict is None
    (alone,) = studies_of([hinted])
    assert _arm(alone, "none").to_strict is None


def test_an_alarm_on_a_clean_run_is_a_false_one() -> None:
    """A diagnosis where nothing was injected counts against the arm."""
    alarmed = replace(kept("clean", "all"), diagnosed=("output",))
    (study,) = studies_of([kept(INSTANCES[0].id, "all"), alarmed])
    found = _arm(study, "all").false_alarms
    assert found is not None
    assert (found.alarmed, found.alarms, found.share.value) == (1, 1, 100)


@pytest.mark.slow
def test_every_arm_plays_the_same_instances() -> None:
    """The three arms of one action that fit, over both adapters, end alike."""
    for arm in ("only-retry", "without-breaker", "hint-only"):
        runs = [
            play(
                Cell(
                    composition=INSTANCES[0].composition,
                    condition=Condition(
                        agent=AgentSpec(kind="naive"), player=player, arm=f"{RECOVER}{arm}"
                    ),
                )
            ).episode
            for player in ("graph", "middleware")
        ]
        assert runs[0].trajectory == runs[1].trajectory, arm
