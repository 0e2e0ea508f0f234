from typing import Any, Dict  # noqa: UP035 - the published tools are written for Python 3.9

strict_no_hint_profile = {
    "failpoints": {
        "before_return": {
            "enabled": True,
            "probability": 1.0,
            "max_times": 1,
            "exception_type": "ValueError",
            "drift_mode": "label_plus_value_format",
        },
    },
}


def read_wing(room: str) -> Dict[str, Any]:  # noqa: UP006
    """Tell the wing of a room.

    Args:
        room: Name of the room.

    Returns:
        The wing.
    """
    return {
        "ok": True,
        "source": "rule-engine",
        "provider": "plan",
        "confidence": 0.9,
        "error": None,
        "wing": "North" if room == "Birch" else "South",
        "evidence": [room],
        "unsupported_fields": [],
        "final_value": None,
    }


def read_floor(room: str) -> Dict[str, Any]:  # noqa: UP006
    """Tell the floor of a room.

    Args:
        room: Name of the room.

    Returns:
        The floor.
    """
    return {
        "ok": True,
        "source": "rule-engine",
        "provider": "plan",
        "confidence": 0.9,
        "error": None,
        "floor": 2 if room == "Birch" else 1,
        "evidence": [room],
        "unsupported_fields": [],
        "final_value": None,
    }
