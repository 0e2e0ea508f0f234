"""FS: a file system with a current directory.

A state is ``{"cwd": "/home/ana", "tree": {...}}``; in the tree a directory is an object and a file is its text.
Paths may be relative, absolute, and hold ``.`` and ``..``. One file can be reached by many spellings, so footprints do
not name paths: a template on the argument would miss aliases. They name the current directory and the tree.
"""

from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Count, Text
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.service import toolset

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
_CWD = "fs:{task_id}:cwd"
_TREE = "fs:{task_id}:tree"

Folder = Annotated[Text, "Path of a directory."]
File = Annotated[Text, "Path of a file."]
Lines = Annotated[Count, "How many lines."]
Here = Annotated[Text, "Path of the directory to look in; leave it out for the current one."]


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


# At most once: a relative path leads somewhere else the second time.
@tool(reads=(_CWD, _TREE), writes=(_CWD,))
def cd(state: State, folder: Folder) -> Any:
    """Makes a directory the current one and tells its full path."""
    names = _names(state, folder)
    _directory(state, names)
    state["cwd"] = _show(names)
    return {"current_directory": state["cwd"]}


@tool(reads=(_CWD,))
def pwd(state: State) -> Any:
    """Tells the full path of the current directory."""
    return {"current_directory": state["cwd"]}


@tool(reads=(_CWD, _TREE))
def ls(state: State) -> Any:
    """Lists the names in the current directory alphabetically."""
    return {"entries": sorted(_directory(state, _names(state, ".")))}


@tool(reads=(_CWD, _TREE))
def stat(state: State, path: Annotated[Text, "Any path."]) -> Any:
    """Tells full path, type and size of a file or directory."""
    names = _names(state, path)
    node = _lookup(state, names)
    if node is None:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    return {
        "path": _show(names),
        "type": "file" if isinstance(node, str) else "directory",
        "bytes": _size(node),
    }


@tool(reads=(_CWD, _TREE))
def cat(state: State, file: File) -> Any:
    """Gives the whole text of a file."""
    return {"content": _text(state, file)}


@tool(reads=(_CWD, _TREE))
def head(state: State, file: File, lines: Lines = 10) -> Any:
    """Gives the first lines of a file."""
    return {"lines": _lines(state, file)[:lines]}


@tool(reads=(_CWD, _TREE))
def tail(state: State, file: File, lines: Lines = 10) -> Any:
    """Gives the last lines of a file."""
    return {"lines": _lines(state, file)[-lines:]}


@tool(reads=(_CWD, _TREE))
def grep(state: State, file: File, pattern: Annotated[Text, "The text."]) -> Any:
    """Gives the lines of a file that hold a piece of text."""
    # Plain containment: an agent's regular expression could run for ever.
    return {"matching_lines": [line for line in _lines(state, file) if pattern in line]}


@tool(reads=(_CWD, _TREE))
def find(state: State, name: Annotated[Text, "The piece of text."], folder: Here = ".") -> Any:
    """Gives the full paths, in a directory and below, whose last name holds a piece of text."""
    start = _names(state, folder)
    return {"matches": _walk(_directory(state, start), start, name)}


def _walk(directory: dict[str, Any], above: list[str], wanted: str) -> list[str]:
    found = []
    for name, node in sorted(directory.items()):
        here = [*above, name]
        found += [_show(here)] if wanted in name else []
        found += _walk(node, here, wanted) if isinstance(node, dict) else []
    return found


@tool(reads=(_CWD, _TREE))
def sort(
    state: State,
    file: File,
    order: Annotated[Literal["ascending", "descending"], "Direction."] = "ascending",
) -> Any:
    """Gives the lines of a file ordered by character; the file stays as it is."""
    return {"lines": sorted(_lines(state, file), reverse=order == "descending")}


@tool(reads=(_CWD, _TREE))
def wc(state: State, file: File) -> Any:
    """Counts lines, words and characters of a file."""
    content = _text(state, file)
    return {
        "lines": len(content.splitlines()),
        "words": len(content.split()),
        "characters": len(content),
    }


@tool(reads=(_CWD, _TREE))
def diff(
    state: State,
    first: Annotated[Text, "The earlier one, or the one to compare with."],
    second: Annotated[Text, "The later one."],
) -> Any:
    """Gives the lines that only one of two files has."""
    left, right = _lines(state, first), _lines(state, second)
    only_first, only_second = (
        [a for a in left if a not in right],
        [b for b in right if b not in left],
    )
    return {"only_in_first": only_first, "only_in_second": only_second}


@tool(reads=(_CWD, _TREE))
def du(state: State, folder: Here = ".") -> Any:
    """Tells the size of a directory and its names, the largest first."""
    entries = _directory(state, _names(state, folder))
    ranked = sorted(entries, key=lambda name: (-_size(entries[name]), name))
    return {"total_bytes": _size(entries), "largest_first": ranked}


@tool(reads=(_CWD, _TREE))
def line_at(state: State, file: File, number: Annotated[Count, "Which line, from 1."]) -> Any:
    """Gives one line of a file."""
    lines = _lines(state, file)
    if number > len(lines):
        raise ToolFailure(f"{_show(_names(state, file))}: has only {len(lines)} lines")
    return {"text": lines[number - 1]}


@tool(reads=(_CWD, _TREE))
def cut_column(
    state: State,
    file: File,
    separator: Annotated[Text, "What stands between two columns of a line."],
    position: Annotated[Count, "Which column, from 1."],
) -> Any:
    """Gives one column of a file of records, from top to bottom; lines that are too short are left out."""
    rows = [line.split(separator) for line in _lines(state, file)]
    if not any(len(row) >= position for row in rows):
        raise ToolFailure(f"{_show(_names(state, file))}: no line has {position} parts")
    return {"values": [row[position - 1] for row in rows if len(row) >= position]}


@tool(reads=(_CWD, _TREE))
def find_text(state: State, text: Annotated[Text, "The piece of text."], folder: Here = ".") -> Any:
    """Gives the full paths of the files, in a directory and below, whose text holds a piece of text."""
    start = _names(state, folder)
    paths = _walk(_directory(state, start), start, "")
    return {"files": [path for path in paths if _holds(_lookup(state, _names(state, path)), text)]}


def _holds(node: Any, text: str) -> bool:
    return isinstance(node, str) and text in node


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def mkdir(state: State, folder: Folder) -> None:
    """Makes a new directory."""
    parent, name, names = _place(state, folder)
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    parent[name] = {}


@tool(effect=Effect.IDEMPOTENT, reads=(_CWD, _TREE), writes=(_TREE,))
def touch(state: State, file: File) -> None:
    """Makes an empty file unless the name exists."""
    parent, name, _ = _place(state, file)
    parent.setdefault(name, "")


# At most once: appending twice is not appending once, and one tool has one effect class.
@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def echo(
    state: State,
    text: Annotated[Text, "The line."],
    file: File,
    mode: Annotated[
        Literal["overwrite", "append"], "Replace the file's text or add to its end."
    ] = "overwrite",
) -> None:
    """Writes a line of text to a file, which is made if missing."""
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


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def add_line(state: State, file: File, text: Annotated[Text, "The line."]) -> Any:
    """Puts a line below the last one of a file that exists; tells how many lines there are then."""
    before = _text(state, file)
    parent, name, _ = _place(state, file)
    # A last line that nothing ends yet is ended first, so that two lines never become one.
    parent[name] = (before if before.endswith("\n") or not before else before + "\n") + text + "\n"
    return {"lines": len(parent[name].splitlines())}


# At most once: the second time the old text is gone, or the new one holds it.
@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def replace_text(
    state: State,
    file: File,
    old: Annotated[Text, "What is to go."],
    new: Annotated[Text, "What is to come."],
) -> Any:
    """Writes one piece of text for another wherever a file has it; tells how often that was."""
    before = _text(state, file)
    parent, name, names = _place(state, file)
    if old not in before:
        raise ToolFailure(f"{_show(names)}: does not hold {old!r}")
    parent[name] = before.replace(old, new)
    return {"replaced": before.count(old)}


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def join_files(
    state: State,
    first: Annotated[Text, "Path of the file whose text comes first."],
    second: Annotated[Text, "Path of the file whose text follows."],
    destination: Annotated[Text, "Path of the new file."],
) -> Any:
    """Writes a new file that holds the text of two files; tells its full path, to be used from then on."""
    content = _text(state, first) + _text(state, second)
    parent, name, names = _place(state, destination)
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    parent[name] = content
    return {"path": _show(names), "bytes": _size(content)}


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def mv(
    state: State,
    source: Annotated[Text, "What to move."],
    destination: Annotated[
        Text, "The directory to move it to; only for another name, the new path."
    ],
) -> Any:
    """Moves or renames a file or directory, into the destination if it is a directory; tells the
    full path that it has now, to be used from then on.
    """
    parent, name, names = _place(state, source)
    if name not in parent:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    if f"{state['cwd']}/".startswith(f"{_show(names)}/"):
        raise ToolFailure(f"{_show(names)}: holds the current directory")
    new_parent, new_name, new_names = _arrival(state, source, destination)
    new_parent[new_name] = parent.pop(name)
    return {"moved_to": _show(new_names)}


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def cp(
    state: State,
    source: File,
    destination: Annotated[
        Text, "The directory that is to hold the copy; only for another name, the path of the copy."
    ],
) -> Any:
    """Copies a file, into the destination if that is a directory; tells the full path of the copy,
    to be used from then on.
    """
    content = _text(state, source)
    parent, name, names = _arrival(state, source, destination)
    parent[name] = content
    return {"copied_to": _show(names)}


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def rm(state: State, file: File) -> None:
    """Deletes a file."""
    parent, name, names = _place(state, file)
    if not isinstance(parent.get(name), str):
        raise ToolFailure(f"{_show(names)}: no such file")
    del parent[name]


@tool(reads=(_CWD, _TREE), writes=(_TREE,))
def rmdir(state: State, folder: Folder) -> None:
    """Deletes an empty directory."""
    parent, name, names = _place(state, folder)
    if parent.get(name) != {}:
        raise ToolFailure(f"{_show(names)}: no such empty directory")
    if state["cwd"] == _show(names):
        raise ToolFailure(f"{_show(names)}: is the current directory")
    del parent[name]


TOOLSET = toolset(
    Category.FILESYSTEM,
    STATE_SCHEMA,
    (
        cd,
        pwd,
        ls,
        stat,
        cat,
        head,
        tail,
        grep,
        line_at,
        cut_column,
        find_text,
        find,
        sort,
        wc,
        diff,
        du,
        mkdir,
        touch,
        echo,
        add_line,
        replace_text,
        join_files,
        mv,
        cp,
        rm,
        rmdir,
    ),
)
