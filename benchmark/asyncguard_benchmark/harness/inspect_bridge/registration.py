"""Names under which Inspect knows what we register."""

from collections.abc import Callable
from typing import TypeVar

from inspect_ai.util import registry_info

PACKAGE = "asyncguard_benchmark"
"""Stands before a slash in the names of tasks, solvers and scorers; the name of the entry point, too."""
_T = TypeVar("_T")


def registered(name: str, register: Callable[[str], Callable[[_T], _T]]) -> Callable[[_T], _T]:
    """Return a decorator that registers under ``asyncguard_benchmark/NAME``.

    Inspect puts the package first by itself where it is installed from a wheel. In an editable checkout it looks for a
    distribution of the package's name, which ours is not, and leaves it out: then the full name is registered, too.

    Args:
        name: Name without the package.
        register: Returns Inspect's decorator for a name.
    """

    def decorate(made: _T) -> _T:
        found = register(name)(made)
        if registry_info(found).name.startswith(f"{PACKAGE}/"):
            return found
        return register(f"{PACKAGE}/{name}")(made)

    return decorate
