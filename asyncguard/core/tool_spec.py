"""The declaration of a tool, which guards, recovery and executors read.

Every field has a cautious default, so that an undeclared tool is safe: its effect may happen at
most once, its footprint is unknown, it runs in the foreground of a single task and in the
background of several.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from asyncguard.core.footprints import EffectClass, Footprint, fill, without_arguments
from asyncguard.errors import DeclarationError
from asyncguard.validation import check_fields, check_value

if TYPE_CHECKING:
    from asyncguard.core.declaration import Declaration


_POINTER = re.compile(r"(/([^~/]|~[01])*)*")
"""Form of a JSON pointer (RFC 6901, section 3)."""
_ESCAPE = re.compile(r"~(?![01])")


class Mode(StrEnum):
    """Way of waiting for a call."""

    AUTO = "auto"
    """Foreground with one task, background with several."""
    FOREGROUND = "foreground"
    """The model gets no turn before the result is there."""
    BACKGROUND = "background"
    """The model may continue with other tasks; the result arrives later."""
    EXTERNAL = "external"
    """The tool only starts the work; the result is delivered from outside through the inbox."""


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """A sibling tool that can answer in place of another."""

    tool: str
    """Name of the sibling."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Sibling's argument name to this tool's argument name; arguments not named keep their names.

    Each required one has to map to an argument that the sibling has; checked when the agent is
    built.
    """

    def __post_init__(self) -> None:
        """Refuse values of other types."""
        check_fields(self, DeclarationError)

    def translate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return this tool's arguments as the sibling's."""
        renamed = {
            theirs: arguments[ours] for theirs, ours in self.arguments.items() if ours in arguments
        }
        # An argument that is renamed must not arrive under its old name, too.
        used = set(self.arguments.values())
        return {name: value for name, value in arguments.items() if name not in used} | renamed


@dataclass(frozen=True, kw_only=True)
class Source(Fallback):
    """A tool that answers the same question independently, for comparison."""

    trusted: bool = False
    """True if its answer counts when sources disagree without a majority."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Strategies for the retries of one tool: tenacity's, or functions of its ``RetryCallState``.

    They say when, never whether it is safe: only a call that failed for a passing reason and may be
    repeated is tried again, within the limits of run, task and ``Limits.max_recoveries``. Side
    queries (probe, contract, sources, verifier) are not retried.

    The state has the number of the tool's attempts (``attempt_number``), the seconds since the
    first one in this process, the waits for this tool (``idle_for``) and the ``outcome``: a
    :class:`~asyncguard.errors.ToolFault`, whose ``data["error"]`` names the class that was raised,
    or an unreadable answer. While a circuit is open no attempt is made or counted; only ``stop`` is
    asked, with its rest as ``upcoming_sleep``. A strategy must return at once. If it
    raises an ``Exception``, or ``wait`` returns anything but a finite number of at least 0, the
    default decides, and the recovery's reason says so.

    Example:
        ``Retry(wait=wait_random_exponential(max=60), stop=stop_after_attempt(8))``
    """

    wait: Callable[[Any], float] | None = None
    """Returns the seconds before the next attempt; ``None`` takes exponential back-off (`Timing`).

    A longer ``Retry-After`` of the server counts. Nothing else limits the wait.
    """
    stop: Callable[[Any], bool] | None = None
    """Returns a true value if no attempt follows; ``None`` stops after ``Limits.max_attempts``."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be called, and coroutine functions."""
        check_fields(self, DeclarationError)
        for name in ("wait", "stop"):
            strategy = getattr(self, name)
            if isinstance(strategy, type):
                raise DeclarationError(
                    f"Retry.{name} must be a strategy, not its class; write "
                    f"{strategy.__name__}(...)."
                )
            if iscoroutinefunction(strategy) or iscoroutinefunction(type(strategy).__call__):
                raise DeclarationError(
                    f"Retry.{name} must be a plain function, not a coroutine function; "
                    "a decision of recovery cannot wait."
                )


Invariant = Callable[[Mapping[str, Any], Any], str | None]
"""Pure function from arguments and result to a defect, without their values, or ``None``."""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """Declaration of one tool; every field but the name may be left out."""

    name: str
    """Name under which the model calls it."""
    effect: EffectClass = EffectClass.AT_MOST_ONCE
    """Class of its effect, which says whether a call may be repeated."""
    reads: tuple[str, ...] | None = None
    """Resource templates that the tool reads, ``None`` if unknown."""
    writes: tuple[str, ...] | None = None
    """Resource templates that the tool writes, ``None`` if unknown. A pure tool writes nothing."""
    takes_from: tuple[str, ...] | None = None
    """Names of the tools on whose results its arguments, or the decision to call it, can rest.

    ``None`` if unknown, which may be any; ``()`` if none, as for notes, to-do lists and hand-offs.
    """
    mode: Mode = Mode.AUTO
    """Way of waiting for its calls."""
    timeout: float | None = None
    """Seconds before an attempt is given up, whatever the tool does; ``None`` waits for ever.

    An attempt whose effect must not be repeated is not cancelled then: its own end resolves the
    doubt.
    """
    grace: float | None = None
    """Seconds before a placeholder is shown; ``None`` takes the configuration's."""
    retry: Retry | None = None
    """Wait and stop strategies of its retries; ``None`` takes the configuration's."""
    fallbacks: tuple[Fallback, ...] = ()
    """Siblings to call in order if the tool fails; none may need approval: no person is asked."""
    probe: str | None = None
    """Name of a read-only tool that reports whether the effect happened (effect class ``probed``).

    It is called with those of the call's arguments that it knows, and answers ``{"happened": bool,
    "result": ...}``. Any value but true and false means that it does not know. On false the call is
    repeated: the probe may say so only if the effect can no longer happen, because after a lost
    connection a request may still be on its way. While an attempt that timed out may still run,
    false does not count.
    """
    result_schema: Mapping[str, Any] | None = None
    """JSON Schema of the result.

    Beside the standard keywords, a property may carry ``unit`` (text) and ``aliases`` (other names
    of a field; for an enum, a mapping from other spellings to its values), and any schema
    ``wrappers`` (names of fields in which its value may come).
    """
    invariants: tuple[Invariant, ...] = ()
    """Functions of arguments and result that return the defect in a sentence, or ``None``."""
    contract: str | None = None
    """Name of a read-only tool that returns the live contract.

    Called with ``{"tool": name}``, it answers ``{"parameters": JSON Schema, "returns": JSON
    Schema}``.
    """
    sources: tuple[Source, ...] = ()
    """Tools that answer the same question independently, for cross-checks."""
    compared: tuple[str, ...] = ("",)
    """JSON pointers of the parts of a result in which sources have to agree; by default all."""
    dated: str | None = None
    """JSON pointer of the date (ISO 8601) of a result, by which the latest source is found."""
    verifier: Fallback | None = None
    """A tool that derives the same result in another way."""
    tasks: frozenset[str] | None = None
    """Ids of the tasks that may use the tool, ``None`` for all."""
    key_argument: str | None = None
    """Argument that receives the idempotency key; hidden from the model."""
    token_argument: str | None = None
    """Argument of an external tool that receives the delivery token; hidden from the model."""
    atomic: bool = False
    """True if the effect is one request, so that a refusal proves that it did not happen.

    A refusal is a registered 4xx other than 406, 408 and 409. Without this only
    ``ToolFault(started=False)`` proves it, because the refused request may have been the tool's
    second. Exceptions of the tool's own body never do.
    """
    destructive: bool = False
    """True if the effect destroys or spends something; such calls can be held for approval."""
    approval: bool = False
    """True if a person has to approve every call."""
    trusted_output: bool = False
    """True if the output cannot carry instructions of a third party."""
    interrupts: bool = False
    """True if the tool calls ``interrupt`` itself: it then runs in the foreground.

    Its question waits for other calls. Each answer runs its body again: act after the last
    question. An answer that breaks its ``response_schema`` raises LangGraph's error; the question
    stays.
    """
    references: bool | None = None
    """True if operands may name pending results; ``None`` allows it for pure tools only."""
    free: tuple[str, ...] = ()
    """Arguments that the model words itself, as a note; their values need no source (grounding)."""
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of the arguments as the model sees them; the adapters read it from the tool."""

    if TYPE_CHECKING:  # which takes the types of the fields for those of the arguments otherwise

        def __init__(
            self,
            *,
            name: str,
            parameters: Mapping[str, Any] | None = None,
            **declaration: Unpack[Declaration],
        ) -> None: ...

    def __post_init__(self) -> None:
        """Refuse values of other types and contradictory declarations.

        Effect, mode and siblings may be given by their names.
        """
        # The class is frozen. Names become members first, so that the type check sees members.
        object.__setattr__(self, "effect", _member(self.name, EffectClass, self.effect))
        object.__setattr__(self, "mode", _member(self.name, Mode, self.mode))
        self._read_sequences()
        check_fields(self, DeclarationError, called=_called(self.name))
        if self.effect is EffectClass.PURE:
            if self.writes:
                raise DeclarationError(
                    f"{_called(self.name)} is declared pure and writes {self.writes}; "
                    "drop one of them."
                )
            if self.destructive:
                raise DeclarationError(
                    f"{_called(self.name)} is declared pure and destructive; drop one of them."
                )
            # Two calls that write nothing need no order, even if it is unknown what they read.
            object.__setattr__(self, "writes", ())
        if self.effect is EffectClass.KEYED and self.key_argument is None:
            raise DeclarationError(
                f"{_called(self.name)} is keyed; name the argument that receives the key "
                "(key_argument)."
            )
        if self.effect is EffectClass.PROBED and self.probe is None:
            raise DeclarationError(
                f"{_called(self.name)} is probed; name the read-only tool that checks it (probe)."
            )
        if self.name and self.name in (*self.asks, *(item.tool for item in self.fallbacks)):
            raise DeclarationError(
                f"{_called(self.name)} names itself as fallback, source, verifier, contract or "
                "probe; name another tool."
            )
        if not self.compared:
            raise DeclarationError(
                f'Tool {self.name!r} compares nothing; name pointers, or leave ("",) for the whole.'
            )
        self._check_pointers()
        self._check_templates()
        self._check_durations()
        if self.interrupts and self.mode in (Mode.BACKGROUND, Mode.EXTERNAL):
            raise DeclarationError(
                f"{_called(self.name)} interrupts, so it can only run in the foreground; "
                "set mode to foreground or auto."
            )

    def _check_pointers(self) -> None:
        pointers = {f"compared[{number}]": each for number, each in enumerate(self.compared)}
        for place, pointer in (*pointers.items(), ("dated", self.dated)):
            if pointer is not None and not _POINTER.fullmatch(pointer):
                written = _ESCAPE.sub("~0", f"/{pointer.removeprefix('/')}")
                raise DeclarationError(
                    f"{_called(self.name)}: {place} must be a JSON pointer, not {pointer!r}; "
                    f"write {written!r}."
                )

    def _check_templates(self) -> None:
        # Braces that are left would be part of the name, and the call would share it with none.
        for place in ("reads", "writes"):
            for number, template in enumerate(getattr(self, place) or ()):
                if set("{}") & set(without_arguments(template)):
                    raise DeclarationError(
                        f"{_called(self.name)}: {place}[{number}] has braces around something else "
                        f"than the name of an argument: {template!r}; write 'account:{{payer}}'."
                    )

    def _check_durations(self) -> None:
        if self.timeout is not None and self.timeout <= 0:
            raise DeclarationError(
                f"{_called(self.name)}: timeout must be > 0 seconds or None, not {self.timeout}."
            )
        if self.grace is not None and self.grace < 0:
            raise DeclarationError(
                f"{_called(self.name)}: grace must be >= 0 seconds or None, not {self.grace}."
            )

    def _read_sequences(self) -> None:
        for name in (
            "reads",
            "writes",
            "takes_from",
            "compared",
            "invariants",
            "fallbacks",
            "sources",
            "free",
        ):
            given = getattr(self, name)
            if given is not None and type(given) is not tuple:
                object.__setattr__(self, name, _items(self.name, name, given))
        if self.tasks is not None:
            # Checked here, because a set cannot be made of values that are not hashable.
            tasks = _items(self.name, "tasks", self.tasks)
            check_value(f"{_called(self.name)}: tasks", tuple[str, ...], tasks, DeclarationError)
            object.__setattr__(self, "tasks", frozenset(tasks))
        for name, kind in (("fallbacks", Fallback), ("sources", Source)):
            siblings: tuple[Any, ...] | None = getattr(self, name)
            if siblings:
                made = tuple(
                    kind(tool=item) if isinstance(item, str) else item for item in siblings
                )
                object.__setattr__(self, name, made)
        verifier: Any = self.verifier
        if isinstance(verifier, str):
            object.__setattr__(self, "verifier", Fallback(tool=verifier))

    def footprint(self, arguments: Mapping[str, Any], task: str) -> Footprint:
        """Return the resources of one call of this tool."""
        if self.reads is None and self.writes is None:
            return _UNKNOWN
        values = {**arguments, "task_id": task}
        return Footprint(reads=fill(self.reads, values), writes=fill(self.writes, values))

    def may_take_from(self, tool: str) -> bool:
        """Return True if a call may rest on a result of a tool."""
        return self.takes_from is None or tool in self.takes_from

    @property
    def asks(self) -> tuple[str, ...]:
        """Names of the tools that the runtime may call for side queries; they have to be pure."""
        single = (
            self.probe,
            self.contract,
            self.verifier.tool if self.verifier is not None else None,
        )
        return (
            *(name for name in single if name is not None),
            *(source.tool for source in self.sources),
        )

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the arguments that the model may give, as far as they are known."""
        return tuple((self.parameters or {}).get("properties", ()))

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """Names of the arguments without which the tool cannot be called."""
        return tuple((self.parameters or {}).get("required", ()))

    @property
    def takes_anything(self) -> bool:
        """Return True if the tool accepts arguments of any name, or nothing is known of them."""
        known = self.parameters or {}
        # Schemas that are made from a function's signature leave the keyword out, and the function
        # takes no further arguments.
        return "properties" not in known or known.get("additionalProperties") not in (None, False)

    def takes(self, argument: str) -> bool:
        """Return True if the tool accepts an argument of that name."""
        return self.takes_anything or argument in self.argument_names

    @property
    def allows_references(self) -> bool:
        """Return True if a call may name a pending result as an operand."""
        return self.effect is EffectClass.PURE if self.references is None else self.references

    @property
    def replayable(self) -> bool:
        """Return True if a call whose process died during it may be made again."""
        # A tool that asks a person is run again from its beginning with the answer, by design.
        return self.effect.repeatable or self.interrupts

    @property
    def written_down(self) -> bool:
        """Return True if calls are journaled: those with an effect or with results from outside."""
        return self.effect is not EffectClass.PURE or self.mode is Mode.EXTERNAL

    def foreground(self, several_tasks: bool) -> bool:
        """Return True if the model waits for this tool."""
        if self.mode is Mode.AUTO:
            return self.interrupts or not several_tasks
        return self.mode is Mode.FOREGROUND


_Kind = TypeVar("_Kind", bound=StrEnum)


def _member(tool: str, kind: type[_Kind], given: str) -> _Kind:
    try:
        return kind(given)
    except ValueError as error:
        raise DeclarationError(
            f"{_called(tool)}: {error}; use one of {', '.join(kind)}."
        ) from error


def _items(tool: str, field: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise DeclarationError(
            f"{_called(tool)}: {field} must be a list, not {given!r}; write [{given!r}]."
        )
    return tuple(given)


def _called(tool: str) -> str:
    return f"Tool {tool!r}" if tool else "The tool"  # @guarded does not know the name yet


_UNKNOWN = Footprint(reads=None, writes=None)
