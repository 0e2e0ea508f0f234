"""The guard ``provenance`` at the level of values: its verdicts on gold calls, and on these with other values in them.

A *gold* value is that of a required argument of a gold call: everything was said, so that an alarm is false. In its
place an *invented* one is of the same type and look, and the conversation tells it nowhere; a *borrowed* one was given
to an argument of the same name before, so that it stands in the conversation for something else, and the guard cannot
see it. The guard judges each call as it does in a run, by what had been told by then.
"""

import json
import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from asyncguard import GuardConfig, ToolSpec
from asyncguard.core.calls import Call, fingerprint
from asyncguard.core.footprints import Footprint
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.guards.provenance import untold_values
from asyncguard.schema.literals import is_fixed
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.inventions import invented
from asyncguard_benchmark.harness.pointers import child, leaves, parts
from asyncguard_benchmark.harness.scenario import SourceKind, SubTask
from asyncguard_benchmark.harness.statistics.estimates import wilson

_DRAWS = 20
"""Draws of an invented value before a place is left out: each was told by chance."""
_TASK = "main"
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_ISO_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(\d\d)")
_NUMERALS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_LISTED = 50
"""Values that the JSON lists of each sort of mistake."""


class Role(StrEnum):
    """Origin of a judged value."""

    GOLD = "gold"
    INVENTED = "invented"
    BORROWED = "borrowed"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One value of a required argument, with the verdict on it."""

    role: Role
    call: str
    """Id of the task, and place of the call in it."""
    tool: str
    at: str
    """JSON pointer into the arguments."""
    value: Any
    cause: str
    """Place from which the right value comes, as the data says."""
    refused: bool

    @property
    def sort(self) -> str:
        """Return the sort of the value."""
        if not isinstance(self.value, str):
            return "number"
        if _DAY.search(self.value):
            return "date or time"
        return "several words" if " " in self.value.strip() else "one word, id or path"


@dataclass(kw_only=True)
class Telling:
    """A conversation as far as it has gone."""

    board: Scoreboard = field(
        default_factory=lambda: Scoreboard(config=GuardConfig(provenance=True))
    )
    texts: list[str] = field(default_factory=list)
    """Everything that was told, for the check that an invented value was not."""
    used: dict[str, list[Any]] = field(default_factory=dict)
    """Name of an argument -> values that it was given."""

    def say(self, text: str) -> None:
        """Add a text of the user or the system."""
        self.board.evidence.add_common(text)
        self.board.evidence.request.append(text)
        self.texts.append(text)

    def answer(self, text: str) -> None:
        """Add a text of the model to which the user speaks next."""
        self.board.evidence.add_answered(text)
        self.board.evidence.end_request(text)
        self.texts.append(text)

    def find(self, result: Any) -> None:
        """Add the result of a call."""
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        self.board.evidence.add(_TASK, text)
        self.texts.append(text)

    def make(self, arguments: Mapping[str, Any]) -> None:
        """Add the arguments of a call that was made."""
        for name, value in arguments.items():
            self.board.evidence.add(_TASK, f"{name} {value}")
            self.used.setdefault(name, []).append(value)


def judged_task(task: SubTask, schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[Judged]:
    """Yield the values of a single task, whose calls are made one after the other.

    Args:
        task: With the results of its gold calls in its origin.
        schemas: Tool -> JSON schema of its arguments.

    Raises:
        DataError: the origin has no result for each gold call.
    """
    if task.origin is None or len(task.origin.results) != len(task.gold):
        raise DataError(task.id, "has no results of its gold calls; make it of a replayed file")
    telling = Telling()
    telling.say(task.query)
    for number, call in enumerate(task.gold):
        spec = ToolSpec(name=call.tool, parameters=schemas[call.tool])
        causes = {
            at: f"derived: {source.how}" if source.kind is SourceKind.DERIVED else source.kind.value
            for at, source in call.sources.items()
        }
        yield from judged_call(telling, spec, call.arguments, f"{task.id}.{number}", causes)
        telling.find(task.origin.results[number])
        telling.make(call.arguments)


def judged_call(
    telling: Telling,
    spec: ToolSpec,
    arguments: Mapping[str, Any],
    name: str,
    causes: Mapping[str, str],
) -> Iterator[Judged]:
    """Yield the values of the required arguments of a gold call, and others in their places.

    A place has no invented value if the schema lists the right one, if it is neither text nor number, or if each draw
    was told by chance; it has no borrowed one if no other was used before.

    Args:
        telling: What was told before the call.
        spec: The tool with its schema.
        arguments: Those of the gold.
        name: Of the call, for the draw and for lists.
        causes: JSON pointer -> where the value comes from; a pointer covers what lies below it.
    """
    refused = _refused(telling, spec, arguments)
    required = set((spec.parameters or {}).get("required", ()))
    for at, value in leaves(dict(arguments)):
        if not at or parts(at)[0] not in required:
            continue
        cause = next(
            (causes[each] for each in causes if at == each or at.startswith(f"{each}/")), ""
        )
        gold = Judged(
            role=Role.GOLD,
            call=name,
            tool=spec.name,
            at=at,
            value=value,
            cause=cause,
            refused=at in refused,
        )
        yield gold
        others = {
            Role.INVENTED: _drawn(gold, telling, spec, arguments),
            Role.BORROWED: _borrowed(gold, telling),
        }
        for role, other in others.items():
            if other is not None:
                found = _refused(telling, spec, _put(arguments, _path(arguments, at), other))
                yield replace(gold, role=role, value=other, refused=at in found)


def _drawn(
    gold: Judged, telling: Telling, spec: ToolSpec, arguments: Mapping[str, Any]
) -> str | int | float | None:
    value = gold.value
    if not isinstance(value, str | int | float) or isinstance(value, bool) or value == "":
        return None
    if is_fixed(spec.parameters, arguments, _path(arguments, gold.at)):
        return None
    draws: Iterator[str | int | float] = (
        invented(value, (gold.call, gold.at, draw)) for draw in range(_DRAWS)
    )
    return next((each for each in draws if each != value and not stands(each, telling.texts)), None)


def _borrowed(gold: Judged, telling: Telling) -> Any:
    names = parts(gold.at)
    if len(names) > 1:
        return None
    others = (each for each in reversed(telling.used.get(names[0], ())) if each != gold.value)
    return next(others, None)


def _refused(telling: Telling, spec: ToolSpec, arguments: Mapping[str, Any]) -> set[str]:
    call = Call(
        key="k",
        sequence=1,
        task=_TASK,
        tool=spec.name,
        ordinal=1,
        arguments=arguments,
        call_id="c",
        message_id="m",
        footprint=Footprint(reads=None, writes=None),
        fingerprint=fingerprint(spec.name, arguments),
    )
    found = set()
    for path in untold_values(call, spec, telling.board):
        at = ""
        for token in path:
            at = child(at, token)
        found.add(at)
    return found


def stands(value: Any, texts: Iterable[str]) -> bool:
    """Return True if a value stands in a text, in whatever case, not within a longer word.

    A number also stands there with other decimals or in letters, and a day with the name of its month. What is told for
    something else is told, too: such a value is not invented but stale.
    """
    told = [*texts]
    return any(_stands(form, told) for form in _forms(value))


def _forms(value: Any) -> Iterator[str]:
    yield str(value)
    if isinstance(value, int | float):
        if value == int(value):
            yield from (f"{value:.0f}", f"{value:.1f}", f"{value:.2f}")
            yield from _NUMERALS[int(value) : int(value) + 1] if value > 0 else ()
        else:
            yield from (f"{value:.1f}", f"{value:.2f}")[float(f"{value:.1f}") != value :]
    elif found := _ISO_DAY.fullmatch(value):
        day, month = int(found[2]), month_name[int(found[1])]
        for name in (month, month[:3]):
            for count in (f"{day}", f"{day}st", f"{day}nd", f"{day}rd", f"{day}th", f"{day}."):
                yield from (f"{count} {name}", f"{name} {count}", f"{count} of {name}")


def _stands(value: str, texts: Iterable[str]) -> bool:
    form = value.casefold()
    for text in texts:
        folded = text.casefold()
        place = folded.find(form)
        while place >= 0:
            around = (
                folded[max(0, place - 1) : place]
                + folded[place + len(form) : place + len(form) + 1]
            )
            if not any(char.isalnum() for char in around):
                return True
            place = folded.find(form, place + 1)
    return False


def _path(arguments: Mapping[str, Any], at: str) -> tuple[str | int, ...]:
    value: Any = arguments
    path: list[str | int] = []
    for name in parts(at):
        path.append(int(name) if isinstance(value, list | tuple) else name)
        value = value[path[-1]]
    return tuple(path)


def _put(value: Any, path: Sequence[str | int], other: Any) -> Any:
    if not path:
        return other
    if isinstance(value, Mapping):
        return {**value, path[0]: _put(value[path[0]], path[1:], other)}
    return [_put(each, path[1:], other) if n == path[0] else each for n, each in enumerate(value)]


def figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return counts and shares with 95 % Wilson intervals: of alarms, by cause, and of what was caught, by sort."""
    of = {role: [each for each in judged if each.role is role] for role in Role}
    gold, made = of[Role.GOLD], of[Role.INVENTED]
    return {
        "false_alarms": {**_share(gold), "by_cause": _by(gold, "cause")},
        "recall": {**_share(made), "by_sort": _by(made, "sort"), "by_cause": _by(made, "cause")},
        "borrowed": _share(of[Role.BORROWED]),
        "without_invented": len(gold) - len(made),
        "alarms": [_listed(each) for each in gold if each.refused][:_LISTED],
        "missed": [_listed(each) for each in made if not each.refused][:_LISTED],
    }


def _share(judged: Sequence[Judged]) -> dict[str, Any]:
    count, refused = len(judged), sum(each.refused for each in judged)
    if not count:
        return {"values": 0, "refused": 0, "share": None, "interval": None}
    found = wilson(refused / count, count)
    return {
        "values": count,
        "refused": refused,
        "share": round(found.value, 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
    }


def _by(judged: Sequence[Judged], name: str) -> dict[str, dict[str, int]]:
    counts = Counter(getattr(each, name) for each in judged)
    refused = Counter(getattr(each, name) for each in judged if each.refused)
    return {key: {"values": counts[key], "refused": refused[key]} for key in sorted(counts)}


def _listed(each: Judged) -> dict[str, Any]:
    return {
        "call": each.call,
        "tool": each.tool,
        "at": each.at,
        "value": each.value,
        "cause": each.cause,
    }
