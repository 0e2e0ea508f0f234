"""The intent: the journal's entry of an attempt before it begins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.footprints import EffectClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """One attempt of one call, as it is written down before it begins."""

    session: str
    """Id of the thread, as it stands in its state."""
    thread_id: str = ""
    """The caller's id of the thread for messages, empty if there is none or a worker asks."""
    namespace: str
    """Path of the agent among agents."""
    task: str
    """Task of the call."""
    label: str
    """Name of the call in texts for people and models."""
    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt, from 1."""
    tool: str
    """Tool of the attempt; not the called tool in a fallback."""
    effect: EffectClass
    """Effect class of the tool, which says if the attempt may be repeated."""
    arguments: Mapping[str, Any]
    """Arguments of the attempt, without injected ones; plain JSON."""
    fingerprint: str
    """Hash of tool and canonical arguments of the attempt."""
    timeout: float | None = None
    """Seconds until the attempt is given up."""
    token: str | None = None
    """Delivery token of an external call; only its hash is kept."""
    allowed: bool = False
    """True if it may begin although an equal call is in doubt: a person has approved that."""
    remote: bool = False
    """True if a worker asks, which runs calls of threads that it does not hold."""
