"""An order: a job as plain JSON, as an agent writes it and a worker reads it; and the answer to it.

Both are one JSON text with ASCII characters only, so that no database, driver or serializer on the way changes what it
carries. Nothing here is ever unpickled or imported by name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.calls import fingerprint
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result
from asyncguard.errors import CallerError
from asyncguard.journal.codec import result_from_json, result_to_json
from asyncguard.journal.intent import Intent
from asyncguard.runtime.executors.port import Job

_FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What a worker has to know to ask the journal; only orders whose tool has an effect carry it."""

    journal: str
    """Identity of the journal that the agent's calls are written down in; the worker has to have the same."""
    session: str
    """Id of the thread."""
    namespace: str
    """Path of the agent among agents."""
    label: str
    """How people and models name the call."""
    effect: EffectClass
    """What may be repeated."""
    allowed: bool = False
    """Whether it may begin although an equal call is in doubt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteJob:
    """One attempt of one call, to be made by a worker."""

    key: str
    """Key of the call."""
    attempt: int
    """From 1."""
    tool: str
    """The tool to run."""
    task: str
    """Task of the call."""
    call_id: str
    """The provider's id of the call."""
    arguments: Mapping[str, Any]
    """Plain JSON, without injected ones."""
    fingerprint: str
    """Hash of tool and canonical arguments; comes back with the answer, so that no answer is taken for another's."""
    timeout: float | None
    """Seconds from the beginning of the tool."""
    effect: Effect | None
    """``None`` for what may be repeated without asking anybody."""

    @property
    def id(self) -> str:
        """Name of the order in the queue; one attempt of one call is one order, however often it is sent."""
        return order_id(self.key, self.attempt)

    def intent(self) -> Intent:
        """What the journal is asked before the tool runs; only of an order with an effect."""
        assert self.effect is not None  # the caller looks
        return Intent(
            session=self.effect.session,
            namespace=self.effect.namespace,
            task=self.task,
            label=self.effect.label,
            key=self.key,
            attempt=self.attempt,
            tool=self.tool,
            effect=self.effect.effect,
            arguments=self.arguments,
            fingerprint=self.fingerprint,
            timeout=self.timeout,
            allowed=self.effect.allowed,
            remote=True,
        )


def order_id(key: str, attempt: int) -> str:
    """Name of an attempt in the queue."""
    return f"{key}.{attempt}"


def order_of(job: Job, journal: str) -> RemoteJob:
    """A job as an order.

    Args:
        job: The job; its code stays behind.
        journal: Identity of the agent's journal.
    """
    intent = job.intent
    effect = None
    if intent is not None:
        effect = Effect(
            journal=journal,
            session=intent.session,
            namespace=intent.namespace,
            label=intent.label,
            effect=intent.effect,
            allowed=intent.allowed,
        )
    return RemoteJob(
        key=job.key,
        attempt=job.attempt,
        tool=job.tool,
        task=job.task,
        call_id=job.call_id,
        arguments=job.arguments,
        fingerprint=intent.fingerprint
        if intent is not None
        else fingerprint(job.tool, job.arguments),
        timeout=job.timeout,
        effect=effect,
    )


def order_to_json(order: RemoteJob) -> str:
    """The order as text.

    Raises:
        CallerError: Its arguments are no JSON.
    """
    effect = order.effect
    data = {
        "format": _FORMAT,
        "key": order.key,
        "attempt": order.attempt,
        "tool": order.tool,
        "task": order.task,
        "call_id": order.call_id,
        "arguments": order.arguments,
        "fingerprint": order.fingerprint,
        "timeout": order.timeout,
        "effect": None
        if effect is None
        else {
            "journal": effect.journal,
            "session": effect.session,
            "namespace": effect.namespace,
            "label": effect.label,
            "effect": effect.effect.value,
            "allowed": effect.allowed,
        },
    }
    try:
        return json.dumps(data)
    except (TypeError, ValueError) as error:
        raise CallerError(
            f"The arguments of {order.tool!r} are no plain JSON ({type(error).__name__}), so no worker can get them; "
            f"name the tool in local=."
        ) from error


def order_from_json(text: str) -> RemoteJob:
    """The order that :func:`order_to_json` wrote.

    Raises:
        CallerError: It is none, or a newer version wrote it.
    """
    try:
        data = json.loads(text)
        if data["format"] != _FORMAT:
            raise CallerError(
                f"The order has the format {data['format']!r}, this worker knows {_FORMAT}; upgrade it."
            )
        effect = data["effect"]
        return RemoteJob(
            key=_text(data["key"]),
            attempt=int(data["attempt"]),
            tool=_text(data["tool"]),
            task=_text(data["task"]),
            call_id=_text(data["call_id"]),
            arguments=dict(data["arguments"]),
            fingerprint=_text(data["fingerprint"]),
            timeout=None if data["timeout"] is None else float(data["timeout"]),
            effect=None if effect is None else _effect(effect),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CallerError(
            f"The order cannot be read ({type(error).__name__}); it was not written here."
        ) from error


def _effect(data: Mapping[str, Any]) -> Effect:
    return Effect(
        journal=_text(data["journal"]),
        session=_text(data["session"]),
        namespace=_text(data["namespace"]),
        label=_text(data["label"]),
        effect=EffectClass(data["effect"]),
        allowed=data.get("allowed") is True,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def answer_to_json(fingerprint: str, result: Result) -> str:
    """A result as the text that goes back.

    Args:
        fingerprint: Of the order; empty if it could not be read.
        result: How the attempt ended. What of it is no JSON is told by its text.
    """
    return json.dumps(
        {"format": _FORMAT, "fingerprint": fingerprint, "result": result_to_json(result)},
        default=str,
    )


def answer_from_json(text: str, fingerprint: str) -> Result:
    """The result of an order.

    Args:
        text: What :func:`answer_to_json` wrote.
        fingerprint: Of the order that was sent.

    Returns:
        The result; a failure if the answer belongs to another order, which was sent under the same key before.

    Raises:
        CallerError: The text is no answer.
    """
    try:
        data = json.loads(text)
        answered, result = _text(data["fingerprint"]), result_from_json(data["result"])
    except (KeyError, TypeError, ValueError) as error:
        raise CallerError(
            f"The answer of a worker cannot be read ({type(error).__name__})."
        ) from error
    if answered in (fingerprint, ""):
        return result
    message = "This call was sent to a worker before with another tool or other arguments; make it as a new call."
    return Failure(
        symptom=Symptom(
            error=ErrorCode.CONFLICTING_ORDER, message=message, transient=False, started=False
        )
    )
