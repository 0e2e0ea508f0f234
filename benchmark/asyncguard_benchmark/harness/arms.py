"""The arms of an experiment: which guards are on, and what else of the runtime is switched.

Guards fall into two families. *Timing* guards ask what is known yet, and have nothing to say in serial work: grounding,
premature, dependency and conflict judge a call by the calls that are open, duplicate by one that is the same and open,
completion does not let a run end on results that are outstanding. They come with ledger and waiting, on which they
rest. *Content* guards judge a call by itself: arguments, clarification, scope, capacity, trust. The *features* of the
runtime (ledger, waiting, task view, references) change what an agent is told and when, without judging anything.
Two switches are off by default: provenance, which judges content, and memory, a view for the model. Each has the arms
``with-`` it beside everything else and ``only-`` it, and is in no family and in no other arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from asyncguard.config import (
    FEATURE_NAMES,
    GUARD_NAMES,
    OPT_IN_NAMES,
    RECOVERY_NAMES,
    GuardConfig,
    Siblings,
)
from asyncguard_benchmark.errors import UnknownNameError

ALL = "all"
NONE = "none"
FEATURES = "features"
TIMING = "timing"
CONTENT = "content"
SHAM = "sham"
SHADOW = "shadow"
DROPPED = "dropped"
SIBLINGS = "siblings-"
"""Begins the names of the arms with all guards and another `Siblings` rule than the default."""

SWITCHES: tuple[str, ...] = (*GUARD_NAMES, *FEATURE_NAMES)
"""Every guard and feature that is on by default; what is done about faults of tools is switched by `RECOVERY_ARMS`."""
ALL_SWITCHES: tuple[str, ...] = (*SWITCHES, *OPT_IN_NAMES)
"""The same with those that are off by default, which no experiment plays unless it names their arms."""
WITH = "with-"
"""Begins the names of the arms with everything that is on by default and one switch that is not."""
TIMING_GUARDS = ("grounding", "premature", "dependency", "conflict", "duplicate", "completion")
CONTENT_GUARDS = tuple(name for name in GUARD_NAMES if name not in TIMING_GUARDS)


class ArmKind(StrEnum):
    """Purpose of an arm."""

    REFERENCE = "reference"
    """No guards, or all."""
    FAMILY = "family"
    """The guards of one family, or the features without guards."""
    LEAVE_ONE_OUT = "leave_one_out"
    ONE_IN = "one_in"
    SHAM = "sham"
    """Random rejections at the frequency of the arm with all guards."""
    CONTROL = "control"
    """The same guards again with another seed (A/A), with another rule for calls of one message, or not heeded."""
    COALITION = "coalition"
    """Exactly the switches that its name lists."""
    OPT_IN = "opt_in"
    """All guards and one switch that is off by default."""
    OWN = "own"
    """Another arm, and guards of the user's own beside it."""
    RECOVERY = "recovery"
    """All guards and features, and some of what is done about faults of tools."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Settings of one arm."""

    kind: ArmKind
    config: GuardConfig = field(default_factory=GuardConfig)
    wording: bool = True
    """True if the agent is told why a call was refused, False if it is told only that it was."""
    sham: bool = False
    """True if calls are refused at random, as often and in the words of the same episode with all
    guards."""
    drops: int | None = None
    """The one call that is refused whatever it is, by its number from 0: a run is compared with it."""
    rules: tuple[str, ...] = ()
    """Guards of the user's own, each a `GuardRule` by its place ``package.module:RULE``; they are imported only to
    be played, so that reading results runs no code that they name."""
    again: bool = False
    """True if a run that ended without an answer is followed by another, which is told how the
    first one went."""

    @property
    def is_plain(self) -> bool:
        """True if the arm is determined by its switches alone."""
        special = self.sham or self.config.shadow or self.drops is not None or self.rules
        return self.wording and not special and self.config.siblings is GuardConfig().siblings

    @property
    def switched_on(self) -> frozenset[str]:
        """The guards and features that are on."""
        return frozenset(name for name in ALL_SWITCHES if getattr(self.config, name))

    def to_json(self) -> dict[str, Any]:
        """Return everything that the arm says, as plain JSON."""
        told = {
            **self.config.to_json(),
            "wording": self.wording,
            "sham": self.sham,
            "drops": self.drops,
        }
        # Said only where it is so: the digests of all other arms are those of files that know of neither.
        rules = {"rules": list(self.rules)} if self.rules else {}
        return {**told, **rules, **({"again": True} if self.again else {})}


def _exactly(*names: str) -> GuardConfig:
    return GuardConfig.none().with_switches(dict.fromkeys(names, True))


def _arms() -> dict[str, Arm]:
    everything = GuardConfig()
    left_out = {f"without-{name}": everything.with_switches({name: False}) for name in SWITCHES}
    # A guard on its own has the switches that it needs beside it: pending calls are read from the
    # ledger, and a call that is held back needs waiting.
    alone = {f"only-{name}": _exactly("ledger", "waiting", name) for name in ALL_SWITCHES}
    added = {f"{WITH}{name}": everything.with_switches({name: True}) for name in OPT_IN_NAMES}
    families = {
        TIMING: _exactly("ledger", "waiting", *TIMING_GUARDS),
        CONTENT: _exactly(*CONTENT_GUARDS),
        FEATURES: _exactly(*FEATURE_NAMES),
    }
    return {
        ALL: Arm(kind=ArmKind.REFERENCE),
        NONE: Arm(kind=ArmKind.REFERENCE, config=GuardConfig.none()),
        **{name: Arm(kind=ArmKind.FAMILY, config=config) for name, config in families.items()},
        **{
            name: Arm(kind=ArmKind.LEAVE_ONE_OUT, config=config)
            for name, config in left_out.items()
        },
        "without-wording": Arm(kind=ArmKind.LEAVE_ONE_OUT, wording=False),
        **{name: Arm(kind=ArmKind.ONE_IN, config=config) for name, config in alone.items()},
        **{name: Arm(kind=ArmKind.OPT_IN, config=config) for name, config in added.items()},
        SHAM: Arm(kind=ArmKind.SHAM, config=families[FEATURES], sham=True),
        # Only the ledger beside the guards: the agent is to see what it sees without any.
        SHADOW: Arm(kind=ArmKind.CONTROL, config=_shadow()),
        **{
            f"{SIBLINGS}{rule}": Arm(
                kind=ArmKind.CONTROL, config=replace(everything, siblings=rule)
            )
            for rule in Siblings
            if rule is not everything.siblings
        },
    }


def _shadow() -> GuardConfig:
    return GuardConfig.none(shadow=True).with_switches(
        dict.fromkeys((*GUARD_NAMES, "ledger"), True)
    )


ARMS: Mapping[str, Arm] = _arms()
"""The arms that have names of their own."""

FAMILIES: tuple[str, ...] = (TIMING, CONTENT, FEATURES)
LEAVE_ONE_OUT: tuple[str, ...] = (*(f"without-{name}" for name in SWITCHES), "without-wording")
ONE_IN: tuple[str, ...] = tuple(f"only-{name}" for name in GUARD_NAMES)

RECOVER = "recover-"
"""Begins the name of every arm that differs from the others of its kind in recovery alone."""
HINT_ONLY = "hint-only"
SCALING = "scaling"
_RESTS_ON: Mapping[str, tuple[str, ...]] = {"verify": ("retry",)}
"""An action -> what has to be on for it to come to anything: an effect that its probe denies is made again."""


def _recovery_arms() -> dict[str, Arm]:
    def arm(*names: str, again: bool = False) -> Arm:
        switches = {name: name in names for name in RECOVERY_NAMES}
        return Arm(kind=ArmKind.RECOVERY, config=GuardConfig().with_switches(switches), again=again)

    others = {
        name: tuple(each for each in RECOVERY_NAMES if each != name) for name in RECOVERY_NAMES
    }
    found = {
        NONE: arm(),
        ALL: arm(*RECOVERY_NAMES),
        **{
            f"only-{name}": arm(name, *_RESTS_ON.get(name, ()))
            for name in RECOVERY_NAMES
            if name != "ask"
        },
        HINT_ONLY: arm("ask"),
        **{f"without-{name}": arm(*kept) for name, kept in others.items()},
        SCALING: arm(again=True),
    }
    return {f"{RECOVER}{name}": each for name, each in found.items()}


RECOVERY_ARMS: Mapping[str, Arm] = _recovery_arms()
"""The arms of the hazard suite. All guards and features are on in each; they differ in recovery alone, and `scaling`
has none of it and a second run."""

_NOTHING = "nothing"


def coalition_name(switches: frozenset[str]) -> str:
    """Return the name of the arm with exactly these switches on: they, joined by "+" in the order of `ALL_SWITCHES`."""
    return "+".join(name for name in ALL_SWITCHES if name in switches) or _NOTHING


def with_rules(name: str, rules: Sequence[str]) -> str:
    """Return the name of an arm with guards of the user's own beside it, as in ``all+package.module:RULE``."""
    return "+".join((name, *rules))


def rules_of(name: str) -> tuple[str, ...]:
    """Return the places of the user's own guards that the name of an arm holds."""
    return tuple(word for word in name.split("+") if ":" in word)


def arm_of(name: str) -> Arm:
    """Return an arm by name.

    It is one of `ARMS` or `RECOVERY_ARMS`, or exactly the switches that the name joins by "+", or no guards and one
    call dropped, as in ``dropped-3``; or any of these and guards of the user's own, as `with_rules` names it.

    Raises:
        UnknownNameError: it is none of these.
    """
    if rules := rules_of(name):
        base = "+".join(word for word in name.split("+") if ":" not in word)
        return replace(arm_of(base), kind=ArmKind.OWN, rules=rules)
    found = ARMS.get(name) or RECOVERY_ARMS.get(name)
    if found is not None:
        return found
    beginning, _, number = name.partition("-")
    if beginning == DROPPED and number.isdecimal():
        return Arm(kind=ArmKind.CONTROL, config=GuardConfig.none(), drops=int(number))
    names = [] if name == _NOTHING else name.split("+")
    unknown = sorted(set(names) - set(ALL_SWITCHES))
    if unknown:
        raise UnknownNameError(
            f"there is no arm {name!r}; see `bench list arms`, or join switches by '+': {', '.join(ALL_SWITCHES)}"
        )
    return Arm(kind=ArmKind.COALITION, config=_exactly(*names))
