"""Names and arguments of calls as labels, for the F1 figures."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.scenario import GoldCall, SubTask
from asyncguard_benchmark.harness.scoring.call_labels import CallLabels
from asyncguard_benchmark.harness.scoring.canonical import same
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.service import plain_numbers

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


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
        if name not in defaults or not same(defaults[name], value)
    )
