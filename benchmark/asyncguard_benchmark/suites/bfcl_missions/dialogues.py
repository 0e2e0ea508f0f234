"""Entries as dialogues: a turn is a mission, and a turn that lacks a value is one with the turn that supplies it.

The truth says in which order its calls were made, and not which need which others: the gold takes them one after the
other, and no verdict rests on that. BFCL holds no text of an assistant. Questions and summaries of the gold, which
later missions have in their history, are neutral ones of ours. It names no day either, and none is needed: the clock of
all its missions stands at one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.pointers import leaves, parts
from asyncguard_benchmark.suites.bfcl.calls import TruthCall
from asyncguard_benchmark.suites.bfcl.documents import Document
from asyncguard_benchmark.suites.bfcl.reading import Entry
from asyncguard_benchmark.suites.missions.agents.plan import literal_place
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, Mission
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool
from asyncguard_benchmark.suites.missions.terms import ANSWER, ASK, Letter

QUESTION = "Could you tell me what is missing?"
"""Question of the gold."""
SUMMARY = "Done."
"""Last text of a mission of the gold."""
TIME = "2026-01-01 12:00:00"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A mission of an entry."""

    request: str
    calls: tuple[TruthCall, ...]
    reply: str | None = None
    """The user's next message, which supplies what the request lacks; None if it lacks nothing."""


def turns_of(entry: Entry) -> list[Turn]:
    """Return the missions of an entry of the base."""
    return [Turn(request=each.request, calls=each.calls) for each in entry.turns]


def clarified_turns(entry: Entry) -> list[Turn]:
    """Return the missions of an entry of `miss_param`.

    Raises:
        DataError: it has not exactly one turn without a call, or no turn after it, so no value is asked for and told.
    """
    empty = [number for number, each in enumerate(entry.turns) if not each.calls]
    if len(empty) != 1:
        raise DataError(
            entry.id, f"{len(empty)} turns have no call; expected the one that lacks a value"
        )
    at = empty[0]
    if at + 1 == len(entry.turns):
        raise DataError(
            entry.id, "it ends with the turn that lacks a value, so no turn supplies it"
        )
    found = turns_of(entry)
    lacking, supplying = found[at : at + 2]
    found[at : at + 2] = [
        Turn(request=lacking.request, calls=supplying.calls, reply=supplying.request)
    ]
    return found


def dialogue_of(
    entry: Entry,
    turns: Sequence[Turn],
    results: Sequence[str],
    documents: Mapping[str, Mapping[str, Document]],
) -> Dialogue:
    """Return an entry as a dialogue.

    Args:
        entry: The entry.
        turns: Its missions.
        results: Results of the whole truth, call by call.
        documents: Class -> tool -> document.
    """
    told = iter(results)
    tools = {
        name: Tool(name=name, description=each.description, parameters=each.parameters)
        for owner in entry.involved
        for name, each in documents[owner].items()
    }
    return Dialogue(
        id=entry.id,
        tools=tools,
        missions=tuple(_mission(each, [next(told) for _ in each.calls]) for each in turns),
    )


def _mission(turn: Turn, results: Sequence[str]) -> Mission:
    nodes = list(_nodes(turn, results))
    messages = [("user", turn.request), ("assistant", SUMMARY)]
    if turn.reply is not None:
        messages[1:1] = [("assistant", QUESTION), ("user", turn.reply)]
    return Mission(
        task=turn.request,
        letter=_letter(turn),
        relation=None,
        graph=GoldGraph(tuple(nodes)),
        messages=tuple(messages),
        task_index=0,
        time=TIME,
    )


def _letter(turn: Turn) -> Letter:
    if turn.reply is not None:
        return Letter.CLARIFY
    if not turn.calls:
        return Letter.CHAT
    return Letter.SINGLE if len(turn.calls) == 1 else Letter.MULTI


def _nodes(turn: Turn, results: Sequence[str]) -> Iterator[Node]:
    """Yield the nodes, each after the one before it."""
    made = 0
    if turn.reply is not None:
        lacking = {"missing_required_parameters": list(supplied(turn))}
        yield Node(name=ASK, arguments=lacking, observation=QUESTION, reply=turn.reply)
        made += 1
    for call, result in zip(turn.calls, results, strict=True):
        needs = (made - 1,) if made else ()
        yield Node(name=call.tool, arguments=call.arguments, needs=needs, observation=result)
        made += 1
    yield Node(name=ANSWER, needs=(made - 1,) if made else (), observation=SUMMARY)


def supplied(turn: Turn) -> tuple[str, ...]:
    """Return the arguments of the truth whose values the reply says, as they are, and the request does not."""
    reply = turn.reply or ""
    return tuple(
        dict.fromkeys(
            parts(pointer)[0]
            for call in turn.calls
            for pointer, value in leaves(dict(call.arguments))
            if pointer
            and literal_place(value, reply) is not None
            and literal_place(value, turn.request) is None
        )
    )
