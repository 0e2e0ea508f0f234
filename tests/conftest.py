"""Settings of all tests: no provider account is in reach, hypothesis repeats itself, files stay in memory."""

import asyncio
import gc
import os
import shutil
import signal
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any
from zlib import crc32

import hypothesis
import langsmith
import pytest

from asyncguard.testing import VirtualTimeLoop
from tests.support.examples import examples

# The fixtures `postgres_url` (a fresh database) and `postgres_server` (one that may be killed), for all tests.
pytest_plugins = ["tests.support.postgres"]

# Slow machines do not fail a test (no deadline); in CI hypothesis repeats its examples
# (derandomize).
_SETTINGS = hypothesis.settings(deadline=None, max_examples=examples(100))
hypothesis.settings.register_profile("local", _SETTINGS)
hypothesis.settings.register_profile("ci", _SETTINGS, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

# What a shell runs in the background ignores Ctrl-C, as do all processes that it starts; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# SQLite waits for the disk at every commit, which took a third of the tests' time. Tests kill processes
# and never the machine, so a file system in memory shows the same; it has to be a large one.
_MEMORY, _ENOUGH = Path("/dev/shm"), 4 * 2**30
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


# Each client of HTTP reads the certificates of all authorities for itself, 15 ms; those of tests talk to this machine.
ssl.create_default_context = lru_cache(ssl.create_default_context)  # type: ignore[assignment]


async def _in_order(
    to_thread: Callable[..., Awaitable[Any]],
    context: Context,
    function: Callable[..., Any],
    /,
    *args: Any,
    **options: Any,
) -> Any:
    """Run LangSmith's part of a call of `create_agent` at once where time is virtual.

    It would send that part to an OS thread, and of two calls in one message the one whose thread ends first would
    start first. Tests ask for their order; on real loops, as in subprocesses, nothing is changed.
    """
    if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
        return context.run(function, *args, **options)
    return await to_thread(context, function, *args, **options)


langsmith.set_runtime_overrides(aio_to_thread=_in_order)

_ACCOUNT_VARIABLES = ("API_KEY", "BASE_URL", "API_BASE", "ENDPOINT")
_PROVIDERS = ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "MISTRAL", "LANGSMITH", "LANGCHAIN")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark `full` tests as `slow`, too, as they take minutes, and most cases of the `sampled`; longest files first.

    A long one that begins last leaves the other cores idle.
    """
    for item in items:
        if item.get_closest_marker("full") is not None:
            item.add_marker(pytest.mark.slow)
    _mark_left_out(items)
    whole: defaultdict[str, float] = defaultdict(float)
    for item in items:
        whole[_scope(item.nodeid)] += _seconds(item)
    items.sort(key=lambda item: whole[_scope(item.nodeid)], reverse=True)


def _mark_left_out(items: list[pytest.Item]) -> None:
    """Mark all but each n-th case of a test as slow: n is that of its mark `sampled(n)`, or of its folder.

    With ``sampled(n, rest="full")`` they are marked as full.

    The order is that of a checksum: in the order of the parameters each n-th case may have one and the same value.
    """
    cases = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        share = _of_folder(item.nodeid) if mark is None else mark.args[0]
        share *= _THINNER if share > 1 else 1
        rest = "slow" if mark is None else mark.kwargs.get("rest", "slow")
        cases[item.nodeid.partition("[")[0], share, rest].append(item)
    for (_, share, rest), of_one in cases.items():
        for item in sorted(of_one, key=lambda each: crc32(each.nodeid.encode()))[
            ceil(len(of_one) / share) :
        ]:
            item.add_marker(rest)


_PLAYING = (
    *("adapters", "benchmark", "cli", "distributed", "fuzz", "graphs", "journal"),
    *("reliability", "runtime", "stored_state"),
)
"""Folders whose tests run agents, servers or processes: two thirds of the time of all cases."""


_THINNER = int(os.environ.get("ASYNCGUARD_THINNER", "1"))
"""Stages that try other versions run a case where others run as many: a version that breaks one breaks most."""


def _of_folder(nodeid: str) -> int:
    """Return the n of tests without a mark of their own."""
    return 4 if nodeid.split("/")[1] in _PLAYING else 1


def _seconds(item: pytest.Item) -> float:
    """Return the seconds that the test's mark states, else a fifth for a slow one."""
    marks = item.iter_markers("slow")
    return max((float(mark.kwargs.get("seconds", 0.2)) for mark in marks), default=0.0)


def _scope(nodeid: str) -> str:
    """Return what runs in one worker: a file, or a folder of files that share something."""
    file = nodeid.split("::")[0]
    return next((folder for folder in _SHARED if file.startswith(folder)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let files that share played episodes or processes run in one worker, which makes them once.

    Else `--dist loadfile` as it is; None leaves every other distribution to the plugin.
    """
    from xdist.scheduler import LoadFileScheduling

    class BySharedEpisodes(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return BySharedEpisodes(config, log) if config.getoption("dist") == "loadfile" else None


_SHARED = ("tests/graphs/", "tests/reference_scorer/", "tests/reliability/")
"""Folders whose files share what they played, a server or a lane of processes, which take 5 to 7 s to start."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector pass over what lasts to the end: libraries, test modules, items.

    Several million objects were looked through again by every full collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # the garbage of the collection, too: to look for it first took a second
        # As in workers of the benchmark: looking for garbage at every 700th object takes 4 % of the time.
        gc.set_threshold(10_000, 20, 50)
        gc.enable()


@pytest.fixture(autouse=True)
def _no_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without keys and addresses a test that means to stay on this machine cannot leave it; nor does it send traces."""
    for provider in _PROVIDERS:
        for variable in _ACCOUNT_VARIABLES:
            monkeypatch.delenv(f"{provider}_{variable}", raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.delenv("LANGCHAIN_TRACING_V2", raising=False)
