"""Names of tools that are made by one function."""

from collections.abc import Callable
from typing import Any


def named(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    """Give a function the name and the description by which a model knows it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function
