"""The tools of the agents: they call the outside world, and die on the way if the case says so."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.tools import BaseTool, StructuredTool

from asyncguard import EffectClass, Fallback, ToolFault, ToolSpec
from reliability.cases import Build, Case, Effect, Point
from reliability.savers import Steps
from reliability.story import SHIP, TOOLS, Story
from reliability.world import ClosedSessionError, DeclinedError, Receipt, World

CHECK = "check"
"""The probe of all probed tools."""
IN_THREADS = frozenset({"put", "charge"})
"""Tools without async code, which run in the pool."""
_FOR_EVER = 3600.0


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Behaviour of a case's tools; the judge reads it, too."""

    classes: dict[str, Effect]
    """Effect class of each tool."""
    siblings: dict[str, str] = field(default_factory=dict)
    """Tool to the sibling that answers for it."""
    declines: frozenset[str] = frozenset()
    """Calls, as ``tool/item``, that are declined once."""
    hangs: str = ""
    """The call that does not answer in the first life, as ``tool/item``."""
    timeout: float | None = None
    """Seconds that calls have."""
    latency: tuple[float, float] = (0.005, 0.02)
    """Seconds that a call takes, before and after its effect together."""


def shape_of(case: Case, story: Story) -> Shape:
    """Return the behaviour of a case's tools."""
    classes = {tool: effect for effect, tool in TOOLS.items()} | {SHIP: Effect.AT_MOST_ONCE}
    target, name = story.target, f"{story.target.tool}/{story.target.item}"
    match case.point:
        case Point.C12 | Point.C14:
            return Shape(classes=classes, declines=frozenset({name}))
        case Point.C13:
            sibling = f"{target.tool}_too"
            both = classes | {sibling: classes[target.tool]}
            return Shape(classes=both, siblings={target.tool: sibling}, declines=frozenset({name}))
        case Point.C16:
            return Shape(classes=classes, hangs=name, timeout=0.3)
        case None:
            return Shape(classes=classes, latency=(0.0, 0.25))
        case _:
            return Shape(classes=classes)


class Toolbox:
    """The tools of one process."""

    def __init__(self, case: Case, shape: Shape, world: World, steps: Steps, life: int) -> None:
        """Make the tools.

        Args:
            case: Case to play.
            shape: Behaviour of the tools.
            world: World that they call.
            steps: Is told when a result is there, and kills at points.
            life: Number of the process.
        """
        self._case = case
        self._shape = shape
        self._world = world
        self._steps = steps
        self._trigger = steps.trigger
        self._hangs = shape.hangs if life == 0 else ""

    def tools(self) -> list[BaseTool]:
        """Return all of them."""
        return [*(self._tool(name) for name in self._shape.classes), self._probe()]

    def specs(self) -> list[ToolSpec]:
        """Return the declarations of the tools."""
        return [
            *(self._spec(name) for name in self._shape.classes),
            ToolSpec(name=CHECK, effect=EffectClass.PURE),
        ]

    def _tool(self, name: str) -> BaseTool:
        async def later(item: str, key: str = "", after: str = "") -> str:
            self._begin(name, item, key, after)
            await asyncio.sleep(self._pause(item))
            receipt = self._act(name, item, key, after)
            await self._hang(name, item)
            await asyncio.sleep(self._pause(item))
            return self._answer(name, receipt)

        def now(item: str, key: str = "", after: str = "") -> str:
            self._begin(name, item, key, after)
            time.sleep(self._pause(item))
            receipt = self._act(name, item, key, after)
            time.sleep(self._pause(item))
            return self._answer(name, receipt)

        hanging = self._shape.hangs.partition("/")[0] == name
        sync = name in IN_THREADS and not hanging
        about = f"Handle an item: {name}."
        return StructuredTool.from_function(
            now if sync else None, None if sync else later, name, about
        )

    def _probe(self) -> BaseTool:
        async def check(item: str) -> str:
            return self._world.probe(item)

        return StructuredTool.from_function(None, check, CHECK, "Tell whether an item was handled.")

    def _begin(self, tool: str, item: str, key: str, after: str) -> None:
        try:
            self._world.begin(tool, item, key, after)
        except DeclinedError:
            again = tool not in self._shape.siblings
            raise ToolFault(f"{tool} is busy", transient=again, started=False) from None
        if not self._sibling(tool):
            self._trigger.at(Point.C6, item)

    def _act(self, tool: str, item: str, key: str, after: str) -> Receipt:
        try:
            receipt = self._world.act(tool, item, key, after)
        except ClosedSessionError:
            raise ToolFault("the session was closed", transient=True, started=False) from None
        self._trigger.at(Point.C13 if self._sibling(tool) else Point.C7, item)
        return receipt

    def _answer(self, tool: str, receipt: Receipt) -> str:
        text = self._world.answer(tool, receipt)
        if self._case.build is Build.PLAIN and receipt.item == self._trigger.item:
            self._steps.merged = True  # a plain agent does not report its results
        return text

    async def _hang(self, tool: str, item: str) -> None:
        if f"{tool}/{item}" != self._hangs:
            return
        try:
            await asyncio.sleep(_FOR_EVER)
        finally:
            self._world.cancel(tool, item)
            self._trigger.at(Point.C16, item)

    def _sibling(self, tool: str) -> bool:
        return tool in self._shape.siblings.values()

    def _pause(self, item: str) -> float:
        return random.Random(f"{self._case.seed} {item}").uniform(*self._shape.latency) / 2

    def _spec(self, name: str) -> ToolSpec:
        effect = EffectClass(self._shape.classes[name].value)
        pure = effect is EffectClass.PURE
        sibling = self._shape.siblings.get(name)
        return ToolSpec(
            name=name,
            effect=effect,
            reads=("order:{item}",) if pure else (),
            writes=() if pure else ("order:{item}",),
            # The items are known from the start; a receipt comes by reference.
            takes_from=(),
            fallbacks=() if sibling is None else (Fallback(tool=sibling),),
            probe=CHECK if effect is EffectClass.PROBED else None,
            key_argument="key",
            references=name == SHIP,
            timeout=self._shape.timeout,
        )


def plain_tools(tools: Sequence[BaseTool]) -> Sequence[BaseTool]:
    """Return the tools as an agent without a guard gets them: the same, without what only a runtime can fill in."""
    return [tool for tool in tools if tool.name != CHECK]


def classes_to_json(shape: Shape) -> Mapping[str, str]:
    """Return the effect classes of the tools as plain JSON, for the judge."""
    return {name: effect.value for name, effect in shape.classes.items()}
