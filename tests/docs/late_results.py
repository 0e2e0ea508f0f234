"""The reader of late results that docs/ui-contract.md shows."""

from typing import Any

from tests.docs.markdown import fences, read


def _documented() -> Any:
    page = fences(read("docs/ui-contract.md"))
    (block,) = [each for each in page if "def late_results" in each.text]
    names: dict[str, Any] = {}
    exec(block.text, names)
    return names["late_results"]


LATE_RESULTS = _documented()
"""Maps the ids of calls to the texts of the results that a message brings."""
