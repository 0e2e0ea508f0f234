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
from asyncguard_benchmark.services.file_tree import (
    STATE_SCHEMA,
    directory_at,
    lines_of,
    names_of,
    node_at,
    paths_below,
    place_of,
    shown,
    size_of,
    text_of,
)
from asyncguard_benchmark.services.service import toolset

_CWD = "fs:{task_id}:cwd"
_TREE = "fs:{task_id}:tree"
_reads = tool(reads=(_CWD, _TREE))
_writes = tool(reads=(_CWD, _TREE), writes=(_TREE,))

Folder = Annotated[Text, "Path of a directory."]
File = Annotated[Text, "Path of a file."]
Lines = Annotated[Count, "How many lines."]
Here = Annotated[Text, "Path of the directory to look in; leave it out for the current one."]


# At most once: a relative path leads somewhere else the second time.
@tool(reads=(_CWD, _TREE), writes=(_CWD,))
def cd(state: State, folder: Folder) -> Any:
    """Makes a directory the current one and tells its full path."""
    names = names_of(state, folder)
    directory_at(state, names)
    state["cwd"] = shown(names)
    return {"current_directory": state["cwd"]}


@tool(reads=(_CWD,))
def pwd(state: State) -> Any:
    """Tells the full path of the current directory."""
    return {"current_directory": state["cwd"]}


@_reads
def ls(state: State) -> Any:
    """Lists the names in the current directory alphabetically."""
    return {"entries": sorted(directory_at(state, names_of(state, ".")))}


@_reads
def stat(state: State, path: Annotated[Text, "Any path."]) -> Any:
    """Tells full path, type and size of a file or directory."""
    names = names_of(state, path)
    node = node_at(state, names)
    if node is None:
        raise ToolFailure(f"{shown(names)}: no such file or directory")
    return {
        "path": shown(names),
        "type": "file" if isinstance(node, str) else "directory",
        "bytes": size_of(node),
    }


@_reads
def cat(state: State, file: File) -> Any:
    """Gives the whole text of a file."""
    return {"content": text_of(state, file)}


@_reads
def head(state: State, file: File, lines: Lines = 10) -> Any:
    """Gives the first lines of a file."""
    return {"lines": lines_of(state, file)[:lines]}


@_reads
def tail(state: State, file: File, lines: Lines = 10) -> Any:
    """Gives the last lines of a file."""
    return {"lines": lines_of(state, file)[-lines:]}


@_reads
def grep(state: State, file: File, pattern: Annotated[Text, "The text."]) -> Any:
    """Gives the lines of a file that hold a piece of text."""
    # Plain containment: an agent's regular expression could run for ever.
    return {"matching_lines": [line for line in lines_of(state, file) if pattern in line]}


@_reads
def find(state: State, name: Annotated[Text, "The piece of text."], folder: Here = ".") -> Any:
    """Gives the full paths, in a directory and below, whose last name holds a piece of text."""
    start = names_of(state, folder)
    return {"matches": paths_below(directory_at(state, start), start, name)}


@_reads
def sort(
    state: State,
    file: File,
    order: Annotated[Literal["ascending", "descending"], "Direction."] = "ascending",
) -> Any:
    """Gives the lines of a file ordered by character; the file stays as it is."""
    return {"lines": sorted(lines_of(state, file), reverse=order == "descending")}


@_reads
def wc(state: State, file: File) -> Any:
    """Counts lines, words and characters of a file."""
    content = text_of(state, file)
    return {
        "lines": len(content.splitlines()),
        "words": len(content.split()),
        "characters": len(content),
    }


@_reads
def diff(
    state: State,
    first: Annotated[Text, "The earlier one, or the one to compare with."],
    second: Annotated[Text, "The later one."],
) -> Any:
    """Gives the lines that only one of two files has."""
    left, right = lines_of(state, first), lines_of(state, second)
    only_first, only_second = (
        [a for a in left if a not in right],
        [b for b in right if b not in left],
    )
    return {"only_in_first": only_first, "only_in_second": only_second}


@_reads
def du(state: State, folder: Here = ".") -> Any:
    """Tells the size of a directory and its names, the largest first."""
    entries = directory_at(state, names_of(state, folder))
    ranked = sorted(entries, key=lambda name: (-size_of(entries[name]), name))
    return {"total_bytes": size_of(entries), "largest_first": ranked}


@_reads
def line_at(state: State, file: File, number: Annotated[Count, "Which line, from 1."]) -> Any:
    """Gives one line of a file."""
    lines = lines_of(state, file)
    if number > len(lines):
        raise ToolFailure(f"{shown(names_of(state, file))}: has only {len(lines)} lines")
    return {"text": lines[number - 1]}


@_reads
def cut_column(
    state: State,
    file: File,
    separator: Annotated[Text, "What stands between two columns of a line."],
    position: Annotated[Count, "Which column, from 1."],
) -> Any:
    """Gives one column of a file of records, from top to bottom; lines that are too short are left out."""
    rows = [line.split(separator) for line in lines_of(state, file)]
    if not any(len(row) >= position for row in rows):
        raise ToolFailure(f"{shown(names_of(state, file))}: no line has {position} parts")
    return {"values": [row[position - 1] for row in rows if len(row) >= position]}


@_reads
def find_text(state: State, text: Annotated[Text, "The piece of text."], folder: Here = ".") -> Any:
    """Gives the full paths of the files, in a directory and below, whose text holds a piece of text."""
    start = names_of(state, folder)
    paths = paths_below(directory_at(state, start), start, "")
    return {
        "files": [path for path in paths if _holds(node_at(state, names_of(state, path)), text)]
    }


def _holds(node: Any, text: str) -> bool:
    return isinstance(node, str) and text in node


@_writes
def mkdir(state: State, folder: Folder) -> None:
    """Makes a new directory."""
    parent, name, names = place_of(state, folder)
    if name in parent:
        raise ToolFailure(f"{shown(names)}: exists already")
    parent[name] = {}


@tool(effect=Effect.IDEMPOTENT, reads=(_CWD, _TREE), writes=(_TREE,))
def touch(state: State, file: File) -> None:
    """Makes an empty file unless the name exists."""
    parent, name, _ = place_of(state, file)
    parent.setdefault(name, "")


# At most once: appending twice is not appending once, and one tool has one effect class.
@_writes
def echo(
    state: State,
    text: Annotated[Text, "The line."],
    file: File,
    mode: Annotated[
        Literal["overwrite", "append"], "Replace the file's text or add to its end."
    ] = "overwrite",
) -> None:
    """Writes a line of text to a file, which is made if missing."""
    parent, name, names = place_of(state, file)
    before = parent.get(name, "")
    if not isinstance(before, str):
        raise ToolFailure(f"{shown(names)}: is a directory")
    parent[name] = (before if mode == "append" else "") + text + "\n"


def _arrival(state: State, source: str, destination: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the place of a moved or copied thing: inside a directory under its own name, or under a new name."""
    origin, target = names_of(state, source), names_of(state, destination)
    if isinstance(node_at(state, target), dict):
        target = [*target, *origin[-1:]]
    if target[: len(origin)] == origin:
        raise ToolFailure(f"{shown(origin)}: cannot go into itself")
    parent, name, names = place_of(state, shown(target))
    if name in parent:
        raise ToolFailure(f"{shown(names)}: exists already")
    return parent, name, names


@_writes
def add_line(state: State, file: File, text: Annotated[Text, "The line."]) -> Any:
    """Puts a line below the last one of a file that exists; tells how many lines there are then."""
    before = text_of(state, file)
    parent, name, _ = place_of(state, file)
    # A last line that nothing ends yet is ended first, so that two lines never become one.
    parent[name] = (before if before.endswith("\n") or not before else before + "\n") + text + "\n"
    return {"lines": len(parent[name].splitlines())}


# At most once: the second time the old text is gone, or the new one holds it.
@_writes
def replace_text(
    state: State,
    file: File,
    old: Annotated[Text, "What is to go."],
    new: Annotated[Text, "What is to come."],
) -> Any:
    """Writes one piece of text for another wherever a file has it; tells how often that was."""
    before = text_of(state, file)
    parent, name, names = place_of(state, file)
    if old not in before:
        raise ToolFailure(f"{shown(names)}: does not hold {old!r}")
    parent[name] = before.replace(old, new)
    return {"replaced": before.count(old)}


@_writes
def join_files(
    state: State,
    first: Annotated[Text, "Path of the file whose text comes first."],
    second: Annotated[Text, "Path of the file whose text follows."],
    destination: Annotated[Text, "Path of the new file."],
) -> Any:
    """Writes a new file that holds the text of two files; tells its full path, to be used from then on."""
    content = text_of(state, first) + text_of(state, second)
    parent, name, names = place_of(state, destination)
    if name in parent:
        raise ToolFailure(f"{shown(names)}: exists already")
    parent[name] = content
    return {"path": shown(names), "bytes": size_of(content)}


@_writes
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
    parent, name, names = place_of(state, source)
    if name not in parent:
        raise ToolFailure(f"{shown(names)}: no such file or directory")
    if f"{state['cwd']}/".startswith(f"{shown(names)}/"):
        raise ToolFailure(f"{shown(names)}: holds the current directory")
    new_parent, new_name, new_names = _arrival(state, source, destination)
    new_parent[new_name] = parent.pop(name)
    return {"moved_to": shown(new_names)}


@_writes
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
    content = text_of(state, source)
    parent, name, names = _arrival(state, source, destination)
    parent[name] = content
    return {"copied_to": shown(names)}


@_writes
def rm(state: State, file: File) -> None:
    """Deletes a file."""
    parent, name, names = place_of(state, file)
    if not isinstance(parent.get(name), str):
        raise ToolFailure(f"{shown(names)}: no such file")
    del parent[name]


@_writes
def rmdir(state: State, folder: Folder) -> None:
    """Deletes an empty directory."""
    parent, name, names = place_of(state, folder)
    if parent.get(name) != {}:
        raise ToolFailure(f"{shown(names)}: no such empty directory")
    if state["cwd"] == shown(names):
        raise ToolFailure(f"{shown(names)}: is the current directory")
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
