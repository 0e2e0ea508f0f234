"""Main findings, before all other chapters."""

from collections.abc import Iterator, Sequence

from asyncguard_benchmark.harness.ablation.findings import Effect, Findings, HarmVerdict, Study
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.report.blocks import Block, Chapter, Plot, Table, Text, axis_for
from asyncguard_benchmark.harness.report.chapters.comparison import MEANING, comparison, groups
from asyncguard_benchmark.harness.report.chapters.names import (
    VERDICTS,
    change,
    common,
    everything,
    namer,
    nothing,
)
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    share,
    signed_span,
    span,
)

SIMULATED = """\
Agents and tools are simulated, unless an agent's name is that of a model alone; one called persona:MODEL is \
simulated, too. A simulated agent is a program with a symbolic plan: which tool comes next, and where each value \
comes from, but no value of any result. It shows what a guard does to a known behaviour, not what a given model \
would score. Guesses are plausible, often values that stand in the messages for something else, and sometimes right. \
Tools act on states in memory; a delay is counted in messages of the agent, not in seconds. Real are the runtime, \
both front ends, every guard, and the verdicts: they execute all calls again and believe no saved response."""

ASKED = """\
The model was really asked. Tools act on states in memory, tasks were written for the benchmark, and a delay is \
counted in messages of the agent, not in seconds. The runtime, the guards and the verdicts are real: they execute all \
calls again and believe no saved response."""


def chapter(findings: Findings) -> Chapter:
    """Return the summary."""
    first, grouped = comparison(findings), groups(findings)
    blocks: list[Block] = [] if first is None else [Text(text=MEANING), first]
    blocks += [] if grouped is None else [grouped]
    blocks += [Text(text=sentence) for sentence in _sentences(findings)]
    if findings.studies:
        blocks.append(_table(findings.studies))
    text = (
        "Overall is the share of compositions of which every sub-task was solved: all calls, all results and the final "
        f"state. Intervals are 95 %, robust against compositions that share a sub-task. {_common(findings)}"
    )
    return Chapter(id="summary", title="In brief", text=text.strip(), blocks=blocks)


def _common(findings: Findings) -> str:
    return common(study.setup for study in findings.studies)


def _sentences(findings: Findings) -> Iterator[str]:
    effects = [
        effect for study in findings.studies if (effect := study.effect(ALL, NONE)) is not None
    ]
    if effects:
        better = sum(effect.difference.low > 0 for effect in effects)
        worse = sum(effect.difference.high < 0 for effect in effects)
        yield (
            f"All guards beside none, in {len(effects)} {_setups(len(effects))}: the interval of the difference lies "
            f"above zero in {better}, below zero in {worse}, and about zero in {len(effects) - better - worse}. "
            f"{_harm(effects)}"
        )
    yield from _largest(findings)
    shams = [
        study.sham.beside_features.difference
        for study in findings.studies
        if study.sham is not None
    ]
    if shams:
        strongest = max(shams, key=lambda each: abs(each.value))
        yield (
            "Rejections at random, as often and in the same words, change overall by at most "
            f"{difference(strongest)} points ({signed_span(strongest)}), beside the runtime's features without guards."
        )
    lost = [(study, arm) for study in findings.studies for arm in study.arms if not arm.valid]
    if lost:
        names = ", ".join(sorted({arm.arm for _, arm in lost}))
        yield f"Of {len(lost)} arms too many episodes were lost to errors; their figures count for nothing: {names}."


def _harm(effects: Sequence[Effect]) -> str:
    counts = {verdict: sum(effect.harm is verdict for effect in effects) for verdict in HarmVerdict}
    said = ", ".join(
        f"{VERDICTS[verdict]} in {number}" for verdict, number in counts.items() if number
    )
    return f"By the margin for harm all guards are {said}."


def _largest(findings: Findings) -> Iterator[str]:
    name = namer(study.setup for study in findings.studies)
    found = [
        (value.value.value, value.switch, study)
        for study in findings.studies
        if study.shapley is not None
        for value in study.shapley.values
    ]
    if not found:
        return
    _, switch, study = max(found, key=lambda each: each[0])
    value = next(
        each.value
        for each in (study.shapley.values if study.shapley else ())
        if each.switch == switch
    )
    yield (
        f"The largest share of a single guard is that of {switch}: {difference(value)} points ({signed_span(value)}) "
        f"for {name(study.setup)}."
    )


def _setups(number: int) -> str:
    return "setup" if number == 1 else "setups"


def _table(studies: Sequence[Study]) -> Table:
    name = namer(study.setup for study in studies)
    effects = [study.effect(ALL, NONE) for study in studies]
    marks = [change(effect.difference if effect else None) for effect in effects]
    lines = [
        _line(name(study.setup), study, effect)
        for study, effect in zip(studies, effects, strict=True)
    ]
    return Table(
        title="All guards beside none, by setup",
        heads=(
            "setup",
            "none",
            "95 %",
            "all",
            "95 %",
            "difference",
            "95 %",
            "harm",
            "rounds",
            "pairs",
        ),
        lines=lines,
        plot=Plot(axis=axis_for(marks), unit="points of overall, all minus none", marks=marks),
        note="none and all: overall in per cent. difference: in points. rounds: messages of the agent, all minus none.",
    )


def _line(name: str, study: Study, effect: Effect | None) -> tuple[str, ...]:
    bare, full = nothing(study), everything(study)
    return (
        name,
        share(bare),
        span(bare),
        share(full),
        span(full),
        difference(effect.difference if effect else None),
        signed_span(effect.difference if effect else None),
        VERDICTS[effect.harm] if effect else NO_DATA,
        difference(effect.rounds if effect else None),
        count(effect.pairs if effect else None),
    )
