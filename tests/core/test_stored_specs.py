"""Declarations as a thread keeps them, and what counts where a tool is declared otherwise by now."""

import json
from typing import Any

import pytest

from asyncguard import EffectClass, Fallback, Mode, Source, ToolSpec
from asyncguard.core.stored_specs import cautious, from_json, gone, to_json

RICH = ToolSpec(
    name="pay",
    effect=EffectClass.PROBED,
    probe="seen",
    contract="contract",
    mode=Mode.EXTERNAL,
    token_argument="token",
    atomic=True,
    destructive=True,
    approval=True,
    trusted_output=True,
    free=("note",),
    fallbacks=(Fallback(tool="other", arguments={"b": "a"}),),
    sources=(Source(tool="one", trusted=True),),
    verifier=Fallback(tool="two"),
)
CLASSES: dict[EffectClass, ToolSpec] = {
    EffectClass.PURE: ToolSpec(name="t", effect=EffectClass.PURE),
    EffectClass.IDEMPOTENT: ToolSpec(name="t", effect=EffectClass.IDEMPOTENT),
    EffectClass.KEYED: ToolSpec(name="t", effect=EffectClass.KEYED, key_argument="key"),
    EffectClass.PROBED: ToolSpec(name="t", effect=EffectClass.PROBED, probe="seen"),
    EffectClass.AT_MOST_ONCE: ToolSpec(name="t"),
}


def test_a_declaration_survives_json() -> None:
    """A stored declaration is plain JSON, and is restored unchanged."""
    assert from_json("pay", json.loads(json.dumps(to_json(RICH)))) == RICH
    assert to_json(ToolSpec(name="t")) == {}


@pytest.mark.parametrize(
    "data", [{"effect": "odd"}, {"effect": "keyed"}, {"fallbacks": [{}]}, {"fallbacks": 3}]
)
def test_what_cannot_be_read_is_taken_with_caution(data: dict[str, Any]) -> None:
    """A damaged declaration counts as none; a field of a newer version is passed over."""
    assert from_json("t", data) == ToolSpec(name="t")
    assert from_json("t", {"effect": "pure", "tomorrow": 1}).effect is EffectClass.PURE


@pytest.mark.parametrize("met", list(EffectClass))
@pytest.mark.parametrize("kept", list(EffectClass))
def test_what_is_repeated_is_repeatable_by_both_words(met: EffectClass, kept: EffectClass) -> None:
    """A call is never made again because of one declaration alone, nor under a key that its first attempt lacked."""
    counts = cautious(CLASSES[met], CLASSES[kept])
    if met is kept:
        assert counts == CLASSES[met]
    elif counts.effect.repeatable:
        assert met.repeatable
        assert kept.repeatable
        assert met is not EffectClass.KEYED
        assert counts.effect is not EffectClass.PURE
    else:
        assert counts.effect is EffectClass.AT_MOST_ONCE
        assert counts.probe is None


def test_another_probe_is_not_asked() -> None:
    """It may know nothing of what was begun before it was declared."""
    kept = ToolSpec(name="t", effect=EffectClass.PROBED, probe="another")
    assert cautious(CLASSES[EffectClass.PROBED], kept).effect is EffectClass.AT_MOST_ONCE


def test_a_tool_that_is_gone_repeats_nothing() -> None:
    """A tool that is gone keeps its declared class only if it has no effect."""
    assert {gone(spec).effect for spec in CLASSES.values()} == {
        EffectClass.PURE,
        EffectClass.AT_MOST_ONCE,
    }
