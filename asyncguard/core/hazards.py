"""Failures of tools as values: what the executor saw, before anybody interprets it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """How an attempt failed."""

    error: str
    """Name of the exception class, or ``timeout``."""
    message: str
    """Text of the failure, for the model; never logged."""
    mro: tuple[str, ...] = ()
    """Names of the exception's classes, most derived first, each with its module."""
    status: int | None = None
    """HTTP status, where the exception carries one."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    transient: bool | None = None
    """What the tool itself says; ``None`` if it says nothing."""
    started: bool = True
    """Whether the effect may have begun."""
    answered: bool = False
    """Whether the tool itself answered, and said that it failed: its outcome is known."""
