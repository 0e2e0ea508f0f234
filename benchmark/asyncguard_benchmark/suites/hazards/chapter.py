"""Worth of recovery where tools drift, break and contradict each other."""

from collections.abc import Callable, Sequence

from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.faults import Hazard
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    HeatCell,
    HeatMap,
    Mark,
    Panels,
    Plot,
    Table,
    Tone,
)
from asyncguard_benchmark.harness.report.document import Document
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    number,
    p_value,
    share,
    signed_span,
    span,
)
from asyncguard_benchmark.suites.hazards.findings import (
    UNDIAGNOSED,
    ArmFigures,
    HazardFindings,
    HazardStudy,
)
from asyncguard_benchmark.suites.hazards.metrics import Endings, Facet
from asyncguard_benchmark.suites.hazards.split_blocks import budget_curve, grid_blocks

_TITLE = "What recovery is worth"
_SIMULATED = (
    "Agents are simulated unless a model is named; tools, faults and delays are deterministic, and every instance can "
    "be solved by a plan that was replayed."
)
_ONLY = "only-"


def hazard_document(found: HazardFindings, closing: str = "") -> Document:
    """Return a page of its own.

    Args:
        found: Findings of the suite.
        closing: Ends the page.
    """
    said = found.settings
    seeds = f"{len(said.seeds)} seeds" if len(said.seeds) > 1 else f"seed {said.seeds[0]}"
    return Document(
        title=_TITLE,
        subtitle=(
            f"{count(said.tasks)} tasks, {count(said.instances)} injected compositions, {seeds}; "
            f"asyncguard {said.version}"
        ),
        simulated=_SIMULATED,
        chapters=hazard_chapters(found),
        closing=closing,
    )


def hazard_chapters(found: HazardFindings) -> list[Chapter]:
    """Return success, what each action does, what it costs, and how faults were diagnosed."""
    made = [
        Chapter(
            id="hazards",
            title="Success where tools let agents down",
            text=(
                "Each bar is the share of injected tasks that ended with the right answer and exactly the intended "
                "effects. Arms differ in recovery alone: all guards are on in each but plain, which has no runtime."
            ),
            blocks=_panels(found, _success),
        ),
        Chapter(
            id="hazard-actions",
            title="Which recovery does it",
            text=(
                "Success by hazard with one recovery alone, with all but one, with none and with all. Verification "
                "alone has retries beside it, as an effect that its probe denies has to be made again."
            ),
            blocks=_panels(found, _actions),
        ),
        Chapter(
            id="hazard-grid",
            title="Where it is hard",
            text=(
                "Success by hazard and workflow, by severity of the fault (calls that are hit, or how far the answer "
                "is off), and, where both were played, with a hint beside without."
            ),
            blocks=_panels(found, grid_blocks),
        ),
        Chapter(
            id="hazard-costs",
            title="Calls spent",
            text=(
                "Mean calls that reached a tool, those of the runtime among them, and success where more calls than a "
                "budget count as failure. The arm scaling has no recovery and a second attempt, which is told how "
                "the first one went; its calls are those of both. Simulated agents learn nothing from what they are "
                "told of it or from a diagnosis in words, but for the competent one, which reads diagnoses: of them "
                "the arms scaling and hint-only say little, of models much."
            ),
            blocks=_panels(found, _costs),
        ),
        Chapter(
            id="hazard-diagnosis",
            title="Diagnosis",
            text=(
                "A fault counts as detected if the runtime diagnosed something of the tool that it struck, or of one "
                "that has this tool as a source. Faults are told apart by how they show themselves to an agent that "
                "takes every answer at its word. False alarms are diagnoses on clean runs, and on answers that vary "
                "within their declarations."
            ),
            blocks=_panels(found, _diagnosis),
        ),
    ]
    return [chapter for chapter in made if chapter.blocks]


def _panels(found: HazardFindings, blocks_of: Callable[[HazardStudy], list[Block]]) -> list[Block]:
    choices = {study.setup.label: blocks for study in found.studies if (blocks := blocks_of(study))}
    if len(choices) < 2:
        return [block for blocks in choices.values() for block in blocks]
    return [Panels(name="setup", choices=choices)]


def _tone(arm: str) -> Tone:
    if arm == ALL:
        return Tone.GUARDED
    return Tone.BARE if arm in (NONE, "plain") else Tone.NEUTRAL


def _success(study: HazardStudy) -> list[Block]:
    heads = (
        "arm",
        "success",
        "95 %",
        "clean",
        "kept",
        "silently wrong",
        "95 %",
        "honest failure",
        "to none",
        "95 %",
        "p",
    )
    whole = Table(
        title="All hazards",
        heads=heads,
        lines=[_arm_line(arm) for arm in study.arms],
        plot=Plot(
            axis=PERCENT,
            unit="per cent solved",
            marks=[
                [Mark(interval=arm.injected.success, tone=_tone(arm.arm), start=0)]
                for arm in study.arms
            ],
        ),
        strong=frozenset(n for n, arm in enumerate(study.arms) if arm.arm == ALL),
        note="kept: of the tasks that are solved clean, those that are solved injected.",
    )
    return [whole, *_by_hazard(study)]


def _arm_line(arm: ArmFigures) -> tuple[str, ...]:
    gain = arm.to_none
    return (
        arm.arm,
        share(arm.injected.success),
        span(arm.injected.success),
        NO_DATA if arm.clean is None else share(arm.clean.success),
        NO_DATA if arm.kept is None else share(arm.kept.kept),
        share(arm.silent),
        span(arm.silent),
        share(arm.injected.honest_failure),
        difference(None if gain is None else gain.points),
        signed_span(None if gain is None else gain.points),
        p_value(None if gain is None else gain.p),
    )


def _by_hazard(study: HazardStudy) -> list[Block]:
    """Return the comparison without and with recovery, hazard by hazard."""
    rows = [
        (hazard, arm, found)
        for hazard in Hazard
        for arm in (study.arm(NONE), study.arm(ALL))
        if arm is not None and (found := arm.facets[Facet.HAZARD].get(hazard.value)) is not None
    ]
    if not rows:
        return []
    lines = [(f"{hazard.value}, {arm.arm}", *_endings(found)) for hazard, arm, found in rows]
    marks = [[Mark(interval=found.success, tone=_tone(arm.arm), start=0)] for _, arm, found in rows]
    plot = Plot(axis=PERCENT, unit="per cent solved", marks=marks)
    heads = (
        "hazard and arm",
        "runs",
        "success",
        "95 %",
        "wrong answer",
        "wrong effects",
        "honest failure",
        "unfinished",
    )
    return [
        Table(title="By hazard, without and with recovery", heads=heads, lines=lines, plot=plot)
    ]


def _endings(found: Endings) -> tuple[str, ...]:
    return (
        count(found.count),
        share(found.success),
        span(found.success),
        share(found.wrong_answer),
        share(found.wrong_effects),
        share(found.honest_failure),
        share(found.unfinished),
    )


def _actions(study: HazardStudy) -> list[Block]:
    single = [arm for arm in study.arms if arm.arm.startswith(_ONLY)]
    if not single:
        return []
    order = {NONE: 0, ALL: 3}
    shown = sorted(
        study.arms, key=lambda arm: order.get(arm.arm, 1 if arm.arm.startswith(_ONLY) else 2)
    )
    values = [hazard.value for hazard in Hazard]
    rows = [
        (arm.arm, [_heat(arm.facets[Facet.HAZARD].get(value)) for value in values]) for arm in shown
    ]
    modes = sorted({mode for arm in study.arms for mode in arm.facets[Facet.MODE]})
    by_mode = [
        (mode, [_heat(arm.facets[Facet.MODE].get(mode)) for arm in shown if arm.arm in (NONE, ALL)])
        for mode in modes
    ]
    heads = [arm.arm for arm in shown if arm.arm in (NONE, ALL)]
    return [
        HeatMap(title="Success by hazard and arm", corner="arm", columns=values, rows=rows),
        HeatMap(title="Success by mode", corner="mode", columns=heads, rows=by_mode),
    ]


def _heat(found: Endings | None) -> HeatCell | None:
    return None if found is None else HeatCell(value=found.success.value, count=found.count)


def _costs(study: HazardStudy) -> list[Block]:
    heads = ("arm", "calls", "calls, clean", "messages", "ticks", "duplicated effects")
    lines = [
        (
            arm.arm,
            number(arm.injected.calls),
            number(None if arm.clean is None else arm.clean.calls),
            number(arm.injected.rounds),
            number(arm.injected.ticks),
            count(arm.injected.duplicated),
        )
        for arm in study.arms
    ]
    return [Table(title="What runs cost", heads=heads, lines=lines), budget_curve(study)]


def _diagnosis(study: HazardStudy) -> list[Block]:
    arm = study.arm(ALL)
    if arm is None or not any(each.detected for each in arm.detections):
        return []
    detected = Table(
        title="Detected, by how a fault shows itself",
        heads=("shows itself by", "struck", "detected", "share", "95 %"),
        lines=[
            (
                each.sign.value,
                count(each.struck),
                count(each.detected),
                share(each.share),
                span(each.share),
            )
            for each in arm.detections
        ],
        plot=Plot(
            axis=PERCENT,
            unit="per cent detected",
            marks=[
                [Mark(interval=each.share, tone=Tone.GUARDED, start=0)] for each in arm.detections
            ],
        ),
    )
    columns = [*(hazard.value for hazard in Hazard), UNDIAGNOSED]
    rows = [
        (hazard.value, _confused([found.get(column, 0) for column in columns]))
        for hazard, found in arm.confusion.items()
    ]
    confusion = HeatMap(
        title="Injected hazard, by what was diagnosed of it",
        corner="injected",
        columns=columns,
        rows=rows,
        note="In per cent of the runs in which a fault of the hazard struck.",
    )
    return [detected, *_alarms(arm), confusion]


def _confused(counts: Sequence[int]) -> list[HeatCell]:
    total = sum(counts)
    return [HeatCell(value=100 * each / total, count=total) for each in counts]


def _alarms(arm: ArmFigures) -> list[Block]:
    found = [
        (what, each)
        for what, each in (("clean", arm.false_alarms), ("benign variation", arm.benign))
        if each
    ]
    if not found:
        return []
    lines = [
        (
            what,
            count(each.runs),
            count(each.alarmed),
            share(each.share),
            span(each.share),
            count(each.alarms),
            count(each.calls),
        )
        for what, each in found
    ]
    return [
        Table(
            title="False alarms",
            heads=("runs", "of", "alarmed", "share", "95 %", "diagnoses", "calls"),
            lines=lines,
        )
    ]
