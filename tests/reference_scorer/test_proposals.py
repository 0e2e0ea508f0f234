"""The project and the reference agree on what guards did about right calls; a broken rule is seen."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark import episode_from_json, episode_to_json
from asyncguard_benchmark.harness.campaign import play
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.false_blocks import (
    ANY,
    Basis,
    false_blocks,
    proposals_of,
)
from asyncguard_benchmark.suites.asynctool.harm import CALL_GUARDS, cells_of, compositions_of
from tests.reference_scorer import proposals as reference
from tests.reference_scorer.corpus import Episode, open_world
from tests.reference_scorer.mutations import derived_source, other_source

AGENTS = ("parallel", "heeding", "batch", "foreseeing")


@cache
def episodes() -> list[Episode]:
    """Guarded episodes of agents that call early, on wild and independent tasks, on both surfaces and front ends."""
    compositions = [*compositions_of("wild")[::7], *compositions_of("independent")[::8]]
    asked = cells_of(compositions, AGENTS, ("graph",), (True,), (Regime.FIXED1,))
    asked += cells_of(compositions[::4], AGENTS, ("middleware",), (False,), (Regime.RANDOM12,))
    return [episode_to_json(play(cell).episode) for cell in asked if cell.condition.arm == "all"]


@cache
def mutated() -> list[Episode]:
    """The same with changes of the ground truth, of what guards are said to have done, and of refusals."""
    found = []
    for seed, (each, change) in enumerate(product(episodes(), CHANGES)):
        after = json.loads(json.dumps(each))
        if change(after, Random(seed)):
            found.append(after)
    return found


def _other_guard(episode: Episode, random: Random) -> bool:
    """Another guard is said to have spoken, or the verdict is another one."""
    own = episode["settings"]["interventions"]
    if not own:
        return False
    random.choice(own).update(
        guard=random.choice(CALL_GUARDS), verdict=random.choice(("reject", "defer", "hold"))
    )
    return True


def _gold_from_elsewhere(episode: Episode, random: Random) -> bool:
    """A gold call wants the arguments of another one, so that a call is not right."""
    gold = random.choice(episode["composition"]["sub_tasks"])["gold"]
    gold[-1] = {**deepcopy(gold[0]), "sources": dict.fromkeys(gold[0]["sources"], "query")}
    return True


def _not_told(episode: Episode, random: Random) -> bool:
    """The conversation breaks off."""
    kept = random.randrange(3, len(episode["messages"]))
    last = episode["messages"][kept - 1]
    episode["messages"] = episode["messages"][: kept - ("tool_calls" in last)]
    return True


def _said_again(episode: Episode, random: Random) -> bool:
    """A call was made again at once, and its result did not come."""
    spoken = [n for n, each in enumerate(episode["messages"]) if '"func_name"' in each["content"]]
    if not spoken:
        return False
    place = random.choice([n for n in spoken if episode["messages"][n]["role"] == "assistant"])
    wait = {"role": "user", "content": '{"role": "tool", "content": "{\\"wait\\": \\"Wait.\\"}"}'}
    episode["messages"][place:place] = [deepcopy(episode["messages"][place]), wait]
    return True


CHANGES = (
    *(other_source, derived_source, _other_guard),
    *(_gold_from_elsewhere, _not_told, _said_again),
)


def differences(found: list[Episode]) -> list[str]:
    """What the project says otherwise than the reference."""
    ours = [reference.proposed(each, open_world) for each in found]
    runs = [
        (proposals_of(read), frozenset(read.composition.task_ids))
        for read in map(episode_from_json, found)
    ]
    told = [
        f"episode {place}: {one}, not {other}"
        for place, ((theirs, _), own) in enumerate(zip(runs, ours, strict=True))
        for one, other in zip(
            [
                (t.task_id, t.tool, t.basis and t.basis.value, t.refused, t.guard, t.deferring)
                for t in theirs
            ],
            [(o.task, o.tool, o.basis, o.refused, o.guard, o.deferring) for o in own],
            strict=True,
        )
        if one != other
    ]
    calls = [each for own in ours for each in own]
    for block in false_blocks(runs, CALL_GUARDS):
        wanted = reference.counts(calls, block.basis.value, block.guard)
        share = None if block.share is None else block.share.value
        value = 100 * wanted[1] / wanted[0] if wanted[0] else None
        if (block.right, block.refused, block.deferred) != wanted or share != pytest.approx(value):
            told.append(f"{block}, not {wanted}")
    return told


@pytest.mark.slow
def test_both_agree_on_played_and_mutated_episodes() -> None:
    """Every call with its basis, its guard and its fate; the counts, too."""
    assert differences(episodes()) == []
    assert len(mutated()) > 150
    assert differences(mutated()) == []


def test_the_corpus_has_what_is_counted() -> None:
    """Every basis, refusals of early calls on values worked out ahead, and none that no guard accounts for."""
    calls = [each for one in episodes() for each in reference.proposed(one, open_world)]
    assert {each.basis for each in calls} >= {
        each.value for each in Basis if each not in (Basis.EARLY, Basis.DERIVED)
    }
    assert reference.counts(calls, "early, worked out ahead", ANY)[1] > 0
    assert {each.guard for each in calls} >= {"grounding", "premature"}
    assert "other" not in {each.guard for each in calls}
    assert None not in {each.basis for each in calls}


BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "a gold call counts again": (
        "next_step",
        lambda form, gold, taken: gold.index(form) if form in gold else None,
    ),
    "any call is right": ("next_step", lambda form, gold, taken: 0),
    "open while it is told": (
        "is_open",
        lambda call, said: call.told is None or call.told >= said - 1,
    ),
    "open only if never told": ("is_open", lambda call, said: call.told is None),
    "what it needs does not matter": ("needs", lambda gold, step: set()),
    "it needs all before it": ("needs", lambda gold, step: set(range(step))),
    "nothing is derived": ("derives", lambda call: False),
    "early calls are those told": ("basis_of", lambda gold, step, open_steps: "early, as told"),
    "refusals of any call count": (
        "counts",
        lambda calls, basis, guard: (len(calls), sum(each.refused for each in calls), 0),
    ),
}
"""What is broken -> the rule's name in the reference, and what stands there instead."""


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule broken, some call or count differs from the project's."""
    found = [*episodes(), *mutated()[::2]]
    monkeypatch.setattr(reference, *BROKEN[broken])
    assert differences(found)
