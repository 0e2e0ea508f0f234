"""A second account of what guards did about right calls, read from saved conversations of either surface.

It imports the reference scorer, the reference's reader of conversations and the standard library.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference_scorer.conversation import CALL, objects_in
from tests.reference_scorer.scorer import OpenWorld, canonical, needs

Episode = Mapping[str, Any]


@dataclass(kw_only=True)
class Proposed:
    """A call that was said, and what became of it."""

    task: str
    tool: str
    arguments: Mapping[str, Any]
    said: int
    """Number of the assistant message, from 1."""
    name: str
    """Its id on the native surface, or as results show it."""
    refused: bool = False
    told: int | None = None
    """Number of assistant messages before its result; None if none came."""
    basis: str | None = None
    guard: str = ""
    deferring: tuple[str, ...] = ()


def proposed(episode: Episode, open_world: OpenWorld) -> list[Proposed]:
    """Return all calls of a conversation, those that were refused too, each with what it rests on."""
    found: list[Proposed] = []
    said = 0
    for message in episode["messages"]:
        if message["role"] == "assistant":
            said += 1
            found += spoken(message, said)
        elif message["role"] == "tool":
            call = next(each for each in found if each.name == message["tool_call_id"])
            if message["status"] == "error":
                call.refused = True
            elif not _is_placeholder(message["content"]):
                call.told = said
        elif message["role"] == "user" and said:
            _read(message["content"], found, said)
    _judge(found, episode, open_world)
    return found


def spoken(message: Mapping[str, Any], said: int) -> Iterator[Proposed]:
    """Yield the calls of an assistant message: native ones, or the one that stands in its text."""
    for call in message.get("tool_calls", ()):
        arguments = dict(call["args"])
        task = arguments.pop("task_id", "")
        yield Proposed(
            task=task, tool=call["name"], arguments=arguments, said=said, name=call["id"]
        )
    calls = [each for each in objects_in(message["content"]) if each.keys() >= CALL]
    if len(calls) == 1 and "tool_calls" not in message:
        arguments = calls[0]["params"]
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        tool = calls[0]["func_name"]
        yield Proposed(
            task=calls[0]["id"],
            tool=tool,
            arguments=arguments,
            said=said,
            name=f"{tool}({shown})",
        )


def _is_placeholder(text: str) -> bool:
    return text != "None" and set(json.loads(text)) == {"wait"}


def _read(text: str, found: Sequence[Proposed], said: int) -> None:
    for line in text.splitlines():
        entry = _entry(line)
        if "response" in entry:
            named = {entry["function name"], entry.get("call_id")}
            waiting = (
                each
                for each in found
                if each.task == entry["id"]
                and each.name in named
                and each.told is None
                and not each.refused
            )
            next(waiting).told = said
        elif "error" in _entry(entry.get("content", "")):
            found[-1].refused = True


def _entry(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _judge(found: Sequence[Proposed], episode: Episode, open_world: OpenWorld) -> None:
    tasks = {task["id"]: task for task in episode["composition"]["sub_tasks"]}
    worlds = {name: open_world(task) for name, task in tasks.items()}
    forms = {
        name: [canonical(call, worlds[name]) for call in task["gold"]]
        for name, task in tasks.items()
    }
    made: dict[str, list[tuple[int | None, Proposed]]] = {name: [] for name in tasks}
    ordinals: Counter[tuple[str, str]] = Counter()
    for each in found:
        ordinals[each.task, each.tool] += 1
        _name_guards(each, ordinals[each.task, each.tool], episode["settings"])
        form = canonical({"tool": each.tool, "arguments": each.arguments}, worlds[each.task])
        step = next_step(form, forms[each.task], [step for step, _ in made[each.task]])
        if step is not None:
            open_steps = [n for n, one in made[each.task] if is_open(one, each.said)]
            each.basis = basis_of(tasks[each.task]["gold"], step, open_steps)
        if not each.refused:
            made[each.task].append((step, each))


def next_step(form: Any, gold: Sequence[Any], taken: Sequence[int | None]) -> int | None:
    """Return the first gold call of this form that was not made."""
    fitting = (n for n, each in enumerate(gold) if each == form and n not in taken)
    return next(fitting, None)


def is_open(call: Proposed, said: int) -> bool:
    """Return True if the result of a call had not come when an assistant message was said."""
    return call.told is None or call.told >= said


def basis_of(gold: Sequence[Any], step: int, open_steps: Sequence[int | None]) -> str:
    """Return what a right call rests on, given the steps whose results had not come."""
    if not open_steps:
        return "not early"
    if needs(gold, step) & set(open_steps):
        return "early, worked out ahead"
    return "early, derived" if derives(gold[step]) else "early, as told"


def derives(call: Mapping[str, Any]) -> bool:
    """Return True if a value of a gold call is derived."""
    return any(isinstance(each, dict) and "derived" in each for each in call["sources"].values())


def _name_guards(call: Proposed, ordinal: int, settings: Mapping[str, Any]) -> None:
    label = f"{call.tool}#{ordinal}"
    own = [
        each
        for each in settings.get("interventions", ())
        if each["task"] == call.task and each["call"] == label and each.get("enforced", True)
    ]
    call.deferring = tuple(each["guard"] for each in own if each["verdict"] == "defer")
    if call.refused:
        refusing = [each["guard"] for each in own if each["verdict"] in ("reject", "hold")]
        call.guard = refusing[0] if refusing else "other"


def counts(calls: Sequence[Proposed], basis: str, guard: str) -> tuple[int, int, int]:
    """Return right calls, those that a guard refused, and those that it held back; "any" stands for all guards."""
    early = ("early, worked out ahead", "early, derived", "early, as told")
    right = [each for each in calls if each.basis in (early if basis == "early, all" else (basis,))]
    refused = [each for each in right if each.refused and guard in ("any", each.guard)]
    held = [
        each for each in right if (each.deferring if guard == "any" else guard in each.deferring)
    ]
    return len(right), len(refused), len(held)
