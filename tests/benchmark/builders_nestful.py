"""Rows of NESTFUL, small ones and the published sample, and commands on them."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.sandbox import SandboxLimits
from asyncguard_benchmark.suites.nestful.check import read_download
from asyncguard_benchmark.suites.nestful.replay import replay_all
from asyncguard_benchmark.suites.nestful.tasks import Making, make_tasks

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


LIMITS = SandboxLimits()


def making(data: Path, functions: Path) -> Making:
    """The tasks of a file."""
    download = read_download(data, functions)
    return make_tasks(download, replay_all(download, LIMITS, 1))


def small(
    tmp_path: Path, *rows: Any, code: str = "def double(number):\n    return 2 * number\n"
) -> Making:
    """The tasks of small rows."""
    words = written(tmp_path, *rows, code=code)
    return making(Path(words[2]), Path(words[4]))


def adapting(functions: Path, out: Path, asked: str) -> list[str]:
    """Arguments of the command that plays tasks of the sample's first rows: each row is replayed before."""
    data = out.with_name("data.jsonl")
    data.write_text("".join(SAMPLE.read_text().splitlines(keepends=True)[:12]))
    words = ["adapt", "nestful", str(data), "--functions", str(functions), "--out", str(out)]
    return [*words, "--run-foreign-code", "--jobs", "1", *asked.split()]
