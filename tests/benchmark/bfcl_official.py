"""The official harness of bfcl-eval in a process of its own; started by test_bfcl_official.py, never imported.

It reads a JSON object on its standard input: entries whose truth it executes call by call, and runs that it checks; the
package lies on the import path. Nothing in it is replaced.
"""

import json
import sys
from typing import Any

from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call


def main() -> None:
    """Answer with all results of the entries and the verdicts on the runs."""
    asked = json.load(sys.stdin)
    results = [_executed(entry) for entry in asked["entries"]]
    verdicts = [_checked(number, run) for number, run in enumerate(asked["runs"])]
    json.dump({"results": results, "verdicts": verdicts}, sys.stdout)


def _executed(entry: dict[str, Any]) -> list[str]:
    texts, _ = execute_multi_turn_func_call(
        entry["calls"], entry["initial_config"], entry["involved_classes"], "replay", entry["id"]
    )
    return list(texts)


def _checked(number: int, run: dict[str, Any]) -> str:
    entry = {
        "id": f"multi_turn_base_{number}",
        "initial_config": run["initial_config"],
        "involved_classes": run["involved_classes"],
    }
    # Instances are kept under the names of model and entry (D1): both are of this run alone.
    found = multi_turn_checker(
        [[run["made"]]], [run["truth"]], entry, "multi_turn_base", f"m{number}"
    )
    return "valid" if found["valid"] else str(found["error_type"])


main()
