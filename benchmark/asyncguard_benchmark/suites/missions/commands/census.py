"""``bench missions list``: what the bundled suite holds, beside what is planned."""

from argparse import Namespace
from collections.abc import Iterator, Sequence

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.suites.missions.bundled.bundle import Bundle, Split, bundles
from asyncguard_benchmark.suites.missions.bundled.census import to_json


def execute(options: Namespace) -> int:
    """Run the command."""
    chosen = [each for each in bundles() if not options.held_out or each.split is Split.HELD_OUT]
    said = to_json(chosen)
    said["domains"] = [
        {"domain": each.domain, "split": each.split.value, "dialogues": len(each.dialogues)}
        for each in chosen
    ]
    if options.json:
        if options.dialogues:
            said["dialogues"] = [dict(zip(_HEADS, line, strict=True)) for line in _lines(chosen)]
        print_json(said)
        return 0
    out = console()
    counts, planned = said["counts"], said["planned"]
    out.print(
        table(
            ("domain", "split", "dialogues"),
            [(each["domain"], each["split"], str(each["dialogues"])) for each in said["domains"]],
        )
    )
    lines = [
        (name, str(counts[name]), str(planned.get(name, "")))
        for name in (*planned, *_others(counts, planned))
    ]
    out.print(table(("", "there", "planned for 256 dialogues"), lines))
    for name in ("missing_held_out", "missing_development"):
        missing = said[name]
        out.print(f"{name.replace('_', ' ')}: {len(missing)} patterns {' '.join(missing)}".rstrip())
    if options.dialogues:
        out.print(table(_HEADS, list(_lines(chosen))))
    return 0


_HEADS = ("dialogue", "pattern", "mission", "relation", "message")


def _lines(chosen: Sequence[Bundle]) -> Iterator[tuple[str, ...]]:
    for bundle in chosen:
        for dialogue in bundle.dialogues:
            for number, each in enumerate(dialogue.missions, 1):
                relation = "" if each.relation is None else each.relation.value
                yield dialogue.id, dialogue.pattern, str(number), relation, each.text


def _others(counts: dict[str, int], planned: dict[str, int]) -> list[str]:
    return sorted(counts.keys() - planned.keys())
