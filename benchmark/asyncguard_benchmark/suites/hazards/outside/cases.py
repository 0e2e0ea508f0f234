"""A case: tools with one fault, what is declared of them, what the model asks, and what is true."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a world loads asyncio, and the command line needs the names of families only
    from asyncguard_benchmark.suites.hazards.outside.world import World

Call = tuple[str, Mapping[str, Any]]
"""A tool's name and the arguments of a call."""


class Family(Enum):
    """Kind of fault in a case."""

    RUNS_ON = "runs-on"
    """An attempt that runs on after its deadline, and a probe that speaks early."""
    RAISES_AFTER = "raises-after"
    """An effect, and then an exception of the tool's own code."""
    REPEATED = "repeated"
    """Other middleware that asks for the same call again."""
    ATOMIC = "atomic"
    """An atomic effect that breaks, and a sibling that could do the same."""
    UNITS = "units"
    """Another tool answers in another unit."""
    LOOKALIKES = "lookalikes"
    """Fields that look like the declared one."""
    PARAMETERS = "parameters"
    """A sibling whose parameters have other names."""
    SOURCES = "sources"
    """Sources that differ in unit, order, trust or rounding."""
    TRANSIENT = "transient"
    """Faults that pass, in the forms that clients raise."""
    NEIGHBOUR = "neighbour"
    """One bad argument while another conversation's call is good."""
    EXITS = "exits"
    """Exceptions that no code expects of a tool."""


class Level(Enum):
    """Amount of declarations."""

    NOTHING = "nothing"
    """Nothing is declared."""
    EFFECT = "effect"
    """The effect class, with its key and deadline."""
    FULL = "full"
    """Everything that the case's tools can declare."""


class Setting(Enum):
    """Runtime of the tools: ``create_agent`` or a guarded agent, with ``ToolRetryMiddleware`` or without."""

    PLAIN = "plain"
    """``create_agent``."""
    PLAIN_RETRY = "plain+retry"
    """``create_agent`` with ``ToolRetryMiddleware``."""
    GRAPH = "graph"
    """``build_agent``, without the cases of other middleware."""
    MIDDLEWARE = "middleware"
    """``create_agent`` with ``AsyncGuardMiddleware``."""
    MIDDLEWARE_RETRY = "middleware+retry"
    """The same with ``ToolRetryMiddleware``."""

    @property
    def guarded(self) -> bool:
        """Return True if asyncguard stands between model and tools."""
        return self not in {Setting.PLAIN, Setting.PLAIN_RETRY}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function and what its author would declare of it."""

    function: Callable[..., Any]
    declared: Mapping[str, Any] = field(default_factory=dict)
    """At level FULL."""

    def at(self, level: Level) -> Mapping[str, Any]:
        """Tell what is declared at a level. A probed effect without its probe is one that must not be repeated."""
        match level:
            case Level.NOTHING:
                return {}
            case Level.FULL:
                return self.declared
        kept = {
            name: self.declared[name]
            for name in ("effect", "key_argument", "timeout")
            if name in self.declared
        }
        return kept | ({"effect": "at_most_once"} if kept.get("effect") == "probed" else {})


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Data from which the tools of one run are made."""

    world: "World"
    faulty: bool
    """True for the case, False for its clean twin."""


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Calls that one thread's model makes."""

    calls: tuple[Call, ...]
    """One after the other; a call that is answered by an error is repeated."""
    again: Mapping[str, Any] | None = None
    """Other words for the arguments, in which a call is repeated; the same ones by default."""
    after: float = 0.0
    """Seconds after which it starts."""
    within: float | None = None
    """Seconds in which it has to be served, or None."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault and its clean twin."""

    family: Family
    name: str
    build: Callable[[Stage], Sequence[Tool]]
    conversations: tuple[Conversation, ...]
    truth: Mapping[str, Any]
    """Field and value of the right answer, in the last conversation."""
    truths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same of tools that answer otherwise, by name."""
    effect: str | None = None
    """Effect that happens exactly once if the run is sound."""
    repeatable: bool = False
    """True if the effect carries a key or is idempotent."""
    real: bool = False
    """True if OS threads really wait, so that the case cannot be played in virtual time."""
    sync: bool = False
    """True if the agent is called by ``invoke``."""
    beside: Callable[[], Any] | None = None
    """Other middleware to stand beside the guard; then there is no case without middleware."""
    pause: tuple[str, float] | None = None
    """A tool and the seconds that its service asked to be left alone after its first attempt."""
    refusable: bool = False
    """True if the declarations contradict each other, so that the agent may be refused."""
    levels: tuple[Level, ...] = tuple(Level)

    def fits(self, setting: Setting) -> bool:
        """Tell whether it can be played: other middleware needs a place to stand."""
        return self.beside is None or setting is not Setting.GRAPH


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A case at one level of declaration."""

    case: Case
    level: Level

    @property
    def name(self) -> str:
        """Family, case and level."""
        return f"{self.case.family.value}/{self.case.name}/{self.level.value}"


def asking(
    *calls: Call, after: float = 0.0, within: float | None = None
) -> tuple[Conversation, ...]:
    """One conversation that asks for calls."""
    return (Conversation(calls=calls, after=after, within=within),)
