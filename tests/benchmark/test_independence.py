"""Modules that judge a run do not import the library that they judge."""

import ast
from pathlib import Path

import pytest

import asyncguard_benchmark

ROOT = Path(asyncguard_benchmark.__file__).parent
FOLDERS = (
    "harness/agents",
    "harness/protocol",
    "harness/scoring",
    "services",
    "suites/asynctool/agents",
    "suites/asynctool/scorers",
    "suites/hazards/agents",
    "suites/missions",
)
FILES = (
    "harness/environment",
    "harness/episode",
    "harness/fault_modes",
    "harness/fault_pipeline",
    "harness/faults",
    "harness/loading",
    "harness/scenario",
    "harness/task_quality",
    "suites/asynctool/composition_builder",
    "suites/asynctool/corpus",
    "suites/hazards/effects",
    "suites/hazards/metrics",
    "suites/hazards/scorer",
)
NO_JUDGES = (
    "suites/missions/playing/guarded.py",
    "suites/missions/playing/joint_guarded.py",
    "suites/missions/commands/provenance.py",
)
"""Modules that run guards or the runtime, and judge nothing of a run."""
JUDGES = [
    *sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path.relative_to(ROOT).as_posix() not in NO_JUDGES
    ),
    *(ROOT / f"{name}.py" for name in FILES),
]


def test_the_places_exist() -> None:
    """A folder that was renamed would be checked no longer."""
    assert all(list((ROOT / folder).glob("*.py")) for folder in FOLDERS)
    assert all((ROOT / f"{name}.py").is_file() for name in FILES)
    assert all((ROOT / name).is_file() for name in NO_JUDGES)


@pytest.mark.parametrize("path", JUDGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_judge_imports_the_library(path: Path) -> None:
    """A judge imports the library neither at the top nor inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] == "asyncguard"]


def test_the_plain_player_needs_no_library() -> None:
    """The unguarded arm runs without it."""
    assert "import asyncguard\n" not in (ROOT / "harness" / "players" / "plain.py").read_text(
        encoding="utf-8"
    )
    assert "from asyncguard." not in (ROOT / "harness" / "players" / "plain.py").read_text(
        encoding="utf-8"
    )
