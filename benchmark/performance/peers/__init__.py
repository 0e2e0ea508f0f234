"""The runtimes that are compared, each in one file that imports its framework at the top.

They are loaded by name, so that a framework which is not installed costs its rows and not the run.
"""

import importlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chains import Chains, Work
from script import Script

Run = Callable[[], Awaitable[None]]
"""Drives a built agent from question to answer."""

Session = Callable[[Script, Path], AbstractAsyncContextManager[Run]]
"""Builds an agent around a script, keeping its store, if it has one, in the folder; closes it on exit."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One runtime in one configuration."""

    name: str
    """As printed in the table."""
    session: Session
    """Opens one run."""


class UnavailableError(Exception):
    """A runtime is not installed here; `pip install -e '.[performance]'` brings all of them."""


def load(source: str) -> Peer:
    """Load a peer by "module:variable", such as "langgraph_loop:LOOP".

    Raises:
        UnavailableError: its framework is not installed.
    """
    peer = _attribute(source)
    if not isinstance(peer, Peer):
        raise TypeError(f"{source} must be a Peer, not {peer!r}")
    return peer


def load_driver(source: str) -> Callable[[Chains], Work]:
    """Load a way of working on a workload by "module:function", such as "drivers:barrier".

    Raises:
        UnavailableError: its framework is not installed.
    """
    driver: Callable[[Chains], Work] = _attribute(source)
    return driver


def _attribute(source: str) -> Any:
    module, _, name = source.partition(":")
    try:
        return getattr(importlib.import_module(f"peers.{module}"), name)
    except ImportError as error:
        raise UnavailableError(f"{source}: {error}") from error
