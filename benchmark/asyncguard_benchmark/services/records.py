"""Records of a state: found by key or by value, and shown in part."""

from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State


def require(found: Any, problem: str) -> Any:
    """Return what was found.

    Raises:
        ToolFailure: it is None; `problem` says what is missing.
    """
    if found is None:
        raise ToolFailure(problem)
    return found


def entry(state: State, kind: str, key: str, what: str) -> Any:
    """Return one record of a kind.

    Raises:
        ToolFailure: there is none; `what` is the word for it.
    """
    return require(state[kind].get(key), f"There is no {what} {key!r}.")


def row_with(rows: Iterable[Mapping[str, Any]], **values: Any) -> Any:
    """Return the first row that has these values, or None."""
    return next((row for row in rows if values.items() <= row.items()), None)


def fields_of(record: Mapping[str, Any], names: str | Iterable[str]) -> dict[str, Any]:
    """Return the fields of a record that have these names; in a text, blanks stand between them."""
    wanted = names.split() if isinstance(names, str) else names
    return {name: record[name] for name in wanted}
