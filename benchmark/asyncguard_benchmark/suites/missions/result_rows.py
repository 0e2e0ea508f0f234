"""Result files in the published shape: one mission a row, with its gold, its tools and what the model said.

What the published description leaves open is read like this: `idx` is the place of the mission in its dialogue, from 0;
`type`, `turn_type` and `turn_subtypes` speak of this mission alone, or of all missions of the dialogue up to it at
least. Where a row names its own action type only, the pattern is that of the rows of its dialogue.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import Reading, gathered
from asyncguard_benchmark.harness.saved_form import Count, parse
from asyncguard_benchmark.suites.missions.entries import Entry, EntryKey
from asyncguard_benchmark.suites.missions.gold_form import graph_of, schema_breaches, tools_of
from asyncguard_benchmark.suites.missions.gold_graph import late_dependencies
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import (
    Letter,
    Relation,
    letters_of,
    relations_of,
)

CORRECT = "correct"
TIMED_OUT = "graph generate timeout."
_LABELS = (CORRECT, "error", TIMED_OUT)


@dataclass(frozen=True, kw_only=True)
class _Step:
    step: Any = None
    content: str | None = None
    tool_calls: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class _Row:
    id: str | list[str]
    idx: Count
    tools: Any
    task: Any
    answer_list: Any
    type: Any
    predict_result: list[_Step]
    messages: list[Any] | None = None
    messages_length: Count | None = None
    predict_label: str | None = None
    predict_is_optimal: Literal["True", "False"] | bool | None = None
    turn_type: Any = None
    turn_subtypes: Any = None


_ROW = TypeAdapter(_Row)


class _Read(NamedTuple):
    where: str
    task: str
    entry: Entry
    warnings: tuple[str, ...]


def read_results(path: Path) -> Reading[Entry]:
    """Read a result file; a row that says what an earlier one says counts once.

    Raises:
        OSError: the file cannot be read.
    """
    rows, problems = gathered(path, _read)
    found: dict[EntryKey, _Read] = {}
    warnings: list[str] = []
    for row in rows:
        first = found.setdefault(row.entry.key, row)
        if first is row:
            warnings += [f"{row.where}: {text}" for text in row.warnings]
        elif first.task == row.task:
            warnings.append(f"{row.where}: says what {first.where} says; counted once")
        else:
            text = f"another mission has this id and idx ({first.where}), with another task"
            problems.append(DataError(f"{row.where}.task", text))
    return Reading(
        found=tuple(_with_patterns([each.entry for each in found.values()])),
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _read(where: str, value: dict[str, Any]) -> _Read:
    row = parse(_ROW, value, where)
    tools = tools_of(row.tools, f"{where}.tools")
    graph = graph_of(row.answer_list, tools, f"{where}.answer_list")
    letters = _letters(row, where)
    entry = Entry(
        key=EntryKey(row.id if isinstance(row.id, str) else "".join(row.id), row.idx),
        letter=letters[-1],
        pattern=letters if len(letters) == row.idx + 1 else None,
        relation=_relation(row, where),
        graph=graph,
        tools=tools,
        steps=tuple(
            _step(each, f"{where}.predict_result[{n}]") for n, each in enumerate(row.predict_result)
        ),
        said=tuple(_texts([*(row.messages or []), row.task])),
        prompt_messages=row.messages_length if row.messages is None else len(row.messages),
        stored_label=_label(row, where),
        timed_out=row.predict_label == TIMED_OUT,
        stored_optimal=None
        if row.predict_is_optimal is None
        else str(row.predict_is_optimal) == "True",
    )
    late = [
        f"node {each} depends on a later one; the published subtype may differ"
        for each in late_dependencies(graph.nodes)
    ]
    return _Read(where, str(row.task), entry, (*late, *schema_breaches(graph.nodes, tools)))


def _letters(row: _Row, where: str) -> tuple[Letter, ...]:
    """Return the action types up to the mission, or its own alone."""
    said = letters_of(row.type, f"{where}.type")
    if len(said) == 1 or len(said) > row.idx:
        return said if len(said) == 1 else said[: row.idx + 1]
    text = f"names {len(said)} action types; expected one, or those of all missions up to idx {row.idx}"
    raise DataError(f"{where}.type", text)


def _relation(row: _Row, where: str) -> Relation | None:
    if row.turn_type is None:
        return None
    missions = len(row.turn_type) if isinstance(row.turn_type, list) else 1
    relations = relations_of(row.turn_type, row.turn_subtypes, missions, where)
    if missions == 1:
        return relations[0]
    if row.idx >= missions:
        raise DataError(f"{where}.turn_type", f"has {missions} items and none for idx {row.idx}")
    return relations[row.idx]


def _label(row: _Row, where: str) -> bool | None:
    if row.predict_label is None:
        return None
    if row.predict_label not in _LABELS:
        text = f"expected one of {', '.join(map(repr, _LABELS))}, not {row.predict_label[:60]!r}"
        raise DataError(f"{where}.predict_label", text)
    return row.predict_label == CORRECT


def _step(read: _Step, where: str) -> Step:
    calls = []
    for number, each in enumerate(read.tool_calls or []):
        call = each.get("function", each) if isinstance(each, dict) else each
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise DataError(f"{where}.tool_calls[{number}]", "expected a call with a name")
        calls.append(ToolCall(call["name"], call.get("arguments")))
    return Step(tuple(calls), read.content or "")


def _texts(value: Any) -> Iterable[str]:
    """Yield all texts in a value, those of tool calls in the history too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    elif isinstance(value, int | float):
        yield str(value)


def _with_patterns(entries: Sequence[Entry]) -> Iterable[Entry]:
    """Complete patterns from the other missions of a dialogue, where all earlier ones are there."""
    letters = {each.key: each.letter for each in entries}
    for each in entries:
        keys = [EntryKey(each.key.dialogue, number) for number in range(each.key.mission + 1)]
        if each.pattern is None and all(key in letters for key in keys):
            yield replace(each, pattern=tuple(letters[key] for key in keys))
        else:
            yield each
