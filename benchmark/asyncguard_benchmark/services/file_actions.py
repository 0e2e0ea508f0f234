"""Operations of the tools of FS: paths, and reading and changing a tree of directories and texts."""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State

STATE_SCHEMA = {
    "type": "object",
    "properties": {
        "cwd": {"type": "string", "pattern": "^/"},
        "tree": {"$ref": "#/$defs/directory"},
    },
    "required": ["cwd", "tree"],
    "additionalProperties": False,
    "$defs": {
        "directory": {
            "type": "object",
            "propertyNames": {"pattern": "^[^/]+$", "not": {"enum": [".", ".."]}},
            "additionalProperties": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/directory"}]},
        }
    },
}


def _names(state: State, path: str) -> list[str]:
    """Return the names from the root to `path`."""
    whole_path = path if path.startswith("/") else f"{state['cwd']}/{path}"
    names: list[str] = []
    for name in whole_path.split("/"):
        if name == "..":
            names = names[:-1]
        elif name not in ("", "."):
            names.append(name)
    return names


def _show(names: list[str]) -> str:
    return "/" + "/".join(names)


def _lookup(state: State, names: list[str]) -> Any:
    """Return the directory or text at `names`, or None."""
    node = state["tree"]
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def _directory(state: State, names: list[str]) -> dict[str, Any]:
    node = _lookup(state, names)
    if not isinstance(node, dict):
        raise ToolFailure(f"{_show(names)}: no such directory")
    return node


def _text(state: State, path: str) -> str:
    names = _names(state, path)
    node = _lookup(state, names)
    if not isinstance(node, str):
        raise ToolFailure(f"{_show(names)}: no such file")
    return node


def _lines(state: State, path: str) -> list[str]:
    return _text(state, path).splitlines()


def _place(state: State, path: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the directory that holds or would hold `path`, the last name, and all names."""
    names = _names(state, path)
    if not names:
        raise ToolFailure("/: the root directory stays as it is")
    return _directory(state, names[:-1]), names[-1], names


def _size(node: Any) -> int:
    return (
        len(node.encode()) if isinstance(node, str) else sum(_size(item) for item in node.values())
    )


def change_directory(state: State, folder: str) -> Any:
    """Make a directory the current one."""
    names = _names(state, folder)
    _directory(state, names)
    state["cwd"] = _show(names)
    return {"current_directory": state["cwd"]}


def current_directory(state: State) -> Any:
    """Return the full path of the current directory."""
    return {"current_directory": state["cwd"]}


def list_names(state: State) -> Any:
    """Return the names in the current directory, alphabetically."""
    return {"entries": sorted(_directory(state, _names(state, ".")))}


def describe(state: State, path: str) -> Any:
    """Return full path, type and size in bytes of whatever is at a path."""
    names = _names(state, path)
    node = _lookup(state, names)
    if node is None:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    return {
        "path": _show(names),
        "type": "file" if isinstance(node, str) else "directory",
        "bytes": _size(node),
    }


def whole_text(state: State, file: str) -> Any:
    """Return the text of a file."""
    return {"content": _text(state, file)}


def first_lines(state: State, file: str, lines: int) -> Any:
    """Return the first lines of a file, all of them if there are fewer."""
    return {"lines": _lines(state, file)[:lines]}


def last_lines(state: State, file: str, lines: int) -> Any:
    """Return the last lines of a file, all of them if there are fewer."""
    return {"lines": _lines(state, file)[-lines:]}


def matching_lines(state: State, file: str, pattern: str) -> Any:
    """Return the lines that hold a piece of text, letter by letter."""
    # Plain containment: an agent's regular expression could run for ever.
    return {"matching_lines": [line for line in _lines(state, file) if pattern in line]}


def matching_names(state: State, name: str, folder: str) -> Any:
    """Return the paths in and below a directory whose last name holds a piece of text."""
    start = _names(state, folder)
    return {"matches": _walk(_directory(state, start), start, name)}


def _walk(directory: dict[str, Any], above: list[str], wanted: str) -> list[str]:
    found = []
    for name, node in sorted(directory.items()):
        here = [*above, name]
        found += [_show(here)] if wanted in name else []
        found += _walk(node, here, wanted) if isinstance(node, dict) else []
    return found


def sorted_lines(state: State, file: str, order: str) -> Any:
    """Return the lines of a file by code point."""
    return {"lines": sorted(_lines(state, file), reverse=order == "descending")}


def count(state: State, file: str) -> Any:
    """Return the number of lines, words and characters of a file."""
    content = _text(state, file)
    return {
        "lines": len(content.splitlines()),
        "words": len(content.split()),
        "characters": len(content),
    }


def differing_lines(state: State, first: str, second: str) -> Any:
    """Return the lines that only one of two files has, in the order of the file."""
    left, right = _lines(state, first), _lines(state, second)
    only_first, only_second = (
        [a for a in left if a not in right],
        [b for b in right if b not in left],
    )
    return {"only_in_first": only_first, "only_in_second": only_second}


def sizes(state: State, folder: str) -> Any:
    """Return the bytes in a directory, and its names by their size; equal sizes by name."""
    entries = _directory(state, _names(state, folder))
    ranked = sorted(entries, key=lambda name: (-_size(entries[name]), name))
    return {"total_bytes": _size(entries), "largest_first": ranked}


def line_at(state: State, file: str, number: int) -> Any:
    """Return the line with a number, counted from 1."""
    lines = _lines(state, file)
    if number > len(lines):
        raise ToolFailure(f"{_show(_names(state, file))}: has only {len(lines)} lines")
    return {"text": lines[number - 1]}


def column(state: State, file: str, separator: str, position: int) -> Any:
    """Return one part of each line; lines that have fewer parts are left out."""
    rows = [line.split(separator) for line in _lines(state, file)]
    if not any(len(row) >= position for row in rows):
        raise ToolFailure(f"{_show(_names(state, file))}: no line has {position} parts")
    return {"values": [row[position - 1] for row in rows if len(row) >= position]}


def files_holding(state: State, text: str, folder: str) -> Any:
    """Return the paths of the files in and below a directory whose text holds a piece of text."""
    start = _names(state, folder)
    paths = _walk(_directory(state, start), start, "")
    return {"files": [path for path in paths if _holds(_lookup(state, _names(state, path)), text)]}


def _holds(node: Any, text: str) -> bool:
    return isinstance(node, str) and text in node


def make_directory(state: State, folder: str) -> None:
    """Make a directory whose parent exists."""
    parent, name, names = _place(state, folder)
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    parent[name] = {}


def make_file(state: State, file: str) -> None:
    """Make an empty file unless there is something of that name."""
    parent, name, _ = _place(state, file)
    parent.setdefault(name, "")


def write_line(state: State, text: str, file: str, mode: str) -> None:
    """Make a line the whole text of a file, or its end."""
    parent, name, names = _place(state, file)
    before = parent.get(name, "")
    if not isinstance(before, str):
        raise ToolFailure(f"{_show(names)}: is a directory")
    parent[name] = (before if mode == "append" else "") + text + "\n"


def _arrival(state: State, source: str, destination: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the place of a moved or copied thing: inside a directory under its own name, or under a new name."""
    origin, target = _names(state, source), _names(state, destination)
    if isinstance(_lookup(state, target), dict):
        target = [*target, *origin[-1:]]
    if target[: len(origin)] == origin:
        raise ToolFailure(f"{_show(origin)}: cannot go into itself")
    parent, name, names = _place(state, _show(target))
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    return parent, name, names


def add_line(state: State, file: str, text: str) -> Any:
    """Put a line at the end of a file that exists."""
    before = _text(state, file)
    parent, name, _ = _place(state, file)
    # A last line that nothing ends yet is ended first, so that two lines never become one.
    parent[name] = (before if before.endswith("\n") or not before else before + "\n") + text + "\n"
    return {"lines": len(parent[name].splitlines())}


def replace_text(state: State, file: str, old: str, new: str) -> Any:
    """Write one piece of text for another, wherever it stands."""
    before = _text(state, file)
    parent, name, names = _place(state, file)
    if old not in before:
        raise ToolFailure(f"{_show(names)}: does not hold {old!r}")
    parent[name] = before.replace(old, new)
    return {"replaced": before.count(old)}


def join_files(state: State, first: str, second: str, destination: str) -> Any:
    """Write the texts of two files into a new one."""
    content = _text(state, first) + _text(state, second)
    parent, name, names = _place(state, destination)
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    parent[name] = content
    return {"path": _show(names), "bytes": _size(content)}


def move(state: State, source: str, destination: str) -> Any:
    """Move or rename a file or directory."""
    parent, name, names = _place(state, source)
    if name not in parent:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    if f"{state['cwd']}/".startswith(f"{_show(names)}/"):
        raise ToolFailure(f"{_show(names)}: holds the current directory")
    new_parent, new_name, new_names = _arrival(state, source, destination)
    new_parent[new_name] = parent.pop(name)
    return {"moved_to": _show(new_names)}


def copy(state: State, source: str, destination: str) -> Any:
    """Copy a file."""
    content = _text(state, source)
    parent, name, names = _arrival(state, source, destination)
    parent[name] = content
    return {"copied_to": _show(names)}


def delete_file(state: State, file: str) -> None:
    """Delete a file."""
    parent, name, names = _place(state, file)
    if not isinstance(parent.get(name), str):
        raise ToolFailure(f"{_show(names)}: no such file")
    del parent[name]


def delete_directory(state: State, folder: str) -> None:
    """Delete an empty directory that is not the current one."""
    parent, name, names = _place(state, folder)
    if parent.get(name) != {}:
        raise ToolFailure(f"{_show(names)}: no such empty directory")
    if state["cwd"] == _show(names):
        raise ToolFailure(f"{_show(names)}: is the current directory")
    del parent[name]
