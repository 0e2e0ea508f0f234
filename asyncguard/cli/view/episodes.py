"""Content of a file of benchmark episodes: one group for each episode, whose columns are ticks.

The library does not import the benchmark, so the saved form (format 1) is read as plain JSON; a
test plays real episodes and reads them here. Episodes hold the conversation, unless they were saved
with ``--no-messages``. What a guard told the model is looked up there.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncguard.cli.view.story import (
    NEVER,
    Content,
    Group,
    Item,
    ViewError,
    arguments_of,
    cut,
    shown,
)
from asyncguard.observability.trace import BEING_WRITTEN

FORMAT = 1
_LINES = ({"composition"}, {"command"}, {"failure"})
"""Keys of the lines that are not episodes."""


def is_episode_line(value: Mapping[str, Any]) -> bool:
    """Return True if a line is one that ``asyncguard bench run`` writes."""
    return "trajectory" in value or set(value) in _LINES


def content_of_episodes(
    path: str | Path, lines: Sequence[bytes], *, growing: bool = False
) -> Content:
    """Return all episodes of a file.

    Args:
        path: Names the file in messages.
        lines: Its lines; the last one may be cut off.
        growing: True if a program writes the file, and so its last line.

    Raises:
        ViewError: A line is damaged, or is not of the form that this version reads.
    """
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            reader.read(number, value)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            if number < len(lines):
                raise ViewError(f"{path}, line {number}: this is not JSON.") from error
            reader.problems.append(
                BEING_WRITTEN.format(number)
                if growing
                else f"Line {number} is unfinished and was left out; "
                "its process ended while writing it."
            )
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The form is checked by reading it: each of these says that a part is not as expected.
            raise ViewError(
                f"{path}, line {number}: this is not an episode of format {FORMAT} "
                f"({type(error).__name__}: {error}); `asyncguard bench score` checks the file."
            ) from error
    return Content(
        kind="episodes", groups=tuple(reader.groups.values()), problems=tuple(reader.problems)
    )


def episode_id(composition: str, value: Mapping[str, Any]) -> str:
    """Return the id of an episode in a page, to link to it.

    Args:
        composition: Id of its composition.
        value: Its saved form; agent, player, run and settings are read.
    """
    run, settings = value["run"], value["settings"]
    tools = "" if settings.get("declared", True) else "undeclared"
    contract = "" if run.get("contract", "ours") == "ours" else run["contract"]
    parts = (
        composition,
        settings.get("arm", ""),
        value["agent"],
        value["player"],
        run["regime"],
        run["surface"],
        contract,
        tools,
        f"seed {run['seed']}",
    )
    return " / ".join(str(part) for part in parts if part)


class _Reader:
    """One pass over the lines of a file."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.problems: list[str] = []
        self._compositions: dict[str, Mapping[str, Any]] = {}

    def read(self, number: int, value: Mapping[str, Any]) -> None:
        if "trajectory" in value:
            if value["format"] != FORMAT:
                raise ValueError(f"the format is {value['format']!r}")
            said = value["composition"]
            digest = said.get("digest")
            composition = said if digest is None else self._compositions[digest]
            group = _group(composition, value)
            if group.id in self.groups:
                group.id = f"{group.id} / line {number}"
            self.groups[group.id] = group
        elif set(value) == {"composition"}:
            text = json.dumps(value["composition"], sort_keys=True)
            self._compositions[hashlib.sha256(text.encode()).hexdigest()[:16]] = value[
                "composition"
            ]
        elif set(value) == {"failure"}:
            failure = value["failure"]
            self.problems.append(
                f"Line {number}: an episode of {failure['composition']} was ended by the "
                f"infrastructure: {cut(failure['error'])}"
            )
        elif not is_episode_line(value):
            raise ValueError("it has other fields")


def _group(composition: Mapping[str, Any], value: Mapping[str, Any]) -> Group:
    settings, counters = value["settings"], value["counters"]
    group = Group(id=episode_id(composition["id"], value), column="tick")
    group.tasks = {task["id"]: cut(task["query"]) for task in composition["sub_tasks"]}
    talk = [*_messages(value["messages"])]
    items = [*talk, *_calls(value["trajectory"])]
    _add_verdicts(items, settings.get("interventions", ()), talk)
    items += _repairs(settings)
    # Within a column: what the model said, its calls, what became of them, what it was told.
    order = {"assistant": 0, "call": 1, "run": 2, "told": 3}
    items.sort(key=lambda item: (item.column, order[_place(item)]))
    group.items = items
    group.facts = [
        ("agent", str(value["agent"])),
        ("guards", str(settings.get("arm", "-"))),
        ("calls", str(group.calls)),
        *([("rejected", str(group.rejected))] if group.rejected else []),
        *((name.replace("_", " "), str(number)) for name, number in counters.items() if number),
        *_usage(settings.get("usage", {})),
    ]
    return group


def _whole(value: Any) -> int:
    """Return a tick; JSON's reader lets NaN through, which a page could not read."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number of a tick")
    return value


def _usage(usage: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield tokens and cost, where a real model was asked."""
    for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"):
        if usage.get(name):
            yield name.replace("_", " "), f"{usage[name]:,}"
    if usage.get("estimated_calls"):
        yield "model calls with estimated tokens", str(usage["estimated_calls"])
    if usage.get("dollars") is not None:
        yield "cost", f"{usage['dollars']:.6f} US dollars"
    if usage.get("seconds"):
        yield "seconds of the model", f"{usage['seconds']:.1f}"


def _place(item: Item) -> str:
    if item.kind == "message":
        return "assistant" if item.name == "assistant" else "told"
    return item.kind


def _messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    """Yield the conversation; a message of the agent begins a column."""
    column = 0
    for message in messages:
        role = str(message["role"])
        column += role == "assistant"
        item = Item(kind="message", column=column, task="", name=role, status=role)
        text = shown(message["content"])
        for call in message.get("tool_calls", ()):
            text += f"\n{call['name']}({arguments_of(call['args'])})"
        item.line = " ".join(text.split())[:400]
        item.sections.append(("Text", text.strip()))
        yield item


def _calls(trajectory: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    for record in trajectory:
        item = Item(
            kind="call",
            column=_whole(record["issued"]),
            task=record["task_id"],
            name=record["tool"],
            line=arguments_of(record["arguments"]),
            status="done",
            flags=["done"],
        )
        item.end = NEVER if record["delivered"] is None else _whole(record["delivered"])
        item.sections += [
            ("Arguments", shown(record["arguments"])),
            ("Result", shown(record["response"])),
        ]
        item.steps.append((f"tick {record['issued']}", "issued", ""))
        if record["pending_before"]:
            item.flag("premature")
            waiting = ", ".join(
                f"{trajectory[number]['tool']} of tick {trajectory[number]['issued']}"
                for number in record["pending_before"]
            )
            item.steps.append((f"tick {record['issued']}", "made while calls were open", waiting))
        if item.end == NEVER:
            item.status, item.flags = "pending", ["pending", *item.flags[1:]]
        else:
            item.steps.append((f"tick {item.end}", "delivered to the model", ""))
        yield item


def _add_verdicts(
    items: list[Item], verdicts: Sequence[Mapping[str, Any]], talk: Sequence[Item]
) -> None:
    """Add what guards did: to the calls that were issued, or as items of their own."""
    issued = [item for item in items if item.kind == "call"]
    told = _Told(talk)
    for each in verdicts:
        what = {"reject": "rejected", "defer": "deferred", "hold": "held"}.get(
            each["verdict"], each["verdict"]
        )
        if not each.get("enforced", True):
            what = "objected"
        step = (f"tick {each['tick']}", f"{each['guard']}: {each['verdict']}", "")
        if each.get("number") is not None:
            call = issued[each["number"]]
            call.flag(what)
            call.steps.insert(0, step)
            call.status = what if what in ("rejected", "objected") else call.status
            continue
        label, kind = each.get("call", ""), "call" if each.get("call") else "run"
        item = Item(kind=kind, column=_whole(each["tick"]), task=each.get("task", ""), name=label)
        item.end = item.column
        item.name = label or f"{each['guard']}: {each['verdict']}"
        item.flag(what)
        item.status = what
        item.steps.append(step)
        item.line = f"{each['guard']}: {what}"
        if what == "rejected":
            item.sections += told.of(label, each["tick"])
            item.line = f"{each['guard']}: {item.sections[0][1]}"
        items.append(item)
    told.align()


class _Told:
    """Looks up what the model was told of a rejected call."""

    def __init__(self, talk: Sequence[Item]) -> None:
        self._said = {item.column: item for item in talk if item.name == "assistant"}
        self._sentences = [
            (item.column, text)
            for item in talk
            if item.name not in ("assistant", "system") and item.column
            for text in _leaves(item.sections[0][1])
        ]
        """Column and text of every message to the model, taken once each."""
        self._talk = talk
        self._ahead: dict[int, int] = {}
        """Message of the agent -> ticks that had passed without one, where a rejection tells."""

    def of(self, label: str, tick: int) -> list[tuple[str, str]]:
        """Return what the model was told, and what it had said.

        Ticks are of no help: where the model waits, they run ahead of the messages. Rejections
        stand in both in the same order.
        """
        if not self._said:
            return [("The model was told", "the file has no messages; play without --no-messages")]
        place = next(
            (
                number
                for number, (_, text) in enumerate(self._sentences)
                if text.startswith(f"{label} was not run")
            ),
            None,
        )
        if place is None:
            return [("The model was told", "the messages of the file do not name this call")]
        column, text = self._sentences.pop(place)
        self._ahead[column] = tick - column
        sections = [("The model was told", cut(text))]
        said = self._said.get(column)
        if said is not None:
            sections.append(("The model had said", said.sections[0][1]))
        return sections

    def align(self) -> None:
        """Move messages to the ticks of the rejections that they hold, and later ones along."""
        for item in self._talk:
            passed = [ahead for column, ahead in self._ahead.items() if column <= item.column]
            item.column += max(passed, default=0)


def _leaves(text: str) -> Iterator[str]:
    """Yield the texts inside a message: the benchmark's hold JSON in JSON, line by line."""
    for line in text.splitlines() if text.startswith(("{", "[")) else (text,):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        yield from _texts(value) if isinstance(value, dict | list) else (line,)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from _leaves(value)
        case dict():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)


def _repairs(settings: Mapping[str, Any]) -> Iterator[Item]:
    """Yield what recovery did, as its calls are named by the runtime and not by the trajectory."""
    for each in (*settings.get("diagnoses", ()), *settings.get("recoveries", ())):
        acted = "action" in each
        what = each["action"] if acted else f"{each['hazard']} of {each['tool']}"
        item = Item(kind="run", column=_whole(each["tick"]), task=each["task"], name=each["call"])
        item.line = f"{'recovery' if acted else 'diagnosis'}: {what}"
        item.status = "recovered" if acted else "diagnosed"
        item.flags = [item.status]
        why = each["reason"] if acted else f"rule {each['rule']}: {', '.join(each['symptom'])}"
        item.steps.append((f"tick {each['tick']}", item.line, cut(why)))
        yield item
