"""How many examples hypothesis tries: an eighth in the fast tests, all of them beside the slow ones."""

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""True where all examples are tried, as `make slow` says."""


def examples(thorough: int) -> int:
    """Return the number of examples for this run.

    Args:
        thorough: Number of examples where time does not count.
    """
    return thorough if THOROUGH else -(-thorough // 8)
