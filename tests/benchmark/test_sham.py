"""The sham refuses as often as guards do, in their words, and at random."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import GuardConfig
from asyncguard_benchmark.harness.ablation.outcomes import Outcome, outcome_of
from asyncguard_benchmark.harness.arms import ALL, FEATURES, NONE, SHAM
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.players.interventions import Refusal
from asyncguard_benchmark.harness.players.refusals import Refuser
from asyncguard_benchmark.harness.players.sham import drawn, misdirected
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Surface

SOME = shipped_compositions()[::60]
EAGER = Condition(agent=AgentSpec(kind="eager"), player="graph")


def episode(composition: Composition, arm: str, condition: Condition = EAGER) -> Episode:
    """One episode."""
    return play(Cell(composition=composition, condition=replace(condition, arm=arm))).episode


@pytest.fixture(
    scope="module",
    params=[pytest.param(2, id="few"), pytest.param(1, id="some", marks=pytest.mark.slow)],
)
def outcomes(request: pytest.FixtureRequest) -> Mapping[str, Sequence[Outcome]]:
    """The same episodes under four arms, judged."""
    chosen = SOME[:: request.param]
    return {
        arm: [outcome_of(episode(each, arm)) for each in chosen]
        for arm in (NONE, FEATURES, SHAM, ALL)
    }


refusals = st.lists(
    st.builds(Refusal, call=st.sampled_from(["", "cat#1", "mv#2"]), reason=st.text()), max_size=12
)


@given(refusals, st.integers(12, 40), st.integers())
def test_as_many_calls_are_drawn_as_were_refused(
    made: list[Refusal], proposed: int, key: int
) -> None:
    """Each of a number that the run had, the same for the same key."""
    found = drawn(made, proposed, (key,))
    assert len(found) == len(made)
    assert all(0 <= number < proposed for number in found)
    assert found == drawn(made, proposed, (key,))


def test_every_call_is_as_likely_as_any_other() -> None:
    """Over many draws no place is preferred."""
    counts = [0] * 6
    for key in range(1200):
        for number in drawn([Refusal(call="", reason="no")] * 2, 6, (key,)):
            counts[number] += 1
    assert all(340 <= count <= 460 for count in counts)


def test_the_words_are_those_of_the_guard() -> None:
    """With the call that is refused in the place of the one that they were said of."""
    (text,) = drawn([Refusal(call="cat#1", reason="Wait before cat#1.")], 1, ()).values()
    refuser = Refuser({0: text})
    assert refuser("mv") == "mv was not run. Wait before mv."
    assert refuser("mv") is None
    assert refuser.made == 1


@pytest.mark.parametrize("surface", list(Surface))
def test_a_refused_call_is_not_made_and_its_agent_is_told(surface: Surface) -> None:
    """The refusal is an error like a guard's, costs its round, and reaches no tool."""
    told = 0
    for composition in SOME[:4]:
        played = episode(composition, SHAM, replace(EAGER, surface=surface))
        text = str(played.messages)
        assert played.settings["refused"] == text.count("was not run.")
        proposed = played.counters.rounds - played.counters.idle_turns - 1
        assert len(played.trajectory) == proposed - played.settings["refused"]
        told += played.settings["refused"]
    assert told > 0


@pytest.mark.slow
def test_frequency_is_matched(outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Nearly all refusals of the paired runs are imitated; runs that end early leave some over."""
    shams, paired = outcomes[SHAM], outcomes[ALL]
    assert [each.refusals_wanted for each in shams] == [each.rejections for each in paired]
    wanted, made = sum(each.refusals_wanted for each in shams), sum(each.refused for each in shams)
    assert 0.8 * wanted <= made <= wanted


@pytest.mark.slow
def test_an_agent_whose_wrong_calls_pass_gets_as_many_refusals() -> None:
    """Without guards it makes far fewer calls; the refusals are drawn from these and not from those of the long run."""
    confused = replace(EAGER, agent=AgentSpec(kind="confused"))
    told = [outcome_of(episode(each, SHAM, confused)) for each in SOME[::2]]
    assert sum(each.refused for each in told) >= 0.8 * sum(each.refusals_wanted for each in told)


@pytest.mark.parametrize("surface", list(Surface))
def test_reminders_are_imitated_at_random_tasks(surface: Surface) -> None:
    """The end is put off as often as by guards, and the agent is told tasks that it may have done."""
    neglectful = replace(EAGER, agent=AgentSpec(kind="neglectful"), surface=surface)
    for composition in SOME[:4]:
        played = episode(composition, SHAM, neglectful)
        text = str(played.messages)
        wanted = outcome_of(episode(composition, ALL, neglectful)).nudges
        assert wanted > 0
        assert played.settings["reminders_wanted"] == wanted
        assert played.settings["reminded"] == text.count("You are about to finish") == wanted


@given(st.permutations(["fs-1", "fs-11", "dm-2"]), st.integers())
def test_a_reminder_names_as_many_tasks_as_the_guard_did(tasks: list[str], key: int) -> None:
    """Each named task stands for one other, a task whose id begins like another's included."""
    said = misdirected("- fs-11: none\n- dm-2: none", tasks, (key,))
    assert len(set(re.findall(r"^- (\S+): none$", said, re.MULTILINE)) & set(tasks)) == 2


def test_every_task_is_as_likely_to_be_named_as_any_other() -> None:
    """Over many draws a reminder of one of three tasks names each about as often."""
    named = Counter(misdirected("a", ["a", "b", "c"], (key,)) for key in range(1200))
    assert all(340 <= named[task] <= 460 for task in "abc")


def test_the_sham_shows_no_gain(outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    """Refusals at random solve at most a tenth of what the guards solve."""
    solved = {arm: sum(each.overall for each in judged) for arm, judged in outcomes.items()}
    assert solved[ALL] >= 0.9 * len(outcomes[ALL])
    assert solved[SHAM] - solved[NONE] <= 0.1 * solved[ALL]
    assert solved[SHAM] - solved[FEATURES] <= 0.1 * solved[ALL]


def test_guards_off_beside_the_sham() -> None:
    """Nothing but the sham refuses."""
    played = episode(SOME[0], SHAM)
    assert played.settings["interventions"] == []
    config = GuardConfig(
        **{
            name: value
            for name, value in played.settings["config"].items()
            if isinstance(value, bool)
        }
    )
    assert config.waiting
    assert not config.grounding
