"""Table of the fields of every kind of event, in the order in which they are written."""

from collections.abc import Mapping

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, canonical_json
from asyncguard.observability.fields.field import Field, Unit
from asyncguard.observability.observer import Details

FINGERPRINT_LENGTH = 12
"""Number of hex digits of a call's fingerprint that are logged."""


def _own(
    name: str, unit: Unit, meaning: str, *, attribute: str = "", added: bool | None = None
) -> Field:
    """Return a field that the event itself holds."""
    source = attribute or name
    return Field(
        name=name,
        unit=unit,
        meaning=meaning,
        read=lambda details: getattr(details.event, source),
        added=added,
    )


def _named(name: str, meaning: str, *, attribute: str) -> tuple[Field, Field]:
    """Return two fields for calls that the event mentions: their keys, and their names."""

    def labels(details: Details) -> list[str]:
        return [details.names.get(key, "?") for key in getattr(details.event, attribute)]

    return (
        _own(name, Unit.NAMES, f"Keys of {meaning}.", attribute=attribute),
        Field(
            name=f"{name}_calls",
            unit=Unit.NAMES,
            meaning="The same as task/tool#ordinal.",
            read=labels,
        ),
    )


def _call(details: Details) -> Call:
    assert details.record is not None  # only fields of call events read the call
    return details.record.call


def _running(details: Details) -> float | None:
    record = details.record
    if record is None or record.started_at is None or record.retired_at is None:
        return None
    return record.retired_at - record.started_at


def _size(text: str) -> int:
    # Lone surrogates come from models and broken files; a size must not fail on them.
    return len(text.encode("utf-8", "surrogatepass"))


ENVELOPE: tuple[Field, ...] = (
    Field(name="event", unit=Unit.CODE, meaning="Kind of the event.", read=lambda d: d.event.kind),
    _own("n", Unit.COUNT, "Logical counter of the thread; orders events of equal time."),
    _own("at", Unit.SECONDS, "Engine clock; monotonic within a process, without a fixed zero."),
    Field(
        name="agent",
        unit=Unit.NAME,
        meaning="Namespace of the agent, or empty.",
        read=lambda d: d.agent,
    ),
    Field(
        name="thread",
        unit=Unit.NAME,
        meaning="Id of the conversation, minted by the runtime.",
        read=lambda d: d.thread,
    ),
    Field(
        name="thread_id",
        unit=Unit.NAME,
        meaning="The caller's thread_id in LangGraph, or empty.",
        read=lambda d: d.thread_id,
        added="",
    ),
    Field(name="run", unit=Unit.NAME, meaning="Id of the run.", read=lambda d: d.run),
)
"""Fields of every record."""

TASK = Field(name="task", unit=Unit.NAME, meaning="Id of the task.", read=lambda d: d.task)
"""Task field, shared by the events about a task and those about a call."""
_REASON = _own("reason", Unit.PAYLOAD, "Why; may quote argument values.")
_GUARD = _own("guard", Unit.CODE, "The guard that decided.")
_ARGUMENTS = Field(
    name="arguments",
    unit=Unit.PAYLOAD,
    meaning="Arguments, operands substituted where they are known.",
    read=lambda d: None if d.record is None else d.record.effective_arguments,
)
_ARGUMENT_BYTES = Field(
    name="argument_bytes",
    unit=Unit.BYTES,
    meaning="Arguments as canonical JSON.",
    read=lambda d: 0 if d.record is None else _size(canonical_json(d.record.effective_arguments)),
)
_EPOCH = _own("epoch", Unit.NAME, "Id of the process.")
_ATTEMPT = _own("attempt", Unit.COUNT, "Number of the attempt, from 1.")
_AIM = _own(
    "aim", Unit.CODE, "What the attempt is for: answer, contract, source, verifier or probe."
)
_CONTENT = _own(
    "content",
    Unit.PAYLOAD,
    "Result or error; null where there is none or it was delivered at once.",
)
_ERROR = _own(
    "error", Unit.CODE, "Class of the failure; null for a result, interrupt for a tool's question."
)

CALL: tuple[Field, ...] = (
    Field(
        name="key",
        unit=Unit.NAME,
        meaning="Idempotency key of the call.",
        read=lambda d: _call(d).key,
    ),
    TASK,
    Field(
        name="label",
        unit=Unit.NAME,
        meaning="The call as tool#ordinal within its task.",
        read=lambda d: d.label,
    ),
    Field(
        name="tool", unit=Unit.NAME, meaning="Tool of the current attempt.", read=lambda d: d.tool
    ),
    Field(
        name="call_state",
        unit=Unit.CODE,
        meaning="State of the call after the event.",
        read=lambda d: None if d.record is None else d.record.state.value,
    ),
)
"""Fields of every record about one call."""

_PROPOSED = (
    Field(
        name="sequence",
        unit=Unit.COUNT,
        meaning="Position in program order.",
        read=lambda d: _call(d).sequence,
    ),
    Field(
        name="call_id",
        unit=Unit.NAME,
        meaning="The provider's id of the call.",
        read=lambda d: _call(d).call_id,
    ),
    Field(
        name="message_id",
        unit=Unit.NAME,
        meaning="Id of the model message.",
        read=lambda d: _call(d).message_id,
    ),
    Field(
        name="fingerprint",
        unit=Unit.NAME,
        meaning=f"First {FINGERPRINT_LENGTH} hex digits "
        "of the SHA-256 of tool and canonical arguments.",
        read=lambda d: _call(d).fingerprint[:FINGERPRINT_LENGTH],
    ),
    Field(
        name="declared",
        unit=Unit.NAMES,
        meaning="Tools whose declaration the thread keeps from now on.",
        read=lambda d: list(getattr(d.event, "declared", None) or ()),
        added=(),
    ),
    _ARGUMENT_BYTES,
    Field(
        name="footprint_known",
        unit=Unit.FLAG,
        meaning="True if the tool declares what it reads and writes.",
        read=lambda d: _call(d).footprint.known,
    ),
    _ARGUMENTS,
    Field(
        name="reads",
        unit=Unit.PAYLOAD,
        meaning="Resources read; null if unknown.",
        read=lambda d: _resources(_call(d).footprint.reads),
    ),
    Field(
        name="writes",
        unit=Unit.PAYLOAD,
        meaning="Resources written; null if unknown.",
        read=lambda d: _resources(_call(d).footprint.writes),
    ),
)


def _resources(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


_OWN_FIELDS: Mapping[type[ev.Event], tuple[Field, ...]] = {
    ev.RunStarted: (
        _EPOCH,
        _own("said", Unit.FLAG, "Whether the user said something with it.", added=True),
    ),
    ev.TaskOpened: (
        TASK,
        Field(
            name="goal_bytes",
            unit=Unit.BYTES,
            meaning="Size of the goal.",
            read=lambda d: _size(d.event.goal) if isinstance(d.event, ev.TaskOpened) else 0,
        ),
        _own("goal", Unit.PAYLOAD, "What the user wants."),
    ),
    ev.TaskEnded: (
        TASK,
        _own("task_state", Unit.CODE, "State of the task after the event.", attribute="state"),
        _REASON,
    ),
    ev.CallProposed: _PROPOSED,
    ev.CallEdited: _PROPOSED,
    ev.CallAdmitted: (
        _own("released", Unit.FLAG, "Whether it was deferred or held before."),
        _own("approved", Unit.FLAG, "Whether a person approved it."),
        Field(
            name="substituted",
            unit=Unit.FLAG,
            meaning="Whether operands were put in.",
            read=lambda d: d.record is not None and d.record.arguments is not None,
        ),
        _ARGUMENT_BYTES,
        _ARGUMENTS,
    ),
    ev.CallObjected: (
        _GUARD,
        _own(
            "objection",
            Unit.CODE,
            "reject, defer or hold: what the guard would have done; fault: it failed.",
        ),
        *_named("on", "the calls it waits for", attribute="on"),
        _REASON,
    ),
    ev.CallDeferred: (
        _GUARD,
        _own("also", Unit.NAMES, "Further guards that hold it back."),
        *_named("on", "the calls it waits for", attribute="on"),
        _REASON,
    ),
    ev.CallHeld: (_GUARD, _REASON, _ARGUMENT_BYTES, _ARGUMENTS),
    ev.CallRejected: (_GUARD, *_named("on", "the calls it waits for", attribute="on"), _REASON),
    ev.CallStarted: (_ATTEMPT, _EPOCH),
    ev.CallRetired: (
        _own("outcome", Unit.CODE, "done, failed or in_doubt."),
        _ERROR,
        _own("content_bytes", Unit.BYTES, "Size of result or error text.", attribute="size"),
        Field(
            name="seconds",
            unit=Unit.SECONDS,
            meaning="From the first start; null if not started.",
            read=_running,
        ),
        Field(
            name="marked",
            unit=Unit.FLAG,
            meaning="True if the model is shown that the content was corrected or is doubtful.",
            read=lambda d: bool(d.record is not None and d.record.mark),
        ),
        _own(
            "doubtful",
            Unit.FLAG,
            "Whether the content may be wrong, so that no other call takes a value from it.",
        ),
        _CONTENT,
        _own("mark", Unit.PAYLOAD, "Note that the model is shown beside it."),
    ),
    ev.CallFound: (
        _AIM,
        _own("source", Unit.NAME, "The tool that answered.", attribute="tool"),
        _ERROR,
        _CONTENT,
    ),
    ev.CallDiagnosed: (
        _ATTEMPT,
        _own("suspect", Unit.NAME, "The tool that the diagnosis is about.", attribute="tool"),
        _own(
            "symptom",
            Unit.NAMES,
            "Class of the failure, or the kinds of what is wrong with the answer.",
        ),
        _own("hazard", Unit.CODE, "specification, invocation, execution, output or conflict."),
        _own("rule", Unit.CODE, "The rule that said so."),
        _own("confidence", Unit.RATIO, "How sure the rule is."),
        _own(
            "evidence",
            Unit.PAYLOAD,
            "Grounds of the diagnosis; names fields of arguments and answers.",
        ),
    ),
    ev.CallRecovered: (
        _own(
            "action",
            Unit.CODE,
            "retry, refresh, rebind, normalise, fallback, cross_check, verify, ask or give_up.",
        ),
        _own("follows", Unit.FLAG, "Whether another attempt follows."),
        _AIM,
        _ATTEMPT,
        _ERROR,
        _own("delay", Unit.SECONDS, "Back-off before the next attempt."),
        _own(
            "next_tool",
            Unit.NAME,
            "Tool of the next attempt, empty for the same.",
            attribute="tool",
        ),
        Field(
            name="change_count",
            unit=Unit.COUNT,
            meaning="Changes made to arguments or answer.",
            read=lambda d: len(d.event.changes) if isinstance(d.event, ev.CallRecovered) else 0,
        ),
        _own("changes", Unit.PAYLOAD, "These changes; name fields, never values."),
        _own(
            "sent",
            Unit.PAYLOAD,
            "Arguments of the next attempt, where they are its own.",
            attribute="arguments",
        ),
        _REASON,
    ),
    ev.CircuitMoved: (
        Field(
            name="circuit_tool",
            unit=Unit.NAME,
            meaning="The tool whose circuit it is.",
            read=lambda d: d.event.tool if isinstance(d.event, ev.CircuitMoved) else "",
        ),
        _own("circuit", Unit.CODE, "closed, open or half_open.", attribute="state"),
        _own("failures", Unit.COUNT, "Failures in a row."),
    ),
    ev.CallSquashed: (*_named("on", "the calls it waits for", attribute="on"), _REASON),
    ev.CallCancelled: (_REASON,),
    ev.CallsDelivered: (
        *_named("delivered", "calls whose end the model knows now", attribute="keys"),
        *_named(
            "placeholders", "calls that the model was shown as pending", attribute="placeholders"
        ),
    ),
    ev.TurnTaken: (
        _own("turn", Unit.COUNT, "Number of the turn in the run, from 1."),
        _own("message_id", Unit.NAME, "Id of the model message."),
        _own("call_count", Unit.COUNT, "Calls in the message.", attribute="calls"),
        _own("passed_over", Unit.NAMES, "Tasks that the message could have acted on and did not."),
    ),
    ev.CompletionJudged: (
        _own("verdict", Unit.CODE, "end, wait or nudge."),
        _own("tasks", Unit.NAMES, "Tasks that are unfinished."),
        _own(
            "enforced",
            Unit.FLAG,
            "Whether the verdict counted; false in shadow mode, where the run ended.",
        ),
        _REASON,
    ),
    ev.RunParked: _named("open", "the external calls that the run rests for", attribute="keys"),
    ev.RunEnded: (
        _own(
            "end",
            Unit.CODE,
            "complete, max_model_turns, tasks_stopped or direct_return.",
            attribute="reason",
        ),
        _own("turns", Unit.COUNT, "Model turns of the run."),
    ),
}


_ABOUT_CALLS = (ev.CallEvent, ev.CallProposed)
FIELDS: Mapping[str, tuple[Field, ...]] = {
    event.kind: (
        *ENVELOPE,
        *(CALL if issubclass(event, _ABOUT_CALLS) else ()),
        *_OWN_FIELDS[event],
    )
    for event in ev.EVENT_TYPES
}
"""Fields of a record in the order in which they are written, by event kind."""
