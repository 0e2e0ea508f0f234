"""Commands that other packages add by the entry point group ``asyncguard.commands``."""

from collections.abc import Callable, Sequence
from typing import Any

from asyncguard.errors import AsyncguardError

GROUP = "asyncguard.commands"
"""Entry point group; each entry is a callable that takes the arguments and returns an exit code."""


class PluginError(AsyncguardError):
    """A command that another package adds does not work; reinstall or remove that package."""


def installed_commands() -> dict[str, str]:
    """Return ``module:attribute`` of every added command, by name; import none of them."""
    return {name: found[0].value for name, found in sorted(_by_name().items())}


def load_command(name: str) -> Callable[[Sequence[str]], int] | None:
    """Return the added command of this name, or ``None``.

    Raises:
        PluginError: Two packages claim the name, or the command cannot be imported or is not
            callable.
    """
    found = _by_name().get(name, [])
    if not found:
        return None
    if len({point.value for point in found}) > 1:
        values = " and ".join(sorted({point.value for point in found}))
        raise PluginError(f"Two packages add the command {name!r} ({values}); remove one of them.")
    point = found[0]
    try:
        command = point.load()
    except Exception as error:  # importing foreign code may raise anything
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise PluginError(
            f"The command {name!r} ({point.value}) cannot be loaded ({what}); "
            "reinstall or remove its package."
        ) from error
    if not callable(command):
        raise PluginError(
            f"The command {name!r} ({point.value}) is not callable; "
            "reinstall or remove its package."
        )
    return command  # type: ignore[no-any-return]


def _by_name() -> dict[str, list[Any]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - costs a third of the start

    found: dict[str, list[Any]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found
