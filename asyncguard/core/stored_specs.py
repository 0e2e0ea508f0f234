"""Declarations as a thread keeps them, and their merge with the present ones.

A process that resumes a thread may have to decide about calls before it has met the tools, and the
tools may have changed since the calls were begun. So the thread keeps the part of each declaration
that is plain JSON and says what may be repeated and asked; functions and schemas are left out.
"""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from typing import Any

from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import Fallback, Source, ToolSpec
from asyncguard.errors import DeclarationError

# Fields that decide about repetition, questions to people and side queries, and what a call that
# was deferred is judged by when it is released. A field that is missing
# here has its default in a process that has not met the tool.
_KEPT = (
    "effect",
    "mode",
    "probe",
    "contract",
    "key_argument",
    "token_argument",
    "atomic",
    "destructive",
    "approval",
    "trusted_output",
    "interrupts",
    "fallbacks",
    "sources",
    "verifier",
    "free",
)
_DEFAULTS = {item.name: item.default for item in fields(ToolSpec) if item.default is not MISSING}


def to_json(spec: ToolSpec) -> dict[str, Any]:
    """Return the kept part of a declaration as plain JSON, without default values."""
    kept = ((name, getattr(spec, name)) for name in _KEPT)
    return {name: _plain(value) for name, value in kept if value != _DEFAULTS[name]}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    # An enum member becomes plain text: a saver would store it as an object of its class.
    return str(value) if isinstance(value, str) else value


def from_json(name: str, data: Mapping[str, Any]) -> ToolSpec:
    """Return the declaration that :func:`to_json` wrote; the cautious default if it cannot be read.

    Args:
        name: Name of the tool.
        data: Fields as the thread keeps them; those of a newer version are ignored.
    """
    values = {field: value for field, value in data.items() if field in _KEPT}
    try:
        for field, kind in (("fallbacks", Fallback), ("sources", Source)):
            values[field] = [kind(**item) for item in values.get(field, ())]
        if isinstance(verifier := values.get("verifier"), Mapping):
            values["verifier"] = Fallback(**verifier)
        return ToolSpec(name=name, **values)
    # What this version cannot read must not make a call repeatable.
    except (DeclarationError, TypeError):
        return ToolSpec(name=name)


def cautious(met: ToolSpec, kept: ToolSpec) -> ToolSpec:
    """Return the declaration of a tool for calls that were begun under another one.

    It is the present one, except that a call is repeatable only if both declarations say so.

    Args:
        met: Present declaration.
        kept: Declaration when the calls were made.
    """
    # Another probe may know nothing of attempts that were made under the old declaration.
    probe = met.probe if met.probe == kept.probe else None
    effect = met.effect
    if met.effect is not kept.effect:
        # The first attempt may have had no key, so a present ``keyed`` makes nothing repeatable.
        both = met.effect.renewable and kept.effect.repeatable
        effect = EffectClass.IDEMPOTENT if both else EffectClass.AT_MOST_ONCE
    if effect is EffectClass.PROBED and probe is None:
        effect = EffectClass.AT_MOST_ONCE
    atomic = met.atomic and kept.atomic
    if (effect, probe, atomic) == (met.effect, met.probe, met.atomic):
        return met
    return replace(met, effect=effect, probe=probe, atomic=atomic)


def gone(kept: ToolSpec) -> ToolSpec:
    """Return the declaration of a tool that the agent no longer has: no repeats and no probe."""
    if kept.effect is EffectClass.PURE:
        return kept
    return replace(kept, effect=EffectClass.AT_MOST_ONCE, probe=None)
