"""The tables of `bench results` that speak of arms: what guards change, by agent and delay."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.ablation.findings import ArmFigures, Effect, Findings, Study
from asyncguard_benchmark.harness.arms import ALL, CONTENT, FEATURES, NONE, TIMING
from asyncguard_benchmark.harness.report.result_cells import (
    USUAL,
    Line,
    Part,
    difference_of,
    name_of,
    number,
    span,
    value_of,
)

_ARMS = (NONE, FEATURES, CONTENT, TIMING, ALL)
_OTHER = "middleware"


def by_delay(studies: Sequence[Study]) -> Part:
    """Return the main table: overall by agent, delay and family of guards."""
    lines: list[Line] = []
    for study in studies:
        if len(study.arms) < 2:
            continue
        arms = [study.arm(name) for name in _ARMS]
        effect = study.effect(ALL, NONE)
        lines.append(
            (
                name_of(study.setup),
                study.setup.regime,
                *(_overall(arm) for arm in arms),
                difference_of(effect),
                "-" if effect is None else effect.harm.value,
                *(number(arm.rounds) if arm is not None else "-" for arm in (arms[0], arms[-1])),
                "-" if arms[0] is None else str(arms[0].episodes),
            )
        )
    text = (
        "`features` is the runtime without guards (ledger, waiting, task view, references); `timing` are the "
        "guards that ask what is known yet, `content` those that judge a call by itself. `harm` is judged at a "
        "margin of one point."
    )
    heads = (
        "agent",
        "delay",
        *_ARMS,
        "all - none",
        "harm",
        "rounds, none",
        "rounds, all",
        "episodes",
    )
    return "Guards by delay", text, heads, lines


def front_ends(found: Sequence[Findings]) -> Part:
    """Return the part that compares the adapters with the same agent."""
    lines: list[Line] = [
        (
            name_of(usual.setup),
            usual.setup.regime,
            *(difference_of(side.effect(ALL, NONE)) for side in (usual, other)),
            *(
                "-" if arm is None else number(arm.rounds)
                for arm in (usual.arm(ALL), other.arm(ALL))
            ),
            str(len(_both(usual, other))),
            ", ".join(_differing(usual, other)) or "none",
        )
        for _, usual, other in _pairs(found)
    ]
    heads = tuple(
        f"{what}, {player}" for what in ("all - none", "rounds, all") for player in (USUAL, _OTHER)
    )
    text = (
        "The same agents on the same compositions and draws behind `build_agent` (`graph`) and behind LangChain's "
        "`create_agent` with the middleware (`middleware`). The last column names the arms, of those played behind "
        "both, whose overall or mean rounds are not the same. The other tables speak of `graph`."
    )
    return (
        "Both front ends",
        text,
        ("agent", "delay", *heads, "arms", "arms that differ (graph / middleware)"),
        lines,
    )


def without_twins(found: Sequence[Findings]) -> list[Findings]:
    """Return the findings without those that `front_ends` has compared with the other adapter."""
    told = {(*_basis(each), other.setup) for each, _, other in _pairs(found)}
    return [
        replace(
            each,
            studies=tuple(
                study for study in each.studies if (*_basis(each), study.setup) not in told
            ),
            four_cells=tuple(
                cells for cells in each.four_cells if (*_basis(each), cells.setup) not in told
            ),
        )
        for each in found
    ]


def _pairs(found: Sequence[Findings]) -> Iterator[tuple[Findings, Study, Study]]:
    """Yield the studies that differ in the adapter only, and were made of the same compositions and seeds.

    Each comes with the findings that hold the one under the middleware.
    """
    usual = {(*_basis(each), study.setup): study for each in found for study in each.studies}
    for each in found:
        for study in each.studies:
            twin = usual.get((*_basis(each), replace(study.setup, player=USUAL)))
            if study.setup.player == _OTHER and twin is not None:
                yield each, twin, study


def _basis(found: Findings) -> tuple[str, tuple[int, ...], str]:
    """Return the same for findings of the same compositions; of parts of them only those of one ablation are."""
    said = found.settings
    return said.data, said.seeds, said.command if said.every > 1 else ""


def _both(usual: Study, other: Study) -> list[tuple[ArmFigures, ArmFigures]]:
    """Return the arms that were played in both studies."""
    arms = ((arm, other.arm(arm.arm)) for arm in usual.arms)
    return [(arm, twin) for arm, twin in arms if twin is not None]


def _differing(usual: Study, other: Study) -> Iterator[str]:
    for one, twin in _both(usual, other):
        if (one.overall, one.rounds) != (twin.overall, twin.rounds):
            rounds = " / ".join(number(arm.rounds) for arm in (one, twin))
            yield f"{one.arm} {_overall(one)} / {_overall(twin)} (rounds {rounds})"


def _overall(arm: ArmFigures | None) -> str:
    return "-" if arm is None or not arm.valid else value_of(arm.overall)


def shares(studies: Sequence[Study]) -> Part:
    """Return the part on Shapley shares."""
    lines: list[Line] = []
    for study in studies:
        if study.shapley is None:
            continue
        shared = ", ".join(
            f"{each.switch} {span(each.value, signed=True)}"
            for each in sorted(study.shapley.values, key=lambda share: -share.value.value)
            if abs(each.value.value) >= 0.05
        )
        gained = study.shapley.all - study.shapley.none
        told = f"{study.shapley.played:,} for {study.shapley.coalitions:,}"
        lines.append(
            (name_of(study.setup), study.setup.regime, f"{gained:+.1f}", shared or "none", told)
        )
    text = (
        "What all guards add to the features of the runtime, shared out over all orders in which they can be "
        "switched on. `runs` says how many were played to know all sets of guards."
    )
    return (
        "What each guard is worth (Shapley)",
        text,
        ("agent", "delay", "points", "shares", "runs"),
        lines,
    )


def left_out(studies: Sequence[Study]) -> Part:
    """Return the arms that lack one switch."""
    lines: list[Line] = [
        (
            name_of(study.setup),
            study.setup.regime,
            effect.arm,
            difference_of(effect),
            _adjusted(effect),
        )
        for study in studies
        for effect in study.effects
        if effect.against == ALL
        and effect.arm.startswith("without-")
        and abs(effect.difference.value) >= 0.05
    ]
    text = (
        "Arms that lack one switch, against all of them; those that change nothing are not listed."
    )
    return "One left out", text, ("agent", "delay", "arm", "difference", "p max-t"), lines


def _adjusted(effect: Effect) -> str:
    if effect.p_family is None:
        return "-"
    return "<0.001" if effect.p_family < 0.001 else f"{effect.p_family:.3f}"


def controls(studies: Sequence[Study]) -> Part:
    """Return shams and arms played again."""
    lines: list[Line] = []
    for study in studies:
        if study.sham is None:
            continue
        again = ", ".join(f"{each.arm} {span(each.difference, signed=True)}" for each in study.same)
        made = f"{study.sham.rejections_made} of {study.sham.rejections_wanted}"
        lines.append(
            (
                name_of(study.setup),
                study.setup.regime,
                made,
                difference_of(study.sham.effect),
                again or "-",
            )
        )
    text = (
        "The sham refuses random calls as often, and in the words, in which the guards refused. A/A is the same "
        "arm with another seed: what is not an effect."
    )
    return "Sham and A/A", text, ("agent", "delay", "refusals made", "sham - none", "A/A"), lines
