import json
import os
from typing import Any, Dict, Optional  # noqa: UP035 - the published tools are written for Python 3.9

strict_no_hint_profile = {
    "before_tool_logic": {
        "enabled": True,
        "probability": 1.0,
        "max_times": 2,
        "exception_type": "TimeoutError",
        "drift_mode": None,
    },
    "before_return": {
        "enabled": False,
        "probability": 0.0,
        "max_times": 0,
        "exception_type": "RuntimeError",
        "drift_mode": None,
    },
}
guided_with_hint_profile = {
    "before_tool_logic": {
        "enabled": True,
        "probability": 1.0,
        "max_times": 1,
        "exception_type": "TimeoutError",
        "drift_mode": None,
    },
}
EXCEPTION_HINTS = {
    "find_order::before_tool_logic": {
        "exception_category": "Execution Uncertainty",
        "failpoint": "before_tool_logic",
        "exception_type": "TimeoutError",
        "drift_mode": None,
        "minimal_prompt_hint": "Call find_order again with the same arguments, up to three times.",
        "detailed_prompt_hint": "",
    },
}
_CONFIG = json.loads(os.environ.get("INJECTION_CONFIG_JSON", "{}"))
_COUNTS: Dict[str, int] = {}  # noqa: UP006


def set_injection_config(config: Dict[str, Any]) -> None:  # noqa: UP006
    """Choose a profile."""
    _CONFIG.clear()
    _CONFIG.update(config)


def maybe_inject(
    failpoint: str, payload: dict[str, Any], context: dict[str, Any]
) -> Dict[str, Any]:  # noqa: UP006
    """Raise what the profile says, as often as it says."""
    control = _CONFIG.get("profiles", {}).get(_CONFIG.get("profile_name"), {}).get(failpoint, {})
    key = f"{context['tool_name']}::{failpoint}"
    if not control.get("enabled") or _COUNTS.get(key, 0) >= control["max_times"]:
        return payload
    _COUNTS[key] = _COUNTS.get(key, 0) + 1
    raise TimeoutError(f"injected at {key}, seed {os.environ.get('FAIL_SEED')}")


def find_order(order_id: str) -> Dict[str, Any]:  # noqa: UP006
    """Find an order of paper.

    Args:
        order_id: Number of the order, as in P-100.

    Returns:
        Name of the pack and number of packs.
    """
    maybe_inject("before_tool_logic", {"order_id": order_id}, {"tool_name": "find_order"})
    return {
        "ok": True,
        "source": "rule-engine",
        "provider": "orders",
        "confidence": 0.9,
        "error": None,
        "pack": "A4-500",
        "packs": 6 if order_id.strip().upper() == "P-204" else 1,
        "evidence": [order_id],
        "unsupported_fields": [],
        "final_value": None,
    }


def count_sheets(pack: str, packs: int, spare: Optional[int] = 0) -> Dict[str, Any]:  # noqa: UP006, UP045
    """Count the sheets in some packs.

    Args:
        pack: Name of the pack; it ends in its number of sheets.
        packs: How many packs.
        spare: Sheets beside them.

    Returns:
        The number of sheets.
    """
    sheets = int(pack.rsplit("-", 1)[1]) * packs + (spare or 0)
    return {
        "ok": True,
        "source": "rule-engine",
        "provider": "packs",
        "confidence": 0.9,
        "error": None,
        "sheets": sheets,
        "evidence": [pack],
        "unsupported_fields": [],
        "final_value": sheets,
    }
