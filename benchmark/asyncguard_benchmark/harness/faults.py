"""Faults as values: plain data that a composition carries, so that a saved episode names the faults it met."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from asyncguard_benchmark.harness.saved_form import Count, Real, Truth, Whole, saved_form

MOST_SEVERE = 3


class Hazard(StrEnum):
    """The five ways in which a tool lets its caller down."""

    SPECIFICATION = "specification"
    """Its contract is another than declared: fields, types, shapes or units."""
    INVOCATION = "invocation"
    """The call arrives mangled and is refused."""
    EXECUTION = "execution"
    """The tool, or the way to it, breaks."""
    OUTPUT = "output"
    """The answer is malformed, incomplete or dressed up."""
    CONFLICT = "conflict"
    """Sources that should agree do not."""

    @property
    def passes(self) -> bool:
        """Return True if it is over after some calls; otherwise it lasts for the whole run."""
        return self in (Hazard.EXECUTION, Hazard.INVOCATION)


class Failpoint(StrEnum):
    """The places that every call passes, in this order."""

    BEFORE_TOOL_LOGIC = "before_tool_logic"
    """The request has arrived; nothing was checked."""
    BEFORE_EXTERNAL_CALL = "before_external_call"
    """The arguments were accepted; nothing has happened."""
    AFTER_EXTERNAL_CALL_BEFORE_PARSE = "after_external_call_before_parse"
    """The effect has happened, and what came back was not looked at."""
    BEFORE_WRAPPER_TRANSFORM = "before_wrapper_transform"
    """The result is about to be put into the form of the contract."""
    AFTER_WRAPPER_TRANSFORM = "after_wrapper_transform"
    """It has the form of the contract."""
    BEFORE_RETURN = "before_return"
    """It is about to be written as text."""
    BEFORE_CHECKPOINT_WRITE = "before_checkpoint_write"
    """The answer is about to be kept; if this fails, the caller never sees it."""


class Profile(StrEnum):
    """Help that comes with the first strange answer."""

    STRICT = "strict"
    GUIDED = "guided"
    """The first one comes with a hint at what is wrong, never with the answer."""


@saved_form()
@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault, put on one tool of one sub-task."""

    task: str
    """Id of the sub-task."""
    hazard: Hazard
    mode: str
    """Name of the drift mode."""
    tool: str
    """The tool that is hit."""
    site: str = ""
    """JSON pointer into its arguments or its result, as the mode says; empty for the whole."""
    failpoint: Failpoint
    """Failpoint at which it strikes."""
    severity: Whole = 1
    """From 1 to 3: calls that are hit, where the hazard passes; else how far the answer is off, as the mode says."""
    profile: Profile = Profile.STRICT
    seed: Whole = 0
    """Decides whatever a mode leaves open."""
    rate: Real = 1.0
    """Share of the opportunities that are taken; 1 takes all."""

    def __post_init__(self) -> None:
        if not 1 <= self.severity <= MOST_SEVERE:
            raise ValueError(f"the severity of a fault is 1 to {MOST_SEVERE}, not {self.severity}")
        if not 0 < self.rate <= 1:
            raise ValueError(f"the rate of a fault is above 0 and at most 1, not {self.rate}")


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the parts: the same in every arm, thread and process."""
    text = "|".join(("v1", *map(str, parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def taken(fault: Fault, slot: int) -> bool:
    """Return True if a fault takes an opportunity.

    Args:
        fault: The fault.
        slot: Of a hazard that passes, how many calls of the tool came to the failpoint before, whatever their
            arguments; of one that lasts, always 0. Rewriting a request leads to no other slot.
    """
    if fault.hazard.passes and slot >= fault.severity:
        return False
    return draw(fault.seed, fault.task, fault.tool, fault.failpoint.value, slot) < fault.rate


@saved_form()
@dataclass(frozen=True, kw_only=True)
class Firing:
    """A fault that struck a call; for scorers, never shown to agent or runtime."""

    call: Count
    """Number of the call in the trajectory."""
    task: str
    tool: str
    failpoint: Failpoint
    mode: str
    attempt: Annotated[int, Field(strict=True, ge=1)]
    """Number of times the fault had struck by then, this time included."""
    retryable: Truth
    """True if the same call gets through when it is repeated often enough."""
