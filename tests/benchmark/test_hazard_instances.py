"""Instances: drawn evenly, with unique ids, and only at places where a fault matters."""

from collections import Counter
from dataclasses import replace

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.faults import Failpoint, Fault, Hazard, Profile
from asyncguard_benchmark.harness.scenario import HELD_OUT_DOMAINS, Domain, Workflow
from asyncguard_benchmark.suites.hazards.composition_sets import benign, broken_effects, in_company
from asyncguard_benchmark.suites.hazards.fault_sites import Sign, acts, sign_of, with_faults
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Part,
    Wanted,
    all_tasks,
    instance_from_json,
    instance_to_json,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.metadata import gathering_of, part_of, profile_of
from asyncguard_benchmark.suites.hazards.mode_table import DEVELOPMENT_MODES
from asyncguard_benchmark.suites.hazards.sampling import placed

SINGLE = [each for each in shipped_instances() if each.gathering is Gathering.SINGLE]
DEVELOPMENT = [each for each in SINGLE if each.part is Part.DEVELOPMENT]


def test_every_task_meets_every_hazard_but_for_conflicts_without_sources() -> None:
    """Each of the four hazards that fit anywhere befalls each of the 90 tasks of development once."""
    counts = Counter(fault.hazard for each in DEVELOPMENT for fault in each.faults)
    assert {
        hazard: counts[hazard] for hazard in Hazard if hazard is not Hazard.CONFLICT
    } == dict.fromkeys(
        (Hazard.SPECIFICATION, Hazard.INVOCATION, Hazard.EXECUTION, Hazard.OUTPUT), 90
    )
    assert counts[Hazard.CONFLICT] >= 60


def test_the_draw_is_level() -> None:
    """Modes of a hazard, severities and workflows are there about equally often."""
    severities = Counter(each.faults[0].severity for each in DEVELOPMENT)
    assert max(severities.values()) - min(severities.values()) <= 3
    workflows = Counter(each.task.workflow for each in DEVELOPMENT)
    assert min(workflows[each] for each in Workflow) >= 0.3 * len(DEVELOPMENT)
    for hazard in set(Hazard) - {Hazard.CONFLICT}:
        modes = Counter(
            each.faults[0].mode for each in DEVELOPMENT if each.faults[0].hazard is hazard
        )
        assert len(modes) == sum(mode.hazard is hazard for mode in DEVELOPMENT_MODES)
        assert max(modes.values()) <= 1.5 * min(modes.values())
    assert (
        sum(
            acts(each.task, each.faults[0])
            for each in DEVELOPMENT
            if each.faults[0].hazard is Hazard.EXECUTION
        )
        > 20
    )


def test_parts_hold_what_their_names_say() -> None:
    """Domains and modes are crossed; what a saved composition is can be read from itself."""
    for each in shipped_instances()[::9]:
        held_out = each.task.domain in HELD_OUT_DOMAINS
        assert held_out is (each.part in (Part.DOMAINS, Part.BOTH))
        assert (part_of(each.composition), gathering_of(each.composition)) == (
            each.part,
            each.gathering,
        )
        guided = each.with_profile(Profile.GUIDED)
        assert profile_of(guided.composition) is Profile.GUIDED
        assert guided.id == f"{each.id}~guided"


def test_ids_are_unique_and_clean_and_injected_share_the_task() -> None:
    """No two compositions have one id; the sub-task in all of one task is the same."""
    ids = [each.id for each in shipped_instances()]
    assert len(set(ids)) == len(ids)
    each = DEVELOPMENT[0]
    assert each.composition.sub_tasks == with_faults(each.task, ()).sub_tasks


def test_pairs_are_of_two_hazards() -> None:
    """Both faults of a pair are on one task and of different hazards."""
    pairs = [each for each in shipped_instances() if each.gathering is Gathering.PAIRS]
    assert len(pairs) > 200
    for each in pairs:
        first, second = each.faults
        assert (first.task, first.hazard is second.hazard) == (second.task, False)


def test_what_was_asked_for_is_chosen() -> None:
    """Instances are chosen by hazard, domain, severity, profile and stride, all at once."""
    wanted = Wanted(
        hazards=(Hazard.OUTPUT,), domains=(Domain.CLINIC,), severities=(2,), profiles=tuple(Profile)
    )
    found = wanted.chosen(shipped_instances())
    assert found
    assert {
        (each.task.domain, each.faults[0].hazard, each.faults[0].severity) for each in found
    } == {(Domain.CLINIC, Hazard.OUTPUT, 2)}
    assert {each.profile for each in found} == set(Profile)
    assert len(Wanted(every=7).chosen(shipped_instances())) == -(-len(DEVELOPMENT) // 7)


def test_the_saved_form_is_read_back_and_a_broken_one_is_refused() -> None:
    """Nothing is lost; faults on two tasks, or on an unknown one, are refused."""
    each = DEVELOPMENT[3]
    saved = instance_to_json(each)
    assert instance_from_json(saved, all_tasks(), "here") == each
    saved["faults"][0]["task"] = "xx-01"
    with pytest.raises(DataError, match="not one task of the suite"):
        instance_from_json(saved, all_tasks(), "here")


def _fault(**changes: object) -> Fault:
    plain = Fault(
        task="lg-01",
        hazard=Hazard.OUTPUT,
        mode="explained",
        tool="find_consignment",
        failpoint=Failpoint.BEFORE_RETURN,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_fault_is_put_only_where_it_matters_shows_itself_and_can_be_survived() -> None:
    """A field that is not read, and an effect that cannot be looked up, are not used as places."""
    task = all_tasks()["lg-01"]
    assert placed(task, (_fault(),), Part.DEVELOPMENT) is not None
    unread = _fault(
        hazard=Hazard.SPECIFICATION,
        mode="result_renamed",
        site="/goods_code",
        failpoint=Failpoint.AFTER_WRAPPER_TRANSFORM,
    )
    assert placed(task, (unread,), Part.DEVELOPMENT) is None
    lost = _fault(
        task="lg-04",
        hazard=Hazard.EXECUTION,
        mode="timeout",
        tool="announce_arrival",
        failpoint=Failpoint.BEFORE_CHECKPOINT_WRITE,
    )
    assert placed(all_tasks()["lg-04"], (lost,), Part.DEVELOPMENT) is None


def test_signs_are_looked_for_where_the_fault_strikes() -> None:
    """Each kind of sign is there among the instances, and is what a fresh look says."""
    first = {each.sign: each for each in reversed(DEVELOPMENT)}
    assert set(first) == set(Sign) - {Sign.NONE}
    assert all(sign_of(each.composition) is sign for sign, each in first.items())


def test_benign_variation_breaks_no_declaration() -> None:
    """Each variation is put on several tools and shows itself nowhere."""
    task = all_tasks()["en-01"]
    found = list(benign([task], 0))
    assert [sign_of(each) for each in found] == [Sign.NONE] * len(found)
    assert len(found) >= 3
    assert gathering_of(found[0]) is Gathering.BENIGN


def test_broken_effects_are_others_with_another_seed() -> None:
    """Every task with an effect has one broken, alone and with another fault; the draw depends on the seed alone."""
    tasks = [all_tasks()[name] for name in ("lg-02", "lg-03", "tr-05", "wh-14")]
    drawn = [[each.faults for each in broken_effects(tasks, seed)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(faults) for faults in drawn[0]] == [1, 2] * len(tasks)
    assert all(faults[0].hazard is Hazard.EXECUTION for faults in drawn[0])


def test_in_company_every_injected_composition_has_its_clean_one() -> None:
    """Every injected composition has a clean one of the same two sub-tasks."""
    found = list(in_company(DEVELOPMENT[:6], 0))
    injected = {each.task_ids for each in found if each.faults}
    assert injected == {each.task_ids for each in found if not each.faults}
    assert len(found) == 6 + len(injected)
