"""Declarations of a tool: to a model by a JSON schema, to a guard by its footprint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from asyncguard_benchmark.services.arguments import schema_of
from asyncguard_benchmark.services.schema_check import Fits, fast_check

TASK_ARGUMENT = "task_id"
"""The argument that says, on the native surface, which sub-task a call belongs to; no tool may have one so named."""

State = dict[str, Any]
"""The hidden state of one sub-task: plain JSON, changed in place by the tools."""


class Effect(StrEnum):
    """Effect of repeating a call."""

    PURE = "pure"
    """It changes nothing."""
    IDEMPOTENT = "idempotent"
    """Twice in a row leaves and answers what once does."""
    AT_MOST_ONCE = "at_most_once"
    """Anything else."""


@dataclass(frozen=True, kw_only=True)
class ToolDeclaration:
    """Facts about a tool that a guard may know: no code, only strings.

    Resource names are templates over the arguments and ``{task_id}``: every sub-task has a state of
    its own, so equal names in two sub-tasks are different resources. Two calls whose filled-in
    footprints do not meet commute.
    """

    name: str
    effect: Effect
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def __post_init__(self) -> None:
        if (self.effect is Effect.PURE) != (not self.writes):
            raise ValueError(f"{self.name}: a tool is pure if and only if it writes nothing")


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """Another tool that can answer for one, or be compared with it."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    """The other tool's argument name -> this tool's argument name, where they differ."""
    trusted: bool = False
    """True if it is the one to believe if sources disagree and no majority decides."""


Invariant = Callable[[Mapping[str, Any], Any], str | None]
"""Pure: from a call's arguments and its result to what is wrong, in words without values, or None."""


@dataclass(frozen=True, kw_only=True)
class Remedies:
    """Declarations of a tool for the case that it, or a tool next to it, lets its caller down."""

    returns: Mapping[str, Any] | None = None
    """JSON schema of the result. Properties may carry `unit` (text) and `aliases` (other names of the field; for an
    enum, a mapping from other spellings to its values)."""
    fallbacks: tuple[Alternative, ...] = ()
    """Tools that can answer in its place, in order."""
    sources: tuple[Alternative, ...] = ()
    """Tools that answer the same question independently; their results have the same schema."""
    compared: tuple[str, ...] = ("",)
    """JSON pointers of the parts of the result in which sources have to agree."""
    dated: str | None = None
    """JSON pointer of the date of the result, where it has one."""
    verifier: Alternative | None = None
    """A tool that derives the same result in another way; its result has the same schema."""
    probe: str | None = None
    """A pure tool that tells whether an effect happened: it takes some of the same arguments and answers
    ``{"happened": bool, "result": the result of the effect or null}``."""
    invariants: tuple[Invariant, ...] = ()
    """Rules that hold between arguments and result."""


NO_REMEDIES = Remedies()


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """One tool of a category, declared by `tool`; equal to itself alone, so that what is made of it can be kept."""

    name: str
    description: str
    effect: Effect
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    run: Callable[..., Any]
    """``run(state, **arguments)`` gives a JSON value or None, or raises ToolFailure before it changes anything."""
    remedies: Remedies = NO_REMEDIES
    """Declarations for faults; none, for a tool that has none."""
    foreign: bool = False
    """True if its code is not ours: it takes numbers as they are written, and no agent computes it in its head."""

    def __post_init__(self) -> None:
        if TASK_ARGUMENT in self._arguments:
            raise ValueError(f"{self.name}: {TASK_ARGUMENT!r} is reserved")
        if unannotated := set(self._arguments) - self.run.__annotations__.keys():
            raise ValueError(f"{self.name}: no annotation of {', '.join(sorted(unannotated))}")
        _ = self.declaration

    @property
    def _arguments(self) -> tuple[str, ...]:
        # Not by `inspect.signature`, which takes longer than all else here: each process declares all tools.
        return self.run.__code__.co_varnames[1 : self.run.__code__.co_argcount]

    @property
    def declaration(self) -> ToolDeclaration:
        """Return the declaration that a guard gets."""
        return ToolDeclaration(
            name=self.name, effect=self.effect, reads=self.reads, writes=self.writes
        )

    # What follows is made when it is first used: a process declares all tools and plays a few.

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Return the JSON schema of the arguments: a closed object, which requires what has no default."""
        annotations, defaults = self.run.__annotations__, self.run.__defaults__ or ()
        properties = {name: schema_of(annotations[name]) for name in self._arguments}
        for name, default in zip(reversed(self._arguments), reversed(defaults), strict=False):
            properties[name]["default"] = default
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name, each in properties.items() if "default" not in each],
            "additionalProperties": False,
        }

    @cached_property
    def validator(self) -> Draft202012Validator:
        """Checks arguments; making it costs more than using it."""
        Draft202012Validator.check_schema(self.parameters)
        return Draft202012Validator(self.parameters)

    @cached_property
    def _fits(self) -> Fits | None:
        return fast_check(self.parameters)

    @cached_property
    def _refuses(self) -> Draft202012Validator:
        # A schema with a fast check is valid: to check it again takes longer than to judge a hundred calls.
        return self.validator if self._fits is None else Draft202012Validator(self.parameters)

    def problem(self, arguments: Mapping[str, Any]) -> ValidationError | None:
        """Return the first reason why the tool does not take some arguments, or None."""
        value = dict(arguments)
        if self._fits is not None and self._fits(value):
            return None
        return next(iter(self._refuses.iter_errors(value)), None)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """Return the default values of the arguments that have one."""
        properties = self.parameters["properties"]
        return {
            name: schema["default"] for name, schema in properties.items() if "default" in schema
        }

    def function_schema(self) -> dict[str, Any]:
        """Return name, description and parameters, as an API list shows them."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class ForeignTool(Tool):
    """A tool of a task from another benchmark: its description is data, and its code judges the arguments itself."""

    schema: Mapping[str, Any]
    """JSON schema of the arguments."""
    foreign: bool = True

    def __post_init__(self) -> None:
        if TASK_ARGUMENT in self.schema["properties"]:
            raise ValueError(f"{self.name}: {TASK_ARGUMENT!r} is reserved")

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Return the JSON schema of the arguments."""
        return self.schema

    def problem(self, arguments: Mapping[str, Any]) -> ValidationError | None:
        """Return None: published code answers wrong arguments in its own way."""
        return None


def tool(
    *,
    effect: Effect | None = None,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    remedies: Remedies | Callable[[str], Remedies] = NO_REMEDIES,
) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a function of a state and arguments as a tool.

    The tool has the name of the function. Its description, which models read, is the docstring; the schema of its
    arguments follows from their annotations (see `arguments`) and defaults.

    Args:
        effect: Effect of repeating a call. Unless given: none if the tool writes nothing, otherwise any.
        reads: Templates of the resources that a call reads.
        writes: Templates of the resources that a call writes.
        remedies: Declarations for faults, or what returns them for the name of the tool.

    Raises:
        ValueError: an argument has no annotation or a reserved name, or the effect contradicts `writes`.
    """

    def declare(run: Callable[..., Any]) -> Tool:
        return Tool(
            name=run.__name__,
            description=" ".join((run.__doc__ or "").split()),
            effect=effect or (Effect.AT_MOST_ONCE if writes else Effect.PURE),
            reads=reads,
            writes=writes,
            run=run,
            remedies=remedies if isinstance(remedies, Remedies) else remedies(run.__name__),
        )

    return declare
