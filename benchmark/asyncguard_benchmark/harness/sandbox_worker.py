"""Worker for functions of foreign Python files, a process of its own; started by ``sandbox.py``, never imported.

It speaks JSON lines over two pipes that it takes away from the foreign code, so that printing cannot disturb them.
What foreign code may do is bounded by resource limits and by an audit hook, which Python code cannot take off again.
This is a guard-rail and no security boundary: native code, or Python code that sets out to break it, gets past it. Only
the standard library is used here, and nothing of the benchmark.
"""

import importlib.util
import json
import os
import queue
import resource
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TextIO

_PROFILES = ("strict_no_hint_profile", "guided_with_hint_profile")
_REFUSED = (
    *(
        "socket.",
        "os.fork",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.",
        "subprocess.",
    ),
    *(
        "os.kill",
        "os.link",
        "os.symlink",
        "os.chown",
        "os.setxattr",
        "signal.",
        "resource.setrlimit",
        "resource.prlimit",
    ),
)
"""Beginnings of what Python reports before it does it: network, processes, second names of files, other limits."""
_CHANGING = frozenset({"os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.truncate", "os.chmod"})
"""Operations that are allowed on files of the temporary folder."""
_READABLE = (
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
    "/etc/mime.types",
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Serve calls until the pipe ends, which it does when the parent ends."""
    settings = json.loads(sys.argv[1])
    requests, answers = _private_pipes()
    inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(
        target=_listen, args=(requests, inbox, Path.cwd()), name="listen", daemon=True
    ).start()
    _limit(settings)
    _guard([*filter(None, [settings["module"]]), *settings["functions"].values()])
    most = settings["answer_bytes"]
    try:
        functions, profiled = _functions(settings)
        functions |= {name: _Lazy(path, name) for name, path in settings["functions"].items()}
    except BaseException as problem:  # noqa: BLE001 - foreign code may raise anything, SystemExit included
        _say(answers, _error(problem), most)
        return
    _say(answers, {"ready": sorted(functions), "profiled": profiled}, most)
    while True:
        request = json.loads(inbox.get())
        try:
            called = functions[request["tool"]]
            answer: dict[str, Any] = {
                "result": called(*request["positional"], **request["arguments"])
            }
        except BaseException as problem:  # noqa: BLE001 - as above
            answer = _error(problem)
        _say(answers, answer, most)


def _private_pipes() -> tuple[TextIO, TextIO]:
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
    return requests, answers


def _listen(requests: TextIO, inbox: "queue.SimpleQueue[str]", home: Path) -> NoReturn:
    for line in requests:
        inbox.put(line)
    # A parent that ends in order has killed this process before; otherwise only this process is
    # left to remove the folder.
    shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


def _limit(settings: dict[str, Any]) -> None:
    memory = settings["memory_mb"] * 2**20
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: settings["cpu_seconds"],
        resource.RLIMIT_FSIZE: 2**20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))


def _guard(files: list[str]) -> None:
    home = os.path.realpath(Path.cwd())
    python = (sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(os.__file__).parent))
    readable = tuple(
        os.path.realpath(each)
        for each in (*python, *_READABLE, *filter(None, sys.path), *files, home)
    )

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            _check_file(arguments, readable, home)
        elif event == "ctypes.dlsym":
            if not str(arguments[1]).lstrip("_").startswith("Py"):
                raise PermissionError(f"refused: {event}")
        elif event in _CHANGING:
            _check_change(event, arguments, home)
        elif event.startswith(_REFUSED):
            raise PermissionError(f"refused: {event}")

    sys.addaudithook(hook)


def _check_file(arguments: tuple[Any, ...], readable: tuple[str, ...], home: str) -> None:
    path, mode, flags = arguments
    if isinstance(path, int) or path is None:
        return
    place = os.path.realpath(os.fsdecode(path))
    writes = any(letter in (mode or "") for letter in "wax+") or (flags or 0) & _WRITES
    allowed = (home, os.devnull) if writes else readable
    if not any(place == each or place.startswith(each + os.sep) for each in allowed):
        raise PermissionError(
            f"refused: {'writing' if writes else 'reading'} outside the temporary folder"
        )


def _check_change(event: str, arguments: tuple[Any, ...], home: str) -> None:
    folder = arguments[-1] if event in ("os.mkdir", "os.remove", "os.rmdir") else -1
    if event == "os.rename" and arguments[2:] != (-1, -1):
        raise PermissionError("refused: renaming by folder")
    # Names may be relative to an open folder, as those are that `shutil.rmtree` takes away.
    base = Path(f"/proc/self/fd/{folder}").readlink() if folder >= 0 else Path()
    names = [each for each in arguments if isinstance(each, str | bytes | os.PathLike)]
    places = [os.path.realpath(base / os.fsdecode(each)) for each in names]
    if not places or not all(f"{each}{os.sep}".startswith(home + os.sep) for each in places):
        raise PermissionError("refused: changing files outside the temporary folder")


def _functions(settings: dict[str, Any]) -> tuple[dict[str, Callable[..., Any]], bool]:
    if settings["module"] is None:
        return {}, False
    module = _loaded(settings["module"], "foreign_tools")
    profiled = bool(settings["profile"]) and _activate(module, settings["profile"])
    return {name: getattr(module, name) for name in settings["names"]}, profiled


class _Lazy:
    """Function of a file that is loaded at the first call of one of its functions, once for each space of names."""

    _modules: ClassVar[dict[tuple[str, str], Any]] = {}

    def __init__(self, path: str, name: str) -> None:
        space, _, self._name = name.rpartition("/")
        self._key = space, path

    def __call__(self, *positional: Any, **arguments: Any) -> Any:
        if self._key not in self._modules:
            name = f"foreign_tools_{len(self._modules)}"
            self._modules[self._key] = _loaded(self._key[1], name)
        return getattr(self._modules[self._key], self._name)(*positional, **arguments)


def _loaded(path: str, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _activate(module: Any, profile: str) -> bool:
    """Choose a profile as the published runner does, for modules that offer it; others read the environment."""
    configure = getattr(module, "set_injection_config", None)
    profiles = {name: getattr(module, name, None) for name in _PROFILES}
    if not callable(configure) or not all(isinstance(each, dict) for each in profiles.values()):
        return False
    config = {"profile": profile, "profile_name": profile, "profiles": profiles}
    os.environ["INJECTION_CONFIG_JSON"] = json.dumps(config)
    configure(config)
    return True


def _error(problem: BaseException) -> dict[str, Any]:
    kinds = [kind.__name__ for kind in type(problem).__mro__ if kind.__module__ == "builtins"]
    return {"error": type(problem).__name__, "kinds": kinds, "message": str(problem)[:2000]}


def _say(answers: TextIO, answer: dict[str, Any], most: int) -> None:
    try:
        text = json.dumps(answer, allow_nan=False)
    except BaseException as problem:  # noqa: BLE001 - an answer may be anything, even an object that raises
        text = json.dumps(
            {
                "error": "TypeError",
                "kinds": ["TypeError"],
                "message": f"the answer is no JSON: {problem}",
            }
        )
    if len(text) > most:
        text = json.dumps(
            {
                "error": "ValueError",
                "kinds": ["ValueError"],
                "message": f"the answer is over {most} bytes",
            }
        )
    answers.write(text + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
