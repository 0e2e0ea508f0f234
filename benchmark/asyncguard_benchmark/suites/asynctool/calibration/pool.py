"""Everything that was played in a calibration, in a file that survives being killed."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncguard_benchmark.harness.episode import digest_of
from asyncguard_benchmark.harness.processes import worker_pool
from asyncguard_benchmark.harness.scenario import Composition, Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import Rates
from asyncguard_benchmark.suites.asynctool.calibration.figures import Figures, Troupe
from asyncguard_benchmark.suites.asynctool.calibration.rehearsal import stages_of


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One set of rates to be played on all compositions."""

    rates: Rates
    regime: Regime = Regime.FIXED1
    seed: int = 0

    @property
    def key(self) -> str:
        """Return the name of the trial in a file."""
        return json.dumps([self.rates.to_json(), self.regime.value, self.seed], sort_keys=True)


def digest_of_corpus(compositions: Sequence[Composition]) -> str:
    """Return the name of a set of compositions; sets that differ have different names."""
    text = "\n".join(digest_of(each) for each in compositions)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Pool:
    """Pool of processes that play trials, each trial once for ever."""

    def __init__(self, compositions: Sequence[Composition], file: Path | None, jobs: int) -> None:
        self.digest = digest_of_corpus(compositions)
        self._file = file
        self._known: dict[str, Figures] = (
            dict(_read(file, self.digest)) if file is not None and file.exists() else {}
        )
        self._executor = worker_pool(jobs, _prepare, tuple(compositions))

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    @property
    def known(self) -> int:
        """Return the number of trials that have been played, in this run or an earlier one."""
        return len(self._known)

    def play(self, trials: Sequence[Trial]) -> Iterator[Figures]:
        """Yield the figures of trials, in their order; those that are in the file already are read off."""
        missing = list({each.key: each for each in trials if each.key not in self._known}.values())
        playing = {each.key: self._executor.submit(_play, each) for each in missing}
        for trial in trials:
            if trial.key not in self._known:
                self._keep(trial.key, playing[trial.key].result())
            yield self._known[trial.key]

    def _keep(self, key: str, figures: Figures) -> None:
        self._known[key] = figures
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as out:
                out.write(
                    json.dumps({"corpus": self.digest, "trial": key, "figures": dict(figures)})
                    + "\n"
                )


def _read(file: Path, digest: str) -> Iterator[tuple[str, Figures]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # the end of a line that a killed run did not finish; it is played again
        if value["corpus"] == digest:
            yield value["trial"], value["figures"]


_troupes: list[Troupe] = []
"""The worker's compositions, prepared once in each process."""


def _prepare(compositions: Sequence[Composition]) -> None:
    _troupes[:] = [Troupe(stages_of(compositions))]


def _play(trial: Trial) -> Figures:
    return _troupes[0].figures(trial.rates, trial.regime, trial.seed)
