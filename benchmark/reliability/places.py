"""Where a case is played, and what lies there."""

from dataclasses import dataclass
from pathlib import Path

from reliability.cases import Case, Database

THREADS = "threads.db"
"""The checkpoints of the README's agents."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a case is played."""

    folder: Path
    """Evidence, and the databases of SQLite."""
    url: str = ""
    """The server's database, for PostgreSQL."""

    @property
    def effects(self) -> Path:
        """The effect log."""
        return self.folder / "effects.jsonl"

    @property
    def state(self) -> Path:
        """The final thread."""
        return self.folder / "state.json"

    def stores(self, database: Database) -> str:
        """Where threads are kept."""
        return self.url if database is Database.POSTGRES else str(self.folder)

    def journal(self, case: Case) -> str:
        """Where the journal of a case is kept; the README's agents make it themselves, beside their checkpoints."""
        name = f"{THREADS}.effects" if case.shown else "journal.sqlite"
        return self.url if case.database is Database.POSTGRES else str(self.folder / name)
