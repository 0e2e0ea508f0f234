"""Tasks of NESTFUL v2: read, checked, and refused with a reason where they are broken."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
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
from asyncguard_benchmark.suites.nestful.argument_types import schema_of
from asyncguard_benchmark.suites.nestful.check import (
    EXPECTED,
    figures,
    read_download,
)
from asyncguard_benchmark.suites.nestful.functions import read_library
from asyncguard_benchmark.suites.nestful.rows import read_rows

SAMPLE = Path(__file__).with_name("nestful_sample") / "sample.jsonl"
FUNCTIONS = SAMPLE.with_name("functions")
OUTPUT = [
    {"name": "double", "label": "$var1", "arguments": {"number": 4}},
    {"name": "double", "label": "$var2", "arguments": {"number": "$var1.output_0$"}},
]
TOOL = {
    "name": "double",
    "description": "Double a number.",
    "parameters": {"number": {"description": "The number.", "type": "int or float"}},
    "output_parameters": {"output_0": {"type": "number"}},
}


def row(**changed: Any) -> dict[str, Any]:
    """A small task: a number doubled twice."""
    sound = {
        "sample_id": "small",
        "input": "Double 4, and double the result.",
        "output": OUTPUT,
        "tools": [TOOL],
        "gold_answer": 16,
    }
    return {name: value for name, value in (sound | changed).items() if value is not ...}


def written(
    folder: Path, *rows: Any, code: str = "def double(number):\n    return 2 * number\n"
) -> list[str]:
    """Arguments of the command for these rows, of which texts are lines as they are, and one function."""
    functions = folder / "functions"
    functions.mkdir(exist_ok=True)
    (functions / "basic_functions.py").write_text(
        "def add(arg_0, arg_1):\n    return arg_0 + arg_1\n"
    )
    (functions / "func_file_map.json").write_text(json.dumps({"double": "double.py"}))
    (functions / "double.py").write_text(code)
    data = folder / "data.jsonl"
    data.write_text(
        "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in rows)
    )
    return ["adapt", "nestful", str(data), "--functions", str(functions)]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a command."""
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def call(name: str = "double", label: str = "$var1", **arguments: Any) -> dict[str, Any]:
    """A gold call."""
    return {"name": name, "label": label, "arguments": arguments}


def test_the_sample_has_the_figures_that_are_published_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each static figure is found, shown beside the expected one, and the refused file is named."""
    code, said = told(
        capsys, "adapt", "nestful", str(SAMPLE), "--functions", str(FUNCTIONS), "--check"
    )
    assert code == 0
    assert said["figures"] == said["expected"] == EXPECTED
    assert said["differing"] == said["problems"] == []
    assert said["refused"] == {"py_code_file_3153.py": "line 1: it imports urllib.request"}


def test_a_figure_that_differs_is_marked_and_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sample with a function that binds differently has another figure."""
    functions = tmp_path / "functions"
    shutil.copytree(FUNCTIONS, functions)
    basic = functions / "basic_functions.py"
    basic.write_text(basic.read_text().replace("def inverse(number:", "def inverse(arg_0:"))
    assert main(["adapt", "nestful", str(SAMPLE), "--functions", str(functions), "--check"]) == 1
    marked = [line.split() for line in capsys.readouterr().out.splitlines() if "differs" in line]
    assert marked == [["rows", "that", "need", "positions", "3", "4", "differs"]]


def test_fields_may_be_texts_of_json_and_outputs_stand_anywhere(tmp_path: Path) -> None:
    """Both forms give the same task; the last dollar of a reference may be missing."""
    nested = {"output_parameter": {"properties": {"output_0": {"type": "int"}}}}
    tool = {name: value for name, value in TOOL.items() if name != "output_parameters"} | nested
    short = [OUTPUT[0], call(label="$var2", number="$var1.output_0")]
    plain = row(sample_id="a")
    text = row(
        sample_id="b",
        tools=json.dumps([tool]),
        output=json.dumps(short),
        gold_answer=json.dumps([1, 2]),
    )
    words = written(tmp_path, plain, text)
    one, other = read_rows(Path(words[2])).found
    assert one.calls[1].references == other.calls[1].references
    assert one.tools == other.tools
    assert one.tools["double"].parameters["required"] == ["number"]
    assert other.answers == ("[1, 2]", [1, 2])


def test_references_are_found_at_any_depth(tmp_path: Path) -> None:
    """The symbolic call keeps them; the concrete one has the results, of their own type, in their places."""
    deep = call(label="$var2", number=[{"of": ["$var1.output_0$", "costs $5"]}])
    words = written(tmp_path, row(output=[OUTPUT[0], deep]))
    (read,) = read_rows(Path(words[2])).found
    assert read.calls[1].arguments == deep["arguments"]
    assert read.calls[1].resolved([[7], None]) == {"number": [{"of": [[7], "costs $5"]}]}


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (
            '{"sample_id": "small", "inp',
            "data.jsonl:2: expected a JSON object, found .* the line is cut off",
        ),
        ("{'sample_id': 'small'}\n", "data.jsonl:2: expected a JSON object, found b\"{'sample_id'"),
        ("[1]\n", "data.jsonl:2: expected a JSON object, found list"),
        (
            row(output=str(OUTPUT)),
            r"data.jsonl:2 \(small\).output: expected a list or the JSON text of one",
        ),
        (row(output=[]), r"\(small\).output: expected a list that is not empty"),
        (row(output=...), r"\(small\): has no output"),
        (row(gold_answer=...), r"\(small\): has no gold_answer"),
        (row(input="x" * 10_000_000), r"\(small\).input: a text of 10,000,000 characters"),
        (row(tools=json.dumps([TOOL, "x" * 9_000_000])), r"\(small\).tools: a text of 9,000,"),
        (row(sample_id="first"), r":2 \(first\): the id stands at .*:1 \(first\) already"),
        (row(sample_id=7), r"sample_id: expected the id of the task as a text, found '7'"),
        (
            row(output=[call(number="$var9.output_0$")]),
            r"output\[0\].arguments/number: '\$var9.* refers to no earlier",
        ),
        (
            row(output=[call(number="$var2.output_0$"), call(label="$var2", number=1)]),
            "refers to no earlier call; the labels before it are none",
        ),
        (row(output=[call(number="$var1.output_0$")]), "refers to no earlier call"),
        (
            row(output=[OUTPUT[0], call(label="$var2", number="$var1.result$")]),
            "the tool's result is named 'output_0'",
        ),
        (
            row(output=[OUTPUT[0], call(label="$var2", number="$var1")]),
            "expected a reference such as",
        ),
        (
            row(output=[OUTPUT[0], OUTPUT[0]]),
            r"output\[1\].label: the label \$var1 was given to an earlier call",
        ),
        (row(output=[call(label="first", number=1)]), "expected a label such as"),
        (
            row(output=[call("treble", number=1)]),
            r"output\[0\].name: the tool 'treble' is not in tools",
        ),
        (row(output=[{"name": "double"}]), "expected a call with name, label and arguments"),
        (row(tools=[TOOL, TOOL | {"description": "x"}]), "two tools are named 'double' and differ"),
        (
            row(tools=[TOOL | {"output_parameters": {"a": {}, "b": {}}}]),
            "output_parameters with one name",
        ),
        (
            row(tools=[{"name": "x", "query_parameters": {}}]),
            "NESTFUL v1 has specifications only and cannot be exec",
        ),
        (
            row(tools=[TOOL, TOOL | {"name": "treble"}], output=[call("treble", number=1)]),
            "the gold calls 'treble', for which .*functions has no function",
        ),
    ],
)
def test_a_broken_line_is_named_with_file_line_and_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: Any, complaint: str
) -> None:
    """The sound line before it is read; the command fails unless the rest is asked for."""
    words = written(tmp_path, row(sample_id="first"), broken)
    code, said = told(capsys, *words, "--check")
    assert code == 1
    assert said["figures"]["rows"] == 1
    (problem,) = said["problems"]
    assert str(tmp_path) in problem
    assert re.search(complaint, problem), problem
    assert told(capsys, *words, "--check", "--partial")[0] == 0


def test_a_name_that_its_file_does_not_define_is_a_problem_of_the_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The map says more than the file holds."""
    words = written(tmp_path, row(), code="def other(): pass")
    (problem,) = told(capsys, *words, "--check")[1]["problems"]
    assert "(small).output: the gold calls 'double'" in problem
    assert "double.py: does not define 'double'" in problem


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import numpy as np\ndef double(number): pass", "line 1: it imports numpy"),
        ("def double(number):\n    from os import path", "line 2: it imports os"),
        ("from . import x\ndef double(number): pass", "line 1: it imports ."),
        ("def double(number): return open(number)", "line 1: it names open"),
        ("run = exec\ndef double(number): pass", "line 1: it names exec"),
        (
            "import datetime\ndef double(number): return datetime.datetime.now()",
            "line 2: it reads the clock",
        ),
        (
            "from datetime import date\ndef double(number): return date.today()",
            "line 2: it reads the clock",
        ),
        ("def double(number: return 1", "it does not parse"),
        (
            "import json, math, collections.abc, re\ndef double(number): return re.compile('x')",
            None,
        ),
        ("from datetime import datetime\ndef double(number): return datetime(2024, 1, 1)", None),
    ],
)
def test_files_are_judged_by_their_syntax(tmp_path: Path, code: str, reason: str | None) -> None:
    """The first reason is told with its line; a file is refused, not its task broken."""
    written(tmp_path, row(), code=code)
    found = read_library(tmp_path / "functions").find("double")
    assert found is not None
    assert (found.refused or "").startswith(reason or "")
    assert (found.refused is None) is (reason is None)


def test_a_folder_without_functions_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says which file is missing."""
    assert main(["adapt", "nestful", str(SAMPLE), "--functions", str(tmp_path), "--check"]) == 1
    assert "basic_functions.py is missing: --functions takes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "arguments", "bound"),
    [
        ("def f(a, b=1)", {"b": 1, "a": 2}, ([], {"b": 1, "a": 2})),
        ("def f(base, exponent)", {"arg_0": 2, "arg_1": 3}, ([2, 3], {})),
        ("def f(base, exponent)", {"exponent": 2, "arg_1": 3}, ([2, 3], {})),
        ("def f(a, /, b)", {"a": 2, "b": 3}, ([2, 3], {})),
        ("def f(*, a)", {"a": 2}, ([], {"a": 2})),
        ("def f(**rest)", {"x": 2}, ([], {"x": 2})),
    ],
)
def test_arguments_are_bound_by_keyword_if_all_are_parameters(
    tmp_path: Path,
    code: str,
    arguments: Mapping[str, Any],
    bound: tuple[Sequence[Any], Mapping[str, Any]],
) -> None:
    """Otherwise by position, in the order of the arguments."""
    written(tmp_path, code=f"{code}: pass")
    (tmp_path / "functions" / "func_file_map.json").write_text('{"f": "double.py"}')
    found = read_library(tmp_path / "functions").find("f")
    assert found is not None
    assert found.bound(arguments) == bound


@pytest.mark.parametrize(
    ("told", "schema"),
    [
        ("int or float", {"type": "number"}),
        ("float", {"type": "number"}),
        ("int", {"type": "integer"}),
        ("list of float", {"type": "array", "items": {"type": "number"}}),
        ("None", {"type": "null"}),
        ("['integer', 'number']", {"type": "number"}),
        (["object", "string"], {"type": ["object", "string"]}),
        ("str or None", {"type": ["string", "null"]}),
        ("any", {}),
        ("array", {"type": "array"}),
    ],
)
def test_types_become_schemas(told: Any, schema: Mapping[str, Any]) -> None:
    """Names of Python, of JSON, and lists of them."""
    assert schema_of({"type": told}) == (schema, ())


def test_a_type_that_is_not_understood_is_listed(tmp_path: Path) -> None:
    """It asks for nothing, and the check says so."""
    assert schema_of({"type": "np.ndarray", "description": "x"}) == (
        {"description": "x"},
        ("np.ndarray",),
    )
    assert schema_of({"type": "array", "items": {"type": "int"}, "nullable": True})[0] == {
        "type": ["array", "null"],
        "items": {"type": "integer"},
    }


def test_a_call_in_parallel_makes_a_row_no_chain(tmp_path: Path) -> None:
    """A row whose second call stands alone has parallel calls."""
    words = written(
        tmp_path, row(), row(sample_id="b", output=[call(number=1), call(label="$var2", number=1)])
    )
    found = figures(read_download(Path(words[2]), Path(words[4])))
    assert (found["rows that are a chain"], found["rows with parallel calls"]) == (1, 1)
    assert (found["later calls"], found["later calls with a reference"]) == (2, 1)


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


def test_nothing_runs_unless_it_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The function would leave a file; the message says the option."""
    words = written(tmp_path, row(), code="def double(number): return 1 / 0")
    assert main([*words, "--replay"]) == 1
    assert "say --run-foreign-code to run them" in capsys.readouterr().err
    assert main(words) == 1
    assert "--check reads everything and runs nothing" in capsys.readouterr().err


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
