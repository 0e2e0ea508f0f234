"""Output of the commands that measure the guard ``provenance``."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.commands.output import console, harmless, print_json, table
from asyncguard_benchmark.harness.provenance import Judged, figures

_HEADS = ("values", "of", "refused", "share", "95 % from", "to")
_SHOWN = 10


def say_provenance(groups: Mapping[str, Sequence[Judged]], *, as_json: bool) -> None:
    """Print the figures of each group of judged values, and of all together if there are several.

    Args:
        groups: Name -> values.
        as_json: True to print JSON, which also lists the mistakes.
    """
    found = {name: figures(judged) for name, judged in groups.items()}
    if len(groups) > 1:
        found["all"] = figures([each for judged in groups.values() for each in judged])
    if as_json:
        print_json(found)
        return
    out = console()
    for name, said in found.items():
        lines = [
            _line("gold (false alarms)", said["false_alarms"]),
            *_parts(said["false_alarms"]["by_cause"]),
            _line("invented (recall)", said["recall"]),
            *_parts(said["recall"]["by_sort"]),
            _line("borrowed, which it cannot see", said["borrowed"]),
        ]
        out.print(table(_HEADS, lines, title=f"provenance: {name}"))
        for kind in ("alarms", "missed"):
            for each in said[kind][:_SHOWN]:
                told = f"{kind}: {each['call']} {each['tool']}{each['at']} = {each['value']!r:.60}"
                out.print(harmless(told), markup=False)


def _line(name: str, said: Mapping[str, Any]) -> tuple[str, ...]:
    if not said["values"]:
        return (name, "0", "0", "-", "-", "-")
    shares = (said["share"], *said["interval"])
    return (name, str(said["values"]), str(said["refused"]), *(f"{each:.1%}" for each in shares))


def _parts(by: Mapping[str, Mapping[str, int]]) -> list[tuple[str, ...]]:
    return [
        (f"  {key or 'unknown'}", str(each["values"]), str(each["refused"]), "", "", "")
        for key, each in by.items()
    ]
