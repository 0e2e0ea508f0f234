"""F1 of function names and of arguments over a corpus, after NESTFUL.

Macro: one sample for each sub-task (functions), or for each function of the ground truth in a sub-task (parameters,
where its last occurrence counts); sets of labels; labels that never occur in any ground truth are not seen, as by a
binarizer fitted on the ground truth; the mean of the labels' F1. Micro: multisets over all calls, invented names and
arguments count against precision.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from math import fsum

from asyncguard_benchmark.harness.scoring.call_labels import Overlap, Sample
from asyncguard_benchmark.harness.scoring.verdict import SubTaskScore


def function_macro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return macro F1 of function names, 0 to 1; None without data."""
    return _macro([each.compared.functions for each in sub_tasks])


def parameter_macro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return macro F1 of ``argument = value``, 0 to 1; None without data."""
    return _macro([sample for each in sub_tasks for sample in each.compared.parameters])


def function_micro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return micro F1 of function names, 0 to 1; None without data."""
    return _micro(each.compared.function_overlap for each in sub_tasks)


def parameter_micro_f1(sub_tasks: Sequence[SubTaskScore]) -> float | None:
    """Return micro F1 of ``argument = value`` together with the function, 0 to 1; None without data."""
    return _micro(each.compared.parameter_overlap for each in sub_tasks)


def _macro(samples: Sequence[Sample]) -> float | None:
    gold = Counter(chain.from_iterable(each.gold for each in samples))
    made = Counter(chain.from_iterable(each.made for each in samples))
    hits = Counter(chain.from_iterable(each.gold & each.made for each in samples))
    scores = [2 * hits[label] / (gold[label] + made[label]) for label in gold]
    # fsum does not depend on the order of the labels, which come from sets.
    return fsum(scores) / len(scores) if scores else None


def _micro(overlaps: Iterable[Overlap]) -> float | None:
    shared = total = 0
    for each in overlaps:
        shared += each.shared
        total += each.total
    return 2 * shared / total if total else None
