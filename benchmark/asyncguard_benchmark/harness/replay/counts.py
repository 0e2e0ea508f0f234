"""Counts of replayed episodes: kept one a line in a file, and summed."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import cut_line
from asyncguard_benchmark.harness.replay.play import Outcome


@dataclass(kw_only=True)
class Sum:
    """Counts of several episodes."""

    counts: Counter[str] = field(default_factory=Counter)
    """The numbers of `Outcome`, and ``episodes``."""
    ended: Counter[str] = field(default_factory=Counter)
    guards: dict[str, Counter[str]] = field(default_factory=dict)
    pairs: Counter[str] = field(default_factory=Counter)
    early: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Add an episode."""
        self.counts["episodes"] += 1
        for item in fields(outcome):
            if isinstance(value := getattr(outcome, item.name), int):
                self.counts[item.name] += value
        self.ended[outcome.ended] += 1
        for guard, counts in outcome.guards.items():
            self.guards.setdefault(guard, Counter()).update(counts)
        self.pairs.update(outcome.pairs)
        self.early.update(outcome.early)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        # asdict would count the items of a Counter.
        return {
            "counts": dict(self.counts),
            "ended": dict(self.ended),
            "guards": {guard: dict(counts) for guard, counts in self.guards.items()},
            "pairs": dict(self.pairs),
            "early": dict(self.early),
        }


class CountsFile:
    """A file of episodes that is added to; a context manager. ``None`` as path keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        """Read what is there, and drop an unfinished last line.

        Raises:
            DataError: Another line is not an episode, or the file is of another kind; it stays as it is.
        """
        self.known: dict[str, Outcome] = {}
        """Episodes by key."""
        self._file = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes() if path.exists() else b""
        data = data.removesuffix(cut_line(path, data, [b'{"key": "']))
        for number, line in enumerate(data.splitlines(), 1):
            try:
                row = json.loads(line)
                self.known[row["key"]] = Outcome(**row["outcome"])
            except (ValueError, KeyError, TypeError):
                raise DataError(f"{path}:{number}", "is not a replayed episode") from None
        self._file = path.open("r+b" if path.exists() else "wb")
        self._file.truncate(len(data))
        self._file.seek(0, 2)
        if data and not data.endswith(b"\n"):
            self._file.write(b"\n")

    def add(self, key: str, about: Mapping[str, Any], outcome: Outcome) -> None:
        """Append an episode.

        Args:
            key: Its key.
            about: Which one it is.
            outcome: What came of it.
        """
        self.known[key] = outcome
        if self._file is not None:
            row = {"key": key, **about, "outcome": asdict(outcome)}
            self._file.write(json.dumps(row).encode() + b"\n")
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()


def summed(outcomes: Iterable[Outcome]) -> Sum:
    """Return the sum of episodes."""
    total = Sum()
    for outcome in outcomes:
        total.add(outcome)
    return total
