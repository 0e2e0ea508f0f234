import io
import json
import time
from pathlib import Path

import pytest

from asyncguard import Inbox
from asyncguard.cli import main
from asyncguard.cli.ledger import export
from asyncguard.core.results import Started
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Signal, SignalKind
from tests.cli.desk import TOKEN, entry, intent, key, listening, tell

Capture = pytest.CaptureFixture[str]
UNKNOWN = "asyncguard: No pending external call has this token; deliver with the token that the tool received.\n"


def deliver(capsys: Capture, *words: object, code: int = 0) -> str:
    """Return the output of `asyncguard deliver`, which never holds the token."""
    assert main(["deliver", "--journal", "effects.db", *map(str, words)]) == code
    captured = capsys.readouterr()
    assert TOKEN not in captured.out + captured.err
    return captured.err if code else captured.out


def wrong(capsys: Capture, *words: str) -> str:
    """Return the error message for a wrong command line, which never holds the token."""
    with pytest.raises(SystemExit) as caught:
        main(["deliver", *words])
    assert caught.value.code == 2
    text = capsys.readouterr().err
    assert TOKEN not in text
    return text.splitlines()[-1].removeprefix("asyncguard deliver: error: ")


def test_a_delivery_is_kept_for_its_thread(desk: Path, capsys: Capture) -> None:
    """A delivery is kept for its thread, the output says what follows, a token is good for one."""
    assert (
        deliver(capsys, TOKEN, "certified")
        == "Delivered and stored. A parked thread continues when it is run again.\n"
    )
    assert deliver(capsys, TOKEN, "certified", code=1) == UNKNOWN
    assert deliver(capsys, "guessed", "certified", code=1) == UNKNOWN
    (mail,) = entry(desk, "ask#5").signals
    assert (mail.kind, mail.content, mail.attempt) == (SignalKind.DELIVERY, "certified", 1)


def test_a_run_that_waits_gets_it_soon(desk: Path, capsys: Capture) -> None:
    """A run in another process gets the delivery within a second."""
    got: list[Signal] = []
    with listening(desk, got):
        deliver(capsys, TOKEN, "certified")
        until = time.monotonic() + 5
        while not got and time.monotonic() < until:
            time.sleep(0.01)
    assert [(mail.kind, mail.content) for mail in got] == [(SignalKind.DELIVERY, "certified")]


@pytest.mark.parametrize("source", ["--file", "-"])
def test_the_result_comes_from_a_file_or_the_input(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """The result is delivered exactly as it stands in the file or the input."""
    text = "certified\n as no. ½ "
    Path("answer.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    deliver(capsys, TOKEN, *(["--file", "answer.txt"] if source == "--file" else ["-"]))
    assert entry(desk, "ask#5").signals[0].content == text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"number": 815}', '{"number": 815}'),
        ('[{"type": "text", "text": "done"}]', [{"type": "text", "text": "done"}]),
        ('"text"', "text"),
        ("815", "815"),
    ],
)
def test_json_is_checked_and_delivered_as_such(
    desk: Path, capsys: Capture, given: str, kept: object
) -> None:
    """Content blocks stay blocks; other values are the model's as JSON text."""
    deliver(capsys, TOKEN, "--json", given)
    content = entry(desk, "ask#5").signals[0].content
    assert (json.loads(content) if given[0] == "{" else content) == (
        json.loads(given) if given[0] == "{" else kept
    )


@pytest.mark.parametrize("given", ["{", "", "NaN", '{"a": Infinity}', "{'a': 1}", "[" * 100_000])
def test_what_is_no_json_is_refused_and_the_token_stays_good(
    desk: Path, capsys: Capture, given: str
) -> None:
    """The text itself is not quoted."""
    text = deliver(capsys, TOKEN, "--json", given, code=1)
    assert text.startswith("asyncguard: The result is not valid JSON (")
    assert len(text) < 300
    deliver(capsys, TOKEN, "--json", "null")


def test_the_token_need_not_stand_in_the_list_of_processes(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or the environment holds it; line ends around it do not matter, and the only argument is the result."""
    monkeypatch.setenv("ASYNCGUARD_TOKEN", "wrong")
    assert deliver(capsys, "x", code=1) == UNKNOWN
    Path("token.txt").write_text(f"{TOKEN}\n")
    assert "comes from --token-file, so the only argument is the result" in wrong(
        capsys, "--token-file", "token.txt", TOKEN, "x"
    )
    assert "comes from $ASYNCGUARD_TOKEN, so" in wrong(capsys, TOKEN, "x")
    deliver(capsys, "--token-file", "token.txt", "by file")
    assert entry(desk, "ask#5").signals[0].content == "by file"


def test_a_token_from_the_environment_counts(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token from the environment counts as the same token in an argument."""
    monkeypatch.setenv("ASYNCGUARD_TOKEN", TOKEN)
    deliver(capsys, "--", "-5 degrees")
    assert entry(desk, "ask#5").signals[0].content == "-5 degrees"


OLD = "-IRYKhnyTGWQxUsHkJ3bZ_-4dPfm0oLv"


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("-abcDEF_12", "TOKEN done --journal effects.db"),
        ("--file-of-mine", "TOKEN done --journal effects.db"),
        ("-h3", "TOKEN done --journal effects.db"),
        (OLD, "--journal effects.db TOKEN done"),
        (OLD, "--journal=effects.db TOKEN -- done"),
        (OLD, "--journal effects.db -- TOKEN done"),
        ("-abcDEF_12", "--journal effects.db -- TOKEN done"),
        ("--json", "--journal effects.db -- TOKEN done"),
    ],
)
def test_a_token_may_begin_with_a_dash(desk: Path, capsys: Capture, token: str, words: str) -> None:
    """Those of older releases do, one in sixty: it is not taken for an option."""

    async def start(journal: object) -> None:
        await journal.begin(intent("new#7", token=token))  # type: ignore[attr-defined]
        await journal.end(key("new#7"), 1, Started())  # type: ignore[attr-defined]

    tell(desk, start)
    assert main(["deliver", *(token if word == "TOKEN" else word for word in words.split())]) == 0
    assert token not in capsys.readouterr().out
    assert entry(desk, "new#7").signals[0].content == "done"


def test_no_token_is_made_with_a_dash_in_front() -> None:
    """Command lines of all kinds take such a word for an option."""
    inbox = Inbox()
    assert not any(inbox.issue(None).startswith("-") for _ in range(2000))


@pytest.mark.parametrize("content", ["-5", "--json", "-x y", "--", OLD])
def test_after_two_dashes_a_result_may_begin_with_a_dash(
    desk: Path, capsys: Capture, content: str
) -> None:
    """As everywhere, no word after them is an option."""
    deliver(capsys, TOKEN, "--", content)
    assert entry(desk, "ask#5").signals[0].content == content


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "there is no token: give it first, or by --token-file or $ASYNCGUARD_TOKEN"),
        (
            [TOKEN],
            "give one result: as text, - for standard input, or --file; give the journal by --journal",
        ),
        (
            [TOKEN, "x", "y"],
            "give one result: as text, - for standard input, or --file; give the journal by --journal",
        ),
        (
            [TOKEN, "x", "--file", "f"],
            "give one result: as text, - for standard input, or --file; give the journal by --journal",
        ),
        (
            ["x", f"--{TOKEN}"],
            "an option is unknown; write -- before a result that begins with a dash",
        ),
        ([TOKEN, "--file", OLD], "argument --file: expected one argument"),
        (["--token-file", "empty.txt", "x"], "the token from --token-file is empty"),
    ],
)
def test_wrong_command_lines_never_show_the_token(
    desk: Path, capsys: Capture, words: list[str], complaint: str
) -> None:
    """They say what is missing."""
    desk.with_name("empty.txt").write_text("\n")
    assert wrong(capsys, *words) == complaint


def test_files_that_cannot_be_read_are_named_and_not_quoted(desk: Path, capsys: Capture) -> None:
    """An unreadable token file or a missing result file is named in the error, not quoted."""
    Path("token.bin").write_bytes(b"\xff" + TOKEN.encode())
    text = deliver(capsys, "--token-file", "token.bin", "x", code=1)
    assert (
        text == "asyncguard: The token cannot be read from token.bin: it must be text in UTF-8.\n"
    )
    text = deliver(capsys, TOKEN, "--file", "none.txt", code=1)
    assert (
        text == "asyncguard: The result cannot be read from none.txt: No such file or directory.\n"
    )


def test_a_delivery_makes_no_journal(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery to a wrong place makes no journal there."""
    monkeypatch.chdir(tmp_path)
    assert deliver(capsys, TOKEN, "x", code=1).startswith(
        "asyncguard: There is no journal at effects.db. Give one by"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_journal_keeps_no_token(desk: Path, capsys: Capture) -> None:
    """The journal's file does not hold the token, so that a reader cannot deliver."""
    deliver(capsys, TOKEN, "certified")
    open_journal(desk).close()
    assert TOKEN.encode() not in desk.read_bytes()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--token-file", "/dev/zero", "x"], "token cannot be read from /dev/zero"),
        ([TOKEN, "--file", "/dev/full"], "result cannot be read from /dev/full"),
        ([TOKEN, "-"], "result cannot be read from standard input"),
    ],
)
def test_a_text_without_an_end_is_not_read_until_the_memory_ends(
    desk: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: list[str], what: str
) -> None:
    """As of a device that was given for a file."""
    monkeypatch.setattr(export, "_LONGEST", 1000)
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 1001))
    text = deliver(capsys, *words, code=1)
    assert (
        text == f"asyncguard: The {what}: it has more than 1000 characters; give a shorter one.\n"
    )
