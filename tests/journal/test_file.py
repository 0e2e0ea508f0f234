"""The journal's file: its access rights, damage to it, and the harm that a forged row can do."""

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Success
from asyncguard.errors import CallerError, JournalError, JournalLockedError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import AttemptState, Fresh, Known, Running, SignalKind
from asyncguard.journal.sql import schema
from asyncguard.journal.sql.attempts import RIVALS, withdraw
from asyncguard.journal.sql.maintenance import KEPT
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from tests.adapters.processes import MortalJournal
from tests.journal.desk import ROOT, entered, intent, journal_at


def raw(file: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Execute statements as another program does; return the rows of the last one."""
    connection = sqlite3.connect(file, isolation_level=None)
    rows: list[tuple[Any, ...]] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


async def test_only_its_owner_can_read_it(file: Path) -> None:
    """The file and what SQLite and the locks put beside it; a folder that has to be made, too; the umask is wider."""
    before = os.umask(0)
    try:
        deep = file.parent / "new" / "journal.db"
        journal = open_journal(deep)
        await journal.begin(intent(remote=True))
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in (deep.parent, *deep.parent.rglob("*"))
        }
    finally:
        os.umask(before)
    assert modes == {
        "new": 0o700,
        "journal.db": 0o600,
        "journal.db-wal": 0o600,
        "journal.db-shm": 0o600,
        "journal.db.processes": 0o700,
        journal.process_id: 0o600,
    }
    journal.close()


async def test_it_is_flushed_at_each_commit(file: Path) -> None:
    """WAL and ``synchronous = FULL`` are set: an intent is on the disk, not only in its cache."""
    journal = open_journal(file)
    found = journal._writer.submit(
        lambda store: (
            store.execute("PRAGMA journal_mode")[0][0],
            store.execute("PRAGMA synchronous")[0][0],
        )
    )
    assert found.result() == ("wal", 2)
    journal.close()


def test_an_address_says_where(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, text or URL, relative or absolute, name the same file."""
    monkeypatch.chdir(file.parent)
    targets = (file, str(file), f"sqlite:///{file}", "sqlite:///journal.db", "journal.db")
    journals = [open_journal(target) for target in targets]
    assert len({journal.id for journal in journals}) == 1
    for journal in journals:
        journal.close()


@pytest.mark.parametrize(
    "target", ["", "sqlite://", ":memory:", "sqlite:///:memory:", "mysql://h/x", "sqlite:///a?b=c"]
)
def test_an_address_that_is_none_is_refused(target: str) -> None:
    """An invalid address is refused before a file is made; the error shows a valid one."""
    with pytest.raises(CallerError, match="file"):
        open_journal(target)


@pytest.mark.parametrize(
    "target", ["host=db dbname=shop password=s3cret", " password = s3cret dbname=x://y"]
)
def test_keywords_of_postgresql_make_no_file(
    file: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Savers take that form: a file of that name would be a journal that no other machine sees, named by a password."""
    monkeypatch.chdir(file.parent)
    with pytest.raises(CallerError, match="write postgresql://user@host/name") as raised:
        open_journal(target)
    assert "s3cret" not in str(raised.value)
    assert not list(file.parent.iterdir())
    open_journal(Path("host=db")).close()


def test_none_is_made_where_none_is_wanted(file: Path) -> None:
    """No journal is created for a reader: a mistyped path must not show an empty journal."""
    with pytest.raises(JournalError, match="no journal at"):
        open_journal(file, create=False)
    assert not file.exists()
    open_journal(file).close()
    open_journal(file, create=False).close()


def test_a_journal_that_was_truncated_begins_nothing(file: Path) -> None:
    """An agent would repeat its effects with a new one; the locks beside it tell it from a new file."""
    open_journal(file).close()
    os.truncate(file, 0)
    with pytest.raises(JournalError, match=r"is empty.*restore it from a backup"):
        open_journal(file)
    assert file.stat().st_size == 0
    file.unlink()
    open_journal(file).close()


def test_an_agent_may_begin_with_an_empty_file(file: Path) -> None:
    """An administrator made it, or another process makes the journal at this moment."""
    file.touch()
    open_journal(file).close()
    open_journal(file, create=False).close()


def test_a_folder_is_no_file(file: Path) -> None:
    """An error says that the path is a folder."""
    with pytest.raises(JournalError, match="is a folder"):
        open_journal(file.parent)


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be read as one" * 20, b"\x00" * 4096]
)
def test_a_file_of_another_kind_is_left_alone(file: Path, content: bytes) -> None:
    """An error says what to do about a file of another kind, and the file stays unchanged."""
    file.write_bytes(content)
    with pytest.raises(JournalError, match="of its own"):
        open_journal(file)
    assert file.read_bytes() == content


def test_another_database_is_left_alone(file: Path) -> None:
    """The file of a checkpointer is refused: a journal needs a database of its own."""
    raw(file, "CREATE TABLE checkpoints (x)")
    with pytest.raises(JournalError, match="database of its own"):
        open_journal(file)
    assert raw(file, "SELECT name FROM sqlite_master") == [("checkpoints",)]


def test_a_newer_version_is_left_alone(file: Path) -> None:
    """A file of a newer version is refused and stays unchanged, byte by byte."""
    open_journal(file).close()
    raw(
        file,
        f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE name = 'version'",
        "PRAGMA journal_mode = DELETE",
    )
    before = file.read_bytes()
    with pytest.raises(JournalError, match=r"newer asyncguard.*Nothing was changed"):
        open_journal(file)
    assert file.read_bytes() == before


async def test_a_journal_of_the_first_version_is_brought_up_to_date(file: Path) -> None:
    """The threads of the first version get fencing tokens, and their processes are dead."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in schema.MIGRATIONS[0]:
            serial = "INTEGER PRIMARY KEY"
            connection.execute(
                statement.replace("{serial}", serial).replace("{rising}", f"{serial} AUTOINCREMENT")
            )
        connection.execute("INSERT INTO meta VALUES ('id', 'abc'), ('version', '1')")
        connection.execute("INSERT INTO threads VALUES ('s', 't', 'somebody', 1.0)")
    connection.close()
    journal = open_journal(file)
    assert journal.id == "abc"
    tenure = await journal.acquire("s", "t", (), lambda _: None)
    assert (tenure.fencing_token, tenure.previous_token, tenure.stolen) == (1, 0, False)
    journal.close()
    assert raw(file, "SELECT value FROM meta WHERE name = 'version'") == [(str(schema.VERSION),)]


async def test_where_a_thread_was_left_is_known_after_the_second_version(file: Path) -> None:
    """Its threads keep the checkpoint of their last release only where a run had ended there."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in (*schema.MIGRATIONS[0], *schema.MIGRATIONS[1]):
            serial = "INTEGER PRIMARY KEY"
            connection.execute(
                statement.replace("{serial}", serial).replace("{rising}", f"{serial} AUTOINCREMENT")
            )
        connection.execute("INSERT INTO meta VALUES ('id', 'abc'), ('version', '2')")
        for session, ending in (("ended", "c1"), ("rests", "")):
            row = (session, session, "somebody", time.time() - 60, 4, 1.0, ending)
            connection.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.close()
    journal = open_journal(file)
    for session, released_on in (("ended", "c1"), ("rests", "")):
        grant = await journal.acquire(session, session, (), lambda _: None, stands_on="c2")
        assert (grant.released_on, grant.acquired_on, grant.ends) == (released_on, "", False)
        assert grant.fencing_token == 5
    journal.close()


async def test_an_older_version_is_brought_up_to_date(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrations run in order, once, in one transaction; what is there stays."""
    journal = open_journal(file)
    await journal.begin(intent(remote=True))
    identity = journal.id
    journal.close()
    added = ("ALTER TABLE calls ADD COLUMN note TEXT NOT NULL DEFAULT 'x'",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, added))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for _ in range(2):
        journal = open_journal(file)
        assert journal.id == identity
        assert [entry.key for entry in journal.entries()] == ["k"]
        journal.close()
    assert raw(file, "SELECT note FROM calls") == [("x",)]
    broken = (*added, "ALTER TABLE nowhere ADD COLUMN note")
    monkeypatch.setattr(
        schema, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE half (x)", *broken))
    )
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(JournalError):
        open_journal(file)
    assert raw(file, "SELECT name FROM sqlite_master WHERE name = 'half'") == []


async def test_a_delivery_that_an_older_version_stored_is_not_overruled(file: Path) -> None:
    """It waits for its thread, although the call's row does not say so."""
    journal = journal_at(file)
    await entered(journal)
    await journal.begin(intent(token="secret"))
    journal.record_final_state("k", CallState.IN_DOUBT, "cancelled")
    await asyncio.to_thread(journal.deliver, "secret", "granted")
    raw(file, "UPDATE calls SET resolution = ''")
    (entry,) = await asyncio.to_thread(journal.entries)
    assert entry.resolution is SignalKind.DELIVERY
    with pytest.raises(CallerError, match="was delivered, and waits for its thread"):
        await asyncio.to_thread(journal.resolve, "k", SignalKind.RETRY)
    journal.close()


async def test_a_full_disk_begins_nothing(file: Path) -> None:
    """The intent is refused with an error that says so; when there is room again, it continues."""
    journal = open_journal(file)
    await entered(journal)
    limit = "PRAGMA max_page_count = {}"
    journal._writer.submit(lambda store: store.execute(limit.format(1))).result()
    with pytest.raises(JournalError, match="disk is full"):
        await journal.begin(intent(arguments={"text": "x" * 100_000}))
    journal._writer.submit(lambda store: store.execute(limit.format(1_000_000))).result()
    assert journal.entries() == []
    assert isinstance(await journal.begin(intent()), Fresh)
    journal.close()


OPEN_WITH_A_LIMIT = """
import resource, sys, time
from pathlib import Path
from asyncguard.journal.open import open_journal
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
began = time.monotonic()
try:
    open_journal(Path(sys.argv[1]))
except Exception as error:
    print(error)
print(time.monotonic() - began)
"""


@pytest.mark.parametrize("room", [0, 512, 1024, 5000])
def test_a_file_that_found_no_room_is_made_once_there_is_some(file: Path, room: int) -> None:
    """The process that began it says at once what to do; the next one makes it."""
    made = [sys.executable, "-c", OPEN_WITH_A_LIMIT, str(file), str(room)]
    lines = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    said, seconds = lines.splitlines()
    assert "free some space" in said
    assert float(seconds) < 5
    journal = open_journal(file)
    assert journal.entries() == []
    journal.close()


async def test_who_is_cancelled_while_it_takes_a_thread_leaves_it(file: Path) -> None:
    """A process that is cancelled while it acquires a thread releases it again."""
    journal, other = open_journal(file), open_journal(file)
    for number in range(20):
        entering = asyncio.ensure_future(
            journal.acquire(f"s{number}", f"t{number}", (), lambda _: None)
        )
        for _ in range(number % 4):
            await asyncio.sleep(0)
        if number > 10:  # it is on disk, and the task does not know yet
            journal._writer.submit(lambda _: None).result()
        entering.cancel()
        await asyncio.wait([entering])
        if not entering.cancelled():
            journal.release(f"s{number}")
    await journal.flush()  # the releases are queued
    for number in range(20):
        await other.acquire(f"s{number}", f"t{number}", (), lambda _: None)
    journal.close()
    assert journal._maintenance._threads == {}
    other.close()


@pytest.mark.parametrize("how", ["cancelled", "connection lost"])
async def test_who_takes_an_attempt_over_and_does_not_begin_it_leaves_it_as_it_was(
    file: Path, how: str
) -> None:
    """The process before may have made the effect, so the attempt does not count as not begun."""
    wanted = intent(effect=EffectClass.KEYED)
    first = MortalJournal(file)
    await entered(first)
    await first.begin(wanted)
    first.die()
    heir = open_journal(file)
    await entered(heir)
    if how == "cancelled":
        beginning = asyncio.ensure_future(heir.begin(wanted))
        await asyncio.sleep(0)
        heir._writer.submit(lambda _: None).result()  # on disk, and the task does not know yet
        beginning.cancel()
        await asyncio.wait([beginning])
        assert beginning.cancelled()
    else:
        assert isinstance(await heir.begin(wanted), Fresh)
        unsure = [(wanted.key, wanted.attempt)]
        heir._writer.submit(lambda store: withdraw(store, unsure)).result()
    await heir.flush()
    (entry,) = heir.entries()
    (attempt,) = entry.attempts
    assert attempt.state is AttemptState.INTENT
    assert attempt.process_id == first.process_id
    assert attempt.begun_before == ()
    assert isinstance(await heir.begin(wanted), Fresh)
    heir.close()


async def test_an_outcome_that_found_no_room_is_written_when_there_is(file: Path) -> None:
    """The process retries a write that found no room; callers that ask meanwhile see it running."""
    journal = open_journal(file)
    await entered(journal)
    limit = "PRAGMA max_page_count = {}"
    await journal.begin(intent())
    journal._writer.submit(lambda store: store.execute(limit.format(1))).result()
    journal.end_soon("k", 1, Success(content="x" * 100_000))
    await journal.flush()
    assert isinstance(await journal.begin(intent()), Running)
    journal._writer.submit(lambda store: store.execute(limit.format(1_000_000))).result()
    async with asyncio.timeout(5):
        while isinstance(await journal.begin(intent()), Running):  # noqa: ASYNC110 - it is written by a thread
            await asyncio.sleep(0.01)
    assert isinstance(await journal.begin(intent()), Known)
    journal.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_begins_nothing(file: Path, replaced: bool) -> None:
    """No call begins after the journal's file was removed, as its row would protect nothing."""
    journal = open_journal(file)
    asyncio.run(entered(journal))
    file.unlink()
    if replaced:
        open_journal(file).close()
    with pytest.raises(JournalError, match="replaced" if replaced else "removed"):
        asyncio.run(journal.begin(intent()))
    journal.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_is_not_looked_at_again(file: Path, replaced: bool) -> None:
    """A read through the old mapping ends the process with SIGBUS once a new file has truncated it."""
    store = SqliteStore(file, ProcessKind.AGENT)
    store.open()
    store.has_new_signals()
    file.unlink()
    if replaced:
        open_journal(file).close()
    with pytest.raises(JournalError, match="replaced" if replaced else "removed"):
        store.has_new_signals()
    store.close()


def test_a_damaged_file_begins_nothing(file: Path) -> None:
    """A damaged file is reported, and its calls get no answer."""
    open_journal(file).close()
    size = file.stat().st_size
    with file.open("r+b") as handle:
        handle.seek(100)
        handle.write(b"\xff" * (size - 100))
    with pytest.raises(JournalError, match="damaged"):
        open_journal(file)


def test_a_file_that_cannot_be_written_is_not_used(file: Path) -> None:
    """A file that is read-only or lies in a read-only folder is not used."""
    open_journal(file).close()
    code = (
        "import os, sys\n"
        "from asyncguard.journal.open import open_journal\n"
        "import asyncguard.journal.sql.sqlite, encodings.idna\n"
        "if os.geteuid() == 0:\n    os.setgid(65534); os.setuid(65534)\n"
        "for target in sys.argv[1:]:\n"
        "    try:\n        open_journal(target)\n"
        "    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    folder = file.parent / "closed"
    folder.mkdir()
    file.chmod(0o444)
    folder.chmod(0o555)
    for each in (file.parent, Path(f"{file}.processes")):
        each.chmod(0o755)
    targets = [str(file), str(folder / "journal.db")]
    done = subprocess.run(
        [sys.executable, "-c", code, *targets],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    said = done.stdout.splitlines()
    assert len(said) == 2, done
    assert all(line.startswith("JournalError") and "writ" in line for line in said), said


async def test_a_transaction_that_somebody_holds_is_an_error_in_the_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction waits for a lock for a limited time, and raises then."""
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY", 0.05)
    journal = open_journal(file)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match="another process keeps the file locked"):
        await journal.begin(intent(remote=True))
    holder.close()
    assert isinstance(await journal.begin(intent(remote=True)), Fresh)
    journal.close()


async def test_a_locked_file_is_a_named_error_within_one_wait(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen process keeps the file locked: all callers get the error after one wait."""
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY", 0.5)
    journal = open_journal(file)
    await entered(journal)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    asked = [journal.begin(intent(key=f"k{number}", remote=True)) for number in range(10)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, JournalLockedError) for answer in answers), answers
    assert (
        time.monotonic() - began < 2.5
    )  # the first waits itself, and one may wait for the upkeep's attempt
    assert all("let that process go on, or end it" in str(answer) for answer in answers)
    holder.close()
    assert journal.entries() == []
    assert isinstance(await journal.begin(intent(remote=True)), Fresh)
    journal.close()


@pytest.mark.parametrize(
    ("meanwhile", "then"),
    [
        ("SELECT 1", CallState.DONE),
        ("UPDATE threads SET epoch = 'heir'", CallState.PENDING),
        ("UPDATE calls SET state = 'failed'", CallState.FAILED),
    ],
)
async def test_a_final_state_that_could_not_be_written_follows(
    meanwhile: str, then: CallState, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written when the file serves again, unless another process has the thread or ended the call."""
    monkeypatch.setattr("asyncguard.journal.sql.sqlite._BUSY", 0.05)
    journal = open_journal(file)
    await entered(journal)
    assert isinstance(await journal.begin(intent()), Fresh)
    await journal.end("k", 1, Success(content="paid"))
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    journal.record_final_state("k", CallState.DONE)
    journal.release("s")
    await journal.flush()
    holder.execute(meanwhile)
    holder.execute("COMMIT")
    holder.close()
    until = time.monotonic() + 2
    while journal._maintenance._states and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert journal.entries()[0].state is then
    assert journal._maintenance._states == {}
    journal.close()


async def test_looking_for_equals_costs_the_same_in_a_long_thread(file: Path) -> None:
    """The question asks the indexes of what is open, and no table for all that ended."""
    journal = open_journal(file)
    plans = [
        journal._writer.submit(
            lambda store, sql=sql: store.execute(f"EXPLAIN QUERY PLAN {sql}", ("", "", "", ""))
        )  # type: ignore[misc]
        for sql in RIVALS
    ]
    found = [[str(row[3]) for row in plan.result()] for plan in plans]
    assert "USING INDEX calls_in_doubt" in found[0][0]
    assert "USING INDEX attempts_intent" in found[1][0]
    assert "(key=?)" in found[1][1]
    journal.close()


# -- forged rows ---------------------------------------------------------------------------------------------------

FORGED = {
    "effect": "UPDATE attempts SET effect = 'harmless' WHERE key = 'k'",
    "state": "UPDATE attempts SET state = 'fine' WHERE key = 'k'",
    "number": "UPDATE attempts SET begun_at = 'yesterday' WHERE key = 'k'",
    "json": "UPDATE attempts SET result = '{' WHERE key = 'k'",
    "pickle": "UPDATE attempts SET result = x'80049503000000000000004b012e' WHERE key = 'k'",
    "list": "UPDATE attempts SET result = '[]' WHERE key = 'k'",
    "kind": """UPDATE attempts SET result = '{"kind": "gift"}' WHERE key = 'k'""",
    "symptom": """UPDATE attempts SET result = '{"kind": "failure", "symptom": {"code": 1}}' WHERE key = 'k'""",
    "none": "UPDATE attempts SET result = NULL WHERE key = 'k'",
    "deep": f"UPDATE attempts SET result = '{'[' * 100_000}' WHERE key = 'k'",
    "mail": "INSERT INTO mail VALUES (99, 's', 'k', 1, 'order', '\"x\"', 'x', 1.0)",
    "mail content": "INSERT INTO mail VALUES (99, 's', 'k', 1, 'happened', '{', 'x', 1.0)",
}


@pytest.mark.parametrize("statement", FORGED.values(), ids=FORGED.keys())
async def test_a_forged_row_harms_its_call_only(file: Path, statement: str) -> None:
    """It is an error that names the call; the next call continues, and so does the thread."""
    journal = open_journal(file)
    await entered(journal)
    for key in ("k", "other"):
        await journal.begin(intent(key))
        await journal.end(key, 1, Success(content="done"))
    raw(file, statement)
    answers = await asyncio.gather(
        journal.begin(intent()), journal.begin(intent("other")), return_exceptions=True
    )
    assert isinstance(answers[0], JournalError)
    assert "call k" in str(answers[0])
    assert answers[1] == Known(result=Success(content="done"))
    assert [entry.key for entry in journal.entries() if entry.key != "k"] == ["other"]
    assert await entered(journal, "s") == []
    journal.close()


async def test_a_forged_epoch_leads_nowhere(file: Path) -> None:
    """A path in place of a process id neither makes nor removes a file."""
    journal = open_journal(file)
    victim = file.parent / "victim"
    victim.write_text("kept")
    await journal.begin(intent(remote=True, effect=EffectClass.KEYED))
    raw(
        file,
        "INSERT INTO processes VALUES ('../victim', 'agent', 'h', 1, 1.0, NULL)",
        "UPDATE attempts SET epoch = '../victim'",
    )
    assert isinstance(await journal.begin(intent(remote=True, effect=EffectClass.KEYED)), Fresh)
    assert victim.read_text() == "kept"
    journal.close()


async def test_values_are_never_part_of_the_language(file: Path) -> None:
    """Names with quotes, zero bytes and halves of characters are kept as what they are, or as an escape."""
    journal = open_journal(file)
    odd = "x'; DROP TABLE calls; -- \x00 \ud800 %_?"
    await journal.acquire(odd, odd, (), lambda mail: None)
    asked = intent(
        session=odd, task=odd, label=odd, tool=odd, namespace=odd, arguments={odd: odd}, token=odd
    )
    assert isinstance(await journal.begin(asked), Fresh)
    journal.record_final_state("k", CallState.IN_DOUBT, odd)
    journal.deliver(odd, odd)
    (entry,) = journal.entries(session=odd)
    assert entry.arguments == {odd: odd}
    assert entry.signals[0].content == odd
    assert entry.label == "x'; DROP TABLE calls; -- \\x00 \\ud800 %_?"
    assert journal.entries(key="%") == []
    journal.close()


async def test_an_attempt_of_a_living_process_is_not_ended_by_its_thread(file: Path) -> None:
    """A stored success closes intents of processes that are gone; one that lives writes its own outcome."""
    first, second = open_journal(file), open_journal(file)
    await entered(first)
    assert isinstance(await first.begin(intent("k")), Fresh)
    second.record_final_state("k", CallState.DONE, stored=True)
    await second.flush()
    (entry,) = second.entries(key="k")
    assert entry.attempts[0].state is AttemptState.INTENT
    await first.end("k", 1, Success(content="its own"))
    (entry,) = second.entries(key="k")
    assert entry.attempts[0].result == Success(content="its own")
    first.close()
    second.close()


# -- retention -----------------------------------------------------------------------------------------------------


async def test_what_ended_long_ago_is_removed_on_opening(file: Path) -> None:
    """Calls that ended thirty days ago are removed, once a day; calls in doubt stay."""
    journal = open_journal(file)
    for key, state in (("done", CallState.DONE), ("doubt", CallState.IN_DOUBT)):
        await journal.begin(intent(key, remote=True))
        await journal.end(key, 1, Success(content="x"))
        if state is CallState.DONE:
            journal.record_final_state(key, state)
    journal.close()
    kept: list[list[str]] = []
    for days in (29.0, 29.5, 31.0):
        journal = journal_at(file, ahead=days * 86_400.0)
        kept.append([entry.key for entry in journal.entries()])
        journal.close()
    assert kept == [["done", "doubt"], ["done", "doubt"], ["doubt"]]
    assert KEPT == 30 * 86_400.0
    assert raw(file, "SELECT count(*) FROM processes WHERE started_at < 1000") == [(0,)]


def test_nothing_readable_is_kept_of_a_token(file: Path) -> None:
    """The file does not hold a token with which a reader could deliver."""
    journal = open_journal(file)
    asyncio.run(journal.begin(intent(remote=True, token="secret-token")))
    journal.close()
    assert b"secret-token" not in file.read_bytes()
    assert json.dumps(raw(file, "SELECT hash FROM tokens")).count("secret") == 0
