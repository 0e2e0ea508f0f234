"""Modules that judge a run do not import the library that they judge."""

import ast
from pathlib import Path

import pytest

import asyncguard_benchmark

ROOT = Path(asyncguard_benchmark.__file__).parent
JUDGES = sorted(
    path
    for folder in ("agents", "executors", "metrics", "protocol", "scorers")
    for path in (ROOT / folder).rglob("*.py")
) + [
    ROOT / f"{name}.py"
    for name in ("composing", "corpus", "environment", "episode", "loading", "quality", "scenario")
]


@pytest.mark.parametrize("path", JUDGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_judge_imports_the_library(path: Path) -> None:
    """A judge imports the library neither at the top nor inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] == "asyncguard"]


def test_the_plain_player_needs_no_library() -> None:
    """The unguarded arm runs without it."""
    assert "import asyncguard\n" not in (ROOT / "players" / "plain.py").read_text(encoding="utf-8")
    assert "from asyncguard." not in (ROOT / "players" / "plain.py").read_text(encoding="utf-8")
