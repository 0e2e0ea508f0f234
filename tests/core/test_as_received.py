"""Arguments that differ in their spelling alone are the same call."""

from typing import Any

import pytest

from asyncguard.core.calls import as_received

PARAMETERS = {
    "properties": {
        "amount": {"type": "integer"},
        "price": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.]+$"}]},
        "rate": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "urgent": {"type": "boolean", "default": False},
        "note": {"type": "string"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "odd": True,
        "listed": {"type": ["integer", "null"]},
        "texts": {"type": ["string", "integer"]},
        "named": {"$ref": "#/$defs/Amount"},
        "count": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+$"}]},
        "sent": {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^yes|no$"}]},
    }
}
DEFAULTS = {"rate": None, "urgent": False}


@pytest.mark.parametrize(
    ("given", "received"),
    [
        ({"amount": 30}, {"amount": 30, "rate": None, "urgent": False}),
        ({"amount": "30", "urgent": False}, {"amount": 30, "rate": None, "urgent": False}),
        (
            {"amount": 30, "rate": "1.5", "urgent": "True"},
            {"amount": 30, "rate": 1.5, "urgent": True},
        ),
        ({"price": "12.50"}, {"price": 12.5, "rate": None, "urgent": False}),
        ({"amount": "thirty"}, {"amount": "thirty", "rate": None, "urgent": False}),
        ({"amount": "true", "urgent": "1"}, {"amount": "true", "rate": None, "urgent": "1"}),
        (
            {"note": "30", "either": "30"},
            {"note": "30", "either": "30", "rate": None, "urgent": False},
        ),
        ({"odd": "30", "other": "30"}, {"odd": "30", "other": "30", "rate": None, "urgent": False}),
        ({"listed": "3", "texts": "3"}, {"listed": 3, "texts": "3", "rate": None, "urgent": False}),
        ({"count": "01", "sent": "Yes"}, {"count": 1, "sent": True, **DEFAULTS}),
        ({"count": "+5", "sent": "off"}, {"count": 5, "sent": False, **DEFAULTS}),
        ({"count": " 5. ", "sent": "0"}, {"count": 5, "sent": False, **DEFAULTS}),
        ({"count": "x", "sent": "maybe"}, {"count": "x", "sent": "maybe", **DEFAULTS}),
        ({"count": "9" * 5000}, {"count": "9" * 5000, **DEFAULTS}),
        ({"named": "3"}, {"named": "3", "rate": None, "urgent": False}),
        ({"amount": "[" * 100_000}, {"amount": "[" * 100_000, "rate": None, "urgent": False}),
        ({"amount": [30]}, {"amount": [30], "rate": None, "urgent": False}),
    ],
)
def test_arguments_are_read_as_the_tool_receives_them(
    given: dict[str, Any], received: dict[str, Any]
) -> None:
    """Defaults count, and so do numbers and truth values in quotes where the schema takes no text."""
    assert as_received(given, PARAMETERS) == received


def test_without_a_schema_nothing_changes() -> None:
    """Nothing is known of the tool."""
    assert as_received({"amount": "30"}, None) == {"amount": "30"}
