"""The folder and databases of a case."""

from dataclasses import dataclass
from pathlib import Path

from reliability.cases import Case, Database

THREADS = "threads.db"
"""The checkpoints of the README's agents."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Folder and databases of a case."""

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
        """Return the store of the threads."""
        return self.url if database is Database.POSTGRES else str(self.folder)

    def journal(self, case: Case) -> str:
        """Return the store of a case's journal; the README's agents open it themselves, next to their checkpoints."""
        name = f"{THREADS}.effects" if case.shown else "journal.sqlite"
        return self.url if case.database is Database.POSTGRES else str(self.folder / name)
