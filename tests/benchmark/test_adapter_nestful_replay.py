"""Gold calls of NESTFUL v2, executed in the sandbox, and the published path rule on their graphs."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.sandbox import SandboxLimits
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, bits
from asyncguard_benchmark.suites.missions.scorers.published_paths import follow
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.terms import ANSWER
from asyncguard_benchmark.suites.nestful import replay
from asyncguard_benchmark.suites.nestful.check import (
    read_download,
)
from asyncguard_benchmark.suites.nestful.rows import read_rows
from tests.benchmark.builders_nestful import FUNCTIONS, SAMPLE, row, told, written


def test_the_sample_replays_as_published(capsys: pytest.CaptureFixture[str]) -> None:
    """29 of 30 rows are clean and 28 give the stored answer; the two others are named with the reason."""
    code, said = told(
        capsys,
        "adapt",
        "nestful",
        str(SAMPLE),
        "--functions",
        str(FUNCTIONS),
        "--replay",
        "--run-foreign-code",
    )
    assert code == 0
    assert said["figures"] == said["expected"] == replay.EXPECTED
    assert said["reasons"] == {
        "000a5224-26c5-484b-948e-92df48c1b6af": "the result is '  [4]', the stored answer '    [2]'",
        "fa57c28a-e9d8-44fb-a358-a9404a557d5b": "py_code_file_3153.py may not run: line 1: it imports urllib.request",
    }


@pytest.mark.slow
def test_provenance_judges_the_values_of_the_gold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results of earlier calls and references count as told; both halves of the data are told apart."""
    words = ["--provenance", "--run-foreign-code"]
    code, said = told(
        capsys, "adapt", "nestful", str(SAMPLE), "--functions", str(FUNCTIONS), *words
    )
    assert code == 0
    assert list(said) == ["NESTFUL, code", "NESTFUL, arithmetic", "all"]
    alarms = said["all"]["false_alarms"]
    assert (alarms["refused"], alarms["values"]) == (4, 225)
    assert alarms["by_cause"]["result"]["refused"] == alarms["by_cause"]["query"]["refused"] == 0
    assert main([*written(tmp_path, row()), "--provenance"]) == 1
    assert "say --run-foreign-code" in capsys.readouterr().err


def test_nothing_runs_unless_it_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function would leave a file; the message says the option."""
    words = written(tmp_path, row(), code="def double(number): return 1 / 0")
    assert main([*words, "--replay"]) == 1
    assert "say --run-foreign-code to run them" in capsys.readouterr().err
    assert main(words) == 1
    assert "--check reads and runs nothing" in capsys.readouterr().err


def test_a_broken_line_stops_the_replay_unless_the_rest_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The problem is in the message; with --partial the sound row is replayed."""
    words = [*written(tmp_path, row(), "{\n"), "--replay", "--run-foreign-code"]
    assert main(words) == 1
    assert "data.jsonl:2: expected a JSON object" in capsys.readouterr().err
    code, said = told(capsys, *words, "--partial")
    assert (code, said["figures"]["equal to the stored answer"]) == (0, 1)


SYSTEM = "import dataclasses\nsystem = dataclasses.sys.modules\n"
"""A way round the list of imports, which the sandbox has to hold."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("code", "outcome", "complaint"),
    [
        (
            "def double(number): return __builtins__['__import__']('socket').socket()",
            "error",
            "refused: socket.",
        ),
        (
            f"{SYSTEM}def double(number): return system['os'].fork()",
            "error",
            "PermissionError: refused: os.fork",
        ),
        (
            "import codecs\ndef double(number): return codecs.open('/tmp/x', 'w')",
            "error",
            "refused: writing outside",
        ),
        (
            "import codecs\ndef double(number): return codecs.open('/etc/passwd').read()",
            "error",
            "refused: reading",
        ),
        ("def double(number): return len('x' * (2 << 32))", "error", "MemoryError"),
        (
            "def double(number): raise SystemExit(3)",
            "error",
            "the tool tried to end its process: 3",
        ),
        ("def double(number): return {1, 2}", "error", "TypeError: the answer is no JSON"),
        ("def double(number): return b'x'", "error", "TypeError: the answer is no JSON"),
        ("def double(number): return float('inf')", "error", "TypeError: the answer is no JSON"),
        (
            "def double(number): return 'x' * 300000",
            "error",
            "ValueError: the answer is over 262144 bytes",
        ),
        (
            "def double(other, more): pass",
            "error",
            "missing 1 required positional argument: 'more'",
        ),
        (
            f"{SYSTEM}def double(number): system['time'].sleep(9)",
            "ended",
            "double took longer than 1 s",
        ),
        (
            f"{SYSTEM}def double(number): system['os']._exit(4)",
            "ended",
            "the worker ended during double, with code 4",
        ),
        ("def double(number):\n    while True: pass", "ended", "double took longer than 1 s"),
    ],
)
def test_a_function_that_misbehaves_has_its_outcome(
    tmp_path: Path, code: str, outcome: str, complaint: str
) -> None:
    """An exception is the row's; the end of the worker is the infrastructure's."""
    words = written(tmp_path, row(), code=code)
    download = read_download(Path(words[2]), Path(words[4]))
    limits = SandboxLimits(seconds=1, memory_mb=256)
    made = replay.replay(download.rows[0], download, limits)
    assert {name for name in ("refused", "error", "ended") if getattr(made, name)} == {outcome}
    assert complaint in str(getattr(made, outcome))
    assert not made.clean
    assert not made.equal


def test_printing_disturbs_nothing_and_each_row_has_a_worker_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a function keeps between calls is gone with its row; tuples arrive as lists."""
    code = "seen = []\ndef double(number):\n    print('{}' * 99)\n    seen.append(0)\n    return number, len(seen)\n"
    gold = [[4, 1], 2]
    words = written(
        tmp_path, row(gold_answer=gold), row(sample_id="other", gold_answer=gold), code=code
    )
    said = told(capsys, *words, "--replay", "--run-foreign-code")[1]
    assert said["figures"]["equal to the stored answer"] == 2


@pytest.mark.slow
def test_an_ended_worker_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row is counted apart from those with an error."""
    words = written(tmp_path, row(), code="def double(number):\n    while True: pass")
    code, said = told(capsys, *words, "--replay", "--run-foreign-code", "--call-seconds", "1")
    assert code == 1
    assert (
        said["figures"]["rows whose worker was ended"],
        said["figures"]["rows with an error"],
    ) == (1, 0)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0000005, True),
        (1, 1.00001, False),
        (True, 1, False),
        (False, 0, False),
        (True, True, True),
        ([1, [2.0]], [1, [2]], True),
        ([1], [1, 2], False),
        ([True], [1], False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ("1", 1, False),
        (10**400, 10**400, True),
        (10**400, 1.5, False),
        (10**400, 10**400 + 1, False),
        (None, None, True),
        (None, 0, False),
        ("a", "a", True),
    ],
)
def test_answers_are_compared_by_value(one: Any, other: Any, expected: bool) -> None:
    """Numbers within a millionth, truth values only with truth values."""
    assert replay.equal(one, other) is replay.equal(other, one) is expected


def schedules(graph: GoldGraph, done: int = 0) -> Iterator[list[tuple[int, ...]]]:
    """Every way to make the calls of a graph in steps that obey it."""
    if done == graph.full:
        yield []
    ready = tuple(bits(graph.ready(done)))
    for size in range(1, len(ready) + 1):
        for step in combinations(ready, size):
            for rest in schedules(graph, done | sum(1 << each for each in step)):
                yield [step, *rest]


def accepted(graph: GoldGraph, schedule: list[tuple[int, ...]]) -> bool:
    """Return True if the published matcher takes a schedule; the last of it is the answer."""
    steps = [
        Step(calls=tuple(ToolCall(name=graph.nodes[each].name, arguments={}) for each in step))
        for step in schedule[:-1]
    ]
    return follow(graph, [*steps, Step(calls=(), text="done")]).correct


def names_of(graph: GoldGraph, schedule: list[tuple[int, ...]]) -> tuple[tuple[str, ...], ...]:
    """Names of the steps of a schedule: those that the matcher compares."""
    return tuple(tuple(sorted(graph.nodes[each].name for each in step)) for step in schedule)


def test_the_published_path_rule_accepts_a_third_of_the_legal_schedules() -> None:
    """720 legal schedules and 244 accepted ones in the sample; seven rows differ."""
    found = {}
    for each in read_rows(SAMPLE).found:
        calls = [
            Node(name=call.name, needs=tuple({one.call for one in call.references}))
            for call in each.calls
        ]
        graph = GoldGraph((*calls, Node(name=ANSWER, needs=tuple(range(len(calls))))))
        legal = {names_of(graph, schedule): schedule for schedule in schedules(graph)}
        found[each.id[:8]] = len(legal), sum(accepted(graph, each) for each in legal.values())
    assert sum(legal for legal, _ in found.values()) == 720
    assert sum(taken for _, taken in found.values()) == 244
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {
        "4c457bfb": (12, 8),
        "504e3a02": (478, 116),
        "5bcb8a30": (10, 2),
        "6ae58ffa": (16, 14),
        "ac7f18f4": (12, 4),
        "e70bd2c9": (6, 4),
        "fe3ebaf1": (148, 58),
    }
