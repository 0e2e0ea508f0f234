"""Verdicts on hazard tasks, and the figures over them, from episodes made by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard_benchmark import Regime, Surface
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.episode import Episode, Run, episode_from_json, episode_to_json
from asyncguard_benchmark.harness.faults import Failpoint, Fault, Hazard, Profile
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.scenario import Composition, Domain, Kind, Workflow
from asyncguard_benchmark.harness.scoring.answers import (
    Answer,
    AnswerKind,
    Ending,
    canonical_answer,
    is_right,
)
from asyncguard_benchmark.suites.hazards.agents.competent import CompetentAgent
from asyncguard_benchmark.suites.hazards.agents.plan_follower import HazardAgent
from asyncguard_benchmark.suites.hazards.agents.simple import (
    GivesUpEarlyAgent,
    NaiveAgent,
    OverTrustingAgent,
    RetryHappyAgent,
)
from asyncguard_benchmark.suites.hazards.effects import EffectsVerdict, compare_effects
from asyncguard_benchmark.suites.hazards.metrics import (
    CLEAN,
    Facet,
    endings_by,
    endings_of,
    facet_of,
    gain_of,
    kept_of,
)
from asyncguard_benchmark.suites.hazards.scorer import HazardScore, score_hazards
from asyncguard_benchmark.suites.hazards.tasks import alone
from tests.benchmark.builders import SUB_TASKS, played
from tests.benchmark.hazard_talk import TASKS
from tests.support.examples import examples

RUN = Run(regime=Regime.SYNC, surface=Surface.TEXT, seed=0)
EXACT = EffectsVerdict(missing=0, extra=0, duplicated=0, state=True)
Calls = list[tuple[str, Mapping[str, Any]]]


def gold(task: str) -> Calls:
    """The calls of the ground truth."""
    return [(call.tool, call.arguments) for call in TASKS[task].sub_task.gold]


def verdict(task: str, calls: Calls) -> HazardScore:
    """Return the verdict on exactly these calls."""
    episode = played(alone(TASKS[task]), [(task, tool, arguments) for tool, arguments in calls])
    (score,) = score_hazards(episode, TASKS)
    return score


def fault(task: str = "t", mode: str = "timeout", **values: Any) -> Fault:
    """A fault that is put on a task."""
    defaults = {
        "hazard": Hazard.EXECUTION,
        "tool": "look",
        "failpoint": Failpoint.BEFORE_EXTERNAL_CALL,
    }
    return Fault(task=task, mode=mode, **{**defaults, **values})


def scored(task: str, ending: Ending, *faults: Fault, seed: int = 0, **values: Any) -> HazardScore:
    """A verdict by hand."""
    return HazardScore(
        **{
            "task_id": task,
            "together": (task,),
            "composition_id": f"{task}{len(faults)}",
            "domain": Domain.TREASURY,
            "workflow": Workflow.SEQUENTIAL,
            "agent": "a",
            "player": "plain",
            "run": replace(RUN, seed=seed),
            "faults": faults,
            "firings": len(faults),
            "ending": ending,
            "effects": EXACT,
            "calls": 4,
            "rounds": 5,
            "ticks": 6,
            **values,
        }
    )


# -- one task ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", sorted(TASKS))
def test_the_ground_truth_is_a_success(task: str) -> None:
    """Every task, and nothing is found wrong."""
    found = verdict(task, gold(task))
    assert found.ending is Ending.SUCCESS
    assert found.success
    assert found.effects == EXACT
    assert (found.clean, found.calls, found.rounds) == (True, len(gold(task)), len(gold(task)))


@pytest.mark.parametrize("task", sorted(TASKS))
@pytest.mark.parametrize("answer", [None, "", 0, "nothing", "1900-01-01"])
def test_any_other_answer_is_silently_wrong(task: str, answer: Any) -> None:
    """A wrong answer is silently wrong, whatever was done before."""
    calls = [
        *gold(task)[:-1],
        ("submit_answer", {"answer": answer if answer is not None else "none at all"}),
    ]
    assert verdict(task, calls).ending is Ending.WRONG_ANSWER


def test_a_report_is_honest_and_silence_is_not() -> None:
    """Nothing submitted: what counts is whether a problem was reported."""
    before = gold("tr-03")[:-1]
    assert (
        verdict("tr-03", [*before, ("report_problem", {"reason": "no"})]).ending
        is Ending.HONEST_FAILURE
    )
    assert verdict("tr-03", before).ending is Ending.UNFINISHED
    assert verdict("tr-03", []).ending is Ending.UNFINISHED
    assert verdict("tr-03", [("report_problem", {})]).ending is Ending.UNFINISHED


def test_what_is_said_after_the_end_does_not_count() -> None:
    """A second answer is refused by the tool, and so is an answer after a report."""
    wrong = ("submit_answer", {"answer": "1999-01-01"})
    assert verdict("tr-03", [*gold("tr-03"), wrong]).ending is Ending.SUCCESS
    assert verdict("tr-03", [wrong, *gold("tr-03")]).ending is Ending.WRONG_ANSWER
    reported = [("report_problem", {"reason": "no"}), *gold("tr-03")]
    assert verdict("tr-03", reported).ending is Ending.HONEST_FAILURE


def test_a_right_answer_does_not_excuse_wrong_effects() -> None:
    """Missing, repeated, rewritten and strange effects are told apart."""
    read, pay, submit = gold("tr-03")
    missing = verdict("tr-03", [read, submit])
    twice = verdict("tr-03", [read, pay, pay, submit])
    thrice = verdict("tr-03", [read, pay, pay, pay, submit])
    rewritten = verdict("tr-03", [read, (pay[0], {**pay[1], "amount": 1.5}), pay, submit])
    other = verdict("tr-03", [read, (pay[0], {**pay[1], "amount": 1.5}), submit])
    reminder = ("set_reminder", {"invoice_id": "INV-7752", "remind_on": "2026-01-01"})
    strange = verdict("tr-03", [read, pay, reminder, submit])
    found = [missing, twice, thrice, rewritten, other, strange]
    assert {each.ending for each in found} == {Ending.WRONG_EFFECTS}
    counts = [(each.effects.missing, each.effects.extra, each.effects.duplicated) for each in found]
    assert counts == [(1, 0, 0), (0, 1, 1), (0, 2, 2), (0, 1, 1), (1, 1, 0), (0, 1, 0)]


def test_a_repetition_in_the_place_of_another_effect_is_a_duplicate() -> None:
    """Two payments were meant; the same one twice is as many, and one of them is missing."""
    calls = gold("tr-15")
    calls[3] = calls[2]
    found = verdict("tr-15", calls)
    assert (found.effects.missing, found.effects.extra, found.effects.duplicated) == (1, 1, 1)


def test_the_order_of_effects_does_not_count() -> None:
    """Independent effects may happen in any order."""
    calls = gold("tr-15")
    calls[2:4] = calls[3:1:-1]
    assert verdict("tr-15", calls).ending is Ending.SUCCESS


def test_further_reading_does_no_harm() -> None:
    """Probes, sources and contracts do not count as effects."""
    extra: Calls = [
        ("describe_tool", {"tool": "pay_invoice"}),
        ("recount_invoice", {"invoice_number": "INV-7752"}),
        ("find_payment", {"invoice_id": "INV-7752", "amount": 3}),
        ("nonsense", {}),
    ]
    assert verdict("tr-03", extra + gold("tr-03")).ending is Ending.SUCCESS


def test_a_change_of_the_state_beside_the_log_is_seen() -> None:
    """True is not 1 there either; answer and report are not compared."""
    before = {"effects": [], "stock": {"a": 1}}
    assert compare_effects(
        before, before, {**before, "submitted_answer": 3, "reported_problem": "x"}
    ).exact
    assert not compare_effects(before, before, {**before, "stock": {"a": 2}}).exact
    assert not compare_effects(before, before, {**before, "stock": {"a": True}}).exact


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_effects_are_exact_if_and_only_if_they_are_the_same(
    meant: list[str], made: list[str]
) -> None:
    """In any order; what is missing and what is extra make up the difference in number."""

    def state(names: Sequence[str]) -> dict[str, Any]:
        return {
            "effects": [{"tool": name, "result": {"id": n}} for n, name in enumerate(sorted(names))]
        }

    found = compare_effects({"effects": []}, state(meant), state(made))
    assert found.exact == (sorted(meant) == sorted(made))
    assert len(made) - len(meant) == found.extra - found.missing
    assert 0 <= found.duplicated <= len(made)


def test_only_hazard_tasks_are_judged_and_only_as_they_were() -> None:
    """Other sub-tasks are left out; a task that has changed since is not scored by the new one."""
    pair = Composition(
        id="both", kind=Kind.C2, sub_tasks=(SUB_TASKS["fs-01"], TASKS["tr-03"].sub_task)
    )
    episode = played(pair, [("tr-03", tool, arguments) for tool, arguments in gold("tr-03")])
    (found,) = score_hazards(episode, TASKS)
    assert (found.task_id, found.together, found.success) == ("tr-03", ("fs-01", "tr-03"), True)
    changed = replace(
        TASKS["tr-03"], sub_task=replace(TASKS["tr-03"].sub_task, query="Another one.")
    )
    with pytest.raises(ValueError, match="another version"):
        score_hazards(episode, {"tr-03": changed})
    with pytest.raises(KeyError):
        score_hazards(episode, {})


def test_the_player_is_not_believed() -> None:
    """A trajectory with forged responses is scored as before, as all of it is executed again."""
    episode = played(
        alone(TASKS["tr-03"]),
        [("tr-03", tool, arguments) for tool, arguments in gold("tr-03")[:-1]],
    )
    lied = tuple(replace(record, response='{"received": true}') for record in episode.trajectory)
    assert _ending(replace(episode, trajectory=lied)) is _ending(episode) is Ending.UNFINISHED


@pytest.mark.parametrize(
    ("failpoint", "repeats", "ending", "duplicated"),
    [
        (Failpoint.BEFORE_EXTERNAL_CALL, 0, Ending.WRONG_EFFECTS, 0),
        (Failpoint.BEFORE_EXTERNAL_CALL, 1, Ending.SUCCESS, 0),
        (Failpoint.BEFORE_CHECKPOINT_WRITE, 0, Ending.SUCCESS, 0),
        (Failpoint.BEFORE_CHECKPOINT_WRITE, 1, Ending.WRONG_EFFECTS, 1),
        (Failpoint.BEFORE_CHECKPOINT_WRITE, 2, Ending.WRONG_EFFECTS, 2),
    ],
)
def test_what_a_broken_call_did_is_judged_from_the_state(
    failpoint: Failpoint, repeats: int, ending: Ending, duplicated: int
) -> None:
    """Equal calls and responses are right or wrong by the place where the answer was lost."""
    lost = fault("tr-03", "connection_reset", tool="pay_invoice", failpoint=failpoint)
    read, pay, submit = gold("tr-03")
    calls = [
        ("tr-03", tool, arguments) for tool, arguments in (read, *[pay] * (1 + repeats), submit)
    ]
    episode = played(alone(TASKS["tr-03"], lost), calls)
    for each in (episode, episode_from_json(episode_to_json(episode))):
        (found,) = score_hazards(each, TASKS)
        assert (found.ending, found.effects.duplicated) == (ending, duplicated)
        assert (found.faults, found.firings, found.clean) == ((lost,), 1, False)


def test_a_fault_is_counted_for_its_own_task() -> None:
    """A fault of one of two tasks leaves the other one clean."""
    lost = fault("tr-03", tool="pay_invoice")
    pair = tuple(TASKS[task].sub_task for task in ("tr-03", "tr-04"))
    both = Composition(id="both", kind=Kind.S2, sub_tasks=pair, faults=(lost,))
    calls = [(task.id, call.tool, call.arguments) for task in pair for call in task.gold]
    hit, spared = score_hazards(played(both, calls), TASKS)
    assert (hit.firings, hit.clean, hit.ending) == (1, False, Ending.WRONG_EFFECTS)
    assert (spared.firings, spared.clean, spared.ending) == (0, True, Ending.SUCCESS)
    assert hit.together == spared.together == ("tr-03", "tr-04")


@pytest.mark.parametrize(
    ("agent", "ending", "duplicated"),
    [
        (NaiveAgent, Ending.HONEST_FAILURE, 0),
        (RetryHappyAgent, Ending.WRONG_EFFECTS, 1),
        (GivesUpEarlyAgent, Ending.HONEST_FAILURE, 0),
        (OverTrustingAgent, Ending.WRONG_ANSWER, 0),
        (CompetentAgent, Ending.SUCCESS, 0),
    ],
)
def test_each_agent_ends_a_lost_answer_in_its_own_way(
    agent: type[HazardAgent], ending: Ending, duplicated: int
) -> None:
    """Played for real: the payment was made, and its answer was lost."""
    lost = fault("tr-03", tool="pay_invoice", failpoint=Failpoint.BEFORE_CHECKPOINT_WRITE)
    composition = alone(TASKS["tr-03"], lost)
    (found,) = score_hazards(play_plain(composition, agent(plan=plan_of(composition)), RUN), TASKS)
    assert (found.ending, found.effects.duplicated) == (ending, duplicated)


def _ending(episode: Episode) -> Ending:
    return score_hazards(episode, TASKS)[0].ending


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "said", "right"),
    [
        ("number", 12.5, "12.50", True),
        ("number", 12.5, 12.5, True),
        ("number", 12, 12.0, True),
        ("number", 0.3, 0.1 + 0.2, False),
        ("number", 12.5, "12.5 EUR", False),
        ("number", 12.5, "12,5", False),
        ("number", 1200, "1,200", False),
        ("number", 1, True, False),
        ("number", 12.5, 12.51, False),
        ("number", 12.5, float("nan"), False),
        ("number", 12.5, "nan", False),
        ("date", "2026-03-09", " 2026-03-09 ", True),
        ("date", "2026-03-09", "2026-3-9", False),
        ("date", "2026-03-09", "09.03.2026", False),
        ("date", "2026-03-09", "20260309", False),
        ("date", "2026-03-09", "2026-03-09T00:00", False),
        ("code", "PAY-1", " pay-1\n", True),
        ("code", "0042", 42, False),
        ("code", "PAY-1", "PAY-1.", False),
        ("enum", "wire", "Wire", True),
        ("enum", "wire", "a wire", False),
        ("enum", "wire", None, False),
    ],
)
def test_answers_are_compared_by_what_they_mean(
    kind: str, value: Any, said: Any, right: bool
) -> None:
    """Spelling is forgiven where it cannot mean anything else, and nowhere more."""
    assert is_right(said, Answer(kind=AnswerKind(kind), value=value)) is right


def test_a_task_whose_own_answer_is_none_of_its_kind_is_refused() -> None:
    """Otherwise every answer to it would be wrong."""
    with pytest.raises(ValueError, match="own answer"):
        is_right("x", Answer(kind=AnswerKind.DATE, value="tomorrow"))


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9
    )
)
def test_a_number_is_the_same_in_every_spelling(number: Any) -> None:
    """A number counts as text, with further zeros, and as an exact JSON number."""
    spelled = f"{number:f}"
    assert (
        canonical_answer(spelled, AnswerKind.NUMBER)
        == canonical_answer(f"{spelled}00", AnswerKind.NUMBER)
        == number
    )


# -- many tasks --------------------------------------------------------------------------------------------------------


def visible(mode: str) -> bool:
    """Return True if a mode shows."""
    return mode == "shown"


def test_endings_are_shares_of_all() -> None:
    """They add up to 100, and duplicates are counted in number and in tasks."""
    twice = EffectsVerdict(missing=0, extra=2, duplicated=2, state=True)
    group = [scored(f"t{n}", ending) for n, ending in enumerate(Ending)]
    group.append(scored("t9", Ending.WRONG_EFFECTS, effects=twice, calls=10))
    other = EffectsVerdict(missing=1, extra=1, duplicated=0, state=True)
    group[3] = replace(group[3], effects=other)
    found = endings_of(group)
    assert found is not None
    shares = [
        found.success,
        found.wrong_answer,
        found.wrong_effects,
        found.honest_failure,
        found.unfinished,
    ]
    assert [round(each.value, 2) for each in shares] == [16.67, 16.67, 33.33, 16.67, 16.67]
    assert (found.count, found.struck, found.duplicated, found.duplicating, found.straying) == (
        6,
        0,
        2,
        1,
        2,
    )
    assert (found.calls, found.rounds, found.ticks) == (5.0, 5.0, 6.0)
    assert found.success.low < found.success.value < found.success.high
    assert endings_of([]) is None


def test_runs_of_one_task_are_one_cluster() -> None:
    """Ten seeds of two tasks know less than twenty tasks."""
    few = [scored(f"t{n % 2}", list(Ending)[n % 2], seed=n) for n in range(20)]
    many = [scored(f"t{n}", list(Ending)[n % 2]) for n in range(20)]
    narrow, wide = endings_of(many), endings_of(few)
    assert narrow is not None
    assert wide is not None
    assert wide.success.high - wide.success.low > 1.5 * (narrow.success.high - narrow.success.low)


@pytest.mark.parametrize(
    ("facet", "value"),
    [
        (Facet.HAZARD, "execution+output"),
        (Facet.MODE, "shown+timeout"),
        (Facet.VISIBILITY, "invisible+visible"),
        (Facet.PROFILE, "strict"),
        (Facet.SEVERITY, "1+3"),
        (Facet.WORKFLOW, "sequential"),
        (Facet.DOMAIN, "TR"),
        (Facet.HELD_OUT, "development"),
    ],
)
def test_a_task_with_two_faults_counts_for_both_together(facet: Facet, value: str) -> None:
    """Values that are the same are said once; without faults there is a name for that."""
    both = (
        fault(severity=3),
        fault(mode="shown", hazard=Hazard.OUTPUT, failpoint=Failpoint.BEFORE_RETURN),
    )
    assert facet_of(scored("t", Ending.SUCCESS, *both), facet, visible) == value
    of_fault = facet not in (Facet.WORKFLOW, Facet.DOMAIN, Facet.HELD_OUT)
    assert (facet_of(scored("t", Ending.SUCCESS), facet, visible) == CLEAN) is of_fault
    assert (
        facet_of(scored("t", Ending.SUCCESS, domain=Domain.RAIL), Facet.HELD_OUT, visible)
        == "held out"
    )


def test_figures_are_split_by_a_facet() -> None:
    """Every value with its own tasks, in order."""
    guided = fault(profile=Profile.GUIDED)
    group = [
        scored("a", Ending.SUCCESS, fault()),
        scored("b", Ending.UNFINISHED, fault()),
        scored("c", Ending.SUCCESS, guided),
        scored("d", Ending.SUCCESS),
    ]
    found = endings_by(group, Facet.PROFILE, visible)
    assert list(found) == [CLEAN, "guided", "strict"]
    assert [(each.count, each.success.value) for each in found.values()] == [
        (1, 100),
        (1, 100),
        (2, 50),
    ]
    assert [each.struck for each in found.values()] == [0, 1, 2]


def test_what_is_kept_is_judged_where_the_clean_run_succeeded() -> None:
    """A task that fails clean says nothing of faults, but counts for McNemar's test."""
    clean = [
        scored("a", Ending.SUCCESS),
        scored("b", Ending.SUCCESS),
        scored("c", Ending.WRONG_ANSWER),
    ]
    injected = [
        scored("a", Ending.SUCCESS, fault()),
        scored("a", Ending.UNFINISHED, fault(mode="other")),
        scored("b", Ending.HONEST_FAILURE, fault()),
        scored("c", Ending.SUCCESS, fault()),
    ]
    found = kept_of(injected, clean)
    assert found.kept is not None
    assert round(found.kept.value, 2) == 33.33
    assert (found.pairs, found.lost, found.gained, found.p) == (4, 2, 1, 1.0)
    assert kept_of(injected[-1:], clean).kept is None


@pytest.mark.parametrize(
    ("injected", "clean", "problem"),
    [
        ([scored("a", Ending.SUCCESS, fault())], [], "no run to lay beside"),
        (
            [scored("a", Ending.SUCCESS, fault(), seed=1)],
            [scored("a", Ending.SUCCESS)],
            "no run to lay beside",
        ),
        (
            [scored("a", Ending.SUCCESS, fault(), agent="b")],
            [scored("a", Ending.SUCCESS)],
            "no run to lay beside",
        ),
        ([scored("a", Ending.SUCCESS)], [scored("a", Ending.SUCCESS)], "clean run is among"),
        ([], [scored("a", Ending.SUCCESS, fault())], "with faults is among the clean"),
        ([], [scored("a", Ending.SUCCESS), scored("a", Ending.SUCCESS)], "twice"),
    ],
)
def test_runs_are_only_compared_with_their_twins(
    injected: list[HazardScore], clean: list[HazardScore], problem: str
) -> None:
    """Same task, agent, player and conditions, each once; anything else is refused."""
    with pytest.raises(ValueError, match=problem):
        kept_of(injected, clean)


def test_a_gain_is_what_an_arm_recovers_less_what_it_loses() -> None:
    """In percentage points, of the same faults in both arms."""
    names = [f"t{n}" for n in range(20)]
    base = [
        scored(name, Ending.UNFINISHED if n < 12 else Ending.SUCCESS, fault())
        for n, name in enumerate(names)
    ]
    arm = [
        scored(name, Ending.SUCCESS if n < 19 else Ending.UNFINISHED, fault(), player="graph")
        for n, name in enumerate(names)
    ]
    found = gain_of(arm, base)
    assert found is not None
    assert (found.pairs, found.newly_recovered, found.regressions) == (20, 12, 1)
    assert round(found.points.value, 6) == 55
    assert found.points.low > 0
    assert found.p == pytest.approx(2 * 14 / 2**13)
    assert gain_of([], base) is None
    with pytest.raises(ValueError, match="no run to lay beside"):
        gain_of(arm, base[1:])
    with pytest.raises(ValueError, match="no run to lay beside"):
        gain_of(arm, [replace(each, faults=(fault(severity=2),)) for each in base])


def test_an_arm_that_changes_nothing_gains_nothing() -> None:
    """The gain is zero, and its interval has width, so that it is not taken for certain."""
    group = [scored(f"t{n}", Ending.SUCCESS, fault()) for n in range(9)]
    found = gain_of(group, group)
    assert found is not None
    assert (found.points.value, found.p) == (0, 1)
    assert found.points.low < 0 < found.points.high
