"""The table of fields as Markdown, for docs/events.md."""

from collections.abc import Iterable

from asyncguard.observability.fields.field import Field
from asyncguard.observability.fields.table import CALL, ENVELOPE, FIELDS, TASK


def describe_fields() -> str:
    """The table as Markdown: first what is common, then one table per kind."""
    parts = [_markdown("Every event", ENVELOPE), _markdown("Every event about one call", CALL)]
    shared = {id(field) for field in (*ENVELOPE, *CALL)}
    for kind, listed in FIELDS.items():
        own = [
            field
            for field in listed
            if id(field) not in shared or (field is TASK and CALL[0] not in listed)
        ]
        parts.append(_markdown(f"`{kind}`", own))
    return "\n".join(parts)


def _markdown(title: str, listed: Iterable[Field]) -> str:
    rows = [f"| `{field.name}` | {field.unit.value} | {field.meaning} |" for field in listed]
    if not rows:
        return f"### {title}\n\nNothing more.\n"
    return "\n".join(
        [f"### {title}", "", "| field | unit | meaning |", "| --- | --- | --- |", *rows, ""]
    )
