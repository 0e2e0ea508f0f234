"""Names and arguments of calls as labels, for the F1 figures."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.scenario import GoldCall, SubTask
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.service import plain_numbers

_MISSING = object()
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class CallLabels:
    """One call as labels."""

    function: str
    parameters: tuple[str, ...]
    """``argument = value``, without arguments that equal their default."""


def labels(task: SubTask, calls: Iterable[GoldCall | CallRecord]) -> tuple[CallLabels, ...]:
    """Return the labels of calls, in order."""
    tools = tools_of(task)
    return tuple(
        CallLabels(
            function=call.tool,
            parameters=_parameters(
                call.arguments, tools[call.tool].defaults if call.tool in tools else {}
            ),
        )
        for call in calls
    )


def _parameters(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{name} = {_ENCODER.encode(plain_numbers(value))}"
        for name, value in sorted(arguments.items())
        if defaults.get(name, _MISSING) != value
    )


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
        function_overlap=_overlap(_functions(gold), _functions(made)),
        parameter_overlap=_overlap(_pairs(gold), _pairs(made)),
    )


def _functions(calls: Iterable[CallLabels]) -> Counter[Hashable]:
    return Counter(call.function for call in calls)


def _pairs(calls: Iterable[CallLabels]) -> Counter[Hashable]:
    return Counter((call.function, parameter) for call in calls for parameter in call.parameters)


def _overlap(one: Counter[Hashable], other: Counter[Hashable]) -> Overlap:
    return Overlap(shared=(one & other).total(), total=one.total() + other.total())
