"""Seeded plans of sequences: tools, faults, and what clients and machines do to one thread, one thing after the other.

The cases of the other parts have one fault each. Payments were made twice where several came
together: a question, an answer, a death, another answer in another process. A plan draws such a
sequence from its seed. It holds plain values only, and nothing of asyncguard.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from reliability.cases import Effect

POINTS = (
    "said",
    "saving",
    "saved",
    "question stored",
    "answer stored",
    "before intent",
    "intent",
    "entered",
    "answered",
    "refused",
    "begun",
    "effect",
    "failed",
    "returned",
    "ended",
)
"""Durable points at which a process can be stopped; between two of them nothing is written."""
_TELLING = ("effect", "effect", "begun", "intent", "answered", "answer stored", "failed", "refused")
"""Points that are drawn more often: an effect, an answer or a fault is known to one side only."""


class Fault(StrEnum):
    """Act of a service on one try of a call."""

    NONE = "none"
    REFUSED = "refused"
    """It refuses for now, and the tool says that nothing began."""
    CLOSED = "closed"
    """It refuses for good, and the tool says that nothing began."""
    STATUS = "status"
    """HTTP 422 before anything began: proof only for an atomic tool."""
    RESET = "reset"
    """The line is cut before the effect."""
    LOST = "lost"
    """The line is cut after the effect."""
    BAD = "bad"
    """The tool raises after the effect, and not for a transient reason."""
    SLOW = "slow"
    """The answer comes after the timeout."""


class Do(StrEnum):
    """One thing that a client or an operator does."""

    BEGIN = "begin"
    RESUME = "resume"
    """``invoke(None)``."""
    ANSWER = "answer"
    """Answer what is open: plainly where one question was shown to this process, else by id."""
    PARTLY = "partly"
    """Answer one of the open questions by its id."""
    LATE = "late"
    """Answer a question that is not open any more, by its id."""
    UNKNOWN = "unknown"
    """Answer by an id that no question had."""
    CANCEL = "cancel"
    BESIDE = "beside"
    """A cancellation beside an answer."""
    MESSAGE = "message"
    FORK = "fork"
    """Resume an earlier checkpoint, by preference one with an open question."""
    LEAVE = "leave"
    """Resume, and close the stream after some steps."""
    OPERATOR = "operator"
    """``asyncguard ledger`` settles each doubt as the effect log has it."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    effect: Effect
    fallbacks: tuple[str, ...] = ()
    atomic: bool = False
    approval: bool = False
    asks: int = 0
    """Questions of the tool itself, before its effect."""
    asks_after: bool = False
    """True if it asks once more after its effect: only where the class lets it be entered again."""
    faults: tuple[Fault, ...] = ()
    """Faults of the first tries of each call; later ones succeed."""

    @property
    def acts(self) -> bool:
        """Return True if it has an effect."""
        return self.effect is not Effect.PURE

    @property
    def once(self) -> bool:
        """Return True if its effect must not happen twice."""
        return self.effect in (Effect.AT_MOST_ONCE, Effect.KEYED)


@dataclass(frozen=True, kw_only=True)
class Death:
    """The end of a process at a durable point."""

    point: str
    """Name of the point; empty for any."""
    occurrence: int
    """Counted from 1 in this process."""
    freezes: bool = False
    """True if the process is stopped, and continued after another one had the thread."""


@dataclass(frozen=True, kw_only=True)
class Life:
    """One process: what it does, and how it dies, if it does."""

    acts: tuple[Do, ...]
    death: Death | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One sequence."""

    seed: int
    tools: tuple[Tool, ...]
    """Tools that the model calls, and their siblings."""
    waves: tuple[tuple[tuple[str, str], ...], ...]
    """Calls of each message of the model: tool and task."""
    tasks: tuple[str, ...]
    journal: bool
    """False for a thread that one process plays to its end."""
    sync: bool
    lives: tuple[Life, ...]

    def tool(self, name: str) -> Tool:
        """Return a tool."""
        return next(tool for tool in self.tools if tool.name == name)

    @property
    def classes(self) -> Mapping[str, str]:
        """Return the effect class of each tool."""
        return {tool.name: tool.effect.value for tool in self.tools}

    def random(self, purpose: str) -> random.Random:
        """Return a source of randomness for one purpose: equal in every process."""
        return random.Random(f"{self.seed} {purpose}")


_UNJOURNALED = 0.12
"""Share of the plays without a journal."""
_EFFECTS = (Effect.AT_MOST_ONCE, Effect.AT_MOST_ONCE, Effect.KEYED, Effect.KEYED, Effect.IDEMPOTENT)
_FAULTS = (Fault.REFUSED, Fault.CLOSED, Fault.RESET, Fault.LOST, Fault.LOST, Fault.BAD)
_NEXT = (
    *(Do.RESUME,) * 4,
    *(Do.ANSWER,) * 6,
    Do.PARTLY,
    Do.LATE,
    Do.UNKNOWN,
    *(Do.CANCEL,) * 3,
    Do.BESIDE,
    Do.MESSAGE,
    Do.FORK,
    Do.LEAVE,
    Do.OPERATOR,
)


def plan_of(seed: int) -> Plan:
    """Return the plan of a seed."""
    drawn = random.Random(f"sequence {seed}")
    tasks = ("a", "b") if drawn.random() < 0.5 else ("main",)
    called = [_called(drawn, number) for number in range(drawn.choice((1, 2, 2, 3)))]
    siblings = {name: _sibling(drawn, name, tool) for tool in called for name in tool.fallbacks}
    calls = [(tool.name, drawn.choice(tasks)) for tool in called]
    cut = drawn.randint(1, len(calls))
    journal = drawn.random() >= _UNJOURNALED
    return Plan(
        seed=seed,
        tools=(*called, *siblings.values()),
        waves=tuple(tuple(wave) for wave in (calls[:cut], calls[cut:]) if wave),
        tasks=tasks,
        journal=journal,
        sync=drawn.random() < 0.5,
        lives=_lives(drawn) if journal else (Life(acts=(Do.BEGIN, *_acts(drawn, 6))),),
    )


def _called(drawn: random.Random, number: int) -> Tool:
    effect = drawn.choice((*_EFFECTS, Effect.PURE))
    asks = drawn.choice((0, 0, 1, 1, 2)) if effect is not Effect.PURE else 0
    atomic = effect is not Effect.PURE and drawn.random() < 0.3
    again = effect in (Effect.KEYED, Effect.IDEMPOTENT)
    return Tool(
        name=f"pay{number}",
        effect=effect,
        fallbacks=tuple(f"{kind}{number}" for kind in drawn.choice(_CHAINS)),
        atomic=atomic,
        approval=drawn.random() < 0.2,
        asks=asks,
        asks_after=again and drawn.random() < 0.15,
        faults=_faults(drawn, atomic),
    )


_CHAINS = ((), (), ("bank",), ("bank",), ("quote", "bank"), ("bank", "quote"))
"""Siblings of a called tool: one with an effect, a pure one."""


def _sibling(drawn: random.Random, name: str, called: Tool) -> Tool:
    if name.startswith("quote"):
        return Tool(name=name, effect=Effect.PURE, faults=(Fault.BAD,) * drawn.choice((0, 9, 9)))
    effect = drawn.choice(_EFFECTS)
    return Tool(
        name=name,
        effect=effect,
        asks=int(drawn.random() < 0.3 and called.asks > 0),  # in the background it could not ask
        faults=_faults(drawn, atomic=False) if drawn.random() < 0.3 else (),
    )


_TELLING_FAULTS = (
    (Fault.NONE, Fault.CLOSED),
    (Fault.NONE, Fault.STATUS),
    (Fault.LOST,),
    (Fault.LOST, Fault.CLOSED),
    (Fault.LOST, Fault.LOST, Fault.LOST),
)
"""Tries that contradict each other: where the first process died after its effect, the next is refused."""


def _faults(drawn: random.Random, atomic: bool) -> tuple[Fault, ...]:
    if drawn.random() < 0.5:
        return drawn.choice(_TELLING_FAULTS)
    kinds = (*_FAULTS, Fault.SLOW) if drawn.random() < 0.15 else _FAULTS
    kinds = (*kinds, Fault.STATUS, Fault.STATUS) if atomic else kinds
    many = drawn.choice((0, 1, 2, 2, 3))
    return tuple(drawn.choice((Fault.NONE, *kinds)) for _ in range(many))


def _lives(drawn: random.Random) -> tuple[Life, ...]:
    lives = [Life(acts=(Do.BEGIN, *_acts(drawn, drawn.choice((0, 0, 1, 2)))), death=_death(drawn))]
    for _ in range(drawn.choice((1, 2, 3, 4))):
        before = lives[-1]
        acts = _acts(drawn, drawn.choice((1, 1, 2)))
        if before.death is not None and before.death.freezes:
            acts = (Do.RESUME, *acts)  # a thread that a frozen process has is busy for a while
        lives.append(Life(acts=acts, death=_death(drawn)))
    return tuple(lives)


def _acts(drawn: random.Random, most: int) -> tuple[Do, ...]:
    acts: list[Do] = []
    for _ in range(most):
        settled = bool(acts) and acts[-1] is Do.OPERATOR
        acts.append(Do.LEAVE if settled and drawn.random() < 0.5 else drawn.choice(_NEXT))
    return tuple(acts)


def _death(drawn: random.Random) -> Death | None:
    if drawn.random() < 0.3:
        return None
    freezes = drawn.random() < 0.06
    if drawn.random() < 0.25:
        return Death(point="", occurrence=drawn.randint(1, 40), freezes=freezes)
    point = drawn.choice((*POINTS, *_TELLING, *_TELLING))
    return Death(point=point, occurrence=drawn.choice((1, 1, 1, 2, 3)), freezes=freezes)
