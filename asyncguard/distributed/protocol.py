"""Protocol between agent and worker: an order, which is a job as plain JSON, and its answer.

Both are one JSON text with ASCII characters only, so that no database, driver or serializer on the
way changes its content. Nothing is ever unpickled or imported by name.
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
    """Facts that a worker needs to ask the journal.

    Only orders of tools with an effect carry them.
    """

    journal: str
    """Identity of the journal that records the agent's calls; the worker must have the same."""
    session: str
    """Id of the thread."""
    namespace: str
    """Path of the agent among agents."""
    label: str
    """Name of the call for people and models."""
    effect: EffectClass
    """Effect class: what may be repeated."""
    allowed: bool = False
    """True if it may begin although an equal call is in doubt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteJob:
    """One attempt of one call, to be run by a worker."""

    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt, from 1."""
    tool: str
    """Name of the tool to run."""
    task: str
    """Task of the call."""
    call_id: str
    """The provider's id of the call."""
    arguments: Mapping[str, Any]
    """Arguments as plain JSON, without injected ones."""
    fingerprint: str
    """Hash of tool and canonical arguments.

    It comes back with the answer, so that no answer is mistaken for another's.
    """
    timeout: float | None
    """Seconds from the start of the tool."""
    effect: Effect | None
    """Effect; ``None`` for a call that may be repeated without asking the journal."""
    unapproved: bool = False
    """True if no person has approved the call, as the agent's tool needs no approval.

    The orders of a release that did not write it are taken for approved.
    """

    @property
    def id(self) -> str:
        """Name of the order in the queue: one attempt is one order, however often it is sent."""
        return order_id(self.key, self.attempt)

    def intent(self) -> Intent:
        """Return the question to the journal before the tool runs.

        The order must have an effect.
        """
        assert self.effect is not None  # checked by the caller
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
    """Return the name of an attempt in the queue."""
    return f"{key}.{attempt}"


def order_of(job: Job, journal: str) -> RemoteJob:
    """Return a job as an order.

    Args:
        job: The job; its code is left out.
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
        unapproved=job.unapproved,
    )


def order_to_json(order: RemoteJob) -> str:
    """Return the order as JSON.

    Raises:
        CallerError: Its arguments cannot be written as JSON.
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
        "unapproved": order.unapproved,
    }
    try:
        # Other values than JSON raise here; written as texts they would be other arguments.
        return json.dumps(data)
    except (TypeError, ValueError) as error:
        raise CallerError(
            f"The arguments of {order.tool!r} are not plain JSON ({type(error).__name__}), "
            "so no worker can get them; name the tool in local=."
        ) from error


def order_from_json(text: str) -> RemoteJob:
    """Return the order that :func:`order_to_json` wrote.

    Raises:
        CallerError: The text is not an order, or a newer version wrote it.
    """
    try:
        data = json.loads(text)
        # Orders wait in the queue over an upgrade, so a worker may meet those of another version.
        if data["format"] != _FORMAT:
            raise CallerError(
                f"The order has the format {data['format']!r}, this worker knows {_FORMAT}; "
                "upgrade it."
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
            unapproved=data.get("unapproved") is True,
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
    """Return a result as the JSON text that goes back.

    Args:
        fingerprint: Fingerprint of the order; empty if it could not be read.
        result: Result of the attempt. Parts that JSON cannot hold are replaced by their text.
    """
    return json.dumps(
        {"format": _FORMAT, "fingerprint": fingerprint, "result": result_to_json(result)},
        default=str,
    )


def answer_from_json(text: str, fingerprint: str) -> Result:
    """Return the result of an order.

    Args:
        text: A result of :func:`answer_to_json`.
        fingerprint: Fingerprint of the order that was sent.

    Returns:
        The result; a failure if the answer belongs to another order, which was sent under the same
        key before.

    Raises:
        CallerError: The text is not an answer.
    """
    try:
        data = json.loads(text)
        answered, result = _text(data["fingerprint"]), result_from_json(data["result"])
    except (KeyError, TypeError, ValueError) as error:
        raise CallerError(
            f"The answer of a worker cannot be read ({type(error).__name__})."
        ) from error
    if answered in (fingerprint, ""):  # empty: the worker could not read the order
        return result
    message = (
        "This call was sent to a worker before with another tool or other arguments; "
        "make it as a new call."
    )
    return Failure(
        symptom=Symptom(
            error=ErrorCode.CONFLICTING_ORDER, message=message, transient=False, started=False
        )
    )
