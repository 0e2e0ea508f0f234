"""The arms of an experiment: which guards are on. An arm is a name and a configuration, and nothing else."""

from collections.abc import Mapping

from asyncguard.config import FEATURE_NAMES, GUARD_NAMES, GuardConfig

ALL = "all"
NONE = "none"


def _arms() -> dict[str, GuardConfig]:
    everything = GuardConfig()
    switches = (*GUARD_NAMES, *FEATURE_NAMES)
    return {
        ALL: everything,
        NONE: GuardConfig.none(),
        **{f"without-{name}": everything.with_switches({name: False}) for name in switches},
        # A guard on its own has what it rests on beside it: pending calls are read from the ledger, and somebody has to
        # wait for a call that is held back.
        **{
            f"only-{name}": GuardConfig.none(ledger=True, waiting=True).with_switches({name: True}) for name in switches
        },
    }


ARMS: Mapping[str, GuardConfig] = _arms()
"""Everything, nothing, each guard or feature left out, each alone with ledger and waiting."""

LEAVE_ONE_OUT: tuple[str, ...] = tuple(f"without-{name}" for name in (*GUARD_NAMES, *FEATURE_NAMES))
ONE_IN: tuple[str, ...] = tuple(f"only-{name}" for name in GUARD_NAMES)
