"""FS: a file system with a current directory.

A state is ``{"cwd": "/home/ana", "tree": {...}}``; in the tree a directory is an object and a file is its text.
Paths may be relative, absolute, and hold ``.`` and ``..``. One file can be reached by many spellings, so footprints do
not name paths: a template on the argument would miss aliases. They name the current directory and the tree.
"""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.executors.declarations import Effect, State, Tool, arguments, choice, text, whole
from asyncguard_benchmark.executors.executor import toolset
from asyncguard_benchmark.scenario import Category

_CWD = "fs:{task_id}:cwd"
_TREE = "fs:{task_id}:tree"

STATE_SCHEMA = {
    "type": "object",
    "properties": {"cwd": {"type": "string", "pattern": "^/"}, "tree": {"$ref": "#/$defs/directory"}},
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
    """The names from the root to `path`."""
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
    """The directory or text at `names`, or None."""
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
    """The directory that holds or would hold `path`, the last name, and all names."""
    names = _names(state, path)
    if not names:
        raise ToolFailure("/: the root directory stays as it is")
    return _directory(state, names[:-1]), names[-1], names


def _size(node: Any) -> int:
    return len(node.encode()) if isinstance(node, str) else sum(_size(item) for item in node.values())


def _cd(state: State, folder: str) -> Any:
    names = _names(state, folder)
    _directory(state, names)
    state["cwd"] = _show(names)
    return {"current_directory": state["cwd"]}


def _pwd(state: State) -> Any:
    return {"current_directory": state["cwd"]}


def _ls(state: State, folder: str) -> Any:
    return {"entries": sorted(_directory(state, _names(state, folder)))}


def _stat(state: State, path: str) -> Any:
    names = _names(state, path)
    node = _lookup(state, names)
    if node is None:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    return {"path": _show(names), "type": "file" if isinstance(node, str) else "directory", "bytes": _size(node)}


def _cat(state: State, file: str) -> Any:
    return {"content": _text(state, file)}


def _head(state: State, file: str, lines: int) -> Any:
    return {"lines": _lines(state, file)[:lines]}


def _tail(state: State, file: str, lines: int) -> Any:
    return {"lines": _lines(state, file)[-lines:]}


def _grep(state: State, file: str, pattern: str) -> Any:
    # Plain containment: an agent's regular expression could run for ever.
    return {"matching_lines": [line for line in _lines(state, file) if pattern in line]}


def _find(state: State, name: str, folder: str) -> Any:
    start = _names(state, folder)
    return {"matches": _walk(_directory(state, start), start, name)}


def _walk(directory: dict[str, Any], above: list[str], wanted: str) -> list[str]:
    found = []
    for name, node in sorted(directory.items()):
        here = [*above, name]
        found += [_show(here)] if wanted in name else []
        found += _walk(node, here, wanted) if isinstance(node, dict) else []
    return found


def _sort(state: State, file: str, order: str) -> Any:
    return {"lines": sorted(_lines(state, file), reverse=order == "descending")}


def _wc(state: State, file: str) -> Any:
    content = _text(state, file)
    return {"lines": len(content.splitlines()), "words": len(content.split()), "characters": len(content)}


def _diff(state: State, first: str, second: str) -> Any:
    left, right = _lines(state, first), _lines(state, second)
    only_first, only_second = [a for a in left if a not in right], [b for b in right if b not in left]
    return {"only_in_first": only_first, "only_in_second": only_second}


def _du(state: State, folder: str) -> Any:
    entries = _directory(state, _names(state, folder))
    ranked = sorted(entries, key=lambda name: (-_size(entries[name]), name))
    return {"total_bytes": _size(entries), "largest_first": ranked}


def _mkdir(state: State, folder: str) -> None:
    parent, name, names = _place(state, folder)
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    parent[name] = {}


def _touch(state: State, file: str) -> None:
    parent, name, _ = _place(state, file)
    parent.setdefault(name, "")


def _echo(state: State, text: str, file: str, mode: str) -> None:
    parent, name, names = _place(state, file)
    before = parent.get(name, "")
    if not isinstance(before, str):
        raise ToolFailure(f"{_show(names)}: is a directory")
    parent[name] = (before if mode == "append" else "") + text + "\n"


def _arrival(state: State, source: str, destination: str) -> tuple[dict[str, Any], str, list[str]]:
    """Where a moved or copied thing lands: inside a directory under its own name, or under a new name."""
    origin, target = _names(state, source), _names(state, destination)
    if isinstance(_lookup(state, target), dict):
        target = [*target, *origin[-1:]]
    if target[: len(origin)] == origin:
        raise ToolFailure(f"{_show(origin)}: cannot go into itself")
    parent, name, names = _place(state, _show(target))
    if name in parent:
        raise ToolFailure(f"{_show(names)}: exists already")
    return parent, name, names


def _mv(state: State, source: str, destination: str) -> Any:
    parent, name, names = _place(state, source)
    if name not in parent:
        raise ToolFailure(f"{_show(names)}: no such file or directory")
    if f"{state['cwd']}/".startswith(f"{_show(names)}/"):
        raise ToolFailure(f"{_show(names)}: holds the current directory")
    new_parent, new_name, new_names = _arrival(state, source, destination)
    new_parent[new_name] = parent.pop(name)
    return {"moved_to": _show(new_names)}


def _cp(state: State, source: str, destination: str) -> Any:
    content = _text(state, source)
    parent, name, names = _arrival(state, source, destination)
    parent[name] = content
    return {"copied_to": _show(names)}


def _rm(state: State, file: str) -> None:
    parent, name, names = _place(state, file)
    if not isinstance(parent.get(name), str):
        raise ToolFailure(f"{_show(names)}: no such file")
    del parent[name]


def _rmdir(state: State, folder: str) -> None:
    parent, name, names = _place(state, folder)
    if parent.get(name) != {}:
        raise ToolFailure(f"{_show(names)}: no such empty directory")
    if state["cwd"] == _show(names):
        raise ToolFailure(f"{_show(names)}: is the current directory")
    del parent[name]


_FILE = text("Path of a file.")
_FOLDER = text("Path of a directory.")
_HERE = text("Path of the directory to look in; the current one unless given.", default=".")
_ENDS = whole("How many lines.", default=10)


def _reader(name: str, description: str, run: Any, /, **properties: Any) -> Tool:
    schema = arguments(**properties)
    return Tool(name=name, description=description, parameters=schema, effect=Effect.PURE, reads=(_CWD, _TREE), run=run)


def _writer(name: str, description: str, run: Any, effect: Effect, /, **properties: Any) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=arguments(**properties),
        effect=effect,
        reads=(_CWD, _TREE),
        writes=(_TREE,),
        run=run,
    )


_CD = Tool(
    name="cd",
    description="Makes a directory the current one and tells its full path.",
    parameters=arguments(folder=_FOLDER),
    effect=Effect.AT_MOST_ONCE,  # a relative path leads somewhere else the second time
    reads=(_CWD, _TREE),
    writes=(_CWD,),
    run=_cd,
)
_PWD = Tool(
    name="pwd",
    description="Tells the full path of the current directory.",
    parameters=arguments(),
    effect=Effect.PURE,
    reads=(_CWD,),
    run=_pwd,
)

TOOLSET = toolset(
    Category.FILESYSTEM,
    STATE_SCHEMA,
    (
        _CD,
        _PWD,
        _reader("ls", "Lists the names in a directory alphabetically.", _ls, folder=_HERE),
        _reader("stat", "Tells full path, type and size of a file or directory.", _stat, path=text("Any path.")),
        _reader("cat", "Gives the whole text of a file.", _cat, file=_FILE),
        _reader("head", "Gives the first lines of a file.", _head, file=_FILE, lines=_ENDS),
        _reader("tail", "Gives the last lines of a file.", _tail, file=_FILE, lines=_ENDS),
        _reader(
            "grep", "Gives the lines of a file that hold a piece of text.", _grep, file=_FILE, pattern=text("The text.")
        ),
        _reader(
            "find",
            "Gives the full paths, in a directory and below, whose last name holds a piece of text.",
            _find,
            name=text("The piece of text."),
            folder=_HERE,
        ),
        _reader(
            "sort",
            "Gives the lines of a file ordered by character; the file stays as it is.",
            _sort,
            file=_FILE,
            order=choice("Direction.", ("ascending", "descending"), default="ascending"),
        ),
        _reader("wc", "Counts lines, words and characters of a file.", _wc, file=_FILE),
        _reader(
            "diff", "Gives the lines that only one of two files has.", _diff, first=_FILE, second=text("Another file.")
        ),
        _reader("du", "Tells the size of a directory and its names, the largest first.", _du, folder=_HERE),
        _writer("mkdir", "Makes a new directory.", _mkdir, Effect.AT_MOST_ONCE, folder=_FOLDER),
        _writer("touch", "Makes an empty file unless the name exists.", _touch, Effect.IDEMPOTENT, file=_FILE),
        # Appending twice is not appending once, and one tool has one effect class.
        _writer(
            "echo",
            "Writes a line of text to a file, which is made if missing.",
            _echo,
            Effect.AT_MOST_ONCE,
            text=text("The line."),
            file=_FILE,
            mode=choice("Replace the file's text or add to its end.", ("overwrite", "append"), default="overwrite"),
        ),
        _writer(
            "mv",
            "Moves or renames a file or directory, into the destination if it is a directory; tells where it is now.",
            _mv,
            Effect.AT_MOST_ONCE,
            source=text("What to move."),
            destination=text("A directory, or the new path."),
        ),
        _writer(
            "cp",
            "Copies a file, into the destination if that is a directory, and tells where the copy is.",
            _cp,
            Effect.AT_MOST_ONCE,
            source=_FILE,
            destination=text("A directory, or the path of the copy."),
        ),
        _writer("rm", "Deletes a file.", _rm, Effect.AT_MOST_ONCE, file=_FILE),
        _writer("rmdir", "Deletes an empty directory.", _rmdir, Effect.AT_MOST_ONCE, folder=_FOLDER),
    ),
)
