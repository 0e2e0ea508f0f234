"""Dialogues in the official form of both benchmarks, from a user's own file; nothing of it is shipped or executed."""

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import (
    LONGEST_LINE,
    Reading,
    check_size,
    gathered,
    named,
)
from asyncguard_benchmark.harness.saved_form import Whole, json_value, parse
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, Mission
from asyncguard_benchmark.suites.missions.gold_form import graph_of, schema_breaches, tools_of
from asyncguard_benchmark.suites.missions.gold_graph import late_dependencies
from asyncguard_benchmark.suites.missions.terms import Subtype, letters_of, relations_of

Language = Literal["en", "zh"]
_TWINS = ("task", "messages", "answer_list", "tools")
"""Fields that have an English twin, `english_...`."""
_BLOCK_END = "====="
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

    def read(where: str, value: dict[str, Any]) -> Dialogue:
        return _dialogue(_in(language, value, where), where, warnings)

    found, problems = _from_csv(path, read) if path.suffix == ".csv" else gathered(path, read)
    unique: dict[str, Dialogue] = {}
    for each in found:
        if each.id in unique:
            problems.append(DataError(f"{path} ({each.id[:60]}).id", "two dialogues have this id"))
        unique.setdefault(each.id, each)
    return Reading(found=tuple(unique.values()), problems=tuple(problems), warnings=tuple(warnings))


def _from_csv(path: Path, read: Any) -> tuple[list[Dialogue], list[DataError]]:
    found: list[Dialogue] = []
    problems: list[DataError] = []
    csv.field_size_limit(LONGEST_LINE)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        try:
            for cells in rows:
                where = f"{path}:{rows.line_num}"
                try:
                    value = {name: _cell(name, text, where) for name, text in cells.items() if name}
                    place = named(where, value)
                    check_size(value, place)
                    found.append(read(place, value))
                except DataError as problem:
                    problems.append(problem)
        except (csv.Error, UnicodeDecodeError) as problem:
            problems.append(DataError(f"{path}:{rows.line_num}", f"it is no CSV file: {problem}"))
    return found, problems


def _cell(name: str, text: str | None, where: str) -> Any:
    """Return the value of a cell: JSON, else a Python literal, else the text; nothing is executed."""
    if text is None:
        raise DataError(f"{where}.{name}", "the row ends before this column")
    for reader in (json_value, ast.literal_eval):
        try:
            return reader(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    if text.strip()[:1] in "[{":
        text = f"expected JSON or a Python literal, found {text[:60]!r}"
        raise DataError(f"{where}.{name}", text)
    return text


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
    form = parse(_DIALOGUE, value, where)
    tools = tools_of(form.tools, f"{where}.tools")
    blocks = list(_blocks(form.messages))
    letters = letters_of(form.type, f"{where}.type")
    count = len(form.task)
    _check_counts(form, len(blocks), len(letters), where)
    relations = relations_of(form.turn_type, form.turn_subtypes, count, where)
    if [each is not None for each in relations] != [place > 0 for place in range(count)]:
        warnings.append(
            f"{where}.turn_type: expected false for the first mission and true for all others"
        )
    times = _times(form.env_info, count, where)
    missions = []
    for place, (task, index) in enumerate(zip(form.task, form.task_ids, strict=True)):
        gold = f"{where}.answer_list[{place}]"
        graph = graph_of(form.answer_list[place], tools, gold)
        late = (f"node {each} depends on a later one" for each in late_dependencies(graph.nodes))
        warnings += [f"{gold}: {text}" for text in (*late, *schema_breaches(graph.nodes, tools))]
        missions.append(
            Mission(
                task=task,
                letter=letters[place],
                relation=relations[place],
                graph=graph,
                messages=_checked(blocks[place], task, index, f"{where}.messages, block {place}"),
                task_index=index,
                time=times[place],
            )
        )
    name = form.id if isinstance(form.id, str) else "".join(form.id)
    return Dialogue(id=name, tools=tools, missions=tuple(missions))


def _check_counts(form: _Dialogue, blocks: int, letters: int, where: str) -> None:
    count = len(form.task)
    lengths = {
        "answer_list": len(form.answer_list),
        "messages": blocks,
        "type": letters,
        "task_ids": len(form.task_ids),
    }
    for name, length in lengths.items():
        if length != count:
            raise DataError(f"{where}.{name}", f"has {length} missions, and task has {count}")


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
    return [each[0] for each in found if each is not None]


_OFFICIAL: dict[str, int] = {
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
        for name, expected in _OFFICIAL.items()
        if found[name] != expected
    ]
