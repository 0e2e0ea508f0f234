"""The authoring format: dialogues as text, read into drafts. `benchmark/mission_sources/README.md` describes it."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.missions.bundled.bundle import Kind

_CALL = re.compile(r"([a-z]\w*) = ([a-z_]+)(?: (.*))?$")
_ASKED = re.compile(r"([a-z_]+)\.([a-z_]+) ?\(([^)]+)\)\s*")
_RESULT = re.compile(r"([a-z]\w*):((?:/[\w-]+)*)")
_HISTORY = re.compile(r"@([1-9])(?:\.([a-z]\w*):((?:/[\w-]+)*)| ?)")
_MARKS = {"!": Kind.REPLY, "#": Kind.SCHEMA, "^": Kind.COMMON, "~": Kind.DERIVED}
_JSON = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A value as it is written: where it comes from, and its literal or its place in a result."""

    kind: Kind
    literal: Any = None
    mission: int | None = None
    node: str | None = None
    pointer: str = ""
    how: str = ""
    inputs: tuple["Expression", ...] = ()
    items: tuple["Expression", ...] | None = None
    """Of a list: its elements; all else is then empty."""


@dataclass(kw_only=True)
class DraftNode:
    """A call or a question as it is written."""

    line: int
    label: str = ""
    tool: str = ""
    arguments: dict[str, Expression] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    asked: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Of a question: tool, parameter and aliases."""
    question: str = ""
    reply: str = ""


@dataclass(kw_only=True)
class DraftMission:
    """A mission as it is written."""

    line: int
    letter: str
    relation: str
    mention: str
    text: str = ""
    nodes: list[DraftNode] = field(default_factory=list)
    summary: str = ""
    summary_line: int = 0


@dataclass(kw_only=True)
class DraftDialogue:
    """A dialogue as it is written."""

    line: int
    id: str
    pattern: str
    settings: dict[str, str]
    missions: list[DraftMission] = field(default_factory=list)


@dataclass(kw_only=True)
class Draft:
    """The source of a domain."""

    path: Path
    settings: dict[str, str] = field(default_factory=dict)
    dialogues: list[DraftDialogue] = field(default_factory=list)


def read_source(path: Path) -> Draft:
    """Read the source of a domain.

    Raises:
        DataError: a line is of no known form; the message names file and line.
    """
    draft = Draft(path=path)
    for number, raw in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = raw.strip()
        if line and not line.startswith("//"):
            _take(draft, line, f"{path}:{number}", number)
    return draft


def _take(draft: Draft, line: str, where: str, number: int) -> None:
    if line.startswith("=== "):
        words = line.split()
        if len(words) != 3:
            raise DataError(where, "expected `=== ID PATTERN`")
        draft.dialogues.append(
            DraftDialogue(line=number, id=words[1], pattern=words[2], settings=dict(draft.settings))
        )
        return
    dialogue = draft.dialogues[-1] if draft.dialogues else None
    if line.startswith("- "):
        if dialogue is None:
            raise DataError(where, "a mission stands before the first dialogue, `=== ID PATTERN`")
        dialogue.missions.append(_head(line, where, number))
    elif dialogue is None or not dialogue.missions:
        name, found, value = line.partition(":")
        if not found or name not in ("domain", "split", "tools", "time", "state"):
            raise DataError(
                where, f"expected domain, split, tools, time or state, found {line[:60]!r}"
            )
        (draft if dialogue is None else dialogue).settings[name] = value.strip()
    else:
        _mission_line(dialogue.missions[-1], line, where, number)


def _head(line: str, where: str, number: int) -> DraftMission:
    found = re.fullmatch(r'- ([smct])(?: (reference|ellipsis|long memory))?(?: "([^"]+)")?', line)
    if found is None:
        raise DataError(where, 'expected `- LETTER [reference "MENTION" | ellipsis | long memory]`')
    letter, relation, mention = found.groups(default="")
    return DraftMission(line=number, letter=letter, relation=relation, mention=mention)


def _mission_line(mission: DraftMission, line: str, where: str, number: int) -> None:
    if mission.summary:
        raise DataError(
            where, "a mission ends with its summary; the next one begins with `- LETTER`"
        )
    if line.startswith("= "):
        mission.summary, mission.summary_line = line[2:], number
    elif line.startswith("? "):
        mission.nodes.append(_question(line[2:], where, number))
    elif line.startswith("< "):
        if not mission.nodes or not mission.nodes[-1].asked or mission.nodes[-1].reply:
            raise DataError(where, "a reply must stand after its question")
        mission.nodes[-1].reply = line[2:]
    elif found := _CALL.match(line):
        label, tool, rest = found.groups(default="")
        mission.nodes.append(_call(label, tool, rest, where, number))
    elif mission.nodes:
        raise DataError(
            where, f"expected a call, a question, a reply or a summary, found {line[:60]!r}"
        )
    else:
        mission.text = f"{mission.text} {line}".strip()


def _question(text: str, where: str, number: int) -> DraftNode:
    asked, place = [], 0
    while found := _ASKED.match(text, place):
        asked.append((found[1], found[2], tuple(found[3].split("|"))))
        place = found.end()
    if not asked or not text[place:].startswith(": "):
        raise DataError(where, "expected `? TOOL.PARAMETER (alias|alias) ... : QUESTION`")
    return DraftNode(line=number, asked=tuple(asked), question=text[place + 2 :].strip())


def _call(label: str, tool: str, rest: str, where: str, number: int) -> DraftNode:
    node, place = DraftNode(line=number, label=label, tool=tool), 0
    while place < len(rest):
        if found := re.compile(r"after ([\w,]+)$").match(rest, place):
            node.after = tuple(found[1].split(","))
            break
        named = re.compile(r"([a-z_]+)=").match(rest, place)
        if named is None:
            raise DataError(
                where, f"expected NAME=VALUE or `after LABEL`, found {rest[place:][:60]!r}"
            )
        node.arguments[named[1]], place = expression(rest, named.end(), where)
        place += rest[place : place + 1] == " "
    return node


def expression(text: str, place: int, where: str) -> tuple[Expression, int]:
    """Read a value at a place of a line, and return it with the place after it.

    Raises:
        DataError: it has no known form.
    """
    if text[place : place + 1] == "[":
        return _list(text, place + 1, where)
    if found := _RESULT.match(text, place):
        return Expression(kind=Kind.RESULT, node=found[1], pointer=found[2]), found.end()
    if found := _HISTORY.match(text, place):
        mission = int(found[1]) - 1
        if found[2]:
            made = Expression(kind=Kind.HISTORY, mission=mission, node=found[2], pointer=found[3])
            return made, found.end()
        literal, end = _literal(text, found.end(), where)
        return Expression(kind=Kind.HISTORY, mission=mission, literal=literal), end
    kind = _MARKS.get(text[place : place + 1], Kind.MESSAGE)
    literal, end = _literal(text, place + (kind is not Kind.MESSAGE), where)
    if kind is not Kind.DERIVED:
        return Expression(kind=kind, literal=literal), end
    how = re.compile(r"\{([^;{}]+)").match(text, end)
    if how is None:
        raise DataError(where, "a derived value says how: `~VALUE{how;INPUT;...}`")
    inputs, end = [], how.end()
    while text[end : end + 1] == ";":
        made, end = expression(text, end + 1, where)
        inputs.append(made)
    if text[end : end + 1] != "}":
        raise DataError(where, f"expected }} after the inputs, found {text[end:][:40]!r}")
    return Expression(kind=kind, literal=literal, how=how[1], inputs=tuple(inputs)), end + 1


def _list(text: str, place: int, where: str) -> tuple[Expression, int]:
    items = []
    while True:
        item, place = expression(text, place, where)
        items.append(item)
        if text[place : place + 1] not in (",", "]"):
            raise DataError(where, f"expected , or ] in a list, found {text[place:][:40]!r}")
        place += 1
        if text[place - 1] == "]":
            return Expression(kind=Kind.MESSAGE, items=tuple(items)), place


def _literal(text: str, place: int, where: str) -> tuple[Any, int]:
    try:
        return _JSON.raw_decode(text, place)
    except ValueError as problem:
        raise DataError(where, f"expected a JSON value, found {text[place:][:40]!r}") from problem
