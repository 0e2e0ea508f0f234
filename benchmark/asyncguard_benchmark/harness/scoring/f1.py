"""F1 of function names and of arguments over a corpus, after NESTFUL.

Macro: one sample for each sub-task (functions), or for each function of the ground truth in a sub-task (parameters,
where its last occurrence counts); sets of labels; labels that never occur in any ground truth are not seen, as by a
binarizer fitted on the ground truth; the mean of the labels' F1. Micro: multisets over all calls, invented names and
arguments count against precision.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import fsum

from asyncguard_benchmark.harness.scoring.verdict import CallLabels, SubTaskScore

_Sample = tuple[set[str], set[str]]


def function_macro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return macro F1 of function names, 0 to 1; None without data."""
    return _macro(
        [(_functions(each.gold_labels), _functions(each.made_labels)) for each in sub_tasks]
    )


def parameter_macro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return macro F1 of ``argument = value``, 0 to 1; None without data."""
    samples: list[_Sample] = []
    for each in sub_tasks:
        gold, made = _last(each.gold_labels), _last(each.made_labels)
        samples += [(set(parameters), set(made.get(name, ()))) for name, parameters in gold.items()]
    return _macro(samples)


def function_micro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return micro F1 of function names, 0 to 1; None without data."""
    return _micro((_names(each.gold_labels), _names(each.made_labels)) for each in sub_tasks)


def parameter_micro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return micro F1 of ``argument = value`` together with the function, 0 to 1; None without data."""
    return _micro(
        (_parameters(each.gold_labels), _parameters(each.made_labels)) for each in sub_tasks
    )


def _functions(calls: Iterable[CallLabels]) -> set[str]:
    return {call.function for call in calls}


def _last(calls: Iterable[CallLabels]) -> dict[str, tuple[str, ...]]:
    return {call.function: call.parameters for call in calls}


def _names(calls: Iterable[CallLabels]) -> Counter[Hashable]:
    return Counter(call.function for call in calls)


def _parameters(calls: Iterable[CallLabels]) -> Counter[Hashable]:
    return Counter((call.function, parameter) for call in calls for parameter in call.parameters)


def _macro(samples: Sequence[_Sample]) -> float | None:
    gold = Counter(label for wanted, _ in samples for label in wanted)
    made = Counter(label for _, had in samples for label in had)
    hits = Counter(label for wanted, had in samples for label in wanted & had)
    scores = [2 * hits[label] / (gold[label] + made[label]) for label in gold]
    # fsum does not depend on the order of the labels, which come from sets.
    return fsum(scores) / len(scores) if scores else None


def _micro(samples: Iterable[tuple[Counter[Hashable], Counter[Hashable]]]) -> float | None:
    hits = total = 0
    for gold, made in samples:
        hits += (gold & made).total()
        total += gold.total() + made.total()
    return 2 * hits / total if total else None
