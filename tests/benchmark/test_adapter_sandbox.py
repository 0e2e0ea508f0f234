"""Foreign functions in a process of their own, careless and broken ones."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.harness.sandbox import (
    ForeignError,
    Load,
    Sandbox,
    SandboxError,
    SandboxLimits,
)

MODULE = """
import os, sys, socket, subprocess, tempfile, time, ctypes, threading
from pathlib import Path
print("loading " * 1000)
calls = 0

class OwnError(ConnectionResetError): pass
class Odd(BaseException): pass

def add(a, b=1):
    global calls
    calls += 1
    print("{}", flush=True); sys.stdout.write("x" * 100000); os.write(1, b"noise\\n"); sys.stderr.write("more")
    return {"sum": a + b, "calls": calls}

def fail(kind):
    raise {"own": OwnError("it was reset"), "key": KeyError("pack"), "odd": Odd("odd"), "unicode": None}[kind] or (
        UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"))

def leave(): sys.exit("enough")
def die(): os._exit(7)
def loop():
    while True: pass
def fill(): return len("x" * (2 << 30))
def big(): return "x" * 1_000_000
def strange(): return {1, 2}
def nan(): return float("nan")
def connect(): return socket.create_connection(("127.0.0.1", 9)).fileno()
def resolve(): return socket.getaddrinfo("localhost", 80)
def start(): return subprocess.run(["true"]).returncode
def shell(): return os.system("true")
def fork(): return os.fork()
def kill(): os.kill(os.getppid(), 15)
def native(): return ctypes.CDLL(None).getpid()
def read(path): return len(Path(path).read_text())
def write(path): return Path(path).write_text("x")
def disturb():
    for pipe in range(3, 12):
        try: os.write(pipe, b"noise\\n")
        except OSError: pass
def remove(path): os.remove(path)
def rename(path): os.rename("note", path)
def temporary():
    with tempfile.NamedTemporaryFile("w") as file, tempfile.TemporaryDirectory() as folder:
        Path(folder, "x").write_text("x")
        return [Path(file.name).exists(), len(os.listdir(folder))]
def listing(): return [sorted(os.environ), os.getcwd(), "asyncguard" in sys.modules]
def threaded():
    done = []
    thread = threading.Thread(target=lambda: done.append(1)); thread.start(); thread.join()
    return done
"""
NAMES = tuple(line.split("(")[0][4:] for line in MODULE.splitlines() if line.startswith("def "))
QUICK = SandboxLimits(seconds=5, memory_mb=256, cpu_seconds=20, answer_bytes=10_000)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module above as a file."""
    path = tmp_path_factory.mktemp("foreign") / "tools.py"
    path.write_text(MODULE)
    return path


@pytest.fixture(scope="module")
def shared(module: Path) -> Any:
    """A worker for all calls that it survives."""
    with Sandbox(
        Load(module=module, names=NAMES, environment={"USER_PROMPT": "hi"}), QUICK
    ) as sandbox:
        yield sandbox


def test_calls_answer_and_keep_the_state_of_the_module(shared: Sandbox) -> None:
    """Calls answer although the module prints, and share the module's state."""
    assert shared.call("add", {"a": 2}) == {"sum": 3, "calls": 1}
    assert shared.call("add", {"a": 2, "b": 5}) == {"sum": 7, "calls": 2}


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "message"),
    [
        ("fail", {"kind": "own"}, ConnectionResetError, "OwnError: it was reset"),
        ("fail", {"kind": "key"}, KeyError, "pack"),
        ("fail", {"kind": "unicode"}, ValueError, "UnicodeDecodeError: "),
        ("fail", {"kind": "odd"}, ForeignError, "Odd: odd"),
        ("leave", {}, ForeignError, "the tool tried to end its process: enough"),
        ("add", {"c": 1}, TypeError, "unexpected keyword argument 'c'"),
        ("fill", {}, MemoryError, ""),
        ("big", {}, ValueError, "the answer is over 10000 bytes"),
        ("strange", {}, TypeError, "the answer is no JSON"),
        ("nan", {}, TypeError, "the answer is no JSON"),
        ("connect", {}, PermissionError, "refused: socket."),
        ("resolve", {}, PermissionError, "refused: socket.getaddrinfo"),
        ("start", {}, PermissionError, "refused: subprocess.Popen"),
        ("shell", {}, PermissionError, "refused: os.system"),
        ("fork", {}, PermissionError, "refused: os.fork"),
        ("kill", {}, PermissionError, "refused: os.kill"),
        ("native", {}, PermissionError, "refused: ctypes.dlsym"),
        ("read", {"path": __file__}, PermissionError, "refused: reading"),
        ("read", {"path": "/etc/passwd"}, PermissionError, "refused: reading"),
        ("write", {"path": "../x"}, PermissionError, "refused: writing"),
        ("remove", {"path": __file__}, PermissionError, "refused: changing files"),
        ("rename", {"path": "/tmp/elsewhere"}, PermissionError, "refused: changing files"),
    ],
)
def test_what_goes_wrong_is_raised_and_the_worker_goes_on(
    shared: Sandbox, tool: str, arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    """An error is raised as the nearest built-in exception; the next call is answered."""
    with pytest.raises(kind) as raised:
        shared.call(tool, arguments)
    assert type(raised.value) is kind
    assert message in str(raised.value)
    assert shared.ended is None
    assert shared.call("add", {"a": 1})["sum"] == 2


def test_harmless_things_work(shared: Sandbox) -> None:
    """Threads, a file in the own folder; the environment is bare, and nothing of the benchmark is there."""
    assert shared.call("threaded", {}) == [1]
    assert shared.call("write", {"path": "note"}) == 1
    assert shared.call("read", {"path": "note"}) == 1
    assert shared.call("temporary", {}) == [True, 1]
    assert shared.call("rename", {"path": "note2"}) is None
    assert shared.call("remove", {"path": "note2"}) is None
    names, folder, ours = shared.call("listing", {})
    made = {"HOME", "LANG", "PATH", "PYTHONHASHSEED", "TMPDIR", "USER_PROMPT"}
    assert set(names) - {"LC_CTYPE"} == made
    assert "asyncguard-sandbox-" in folder
    assert ours is False


def test_a_call_that_takes_too_long_ends_the_worker(module: Path) -> None:
    """Further calls say why at once; the folder is gone afterwards."""
    with Sandbox(Load(module=module, names=NAMES), SandboxLimits(seconds=0.3)) as sandbox:
        folder = Path(sandbox.call("listing", {})[1])
        with pytest.raises(SandboxError, match=r"loop took longer than 0\.3 s"):
            sandbox.call("loop", {})
        with pytest.raises(SandboxError, match="loop took longer"):
            sandbox.call("add", {"a": 1})
        assert folder.exists()
    assert not folder.exists()
    with pytest.raises(SandboxError, match="loop took longer"):
        sandbox.call("add", {"a": 1})


def test_a_worker_that_ends_itself_is_told(module: Path) -> None:
    """The error holds the exit code of a worker that ended itself."""
    with (
        Sandbox(Load(module=module, names=NAMES), QUICK) as sandbox,
        pytest.raises(SandboxError, match="ended during die, with code 7"),
    ):
        sandbox.call("die", {})


def test_a_tool_that_writes_into_the_pipe_ends_its_worker(module: Path) -> None:
    """The output of a worker that wrote into the pipe is not used any more."""
    with (
        Sandbox(Load(module=module, names=NAMES), QUICK) as sandbox,
        pytest.raises(SandboxError, match="disturb disturbed the pipe"),
    ):
        sandbox.call("disturb", {})
    assert "disturbed" in str(sandbox.ended)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("x = 1", "no attribute 'find'"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_named(tmp_path: Path, text: str, expected: str) -> None:
    """The error is raised before any call, and no process is left."""
    path = tmp_path / "broken.py"
    path.write_text(text)
    sandbox = Sandbox(Load(module=path, names=["find"]), QUICK)
    with pytest.raises(SandboxError, match=rf"loading .*broken\.py failed with .*{expected}"):
        sandbox.__enter__()


def test_functions_of_several_files_are_called_by_keyword_and_by_position(tmp_path: Path) -> None:
    """Each file keeps its own state; one that cannot be loaded fails its own calls only; sets have one order."""
    files = {
        "one": "n = 0\ndef one(a, b):\n    global n; n += 1; return [a, b, n]",
        "two": "n = 10\ndef two(*, a): return a + n",
        "broken": "1 / 0\ndef broken(): pass",
        "order": "def order(): return str({'a', 'b', 'c', 'd', 'e'})",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    load = Load(functions={name: tmp_path / f"{name}.py" for name in files})
    with Sandbox(load, QUICK) as sandbox:
        assert sandbox.call("one", {"b": 2}, [1]) == [1, 2, 1]
        assert sandbox.call("one", {"b": 1, "a": 2}) == [2, 1, 2]
        assert sandbox.call("two", {"a": 1}) == 11
        with pytest.raises(ZeroDivisionError):
            sandbox.call("broken", {})
        with pytest.raises(TypeError, match="positional"):
            sandbox.call("two", {}, [1])
        first = sandbox.call("order", {})
    with Sandbox(load, QUICK) as sandbox:
        assert sandbox.call("order", {}) == first
    spaces = {f"{space}/one": tmp_path / "one.py" for space in "xy"}
    with Sandbox(Load(functions=spaces), QUICK) as sandbox:
        assert [sandbox.call(f"{space}/one", {}, [0, 0])[2] for space in "xxy"] == [1, 2, 1]


def test_limits_are_above_zero() -> None:
    """A limit of nothing would end every worker."""
    with pytest.raises(ValueError, match="memory_mb"):
        SandboxLimits(memory_mb=0)


ORPHAN = """
import sys, threading
from pathlib import Path
from asyncguard_benchmark.harness.sandbox import Load, Sandbox
with Sandbox(Load(module=Path(sys.argv[1]), names=["loop", "add"])) as sandbox:
    threading.Thread(target=sandbox.call, args=("loop", {}), daemon=True).start()
    print(sandbox._process.pid, sandbox._folder, flush=True)
    threading.Event().wait()
"""


def alive(process: int) -> bool:
    """Return True if a process is running."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_a_busy_worker_ends_with_the_process_that_started_it(module: Path) -> None:
    """Killed without a chance to say goodbye, in the middle of a call that never ends."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "benchmark")}
    command = [sys.executable, "-c", ORPHAN, str(module)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        process, folder = parent.stdout.readline().split()
        worker = int(process)
        assert alive(worker)
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(worker)
    assert not Path(folder).exists()
