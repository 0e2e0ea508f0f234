"""Both scorers agree on episodes that were changed on purpose, and a reference with a broken rule does not."""

import json
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark import episode_from_json, episode_to_json, score, summarise
from tests.benchmark.builders import compose, gold, played
from tests.reference_scorer import scorer as reference
from tests.reference_scorer.comparison import (
    disagreements,
    figure_differences,
    verdict_differences,
)
from tests.reference_scorer.corpus import (
    Episode,
    Judged,
    judged,
    open_world,
    plain_corpus,
    plain_judged,
)
from tests.reference_scorer.mutations import MUTATIONS, mutate

EPISODES = 500


@dataclass(frozen=True, kw_only=True)
class Case:
    """A changed episode."""

    kind: str
    before: Judged
    after: Judged


@cache
def cases() -> list[Case]:
    """As many episodes of each kind of mutation as of any other, 500 in all; each from one seed."""
    found: list[Case] = []
    seed = 0
    while len(found) < EPISODES:
        kind = list(MUTATIONS)[len(found) % len(MUTATIONS)]
        seed += 1
        random = Random(seed)
        before = random.choice(plain_judged())
        after = mutate(MUTATIONS[kind], before.episode, random)
        if after is not None:
            found.append(Case(kind=kind, before=before, after=judged(after)))
    return found


def test_both_agree_on_500_mutated_episodes() -> None:
    """Every verdict and every figure is the same."""
    scores = [each.after.score for each in cases()]
    verdicts = [each.after.verdict for each in cases()]
    assert disagreements(scores, verdicts) == []
    assert figure_differences(summarise(scores), reference.summarise(verdicts)) == []


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_mutation_changes_a_verdict_or_must_not(kind: str) -> None:
    """What was done changes a verdict somewhere; how it is recorded or written changes none."""
    changed = [_changed(each) for each in cases() if each.kind == kind]
    assert len(changed) >= 14
    assert any(changed) == MUTATIONS[kind].matters


def test_every_second_mutation_that_may_matter_does() -> None:
    """The agreement is not one about episodes in which nothing happened."""
    changed = [_changed(each) for each in cases() if MUTATIONS[each.kind].matters]
    assert sum(changed) > len(changed) / 2


def _changed(case: Case) -> bool:
    """True if some verdict on the episode is another one; the order of the sub-tasks is not compared."""
    return _by_task(case.before.verdict) != _by_task(case.after.verdict)


def _by_task(verdict: reference.Verdict) -> tuple[object, ...]:
    return (
        verdict.counters,
        verdict.same_task_streak,
        {each.task_id: each for each in verdict.sub_tasks},
    )


VALUES: tuple[Any, ...] = (
    *(0, -0.0, 1, 1.0, True, False, None, -1, 0.3, 0.1 + 0.2, 10**16, 1e16, 2**53, 2**53 + 1),
    *(2.0**53, 10**23, 1e23, 10**400, float("inf"), "", "1", "a", "A", "a ", "\u00e9", "e\u0301"),
    *("None", [], [1], [1.0], [True], [0], [False], [None], ["1"], [1, 2], [2, 1], [[1]]),
    *({}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": None}),
)


@pytest.mark.slow
def test_both_call_the_same_values_equal() -> None:
    """With every pair of values as an argument in the ground truth and in the call, the verdicts agree."""
    base = next(each for each in plain_corpus() if each["agent"] == "oracle")
    equal = 0
    for wanted, given in product(VALUES, repeat=2):
        episode = deepcopy(base)
        gold = episode["composition"]["sub_tasks"][0]["gold"][0]
        own = [each for each in episode["trajectory"] if each["tool"] == gold["tool"]]
        for call, value in ((gold, wanted), *((each, given) for each in own)):
            call["arguments"] = dict.fromkeys(call["arguments"], value)
        verdict = reference.score(episode, open_world)
        theirs = score(episode_from_json(json.loads(json.dumps(episode))))
        assert verdict_differences(theirs, verdict) == [], (wanted, given)
        equal += verdict.sub_tasks[0].trajectory
    # Each value is equal to itself, and to what is the same in another spelling: seven such pairs, each way round.
    assert equal == len(VALUES) + 14


def test_a_flag_is_not_a_default_that_python_calls_equal() -> None:
    """`pause: false` is refused where 0 is the default, and counts as a wrong parameter."""
    composition = compose("dg-10", "fs-01")
    episode = episode_to_json(played(composition, [*gold("dg-10"), *gold("fs-01")]))
    call = next(each for each in episode["trajectory"] if each["tool"] == "time_slots")
    call["arguments"]["pause"] = False
    theirs = score(episode_from_json(episode))
    ours = reference.score(episode, open_world)
    assert verdict_differences(theirs, ours) == []
    figures = reference.summarise([ours])
    assert figure_differences(summarise([theirs]), figures) == []
    assert figures.parameter_micro_f1 is not None
    assert figures.parameter_micro_f1 < 1


def repeated_tool() -> Episode:
    """Two gold calls have one tool, which is called a third time; the last call is made while that is pending."""
    *calls, last = gold("sc-17")
    again = [*calls, calls[-1], last]
    assert calls[-1][1] == calls[-2][1]
    episode = episode_to_json(played(compose("sc-17", "fs-01"), [*again, *gold("fs-01")]))
    episode["trajectory"][len(again) - 1]["pending_before"] = [len(again) - 2]
    return episode


def same_result() -> Episode:
    """A gold call is made with other arguments, and returns what the right ones return."""
    calls = gold("dm-02")
    place = next(n for n, (_, tool, _) in enumerate(calls) if tool == "describe_numbers")
    task, tool, arguments = calls[place]
    calls[place] = (task, tool, {**arguments, "values": arguments["values"][::-1]})
    return episode_to_json(played(compose("dm-02", "fs-01"), [*calls, *gold("fs-01")]))


def repeated_read() -> Episode:
    """A file is read before it is there, and again in its place."""
    calls = gold("fs-01")
    assert calls[-1][1] == "wc"
    return episode_to_json(played(compose("fs-01", "tb-01"), [calls[-1], *calls, *gold("tb-01")]))


def derived_value() -> Episode:
    """A call whose value is derived from a result is made while that result is pending."""
    find, copy, count = gold("fs-01")
    calls = [find, copy, count, *gold("sc-17")]
    episode = episode_to_json(played(compose("fs-01", "sc-17"), calls))
    episode["trajectory"][1]["pending_before"] = [0]
    task = next(each for each in episode["composition"]["sub_tasks"] if each["id"] == "fs-01")
    task["gold"][1]["sources"]["/source"] = {"derived": "by hand", "uses": [0]}
    return episode


def test_a_derived_value_needs_the_results_that_it_is_derived_from() -> None:
    """The call is premature, and what it needed was pending."""
    ours = reference.score(derived_value(), open_world)
    theirs = score(episode_from_json(derived_value()))
    assert verdict_differences(theirs, ours) == []
    assert (ours.sub_tasks[0].premature_needed, ours.sub_tasks[0].premature_harmless) == (1, 0)


def test_a_call_too_many_stands_for_the_last_gold_call_of_its_tool() -> None:
    """So what takes a value from that gold call needs the pending one."""
    episode = repeated_tool()
    theirs = score(episode_from_json(episode))
    ours = reference.score(episode, open_world)
    assert verdict_differences(theirs, ours) == []
    assert (ours.sub_tasks[0].premature_needed, ours.sub_tasks[0].premature_harmless) == (1, 0)
