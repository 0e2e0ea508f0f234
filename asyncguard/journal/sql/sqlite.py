"""The journal in an SQLite file: one machine, any number of processes.

A process lives while it holds the lock file of its process id, in the folder ``<file>.processes``;
the operating system frees that lock however the process ends.
"""

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from asyncguard.errors import JournalError, JournalLockedError
from asyncguard.journal.sql.processes import ProcessKind, register
from asyncguard.journal.sql.schema import prepare, version_of
from asyncguard.journal.sql.store import Row

_BUSY = 10.0
"""Seconds to wait for another process's transaction."""
_BUSY_STILL, _RECENT = 1.0, 2.0
"""Seconds to wait if a wait was in vain that recently: requests follow each other, and each would
wait as long again for the same lock."""
_NEW = 0.25
"""Seconds to wait for the first page of a file that another process has made."""
_PAGE = 1024
"""Bytes of a page: a commit writes whole pages, and its rows are short."""
_WORDS = {"serial": "INTEGER PRIMARY KEY", "rising": "INTEGER PRIMARY KEY AUTOINCREMENT"}
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "the file or its folder cannot be written; give this user write "
    "permission",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; its folder has to exist and to be "
    "writable",
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database; give the journal a file of its own",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_BUSY: f"another process keeps the file locked for more than {_BUSY:g} s; let "
    "that process go on, or end it, and try again",
    # Not only of a disk that fails: of a quota, and of a full one if the -shm file does not fit.
    sqlite3.SQLITE_IOERR: "the disk is full, a quota or a limit for files is reached, or the disk "
    "failed; free some space, and look at the system's log",
}


class SqliteStore:
    """One connection to a journal file."""

    poll_interval: float | None = None
    reconnect_time = 0.0

    def __init__(
        self,
        path: Path,
        kind: ProcessKind,
        *,
        create: bool = True,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Make a store; nothing is opened yet.

        Args:
            path: The file.
            kind: Role of this process.
            create: False to raise an error if the file does not exist.
            wall_clock: Unix time in seconds.
        """
        self._id = ""
        self._path = path
        self._kind = kind
        self._create = create
        self._wall_clock = wall_clock
        self._process_id = secrets.token_hex(8)
        self._connection: sqlite3.Connection | None = None
        self._lock: FileLock | None = None
        # Device and inode of the opened file, see _check_file.
        self._inode = (0, 0)
        # Seconds that the connection waits for a lock, and when it last did so in vain.
        self._patience = _BUSY
        self._locked_at = -_RECENT
        # SQLite's data_version at the last poll; it changes when another connection commits.
        self._seen_version = 0

    @property
    def id(self) -> str:
        """Identity of the file, once it is open."""
        return self._id

    @property
    def process_id(self) -> str:
        """Identity of this process; its lock cannot be lost while it lives."""
        return self._process_id

    def is_lost(self) -> bool:
        """See :class:`~asyncguard.journal.sql.store.Store`; a lock ends with its process alone."""
        return False

    def open(self) -> None:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        begins = False
        try:
            with self._translated_errors():
                self._make_file()
                self._connection = sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None)
                found = self._path.stat()
                self._inode = (found.st_dev, found.st_ino)
            # Before anything is written: not even the mode of a newer version's file is changed.
            if not version_of(self, f"The file {self._path}") and not self._create:
                raise JournalError(
                    f"The file {self._path} does not hold a journal; a run with a checkpointer "
                    "makes one."
                )
            with self._translated_errors():
                # Takes effect on a new file only, and there only before the change to WAL.
                self.execute(f"PRAGMA page_size = {_PAGE}")
                self._use_wal()
                # Some builds of SQLite have NORMAL as WAL's default, which does not flush on
                # commit: a power cut would lose intents.
                self.execute("PRAGMA synchronous = FULL")
                folder = self._lock_file(self._process_id).parent
                begins = not folder.exists()
                folder.mkdir(mode=0o700, exist_ok=True)
                # Held before this process is registered: another one takes a registered process
                # whose lock is free for dead.
                self._lock = self._lock_of(self._process_id)
                self._lock.acquire(blocking=False)
            self.begin()
            self._id = prepare(self, _WORDS, f"The file {self._path}")
            register(self, self._process_id, self._kind)
            self.commit()
        except BaseException:
            self.close()
            if begins:  # left beside an empty file, it would say that a journal was cut off
                with contextlib.suppress(OSError):  # another process has its lock there by now
                    self._lock_file(self._process_id).parent.rmdir()
            raise

    def _make_file(self) -> None:
        if self._path.is_dir():
            raise JournalError(f"{self._path} is a folder; name a file for the journal.")
        if not self._create and not self._path.exists():
            raise JournalError(
                f"There is no journal at {self._path}; a run with a checkpointer makes one."
            )
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            # SQLite gives its other files (-wal, -shm) the same mode.
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            return
        self._check_truncated()

    def _check_truncated(self) -> None:
        """Raise an error if the file was a journal and is empty; SQLite would begin a new one.

        One that another process makes at this moment is empty, too, and has no folder of locks,
        unless a removed one has left its own.
        """
        folder = self._lock_file(self._process_id).parent
        give_up = time.monotonic() + _NEW
        while self._path.stat().st_size == 0 and (not self._create or folder.exists()):
            if time.monotonic() > give_up:
                raise JournalError(
                    f"The journal {self._path} is empty: it was cut off, or never was one; restore "
                    "it from a backup, or remove it to begin a new one."
                )
            time.sleep(0.01)

    def _use_wal(self) -> None:
        # SQLite does not wait here: of two processes that open a new file at once, one would fail.
        began = time.monotonic()
        while True:
            try:
                mode = self.execute("PRAGMA journal_mode = WAL")[0][0]
            except JournalError as error:
                patience = _BUSY if isinstance(error, JournalLockedError) else _NEW
                if time.monotonic() - began > patience:
                    raise
                time.sleep(0.01)
                continue
            if mode != "wal":
                raise JournalError(
                    f"{self._path} cannot be kept in WAL mode ({mode}); put it on a local disk."
                )
            return

    def close(self) -> None:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        # After the connection: a process that finds the lock free takes this one for dead, and
        # nothing may be written after that.
        if self._lock is not None:
            self._lock.release()
            self._lock = None
            with contextlib.suppress(OSError):
                self._lock_file(self._process_id).unlink(missing_ok=True)

    # -- transactions ------------------------------------------------------------------------------

    def begin(self) -> None:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        self._check_file()
        still = time.monotonic() - self._locked_at < _RECENT
        patience = min(_BUSY_STILL, _BUSY) if still else _BUSY
        if patience != self._patience:
            self.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
            self._patience = patience
        try:
            # Locked from the start: a transaction that reads first fails when it comes to write, if
            # another process has written meanwhile.
            self.execute("BEGIN IMMEDIATE")
        except JournalLockedError:
            self._locked_at = time.monotonic()
            raise

    def _check_file(self) -> None:
        """Raise an error if the file was removed or replaced.

        A new file at the same path takes the ``-shm`` file over and truncates it. SQLite has it
        mapped into memory, so the next read of the old connection would end this process with
        SIGBUS.
        """
        with self._translated_errors():
            found = self._path.stat()
        if (found.st_dev, found.st_ino) != self._inode:
            raise JournalError(
                f"The file {self._path} was replaced while it was in use; restart this process."
            )

    def commit(self) -> None:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        if self._connection is not None and self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        assert self._connection is not None  # the writer opens before it takes requests
        try:  # not the context manager: this is where a journal spends its time
            return self._connection.execute(sql, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._in_words(error) from error

    def tables(self) -> set[str]:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        rows = self.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        return {str(name) for (name,) in rows}

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Translate errors of SQLite and the system to advice."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._in_words(error) from error
        except FileNotFoundError as error:
            raise JournalError(
                f"The file {self._path} was removed while it was in use; restart this process."
            ) from error
        except OSError as error:
            raise JournalError(
                f"The journal {self._path} failed: {error}; give it a file that can be written."
            ) from error

    def _in_words(self, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
        if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode"):
            # Bytes that are not text. SQLite quotes them, so its own message cannot be read either.
            return JournalError(
                f"The journal {self._path} failed: {_ADVICE[sqlite3.SQLITE_CORRUPT]}."
            )
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extended part
        advice = _ADVICE.get(code, "nothing was written")
        if code == sqlite3.SQLITE_BUSY:
            return JournalLockedError(
                f"The journal {self._path} is locked ({error}): {advice}.", reason=advice
            )
        return JournalError(f"The journal {self._path} failed ({error}): {advice}.", reason=advice)

    # -- other processes ---------------------------------------------------------------------------

    def now(self) -> float:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        return self._wall_clock()

    def is_locked(self, process_id: str) -> bool:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        if process_id == self._process_id:
            return True
        if not process_id.isalnum():
            return False  # forged: it must not lead out of the folder
        lock = self._lock_of(process_id)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        # Free for good: ids are random, so no process will ask for this file again.
        with contextlib.suppress(OSError):
            self._lock_file(process_id).unlink(missing_ok=True)
        return False

    def notify(self) -> None:
        """Do nothing: other processes see that the file has changed."""

    def has_new_signals(self) -> bool:
        """See :class:`~asyncguard.journal.sql.store.Store`."""
        self._check_file()
        version = self.execute("PRAGMA data_version")[0][0]
        changed, self._seen_version = version != self._seen_version, version
        return bool(changed)

    def _lock_file(self, process_id: str) -> Path:
        return Path(f"{self._path}.processes") / process_id

    def _lock_of(self, process_id: str) -> FileLock:
        # Without a fallback: a lock that outlives its process would keep the dead alive.
        return FileLock(
            self._lock_file(process_id), mode=0o600, thread_local=False, fallback_to_soft=False
        )
