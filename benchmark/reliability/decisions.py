"""The decisions about open calls, written down by each process of a case."""

import json
import os
from dataclasses import astuple
from enum import Enum
from pathlib import Path
from typing import Any

from asyncguard.core import resume_policy
from asyncguard.core.resume_terms import Facts
from asyncguard.runtime.resume import resolve


def note_decisions(path: Path) -> None:
    """Have this process write every decision about an open call into a file, one line each.

    Args:
        path: Shared by the processes of a case; a line that a kill cuts off is not read.
    """
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def noted(facts: Facts) -> resume_policy.Decision:
        decision = resume_policy.decide(facts)
        values = [
            value.value if isinstance(value, Enum) else int(value) for value in astuple(facts)
        ]
        told = ["/".join(map(str, values)), decision.fate.value, decision.rule]
        os.write(file, f"{json.dumps(told)}\n".encode())
        return decision

    asker: Any = resolve
    asker.decide = noted


def read_decisions(path: Path) -> list[list[str]]:
    """Return the facts, fate and row of each decision of a case, equal ones once."""
    found: set[tuple[str, str, str]] = set()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            facts, fate, rule = json.loads(line)
        except ValueError:
            continue
        found.add((facts, fate, rule))
    return sorted(map(list, found))
