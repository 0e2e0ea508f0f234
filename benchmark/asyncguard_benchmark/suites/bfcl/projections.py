"""Single tasks cut out of entries: whole entries of one class, and the calls of one class of the others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from asyncguard_benchmark.suites.bfcl.calls import TruthCall
from asyncguard_benchmark.suites.bfcl.reading import Entry, Turn
from asyncguard_benchmark.suites.bfcl.terms import CLASSES, BfclCategory

LEAST_CALLS = 2
"""Calls that a single task has at least."""


class TaskKind(StrEnum):
    """Ways of making a single task."""

    ENTRY = "entry"
    """An entry whose truth touches one class; all of its turns."""
    PROJECTION = "projection"
    """The calls of one class of an entry with several, and the turns that hold them."""
    TURN = "turn"
    """One turn of one class; the turns before it are executed as set-up."""


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A single task before sources and tools are looked at."""

    entry: Entry
    kind: TaskKind
    class_name: str
    turns: tuple[Turn, ...]
    """Turns whose requests make the query."""
    calls: tuple[TruthCall, ...]
    setup: tuple[TruthCall, ...] = ()
    """Calls of the class that are executed before the task begins."""
    shared_turn: bool = False
    """True if a request of it also asks for calls of another class."""
    turn: int | None = None
    """Place of the turn, from 0, of a task of one turn."""

    @property
    def id(self) -> str:
        """Return the id: number of the entry, category, and the turn where there is one."""
        number = self.entry.id.rsplit("_", 1)[-1]
        code = self.category.value.removeprefix("bfcl-")
        mark = {TaskKind.ENTRY: "e", TaskKind.PROJECTION: "p"}.get(self.kind, f"t{self.turn}")
        return f"bfcl-{number}-{code}-{mark}"

    @property
    def category(self) -> BfclCategory:
        """Return the category of its class."""
        return CLASSES[self.class_name].category

    @property
    def query(self) -> str:
        """Return the requests of its turns; numbered if there are several."""
        said = [turn.request.strip() for turn in self.turns]
        if len(said) == 1:
            return said[0]
        return "\n".join(f"{number}. {text}" for number, text in enumerate(said, 1))


def cuts_of(entries: Iterable[Entry], kinds: Iterable[TaskKind]) -> tuple[Cut, ...]:
    """Return the single tasks of some kinds, in the order of the entries."""
    wanted = frozenset(kinds)
    return tuple(cut for entry in entries for cut in _cuts(entry) if cut.kind in wanted)


def _cuts(entry: Entry) -> Iterator[Cut]:
    touched = entry.touched
    if len(touched) == 1 and len(entry.calls) >= LEAST_CALLS:
        yield Cut(
            entry=entry,
            kind=TaskKind.ENTRY,
            class_name=touched[0],
            turns=entry.turns,
            calls=entry.calls,
        )
    for name in touched if len(touched) > 1 else ():
        calls = tuple(call for call in entry.calls if call.class_name == name)
        if len(calls) < LEAST_CALLS:
            continue
        turns = tuple(turn for turn in entry.turns if name in classes_of(turn.calls))
        yield Cut(
            entry=entry,
            kind=TaskKind.PROJECTION,
            class_name=name,
            turns=turns,
            calls=calls,
            shared_turn=any(len(classes_of(turn.calls)) > 1 for turn in turns),
        )
    for place, turn in enumerate(entry.turns):
        if len(classes_of(turn.calls)) == 1 and len(turn.calls) >= LEAST_CALLS:
            name = turn.calls[0].class_name
            before = (call for earlier in entry.turns[:place] for call in earlier.calls)
            yield Cut(
                entry=entry,
                kind=TaskKind.TURN,
                class_name=name,
                turns=(turn,),
                calls=turn.calls,
                setup=tuple(call for call in before if call.class_name == name),
                turn=place,
            )


def classes_of(calls: Sequence[TruthCall]) -> set[str]:
    """Return the classes that some calls touch."""
    return {call.class_name for call in calls}
