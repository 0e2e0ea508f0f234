"""Forms in which a caller may declare a tool: more than :class:`ToolSpec` keeps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import Fallback, Invariant, Mode, Retry, Source


class Declaration(TypedDict, total=False):
    """Keyword arguments of ``guarded`` and :class:`ToolSpec`, whose fields say what they mean."""

    effect: EffectClass | str
    reads: Sequence[str] | None
    writes: Sequence[str] | None
    takes_from: Sequence[str] | None
    mode: Mode | str
    timeout: float | None
    grace: float | None
    retry: Retry | None
    fallbacks: Sequence[str | Fallback]
    probe: str | None
    result_schema: Mapping[str, Any] | None
    invariants: Sequence[Invariant]
    contract: str | None
    sources: Sequence[str | Source]
    compared: Sequence[str]
    dated: str | None
    verifier: str | Fallback | None
    tasks: Iterable[str] | None
    key_argument: str | None
    token_argument: str | None
    atomic: bool
    destructive: bool
    approval: bool
    trusted_output: bool
    interrupts: bool
    references: bool | None
    free: Sequence[str]
