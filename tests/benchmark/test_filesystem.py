import json
from typing import Any

import pytest

from asyncguard_benchmark.services.filesystem import TOOLSET
from asyncguard_benchmark.services.service import Executor

STATE = {
    "cwd": "/a",
    "tree": {
        "a": {"x.txt": "one\ntwo\nthree\n", "sub": {"x.txt": "inner"}, "empty": {}},
        "b": {"y.txt": "two\n"},
    },
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
    assert ask(fs, "du", folder="/a") == {
        "total_bytes": 19,
        "largest_first": ["x.txt", "sub", "empty"],
    }
    assert ask(fs, "stat", path="sub") == {"path": "/a/sub", "type": "directory", "bytes": 5}


def test_moving_into_a_directory_and_renaming(fs: Executor) -> None:
    """The destination decides, and an existing name is never overwritten."""
    assert ask(fs, "mv", source="x.txt", destination="/b") == {"moved_to": "/b/x.txt"}
    assert ask(fs, "mv", source="/b/x.txt", destination="new.txt") == {"moved_to": "/a/new.txt"}
    assert "exists" in ask(fs, "mv", source="new.txt", destination="/b/y.txt")["error"]
    assert "itself" in ask(fs, "cp", source="/a/sub/x.txt", destination="/a/sub")["error"]


def test_a_directory_cannot_be_lost(fs: Executor) -> None:
    """A directory is not moved into itself, nor lost while it is current or holds something."""
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
    assert fs.public_state()["tree"]["b"]["c"] == {
        "n.txt": "new\n",
        "x.txt": "one\ntwo\nthree\nfour\n",
    }
    assert "x.txt" not in fs.public_state()["tree"]["a"]
    assert "exists" in ask(fs, "mkdir", folder="/b/c")["error"]
    assert "no such directory" in ask(fs, "touch", file="/nowhere/x")["error"]


def test_lists_are_of_the_current_directory_only(fs: Executor) -> None:
    """An agent must go to another directory to list it, as the state carries the order."""
    assert "error" in ask(fs, "ls", folder="sub")
    ask(fs, "cd", folder="sub")
    assert ask(fs, "ls") == {"entries": ["x.txt"]}


def test_one_line_and_one_column(fs: Executor) -> None:
    """Both count from one; short lines are left out, and a place that nothing has is an error."""
    ask(fs, "echo", text="7;rye;2", file="o.csv")
    ask(fs, "add_line", file="o.csv", text="8")
    ask(fs, "add_line", file="o.csv", text="9;oat;")
    assert ask(fs, "line_at", file="o.csv", number=2) == {"text": "8"}
    assert "3 lines" in ask(fs, "line_at", file="o.csv", number=4)["error"]
    assert ask(fs, "cut_column", file="o.csv", separator=";", position=1) == {
        "values": ["7", "8", "9"]
    }
    assert ask(fs, "cut_column", file="o.csv", separator=";", position=3) == {"values": ["2", ""]}
    assert "4 parts" in ask(fs, "cut_column", file="o.csv", separator=";", position=4)["error"]


def test_text_is_found_in_files_and_not_in_names(fs: Executor) -> None:
    """Paths are full and alphabetical, whatever directory they are asked from."""
    assert ask(fs, "find_text", text="two", folder="/") == {"files": ["/a/x.txt", "/b/y.txt"]}
    assert ask(fs, "find_text", text="inner") == {"files": ["/a/sub/x.txt"]}
    assert ask(fs, "find_text", text="x.txt", folder="/") == {"files": []}


def test_a_line_is_added_to_a_file_that_exists(fs: Executor) -> None:
    """A last line without an end is ended first, and no file is made."""
    assert ask(fs, "add_line", file="sub/x.txt", text="more") == {"lines": 2}
    assert ask(fs, "cat", file="sub/x.txt") == {"content": "inner\nmore\n"}
    ask(fs, "touch", file="new.txt")
    assert ask(fs, "add_line", file="new.txt", text="first") == {"lines": 1}
    assert "no such file" in ask(fs, "add_line", file="nowhere.txt", text="x")["error"]


def test_text_is_replaced_wherever_it_stands(fs: Executor) -> None:
    """Letter by letter; what is not there cannot be replaced."""
    assert ask(fs, "replace_text", file="x.txt", old="t", new="tt") == {"replaced": 2}
    assert ask(fs, "cat", file="x.txt") == {"content": "one\nttwo\ntthree\n"}
    assert "does not hold" in ask(fs, "replace_text", file="x.txt", old="T", new="t")["error"]


def test_two_files_are_joined_into_a_new_one(fs: Executor) -> None:
    """In the order given, and never over something that exists."""
    joined = ask(fs, "join_files", first="/b/y.txt", second="x.txt", destination="sub/both.txt")
    assert joined == {"path": "/a/sub/both.txt", "bytes": 18}
    assert ask(fs, "head", file="/a/sub/both.txt", lines=2) == {"lines": ["two", "one"]}
    assert (
        "exists"
        in ask(fs, "join_files", first="x.txt", second="x.txt", destination="x.txt")["error"]
    )
