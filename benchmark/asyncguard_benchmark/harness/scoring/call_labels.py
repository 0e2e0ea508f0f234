"""Calls as labels, and the labels of a run beside those of the ground truth: the data of the F1 figures."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CallLabels:
    """One call as labels."""

    function: str
    parameters: tuple[str, ...]
    """``argument = value``, without arguments that equal their default."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Labels of one sample of a macro figure."""

    gold: frozenset[str]
    made: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Labels of two multisets, counted."""

    shared: int
    total: int
    """Of both multisets together."""


@dataclass(frozen=True, kw_only=True)
class ComparedLabels:
    """The labels of the ground truth of a sub-task beside those of a run."""

    functions: Sample
    parameters: tuple[Sample, ...]
    """One for each function of the ground truth, where its last occurrence counts."""
    function_overlap: Overlap
    parameter_overlap: Overlap


def compare_labels(gold: Sequence[CallLabels], made: Sequence[CallLabels]) -> ComparedLabels:
    """Compare the calls of the ground truth with those of a run."""
    last = {call.function: call.parameters for call in made}
    return ComparedLabels(
        functions=Sample(
            gold=frozenset(call.function for call in gold),
            made=frozenset(call.function for call in made),
        ),
        parameters=tuple(
            Sample(gold=frozenset(parameters), made=frozenset(last.get(name, ())))
            for name, parameters in {call.function: call.parameters for call in gold}.items()
        ),
        function_overlap=_overlap(
            [call.function for call in gold], [call.function for call in made]
        ),
        parameter_overlap=_overlap(_pairs(gold), _pairs(made)),
    )


def _pairs(calls: Iterable[CallLabels]) -> list[tuple[str, str]]:
    return [(call.function, parameter) for call in calls for parameter in call.parameters]


def _overlap(gold: Sequence[Hashable], made: Sequence[Hashable]) -> Overlap:
    left = list(gold)
    for each in made:
        if each in left:
            left.remove(each)
    return Overlap(shared=len(gold) - len(left), total=len(gold) + len(made))
