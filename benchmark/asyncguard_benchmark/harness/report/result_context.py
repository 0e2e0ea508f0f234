"""The tables of `bench results` beside those of arms: four cells, detectors, wild split, personas."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.ablation.findings import (
    Detection,
    EnsembleEffect,
    Findings,
    Truth,
)
from asyncguard_benchmark.harness.arms import ALL, NONE, SHAM, TIMING
from asyncguard_benchmark.harness.report.result_cells import Line, Part, name_of, span, value_of


def four_cells(found: Sequence[Findings]) -> Part:
    """Return the part with four cells: guarded and unguarded, without and with delay."""
    lines: list[Line] = [
        (
            name_of(cell.setup),
            *(
                value_of(each)
                for each in (
                    cell.unguarded_sync,
                    cell.guarded_sync,
                    cell.unguarded_delayed,
                    cell.timing_delayed,
                )
            ),
            value_of(cell.guarded_delayed),
            span(cell.gap, signed=True),
            span(cell.closed_by_timing),
            span(cell.interaction, signed=True),
        )
        for each in found
        for cell in each.four_cells
    ]
    text = (
        "The gap is what delay costs without guards; `closed` is the part of it that timing guards close, in per cent "
        "with Fieller's interval, a dash where there is no gap to speak of; interaction is (guarded - unguarded) "
        "delayed minus sync."
    )
    heads = (
        "agent",
        "sync, none",
        "sync, all",
        "fixed1, none",
        "fixed1, timing",
        "fixed1, all",
        "gap",
        "closed",
        "interaction",
    )
    return "Four cells", text, heads, lines


def detectors(found: Sequence[Findings]) -> Part:
    """Return precision and recall in shadow mode."""
    lines: list[Line] = [
        (
            name_of(shadow.setup),
            guard.guard,
            str(guard.rejections),
            str(guard.deferrals),
            *(text for truth in Truth for text in _detection(guard.detections, truth)),
        )
        for each in found
        for shadow in each.shadow
        for guard in shadow.guards
        if guard.objections
    ]
    heads = (
        "agent",
        "guard",
        "rejects",
        "defers",
        *(f"{truth.value}: {what}" for truth in Truth for what in _WHAT),
    )
    text = (
        "Guards judge the calls of unguarded runs and nothing comes of it. Precision and recall in per cent, of "
        "calls that are none of the gold calls left (wrong), after which nobody can solve the sub-task "
        "(irrecoverable), or without which the same agent solves more (harmful). Deferrals are objections here, "
        "though they say only that a call comes early."
    )
    return "Guards as detectors", text, heads, lines


_WHAT = ("precision", "recall")


def _detection(detections: Iterable[Detection], truth: Truth) -> Iterator[str]:
    for each in detections:
        if each.truth is truth:
            yield from (
                "-" if share is None else f"{share.value:.0f}"
                for share in (each.precision, each.recall)
            )


def wild_split(found: Sequence[Findings]) -> Part:
    """Return the part on guards' objections in tasks with derived values."""
    lines: list[Line] = [
        (
            guard.guard,
            str(wild.calls),
            str(guard.rejections),
            str(guard.deferrals),
            str(guard.nudges),
            f"{guard.rate.value:.2f} ({guard.rate.low:.2f} to {guard.rate.high:.2f})",
            span(wild.difference, signed=True),
        )
        for each in found
        for wild in each.wild
        for guard in wild.guards
    ]
    heads = (
        "guard",
        "calls",
        "rejects",
        "defers",
        "nudges",
        "rejects per 100 calls",
        "overall, all - none",
    )
    text = (
        "The oracle on tasks with computed, normalised or customary values: "
        "whatever a guard does there is its error."
    )
    return "Wild split", text, heads, lines


def ensembles(found: Sequence[Findings]) -> Part:
    """Return effects on personas, as ranges."""
    shown = ((ALL, SHAM), (ALL, NONE), (TIMING, NONE))
    whole = [effect for each in found for effect in each.ensembles]
    effects = [effect for effect in whole if (effect.arm, effect.against) in shown]
    kinds = [
        (regime, *pair)
        for regime in dict.fromkeys(each.setup.regime for each in effects)
        for pair in shown
    ]
    lines: list[Line] = []
    for kind in kinds:
        fitting = [each for each in effects if (each.setup.regime, each.arm, each.against) == kind]
        if len(fitting) > 1:
            lines.append(_every_model(fitting))
    lines += [
        (
            name_of(each.setup),
            *_effect_of(each),
            f"{each.median:+.1f}",
            str(each.members),
            str(each.harmful),
        )
        for each in effects
    ]
    heads = ("persona", "delay", "effect", "range", "median", "members", "of them harmed")
    text = (
        "A published row is met by many sets of rates, so an effect on a persona is a range over members of its "
        "ensemble, and the range over few members is too narrow. No single number for a model is known. What stands "
        "beside `sync` is extrapolation for all models but three. Refusals are heeded always here; see below."
    )
    return "Personas", text, heads, lines


def _effect_of(effect: EnsembleEffect) -> Line:
    named = f"{effect.arm} - {effect.against}"
    return effect.setup.regime, named, f"{effect.low:+.1f} to {effect.high:+.1f}"


def _every_model(effects: Sequence[EnsembleEffect]) -> Line:
    """Return the range over all members of all ensembles; a median of medians would be none of them."""
    whole = replace(
        effects[0], low=min(each.low for each in effects), high=max(each.high for each in effects)
    )
    members, harmed = (
        sum(counts) for counts in zip(*((e.members, e.harmful) for e in effects), strict=True)
    )
    return f"all {len(effects)} models", *_effect_of(whole), "-", str(members), str(harmed)


def compliance(found: Sequence[Findings]) -> Part:
    """Return effects by the share of refusals heeded."""
    sweeps = [sweep for each in found for sweep in each.compliance]
    lines: list[Line] = [
        (name_of(sweep.setup), *(span(point.difference, signed=True) for point in sweep.points))
        for sweep in sweeps
    ]
    if len(sweeps) > 1:
        columns = zip(
            *([point.difference.value for point in sweep.points] for sweep in sweeps), strict=True
        )
        ranges = (f"{min(values):+.1f} to {max(values):+.1f}" for values in columns)
        lines.insert(0, (f"all {len(sweeps)} personas", *ranges))
    rates = sweeps[0].points if sweeps else ()
    heads = ("persona", *(f"{point.compliance:g}" for point in rates))
    text = (
        "all - none, by the share of refusals that the agent heeds. Nothing published tells that share. A persona "
        "corrects a call after an error of the tool that it has noticed, whatever the share; where it ignores refusals "
        "it is worse off for being refused what the tool would have refused, too."
    )
    return "Compliance", text, heads, lines
