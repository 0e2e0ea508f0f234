"""The cases of the harness: one case is one thread of one agent, with the kills that it has to survive.

A case holds plain values only.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Effect(StrEnum):
    """The effect classes of tools; the judge has its own names for them."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    PROBED = "probed"
    AT_MOST_ONCE = "at_most_once"


class Database(StrEnum):
    """Kind of database for threads and journal."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Build(StrEnum):
    """API with which the agent is built."""

    GRAPH = "build_agent"
    MIDDLEWARE = "middleware"
    PLAIN = "create_agent"


class Durability(StrEnum):
    """Durability mode of LangGraph: the time at which a step is stored."""

    SYNC = "sync"
    ASYNC = "async"
    EXIT = "exit"
    DEFAULT = "default"
    """No option is given, as in the README."""


class Broken(StrEnum):
    """Part of asyncguard that is switched off; the judge has to notice that it is missing."""

    NONE = "none"
    INTENT = "intent"
    """Nothing is written before an effect."""
    DEDUP = "dedup"
    """Every attempt is told that it is the first."""
    FINGERPRINT = "fingerprint"
    """A key stands for whatever call comes with it."""
    FORGOTTEN = "forgotten"
    """The agent does not know what its tools declare."""
    UNASKED = "unasked"
    """No person is asked about a call that one has to approve."""


class Beside(StrEnum):
    """The middleware beside the guard in ``create_agent``."""

    NONE = "none"
    LIMIT = "limit"
    """``ModelCallLimitMiddleware``."""
    RETRY = "retry"
    """``ToolRetryMiddleware`` for all tools."""
    RETRY_SOME = "retry-some"
    """``ToolRetryMiddleware`` for the tools whose effects may be repeated."""
    WRAPPER = "wrapper"
    """A wrapper of the user's own around each tool call."""
    PEOPLE = "people"
    """``HumanInTheLoopMiddleware``, which asks about payments."""
    SUMMARY = "summary"
    """``SummarizationMiddleware``, which replaces old messages by a summary."""


class Point(StrEnum):
    """Place at which a process dies."""

    C0 = "C0"
    """Before the model answers."""
    C1 = "C1"
    """The model answered, nothing of it is stored."""
    C2 = "C2"
    """The model's message is stored, the journal has no row of its calls."""
    C3 = "C3"
    """The intent is in the journal, the tool was not called."""
    C4 = "C4"
    """The call was handed to the workers, none has taken it."""
    C5 = "C5"
    """The executor is about to ask the journal."""
    C6 = "C6"
    """The tool was entered, its effect did not happen."""
    C7 = "C7"
    """The effect happened, its result is written nowhere."""
    C8 = "C8"
    """The result is in the journal, the engine does not have it."""
    C9 = "C9"
    """The engine has the result and has not looked at it."""
    C10 = "C10"
    """The result is in the ledger, nothing of it is stored."""
    C11 = "C11"
    """The result is stored with the thread."""
    C12 = "C12"
    """In the back-off after a failed attempt."""
    C13 = "C13"
    """The tool failed and its sibling has answered for it: one of two is done."""
    C14 = "C14"
    """In recovery: when a failure is diagnosed, and once more when the next process looks at what it found."""
    C15 = "C15"
    """A worker dies as it takes over the calls of a dead one, with the lock of the reaper."""
    C16 = "C16"
    """While a timeout cancels the tool, after its effect."""
    A0 = "A0"
    """A call waits for a person; the question is stored nowhere."""
    A1 = "A1"
    """The question was shown."""
    A2 = "A2"
    """The answer was given, and is stored nowhere."""
    A3 = "A3"
    """The answer is stored, the call has not begun."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case."""

    name: str
    """Unique; the thread id, too."""
    part: str
    """Section of the report."""
    build: Build = Build.GRAPH
    """The agent."""
    database: Database = Database.SQLITE
    """The stores."""
    durability: Durability = Durability.SYNC
    """Durability mode of the checkpoints."""
    effect: Effect | None = None
    """Class of the tool that is looked at; ``None`` for a mixture."""
    point: Point | None = None
    """Place at which the first process dies; ``None`` for instants that are drawn."""
    broken: Broken = Broken.NONE
    """Part of asyncguard that is switched off."""
    forks: bool = False
    """True if the second process resumes from an earlier state of the thread, with a model that
    reuses an id for another call."""
    kills: int = 1
    """Number of processes that are killed before one may end."""
    stops: bool = False
    """True if processes are frozen instead of killed, and thawed after another took over."""
    shown: bool = False
    """True if agent, tools and stores are exactly those of the README's examples."""
    beside: Beside = Beside.NONE
    """Other middleware next to the guard."""
    asks: bool = False
    """True if calls wait for people and for the outside world."""
    goes_on: bool = False
    """True if the client continues a thread whose process was killed with its next message."""
    sequence: bool = False
    """True for a sequence of what clients, operators and machines do, drawn from the seed."""
    workers: int = 0
    """Worker processes; 0 runs the tools where the agent runs."""
    restarts: bool = False
    """True if the database server is stopped and started during the case."""
    seed: int = 0
    """Seed of everything that is drawn."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Case":
        """Return the case that :meth:`to_json` wrote."""
        kinds: dict[str, Any] = {"build": Build, "database": Database, "durability": Durability}
        kinds |= {"broken": Broken, "beside": Beside}
        made = {
            name: kinds[name](value) if name in kinds else value for name, value in data.items()
        }
        made["effect"] = Effect(data["effect"]) if data.get("effect") else None
        made["point"] = Point(data["point"]) if data.get("point") else None
        return cls(**made)


def cannot(case: Case) -> str:
    """Return the reason why a case cannot be run; empty if it can."""
    if case.build is Build.PLAIN and case.point not in (None, *PLAIN_POINTS):
        return "create_agent has nothing there at which it could die"
    return ""


PLAIN_POINTS = (Point.C0, Point.C1, Point.C2, Point.C6, Point.C7, Point.C10, Point.C11)
"""The points that any agent with a checkpointer has."""
