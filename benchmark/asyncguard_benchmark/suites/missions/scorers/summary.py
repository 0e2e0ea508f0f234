"""Everything that is said of a file of judged missions, as JSON values."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from asyncguard_benchmark.suites.missions.scorers import metrics
from asyncguard_benchmark.suites.missions.scorers.metrics import Figure, Scorer
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict
from asyncguard_benchmark.suites.missions.terms import Letter

GROUPS: dict[str, Callable[[Verdict], Any]] = {
    "letter": lambda each: each.entry.letter,
    "position": lambda each: each.entry.position,
    "relation": lambda each: each.entry.relation,
    "subtype": lambda each: each.entry.graph.subtype,
    "ptf": lambda each: each.entry.switches if each.entry.position > 1 else None,
    "pattern": lambda each: each.entry.pattern,
}
"""Properties of missions by which SR is told; `pattern` is the route matrix."""


def summary(
    verdicts: Sequence[Verdict], scorers: Sequence[Scorer] = tuple(Scorer)
) -> dict[str, Any]:
    """Return every figure of judged missions."""
    return {
        "missions": len(verdicts),
        "scorers": {scorer.value: _by_scorer(verdicts, scorer) for scorer in scorers},
        "AP": {name: each.to_json() for name, each in metrics.progress(verdicts).items()},
        "output_length": _table(metrics.output_length(verdicts)),
        "clarification": _table(metrics.clarification(verdicts)),
        "unscored": [
            {"dialogue": each.entry.key.dialogue, "mission": each.entry.key.mission, "why": text}
            for each in verdicts
            for text in each.unscored
        ],
    }


def _by_scorer(verdicts: Sequence[Verdict], scorer: Scorer) -> dict[str, Any]:
    multi = [each for each in verdicts if each.entry.letter is Letter.MULTI]
    found: dict[str, Any] = {
        "SR": metrics.success(verdicts, scorer).to_json(),
        "by": {
            name: _table(metrics.success_by(verdicts, scorer, group))
            for name, group in GROUPS.items()
        },
        "by_prompt_messages": _table(metrics.by_length(verdicts, scorer)),
        "C1": {
            "SR": metrics.success(multi, scorer).to_json(),
            "subtype": _table(metrics.success_by(multi, scorer, GROUPS["subtype"])),
            "OP": metrics.optimality(multi, scorer).to_json(),
            "AP": {name: each.to_json() for name, each in metrics.progress(multi).items()},
        },
        "later_missions": metrics.success(
            [each for each in verdicts if each.entry.position > 1], scorer
        ).to_json(),
        "OP": metrics.optimality(verdicts, scorer).to_json(),
        "parallel_efficiency": metrics.parallel_efficiency(verdicts, scorer).to_json(),
        "layer_variance": {
            str(length): metrics.layer_variance(verdicts, scorer, length) for length in (1, 2, 3)
        },
        "errors": metrics.errors(verdicts, scorer),
    }
    if scorer is Scorer.COMPAT:
        found["names"] = metrics.share(
            (each, each.compat.names) for each in verdicts if each.compat is not None
        ).to_json()
        found["raised_in_arguments"] = sum(
            each.compat is not None and each.compat.raised for each in verdicts
        )
    else:
        found["names"] = metrics.share(
            (each, each.strict.names.complete) for each in verdicts if each.strict is not None
        ).to_json()
        found["all_errors"] = dict(
            Counter(
                label
                for each in verdicts
                if each.strict is not None and each.strict.divergence is not None
                for label in each.strict.divergence.labels
            ).most_common()
        )
    return found


def _table(figures: dict[Any, Figure]) -> dict[str, Any]:
    return {
        "".join(key) if isinstance(key, tuple) else str(key): each.to_json()
        for key, each in figures.items()
    }


def relabelled(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return missions whose stored label of phase one is not what the published rule says of their steps."""
    return [
        each
        for each in verdicts
        if each.compat is not None
        and each.entry.stored_label is not None
        and each.entry.stored_label is not each.compat.names
    ]
