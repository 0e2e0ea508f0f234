"""Tasks of NESTFUL v2: read, checked, and refused with a reason where they are broken."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.suites.nestful.argument_types import schema_of
from asyncguard_benchmark.suites.nestful.check import (
    EXPECTED,
    figures,
    read_download,
)
from asyncguard_benchmark.suites.nestful.functions import read_library
from asyncguard_benchmark.suites.nestful.rows import read_rows
from tests.benchmark.builders_nestful import (
    FUNCTIONS,
    OUTPUT,
    SAMPLE,
    TOOL,
    call,
    row,
    told,
    written,
)


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
    nested = {"output_parameter": {"properties": {"output_0": {"type": "float"}}}}
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
            row(tools=[TOOL | {"parameters": {"properties": {"a": {}}, "required": [["a"]]}}]),
            r"parameters.required: expected names of properties, found \"\[\['a'\]\]\"",
        ),
        (row(output="[\ud800"), r"\(small\).output: expected a list or the JSON text of one"),
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
    ("name", "complaint"),
    [
        ("a\0b", "cannot be the name of a file"),
        ("\ud800", "cannot be the name of a file"),
        ("../data.jsonl", "is not a file of"),
        ("gone.py", "cannot be read"),
        ("", "is not a file of"),
    ],
)
def test_a_file_that_cannot_be_is_a_problem_of_the_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, complaint: str
) -> None:
    """Whatever the map says, nothing outside the folder is read."""
    words = written(tmp_path, row())
    (tmp_path / "functions" / "func_file_map.json").write_text(json.dumps({"double": name}))
    (problem,) = told(capsys, *words, "--check")[1]["problems"]
    assert "(small).output: the gold calls 'double'" in problem
    assert complaint in problem


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


def test_keywords_are_kept_where_they_are_well_formed() -> None:
    """What cannot be a keyword's value is listed, so that every schema is valid."""
    sound = {"type": "int", "minimum": 0, "enum": [1], "default": None}
    assert schema_of(sound) == ({"type": "integer", "minimum": 0, "enum": [1], "default": None}, ())
    schema, unclear = schema_of(
        {"type": "int", "minimum": "0", "enum": [], "maxItems": -1, "prefixItems": []}
    )
    assert schema == {"type": "integer"}
    assert unclear == ("enum []", "maxItems -1", "minimum '0'")


def test_a_call_in_parallel_makes_a_row_no_chain(tmp_path: Path) -> None:
    """A row whose second call stands alone has parallel calls."""
    words = written(
        tmp_path, row(), row(sample_id="b", output=[call(number=1), call(label="$var2", number=1)])
    )
    found = figures(read_download(Path(words[2]), Path(words[4])))
    assert (found["rows that are a chain"], found["rows with parallel calls"]) == (1, 1)
    assert (found["later calls"], found["later calls with a reference"]) == (2, 1)
