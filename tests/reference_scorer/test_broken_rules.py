"""A reference with one rule broken disagrees with the project somewhere: the comparison can fail."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from asyncguard_benchmark import Score, episode_from_json, score, summarise
from tests.reference_scorer import scorer as reference
from tests.reference_scorer.comparison import figure_differences, verdict_differences
from tests.reference_scorer.corpus import Episode, open_world, plain_corpus
from tests.reference_scorer.test_mutations import (
    cases,
    derived_value,
    repeated_read,
    repeated_tool,
    same_result,
)

pytestmark = pytest.mark.slow

# As they are, for the broken ones to stand on.
exact, needs, canonical, execute = (
    reference.exact,
    reference.needs,
    reference.canonical,
    reference.execute,
)
steps_of, f1_counts, premature = reference.steps_of, reference.f1_counts, reference.premature


def _python_equality(value: Any) -> Any:
    """True is 1."""
    return exact(int(value) if isinstance(value, bool) else value)


def _number_types(value: Any) -> Any:
    """10 is not 10.0."""
    return (type(value), value) if isinstance(value, int | float) else exact(value)


def _loose_text(value: Any) -> Any:
    """Letters are not told apart by their case, nor texts by the spaces around them."""
    return exact(value.lower().strip() if isinstance(value, str) else value)


def _unordered_lists(value: Any) -> Any:
    """The order of a list does not matter."""
    return exact(sorted(value, key=str) if isinstance(value, list) else value)


def _tool_alone(call: Any, world: Any) -> Any:
    """Arguments do not matter."""
    return call["tool"], frozenset()


def _arguments_alone(call: Any, world: Any) -> Any:
    """The tool does not matter."""
    return "", canonical(call, world)[1]


def _saved_responses(calls: Sequence[Any], world: Any) -> list[str]:
    """What the record says is believed."""
    results = execute(calls, world)
    return [call.get("response", result) for call, result in zip(calls, results, strict=True)]


def _cached_results(calls: Sequence[Any], world: Any) -> list[str]:
    """A call that is made again returns what it returned before."""
    results = execute(calls, world)
    first: dict[str, str] = {}
    names = [f"{call['tool']} {call['arguments']}" for call in calls]
    return [first.setdefault(name, each) for name, each in zip(names, results, strict=True)]


def _one_step_each(gold: Any, made: Any) -> list[int | None]:
    """A call too many stands for no gold call."""
    seen: Counter[int | None] = Counter()
    found: list[int | None] = []
    for step in steps_of(gold, made):
        seen[step] += 1
        found.append(step if seen[step] == 1 else None)
    return found


def _repeats_are_first(gold: Any, made: Any) -> list[int | None]:
    """A call too many stands for the first gold call of its tool."""
    steps = zip(_one_step_each(gold, made), _first_step(gold, made), strict=True)
    return [first if step is None else step for step, first in steps]


def _first_step(gold: Any, made: Any) -> list[int | None]:
    """A call stands for the first gold call of its tool."""
    tools = [call["tool"] for call in gold]
    return [tools.index(call["tool"]) if call["tool"] in tools else None for call in made]


def _no_derived(gold: Any, step: int | None) -> set[int]:
    """A derived value needs no result."""
    sources = gold[step]["sources"].values() if step is not None else ()
    return {each["call"] for each in sources if not isinstance(each, str) and "call" in each}


def _every_earlier(gold: Any, step: int | None) -> set[int]:
    """A gold call needs all calls before it."""
    return set(range(step or 0))


def _any_call_needs(gold: Any, made: Any) -> tuple[int, int]:
    """Every premature call needs the pending value."""
    return sum(premature(gold, made)), 0


def _distinct(gold: Any, made: Any) -> Any:
    """Labels are sets for the micro figures, too."""
    return f1_counts(list(dict.fromkeys(gold)), list(dict.fromkeys(made)))


def _first_call(gold: Any, made: Any) -> Any:
    """Parameters are judged by the first call of a function."""
    there = dict(reversed(made))
    last = f1_counts(gold, made)
    samples = tuple((frozenset(p), frozenset(there.get(t, ()))) for t, p in dict(gold).items())
    return reference.F1Counts(**{**vars(last), "samples": samples})


def _all_labels(samples: Any) -> float | None:
    """Labels that only the agent made count, too."""
    gold = Counter(label for expected, _ in samples for label in expected)
    made = Counter(label for _, found in samples for label in found)
    both = Counter(label for expected, found in samples for label in expected & found)
    return reference.mean(2 * both[each] / (gold[each] + made[each]) for each in gold | made)


BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "true is 1": ("exact", _python_equality),
    "10 is not 10.0": ("exact", _number_types),
    "texts are compared loosely": ("exact", _loose_text),
    "lists have no order": ("exact", _unordered_lists),
    "defaults are kept": ("defaults", lambda schema: set()),
    "arguments do not matter": ("canonical", _tool_alone),
    "the tool does not matter": ("canonical", _arguments_alone),
    "saved responses are believed": ("execute", _saved_responses),
    "a repeated call is not executed": ("execute", _cached_results),
    "containment by sets": ("contained", lambda gold, made: set(gold) <= set(made)),
    "equality for containment": ("contained", lambda gold, made: Counter(gold) == Counter(made)),
    "order without gaps": ("in_order", lambda gold, made: list(gold) == list(made)[: len(gold)]),
    "order does not matter": ("in_order", reference.contained),
    "no call needed for a state": ("same_state", lambda gold, made, calls: gold == made),
    "any state will do": ("same_state", lambda gold, made, calls: bool(calls)),
    "accuracy without calls": ("accurate", lambda trajectory, result, state: result and state),
    "accuracy without results": (
        "accurate",
        lambda trajectory, result, state: trajectory and state,
    ),
    "accuracy without state": ("accurate", lambda trajectory, result, state: trajectory and result),
    "one sub-task is enough": ("all_of", any),
    "a repeat stands for nothing": ("steps_of", _one_step_each),
    "a repeat stands for the first": ("steps_of", _repeats_are_first),
    "a call stands for the first": ("steps_of", _first_step),
    "derived values need nothing": ("needs", _no_derived),
    "a call needs all before it": ("needs", _every_earlier),
    "premature means needed": ("premature", _any_call_needs),
    "streak of the last run": ("streak", lambda ids: len(ids) and ids[::-1].index(ids[-1]) + 1),
    "streak counts all calls": ("streak", len),
    "labels are sets": ("f1_counts", _distinct),
    "first occurrence": ("f1_counts", _first_call),
    "labels of the agent": ("macro_f1", _all_labels),
    "mean of nothing is 0": ("mean", lambda values: sum(v := list(values)) / max(len(v), 1)),
}
"""What is broken -> the rule's name in the reference, and what stands there instead."""


@cache
def judged() -> list[tuple[Episode, Score]]:
    """Episodes as played and as changed, with the project's verdict."""
    others = (repeated_tool(), repeated_read(), derived_value(), same_result())
    played = [(each, score(episode_from_json(each))) for each in (*others, *plain_corpus()[::4])]
    return [*((each.after.episode, each.after.score) for each in cases()), *played]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule broken, some verdict or figure differs from the project's."""
    judged()  # kept for all tests, so before the rule is broken
    monkeypatch.setattr(reference, *BROKEN[broken])
    verdicts = []
    for episode, theirs in judged():
        verdicts.append(reference.score(episode, open_world))
        if verdict_differences(theirs, verdicts[-1]):
            return
    scores = [theirs for _, theirs in judged()]
    differences = figure_differences(summarise(scores), reference.summarise(verdicts))
    nothing = figure_differences(summarise([]), reference.summarise([]))
    assert differences or nothing
