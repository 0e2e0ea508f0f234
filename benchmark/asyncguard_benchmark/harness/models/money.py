"""Amounts of money as text."""

import math


def dollars(amount: float, decimals: int = 2) -> str:
    """Return an amount for people; below a cent two digits say how much it is.

    Args:
        amount: US dollars.
        decimals: Decimals from a cent on.
    """
    if not amount:
        return "0"
    digits = 1 - math.floor(math.log10(amount)) if 0 < amount < 0.01 else decimals
    return f"{amount:,.{max(digits, decimals)}f}"
