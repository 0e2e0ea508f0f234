"""Witness plans solve their instances by the answers that they get and nothing else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from asyncguard_benchmark.harness.fault_modes import Way
from asyncguard_benchmark.harness.scenario import Domain, Regime, Workflow
from asyncguard_benchmark.suites.hazards.fault_sites import Sign, matters, solves, with_faults
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Instance,
    all_tasks,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.restore import (
    NoWayBackError,
    carried_back,
    normalised,
    rebound,
)
from asyncguard_benchmark.suites.hazards.shapes import closed
from asyncguard_benchmark.suites.hazards.solvability_proof import replayed, walked
from asyncguard_benchmark.suites.hazards.validation import Validation, instance_problems, validated

WEIGHT = {"type": "number", "minimum": 0, "unit": "kg", "aliases": ["mass"]}
STATE = {"type": "string", "enum": ["open", "shut"], "aliases": {"OPENED": "open"}}
RETURNS = closed({"id": {"type": "string"}, "weight": WEIGHT, "state": STATE})
CLEAN = {"id": "A1", "weight": 12.5, "state": "open"}


def _some(count: int) -> list[Instance]:
    known = shipped_instances()
    return list(known[:: len(known) // count])[:count]


@pytest.mark.parametrize("regime", [Regime.SYNC, Regime.RANDOM12])
def test_plans_solve_their_instances_and_nothing_else_does(regime: Regime) -> None:
    """With its plan a task is solved under delays, too; without it, it is not."""
    for instance in _some(25):
        assert solves(instance.task, replayed(instance.composition, instance.witness, regime)), (
            instance.id
        )
        assert matters(instance.task, instance.composition), instance.id


def test_a_plan_of_another_way_does_not_solve() -> None:
    """A proof that any plan passes would prove nothing: retrying does not cure what lasts."""
    lasting = [
        each
        for each in _some(150)
        if len(each.faults) == 1 and Way.RETRY not in each.witness.values()
    ]
    stubborn = [
        replayed(each.composition, dict.fromkeys(each.witness, Way.RETRY)) for each in lasting
    ]
    solved = [
        each.id
        for each, episode in zip(lasting, stubborn, strict=True)
        if solves(each.task, episode)
    ]
    assert len(lasting) > 50
    # What cures a broken effect may be its probe or a retry, as the fault strikes before the effect or after it.
    assert [name for name in solved if "execution" not in name] == []


def test_independent_steps_are_under_way_together() -> None:
    """In a parallel task a plan makes all independent calls in one tick; effects stand alone."""
    task = next(task for task in all_tasks().values() if task.workflow is Workflow.PARALLEL)
    episode = replayed(with_faults(task, ()), {}, Regime.FIXED1)
    assert episode is not None
    assert len([record for record in episode.trajectory if record.issued == 1]) > 1


def test_walking_stops_where_an_answer_cannot_be_read() -> None:
    """An agent that trusts answers makes no call for which a value is missing."""
    instance = next(
        each
        for each in shipped_instances()
        if each.gathering is Gathering.SINGLE
        and each.faults[0].mode == "truncated"
        and each.task.domain is Domain.ENERGY
    )
    calls = [record for record, _ in walked(instance.composition)]
    assert 0 < len(calls) < len(instance.task.sub_task.gold)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CLEAN, indent=3),
        f"{json.dumps(CLEAN)}\n\nNote: as of today.",
        f"Here:\n```json\n{json.dumps(CLEAN)}\n```",
        "Id: A1\nWeight: 12.5\nState: open",
        json.dumps({**CLEAN, "weight": {"value": 12.5, "unit": "kg"}}),
        json.dumps({**CLEAN, "weight": "12.5 kg"}),
        json.dumps({**CLEAN, "state": " OPENED "}),
        json.dumps({**CLEAN, "state": "State: open"}),
        json.dumps({"data": CLEAN, "meta": {"version": 2}}),
        json.dumps({"id": "A1", "mass": 12.5, "state": "open"}),
    ],
)
def test_a_dressed_up_answer_is_read(text: str) -> None:
    """Text around it, labels, wrappers, units, announced names and spellings."""
    assert normalised(text, RETURNS) == CLEAN


@pytest.mark.parametrize(
    "text",
    [
        "The weight is 12.5 and it is open.",
        json.dumps(CLEAN)[:-10],
        json.dumps({**CLEAN, "weight": "12.5 t"}),
        json.dumps({**CLEAN, "state": "ajar"}),
        json.dumps({"id": "A1", "gewicht": 12.5, "state": "open"}),
        json.dumps({**CLEAN, "weight": -1}),
    ],
)
def test_what_takes_a_guess_is_left_alone(text: str) -> None:
    """Prose, a cut-off text, another unit, an unknown word or name, a value that is not allowed."""
    with pytest.raises(NoWayBackError):
        normalised(text, RETURNS)


@pytest.mark.parametrize(
    ("live", "answer"),
    [
        (
            closed({"id": {"type": "string"}, "kilos": {"type": "number"}, "state": STATE}),
            {"kilos": 12.5},
        ),
        (
            closed(
                {
                    "id": {"type": "string"},
                    "weight": {"type": "string", "unit": "kg"},
                    "state": STATE,
                }
            ),
            {"weight": "12.5"},
        ),
        (
            closed(
                {
                    "id": {"type": "string"},
                    "weight": {"type": "integer", "unit": "g"},
                    "state": STATE,
                }
            ),
            {"weight": 12500},
        ),
    ],
)
def test_an_answer_is_carried_back_by_the_live_contract(
    live: dict[str, Any], answer: dict[str, Any]
) -> None:
    """A field left over, a number as text, a smaller unit; what is not even live is refused."""
    assert carried_back({"id": "A1", "state": "open"} | answer, RETURNS, live) == CLEAN
    with pytest.raises(NoWayBackError, match="not what the live contract says"):
        carried_back({"id": "A1"}, RETURNS, live)


def test_a_call_is_bound_to_the_live_contract() -> None:
    """Nested, as a list, with a new field that has a default; a new field without one takes a guess."""
    declared = closed({"place": {"type": "string"}, "day": {"type": "string"}})
    nested = closed({"query": closed({"place": {"type": "string"}, "day": {"type": "string"}})})
    sent = {"place": "Rome", "day": "2026-01-02"}
    assert rebound(sent, declared, nested) == {"query": sent}
    listed = closed(
        {"place": {"type": "array", "items": {"type": "string"}}, "day": {"type": "string"}}
    )
    assert rebound(sent, declared, listed) == {"place": ["Rome"], "day": "2026-01-02"}
    added = closed({**declared["properties"], "lang": {"type": "string", "default": "en"}})
    assert rebound(sent, declared, added) == {**sent, "lang": "en"}
    with pytest.raises(NoWayBackError):
        rebound(sent, declared, closed({**declared["properties"], "key": {"type": "string"}}))


def test_an_instance_that_is_not_what_it_claims_is_named() -> None:
    """Without its plan, with another sign, without its fault."""
    instance = _some(1)[0]
    assert list(instance_problems(Validation(), instance)) == []
    for wrong, said in (
        (replace(instance, witness={}), "its plan does not solve it under sync"),
        (replace(instance, sign=Sign.NONE), "does not show itself by none"),
    ):
        assert f"{instance.id}: {said}" in list(instance_problems(Validation(), wrong))


@pytest.mark.slow
def test_one_domain_is_sound() -> None:
    """Its tasks, its benign variation and all its plans; what was looked at is counted."""
    found = Validation()
    said = [text for text in validated(found, [Domain.LOGISTICS]) if text is not None]
    assert (said, found.problems) == ([], [])
    assert (found.tasks["LG"], found.workflows.total()) == (15, 15)
    assert found.replayed == 2 * found.parts.total() > 200


@pytest.mark.slow(seconds=47)
def test_the_whole_suite_is_sound() -> None:
    """Everything that `bench hazards validate` looks at; the shipped instances are those that the seed gives."""
    found = Validation()
    assert [text for text in validated(found) if text is not None] == []
    assert len(found.tasks) == 9
