"""Tasks with other values than the bundled ones, made from their plans and proved by executing them.

Theory of operation. The words, numbers and dates of a task that its gold calls or its state hold are replaced by
drawn ones, in query, state and arguments alike; a value that comes from a result is taken from the result that the
drawn state gives. A draw counts if the quality bar of single tasks holds (`task_quality.problems`: every call succeeds,
every value stands where its source says) and if each place in a list of results still holds the record that was meant.
Which pieces can be replaced at all is found by trying each alone: the rest is fixed words of service or language.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from asyncguard_benchmark.harness.pointers import child, leaves, parts, put, resolve
from asyncguard_benchmark.harness.scenario import GoldCall, Source, SourceKind, SubTask
from asyncguard_benchmark.harness.task_quality import problems
from asyncguard_benchmark.learned.substitution import PIECE, Pool, Substitution, written_number
from asyncguard_benchmark.services.catalogue import fresh_executor, toolset_of

TRIES = 12
"""Draws after which a task counts as one that cannot be drawn again."""
_SHARES = (1.0, 0.7, 0.4)
"""Shares of the pieces that are replaced: all at first, fewer where no draw of all of them holds."""
_ALONE_TRIES = 3
_SHORTEST_WORD = 3
_COMMON = frozenset(
    (
        *("after", "all", "also", "and", "any", "are", "been", "before", "being", "but"),
        *("can", "could", "did", "does", "done", "each", "every", "first", "for", "from"),
        *("get", "got", "had", "has", "have", "her", "here", "his", "how", "into", "its"),
        *("just", "last", "let", "like", "made", "make", "more", "most", "need", "new"),
        *("next", "not", "off", "old", "one", "only", "onto", "other", "our", "out", "over"),
        *("please", "same", "should", "some", "still", "such", "than", "that", "the"),
        *("their", "them", "then", "there", "they", "this", "three", "too", "two", "under"),
        *("very", "want", "was", "what", "when", "where", "which", "who", "will", "with"),
        *("would", "yes", "you", "your"),
    )
)
"""Words that hold a sentence together, and are replaced in none."""


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A task with its pieces replaced, and the results of its gold calls."""

    task: SubTask
    results: tuple[Any, ...]


class Redrawer:
    """Draws tasks again; which pieces of a task can be replaced is found once."""

    def __init__(self, lexicon: Sequence[str] = ()) -> None:
        """Begin without a task.

        Args:
            lexicon: Words that can be drawn beside invented ones.
        """
        self._lexicon = tuple(lexicon)
        self._pools: dict[str, Pool] = {}

    def pool(self, task: SubTask) -> Pool:
        """Return the pieces of a task that can be replaced, each tried alone."""
        found = self._pools.get(task.id)
        if found is None:
            found = self._pools[task.id] = _replaceable(task)
        return found

    def draw(self, task: SubTask, random: Random) -> SubTask | None:
        """Return a task with other values and another id; None if none was found in `TRIES` draws."""
        pool = self.pool(task)
        for attempt in range(TRIES):
            chosen = pool.thinned(random, _SHARES[attempt * len(_SHARES) // TRIES])
            found = substituted(task, chosen.draw(random, self._lexicon))
            if found is not None and found.query != task.query:
                return replace(found, id=_drawn_id(random))
        return None


def _replaceable(task: SubTask) -> Pool:
    pool = _candidates(task)
    random = Random(task.id)  # which values are tried decides little
    kept = [
        each
        for each in pool.alone
        if any(substituted(task, each.draw(random)) is not None for _ in range(_ALONE_TRIES))
    ]
    return pool.joined(kept)


def _candidates(task: SubTask) -> Pool:
    fixed = _fixed_words(task.category) | _COMMON
    held = [leaf for call in task.gold for _, leaf in leaves(call.arguments)]
    held += [leaf for _, leaf in leaves(task.initial_state)]
    texts = [leaf for leaf in held if isinstance(leaf, str)] + list(_names(task.initial_state))
    numbers = [
        written_number(abs(leaf))
        for leaf in held
        if isinstance(leaf, int | float) and not isinstance(leaf, bool)
    ]
    found = [piece for text in texts for piece in PIECE.finditer(text)]
    words = {each[0].lower() for each in found if each["word"]}
    numbers += [each[0] for each in found if each["number"]]
    whole = {each[0].lower() for each in PIECE.finditer(task.query)}
    return Pool(
        words=tuple(sorted(w for w in words - fixed if len(w) >= _SHORTEST_WORD)),
        numbers=tuple(sorted({n for n in numbers if n not in ("0", "1") and "e" not in n})),
        dates=any(each["date"] for each in found),
        taken=frozenset(words | whole | set(numbers)),
    )


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)


@lru_cache
def _fixed_words(category: str) -> frozenset[str]:
    """Return the words that a service itself knows: names and options of its tools and of its state."""
    tools = toolset_of(category).tools.values()
    schemas = [toolset_of(category).state_schema, *(tool.parameters for tool in tools)]
    return frozenset(
        each[0].lower()
        for schema in schemas
        for text in _schema_words(schema)
        for each in PIECE.finditer(text)
    )


def _schema_words(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {})
        yield from (each for each in schema.get("enum", ()) if isinstance(each, str))
        for item in schema.values():
            yield from _schema_words(item)
    elif isinstance(schema, list | tuple):
        for item in schema:
            yield from _schema_words(item)


def substituted(task: SubTask, substitution: Substitution) -> SubTask | None:
    """Return a task with its pieces replaced; None if what comes out does not meet the quality bar."""
    try:
        drawn = _substituted(task, substitution)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None  # a drawn state can contradict itself where no schema says so, and a service trusts its state
    if drawn is None or problems(drawn.task, ordered=False):
        return None
    return drawn.task if _same_records(task, drawn, substitution) else None


def _substituted(task: SubTask, substitution: Substitution) -> _Drawn | None:
    state = substitution.value(task.initial_state)
    if toolset_of(task.category).state_problem(state) is not None:
        return None
    executor = fresh_executor(replace(task, initial_state=state))
    results: list[Any] = []
    calls = []
    for call in task.gold:
        calls.append(_call(call, substitution, results))
        result = read_result(executor.call(call.tool, calls[-1].arguments))
        if isinstance(result, dict) and "error" in result:
            return None
        results.append(result)
    query = substitution.text(task.query)
    made = replace(task, query=query, initial_state=state, gold=tuple(calls))
    return _Drawn(task=made, results=tuple(results))


def _call(call: GoldCall, substitution: Substitution, results: list[Any]) -> GoldCall:
    arguments: Any = {name: substitution.value(value) for name, value in call.arguments.items()}
    sources: dict[str, Source] = {}
    for place, source in call.sources.items():
        at = _place(place, substitution)
        if source.kind is SourceKind.SCHEMA:
            arguments = put(arguments, at, resolve(call.arguments, place))
        if source.call is not None and source.pointer is not None:
            result = results[source.call]
            pointer = _present(result, source.pointer, substitution)
            arguments = put(arguments, at, resolve(result, pointer))
            source = replace(source, pointer=pointer)
        sources[at] = source
    return replace(call, arguments=dict(arguments), sources=sources)


def _place(pointer: str, substitution: Substitution) -> str:
    """Return a pointer into arguments with the names below an argument replaced."""
    first, *rest = parts(pointer) or ("",)
    if not pointer:
        return pointer
    found = child("", first)
    for part in rest:
        found = child(found, part if part.isdecimal() else substitution.text(part))
    return found


def _present(result: Any, pointer: str, substitution: Substitution) -> str:
    """Return a pointer into a result, with those names replaced that the result does not have as they were."""
    found, value = "", result
    for part in parts(pointer):
        name = part
        if isinstance(value, dict) and part not in value:
            name = substitution.text(part)
        found = child(found, name)
        value = resolve(value, child("", name))
    return found


def _same_records(task: SubTask, drawn: _Drawn, substitution: Substitution) -> bool:
    """Return True if every place in a list holds what it held, replaced."""
    for old, new in zip(task.gold, drawn.task.gold, strict=True):
        for place, source in old.sources.items():
            if source.pointer is None or not any(p.isdecimal() for p in parts(source.pointer)):
                continue
            meant = substitution.value(resolve(old.arguments, place))
            if resolve(new.arguments, _place(place, substitution)) != meant:
                return False
    return True


def _drawn_id(random: Random) -> str:
    letters = "".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(2))
    return f"{letters}-{random.randint(10, 99)}"


def lexicon_of(tasks: Sequence[SubTask], valued: Iterable[SubTask]) -> tuple[str, ...]:
    """Return the words of questions that are a value in no task: words of the language, to be drawn as values.

    Args:
        tasks: Tasks whose questions are read.
        valued: Tasks whose values are left out.
    """
    values = {word for task in valued for word in _candidates(task).words}
    found = {
        piece[0].lower()
        for task in tasks
        for piece in PIECE.finditer(task.query)
        if piece["word"] and len(piece[0]) >= _SHORTEST_WORD
    }
    return tuple(sorted(found - values - _COMMON))


def read_result(text: str) -> Any:
    """Return the value of a result as an agent sees it."""
    return None if text == "None" else json.loads(text)
