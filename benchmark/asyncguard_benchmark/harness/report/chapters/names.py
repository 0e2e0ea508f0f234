"""Names of setups and arms, alike in every chapter."""

from collections.abc import Callable, Iterable, Sequence

from asyncguard_benchmark.harness.ablation.findings import ArmFigures, HarmVerdict, Setup, Study
from asyncguard_benchmark.harness.arms import ALL, ARMS, NONE, ArmKind
from asyncguard_benchmark.harness.report.blocks import Mark, Tone
from asyncguard_benchmark.harness.statistics.estimates import Interval

_KINDS = (
    ArmKind.REFERENCE,
    ArmKind.FAMILY,
    ArmKind.LEAVE_ONE_OUT,
    ArmKind.ONE_IN,
    ArmKind.OPT_IN,
    ArmKind.OWN,
    ArmKind.SHAM,
    ArmKind.CONTROL,
    ArmKind.COALITION,
)
_KNOWN = {name: position for position, name in enumerate(dict.fromkeys((NONE, *ARMS)))}

VERDICTS = {
    HarmVerdict.HARMLESS: "harmless",
    HarmVerdict.HARMFUL: "HARMFUL",
    HarmVerdict.UNDECIDED: "undecided",
}


def namer(setups: Iterable[Setup]) -> Callable[[Setup], str]:
    """Name setups by agent, regime, and whatever else differs among them."""
    known = list(setups)
    players = {each.player for each in known}
    surfaces = {each.surface for each in known}
    declared = {each.declared for each in known}
    contracts = {each.contract for each in known}

    def name(setup: Setup) -> str:
        parts = [setup.agent, setup.regime]
        parts += [setup.player] if len(players) > 1 else []
        parts += [setup.surface] if len(surfaces) > 1 else []
        parts += [f"contract {setup.contract}"] if len(contracts) > 1 else []
        parts += ["undeclared tools"] if len(declared) > 1 and not setup.declared else []
        return " · ".join(parts)

    return name


def common(setups: Iterable[Setup]) -> str:
    """Return the part that all setups share, as a sentence; empty if there is none."""
    known = list(setups)
    if not known:
        return ""
    first = known[0]
    parts = []
    if all(each.player == first.player for each in known):
        parts.append(f"front end {first.player}")
    if all(each.surface == first.surface for each in known):
        parts.append(f"{first.surface} surface")
    if all(each.contract == first.contract for each in known):
        parts.append(f"contract {first.contract}")
    if all(each.declared == first.declared for each in known):
        parts.append(
            "tools declared to the guards" if first.declared else "tools not declared to the guards"
        )
    return f"Throughout: {', '.join(parts)}." if parts else ""


def in_order(arms: Sequence[ArmFigures]) -> list[ArmFigures]:
    """Return arms by kind, then in the order in which the library lists its switches."""
    return sorted(
        arms, key=lambda arm: (_KINDS.index(arm.kind), _KNOWN.get(arm.arm, len(_KNOWN)), arm.arm)
    )


def is_full(study: Study) -> bool:
    """Return True if single guards were switched in it, and not only none and all."""
    single = {ArmKind.LEAVE_ONE_OUT, ArmKind.ONE_IN}
    return study.shapley is not None or any(arm.kind in single for arm in study.arms)


def tone_of(arm: str) -> Tone:
    """Return the colour of an arm."""
    return Tone.BARE if arm == NONE else Tone.GUARDED


def dot(interval: Interval | None, tone: Tone) -> tuple[Mark, ...]:
    """Return a value with its interval."""
    return () if interval is None else (Mark(interval=interval, tone=tone),)


def bar(interval: Interval | None, tone: Tone) -> tuple[Mark, ...]:
    """Return a bar from zero, with its interval."""
    return () if interval is None else (Mark(interval=interval, tone=tone, start=0.0),)


def change(interval: Interval | None) -> tuple[Mark, ...]:
    """Return a bar from zero whose colour says whether it is certain, and to which side."""
    if interval is None:
        return ()
    tone = Tone.GAIN if interval.low > 0 else Tone.LOSS if interval.high < 0 else Tone.NEUTRAL
    return (Mark(interval=interval, tone=tone, start=0.0),)


def everything(study: Study) -> Interval | None:
    """Return overall with all guards."""
    arm = study.arm(ALL)
    return arm.overall if arm is not None else None


def nothing(study: Study) -> Interval | None:
    """Return overall without guards."""
    arm = study.arm(NONE)
    return arm.overall if arm is not None else None
