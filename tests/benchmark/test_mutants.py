"""The command that breaks the library on purpose."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SOURCE = '''
def grant(state, count):
    """Say yes, or no."""
    if state is Door.OPEN and count > 1:
        close(state)
    return Door.SHUT
'''
PASSING = (
    "from asyncguard.core.doors import grant, Door\n\n"
    "def test_few():\n    assert grant(Door.OPEN, 1) is Door.SHUT\n"
)


def _module() -> Any:
    path = Path(__file__).parents[2] / "benchmark" / "mutants.py"
    spec = importlib.util.spec_from_file_location("mutants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mutants() -> Any:
    """The script."""
    return _module()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one module and one test of it, whose settings leave out the same plugins as ours."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin -p no:anyio")
    core, tests = tmp_path / "asyncguard" / "core", tmp_path / "tests" / "core"
    for folder in (core, tests):
        folder.mkdir(parents=True)
    (tmp_path / "asyncguard" / "__init__.py").touch()
    (core / "__init__.py").touch()
    (core / "doors.py").write_text(
        "import enum\n\nclass Door(enum.Enum):\n    OPEN = 1\n    SHUT = 2\n" + SOURCE
    )
    (tests / "test_doors.py").write_text(PASSING)
    return tmp_path


def test_every_change_is_one_that_python_reads(mutants: Any, tree: Path) -> None:
    """Each place has its changes, and each leaves a module that can be compiled."""
    source = (tree / "asyncguard" / "core" / "doors.py").read_bytes()
    found = mutants.drawn(tree, "fate", ("core/doors.py::grant",), 99, 0)
    every = set(mutants._all(tree / "asyncguard", "fate", ("core/doors.py::grant",)))
    for mutant in every:
        compile(
            source[: mutant.start] + mutant.after.encode() + source[mutant.end :],
            "doors.py",
            "exec",
        )
    assert {mutant.after for mutant in every} >= {
        "(state is Door.OPEN or count > 1)",
        "state is not Door.OPEN",
        "count <= 1",
        "None",
        "Door.OPEN",
        "2",
    }
    assert len({mutant.line for mutant in found}) == len(found) == 3


def test_the_same_are_drawn_for_the_same_seed(mutants: Any, tree: Path) -> None:
    """Another seed draws others."""
    draws = [
        mutants.drawn(tree, "fate", ("core/doors.py",), 3, seed) for seed in (0, 0, *range(1, 9))
    ]
    assert draws[0] == draws[1]
    assert any(draw != draws[0] for draw in draws)


@pytest.mark.slow(seconds=15)
def test_what_survives_is_told_and_kept(
    mutants: Any, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test looks at what is returned and not at what is called; a second run plays nothing again."""
    out = tree / "out.jsonl"
    (tree / "sites").write_text("core/doors.py::grant")
    argv = [
        "--part",
        "fate",
        "--tree",
        str(tree),
        "--sites",
        str(tree / "sites"),
        "--out",
        str(out),
    ]
    assert mutants.main(argv) == 0
    told = capsys.readouterr().out
    assert "SURVIVES" in told
    assert "noticed " in told
    kept = out.read_text(encoding="utf-8")
    assert '"noticed": false' in kept.splitlines()[0]  # with nothing broken
    out.write_text(kept + '{"name": "cut off', encoding="utf-8")
    assert mutants.main(argv) == 0
    assert capsys.readouterr().out == told
    assert out.read_text(encoding="utf-8") == kept + '{"name": "cut off\n'


@pytest.mark.slow
def test_tests_that_fail_anyway_notice_nothing(
    mutants: Any, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mutant would count as noticed."""
    (tree / "tests" / "core" / "test_doors.py").write_text("def test_no():\n    assert False\n")
    (tree / "sites").write_text("core/doors.py::grant")
    argv = [
        "--part",
        "fate",
        "--tree",
        str(tree),
        "--sites",
        str(tree / "sites"),
        "--out",
        str(tree / "out.jsonl"),
    ]
    assert mutants.main(argv) == 1
    assert "fail with nothing broken" in capsys.readouterr().err
