"""The model's script: the same calls in every life of a process, decided from the history alone.

A model that is asked again gives the same calls under new ids, as real ones do. Every call is about an item of its
own, so that the judge can tell calls apart without looking at ids or keys.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard.testing import Step, calls
from reliability.cases import Build, Case, Effect

TOOLS: Mapping[Effect, str] = {
    Effect.PURE: "read",
    Effect.IDEMPOTENT: "put",
    Effect.KEYED: "charge",
    Effect.PROBED: "book",
    Effect.AT_MOST_ONCE: "pay",
}
"""One tool for each class."""
ASKING: Mapping[Effect, str] = {
    Effect.PURE: "peek",
    Effect.IDEMPOTENT: "erase",
    Effect.KEYED: "refund",
    Effect.PROBED: "reserve",
    Effect.AT_MOST_ONCE: "wire",
}
"""One tool for each class whose calls wait for a person."""
UNDECLARED = "note"
"""The tool that declares nothing."""
NOTARY = "ask_notary"
"""The tool that only starts its work; the result is delivered."""
SHIP = "ship"
"""The tool whose calls depend on another call's result; at most once."""
RECEIPT = re.compile(r"R\d+/\w+/\w+")
"""Receipt of the outside world: number of the effect's line, tool, item."""
_PLACEHOLDER = "arrives in a later message"
"""Part of the runtime's answer to a call that is still running."""
CALLED = re.compile(r"called\[([\w ]*)\]")
"""Part of a summary that names the items of the calls that it replaces."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One call that the model makes."""

    tool: str
    item: str
    task: str
    operand: str = ""
    """For a dependent call: the call whose receipt it takes, as ``tool/item``."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """All calls of a run."""

    waves: tuple[tuple[Asked, ...], ...]
    """Calls by message."""
    target: Asked
    """The call at which the process dies."""
    tasks: tuple[str, ...]
    """Names of the tasks."""
    also: tuple[str, ...] = ()
    """Items that the first task is told of, too, so that another branch may call for them."""
    patient: bool = False
    """True if the model waits for running calls before it makes more."""

    def goals(self) -> list[dict[str, str]]:
        """Return the input: tasks that name all their items, so that no argument is invented."""
        first = self.tasks[0]
        told = {
            task: (*self.items(task), *(self.also if task == first else ())) for task in self.tasks
        }
        return [{"id": task, "goal": f"Handle {' '.join(items)}."} for task, items in told.items()]

    def operands(self) -> dict[str, str]:
        """Return the item of each dependent call with the item on whose result it depends."""
        return {
            asked.item: asked.operand.partition("/")[2]
            for wave in self.waves
            for asked in wave
            if asked.operand
        }

    def other(self) -> "Story":
        """Return the same story, which calls for something else where the target was."""
        name, item = f"{self.target.tool}/{self.target.item}", f"x{self.target.item}"
        renamed = {name: f"{self.target.tool}/{item}"}
        waves = tuple(
            tuple(
                replace(
                    asked,
                    item=item
                    if asked is self.target
                    else f"{asked.item}x"
                    if asked.operand == name
                    else asked.item,
                    operand=renamed.get(asked.operand, asked.operand),
                )
                for asked in wave
            )
            for wave in self.waves
        )
        return replace(self, waves=waves, target=replace(self.target, item=item))

    def items(self, task: str) -> tuple[str, ...]:
        """Return the items of a task, in order."""
        return tuple(asked.item for wave in self.waves for asked in wave if asked.task == task)


def story_of(case: Case) -> Story:
    """Return the story of a case."""
    if case.shown:
        return _shown(case) if case.effect is None else _shown_at_a_point(case, case.effect)
    if case.effect is None:
        return _drawn(case.seed)
    story = _fixed(case.effect, aims_at_dependent(case))
    return replace(story, also=story.other().items("a")) if case.forks else story


def aims_at_dependent(case: Case) -> bool:
    """Return True if the process dies at the dependent call: a pure call has no row in the journal, that one has."""
    return case.effect is Effect.PURE and case.point in ("C3", "C5", "C8")


def _fixed(effect: Effect, dependent: bool) -> Story:
    tool = TOOLS[effect]
    first = Asked(tool=tool, item="a1", task="a")
    ship = Asked(tool=SHIP, item="a1s", task="a", operand=f"{tool}/a1")
    others = (Asked(tool=tool, item="b1", task="b"), Asked(tool="read", item="b2", task="b"))
    later = (Asked(tool=tool, item="a2", task="a"),)
    return Story(
        waves=((first, ship, *others), later), target=ship if dependent else first, tasks=("a", "b")
    )


_WAVES = 5


def _drawn(seed: int) -> Story:
    drawn = random.Random(f"story {seed}")
    tasks = ("a", "b", "c")
    waves: list[tuple[Asked, ...]] = []
    for wave in range(_WAVES):
        made: list[Asked] = []
        for task in tasks:
            tools = drawn.sample(sorted(TOOLS.values()), 2)
            made += [
                Asked(tool=tool, item=f"{task}{wave}{tool[0]}{tool[-1]}", task=task)
                for tool in tools
            ]
            first = made[-2]
            made.append(
                Asked(
                    tool=SHIP,
                    item=f"{first.item}s",
                    task=task,
                    operand=f"{first.tool}/{first.item}",
                )
            )
        waves.append(tuple(made))
    return Story(waves=tuple(waves), target=waves[0][0], tasks=tasks)


_SHOWN_WAVES = 5
_ASKED, _POSTED = 0.5, 0.3
"""Shares of the waves of a task that have a call which waits for a person, or for the post."""
_PATIENT = 0.7
"""Share of the models that wait for what is running."""


def _shown_tasks(case: Case) -> tuple[str, ...]:
    """Return the names of the tasks: a plain conversation has one, which is called so."""
    return ("a", "b") if case.seed % 2 else ("main",)


def _shown(case: Case) -> Story:
    """Return a drawn story for an agent of the README; one that waits for people has fewer calls beside."""
    drawn = random.Random(f"shown {case.part} {case.seed}")
    tasks, tools = _shown_tasks(case), sorted((*TOOLS.values(), UNDECLARED))
    waves: list[tuple[Asked, ...]] = []
    for wave in range(_SHOWN_WAVES):
        made: list[Asked] = []
        for task in tasks:
            several = 2 if len(tasks) > 1 or case.asks else 3
            chosen = drawn.sample(tools, several)
            if case.asks and drawn.random() < _ASKED:
                chosen.append(drawn.choice(sorted(ASKING.values())))
            if case.asks and drawn.random() < _POSTED:
                chosen.append(NOTARY)
            made += [Asked(tool=tool, item=f"{task}{wave}{tool}", task=task) for tool in chosen]
            first = f"{task}{wave}{chosen[0]}"
            made.append(
                Asked(tool=SHIP, item=f"{first}s", task=task, operand=f"{chosen[0]}/{first}")
            )
        waves.append(tuple(made))
    return Story(
        waves=tuple(waves), target=waves[0][0], tasks=tasks, patient=drawn.random() < _PATIENT
    )


def _shown_at_a_point(case: Case, effect: Effect) -> Story:
    """Return a story whose target comes after the output of other tools was told: that of ``refund`` is held for it."""
    tasks = _shown_tasks(case)
    one, other = tasks[0], tasks[-1]
    target = Asked(tool=(ASKING if case.asks else TOOLS)[effect], item="t1", task=one)
    first = (Asked(tool="read", item="t0", task=one), Asked(tool="put", item="u0", task=other))
    second = (target, Asked(tool="read", item="u1", task=other))
    return Story(
        waves=(first, second, (Asked(tool="pay", item="t2", task=one),)), target=target, tasks=tasks
    )


class Speaker:
    """The script of the model: a function of the history."""

    def __init__(self, story: Story, build: Build) -> None:
        """Make a speaker.

        Args:
            story: Calls to make.
            build: A guarded agent is told of tasks and takes references; a plain one is told neither.
        """
        self._story = story
        self._guarded = build is not Build.PLAIN
        self._names_tasks = self._guarded and len(story.tasks) > 1
        self._ordinals = _ordinals(story)

    def __call__(self, messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]) -> Step:
        """Return the next message: what was not called yet of the first wave that is not complete."""
        made = {
            str(call["args"].get("item"))
            for m in messages
            if isinstance(m, AIMessage)
            for call in m.tool_calls
        }
        made |= {
            item
            for message in messages
            for told in CALLED.findall(str(message.content))
            for item in told.split()
        }
        if self._story.patient and _left_running(messages):
            return "I wait for what is running."
        known = {found for message in messages for found in RECEIPT.findall(str(message.content))}
        for wave in self._waves():
            due = [asked for asked in wave if asked.item not in made]
            ready = [
                (asked.tool, args)
                for asked in due
                if (args := self._arguments(asked, known)) is not None
            ]
            if ready:
                return calls(*ready)
        return "all done"

    def _waves(self) -> list[tuple[Asked, ...]]:
        if self._guarded:
            return list(self._story.waves)
        # Only the model carries a result on: a dependent call is made once the result is there, with the next wave.
        flat = [asked for wave in self._story.waves for asked in wave if asked.operand]
        plain = [tuple(asked for asked in wave if not asked.operand) for wave in self._story.waves]
        return [(*wave, *flat) for wave in plain]

    def _arguments(self, asked: Asked, known: set[str]) -> dict[str, Any] | None:
        task = {"task_id": asked.task} if self._names_tasks else {}
        if not asked.operand:
            return {"item": asked.item, **task}
        if self._guarded:
            label = f"{asked.operand.partition('/')[0]}#{self._ordinals[asked.operand]}"
            return {
                "item": asked.item,
                "after": {"from_call": label, "pointer": "/receipt"},
                **task,
            }
        receipt = next(
            (found for found in sorted(known) if found.endswith(f"/{asked.operand}")), None
        )
        return None if receipt is None else {"item": asked.item, "after": receipt}


def _left_running(messages: Sequence[BaseMessage]) -> bool:
    """Return True if the last message's calls were not all answered with a result, and no result came since."""
    said = max(
        (place for place, message in enumerate(messages) if isinstance(message, AIMessage)),
        default=-1,
    )
    since = messages[said + 1 :]
    told = any(
        isinstance(message, HumanMessage) and "<result-" in str(message.content)
        for message in since
    )
    return not told and any(
        _PLACEHOLDER in str(m.content) for m in since if isinstance(m, ToolMessage)
    )


def _ordinals(story: Story) -> dict[str, int]:
    """Return the position of each call among the calls of its tool in its task, from 1."""
    counts: Counter[tuple[str, str]] = Counter()
    ordinals: dict[str, int] = {}
    for wave in story.waves:
        for asked in wave:
            counts[asked.task, asked.tool] += 1
            ordinals[f"{asked.tool}/{asked.item}"] = counts[asked.task, asked.tool]
    return ordinals
