from typing import Any, Dict, Optional  # noqa: UP035 - the published tools are written for Python 3.9


def find_order(order_id: str) -> Dict[str, Any]:  # noqa: UP006
    """Find an order of paper.

    Args:
        order_id: Number of the order, as in P-100.

    Returns:
        Name of the pack and number of packs.
    """
    known = {"P-204": ("A4-500", 6)}
    pack, packs = known.get(order_id.strip().upper(), ("A4-500", 1))
    return {
        "ok": True,
        "source": "rule-engine",
        "provider": "orders",
        "confidence": 0.9,
        "error": None,
        "pack": pack,
        "packs": packs,
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
