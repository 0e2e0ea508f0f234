"""The drift modes of ToolBench-X that can be applied from outside a tool, to its arguments or to its answer.

Where a mode strikes is told by the failpoint: before the tool it bends the arguments, after it the answer. It bends one
field, the first that carries content. Three modes cannot be applied without knowing what a value means; a schedule that
has one of them is played with the modules' own injection or not at all.
"""

from collections.abc import Callable, Mapping
from typing import Any

ENVELOPE = frozenset(
    {
        "ok",
        "source",
        "provider",
        "confidence",
        "error",
        "evidence",
        "unsupported_fields",
        "final_value",
    }
)
"""Fields that every answer has; drift strikes another where there is one."""
NEEDS_MEANING = frozenset({"semantic_unit_drift", "alias_not_canonical", "implicit_defaults"})
"""Another unit, another name, another default: which one would be right for a value, nothing here can know."""

Fields = dict[str, Any]


def bend(mode: str, value: Any) -> Any:
    """Apply a drift to arguments or to an answer.

    Args:
        mode: One of ``DRIFT_MODES``, none of ``NEEDS_MEANING``.
        value: Left as it is; an answer that is not an object is bent as a whole.
    """
    if isinstance(value, Mapping):
        return _MODES[mode](dict(value), _struck(value)) if value else {}
    return _MODES[mode]({"value": value}, "value").get("value")


def _struck(value: Mapping[str, Any]) -> str:
    return next((name for name in value if name not in ENVELOPE), next(iter(value)))


def _renamed(value: Fields, name: str) -> Fields:
    return {f"{key}_v2" if key == name else key: item for key, item in value.items()}


def _dropped(value: Fields, name: str) -> Fields:
    return {key: item for key, item in value.items() if key != name}


def _retyped(value: Fields, name: str) -> Fields:
    item = value[name]
    return {**value, name: [item] if isinstance(item, str) else str(item)}


def _nested(value: Fields, name: str) -> Fields:
    return {**value, name: {"value": value[name]}}


def _cut_and_turned(value: Fields, name: str) -> Fields:
    return dict(reversed(_dropped(value, name).items()))


def _in_words(form: str) -> Callable[[Fields, str], Fields]:
    return lambda value, name: {**value, name: form.format(value[name])}


_MODES: Mapping[str, Callable[[Fields, str], Fields]] = {
    "field_rename_drift": _renamed,
    "rename_fields": _renamed,
    "type_drift": _retyped,
    "coerce_types": _retyped,
    "shape_drift": _nested,
    "drop_fields": _dropped,
    "truncate_or_reorder_payload": _cut_and_turned,
    "unit_or_currency_wrapper": _in_words("{} units"),
    "label_plus_value_format": _in_words("Result: {}"),
    "explanation_appended": _in_words("{} (as far as the records at hand go)"),
}
DRIFT_MODES = frozenset(_MODES) | NEEDS_MEANING
"""All that a file may name."""
