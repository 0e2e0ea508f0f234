"""Costs of the guards, compared with their gains; and the method of measurement."""

from asyncguard_benchmark.harness.ablation.findings import ArmFigures, Findings, Interval, Study
from asyncguard_benchmark.harness.arms import ALL, NONE, ArmKind
from asyncguard_benchmark.harness.models.money import dollars
from asyncguard_benchmark.harness.report.blocks import Chapter, Plot, Table, axis_for
from asyncguard_benchmark.harness.report.chapters.names import change, in_order, namer
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    number,
    share,
    signed,
    signed_span,
    thousands,
)
from asyncguard_benchmark.harness.report.observations import Observations

_SHOWN = (ArmKind.REFERENCE, ArmKind.FAMILY)
_CHARACTERS_A_TOKEN = 4


def tokens_table(observed: Observations) -> Table | None:
    """Return tokens and dollars by condition; None where no model was asked."""
    if not observed.spent:
        return None
    name = namer(setup for setup, _ in observed.spent)
    return Table(
        title="Tokens and cost",
        heads=(
            "condition",
            "episodes",
            "input tokens",
            "output tokens",
            "tokens an episode",
            "US $",
        ),
        lines=[
            (
                f"{name(setup)}, {arm}",
                count(spent.episodes),
                count(spent.input_tokens),
                count(spent.output_tokens),
                count((spent.input_tokens + spent.output_tokens) / spent.episodes),
                NO_DATA if spent.dollars is None else dollars(spent.dollars),
            )
            for (setup, arm), spent in sorted(observed.spent.items())
        ],
        note="As the provider counts them, all messages of every round included.",
    )


def costs_chapter(findings: Findings) -> Chapter | None:
    """Return rounds, ticks and characters beside scores; None without studies."""
    if not findings.studies:
        return None
    name = namer(study.setup for study in findings.studies)
    lines = [
        _cost(name(study.setup), arm)
        for study in findings.studies
        for arm in in_order(study.arms)
        if arm.kind in _SHOWN
    ]
    costs = Table(
        title="Costs of none, all and families of guards",
        heads=(
            "setup and arm",
            "overall",
            "rounds",
            "ticks",
            "characters",
            "tokens, about",
            "premature",
        ),
        lines=lines,
        folded=len(lines) > 24,
        note="Means per episode. characters: all that the agent was sent and said, each message counted in every round "
        "that sends it again; four make about one token.",
    )
    text = (
        "A round is one message of the agent, which is one call of the model. A tick is a round or a wait of the "
        "runtime, which calls no model. A rejected call costs its round; a deferred one costs none."
    )
    return Chapter(id="costs", title="Costs", text=text, blocks=[*_changes(findings), costs])


def _cost(label: str, arm: ArmFigures) -> tuple[str, ...]:
    tokens = None if arm.characters is None else arm.characters / _CHARACTERS_A_TOKEN
    return (
        f"{label}: {arm.arm}",
        share(arm.overall),
        number(arm.rounds),
        number(arm.ticks),
        thousands(arm.characters),
        thousands(tokens),
        number(arm.premature_needed, 2),
    )


def _changes(findings: Findings) -> list[Table]:
    name = namer(study.setup for study in findings.studies)
    found = [
        (study, effect)
        for study in findings.studies
        if (effect := study.effect(ALL, NONE)) is not None
    ]
    if not found:
        return []
    # More rounds are a loss: the axis shows rounds saved, so that the colours say so.
    marks = [change(_saved(effect.rounds)) for _, effect in found]
    lines = [
        (
            name(study.setup),
            difference(effect.rounds),
            signed_span(effect.rounds),
            difference(effect.ticks),
            signed_span(effect.ticks),
            _relative(study),
        )
        for study, effect in found
    ]
    table = Table(
        title="All guards beside none",
        heads=("setup", "rounds", "95 %", "ticks", "95 %", "characters"),
        lines=lines,
        plot=Plot(axis=axis_for(marks), unit="rounds saved per episode", marks=marks),
        note="rounds and ticks: all minus none, per episode. characters: change in per cent.",
    )
    return [table]


def _saved(more: Interval | None) -> Interval | None:
    return None if more is None else Interval(value=-more.value, low=-more.high, high=-more.low)


def _relative(study: Study) -> str:
    bare, full = study.arm(NONE), study.arm(ALL)
    if bare is None or full is None or not bare.characters or full.characters is None:
        return signed(None)
    return f"{signed(100 * (full.characters / bare.characters - 1), 0)} %"


def method_chapter(findings: Findings) -> Chapter:
    """Return the chapter on the method of measurement."""
    settings = findings.settings
    lines = [
        ("asyncguard", settings.version),
        ("command", settings.command),
        ("suite", settings.suite),
        ("compositions", count(settings.compositions)),
        ("sub-tasks in them", count(settings.sub_tasks)),
        ("different sub-tasks", count(settings.sources)),
        ("seeds", ", ".join(map(str, settings.seeds))),
        ("digest of the data", settings.data),
        ("draws for max-t", count(settings.resamples)),
        ("margin for harm", f"{number(settings.margin)} points"),
        ("most errors of an arm", f"{number(100 * settings.most_errors)} %"),
    ]
    configs = Table(
        title="Guard configurations",
        heads=("arm", "digest"),
        lines=[(arm, digest) for arm, digest in settings.configs.items()],
        folded=True,
    )
    text = (
        "Every arm plays the same compositions with the same keyed draws, so effects are paired. Compositions that "
        "share a sub-task are not independent: standard errors count every such pair (dyadic-robust). McNemar's test "
        "takes compositions for independent and is to be read beside them. p, family is adjusted over all tests of one "
        "family by the distribution of their largest statistic (max-t)."
    )
    blocks = [
        Table(title="Settings", heads=("what", "value"), lines=lines),
        *([configs] if settings.configs else []),
    ]
    return Chapter(id="method", title="How it was measured", text=text, blocks=blocks)
