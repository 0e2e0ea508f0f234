"""Figures of a source that reading alone gives, under the names of `terms.RELEASES`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard_benchmark.suites.bfcl.projections import Cut, TaskKind, classes_of, cuts_of
from asyncguard_benchmark.suites.bfcl.reading import Source
from asyncguard_benchmark.suites.bfcl.terms import CLASSES, BfclCategory, short


def static_figures(source: Source) -> dict[str, Any]:
    """Return all figures that need no foreign code."""
    entries, package = source.entries, source.package
    # As the file cuts them: the figures that these are held against were counted so.
    turns = [turn for entry in entries for turn in entry.truth_turns]
    calls = [call for entry in entries for call in entry.calls]
    cuts = cuts_of(entries, TaskKind)
    by_kind = {kind: [cut for cut in cuts if cut.kind is kind] for kind in TaskKind}
    single = (*by_kind[TaskKind.ENTRY], *by_kind[TaskKind.PROJECTION])
    arguments = [(call, name, value) for call in calls for name, value in call.arguments.items()]
    documents, methods = source.documents, source.methods
    default = sum(
        _is_default(value, methods[call.class_name][call.tool].defaults.get(name, ...))
        for call, name, value in arguments
    )
    whole = sum(
        type(value) is int and name in documents[call.class_name][call.tool].floats
        for call, name, value in arguments
        if call.tool in documents[call.class_name]
    )
    return {
        "questions": package.digest(package.questions),
        "truths": package.digest(package.truths),
        "entries": len(entries),
        "turns": len(turns),
        "turns without a call": sum(not turn for turn in turns),
        "calls": len(calls),
        "one involved class": _counts(
            CLASSES[each.involved[0]].category for each in entries if len(each.involved) == 1
        ),
        "truth touches one class": _counts(
            CLASSES[each.touched[0]].category for each in entries if len(each.touched) == 1
        ),
        "single tasks": f"{len(by_kind[TaskKind.ENTRY])} + {len(by_kind[TaskKind.PROJECTION])} = {len(single)}",
        "single tasks, mean calls": _means(single),
        "projections of shared turns": sum(
            any(
                cut.class_name in own and len(own) > 1
                for own in map(classes_of, cut.entry.truth_turns)
            )
            for cut in by_kind[TaskKind.PROJECTION]
        ),
        "one-class turns with two calls or more": _counts(
            cut.category for cut in by_kind[TaskKind.TURN]
        ),
        "turns that mix classes": sum(len(classes_of(turn)) > 1 for turn in turns),
        "positional arguments": sum(call.positional for call in calls),
        "arguments equal to the default": f"{default} of {len(arguments)}",
        "whole numbers where the document says float": whole,
        "tools in documents": sum(map(len, documents.values())),
        "documents that differ from the code": sum(_differing(source).values()),
    }


def _is_default(value: Any, default: Any) -> bool:
    return bool(value == default) and isinstance(value, bool) == isinstance(default, bool)


def _differing(source: Source) -> Mapping[str, int]:
    """Return for each class the tools whose document and code have other names or arguments."""
    found = {}
    for name, documents in source.documents.items():
        methods = source.methods[name]
        unlike = [
            tool
            for tool in documents.keys() & methods.keys()
            if set(documents[tool].parameters["properties"]) != set(methods[tool].parameters)
        ]
        found[name] = len(unlike) + len(documents.keys() - methods.keys())
    return found


def _counts(categories: Iterable[BfclCategory]) -> str:
    counted = Counter(categories)
    parts = (f"{short(each)} {counted[each]}" for each in BfclCategory if counted[each])
    return f"{counted.total()} ({', '.join(parts)})"


def _means(cuts: Iterable[Cut]) -> str:
    lengths: dict[BfclCategory, list[int]] = {}
    for cut in cuts:
        lengths.setdefault(cut.category, []).append(len(cut.calls))
    return ", ".join(
        f"{short(each)} {len(lengths[each])} {sum(lengths[each]) / len(lengths[each]):.2f}"
        for each in BfclCategory
        if each in lengths
    )
