"""Foreign Python functions in a process of their own: bounded in time, memory and reach, and gone with their parent.

What it prevents: that a download is imported into this process, that it uses the network, starts processes, reads or
writes files outside its temporary folder, runs for ever, fills the memory, or survives. It is a guard-rail against code
that is careless or broken, and **no security boundary**: limits and an audit hook inside one process of the same user
do not hold code that sets out to break them. For code that is not trusted at all, run the whole command in a container
or a virtual machine without network.
"""

import builtins
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncguard_benchmark.errors import BenchmarkError

_WORKER = Path(__file__).with_name("sandbox_worker.py")
_CHUNK = 65536
_ROOM = 4096
"""Bytes of a line beside the answer itself."""


_RAISED: Mapping[str, type[Exception]] = {
    name: found
    for name, found in vars(builtins).items()
    if isinstance(found, type)
    and issubclass(found, Exception)
    # Those of Unicode cannot be made from a text, groups neither, and Exception itself says nothing.
    and not issubclass(found, UnicodeError | ExceptionGroup)
    and found is not Exception
}
"""Exceptions of Python's own, by name: as what a foreign function raised is raised here."""


class SandboxError(BenchmarkError):
    """A worker ended, or was ended for its time or memory: no fault of the agent, so the episode counts for nothing."""


class ForeignError(RuntimeError):
    """A foreign function raised something that is not one of Python's own exceptions."""


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Bounds of one worker."""

    seconds: float = 10.0
    """For one call, from when it is sent; the worker is killed after it. Calls made at once are sent one by one."""
    start_seconds: float = 20.0
    """Until the module is loaded."""
    cpu_seconds: int = 60
    """Processor time of a worker in all."""
    memory_mb: int = 512
    """Address space of the worker."""
    answer_bytes: int = 256 * 1024
    """Largest answer, as JSON."""

    def __post_init__(self) -> None:
        wrong = [name for name, value in asdict(self).items() if value <= 0]
        if wrong:
            raise ValueError(f"limits of the sandbox are above zero, not so {', '.join(wrong)}")


@dataclass(frozen=True, kw_only=True)
class Load:
    """Program of a worker."""

    module: Path | None = None
    """File that is loaded when the worker starts; the worker is not ready before."""
    names: Sequence[str] = ()
    """Functions of it that may be called."""
    functions: Mapping[str, Path] = field(default_factory=dict)
    """Further functions, each with its file, which is loaded when the first of its functions is called: what goes wrong
    then is the result of that call. Files do not see each other. A name may begin with a space of its own and a "/":
    a file is loaded once for each space, so that one does not see what is done in another."""
    profile: str | None = None
    """Profile of faults that the module is told to use; None tells it nothing."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside the few that every worker has; nothing of this process is passed on."""


class Sandbox:
    """One worker process; a context manager. Calls of several threads are made one after the other."""

    def __init__(self, load: Load, limits: SandboxLimits | None = None) -> None:
        """Remember what to run; nothing starts before ``__enter__``."""
        self._load = load
        self._limits = limits or SandboxLimits()
        self._lock = threading.Lock()
        self._rest = b""
        self._folder = ""
        self._process: subprocess.Popen[bytes] | None = None
        self.ended: str | None = None
        """Reason why the worker is gone; None while it runs."""
        self.profiled = False
        """True if the module took the profile that it was given."""

    def __enter__(self) -> Self:
        """Start the worker and load the module.

        Raises:
            SandboxError: the module could not be loaded in time.
        """
        if os.name != "posix":
            raise SandboxError(
                "foreign code runs on POSIX systems only: elsewhere its memory cannot be limited"
            )
        self._folder = tempfile.mkdtemp(prefix="asyncguard-sandbox-")
        try:
            self._start()
            answer = self._receive(self._limits.start_seconds, "loading the module")
            if "ready" not in answer:
                raise self._gone(
                    f"loading {self._load.module} failed with {answer['error']}: {answer['message']}"
                )
            self.profiled = bool(answer["profiled"])
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the worker."""
        self.close()

    def call(self, tool: str, arguments: Mapping[str, Any], positional: Sequence[Any] = ()) -> Any:
        """Call a function.

        Args:
            tool: One of the names.
            arguments: JSON values, passed by keyword.
            positional: JSON values, passed before them by position.

        Returns:
            Its result, a JSON value.

        Raises:
            SandboxError: the worker is gone, or did not answer in time and was ended.
            Exception: what the function raised: the nearest class of Python's own, with its message.
        """
        with self._lock:
            if self.ended is not None or self._process is None or self._process.stdin is None:
                raise SandboxError(self.ended or "the sandbox is not open")
            asked = {"tool": tool, "arguments": dict(arguments), "positional": list(positional)}
            line = json.dumps(asked) + "\n"
            try:
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()
            except OSError as problem:
                raise self._gone(f"the worker had ended before {tool} was called") from problem
            answer = self._receive(self._limits.seconds, tool)
        if "result" in answer:
            return answer["result"]
        raise _raised(answer)

    def close(self) -> None:
        """End the worker and whatever it started, and remove its folder."""
        process = self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            self._kill(process)
            process.stdin.close()
            process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.ended = self.ended or "the sandbox is closed"

    def _start(self) -> None:
        load = self._load
        told = {
            **asdict(self._limits),
            "module": None if load.module is None else str(load.module.resolve()),
            "names": list(load.names),
            "functions": {name: str(path.resolve()) for name, path in load.functions.items()},
            "profile": load.profile,
        }
        # Neither the user's packages (-s) nor the folder (-P), and nothing is written beside the
        # modules (-B). Not -I, which would drop the seed of the hashes: results that list a set are
        # the same in each run.
        command = [sys.executable, "-s", "-P", "-B", str(_WORKER), json.dumps(told)]
        basic = {
            "PYTHONHASHSEED": "0",
            "PATH": "/usr/bin:/bin",
            "HOME": self._folder,
            "TMPDIR": self._folder,
            "LANG": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env={**basic, **self._load.environment},
            start_new_session=True,
        )

    def _receive(self, seconds: float, what: str) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise self._gone(f"{what} took longer than {seconds:g} s")
                read = os.read(self._process.stdout.fileno(), _CHUNK)
                if not read:
                    raise self._gone(f"the worker ended during {what}{self._code()}")
                self._rest += read
                if len(self._rest) > self._limits.answer_bytes + _ROOM:
                    raise self._gone(f"{what} answered more than {self._limits.answer_bytes} bytes")
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError as problem:
            raise self._gone(f"{what} disturbed the pipe of the worker") from problem
        return dict(answer)

    def _gone(self, why: str) -> SandboxError:
        self.ended = why
        if self._process is not None:
            self._kill(self._process)
        return SandboxError(why)

    def _code(self) -> str:
        assert self._process is not None
        return f", with code {self._process.wait()}"

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            # The session holds what the worker may have started, too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _raised(answer: Mapping[str, Any]) -> Exception:
    name, message = str(answer["error"]), str(answer["message"])
    if name == "SystemExit":
        return ForeignError(f"the tool tried to end its process: {message}")
    for kind in answer["kinds"]:
        if kind in _RAISED:
            return _RAISED[kind](message if kind == name else f"{name}: {message}")
    return ForeignError(f"{name}: {message}")
