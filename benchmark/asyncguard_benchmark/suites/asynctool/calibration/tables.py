"""The figures that the paper prints, by table and model.

``data/paper_tables.json`` holds them as printed, in per cent, and lists the misprints that were found; a misprinted
figure is left out here, so that nothing is fitted to it or compared with it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.scenario import Kind, Regime
from asyncguard_benchmark.suites.asynctool.calibration.figures import (
    MAIN_COLUMNS,
    ROUNDS_COLUMNS,
    SPLIT_COLUMNS,
    Figures,
)

_FILE = "paper_tables.json"
_TABLES: Mapping[Regime, str] = {
    Regime.FIXED1: "main_delay1",
    Regime.FIXED2: "delay2",
    Regime.RANDOM01: "delay_random_0_1",
    Regime.RANDOM12: "delay_random_1_2",
}
_SYNC_COLUMNS = {"s2": "similar2", "c2": "cross2", "s3": "similar3", "c3": "cross3"}
"""Columns of the table without delay, and what they are called here."""
_MISPRINTS = frozenset({(Regime.FIXED2, "gpt-4.1", "subtask_acc")})
"""Figures that contradict the others of their row."""
_PAPER_SIZES = {Kind.S2: (2, 120), Kind.C2: (2, 132), Kind.S3: (3, 240), Kind.C3: (3, 220)}
"""Sub-tasks and number of the paper's compositions by kind."""
LEAST_SOLVED = 10
"""Solved compositions below which a published mean of rounds is too uncertain to fit to: its standard error is near 0.7
rounds then. It is compared all the same."""


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """One model of the main table."""

    key: str
    """Its name on a command line."""
    name: str
    """Its name as printed."""
    by_regime: Mapping[Regime, Figures]
    """Published figures; for the main regime with the columns by kind."""
    rounds: Figures = field(default_factory=dict)
    """Rounds on success at `fixed1`; empty for models of which none are published."""

    @property
    def target(self) -> Figures:
        """Target of the fit of a persona: the main row, and the rounds that do not rest on a handful of runs."""
        return {
            **self.main,
            **{c: v for c, v in self.rounds.items() if self.solved(c) >= LEAST_SOLVED},
        }

    def solved(self, rounds_column: str) -> float:
        """Return the number of solved compositions that a figure of rounds is the mean of, by the published scores."""
        size = ROUNDS_COLUMNS[rounds_column]
        return sum(
            count * self.main[column] / 100
            for column, kind in SPLIT_COLUMNS.items()
            for sized, count in (_PAPER_SIZES[kind],)
            if sized == size
        )

    @property
    def main(self) -> Figures:
        """The row of the main table, with overall by kind of composition."""
        return self.by_regime[Regime.FIXED1]


def key_of_model(name: str) -> str:
    """Return a model's printed name as a command line has it: ``GPT-4.1`` is ``gpt-4.1``."""
    return name.lower().removesuffix("-ins.").replace(" ", "-")


@cache
def published_models() -> tuple[PublishedModel, ...]:
    """Return the models of the main table, in its order.

    Raises:
        DataError: the file is missing a table or a column.
    """
    tables = json.loads(
        (files("asyncguard_benchmark") / "data" / _FILE).read_text(encoding="utf-8")
    )
    try:
        return tuple(_model(row["model"], tables) for row in tables["main_delay1"])
    except KeyError as missing:
        raise DataError(_FILE, f"{missing} is missing") from missing


def _model(name: str, tables: Mapping[str, Any]) -> PublishedModel:
    key = key_of_model(name)
    found: dict[Regime, Figures] = {}
    for regime, table in _TABLES.items():
        row = _row(tables[table], name)
        if row is not None:
            found[regime] = {c: row[c] for c in MAIN_COLUMNS if (regime, key, c) not in _MISPRINTS}
    split = _row(tables["by_split"], name)
    if split is not None:
        found[Regime.FIXED1] = {
            **found[Regime.FIXED1],
            **{column: split[column] for column in SPLIT_COLUMNS},
        }
    sync = _row(tables["sync_task_count"], name)
    if sync is not None:
        found[Regime.SYNC] = {ours: sync[theirs] for theirs, ours in _SYNC_COLUMNS.items()}
    taken = _row(tables["rounds_on_success"], name) or {}
    rounds = {column: taken[f"tasks{size}"] for column, size in ROUNDS_COLUMNS.items() if taken}
    return PublishedModel(key=key, name=name, by_regime=found, rounds=rounds)


def _row(table: Any, name: str) -> Mapping[str, Any] | None:
    return next((row for row in table if row["model"] == name), None)
