import asyncio
import base64
import http.client
import json
import os
import re
import socket
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from asyncguard import Ports, build_agent, guarded
from asyncguard.cli import main
from asyncguard.cli.view import traces
from asyncguard.cli.view.content import read_content
from asyncguard.cli.view.server import Follower
from asyncguard.cli.view.story import LONGEST, Item
from asyncguard.observability.fields.table import FIELDS
from asyncguard.observability.observer import ObserverSet
from asyncguard.observability.trace_file import TraceFile
from asyncguard.testing import ScriptedChatModel, calls, run_virtual
from asyncguard_benchmark.harness.journal import Journal
from tests.benchmark.pages import Element, episodes
from tests.observability.story import Story, every_kind, questions, trip_file

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A trace with payloads, in which every event occurs."""
    return write_trace(tmp_path / "run.jsonl", payloads=True)


def write_trace(path: Path, **options: Any) -> Path:
    """Writes a run with every kind of event."""
    story = Story()
    with TraceFile(path, wall=story.wall, **options) as trace:
        trace.write_head({"grounding": True}, version="0.1.0")
        story.observers = ObserverSet([trace])
        every_kind(story)
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes of an agent that guesses, without and with guards, with their conversations."""
    path = tmp_path_factory.mktemp("played") / "episodes.jsonl"
    with Journal(path) as journal:
        for episode in episodes(agents=("eager",), keep_messages=True):
            journal.add(episode)
    return path


def groups_of(page: Path) -> dict[str, Any]:
    """The data of a page, unpacked as its script does it."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    data["groups"] = [
        json.loads(zlib.decompress(base64.b64decode(each), -15)) for each in data["packed"]
    ]
    return data


def call(path: Path, name: str, place: int = 0) -> Item:
    """A call of a file by its label."""
    group = read_content(path).groups[place]
    return next(item for item in group.items if item.kind == "call" and item.name == name)


def test_a_question_of_a_tool_is_shown_as_one(tmp_path: Path) -> None:
    """Only the attempt that failed was recovered."""
    story = Story()
    with TraceFile(tmp_path / "run.jsonl", wall=story.wall) as trace:
        trace.write_head()
        story.observers = ObserverSet([trace])
        questions(story)
    steps = [(what, why) for _, what, why in call(tmp_path / "run.jsonl", "book_room#1").steps]
    assert [step for step in steps if "asked" in step[0] or "recovery" in step[0]] == [
        ("attempt 1 asked a person", ""),
        ("recovery after attempt 2: retry", "error: TimeoutError"),
        ("attempt 3 asked a person", ""),
    ]


def test_a_trace_is_written_as_a_page(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the file, named on standard output, for its owner only."""
    assert main(["view", str(file)]) == 0
    page = file.with_suffix(".html")
    assert capsys.readouterr().out == f"{page}\n"
    assert page.stat().st_mode & 0o077 == 0
    data = groups_of(page)
    assert [each[0] for each in data["index"]] == ["r1", "r2"]
    assert data["index"][0][1:] == [6, 1]


def test_the_page_needs_nothing_from_anywhere_else(file: Path) -> None:
    """Nothing refers elsewhere, and the policy lets no other script or request through."""
    main(["view", str(file)])
    text = file.with_suffix(".html").read_text()
    read = Element().read(text)
    assert {value for *_, value in read.references} == {"data:,", "#list"}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_a_rejection_has_guard_reason_and_arguments(file: Path) -> None:
    """The line says why; the steps say when; the arguments are those of the file."""
    item = call(file, "pay#1")
    assert item.status == "rejected"
    assert item.line == "grounding: the value is found nowhere"
    assert ("1.200 s", "rejected by grounding", "the value is found nowhere") in item.steps
    assert ("Arguments", "{}") in item.sections


def test_attempts_and_recovery_are_told_in_order(file: Path) -> None:
    """A fallback: the attempt, what recovery did, the next attempt, and how it ended."""
    told = [what for _, what, _ in call(file, "ask_desk#1").steps]
    wanted = (
        "attempt 1 started: ask_desk",
        "recovery after attempt 1: fallback, next attempt by ask_portal",
        "attempt 2 started: ask_portal",
        "ended: in doubt",
    )
    found = [next(n for n, what in enumerate(told) if what.startswith(each)) for each in wanted]
    assert found == sorted(found)


def test_calls_stand_in_the_turn_that_made_them(tmp_path: Path) -> None:
    """In a trace of the engine, which tells of calls before it counts the turn; the turn comes first."""

    @guarded(effect="pure")
    async def look(place: str) -> str:
        """Look at a place."""
        return f"{place}: 4 rooms"

    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        model = ScriptedChatModel(
            [
                calls(("look", {"place": "Roma"})),
                calls(("look", {"place": "Ostia"})),
                "Both are looked at.",
            ]
        )
        agent = build_agent(model, [look], ports=Ports(observers=[trace]))
        run_virtual(agent.ainvoke({"tasks": [{"id": "t", "goal": "Look at Roma and Ostia."}]}))
    (group,) = read_content(path).groups
    told = [(item.kind, item.column, item.name.partition(":")[0]) for item in group.items]
    assert [each for each in told if each[2].startswith(("turn", "look"))] == [
        ("run", 1, "turn 1"),
        ("call", 1, "look#1"),
        ("run", 2, "turn 2"),
        ("call", 2, "look#2"),
        ("run", 3, "turn 3"),
    ]


def test_a_run_that_waits_for_calls_was_not_nudged(tmp_path: Path) -> None:
    """Both verdicts take a text for too early; only one sends the model a reminder."""

    @guarded(effect="pure")
    async def look(place: str) -> str:
        """Look at a place."""
        await asyncio.sleep(5)
        return f"{place}: 4 rooms"

    path = tmp_path / "run.jsonl"
    with TraceFile(path) as trace:
        model = ScriptedChatModel(
            [calls(("look", {"place": "Roma", "task_id": "a"})), *["Done."] * 6]
        )
        agent = build_agent(model, [look], ports=Ports(observers=[trace]))
        tasks = [{"id": "a", "goal": "Look at Roma."}, {"id": "b", "goal": "Look at Ostia."}]
        run_virtual(agent.ainvoke({"tasks": tasks}))
    (group,) = read_content(path).groups
    judged = [item for item in group.items if item.name.startswith("completion")]
    assert [(item.name, item.status, item.flags) for item in judged[:2]] == [
        ("completion: wait", "waited", ["waited"]),
        ("completion: nudge", "nudged", ["nudged"]),
    ]


def test_every_kind_of_event_is_shown(file: Path) -> None:
    """Each event of the table leaves an entry or a step; one that is added must not vanish."""
    assert {*traces._CALL, *traces._RUN, "calls_delivered", "run_started"} == set(FIELDS)
    later = read_content(file).groups[1]
    said = " | ".join(" ".join(step) for item in later.items for step in item.steps)
    for words in (
        "grounding would have said reject",
        "held by trust",
        "parked",
        "attempt 1 diagnosed: execution of mail",
        "circuit of mail: open",
        "cancelled",
        "answer from mail",
        "error: E",
    ):
        assert words in said, words


def test_payloads_are_left_out_where_the_file_lacks_them(tmp_path: Path) -> None:
    """The page shows what the file has, and says how the rest is had."""
    path = trip_file(tmp_path / "run.jsonl")
    item = call(path, "pay#1")
    assert item.sections[0][1].startswith("not in the file")
    assert "found nowhere" not in json.dumps(item.to_json())
    assert "payloads=True" in item.line


def test_an_episode_says_what_the_model_was_told(played: Path) -> None:
    """A rejection names its guard, quotes the sentence, and the message that it answers."""
    rejected = [
        item
        for group in read_content(played).groups
        for item in group.items
        if "rejected" in item.flags
    ]
    assert rejected
    for item in rejected:
        told = dict(item.sections)
        assert told["The model was told"].startswith(f"{item.name} was not run")
        assert item.name.partition("#")[0] in told["The model had said"]
        assert item.line.startswith("grounding: ")


def test_an_episode_holds_calls_and_messages(played: Path) -> None:
    """As many as the file has; calls say their arguments, results and what was open."""
    lines = [json.loads(line) for line in played.read_text().splitlines()]
    saved = [line for line in lines if "trajectory" in line]
    groups = read_content(played).groups
    assert len(groups) == len(saved) == 4
    for group, episode in zip(groups, saved, strict=True):
        issued = [item for item in group.items if item.kind == "call" and "done" in item.flags]
        assert len(issued) == len(episode["trajectory"])
        assert sum(item.kind == "message" for item in group.items) == len(episode["messages"])
        columns = [item.column for item in group.items]
        assert columns == sorted(columns)
    bare = next(group for group in groups if " / none / " in group.id)
    assert any("premature" in item.flags for item in bare.items)


def test_tokens_and_cost_are_shown_where_a_model_was_asked(played: Path, tmp_path: Path) -> None:
    """They stand among the facts; a simulated agent has none."""
    lines = played.read_text().splitlines()
    value = next(json.loads(line) for line in lines if "trajectory" in line)
    value["settings"]["usage"] = {"input_tokens": 1234, "output_tokens": 56, "dollars": 0.0125}
    path = tmp_path / "model.jsonl"
    first = next(line for line in lines if line.startswith('{"composition"'))
    path.write_text(f"{first}\n{json.dumps(value)}\n")
    facts = dict(read_content(path).groups[0].facts)
    assert facts["input tokens"] == "1,234"
    assert facts["cost"] == "0.012500 US dollars"
    assert "cost" not in dict(read_content(played).groups[0].facts)


def test_compositions_are_found_by_the_digest_of_the_benchmark(played: Path) -> None:
    """The page's reader and the benchmark agree on the name of a composition."""
    group = read_content(played).groups[0]
    composition = episodes(agents=("eager",))[0].composition
    assert list(group.tasks) == list(composition.task_ids)


@pytest.mark.parametrize("kind", ["trace", "episodes"])
def test_a_line_that_is_cut_off_is_named(
    kind: str, file: Path, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is shown; the page and standard error say which line is missing."""
    source = file if kind == "trace" else played
    path = tmp_path / "cut.jsonl"
    path.write_bytes(source.read_bytes()[:-9])
    number = len(source.read_bytes().splitlines())
    assert main(["view", str(path)]) == 0
    message = f"Line {number} is unfinished and was left out"
    assert message in capsys.readouterr().err
    data = groups_of(path.with_suffix(".html"))
    assert data["problems"][0].startswith(message)
    assert data["groups"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"trajectory": []}', "line 2: this is not an episode of format 1"),
        ('{"trajectory": [], "format": 9}', "line 2: this is not an episode of format 1"),
        ("[1]", "line 2: this is not an episode of format 1"),
        ("{broken", "line 2: this is not JSON"),
    ],
)
def test_a_damaged_episode_is_one_line_of_error(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names file and line, and ends with code 1."""
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"command": ["run"]}}\n{line}\n\n')
    assert main(["view", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_tick_that_is_not_a_number_is_refused(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page could not read NaN; the message names the line."""
    lines = played.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if "trajectory" in json.loads(line))
    value = json.loads(lines[number])
    value["trajectory"][0]["issued"] = float("nan")
    path = tmp_path / "nan.jsonl"
    path.write_text("\n".join([*lines[:number], json.dumps(value), ""]))
    assert main(["view", str(path)]) == 1
    assert f"line {number + 1}: this is not an episode" in capsys.readouterr().err


def test_a_file_of_neither_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is one that does not exist; the message names it."""
    (tmp_path / "x").write_text("hello\nworld\n")
    assert main(["view", str(tmp_path / "x")]) == 1
    assert main(["view", str(tmp_path / "y")]) == 1
    told = capsys.readouterr().err
    assert "line 1: this is not a JSON object" in told
    assert f"{tmp_path / 'y'} cannot be read" in told


def test_a_file_of_another_program_is_not_replaced(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where --out does not name it; an own page is replaced."""
    page = file.with_suffix(".html")
    page.write_text("my own notes")
    assert main(["view", str(file)]) == 1
    assert page.read_text() == "my own notes"
    assert "--out" in capsys.readouterr().err
    page.unlink()
    assert [main(["view", str(file)]), main(["view", str(file)])] == [0, 0]


def test_only_some_runs_can_be_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the beginning of their ids; an unknown one is an error that names the others."""
    assert main(["view", str(file), "--only", "r2"]) == 0
    assert [each[0] for each in groups_of(file.with_suffix(".html"))["index"]] == ["r2"]
    assert main(["view", str(file), "--only", "r9"]) == 1
    assert "no run or episode 'r9'; it has: r1, r2." in capsys.readouterr().err


def test_a_run_is_shown_under_the_callers_id_of_its_thread(tmp_path: Path) -> None:
    """The id that the caller gave LangGraph; where there is none, the session's own."""
    path = tmp_path / "two.jsonl"
    with TraceFile(path, wall=lambda: 0.0) as trace:
        Story(trace, thread="5e55", thread_id="order 42").begin("r1")
        Story(trace, thread="0ff1").begin("r2")
    assert main(["view", str(path)]) == 0
    found = groups_of(path.with_suffix(".html"))["groups"]
    assert [dict(each["facts"])["thread"] for each in found] == ["order 42", "0ff1"]


def test_the_runs_of_one_thread_can_be_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By either id of the thread, in the page, in what it follows, and in the timeline."""
    path = tmp_path / "two.jsonl"
    with TraceFile(path, wall=lambda: 0.0) as trace:
        Story(trace, thread="5e55", thread_id="order 42").begin("r1")
        Story(trace, thread="0ff1").begin("r2")
    for thread, run in (("order 42", "r1"), ("5e55", "r1"), ("0ff1", "r2")):
        assert main(["view", str(path), "--thread", thread]) == 0
        assert [each[0] for each in groups_of(path.with_suffix(".html"))["index"]] == [run]
        with Follower(path, thread=thread) as follower:
            assert [group.id for group in follower.content()[1].groups] == [run]
        capsys.readouterr()
        assert main(["trace", str(path), "--thread", thread, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [each["run"] for each in shown["runs"]] == [run]
    assert main(["view", str(path), "--thread", "order 43"]) == 1
    assert "no thread 'order 43'; it has: order 42, 0ff1." in capsys.readouterr().err


def test_episodes_are_not_chosen_by_thread(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They have none, and the error says by what they are chosen."""
    assert main(["view", str(played), "--thread", "t"]) == 1
    assert "choose by --only" in capsys.readouterr().err


def test_what_the_file_says_is_never_markup(tmp_path: Path) -> None:
    """Script tags in arguments, names, goals and reasons are text; the page stays balanced."""
    story = Story(thread=HOSTILE)
    path = tmp_path / f"{HOSTILE.replace('/', '')}.jsonl"
    with TraceFile(path, wall=story.wall, payloads=True) as trace:
        story.observers = ObserverSet([trace])
        story.begin(HOSTILE, t=HOSTILE)
        (key,) = story.turn(("t", "pay", {HOSTILE: HOSTILE}))
        story.reject(key)
    assert main(["view", str(path)]) == 0
    page = path.with_suffix(".html")
    read = Element().read(page.read_text())
    assert read.tags.count("script") == 2
    assert not {"img", "b"} & set(read.tags)
    (group,) = groups_of(page)["groups"]
    assert HOSTILE in dict(group["tasks"]).values()


def test_a_huge_text_is_cut_and_says_so(tmp_path: Path) -> None:
    """The page stays small; the number of missing characters is told."""
    story = Story()
    path = tmp_path / "run.jsonl"
    with TraceFile(path, wall=story.wall, payloads=True) as trace:
        story.observers = ObserverSet([trace])
        story.begin(t="x")
        story.turn(("t", "pay", {"blob": "y" * 5_000_000}))
    assert main(["view", str(path)]) == 0
    text = dict(call(path, "pay#1").sections)["Arguments"]
    assert len(text) < LONGEST + 100
    assert "characters more are in the file" in text
    assert path.with_suffix(".html").stat().st_size < 100_000


@pytest.fixture
def follower(file: Path) -> Iterator[Follower]:
    """A server in an OS thread of its own."""
    with Follower(file) as made:
        thread = threading.Thread(target=made.serve)
        thread.start()
        yield made
        made.stop()
        thread.join()


def asked(follower: Follower, path: str, host: str | None = None) -> tuple[int, str]:
    """Status and text of an answer."""
    link = http.client.HTTPConnection("127.0.0.1", follower.port, timeout=10)
    link.request("GET", path, headers={"Host": host or f"127.0.0.1:{follower.port}"})
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, text


def test_what_is_added_to_the_file_is_served(follower: Follower) -> None:
    """The version changes with the file; nothing is sent where nothing changed."""
    with urlopen(follower.url, timeout=10) as answer:
        assert "connect-src 'self'" in answer.read().decode()
    _, text = asked(follower, "/data?version=")
    version = json.loads(text)["version"]
    assert asked(follower, f"/data?version={version}") == (204, "")
    story = Story(thread="t2")
    with TraceFile(follower.path, wall=story.wall) as trace:
        story.observers = ObserverSet([trace])
        story.begin("later")
    _, text = asked(follower, f"/data?version={version}")
    assert [each[0] for each in json.loads(text)["index"]] == ["r1", "r2", "later"]


@pytest.mark.parametrize("kind", ["trace", "episodes"])
def test_a_line_that_is_still_being_written_is_waited_for(
    kind: str, file: Path, played: Path, tmp_path: Path
) -> None:
    """The first line, too: a file may be followed before its program has written anything. Nothing is called lost."""
    whole = (file if kind == "trace" else played).read_bytes()
    path = tmp_path / "growing.jsonl"
    lines = whole.splitlines(keepends=True)
    with Follower(path) as follower:
        for size in (0, 9, len(lines[0]), len(whole) - 9):
            path.write_bytes(whole[:size])
            _, content = follower.content()
            cut = size > 0 and not whole[:size].endswith(b"\n")
            number = whole[:size].count(b"\n") + 1
            said = [f"Line {number} is not whole" if cut else "The file is empty so far."]
            told = [problem.split(":")[0] for problem in content.problems]
            assert told == (said if cut or not size else [])
        path.write_bytes(whole)
        assert follower.content()[1] == read_content(path)


def test_an_empty_file_can_be_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command may be started before the agent; without --follow it says that there is nothing."""
    path = tmp_path / "empty.jsonl"
    path.touch()
    monkeypatch.setattr(Follower, "serve", lambda _: None)
    assert main(["view", str(path), "--follow"]) == 0
    assert "Ctrl-C ends it" in capsys.readouterr().out
    assert main(["view", str(path)]) == 1
    assert "is empty" in capsys.readouterr().err


def test_a_damaged_file_is_told_to_the_page(follower: Follower) -> None:
    """The page goes on asking; the message is that of the command."""
    whole = follower.path.read_bytes()
    follower.path.write_bytes(b"garbage\n" + whole)
    status, text = asked(follower, "/data?version=x")
    assert status == 200
    assert "line 1" in json.loads(text)["error"]
    assert asked(follower, "/")[0] == 503
    follower.path.unlink()
    assert "cannot be read" in json.loads(asked(follower, "/data?version=x")[1])["error"]


def test_only_this_machine_is_answered(follower: Follower) -> None:
    """The socket is on the loopback interface; a foreign host name and other paths are refused."""
    assert follower._server.server_address[0] == "127.0.0.1"
    assert asked(follower, "/data", host="evil.example")[0] == 403
    assert asked(follower, "/", host=f"evil.example:{follower.port}")[0] == 403
    assert asked(follower, "/etc/passwd")[0] == 404


def test_a_taken_port_is_an_error(follower: Follower, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names it."""
    code = main(["view", str(follower.path), "--follow", "--port", str(follower.port)])
    assert code == 1
    assert f"Port {follower.port} cannot be used" in capsys.readouterr().err


def test_following_and_writing_exclude_each_other(file: Path) -> None:
    """Asking for both is a usage error."""
    with pytest.raises(SystemExit) as caught:
        main(["view", str(file), "--follow", "--out", "page.html"])
    assert caught.value.code == 2


def test_the_file_itself_is_never_the_page(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under whatever name it is given: the run would be lost."""
    before = file.read_bytes()
    other = tmp_path / "other.html"
    other.symlink_to(file)
    for out in (file, other, file.parent / "." / file.name):
        assert main(["view", str(file), "--out", str(out)]) == 1
        assert "which it would replace; name another file" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of the new one; the old one keeps its access rights when it is replaced."""
    page = file.with_suffix(".html")
    assert main(["view", str(file)]) == 0
    page.chmod(0o640)
    before, there = page.read_bytes(), sorted(file.parent.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr("asyncguard.cli.view.command.page_of", lambda *_, **__: "half \ud800")
        with pytest.raises(UnicodeEncodeError):
            main(["view", str(file)])
    assert (page.read_bytes(), sorted(file.parent.iterdir())) == (before, there)
    assert main(["view", str(file)]) == 0
    assert page.stat().st_mode & 0o777 == 0o640


def test_a_reader_who_leaves_is_no_news(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A tab that is closed while the page is sent leaves no traceback on the terminal."""
    with Follower(file) as made:
        made._server.daemon_threads = False  # so that its end waits for the answers
        thread = threading.Thread(target=made.serve)
        thread.start()
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", made.port)) as left:
                # Reset, not closed: what is written to it then fails.
                left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                left.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{made.port}\r\n\r\n".encode())
        assert asked(made, "/")[0] == 200
        made.stop()
        thread.join()
    assert capfd.readouterr().err == ""


def test_a_trace_from_a_pipe_is_shown(file: Path, tmp_path: Path) -> None:
    """It can be read only once, as the output of another command in the place of a file."""
    pipe, page = tmp_path / "pipe", tmp_path / "page.html"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(file.read_bytes()), daemon=True)
    writer.start()
    assert main(["view", str(pipe), "--out", str(page)]) == 0
    writer.join(10)
    assert len(groups_of(page)["groups"]) == len(read_content(file).groups)
