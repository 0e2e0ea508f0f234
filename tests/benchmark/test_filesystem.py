import json
from typing import Any

import pytest

from asyncguard_benchmark.executors.executor import Executor
from asyncguard_benchmark.executors.filesystem import TOOLSET

STATE = {
    "cwd": "/a",
    "tree": {"a": {"x.txt": "one\ntwo\nthree\n", "sub": {"x.txt": "inner"}, "empty": {}}, "b": {"y.txt": "two\n"}},
}


@pytest.fixture
def fs() -> Executor:
    """A small tree."""
    return Executor(TOOLSET.tools, STATE)


def ask(fs: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    text = fs.call(name, values)
    return None if text == "None" else json.loads(text)


def test_paths_may_be_relative_absolute_and_dotted(fs: Executor) -> None:
    """One file has many spellings."""
    for path in ("sub/x.txt", "./sub/x.txt", "/a/sub/x.txt", "../a/sub/x.txt", "/../a//sub/x.txt"):
        assert ask(fs, "cat", file=path) == {"content": "inner"}


def test_cd_changes_what_relative_paths_mean(fs: Executor) -> None:
    """The current directory is state."""
    assert ask(fs, "cd", folder="sub") == {"current_directory": "/a/sub"}
    assert ask(fs, "cat", file="x.txt") == {"content": "inner"}
    assert ask(fs, "cd", folder="../..") == {"current_directory": "/"}
    assert ask(fs, "pwd") == {"current_directory": "/"}
    assert "error" in ask(fs, "cd", folder="a/x.txt")


def test_reading_tools(fs: Executor) -> None:
    """Each answers from the tree alone."""
    assert ask(fs, "ls") == {"entries": ["empty", "sub", "x.txt"]}
    assert ask(fs, "head", file="x.txt", lines=1) == {"lines": ["one"]}
    assert ask(fs, "tail", file="x.txt", lines=2) == {"lines": ["two", "three"]}
    assert ask(fs, "grep", file="x.txt", pattern="t") == {"matching_lines": ["two", "three"]}
    assert ask(fs, "grep", file="x.txt", pattern=".*") == {"matching_lines": []}
    assert ask(fs, "sort", file="x.txt", order="descending") == {"lines": ["two", "three", "one"]}
    assert ask(fs, "wc", file="x.txt") == {"lines": 3, "words": 3, "characters": 14}
    assert ask(fs, "find", name="x.txt", folder="/") == {"matches": ["/a/sub/x.txt", "/a/x.txt"]}
    assert ask(fs, "diff", first="x.txt", second="/b/y.txt") == {
        "only_in_first": ["one", "three"],
        "only_in_second": [],
    }
    assert ask(fs, "du", folder="/a") == {"total_bytes": 19, "largest_first": ["x.txt", "sub", "empty"]}
    assert ask(fs, "stat", path="sub") == {"path": "/a/sub", "type": "directory", "bytes": 5}


def test_moving_into_a_directory_and_renaming(fs: Executor) -> None:
    """The destination decides, and an existing name is never overwritten."""
    assert ask(fs, "mv", source="x.txt", destination="/b") == {"moved_to": "/b/x.txt"}
    assert ask(fs, "mv", source="/b/x.txt", destination="new.txt") == {"moved_to": "/a/new.txt"}
    assert "exists" in ask(fs, "mv", source="new.txt", destination="/b/y.txt")["error"]
    assert "itself" in ask(fs, "cp", source="/a/sub/x.txt", destination="/a/sub")["error"]


def test_a_directory_cannot_be_lost(fs: Executor) -> None:
    """Not into itself, not from under the current directory, and not while it holds something."""
    assert "itself" in ask(fs, "mv", source="sub", destination="sub")["error"]
    assert "current directory" in ask(fs, "mv", source="/a", destination="/b")["error"]
    assert "empty" in ask(fs, "rmdir", folder="sub")["error"]
    assert "no such file" in ask(fs, "rm", file="sub")["error"]
    assert "root" in ask(fs, "rmdir", folder="/")["error"]
    assert fs.public_state() == STATE


def test_writing_tools(fs: Executor) -> None:
    """They answer None and leave what they say."""
    assert ask(fs, "mkdir", folder="/b/c") is None
    assert ask(fs, "echo", text="four", file="x.txt", mode="append") is None
    assert ask(fs, "echo", text="new", file="/b/c/n.txt") is None
    assert ask(fs, "touch", file="x.txt") is None
    assert ask(fs, "cp", source="x.txt", destination="/b/c") == {"copied_to": "/b/c/x.txt"}
    assert ask(fs, "rm", file="x.txt") is None
    assert fs.public_state()["tree"]["b"]["c"] == {"n.txt": "new\n", "x.txt": "one\ntwo\nthree\nfour\n"}
    assert "x.txt" not in fs.public_state()["tree"]["a"]
    assert "exists" in ask(fs, "mkdir", folder="/b/c")["error"]
    assert "no such directory" in ask(fs, "touch", file="/nowhere/x")["error"]
