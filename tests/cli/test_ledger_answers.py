"""Answers that people write to the journal, and rows that they export and remove."""

import asyncio
import csv
import getpass
import io
import json
import os
import secrets
import shlex
import socket
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from asyncguard.cli import main
from asyncguard.cli.ledger.calls import FIELDS, PAYLOADS
from asyncguard.cli.ledger.options import parser
from asyncguard.core.calls import CallState
from asyncguard.core.faults import Symptom
from asyncguard.core.results import Failure, Success
from asyncguard.journal.port import Fresh, Journal, Known, Lost, Signal, SignalKind
from tests.cli.desk import (
    HOSTILE,
    LABELS,
    SECRETS,
    SESSION,
    THREAD,
    TOKEN,
    ask,
    entry,
    everything,
    intent,
    key,
    listening,
    living,
    tell,
    ticking,
)

Capture = pytest.CaptureFixture[str]
HAPPENED = ("--happened", "--yes")
DENIED = ("--not-happened", "--yes")


class Terminal(io.StringIO):
    """A terminal with a person at the keyboard."""

    def isatty(self) -> bool:
        return True


def run(capsys: Capture, *words: object, code: int = 0) -> str:
    """The output of `asyncguard ledger`, of both streams."""
    assert main(["ledger", *map(str, words)]) == code
    captured = capsys.readouterr()
    return " ".join((captured.err + captured.out).split())


def wrong(capsys: Capture, *words: object) -> str:
    """Return the error message for a wrong command line."""
    with pytest.raises(SystemExit) as caught:
        main(["ledger", *map(str, words)])
    assert caught.value.code == 2
    return capsys.readouterr().err


# -- resolve, retry ------------------------------------------------------------------------------------------------


def test_what_happened_is_what_the_thread_is_told(desk: Path, capsys: Capture) -> None:
    """The next process gets the result and the name of the person, and runs nothing again."""
    assert isinstance(ask(desk, "pay#1"), Lost)
    text = run(
        capsys, "resolve", key("pay#1")[:7], desk, *HAPPENED, "--result", "paid", "--by", "Ann"
    )
    assert text == (
        f"pay#1 ({key('pay#1')[:8]}) is answered: happened, says Ann. "
        "The agent is notified that it happened, with this result. "
        f"A run of thread {THREAD} that waits now is notified within a second; one that was killed or "
        "interrupted, when it is run again; a thread whose run has ended, with its next message."
    )
    assert ask(desk, "pay#1") == Known(result=Success(content="paid"))
    (mail,) = entry(desk, "pay#1").signals
    assert (mail.kind, mail.by, mail.attempt) == (SignalKind.HAPPENED, "Ann", 1)


def test_a_result_may_be_unknown_or_come_from_a_file(desk: Path, capsys: Capture) -> None:
    """A result may be unknown, or is taken from a file as it stands there."""
    assert "its result is not known" in run(capsys, "resolve", key("mail#3"), desk, *HAPPENED)
    assert entry(desk, "mail#3").signals[0].content is None
    Path("answer.txt").write_text("paid,\nat last ✓", encoding="utf-8")
    run(capsys, "resolve", key("pay#1"), desk, *HAPPENED, "--result-file", "answer.txt")
    assert ask(desk, "pay#1") == Known(result=Success(content="paid,\nat last ✓"))


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["retry", "--yes"], True),
        (["resolve", *DENIED], False),
        (["resolve", "--did-not-happen", "--yes"], False),  # its name in 0.1.0
    ],
)
def test_what_did_not_happen_is_made_again_on_request_only(
    desk: Path, capsys: Capture, words: list[str], again: bool
) -> None:
    """Either way the attempt is over; whether another follows is the difference."""
    action, *options = words
    text = run(capsys, action, key("pay#1"), desk, *options)
    assert ("It is repeated under the same key" in text) is again
    assert ("it is not repeated unless the agent calls again" in text) is not again
    verdict = ask(desk, "pay#1")
    assert isinstance(verdict, Known)
    assert isinstance(verdict.result, Failure)
    assert (verdict.result.symptom.started, verdict.result.symptom.transient) == (False, again)
    assert ask(desk, "pay#1", attempt=2) == Fresh()


def test_a_thread_that_is_at_work_learns_of_it_soon(desk: Path, capsys: Capture) -> None:
    """A thread at work gets the answer without a restart."""
    got: list[Signal] = []
    with listening(desk, got):
        run(capsys, "retry", key("pay#1"), desk, "--yes")
        until = time.monotonic() + 5
        while not got and time.monotonic() < until:
            time.sleep(0.01)
    assert [(mail.kind, mail.key) for mail in got] == [(SignalKind.RETRY, key("pay#1"))]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("book#2", "is not in doubt: it is done"),
        ("note#4", "is not in doubt: it is idempotent; resume its thread to make it again"),
        ("ask#5", "is not in doubt: attempt 1 is started"),
    ],
)
def test_only_what_is_in_doubt_is_resolved(
    desk: Path, capsys: Capture, label: str, reason: str
) -> None:
    """Only a call in doubt is resolved; for others nothing is written."""
    for words in (["resolve", *HAPPENED], ["resolve", *DENIED], ["retry", "--yes"], ["retry"]):
        assert reason in run(capsys, words[0], key(label), desk, *words[1:], code=1)
    assert entry(desk, label).signals == ()


def test_the_first_answer_stays(desk: Path, capsys: Capture) -> None:
    """The first answer stays when two people answer."""
    run(capsys, "resolve", key("pay#1"), desk, *HAPPENED)
    assert "it was resolved before (happened)" in run(
        capsys, "retry", key("pay#1"), desk, "--yes", code=1
    )
    assert len(entry(desk, "pay#1").signals) == 1


def test_what_may_still_run_is_shown_and_not_denied(desk: Path, capsys: Capture) -> None:
    """Its process is named; nothing is asked before the refusal, and what happened is still accepted."""
    given_up = Failure(symptom=Symptom(error="timeout", message="No answer.", running=True))
    place = f"process {os.getpid()} on {socket.gethostname()}"
    with living(desk, "new#7", given_up) as journal:
        shown = run(capsys, "list", desk, "--thread", THREAD)
        assert "new#7 at_most_once may still run 1" in shown
        assert f"or end the process: {place}." in shown
        shown = run(capsys, "show", key("new#7"), desk)
        assert f"({place})" in shown
        assert "runs perhaps: it was given up, and has not ended by itself" in shown
        assert "Find out, then run" not in shown
        (row,) = [row for row in exported(capsys, desk) if row["label"] == "new#7"]
        assert (row["running_in"], row["attempts"][0]["running_in"]) == (place, place)
        for words in (["retry"], ["retry", "--yes"], ["resolve", *DENIED]):
            text = run(capsys, words[0], key("new#7"), desk, *words[1:], code=1)
            assert f"attempt 1 was given up, and may still run in {place}. Wait for" in text
        run(capsys, "resolve", key("new#7"), desk, *HAPPENED, "--result", "by hand")
        asyncio.run(journal.end(key("new#7"), 1, Success(content=SECRETS[1])))
        assert "late a result came after that" in run(capsys, "show", key("new#7"), desk)
        assert f"late {SECRETS[1]}" in run(capsys, "show", key("new#7"), desk, "--payload")
        (row,) = [row for row in exported(capsys, desk) if row["label"] == "new#7"]
        assert (row["running_in"], row["attempts"][0]["late_result"]) == ("", True)


@pytest.mark.parametrize("words", [["retry"], ["resolve", "--not-happened"]], ids=" ".join)
def test_who_knows_that_it_has_stopped_may_say_so(
    desk: Path, capsys: Capture, words: list[str]
) -> None:
    """A cancelled coroutine leaves nothing behind that the journal could see end."""
    given_up = Failure(symptom=Symptom(error="cancelled", message="", running=True))
    command = [words[0], key("new#7"), desk, *words[1:], "--yes"]
    with living(desk, "new#7", given_up):
        assert "say so: --ended" in run(capsys, *command, code=1)
        assert "is answered" in run(capsys, *command, "--ended")


def test_a_delivery_waits_for_its_thread_and_is_not_overruled(desk: Path, capsys: Capture) -> None:
    """The list counts it, ``show`` says what to do, and neither answer is accepted after it."""
    with living(desk, "new#7", Failure(symptom=Symptom(error="cancelled", message="")), "again"):
        assert main(["deliver", "again", "granted", "--journal", str(desk)]) == 0
    shown = run(capsys, "list", desk)
    assert "new#7" not in shown
    assert "1 call was answered and waits for the thread to run" in shown
    shown = run(capsys, "show", key("new#7"), desk)
    assert "state delivered" in shown
    assert "delivered: its result waits for its thread. Run the thread again" in shown
    for words in (["retry", "--yes"], ["resolve", *DENIED], ["resolve", *HAPPENED]):
        text = run(capsys, words[0], key("new#7"), desk, *words[1:], code=1)
        assert "its result was delivered, and waits for its thread; run the thread again" in text
    assert [row["answer"] for row in exported(capsys, desk) if row["label"] == "new#7"] == [
        "delivery"
    ]


def test_a_delivery_after_an_answer_is_refused(desk: Path, capsys: Capture) -> None:
    """The person's answer stays, and the token is not shown."""
    with living(desk, "new#7", Failure(symptom=Symptom(error="cancelled", message="")), "again"):
        run(capsys, "resolve", key("new#7"), desk, *DENIED)
    assert main(["deliver", "again", "granted", "--journal", str(desk)]) == 1
    assert capsys.readouterr().err == (
        f"asyncguard: The result was not stored: call {key('new#7')} (new#7) was answered before "
        "(not_happened). If the agent needs the result, tell it in a message.\n"
    )
    assert [mail.kind for mail in entry(desk, "new#7").signals] == [SignalKind.NOT_HAPPENED]


def test_nobody_to_ask_is_no_consent(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script has to consent by --yes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    for words in (["resolve", "--happened"], ["retry"]):
        text = run(capsys, words[0], key("pay#1"), desk, *words[1:], code=2)
        assert (
            text
            == "asyncguard: Standard input is not a terminal, so this cannot be confirmed; give --yes to confirm it."
        )
    assert entry(desk, "pay#1").signals == ()


@pytest.mark.parametrize(
    ("typed", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1), ("", 1), ("yup\n", 1)]
)
def test_a_person_is_asked_first(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    """Any answer but yes changes nothing."""
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    text = run(capsys, "retry", key("pay#1"), desk, code=code)
    assert text.startswith(
        f"pay#1 of task main, thread {THREAD}: not happened, and to be repeated. Sure? [y/N] "
        + ("asyncguard: Nothing was changed." if code else "pay#1 (")
    )
    assert len(entry(desk, "pay#1").signals) == 1 - code


def test_who_says_so_is_the_user_by_default(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer names the user by default; a user without a name has to give one."""
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    run(capsys, "resolve", key("pay#1"), desk, *HAPPENED)
    assert entry(desk, "pay#1").signals[0].by == "ann"

    def nobody() -> str:
        raise KeyError("uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert "give your name with --by" in run(capsys, "retry", key("mail#3"), desk, "--yes", code=1)
    run(capsys, "retry", key("mail#3"), desk, "--yes", "--by", "night shift")
    assert entry(desk, "mail#3").signals[0].by == "night shift"


def test_contradictions_are_usage_errors(desk: Path, capsys: Capture) -> None:
    """Contradicting options are refused before anything is opened or asked."""
    assert "a call that did not happen has no result" in wrong(
        capsys, "resolve", "a", desk, *DENIED, "--result", ""
    )
    assert "a call that did not happen has no result" in wrong(
        capsys, "resolve", "a", desk, *DENIED, "--result-file", "f"
    )
    assert "not allowed with" in wrong(capsys, "resolve", "a", desk, "--happened", "--not-happened")
    assert "not allowed with" in wrong(
        capsys, "resolve", "a", desk, "--happened", "--result", "r", "--result-file", "f"
    )
    assert "one of the arguments --happened --not-happened/--did-not-happen is required" in wrong(
        capsys, "resolve", "a", desk
    )
    for blank in ("", "  "):
        told = wrong(capsys, "resolve", "a", desk, *HAPPENED, "--by", blank)
        assert "--by: give the name of who answers" in told
    assert "required: ACTION" in wrong(capsys)


def test_an_unreadable_result_changes_nothing(desk: Path, capsys: Capture) -> None:
    """The message names the file and quotes nothing of it."""
    Path("bytes.txt").write_bytes(b"\xff\xfeSECRET")
    for name, why in (
        ("none.txt", "No such file or directory"),
        ("bytes.txt", "it must be text in UTF-8"),
    ):
        text = run(capsys, "resolve", key("pay#1"), desk, *HAPPENED, "--result-file", name, code=1)
        assert text == f"asyncguard: The result cannot be read from {name}: {why}."
    assert entry(desk, "pay#1").signals == ()


# -- export, prune -------------------------------------------------------------------------------------------------


def exported(capsys: Capture, *words: object) -> list[dict[str, Any]]:
    """Rows of JSON lines."""
    assert main(["ledger", "export", *map(str, words)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_exported_fields_are_the_documented_ones(desk: Path, capsys: Capture) -> None:
    """Both forms have the documented fields in the documented order, and the help lists them."""
    rows = exported(capsys, desk)
    assert [row["key"] for row in rows] == [key(label) for label in LABELS]
    assert all(list(row) == [*FIELDS, "attempts", "mail"] for row in rows)
    assert list(exported(capsys, desk, "--payload")[0]) == [*FIELDS, *PAYLOADS, "attempts", "mail"]
    assert main(["ledger", "export", str(desk), "--format", "csv", "--payload"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(table[0]) == [*FIELDS, *PAYLOADS]
    assert [row["state"] for row in table] == [row["state"] for row in rows]
    assert (table[1]["result"], table[0]["result"]) == (f"booked, {SECRETS[1]}", "")
    assert json.loads(table[0]["arguments"]) == {"iban": SECRETS[0], "of": "pay#1"}
    with pytest.raises(SystemExit):
        main(["ledger", "export", "--help"])
    helped = capsys.readouterr().out
    assert [name for name in (*FIELDS, *PAYLOADS) if f"\n  {name} " not in helped] == []


def test_rows_say_what_is_known(desk: Path, capsys: Capture) -> None:
    """A row says what is known of a lost call, and of one that ended."""
    lost, done, late, *_ = exported(capsys, desk)
    assert (lost["state"], lost["process_gone"], lost["attempt_state"]) == (
        "in_doubt",
        True,
        "intent",
    )
    assert (done["state"], done["process_gone"], done["attempts"][0]["outcome"]) == (
        "done",
        False,
        "success",
    )
    assert (late["error"], late["attempts"][0]["outcome"]) == ("TimeoutError", "TimeoutError")
    assert lost["attempts"][0]["ended_at"] is None
    assert lost["created_at"] <= done["created_at"] <= lost["attempts"][0]["deadline"]
    assert lost["created_at"].endswith("+00:00")


def test_a_spreadsheet_runs_nothing(tmp_path: Path, capsys: Capture) -> None:
    """Names that would be formulas are quoted in CSV, and exact in JSON lines."""
    formula = '=HYPERLINK("http://example.org")'

    async def odd(journal: Any) -> None:
        await journal.begin(intent("pay#1", task=formula, namespace="@x", label="-1"))

    tell(tmp_path / "new.db", odd)
    assert main(["ledger", "export", str(tmp_path / "new.db"), "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["task"], row["namespace"], row["label"]) == (f"'{formula}", "'@x", "'-1")
    assert exported(capsys, tmp_path / "new.db")[0]["task"] == formula


def test_a_pipeline_goes_on_where_it_ended(tmp_path: Path, capsys: Capture) -> None:
    """With the latest change that it knows; what was answered since is there again."""
    desk = tmp_path / "effects.db"
    tell(desk, everything, lambda: ticking(desk))
    since = max(row["updated_at"] for row in exported(capsys, desk))
    run(capsys, "retry", key("pay#1"), desk, "--yes")
    fresh = exported(capsys, desk, "--since", since)
    assert fresh[0]["key"] == key("pay#1")
    assert fresh[0]["answer"] == "retry"
    assert [row["updated_at"] for row in fresh[1:]] == [since]
    assert exported(capsys, desk, "--since", "2999-01-01") == []
    assert len(exported(capsys, desk, "--since", "2020-01-01T00:00:00", "--state", "done")) == 1
    assert "'yesterday' is not a time; write it as in 2026-" in wrong(
        capsys, "export", desk, "--since", "yesterday"
    )


def test_a_file_is_written_as_a_whole_and_for_its_owner(desk: Path, capsys: Capture) -> None:
    """An old one stays until the new one is complete; one that cannot be written is an error."""
    Path("calls.jsonl").write_text("old")
    assert run(capsys, "export", desk, "--payload", "--out", "calls.jsonl") == ""
    assert len(Path("calls.jsonl").read_text().splitlines()) == len(LABELS)
    assert stat.S_IMODE(Path("calls.jsonl").stat().st_mode) == 0o600
    text = run(capsys, "export", desk, "--out", "no/calls.jsonl", code=1)
    assert (
        text
        == "asyncguard: no/calls.jsonl cannot be written (No such file or directory); name another file."
    )
    Path("folder").mkdir()
    assert "folder cannot be written" in run(capsys, "export", desk, "--out", "folder", code=1)
    assert not list(desk.parent.glob(".*"))


@pytest.mark.parametrize(
    "out", ["effects.db", "./effects.db", "soft", "hard", "effects.db-wal", "effects.db-shm"]
)
@pytest.mark.parametrize("journal", ["effects.db", "sqlite:///effects.db", "soft", ""])
def test_an_export_never_replaces_its_journal(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, journal: str, out: str
) -> None:
    """Nor one of SQLite's files beside it, by whatever name."""
    Path("soft").symlink_to(desk)
    Path("hard").hardlink_to(desk)
    monkeypatch.setenv("ASYNCGUARD_JOURNAL", str(desk))
    before = desk.read_bytes()
    text = run(capsys, "export", *filter(None, [journal]), "--out", out, code=1)
    assert "which it would replace; name another file." in text
    assert desk.read_bytes() == before
    assert sorted(path.name for path in desk.parent.iterdir()) == ["effects.db", "hard", "soft"]


@pytest.mark.parametrize("out", ["other.db", "other.db-wal", "soft"])
def test_an_export_replaces_no_other_database(desk: Path, capsys: Capture, out: str) -> None:
    """It may be the journal of another agent."""
    Path("soft").symlink_to("other.db")
    with closing(sqlite3.connect("other.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("CREATE TABLE kept (number)")
        before = Path(out).read_bytes()
        text = run(capsys, "export", desk, "--out", out, code=1)
        assert f"The output {out} is a database of SQLite, which it would replace" in text
        assert Path(out).read_bytes() == before


def test_an_export_to_a_dash_is_the_standard_output(desk: Path, capsys: Capture) -> None:
    """As if no file was named; none is made."""
    assert run(capsys, "export", desk, "--out", "-") == run(capsys, "export", desk)
    assert not Path("-").exists()


def test_an_export_goes_through_links_and_into_pipes(desk: Path, capsys: Capture) -> None:
    """What is not a regular file is not replaced by one."""
    Path("link").symlink_to("calls.jsonl")
    run(capsys, "export", desk, "--out", "link")
    assert Path("link").is_symlink()
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    run(capsys, "export", desk, "--out", "pipe")
    assert os.read(reader, 1 << 20) == Path("calls.jsonl").read_bytes()
    os.close(reader)


def test_prune_removes_what_has_ended_and_nothing_else(desk: Path, capsys: Capture) -> None:
    """Calls that are pending or in doubt stay, however old they are; so do all of a run that has not ended."""
    assert run(capsys, "prune", desk, "--older-than", "9d") == "0 calls were removed."

    async def end(journal: Journal) -> None:
        journal.release(SESSION, stands_on="checkpoint", ends=True)

    tell(desk, end)
    assert run(capsys, "prune", desk, "--older-than", "11d") == "0 calls were removed."
    assert run(capsys, "prune", desk, "--older-than", "9d") == "1 call was removed."
    assert [row["key"] for row in exported(capsys, desk)] == [
        key(label) for label in LABELS if label != "book#2"
    ]


@pytest.mark.parametrize("span", ["", "d", "0d", "-1d", "1.5h", "30", "1y", "²d"])
def test_a_span_without_a_unit_is_refused(desk: Path, capsys: Capture, span: str) -> None:
    """30 could be days or seconds."""
    assert f"{span!r} is not a span of time" in wrong(capsys, "prune", desk, f"--older-than={span}")


@pytest.mark.parametrize("action", ["list", "show", "resolve", "retry", "export", "prune"])
def test_each_action_has_examples_that_parse(capsys: Capture, action: str) -> None:
    """The help shows only what works."""
    with pytest.raises(SystemExit) as caught:
        main(["ledger", action, "--help"])
    assert caught.value.code == 0
    shown = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(f"  asyncguard ledger {action}")
    ]
    assert len(shown) >= 2
    for line in shown:
        words = shlex.split(line.strip().split("   ")[0].split(" | ")[0])
        assert parser().parse_args(words[2:]).action == action


def test_a_delivery_after_a_retry_is_listed_as_one(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No person said that it happened: the result came from outside."""
    monkeypatch.chdir(tmp_path)
    journal = tmp_path / "effects.db"
    tell(journal, lambda opened: opened.begin(intent("ask#5", token=TOKEN)))
    run(capsys, "retry", key("ask#5"), journal, "--yes")
    assert " answered 1 " in run(capsys, "list", journal, "--all")
    assert main(["deliver", TOKEN, "certified", "--journal", str(journal)]) == 0
    capsys.readouterr()
    text = run(capsys, "list", journal, "--all")
    assert " delivered 1 " in text
    assert "delivered: its result waits for its thread." in text
    assert "answered" not in text
    (row,) = exported(capsys, journal)
    assert row["answer"] == "delivery"
    refused = run(capsys, "resolve", key("ask#5"), journal, *DENIED, code=1)
    assert "its result was delivered, and waits for its thread" in refused


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_journal_in_postgresql_is_served_in_the_same_way(
    postgres_url: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """List, show, resolve, retry, deliver and export, by URL in the environment."""
    monkeypatch.setenv("ASYNCGUARD_JOURNAL", postgres_url)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["ledger", "list"]) == 1
    assert "holds no journal; a run with a checkpointer makes one" in capsys.readouterr().err
    tell(postgres_url, everything)
    text = run(capsys, "list")
    assert "pay#1 at_most_once in doubt 1" in text
    assert "note#4 idempotent broken off 1" in text
    assert "(gone)" in run(capsys, "show", key("pay#1"))
    run(capsys, "resolve", key("pay#1"), *HAPPENED, "--result", "paid")
    assert ask(postgres_url, "pay#1") == Known(result=Success(content="paid"))
    run(capsys, "retry", key("mail#3"), "--yes")
    assert "1 call was removed" not in run(capsys, "prune", "--older-than", "1h")
    assert main(["deliver", TOKEN, "certified"]) == 0
    capsys.readouterr()
    assert entry(postgres_url, "ask#5").signals[0].content == "certified"
    rows = {row["key"]: row for row in exported(capsys)}
    assert [rows[key(label)]["answer"] for label in ("pay#1", "mail#3", "note#4")] == [
        "happened",
        "retry",
        "",
    ]
    assert rows[key("odd#6")]["state"] == CallState.IN_DOUBT
    assert rows[key("odd#6")]["label"] == HOSTILE


@pytest.mark.slow
def test_a_role_without_rights_is_told_that_it_lacks_them(
    postgres_url: str, capsys: Capture
) -> None:
    """PostgreSQL says that the tables do not exist, which reads as if the journal were lost."""
    tell(postgres_url, everything)
    role = f"reader_{secrets.token_hex(4)}"
    parts = urlsplit(postgres_url)
    url = parts._replace(netloc=f"{role}:secret@{parts.hostname}:{parts.port}").geturl()
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
        try:
            text = run(capsys, "list", url, code=1)
            assert "lacks rights: have the journal's owner GRANT USAGE ON SCHEMA asyncguard" in text
            owner.execute(f"GRANT USAGE ON SCHEMA asyncguard TO {role}")
            text = run(capsys, "list", url, code=1)
            assert "permission denied for table meta" in text
            assert "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES in it" in text
            owner.execute(
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA asyncguard TO {role}"
            )
            assert "pay#1" in run(capsys, "list", url)
        finally:
            owner.execute(f"DROP OWNED BY {role}")
            owner.execute(f"DROP ROLE {role}")
