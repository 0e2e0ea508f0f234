"""The configuration object, in which every guard is one switch and one ablation arm.

``GuardConfig`` is frozen and has no global default instance. An ablation is
``replace(config, grounding=False)``; the whole configuration is written into the head of every
trace.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Protocol, Self

from asyncguard.errors import CallerError
from asyncguard.validation import check_fields, check_value, member_of


class Delivery(StrEnum):
    """Time at which the results of one message are delivered to the model."""

    ALL = "all"
    """One task's results from one message are delivered together."""
    ANY = "any"
    """Each result is delivered as soon as it is there."""


class NewsStyle(StrEnum):
    """Form in which a late result is written into the conversation."""

    NOTIFICATION = "notification"
    """One user message that wraps the results as data."""
    PAIR = "pair"
    """A synthetic call and its result, which Gemini 3 refuses for lack of a thought signature."""


class Siblings(StrEnum):
    """Rule of ``premature`` for calls of one message whose tools declare no ``takes_from``."""

    DECLARED = "declared"
    """They are left alone; a plausible guess within a message passes."""
    ONCE = "once"
    """A call after one of another tool is refused once; repeated unchanged, it passes."""
    EVERY = "every"
    """A call after one of another tool is refused each time."""


GUARD_NAMES = (
    "clarification",
    "arguments",
    "scope",
    "duplicate",
    "grounding",
    "premature",
    "dependency",
    "conflict",
    "capacity",
    "trust",
    "completion",
)
"""The guards that are on by default, in the order in which admission asks them.

``completion`` judges the end of a run instead of a call.
"""

FEATURE_NAMES = ("ledger", "task_view", "waiting", "references")
"""Features of the runtime that are switched and ablated like guards."""


RECOVERY_NAMES = (
    "retry",
    "refresh",
    "normalise",
    "fallback",
    "cross_check",
    "verify",
    "ask",
    "breaker",
)
"""Steps of recovery from faults of tools; each is switched and ablated like a guard."""

OPT_IN_GUARDS = ("provenance",)
"""Guards that are off unless they are switched on; ``GUARD_NAMES`` leaves them out."""

OPT_IN_NAMES = (*OPT_IN_GUARDS, "memory")
"""Guards and features that are off unless they are switched on."""

SWITCH_NAMES = (*GUARD_NAMES, *FEATURE_NAMES, *RECOVERY_NAMES, *OPT_IN_NAMES)
"""All switches."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds that end or refuse work; counts unless a unit is named."""

    max_model_turns: int = 250
    """Model messages per run; at this number the run ends with a report."""
    max_rejections: int = 12
    """Rejected calls per task and run; above it the task is stopped and reported."""
    max_pending: int = 64
    """Calls of one thread that may be open at once."""
    max_process_pending: int = 1024
    """Calls that one process may have running at once, over all threads of an agent."""
    max_calls_per_message: int = 32
    """Calls that one model message may make."""
    max_argument_bytes: int = 64 * 1024
    """Size of one call's arguments as canonical JSON, in bytes."""
    max_output_bytes: int = 64 * 1024
    """Bytes of a result shown to the model; text is cut, a block that does not fit is omitted."""
    max_stored_bytes: int = 1024 * 1024
    """Bytes of a result that are kept; of a larger one its beginning, size and hash are kept."""
    max_attempts: int = 5
    """Attempts of one call that may repeat, the first included; questions to a person are none."""
    max_recoveries: int = 12
    """Recovery steps of one call: retries, siblings, sources, probes and contracts together."""
    max_task_retries: int = 50
    """Retries of all calls of one task and run."""
    max_run_retries: int = 100
    """Retries of all calls of one run together."""
    breaker_failures: int = 5
    """Failures in a row, in all threads, that open a tool's circuit; or that of equal arguments."""

    def __post_init__(self) -> None:
        """Refuse bounds below 1, which would stop every run."""
        check_fields(self)
        # After the type check, so that the comparison cannot fail.
        for item in fields(self):
            if (bound := getattr(self, item.name)) < 1:
                raise CallerError(f"Limits.{item.name} must be at least 1, not {bound}.")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Durations in seconds."""

    grace: float = 0.010
    """Wait for a background call before the model sees a placeholder; ends at any completion."""
    linger: float = 0.005
    """Wait for further completions after the first one."""
    patience: float = 0.25
    """Wait for a completion before a turn that only offers idle tasks which the model has left."""
    retry_initial: float = 0.2
    """First back-off; doubled at each attempt, with jitter."""
    retry_max: float = 30.0
    """Longest back-off."""
    retry_jitter: float = 0.1
    """Upper bound of the random part of a back-off."""
    retry_after_max: float = 300.0
    """Longest wait that a tool may request (``Retry-After``); a longer one ends the retries."""
    breaker_cooldown: float = 30.0
    """Time that an open circuit holds arguments that failed; others probe it, one at a time."""

    def __post_init__(self) -> None:
        """Refuse negative durations."""
        check_fields(self)
        for item in fields(self):
            if getattr(self, item.name) < 0:
                raise CallerError(
                    f"Timing.{item.name} must be >= 0 seconds, not {getattr(self, item.name)}."
                )


class Rule(Protocol):
    """A guard of the user's own, as :class:`asyncguard.GuardRule` declares it.

    The class itself speaks of calls and verdicts, which this module must not import.
    """

    @property
    def name(self) -> str:
        """Its name in events, traces and reports."""

    @property
    def judge(self) -> Callable[..., Any]:
        """Function from a call and a view of the thread to a verdict."""

    @property
    def before(self) -> str | None:
        """Built-in guard before which it is asked; ``None`` after all."""

    @property
    def on_error(self) -> str:
        """``reject`` or ``admit`` a call that it fails to judge."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""


@dataclass(frozen=True, kw_only=True)
class GuardConfig:
    """All switches of the runtime.

    ``GuardConfig()`` is the recommended setting, ``GuardConfig.none()`` guards nothing.
    """

    arguments: bool = True
    """Reject arguments that break the tool's schema.

    What the live contract accepts passes, too, once read. A reference has to name a call with a
    usable result.
    """
    clarification: bool = True
    """Reject a call that lacks a required argument, or has a stand-in such as ``TBD`` for one.

    The model is told to ask the user, or to wait. ``<user_id>`` and ``???`` are stand-ins, too,
    unless the user or a result has said so.
    """
    scope: bool = True
    """Reject a call for a task that does not exist, is over, or may not use the tool."""
    duplicate: bool = True
    """Reject a call that is open or in doubt already, with equal arguments in the same task.

    Hold it for a person if it is in doubt and the user has said something new since.
    """
    grounding: bool = True
    """Reject a value that the task was not told, while a result of the task is pending.

    That is: a text, number or date that occurs there in no form, while the result of an earlier
    call that it may need was untold.
    """
    premature: bool = True
    """Reject a call that may rest on a result of its task which was not told to the model."""
    dependency: bool = True
    """Defer a call that uses a pending result, or has to keep its order.

    It reads what an open call writes, or its task has a barrier because a footprint is unknown.
    """
    conflict: bool = True
    """Defer a call that writes what an open call reads or writes."""
    capacity: bool = True
    """Reject calls above the limits: too many in a message, too many open, too large arguments.

    Results are cut, too: long text is cut, an image or another block that does not fit is named and
    left out.
    """
    trust: bool = True
    """Hold a ``destructive`` call after output that may carry a stranger's instructions.

    That is output of a tool without ``trusted_output``, told to the model or in the call's
    arguments by reference.
    """
    completion: bool = True
    """Wait if the model ends while calls are open; nudge it if a task is untouched or abandoned.

    A nudge comes once per task and run. A line ``b: no tool needed`` in the last text answers an
    untouched task b.
    """
    ledger: bool = True
    """Keep pending calls visible to guards and model; without it the timing guards do nothing."""
    task_view: bool = True
    """Show the model the state of its tasks (with two or more tasks)."""
    waiting: bool = True
    """Wait without a model turn while the model cannot act."""
    references: bool = True
    """Let calls of pure tools name a pending result as an operand."""
    retry: bool = True
    """Repeat an attempt that failed for a passing reason, if that is safe."""
    refresh: bool = True
    """Read a tool's live contract when it refuses a call or answers strangely, and apply it."""
    normalise: bool = True
    """Bring a drifted answer into the declared form, if that needs no guess."""
    fallback: bool = True
    """Let a declared sibling answer."""
    cross_check: bool = True
    """Compare declared sources."""
    verify: bool = True
    """Ask the probe of an effect in doubt, or the verifier of a doubtful answer."""
    ask: bool = True
    """Show the model the diagnosis and its options when recovery ends."""
    breaker: bool = True
    """Pause a tool that keeps failing."""
    provenance: bool = False
    """Reject, once, a required value that nothing in the conversation told: ask the user.

    A value passes, too, if it follows from what was told.
    """
    memory: bool = False
    """Show the model the results, answers and questions of earlier requests of the conversation."""
    shadow: bool = False
    """Let guards judge without intervening, and show the agent what it would see without them.

    Objections become events, every call that can be run is admitted as proposed, every call of a
    message is answered before the model's next turn whatever its tool's mode, and the run ends when
    the model says so. Neither the task view nor references are offered; other features work as
    switched. With ``waiting=False`` calls stay in the background, for an agent that is used to it.
    """
    siblings: Siblings = Siblings.ONCE
    """Rule of ``premature`` for undeclared calls of one message, with several tasks."""
    extra: tuple[Rule, ...] = ()
    """Guards of the user's own, each a ``GuardRule``; a list is taken as well."""
    delivery: Delivery = Delivery.ALL
    """Delivery of one task's results from one message: together or one by one."""
    news_style: NewsStyle = NewsStyle.NOTIFICATION
    """Form of late results in the conversation."""
    hold_text: bool = False
    """Neither stream nor store a text without calls that the model says while calls are open.

    By default it is stored, marked and reported as interim. What else the model says while calls
    are open is then streamed in one piece, as only the whole message shows that it may pass.
    """
    limits: Limits = field(default_factory=Limits)
    """Bounds of a run."""
    timing: Timing = field(default_factory=Timing)
    """Durations."""

    def __post_init__(self) -> None:
        """Refuse values of other types; siblings, delivery and news style may be names."""
        # The class is frozen; names become members first, so that the check sees members.
        object.__setattr__(self, "siblings", member_of(Siblings, self.siblings))
        object.__setattr__(self, "delivery", member_of(Delivery, self.delivery))
        object.__setattr__(self, "news_style", member_of(NewsStyle, self.news_style))
        extra: Any = self.extra
        object.__setattr__(self, "extra", tuple(extra) if isinstance(extra, list) else extra)
        check_fields(self)
        names = [rule.name for rule in self.extra]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise CallerError(f"GuardConfig.extra has more than one guard named {twice[0]!r}.")

    @classmethod
    def none(cls, **changes: Any) -> Self:
        """Return a configuration with every guard and feature off, then changed as given.

        Raises:
            CallerError: A change names no field, or its value is of another type.
        """
        # Before the constructor, whose TypeError would not name the fields that exist.
        known = [item.name for item in fields(cls)]
        if unknown := sorted(set(changes) - set(known)):
            raise CallerError(
                f"GuardConfig has no field {unknown[0]!r}; the fields are {', '.join(known)}."
            )
        return cls(**(dict.fromkeys(SWITCH_NAMES, False) | changes))

    def with_switches(self, switches: Mapping[str, bool]) -> "GuardConfig":
        """Return a copy with some switches set.

        Args:
            switches: Names of guards, features or recoveries to on or off.

        Raises:
            CallerError: A name is unknown, or a value is neither ``True`` nor ``False``.
        """
        check_value("with_switches: switches", Mapping[str, bool], switches)
        unknown = set(switches) - set(SWITCH_NAMES)
        if unknown:
            raise CallerError(
                f"Unknown switch {sorted(unknown)}; the switches are {', '.join(SWITCH_NAMES)}."
            )
        # The checks above leave only fields of type bool, which mypy does not see in a mapping.
        return replace(self, **dict(switches))  # type: ignore[arg-type]

    @property
    def shows_tasks(self) -> bool:
        """Return True if the model is shown the state of its tasks."""
        return self.task_view and self.ledger and not self.shadow

    @property
    def offers_references(self) -> bool:
        """Return True if the model is offered references to pending results."""
        # Without the ledger a pending call has no label; in shadow mode no guard waits for it.
        return self.references and self.ledger and not self.shadow

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain JSON values, for the head of a trace."""
        # Not asdict: it copies each value deeply, and these are numbers, texts and switches.
        told = _values(self)
        told |= {"limits": _values(self.limits), "timing": _values(self.timing)}
        # Told only where there are any: the values of other configurations stay as they were.
        for name in ("extra", *(each for each in OPT_IN_NAMES if not told[each])):
            del told[name]
        return told | ({"extra": [rule.to_json() for rule in self.extra]} if self.extra else {})


def _values(settings: "GuardConfig | Limits | Timing") -> dict[str, Any]:
    """Return the values of all fields, by name."""
    return {each.name: getattr(settings, each.name) for each in fields(settings)}
