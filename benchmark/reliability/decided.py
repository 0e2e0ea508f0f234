"""Rows of the resume policy that the kills have reached, and facts to which the adapters gave different fates."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from asyncguard.core import resume_policy
from reliability.cases import Build
from reliability.lane import Played


def disagreements(results: Iterable[Played]) -> list[str]:
    """Return the facts that had more than one fate."""
    fates: dict[str, set[str]] = defaultdict(set)
    for played in results:
        for facts, fate, _ in played.decided:
            fates[facts].add(fate)
    return [
        f"{facts}: {', '.join(sorted(found))}"
        for facts, found in sorted(fates.items())
        if len(found) > 1
    ]


def rows_reached(results: Iterable[Played]) -> list[tuple[str, str, int, int]]:
    """Return name and fate of each row of the table, and in how many cases each adapter reached it."""
    reached: Counter[tuple[str, str]] = Counter()
    for played in results:
        reached.update({(played.build, rule) for _, _, rule in played.decided})
    return [
        (
            rule.name,
            rule.fate.value,
            reached[Build.GRAPH.value, rule.name],
            reached[Build.MIDDLEWARE.value, rule.name],
        )
        for rule in resume_policy.RULES
    ]


def print_decisions(results: Sequence[Played], console: Console) -> None:
    """Print the rows that kills have reached, and how many they have not."""
    rows = rows_reached(results)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, justify in (
        ("row", "left"),
        ("fate", "left"),
        ("build_agent", "right"),
        ("create_agent", "right"),
    ):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type] # rich has no name for these
    for name, fate, graph, middleware in rows:
        if graph or middleware:
            table.add_row(name, fate, str(graph), str(middleware))
    console.print(table)
    left = sum(not (graph or middleware) for _, _, graph, middleware in rows)
    console.print(
        f"{len(rows) - left} of {len(rows)} rows of the table of fates were reached; cases in which they were."
    )
    for text in disagreements(results):
        console.print(f"[red]two fates[/red] {text}")


def as_markdown(results: Sequence[Played]) -> str:
    """Return all rows as a table in Markdown."""
    lines = ["| row | fate | `build_agent` | `create_agent` |", "|---|---|--:|--:|"]
    lines += [
        f"| {name} | {fate} | {graph} | {middleware} |"
        for name, fate, graph, middleware in rows_reached(results)
    ]
    return "\n".join(lines)
