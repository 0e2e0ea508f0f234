"""Worth of each guard, one setup at a time."""

from collections.abc import Iterator, Sequence

from asyncguard_benchmark.harness.ablation.findings import (
    ArmFigures,
    Effect,
    Findings,
    Interval,
    Shapley,
    ShapleyValue,
    Study,
)
from asyncguard_benchmark.harness.arms import ALL, NONE, ArmKind
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    Mark,
    Panels,
    Plot,
    Table,
    Tone,
    axis_for,
)
from asyncguard_benchmark.harness.report.chapters.names import (
    VERDICTS,
    bar,
    change,
    in_order,
    is_full,
    namer,
    nothing,
    tone_of,
)
from asyncguard_benchmark.harness.report.chapters.overview import overview
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    number,
    p_value,
    share,
    signed,
    signed_span,
    span,
    thousands,
)


def chapter(findings: Findings) -> Chapter | None:
    """Return the chapter on each guard; None if no setup switched single guards."""
    studies = sorted(filter(is_full, findings.studies), key=lambda study: -_spread(study))
    if not studies:
        return None
    name = namer(study.setup for study in findings.studies)
    text = (
        "Four questions about the same guards. Waterfall and Shapley values share the whole effect out among them, "
        "averaged over all orders in which they could be switched on. One left out: what is lost without this guard "
        "alone. One in: what this guard does alone. Guards that cover for each other look small in both, and "
        "not in the shares. Setups are listed by the size of the whole effect."
    )
    choices = {name(study.setup): list(_panel(study)) for study in studies}
    found = overview(findings)
    blocks: list[Block] = [] if found is None or not found.lines else [found]
    blocks.append(Panels(name="setup", choices=choices))
    return Chapter(id="guards", title="Which guard does it", text=text, blocks=blocks)


def _spread(study: Study) -> float:
    effect = study.effect(ALL, NONE)
    return effect.difference.value if effect is not None else 0.0


def _panel(study: Study) -> Iterator[Block]:
    if study.shapley is not None:
        yield _waterfall(study.shapley, nothing(study))
        yield _shares(study.shapley)
    left_out = _changes(study, ArmKind.LEAVE_ONE_OUT, ALL)
    if left_out:
        yield _effects(
            "One left out", left_out, "points of overall, against all guards", harm=False
        )
    own = _changes(study, ArmKind.OWN, ALL)
    if own:
        yield _effects("Of your own", own, "points of overall, against all guards", harm=True)
    one_in = _changes(study, ArmKind.ONE_IN, NONE)
    if one_in:
        yield _effects("One in", one_in, "points of overall, against no guards", harm=True)
    yield _arms(study)


def _waterfall(shapley: Shapley, none: Interval | None) -> Table:
    """Return the steps from no guards to all; features of the runtime come first if they are on."""
    lines, marks, reached = _foot(shapley, none)
    for each in _descending(shapley):
        begin, reached = reached, reached + each.value.value
        moved = Interval(value=reached, low=begin + each.value.low, high=begin + each.value.high)
        marks.append((Mark(interval=moved, tone=_side(each.value.value), start=begin),))
        lines.append((f"+ {each.switch}", difference(each.value), number(reached)))
    marks.append(_reference(shapley.all, Tone.GUARDED))
    lines.append(("all", NO_DATA, number(shapley.all)))
    return Table(
        title="From none to all",
        heads=("step", "adds", "reaches"),
        lines=lines,
        plot=Plot(axis=PERCENT, unit="overall, %", marks=marks),
        strong=frozenset({0, len(lines) - 1}),
        note="Each step adds the guard's Shapley value, the largest first; the thin line is its 95 % interval. "
        "features: ledger, waiting and the view of tasks, which the guards rest on, without any guard.",
    )


def _foot(
    shapley: Shapley, none: Interval | None
) -> tuple[list[tuple[str, ...]], list[Sequence[Mark]], float]:
    if none is None or not any(shapley.base.values()):
        return (
            [("none", NO_DATA, number(shapley.none))],
            [_reference(shapley.none, Tone.BARE)],
            shapley.none,
        )
    moved = Interval(value=shapley.none, low=shapley.none, high=shapley.none)
    added = shapley.none - none.value
    return (
        [
            ("none", NO_DATA, number(none.value)),
            ("+ features", signed(added), number(shapley.none)),
        ],
        [
            _reference(none.value, Tone.BARE),
            (Mark(interval=moved, tone=_side(added), start=none.value),),
        ],
        shapley.none,
    )


def _side(points: float) -> Tone:
    return Tone.GAIN if points >= 0 else Tone.LOSS


def _reference(value: float, tone: Tone) -> tuple[Mark, ...]:
    return (Mark(interval=Interval(value=value, low=value, high=value), tone=tone, start=0.0),)


def _descending(shapley: Shapley) -> list[ShapleyValue]:
    return sorted(shapley.values, key=lambda each: -each.value.value)


def _shares(shapley: Shapley) -> Table:
    values = _descending(shapley)
    marks = [change(each.value) for each in values]
    on = ", ".join(name for name, state in shapley.base.items() if state)
    return Table(
        title="Shapley values",
        heads=("guard", "points", "95 %"),
        lines=[(each.switch, difference(each.value), signed_span(each.value)) for each in values],
        plot=Plot(axis=axis_for(marks), unit="points of overall", marks=marks),
        note=f"{count(shapley.played)} of {count(shapley.coalitions)} episodes had to be played to know all sets of "
        f"switches. On throughout, without a share: {on or 'nothing'}.",
    )


def _changes(study: Study, kind: ArmKind, against: str) -> list[Effect]:
    arms = [arm.arm for arm in in_order(study.arms) if arm.kind is kind]
    return [effect for arm in arms if (effect := study.effect(arm, against)) is not None]


def _effects(title: str, effects: Sequence[Effect], unit: str, *, harm: bool) -> Table:
    """One line for each effect; a loss against all guards says that a guard is needed, and not that it does harm."""
    marks = [change(effect.difference) for effect in effects]
    return Table(
        title=title,
        heads=(
            "arm",
            "points",
            "95 %",
            "gained",
            "lost",
            "p",
            "p, family",
            *(("harm",) if harm else ()),
        ),
        lines=[
            (*_effect(effect), *((VERDICTS[effect.harm],) if harm else ())) for effect in effects
        ],
        plot=Plot(axis=axis_for(marks), unit=unit, marks=marks),
        note="gained and lost: compositions whose verdict changes. p, family: adjusted for all tests of the table.",
    )


def _effect(effect: Effect) -> tuple[str, ...]:
    return (
        effect.arm,
        difference(effect.difference),
        signed_span(effect.difference),
        count(effect.mcnemar.gained),
        count(effect.mcnemar.lost),
        p_value(effect.p),
        p_value(effect.p_family),
    )


def _arms(study: Study) -> Table:
    arms = in_order(study.arms)
    marks = [bar(arm.overall, tone_of(arm.arm)) if arm.valid else () for arm in arms]
    return Table(
        title="All arms",
        heads=(
            "arm",
            "overall",
            "95 %",
            "sub-tasks",
            "rounds",
            "ticks",
            "characters",
            "premature",
            "interventions",
            "episodes",
            "inferred",
            "errors",
        ),
        lines=[_arm(arm) for arm in arms],
        plot=Plot(axis=PERCENT, unit="overall, %", marks=marks),
        folded=True,
        note="sub-tasks: solved, in per cent. characters: all that the agent was sent and said, per episode. "
        "premature: calls before a value that they needed was there, per episode. interventions: verdicts of guards "
        "other than to let pass, all episodes. inferred: episodes known without playing them. errors: of the "
        "infrastructure, excluded; an arm with too many is marked invalid and its figures count for nothing.",
    )


def _arm(arm: ArmFigures) -> tuple[str, ...]:
    return (
        arm.arm if arm.valid else f"{arm.arm} (invalid)",
        share(arm.overall),
        span(arm.overall),
        share(arm.accuracy),
        number(arm.rounds),
        number(arm.ticks),
        thousands(arm.characters),
        number(arm.premature_needed, 2),
        count(sum(arm.interventions.values())),
        count(arm.episodes),
        count(arm.inferred),
        count(arm.errors),
    )
