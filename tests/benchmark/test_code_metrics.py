"""The measurement of packages: columns, lists and the command."""

import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from code_metrics import command, durations
from code_metrics.columns import COLUMNS, Figures, measure, percentile
from code_metrics.source import load
from tests.benchmark.code_metrics_cases import BANNED, CASES, PROSE, USES, function, lines


def made(folder: Path, files: Mapping[str, str]) -> Path:
    """A package of these files."""
    for name, text in files.items():
        path = folder / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "pkg"


@pytest.mark.parametrize("case", CASES)
def test_a_column_is_counted_as_defined(case: str, tmp_path: Path) -> None:
    """Each column has the figure of a small package that was counted by hand."""
    files, title, expected = CASES[case]
    assert measure(load(made(tmp_path, files)))[title] == pytest.approx(expected)


def test_every_column_has_a_case() -> None:
    """A column whose definition nothing checks could be changed unseen."""
    checked = {title for _, title, _ in CASES.values()}
    assert {column.title for column in COLUMNS} - checked == {
        "functions of cyclomatic > 10, per 1,000"
    }


@pytest.mark.parametrize(("ifs", "expected"), [(9, 0), (10, 1000)])
def test_functions_over_ten_are_counted(ifs: int, expected: float, tmp_path: Path) -> None:
    """Ten paths are allowed, eleven are not."""
    source = "def f(x):\n" + "    if x: pass\n" * ifs
    found = measure(load(made(tmp_path, {"a.py": source})))
    assert found["functions of cyclomatic > 10, per 1,000"] == (expected,)


def test_an_empty_package_has_figures(tmp_path: Path) -> None:
    """Nothing is divided by zero."""
    found = measure(load(made(tmp_path, {"__init__.py": ""})))
    assert found.pop("files") == (1,)
    assert found.pop("AST nodes") == (1,)
    assert found.pop("folders; files per folder p50 / max") == (1, 1, 1)
    assert found.pop("largest import cycle") == (1,)
    assert {figure for figures in found.values() for figure in figures} == {0}
    assert percentile([], 0.9) == 0


def test_the_figures_of_the_specification_come_out_for_h11() -> None:
    """An anchor of the specification, as it is installed."""
    if importlib.metadata.version("h11") != "0.16.0":
        pytest.skip("the specification measured h11 0.16.0")
    spec = importlib.util.find_spec("h11")
    assert spec is not None
    assert spec.origin is not None
    found = measure(load(Path(spec.origin).parent, exclude=["tests"]))
    printed: dict[str, Figures] = {
        "files": (11,),
        "lines": (2568,),
        "function lines p50 / p90 / max": (6, 30, 58),
        "functions > 30 / > 60 lines": (9, 0),
        "file lines p50 / p90 / max": (153, 369, 659),
        "fan-out p50 / p90 / max": (3, 5, 7),
        "fan-in p50 / p90 / max": (2, 6, 7),
        "nesting p90 / max": (2, 4),
        "parameters p50 / p90 / max": (1, 2, 5),
        "cyclomatic p90 / max": (7, 16),
        "functions of cyclomatic > 10, per 1,000": (32,),
        "docstring lines, %": (15.9,),
        "comment lines, %": (29.8,),
        "public names of root / public definitions": (23, 50),
        "largest import cycle": (2,),
        "functions per 1,000 code lines": (64,),
        "private functions, %": (16,),
        "characters a code line": (30.2,),
        "words per function name": (2.23,),
    }
    assert {title: found[title] for title in printed} == {
        title: pytest.approx(figures, rel=0.02) for title, figures in printed.items()
    }


LISTED = {
    "private-one-caller": (
        "a.py",
        USES,
        [(2, "_never, 1 lines, not used"), (3, "_once, 1 lines, used on line 6")],
    ),
    "relative": (
        "a.py",
        PROSE,
        [
            (4, "docstring: What a door is."),
            (7, "attribute docstring: Who"),
            (13, "docstring: how"),
        ],
    ),
    "banned": (
        "a.py",
        BANNED,
        [
            (1, "docstring says 'Nobody'"),
            (3, "comment says 'whoever'"),
            (4, "attribute docstring says 'behind'"),
            (9, "comment says 'is no'"),
            (11, "message says 'is no'"),
        ],
    ),
    "gerunds": ("reading.py", "", [(1, "reading")]),
    "long-lines": ("a.py", f"\n{'x' * 89}\n", [(2, "89 columns")]),
    "over-60": ("a.py", function(60) + function(61), [(61, "f61, 61 lines")]),
}


@pytest.mark.parametrize("what", LISTED)
def test_a_list_names_file_and_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line of a list is one finding."""
    name, source, expected = LISTED[what]
    root = made(tmp_path, {name: source})
    assert command.main([str(root), "--list", what]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(expected)
    for line, (number, text) in zip(printed, expected, strict=True):
        assert line.startswith(f"{root / name}:{number}: {text}")


def test_a_list_can_be_counted_by_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents are read for banned words, too."""
    root = made(tmp_path, {"a.py": BANNED, "sub/note.md": "Done anew.\n\nIt is\nno use.\n"})
    assert command.main([str(root), "--list", "banned", "--by-folder"]) == 0
    assert capsys.readouterr().out.split() == [
        "5",
        str(root),
        "2",
        str(root / "sub"),
        "7",
        "in",
        "all",
    ]


def test_the_table_has_a_column_for_each_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has a column with the goals if they are asked for."""
    one, other = (
        made(tmp_path / "1", {"a.py": lines(1234)}),
        made(tmp_path / "2", {"a.py": "", "b.py": ""}),
    )
    assert command.main([str(one), str(other), "--goals"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    assert cells[""] == [str(one), str(other), "goal of issue 14"]
    assert cells["files"] == ["1", "2"]
    assert cells["lines"] == ["1,234", "0"]
    assert cells["largest import cycle"] == ["1", "1", "1"]
    assert cells["characters a code line"] == ["1.0", "0.0", "<= 36"]


def test_figures_can_be_read_by_a_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output for programs holds figures without rounding, by path and title."""
    root = made(tmp_path, {"a.py": "ab\nabc\n", "tests/b.py": ""})
    assert command.main([str(root), "--json", "--exclude", "tests"]) == 0
    found = json.loads(capsys.readouterr().out)[str(root)]
    assert found["files"] == [1]
    assert found["characters a code line"] == [2.5]


@pytest.mark.parametrize(
    "arguments", [[], ["--list", "relative"], ["--list", "banned"]], ids=["table", "list", "texts"]
)
def test_a_folder_without_python_is_refused(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the folder."""
    assert command.main([str(tmp_path / "nothing"), *arguments]) == 2
    assert f"{tmp_path / 'nothing'} holds no Python file" in capsys.readouterr().err


def test_durations_are_told_per_test_and_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slowest tests come first, as ids that pytest takes; each file has its sum."""
    written = tmp_path / "tests.xml"
    cases = [
        ("tests.a.test_b", "test_quick", 0.25),
        ("tests.a.test_b.TestC", "test_slow[x.Y]", 2.5),
        ("tests.d.test_e", "test_middle", 1.0),
    ]
    written.write_text(
        "<testsuites><testsuite>"
        + "".join(f'<testcase classname="{c}" name="{n}" time="{t}"/>' for c, n, t in cases)
        + "</testsuite></testsuites>"
    )
    assert durations.main([str(written), "--slowest", "2"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line[:1] == " "] == [
        ["2.50", "tests/a/test_b.py::TestC::test_slow[x.Y]"],
        ["1.00", "tests/d/test_e.py::test_middle"],
        ["2.75", "2", "tests/a/test_b.py"],
        ["1.00", "1", "tests/d/test_e.py"],
        ["3.75", "3", "in", "all"],
    ]


@pytest.mark.parametrize("text", ["", "<a><testcase/></a>"])
def test_a_file_without_durations_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file."""
    path = tmp_path / "tests.xml"
    path.write_text(text)
    assert durations.main([str(path)]) == 2
    assert f"{path} is not a JUnit file" in capsys.readouterr().err
