import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from asyncguard.cli import main
from asyncguard.cli.ledger import journal
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure
from asyncguard.errors import JournalError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Fresh
from tests.cli.desk import HOSTILE, LABELS, SECRETS, SESSION, THREAD, intent, key, tell

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *words: object, code: int = 0) -> str:
    """The output of `asyncguard ledger`, of whichever stream speaks."""
    assert main(["ledger", *map(str, words)]) == code
    captured = capsys.readouterr()
    assert not (captured.out and captured.err and code)
    return captured.out or captured.err


def test_looking_at_calls_needs_no_framework(desk: Path) -> None:
    """An operator's machine needs neither LangGraph nor DBOS, and the command starts fast."""
    heavy = [
        "langgraph",
        "langchain_core",
        "langchain",
        "structlog",
        "jsonschema",
        "dbos",
        "sqlalchemy",
        "psycopg",
    ]
    code = f"import sys; from asyncguard.cli import main; main(['ledger', 'list', {str(desk)!r}])"
    code += f"; print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def wrong(capsys: Capture, *words: object) -> str:
    """Return the error message for a wrong command line."""
    with pytest.raises(SystemExit) as caught:
        main(["ledger", *map(str, words)])
    assert caught.value.code == 2
    return capsys.readouterr().err


def labels(text: str) -> list[str]:
    """Labels of a JSON array."""
    return ["odd#6" if row["label"] == HOSTILE else row["label"] for row in json.loads(text)]


# -- list ----------------------------------------------------------------------------------------------------------


def test_the_list_shows_what_a_person_has_to_look_at(desk: Path, capsys: Capture) -> None:
    """Calls in doubt and those that wait for their thread; not what is done or parked; and what to do about each."""
    lines = run(capsys, "list", desk).splitlines()
    assert lines[0].split() == ["key", "age", "thread", "task", "call", "effect", "state", "try"]
    assert lines[1].split()[:2] == [key("pay#1")[:8], "10d"]
    assert lines[1].split()[2:] == [THREAD, "main", "pay#1", "at_most_once", "in", "doubt", "1"]
    assert lines[2].split()[2:] == [THREAD, "news", "mail#3", "at_most_once", "in", "doubt", "1"]
    assert lines[3].split()[2:] == [THREAD, "main", "note#4", "idempotent", "broken", "off", "1"]
    assert lines[4].split()[0] == key("odd#6")[:8]
    assert lines[5] == ""
    advice = " ".join(" ".join(lines[6:]).split())
    assert (
        "`asyncguard ledger resolve KEY --happened` or `--not-happened`, or `asyncguard ledger retry KEY`"
        in advice
    )
    assert "broken off: its process is gone. Run its thread again" in advice


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_fits_the_terminal(
    desk: Path, capsys: Capture, monkeypatch: Any, columns: int
) -> None:
    """Names are folded, keys and states are not."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run(capsys, "list", desk).splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.startswith(key("pay#1")[:8]) and "in doubt" in line for line in lines) == 1


@pytest.mark.parametrize("columns", ["0", "wide", ""])
def test_a_width_that_is_none_hides_no_call(
    desk: Path, capsys: Capture, monkeypatch: Any, columns: str
) -> None:
    """Some shells and containers set COLUMNS to 0; the calls in doubt are shown as in a pipe."""
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["ledger", "list", str(desk)]) == 0
    assert "in doubt" in capsys.readouterr().out


def test_a_call_of_a_process_that_is_alive_needs_nobody(desk: Path, capsys: Capture) -> None:
    """It is listed when that process has gone."""
    journal = open_journal(desk)
    assert asyncio.run(journal.begin(intent("new#7", task="other", remote=True))) == Fresh()
    assert "new#7" not in labels(run(capsys, "list", desk, "--json"))
    journal.close()
    assert "new#7" in run(capsys, "list", desk)


def test_an_empty_list_is_a_sentence(tmp_path: Path, capsys: Capture) -> None:
    """An empty list is printed as a sentence and is not a failure."""
    open_journal(tmp_path / "new.db").close()
    assert (
        run(capsys, "list", tmp_path / "new.db")
        == "No begun call waits for a person; a held one has not begun.\n"
    )
    assert (
        run(capsys, "list", tmp_path / "new.db", "--thread", "t")
        == "No begun call of thread t waits for a person; a held one has not begun.\n"
    )
    assert run(capsys, "list", tmp_path / "new.db", "--all") == "There is no such call.\n"
    assert run(capsys, "list", tmp_path / "new.db", "--json") == "[]\n"


def test_filters_choose(desk: Path, capsys: Capture) -> None:
    """Calls are filtered by state, by either id of the thread, or not at all."""
    assert labels(run(capsys, "list", desk, "--json")) == ["pay#1", "mail#3", "note#4", "odd#6"]
    assert labels(run(capsys, "list", desk, "--json", "--all")) == list(LABELS)
    assert labels(run(capsys, "list", desk, "--json", "--state", "done")) == ["book#2"]
    both = ("--state", "done", "--state", "in_doubt")
    assert labels(run(capsys, "list", desk, "--json", *both)) == [
        "pay#1",
        "book#2",
        "mail#3",
        "odd#6",
    ]
    for name in (THREAD, SESSION):
        assert labels(run(capsys, "list", desk, "--json", "--all", "--thread", name)) == list(
            LABELS
        )
    assert labels(run(capsys, "list", desk, "--json", "--all", "--thread", "customer")) == []
    assert "invalid choice: 'doubtful'" in wrong(capsys, "list", desk, "--state", "doubtful")


def test_what_was_answered_is_counted_and_not_listed(desk: Path, capsys: Capture) -> None:
    """An answered call is only counted until its thread has run."""
    run(capsys, "resolve", key("pay#1"), desk, "--happened", "--yes")
    text = run(capsys, "list", desk)
    assert key("pay#1")[:8] not in text
    assert text.endswith("1 call was answered and waits for the thread to run; see --all.\n")
    assert (
        "answered: its thread is notified when it continues; if its run has ended, with its next message."
        in run(capsys, "list", desk, "--all")
    )
    rows = {row["label"]: row for row in json.loads(run(capsys, "list", desk, "--all", "--json"))}
    assert (rows["pay#1"]["answer"], rows["mail#3"]["answer"]) == ("happened", "")


def test_a_long_list_is_cut_and_says_so(desk: Path, capsys: Capture, monkeypatch: Any) -> None:
    """The oldest come first, and JSON has all."""
    monkeypatch.setattr("asyncguard.cli.ledger.commands._MOST", 2)
    text = run(capsys, "list", desk)
    assert [label for label in LABELS if label in text] == ["pay#1", "mail#3"]
    assert text.endswith("These are the oldest of 4; `asyncguard ledger export` writes them all.\n")
    assert len(json.loads(run(capsys, "list", desk, "--json"))) == 4


def test_a_fallback_is_named_beside_the_call(tmp_path: Path, capsys: Capture) -> None:
    """The tool that was tried last is the one to ask about."""

    async def fall_back(journal: Any) -> None:
        await journal.begin(intent("pay#1"))
        await journal.end(
            key("pay#1"),
            1,
            Failure(symptom=Symptom(error="ConnectionRefusedError", message="no", started=False)),
        )
        await journal.begin(intent("pay#1", attempt=2, tool="other_bank"))

    tell(tmp_path / "new.db", fall_back)
    assert "pay#1 by other_bank" in run(capsys, "list", tmp_path / "new.db")
    (row,) = json.loads(run(capsys, "list", tmp_path / "new.db", "--json"))
    assert (row["tool"], row["attempt"], [item["tool"] for item in row["attempts"]]) == (
        "other_bank",
        2,
        ["pay", "other_bank"],
    )


# -- which journal -------------------------------------------------------------------------------------------------


def test_the_journal_is_named_in_four_ways(desk: Path, capsys: Capture, monkeypatch: Any) -> None:
    """The journal is named by the last argument, --journal, the environment, or the folder."""
    expected = run(capsys, "list", desk, "--json")
    assert run(capsys, "list", "--journal", desk, "--json") == expected
    assert run(capsys, "list", f"sqlite:///{desk}", "--json") == expected
    assert run(capsys, "show", key("pay#1"), "--json", desk) == run(
        capsys, "show", key("pay#1"), desk, "--json"
    )
    assert "the journal is given twice" in wrong(capsys, "list", desk, "--journal", desk)
    assert "unrecognized arguments: b" in wrong(capsys, "list", "a", "b")
    monkeypatch.setenv("ASYNCGUARD_JOURNAL", str(desk))
    assert run(capsys, "list", "--json") == expected
    monkeypatch.delenv("ASYNCGUARD_JOURNAL")
    Path(".asyncguard").mkdir()
    desk.rename(".asyncguard/effects.db")
    assert run(capsys, "list", "--json") == expected


@pytest.mark.parametrize(
    "words", [["list"], ["list", "no.db"], ["show", "ab", "no.db"], ["export", "sqlite:///no.db"]]
)
def test_a_missing_journal_is_never_made(
    tmp_path: Path, capsys: Capture, monkeypatch: Any, words: list[str]
) -> None:
    """A missing journal is not created; the error says where it was looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASYNCGUARD_JOURNAL", raising=False)
    text = run(capsys, *words, code=1)
    assert text.startswith(
        "asyncguard: There is no journal at "
        + (".asyncguard/effects.db" if len(words) == 1 else "no.db")
    )
    assert list(tmp_path.iterdir()) == []
    if not words[-1].startswith("sqlite"):
        assert (
            "--journal or by ASYNCGUARD_JOURNAL: an SQLite file (next to a checkpointer's FILE it is FILE.eff"
            in text
        )


@pytest.mark.parametrize("content", [b"", "a database without tables"])
@pytest.mark.parametrize("words", ["ledger list", "ledger export", "deliver token text"])
def test_a_journal_that_lost_its_content_is_not_taken_for_an_idle_one(
    tmp_path: Path, capsys: Capture, words: str, content: Any
) -> None:
    """An error says what to do, and the file stays as it was, with nothing beside it."""
    file = tmp_path / "effects.db"
    file.touch()
    if content:
        other = sqlite3.connect(file)
        other.execute("VACUUM")
        other.close()
    before = file.read_bytes()
    assert main([*words.split(), "--journal", str(file)]) == 1
    text = capsys.readouterr().err
    assert "does not hold a journal" in text if content else "restore it from a backup" in text
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (before, [file])


def test_a_checkpointers_file_leads_to_its_journal(desk: Path, capsys: Capture) -> None:
    """A checkpointer's file, which is an easy mistake, leads to its journal."""
    other = sqlite3.connect("threads.db")
    other.execute("CREATE TABLE checkpoints (id TEXT)")
    other.close()
    assert "does not hold a journal" in run(capsys, "list", "threads.db", code=1)
    desk.rename("threads.db.effects")
    assert run(capsys, "list", "threads.db", code=1).endswith(
        "The journal of that checkpointer is threads.db.effects.\n"
    )


# -- show ----------------------------------------------------------------------------------------------------------


def test_show_tells_everything_but_payloads(desk: Path, capsys: Capture) -> None:
    """Times, process, deadline, outcome; and what to do."""
    lines = [
        line.split(maxsplit=1) for line in run(capsys, "show", key("pay#1")[:6], desk).splitlines()
    ]
    facts = {line[0]: line[1].strip() for line in lines if len(line) == 2}
    assert facts["key"] == key("pay#1")
    assert (facts["thread"], facts["session"]) == (THREAD, SESSION)
    assert (facts["effect"], facts["state"]) == ("at_most_once", "in doubt")
    assert facts["process"].endswith("(gone)")
    assert facts["begun"].endswith("(10d ago)")
    assert facts["deadline"].endswith(
        ("(9d ago)", "(10d ago)")
    )  # half a minute later, which is a day or is none
    assert (facts["ended"], facts["outcome"]) == ("not known", "begun, end unknown")
    assert "failed: TimeoutError" in run(capsys, "show", key("mail#3"), desk)
    assert "work outside started, result awaited" in run(capsys, "show", key("ask#5"), desk)
    assert "outcome    success" in run(capsys, "show", key("book#2"), desk)


def test_show_tells_every_process_that_began_an_attempt(tmp_path: Path, capsys: Capture) -> None:
    """A keyed attempt that a later process takes over was made twice, under one key."""
    place = tmp_path / "journal.db"

    async def begun(journal: Any) -> str:
        assert isinstance(await journal.begin(intent("keyed#1", EffectClass.KEYED)), Fresh)
        return str(journal.process_id)

    processes = [tell(place, begun) for _ in range(3)]
    (attempt,) = json.loads(run(capsys, "show", key("keyed#1"), place, "--json"))["attempts"]
    assert [each["process"] for each in attempt["begun_before"]] == processes[:2]
    assert attempt["process"] == processes[2]
    begins = [each["begun_at"] for each in (*attempt["begun_before"], attempt)]
    assert begins == sorted(begins)
    text = " ".join(run(capsys, "show", key("keyed#1"), place).split())
    assert "attempt 1, begun 3 times" in text
    for process in processes[:2]:
        assert f"by {process} (gone), end unknown, at 20" in text
    assert f"process {processes[2]} (gone)" in text


def test_arguments_and_results_are_shown_on_request_only(desk: Path, capsys: Capture) -> None:
    """Arguments and results are in no output without --payload."""
    run(capsys, "resolve", key("pay#1"), desk, "--happened", "--result", SECRETS[3], "--yes")
    shy = [
        ["list"],
        ["list", "--all"],
        ["list", "--all", "--json"],
        ["export"],
        ["export", "--format", "csv"],
    ]
    shy += [["show", key(label)] for label in LABELS] + [["show", key("pay#1"), "--json"]]
    for words in shy:
        text = run(capsys, *words, desk)
        assert not [secret for secret in SECRETS if secret in text]
    bold = [run(capsys, "show", key(label), desk, "--payload") for label in LABELS]
    assert [secret for secret in SECRETS if not any(secret in text for text in bold)] == []
    assert [
        secret for secret in SECRETS if secret not in run(capsys, "export", desk, "--payload")
    ] == []
    told = json.loads(run(capsys, "show", key("mail#3"), desk, "--payload", "--json"))
    assert told["attempts"][0]["message"] == f"{SECRETS[2]} does not answer"


def test_a_key_has_to_fit_one_call(desk: Path, capsys: Capture) -> None:
    """None, several and nothing are different mistakes."""

    async def more(journal: Any) -> None:
        for end in "12":
            await journal.begin(
                intent("pay#8", key=f"abcabc{end}", label=f"pay#{end}", fingerprint=end)
            )

    tell(desk, more)
    assert "No call has a key that begins with 'zz'" in run(capsys, "show", "zz", desk, code=1)
    assert (
        "2 calls have keys that begin with 'abcabc': abcabc1 (pay#1), abcabc2 (pay#2); give more of the key."
        in run(capsys, "show", "abcabc", desk, code=1)
    )
    assert "2 calls have keys" in run(capsys, "retry", "abc", desk, "--yes", code=1)
    assert "No call has a key that begins with ''" in run(capsys, "show", "", desk, code=1)
    assert "abcabc2" in run(capsys, "show", "abcabc2", desk)


def test_nothing_that_steers_a_terminal_reaches_it(desk: Path, capsys: Capture) -> None:
    """Names of tools, tasks and calls, arguments, results and signatures come from models and servers."""
    run(
        capsys,
        "resolve",
        key("odd#6"),
        desk,
        "--happened",
        "--result",
        HOSTILE,
        "--by",
        HOSTILE,
        "--yes",
    )
    texts = [
        run(capsys, *words, desk)
        for words in (["list"], ["list", "--all"], ["list", "--all", "--json"])
    ]
    texts += [
        run(capsys, "show", key("odd#6"), desk, "--payload", *words) for words in ([], ["--json"])
    ]
    texts += [
        run(capsys, "export", desk, "--payload", "--format", form) for form in ("csv", "jsonl")
    ]
    texts += [
        run(capsys, "retry", key("odd#6"), desk, "--yes", code=1),
        run(capsys, "show", HOSTILE, desk, code=1),
    ]
    texts += [run(capsys, "list", desk, "--thread", HOSTILE), run(capsys, "list", HOSTILE, code=1)]
    for text in texts:
        assert [char for char in text if not char.isprintable() and char != "\n"] == []
    exact = json.loads(texts[-5].splitlines()[-1])
    assert (exact["label"], exact["arguments"]) == (HOSTILE, {HOSTILE: HOSTILE})


def test_a_journal_that_cannot_be_written_can_be_copied_to_be_looked_at(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command writes into a journal; the line says what to do without the right to."""

    def refuse(*_: object, **__: object) -> None:
        raise JournalError("It cannot be written.")

    # The tests may be run by root, whom no mode keeps from writing.
    monkeypatch.setattr(journal, "open_journal", refuse)
    words = ("list", "--journal", desk)
    assert run(capsys, *words, code=1) == "asyncguard: It cannot be written.\n"
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert run(capsys, *words, code=1) == (
        f"asyncguard: It cannot be written. Only to look at it, copy {desk} (and its -wal, if there is one) into a "
        "folder of your own, and give the copy by --journal.\n"
    )
