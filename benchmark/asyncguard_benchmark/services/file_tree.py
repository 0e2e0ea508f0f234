"""State of FS: a current directory and a tree, in which a directory is an object and a file is its text."""

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


def names_of(state: State, path: str) -> list[str]:
    """Return the names from the root to `path`."""
    whole_path = path if path.startswith("/") else f"{state['cwd']}/{path}"
    names: list[str] = []
    for name in whole_path.split("/"):
        if name == "..":
            names = names[:-1]
        elif name not in ("", "."):
            names.append(name)
    return names


def shown(names: list[str]) -> str:
    """Return the full path of what has these names from the root on."""
    return "/" + "/".join(names)


def node_at(state: State, names: list[str]) -> Any:
    """Return the directory or text at `names`, or None."""
    node = state["tree"]
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def directory_at(state: State, names: list[str]) -> dict[str, Any]:
    """Return the directory at `names`.

    Raises:
        ToolFailure: there is none.
    """
    node = node_at(state, names)
    if not isinstance(node, dict):
        raise ToolFailure(f"{shown(names)}: no such directory")
    return node


def text_of(state: State, path: str) -> str:
    """Return the text of a file.

    Raises:
        ToolFailure: there is none at `path`.
    """
    names = names_of(state, path)
    node = node_at(state, names)
    if not isinstance(node, str):
        raise ToolFailure(f"{shown(names)}: no such file")
    return node


def lines_of(state: State, path: str) -> list[str]:
    """Return the lines of a file, as `text_of` finds it."""
    return text_of(state, path).splitlines()


def place_of(state: State, path: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the directory that holds or would hold `path`, the last name, and all names.

    Raises:
        ToolFailure: the path is that of the root, or there is no such directory.
    """
    names = names_of(state, path)
    if not names:
        raise ToolFailure("/: the root directory stays as it is")
    return directory_at(state, names[:-1]), names[-1], names


def size_of(node: Any) -> int:
    """Return the bytes of a text, or of all texts in a directory and below."""
    return len(node.encode()) if isinstance(node, str) else sum(map(size_of, node.values()))


def paths_below(directory: dict[str, Any], above: list[str], wanted: str) -> list[str]:
    """Return the full paths, in a directory and below, whose last name holds a piece of text."""
    found = []
    for name, node in sorted(directory.items()):
        here = [*above, name]
        found += [shown(here)] if wanted in name else []
        found += paths_below(node, here, wanted) if isinstance(node, dict) else []
    return found
