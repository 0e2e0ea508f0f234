"""Entries of BFCL multi-turn with their ground truth, read from a package; nothing of it is run.

``data/BFCL_v?_multi_turn_base.json`` holds a JSON object a line in spite of its name, and the file of the same name in
``data/possible_answer`` the truth: a list of turns, each a list of calls as texts. What cannot be read is told with
file, line and id, and hides no other entry.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import check_size
from asyncguard_benchmark.harness.saved_form import json_value
from asyncguard_benchmark.suites.bfcl.calls import TruthCall, parse_call
from asyncguard_benchmark.suites.bfcl.documents import Document, document_of
from asyncguard_benchmark.suites.bfcl.package import EXECUTORS, Package
from asyncguard_benchmark.suites.bfcl.signatures import Method, methods_of
from asyncguard_benchmark.suites.bfcl.terms import CLASSES, STATELESS, expect

_SPLIT_TRUTH = ("multi_turn_base_154", 5)
"""An entry of v3 whose truth cuts the last of its five turns in two."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One request of the user."""

    request: str
    calls: tuple[TruthCall, ...]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One dialogue with its ground truth."""

    id: str
    turns: tuple[Turn, ...]
    scenarios: Mapping[str, Any]
    """Class -> initial configuration; a class that is not in it takes its defaults."""
    involved: tuple[str, ...]
    truth_turns: tuple[tuple[TruthCall, ...], ...]
    """Turns as the file of truths cuts them: one entry of v3 has one more than it has requests."""

    @property
    def calls(self) -> tuple[TruthCall, ...]:
        """Return the ground truth of all turns."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def touched(self) -> tuple[str, ...]:
        """Return the classes that the ground truth calls, in the order of the entry."""
        called = {call.class_name for call in self.calls}
        return tuple(each for each in self.involved if each in called)


@dataclass(frozen=True, kw_only=True)
class Source:
    """All that was read of a package."""

    package: Package
    documents: Mapping[str, Mapping[str, Document]]
    """Class -> tool -> document."""
    methods: Mapping[str, Mapping[str, Method]]
    """Class -> tool -> signature in the code."""
    entries: tuple[Entry, ...]
    problems: tuple[DataError, ...]
    """Complaints about entries and tools that are left out."""


def read_source(package: Package) -> Source:
    """Read documents, signatures, questions and truths; parts that are broken are told and left out."""
    problems: list[DataError] = []
    documents = {name: _documents(package, name, problems) for name in CLASSES}
    methods = {name: _methods(package, name, problems) for name in CLASSES}
    truths: dict[str, tuple[str, dict[str, Any]]] = {}
    for where, value in _lines(package, package.truths, problems):
        if value["id"] in truths:
            problems.append(
                DataError(where, "a line before it has the same id; the first one counts")
            )
        truths.setdefault(value["id"], (where, value))
    entries, seen = [], set()
    for where, value in _lines(package, package.questions, problems):
        name = value["id"]
        try:
            if name in seen:
                raise DataError(where, "a line before it has the same id")
            seen.add(name)
            if name not in truths:
                raise DataError(where, f"{package.truths} holds no truth of this id")
            entries.append(_entry(value, where, *truths[name], methods))
        except DataError as problem:
            problems.append(problem)
    problems += [
        DataError(where, f"{package.questions} holds no question of this id")
        for name, (where, _) in truths.items()
        if name not in seen
    ]
    return Source(
        package=package,
        documents=documents,
        methods=methods,
        entries=tuple(entries),
        problems=tuple(problems),
    )


def _lines(
    package: Package, name: str, problems: list[DataError]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place and object of each line that has an id; the others are problems."""
    for number, line in enumerate(package.files[name].splitlines(), 1):
        where = f"{name}, line {number}"
        if not line.strip():
            continue
        try:
            value = json_value(line)
            if not isinstance(value, dict) or not isinstance(value.get("id"), str):
                raise DataError(where, "expected an object with an id, found none")
        except DataError as problem:
            problems.append(problem)
        except (ValueError, RecursionError) as problem:
            problems.append(DataError(where, f"expected a JSON object: {problem}"))
        else:
            yield f"{where} ({value['id'][:60]})", value


def _documents(package: Package, name: str, problems: list[DataError]) -> dict[str, Document]:
    path = f"data/multi_turn_func_doc/{CLASSES[name].module}.json"
    found: dict[str, Document] = {}
    for number, line in enumerate(package.files[path].splitlines(), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            value = expect(_object(line, where), dict, where, "an object")
            check_size(value, where)
            document = document_of(value, where)
            if document.name in found:
                raise DataError(where, f"a line before it documents {document.name}, too")
            found[document.name] = document
        except DataError as problem:
            problems.append(problem)
    return found


def _object(line: bytes, where: str) -> Any:
    try:
        return json_value(line)
    except (ValueError, RecursionError) as problem:
        raise DataError(where, f"expected a JSON object: {problem}") from problem


def _methods(package: Package, name: str, problems: list[DataError]) -> dict[str, Method]:
    path = f"{EXECUTORS}/{CLASSES[name].module}.py"
    try:
        return methods_of(package.files[path], name, path)
    except DataError as problem:
        problems.append(problem)
        return {}


def _entry(
    value: Mapping[str, Any],
    where: str,
    truth_where: str,
    truth: Mapping[str, Any],
    methods: Mapping[str, Mapping[str, Method]],
) -> Entry:
    check_size(dict(value), where)
    check_size(dict(truth), truth_where)
    involved = _classes(value.get("involved_classes"), f"{where}.involved_classes")
    scenarios = expect(value.get("initial_config"), dict, f"{where}.initial_config", "an object")
    unknown = [name for name in scenarios if name not in CLASSES]
    if unknown:
        raise DataError(f"{where}.initial_config", f"unknown classes {unknown!s:.200}")
    owners = {tool: (name, method) for name in involved for tool, method in methods[name].items()}
    requests = [
        _request(turn, f"{where}.question[{number}]")
        for number, turn in enumerate(
            expect(value.get("question"), list, f"{where}.question", "a list of turns")
        )
    ]
    calls = [
        tuple(
            parse_call(text, owners, f"{truth_where}.ground_truth[{number}]")
            for text in expect(
                turn, list, f"{truth_where}.ground_truth[{number}]", "a list of calls"
            )
        )
        for number, turn in enumerate(
            expect(
                truth.get("ground_truth"), list, f"{truth_where}.ground_truth", "a list of turns"
            )
        )
    ]
    truth_turns = tuple(calls)
    if (value["id"], len(requests)) == _SPLIT_TRUTH and len(calls) == len(requests) + 1:
        calls[-2:] = [calls[-2] + calls[-1]]
    if len(calls) != len(requests):
        raise DataError(
            truth_where, f"{len(calls)} turns of truth for {len(requests)} of questions"
        )
    return Entry(
        id=value["id"],
        turns=tuple(
            Turn(request=said, calls=own) for said, own in zip(requests, calls, strict=True)
        ),
        scenarios={name: each for name, each in scenarios.items() if name not in STATELESS},
        involved=involved,
        truth_turns=truth_turns,
    )


def _classes(value: Any, where: str) -> tuple[str, ...]:
    names = expect(value, list, where, "a list of classes")
    known = [*CLASSES]  # compared, because not every JSON value can be looked up
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise DataError(where, f"unknown classes {unknown!s:.200}; known are {', '.join(CLASSES)}")
    return tuple(dict.fromkeys(names))


def _request(turn: Any, where: str) -> str:
    said = []
    for message in expect(turn, list, where, "a list of messages"):
        expect(message, dict, where, "a message")
        said.append(expect(message.get("content"), str, f"{where}.content", "a text"))
    return "\n".join(said)
