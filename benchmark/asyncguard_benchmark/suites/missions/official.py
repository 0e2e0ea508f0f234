"""Dialogues in the official form of both benchmarks, from a user's own file; nothing of it is shipped or executed."""

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError, DataErrors
from asyncguard_benchmark.harness.json_lines import (
    LONGEST_LINE,
    Reading,
    check_size,
    gathered,
    named,
)
from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.saved_form import Whole, json_value, parse
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, Mission
from asyncguard_benchmark.suites.missions.gold_form import graph_of, schema_breaches, tools_of
from asyncguard_benchmark.suites.missions.gold_graph import late_dependencies
from asyncguard_benchmark.suites.missions.terms import Letter, Subtype, letters_of, relations_of

Language = Literal["en", "zh"]
T = TypeVar("T")
_Placed = tuple[str, Dialogue]
"""The place of a dialogue in its file, and the dialogue."""
_TWINS = ("task", "messages", "answer_list", "tools")
"""Fields that have an English twin, `english_...`."""
_BLOCK_END = "====="
_LONG_NUMBER = re.compile(r"\d{19}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")
_ROLES = {
    ":": frozenset({"ai", "ai agent", "user", "ai agent assistant"}),
    "\uff1a": frozenset({"用户", "ai agent助手", "ai agent"}),
}
"""By colon: names of roles that a text may begin with, in lower case."""


@dataclass(frozen=True, kw_only=True)
class _Message:
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True)
class _Dialogue:
    id: str | list[str]
    task: list[str]
    task_ids: list[Whole]
    messages: list[str | _Message]
    answer_list: list[Any]
    tools: Any
    type: Any
    turn_type: Any
    turn_subtypes: Any
    env_info: str | list[str]


_DIALOGUE = TypeAdapter(_Dialogue)


def read_dialogues(path: Path, language: Language = "en") -> Reading[Dialogue]:
    """Read a file of dialogues, JSON lines or CSV; what cannot be read is told, and hides no other dialogue.

    Raises:
        OSError: the file cannot be read.
    """
    warnings: list[str] = []

    def read(where: str, value: dict[str, Any]) -> _Placed:
        _check_storable(value, where)
        return where, _dialogue(_in(language, value, where), where, warnings)

    placed, problems = _from_csv(path, read) if path.suffix == ".csv" else gathered(path, read)
    found: dict[str, _Placed] = {}
    for where, each in placed:
        first, _ = found.setdefault(each.id, (where, each))
        if first != where:
            problems.append(DataError(f"{where}.id", f"the dialogue at {first} has this id, too"))
    return Reading(
        found=tuple(each for _, each in found.values()),
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _from_csv(
    path: Path, read: Callable[[str, dict[str, Any]], _Placed]
) -> tuple[list[_Placed], list[DataError]]:
    found: list[_Placed] = []
    problems: list[DataError] = []
    csv.field_size_limit(LONGEST_LINE)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            for cells in rows:
                place = named(f"{path}:{rows.line_num}", {"id": cells.get("id")})
                try:
                    value = {name: _cell(name, text, place) for name, text in cells.items() if name}
                    check_size(value, place)
                    found.append(read(place, value))
                except DataError as problem:
                    problems += problem.problems
        except (csv.Error, UnicodeDecodeError) as problem:
            problems.append(DataError(f"{path}:{rows.line_num}", f"it is no CSV file: {problem}"))
    return found, problems


def _check_storable(value: dict[str, Any], where: str) -> None:
    """Refuse what JSON can write and files or checkpoints cannot hold: half characters, whole numbers over 64 bits."""
    for name, field in value.items():
        text = json.dumps(field, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            told = f"holds half a character, {text[problem.start]!r}"
            raise DataError(f"{where}.{name}", told) from problem
        # Texts may have as many digits: only then each value is looked at.
        if _LONG_NUMBER.search(text) and (found := next(_large(field), None)) is not None:
            told = f"holds a whole number of more than 64 bits, {str(found)[:30]}"
            raise DataError(f"{where}.{name}", told)


def _large(value: Any) -> Iterator[int]:
    whole = (each for _, each in leaves(value) if isinstance(each, int))
    return (each for each in whole if not -(2**63) <= each < 2**63)


def _cell(name: str, text: str | None, where: str) -> Any:
    """Return the value of a cell: JSON, else a Python literal as JSON, else the text; nothing is executed."""
    if text is None:
        raise DataError(f"{where}.{name}", "the row ends before this column")
    try:
        return json_value(text)
    except (ValueError, RecursionError):
        pass  # it may be a literal
    try:
        literal = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as problem:
        if text.strip()[:1] not in ("[", "{"):
            return text
        told = f"expected JSON or a Python literal, found {text[:60]!r}"
        raise DataError(f"{where}.{name}", told) from problem
    try:
        return json.loads(json.dumps(literal))  # a tuple is a list from here on
    except (ValueError, TypeError, RecursionError) as problem:
        told = f"holds what JSON cannot write, {problem}: {text[:60]!r}"
        raise DataError(f"{where}.{name}", told) from problem


def _in(language: Language, value: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of one language under their plain names."""
    if language == "zh":
        return value
    missing = [f"english_{name}" for name in _TWINS if f"english_{name}" not in value]
    if missing:
        raise DataError(
            where, f"lacks the English {', '.join(missing)}; --language zh reads the others"
        )
    return {**value, **{name: value[f"english_{name}"] for name in _TWINS}}


def _dialogue(value: dict[str, Any], where: str, warnings: list[str]) -> Dialogue:
    """Return a dialogue.

    Raises:
        DataErrors: everything that is wrong with it.
    """
    form = parse(_DIALOGUE, value, where)
    count, blocks, faults = len(form.task), list(_blocks(form.messages)), list[DataError]()
    tools = _held(faults, tools_of, form.tools, f"{where}.tools")
    letters = _held(faults, letters_of, form.type, f"{where}.type")
    relations = _held(faults, relations_of, form.turn_type, form.turn_subtypes, count, where)
    times = _held(faults, _times, form.env_info, count, where)
    faults += _count_faults(form, len(blocks), letters, where)
    graphs, texts = [], []
    # Where counts differ, what there is in all lists is still looked at.
    parts = zip(form.task, form.task_ids, form.answer_list, blocks, strict=False)
    for place, (task, index, answers, block) in enumerate(parts):
        gold, said = f"{where}.answer_list[{place}]", f"{where}.messages, block {place}"
        graphs.append(None if tools is None else _held(faults, graph_of, answers, tools, gold))
        texts.append(_held(faults, _checked, block, task, index, said))
    if faults or tools is None or letters is None or relations is None or times is None:
        raise DataErrors(faults)
    if [each is not None for each in relations] != [place > 0 for place in range(count)]:
        warnings.append(
            f"{where}.turn_type: expected false for the first mission and true for all others"
        )
    missions = []
    for place, (graph, messages) in enumerate(zip(graphs, texts, strict=True)):
        if graph is None or messages is None:
            raise DataErrors(faults)
        late = (f"node {each} depends on a later one" for each in late_dependencies(graph.nodes))
        breaches = (*late, *schema_breaches(graph.nodes, tools))
        warnings += [f"{where}.answer_list[{place}]: {text}" for text in breaches]
        missions.append(
            Mission(
                task=form.task[place],
                letter=letters[place],
                relation=relations[place],
                graph=graph,
                messages=messages,
                task_index=form.task_ids[place],
                time=times[place],
            )
        )
    name = form.id if isinstance(form.id, str) else "".join(form.id)
    return Dialogue(id=name, tools=tools, missions=tuple(missions))


def _held(faults: list[DataError], read: Callable[..., T], *given: Any) -> T | None:
    """Return what a reader makes of a value; None if it complains, and the complaint is kept."""
    try:
        return read(*given)
    except DataError as problem:
        faults.append(problem)
        return None


def _count_faults(
    form: _Dialogue, blocks: int, letters: Sequence[Letter] | None, where: str
) -> list[DataError]:
    count = len(form.task)
    lengths = {
        "answer_list": len(form.answer_list),
        "messages": blocks,
        "task_ids": len(form.task_ids),
        "type": count if letters is None else len(letters),
    }
    return [
        DataError(f"{where}.{name}", f"has {length} missions, and task has {count}")
        for name, length in lengths.items()
        if length != count
    ]


def _blocks(messages: Sequence[str | _Message]) -> Iterator[list[_Message]]:
    """Yield the messages of each mission; a text with a row of equals signs ends one."""
    block: list[_Message] = []
    for each in messages:
        if isinstance(each, _Message):
            block.append(each)
        elif _BLOCK_END in each:
            yield block
            block = []
    if block:
        yield block


def _checked(
    block: Sequence[_Message], task: str, index: int, where: str
) -> tuple[tuple[str, str], ...]:
    texts = tuple((each.role, without_role(each.content)) for each in block)
    for place, (role, _) in enumerate(texts):
        if role != ("user", "assistant")[place % 2]:
            raise DataError(
                f"{where}[{place}].role", "user and assistant must take turns, the user first"
            )
    if not 0 <= index < len(texts) or texts[index][0] != "user":
        raise DataError(
            f"{where}[{index}]", "task_ids must name a message of the user in the block"
        )
    if task.strip() not in texts[index][1]:
        raise DataError(f"{where}[{index}]", f"does not hold the text of its task, {task[:60]!r}")
    return texts


def without_role(text: str) -> str:
    """Return a text without the name of a role that it begins with."""
    for colon, roles in _ROLES.items():
        head, found, rest = text.partition(colon)
        if found and head.strip().lower() in roles:
            return rest.strip()
    return text


def _times(said: str | list[str], count: int, where: str) -> list[str]:
    items = [said] * count if isinstance(said, str) else said
    if len(items) != count:
        raise DataError(f"{where}.env_info", f"has {len(items)} items for {count} missions")
    found = [_TIME.search(each) for each in items]
    if None in found:
        wrong = items[found.index(None)]
        raise DataError(f"{where}.env_info", f"holds no time YYYY-MM-DD HH:MM:SS: {wrong[:60]!r}")
    times = [each[0] for each in found if each is not None]
    for each in times:
        try:
            datetime.fromisoformat(each)
        except ValueError as problem:
            raise DataError(f"{where}.env_info", f"{each} is not a time: {problem}") from problem
    return times


OFFICIAL: dict[str, int] = {
    "missions": 1024,
    "letter s": 256,
    "letter m": 256,
    "letter c": 256,
    "letter t": 256,
    "relation 1": 349,
    "relation 2": 240,
    "relation 3": 179,
    "subtype P": 157,
    "subtype S": 16,
    "subtype S+P": 84,
    "nodes of S and S+P missions": 597,
}
"""Counts of the published tables. The papers name the relations differently, so these are ordered by size."""


def counts(dialogues: Sequence[Dialogue]) -> dict[str, int]:
    """Return the counts that a download is checked by."""
    missions = [mission for dialogue in dialogues for mission in dialogue.missions]
    letters = Counter(each.letter.value for each in missions)
    subtypes = Counter(each.graph.subtype for each in missions if each.graph.subtype)
    relations = sorted(
        Counter(each.relation for each in missions if each.relation).values(), reverse=True
    )
    found = {"missions": len(missions)}
    found |= {f"letter {letter}": letters[letter] for letter in "smct"}
    found |= {f"relation {place}": size for place, size in enumerate((*relations, 0, 0, 0)[:3], 1)}
    found |= {f"subtype {name}": subtypes[Subtype(name)] for name in ("P", "S", "S+P")}
    chained = [each.graph for each in missions if each.graph.subtype in ("S", "S+P")]
    return {**found, "nodes of S and S+P missions": sum(len(each.nodes) for each in chained)}


def differing_counts(dialogues: Sequence[Dialogue]) -> list[str]:
    """Return a line for each count that is not the published one, with both numbers."""
    found = counts(dialogues)
    return [
        f"{name}: {found[name]}, published {expected}"
        for name, expected in OFFICIAL.items()
        if found[name] != expected
    ]
