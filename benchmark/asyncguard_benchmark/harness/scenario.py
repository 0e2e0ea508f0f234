"""Basic values of a benchmark run: sub-tasks, compositions of them, delay regimes.

A sub-task is the paper's tuple (identifier, query, tools, hidden initial state) with its ground truth, an ordered list
of calls. Each leaf of a gold call's arguments names its source, so that grounding is checked and not believed, and
so that a simulated agent can be told where a value comes from without being told the value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator

from asyncguard_benchmark.harness.faults import Fault
from asyncguard_benchmark.harness.saved_form import Count, Text, saved_form


class Category(StrEnum):
    """The paper's twelve kinds of sub-task."""

    DATA_MANAGEMENT = "DM"
    FILESYSTEM = "FS"
    DATA_GENERATION = "DG"
    MESSAGE_API = "MA"
    NUMBER_OPERATIONS = "NO"
    SOCIAL_CONNECT = "SC"
    STRING_MANIPULATION = "SM"
    TICKET_PURCHASE = "TP"
    TRADING_BOT = "TB"
    TRAVEL_PLANNING = "TP*"
    DATA_FORMAT = "DF"
    MACHINE_OPERATION = "MO"


class Domain(StrEnum):
    """Domain of the tasks of the hazard suite."""

    LOGISTICS = "LG"
    ENERGY = "EN"
    CLINIC = "CL"
    TREASURY = "TR"
    WAREHOUSE = "WH"
    WEATHER = "WE"
    RAIL = "RA"
    LENDING = "LE"
    FLEET = "FL"


HELD_OUT_DOMAINS = frozenset({Domain.RAIL, Domain.LENDING, Domain.FLEET})
"""Written apart from the rest: the developers of the diagnosis had not seen them."""


class Workflow(StrEnum):
    """Dependencies between the calls of a hazard task."""

    SEQUENTIAL = "sequential"
    """Each call takes a value from the one before it."""
    PARALLEL = "parallel"
    """All calls but the last are independent of each other."""
    MIXED = "mixed"


class Kind(StrEnum):
    """Similar (one category) or cross (several categories), and how many sub-tasks."""

    S1 = "S1"
    """A single sub-task, as the hazard suite plays them."""
    S2 = "S2"
    C2 = "C2"
    S3 = "S3"
    C3 = "C3"
    S4 = "S4"
    C4 = "C4"

    @property
    def size(self) -> int:
        """Return the number of sub-tasks that a composition of this kind holds."""
        return int(self.value[1])

    @property
    def cross(self) -> bool:
        """Return True if the sub-tasks come from different categories."""
        return self.value[0] == "C"


class Suite(StrEnum):
    """The sets of compositions that ship with the package."""

    MAIN = "main"
    """Two and three sub-tasks: what a result stands for unless it says otherwise."""
    FOUR = "four"
    """Four sub-tasks."""
    LITE = "lite"
    """A part of `main` with the same shares of kinds, for quick looks."""


class Regime(StrEnum):
    """Number of assistant messages between a call and its result."""

    SYNC = "sync"
    FIXED1 = "fixed1"
    FIXED2 = "fixed2"
    RANDOM01 = "random01"
    RANDOM12 = "random12"


class Surface(StrEnum):
    """Language of the agent: JSON actions in plain text, or the provider's tool calling."""

    TEXT = "text"
    NATIVE = "native"


class Contract(StrEnum):
    """Agreement with the agent: its prompt, its API list, how its text is read, and how compositions are sampled."""

    OURS = "ours"
    """Two rules more, tolerant reading, and compositions in which each task counts about equally."""
    PAPER = "paper"
    """As the paper has it: response schemas, a text that must be the action, categories drawn uniformly. Text only."""


class SourceKind(StrEnum):
    """Source of the value of an argument."""

    QUERY = "query"
    RESULT = "result"
    SCHEMA = "schema"
    DERIVED = "derived"
    """Computed, normalised or supplied by custom: said literally nowhere. In the wild split only."""


class Split(StrEnum):
    """The single tasks that compositions are made of, and those in which values are derived, as in life."""

    MAIN = "main"
    WILD = "wild"


class Narration(StrEnum):
    """Order in which the query tells its steps."""

    IN_ORDER = "in_order"
    OUT_OF_ORDER = "out_of_order"
    IMPLICIT = "implicit"
    """A needed lookup is not mentioned."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Source of one argument, or of one part of it."""

    kind: SourceKind
    call: Count | None = None
    """Index of the earlier gold call whose result holds the value; only with RESULT."""
    pointer: str | None = None
    """JSON pointer into that result; only with RESULT."""
    how: str | None = None
    """Derivation of the value, for a reader; only with DERIVED."""
    uses: frozenset[Count] = frozenset()
    """Indices of the earlier gold calls whose results the value is derived from; only with DERIVED."""

    def __post_init__(self) -> None:
        complete = self.call is not None and self.pointer is not None
        if complete != (self.kind is SourceKind.RESULT):
            raise ValueError(
                "a result source needs a call and a pointer, and no other source may have them"
            )
        if bool(self.how) != (self.kind is SourceKind.DERIVED) or (self.uses and not self.how):
            raise ValueError(
                "a derived source says how, and no other source may say how or what it uses"
            )

    def needs(self) -> frozenset[int]:
        """Return the indices of the gold calls whose results must be there before the value can be known."""
        return self.uses if self.call is None else frozenset({self.call})


def _source_fields(value: Any) -> Any:
    """Return the fields of a saved source: ``"query"``, ``{"call", "pointer"}`` or ``{"derived", "uses"}``."""
    match value:
        case "query" | "schema":
            return {"kind": value}
        case {"call": _, "pointer": _, **rest} if not rest:
            return {"kind": SourceKind.RESULT, **value}
        case {"derived": how, "uses": list(uses), **rest} if not rest:
            if len({*map(str, uses)}) != len(uses):
                raise ValueError(f"names a call twice in {uses}")
            return {"kind": SourceKind.DERIVED, "how": how, "uses": uses}
        case Source():
            return value
        case _:
            raise ValueError(
                f"{value!r} is none of query, schema, a call with a pointer, a derivation with its uses"
            )


def _source_saved(source: Source) -> Any:
    match source.kind:
        case SourceKind.RESULT:
            return {"call": source.call, "pointer": source.pointer}
        case SourceKind.DERIVED:
            return {"derived": source.how, "uses": sorted(source.uses)}
        case _:
            return source.kind.value


@saved_form()
@dataclass(frozen=True, kw_only=True)
class GoldCall:
    """One call of the ground truth."""

    tool: str
    arguments: Mapping[str, Any]
    """Concrete values."""
    sources: Mapping[
        str, Annotated[Source, BeforeValidator(_source_fields), PlainSerializer(_source_saved)]
    ]
    """JSON pointer into the arguments -> source; together the pointers cover every leaf exactly once."""

    def needs(self) -> frozenset[int]:
        """Return the indices of the gold calls whose results this one takes values from."""
        return frozenset(index for source in self.sources.values() for index in source.needs())


def _member(category: Any) -> StrEnum:
    # Which enum a code belongs to only the toolsets say: the reader of a file has put its member in.
    if not isinstance(category, StrEnum):
        raise ValueError(f"{str(category)[:40]!r} must be the code of a category")
    return category


@saved_form()
@dataclass(frozen=True, kw_only=True)
class Origin:
    """Place of a task from another benchmark. The code of its tools is foreign, and runs by permission only."""

    source: Text
    """Name of the benchmark."""
    version: Text
    """Version or digest of the data."""
    id: Text
    """Id of the task there."""
    kind: Text
    """Part of the data that the task is."""
    results: tuple[str, ...]
    """Results of the gold calls as an agent sees them, recomputed when the task was made."""


@saved_form("origin")
@dataclass(frozen=True, kw_only=True)
class SubTask:
    """One user goal with its own hidden state."""

    id: Annotated[str, Field(pattern="^[A-Za-z0-9*_-]+$")]
    """Agents are shown it between single quotes."""
    category: Annotated[StrEnum, PlainValidator(_member), PlainSerializer(attrgetter("value"))]
    """A member of its suite's own enum; its value is the code that files hold."""
    query: Text
    narration: Narration
    tools: tuple[str, ...]
    """The API list: what the gold calls need, and distractors."""
    initial_state: Mapping[str, Any]
    """JSON; never changed: executors copy it."""
    gold: tuple[GoldCall, ...]
    """Strictly ordered, at least two."""
    origin: Origin | None = None
    """Place of a task that was not written for this benchmark."""

    def __post_init__(self) -> None:
        if len(self.gold) < 2:
            raise ValueError("a sub-task needs at least two gold calls")
        if self.origin is not None and len(self.origin.results) != len(self.gold):
            raise ValueError("the origin must have one result for each gold call")
        for position, call in enumerate(self.gold):
            if call.tool not in self.tools:
                raise ValueError(
                    f"gold call {position} uses {call.tool!r}, which is not in the API list"
                )
            if any(needed >= position for needed in call.needs()):
                raise ValueError(
                    f"gold call {position} takes a value from a call that is not earlier"
                )


@saved_form("faults")
@dataclass(frozen=True, kw_only=True)
class Composition:
    """Several sub-tasks given to an agent at once."""

    id: Text
    kind: Kind
    sub_tasks: tuple[SubTask, ...]
    faults: tuple[Fault, ...] = ()
    """Faults that the agent meets in it; none in a clean one."""

    def __post_init__(self) -> None:
        ids = self.task_ids
        if len(set(ids)) != len(ids):
            raise ValueError("sub-task ids are not unique within the composition")
        if len(ids) != self.kind.size:
            raise ValueError(f"{self.kind} needs {self.kind.size} sub-tasks, not {len(ids)}")
        if (len({task.category for task in self.sub_tasks}) > 1) != self.kind.cross:
            raise ValueError(f"the categories do not fit {self.kind}")
        if len({task.origin is None for task in self.sub_tasks}) > 1:
            raise ValueError("tasks of this benchmark and of others are mixed")
        if len(set(self.faults)) != len(self.faults):
            raise ValueError("a fault is named twice; its severity says how often it strikes")
        for fault in self.faults:
            task = self.sub_task(fault.task)
            if task is None or fault.tool not in task.tools:
                raise ValueError(
                    f"a fault is put on {fault.tool!r} of {fault.task!r}, which is not in it"
                )

    @property
    def task_ids(self) -> tuple[str, ...]:
        """Ids in the order in which the agent is told the tasks."""
        return tuple(task.id for task in self.sub_tasks)

    @property
    def gold_calls(self) -> int:
        """Return the number of calls in the ground truth of all sub-tasks."""
        return sum(len(task.gold) for task in self.sub_tasks)

    def sub_task(self, task_id: str) -> SubTask | None:
        """Return the sub-task with this id, or None."""
        return next((task for task in self.sub_tasks if task.id == task_id), None)
