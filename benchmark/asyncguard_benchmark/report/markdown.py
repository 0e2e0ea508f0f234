"""A report as Markdown."""

from collections.abc import Sequence

from asyncguard_benchmark.report.section import Section, is_figure


def markdown(title: str, sections: Sequence[Section], closing: str) -> str:
    """The whole report."""
    parts = [f"# {title}", *(_section(section) for section in sections), closing]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    parts = [f"## {section.title}", section.text, _table(section)]
    return "\n\n".join(part for part in parts if part)


def _table(section: Section) -> str:
    if not section.lines:
        return ""
    right = [all(is_figure(line[index]) for line in section.lines) for index in range(len(section.heads))]
    rule = ["---:" if each else "---" for each in right]
    return "\n".join(f"| {' | '.join(line)} |" for line in (section.heads, rule, *section.lines))
