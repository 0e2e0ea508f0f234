"""``bench adapt mmtb`` and ``c3``: says what a download holds, judges result files, and plays its missions."""

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError
from asyncguard_benchmark.harness.ablation.design import EVERY_ARM
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.json_lines import Reading
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.commands.ablate import compare
from asyncguard_benchmark.suites.missions.commands.played import say, scored
from asyncguard_benchmark.suites.missions.commands.run import played_into
from asyncguard_benchmark.suites.missions.commands.score import (
    MOST_TOLD,
    UnscorableError,
    score_published,
)
from asyncguard_benchmark.suites.missions.commands.selection import NothingToPlayError
from asyncguard_benchmark.suites.missions.dialogues import Dialogue, History
from asyncguard_benchmark.suites.missions.foreign.download import Download
from asyncguard_benchmark.suites.missions.foreign.golds import results_of
from asyncguard_benchmark.suites.missions.official import (
    OFFICIAL,
    counts,
    differing_counts,
)
from asyncguard_benchmark.suites.missions.played_rows import is_played
from asyncguard_benchmark.suites.missions.playing.foreign_shelf import DownloadShelves, unplayable
from asyncguard_benchmark.suites.missions.playing.grid import ASK_HINT, Grid
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations


class NothingAskedError(BenchmarkError):
    """Say what to do: --check, --rescore FILE, or --agents oracle,eager to play."""


class BrokenDownloadError(BenchmarkError):
    """Lines of the file cannot be used, or none can."""


def execute(options: Namespace) -> int:
    """Run the command."""
    download = Download.at(options.path, options.kind, options.language)
    reading = download.read()
    if options.check:
        return _check(options, download, reading)
    if not (options.rescore or options.agents):
        raise NothingAskedError(NothingAskedError.__doc__)
    _allowed(options, download, reading)
    if options.rescore:
        return _rescore(options, reading.found)
    return _play(options, download, reading.found)


def _check(options: Namespace, download: Download, reading: Reading[Dialogue]) -> int:
    found, differing = counts(reading.found), differing_counts(reading.found)
    problems, warnings = list(map(str, reading.problems)), list(reading.warnings)
    warnings += filter(None, map(unplayable, reading.found))
    if options.json:
        print_json(
            {
                "file": str(download.path),
                "sha256": download.sha256,
                "language": download.language,
                "dialogues": len(reading.found),
                "counts": found,
                "published": dict(OFFICIAL),
                "differing": differing,
                "problems": problems,
                "warnings": warnings,
            }
        )
    else:
        lines = [
            (name, str(count), str(OFFICIAL[name]), "" if count == OFFICIAL[name] else "differs")
            for name, count in found.items()
        ]
        title = f"{len(reading.found)} dialogues, {download.path}"
        out = console()
        out.print(table(("what", "found", "published", ""), lines, title=title))
        for each in problems:
            out.print(f"problem: {each}", markup=False)
        for each in warnings:
            out.print(f"warning: {each}", markup=False)
        out.print(f"{len(problems)} problems, {len(warnings)} warnings")
    if differing:
        notice(f"{len(differing)} counts are not the published ones: {'; '.join(differing)}")
    return int(bool(problems) and not options.partial)


def _allowed(options: Namespace, download: Download, reading: Reading[Dialogue]) -> None:
    """Tell of what is left out, or refuse to leave it out."""
    told = list(map(str, reading.problems[:MOST_TOLD]))
    if len(reading.problems) > MOST_TOLD:
        told.append(f"... and {len(reading.problems) - MOST_TOLD} more")
    if told and not options.partial:
        raise BrokenDownloadError(
            "\n  ".join([f"{len(reading.problems)} problems in {download.path}:", *told])
            + "\n--check lists all; --partial goes on with the dialogues that can be read"
        )
    for each in told:
        notice(f"left out: {each}")
    if not reading.found:
        raise BrokenDownloadError(f"{download.path} holds no dialogue that can be read")


def _rescore(options: Namespace, dialogues: Sequence[Dialogue]) -> int:
    for path in (*options.rescore, *(options.trajectories or ())):
        if is_played(path):
            raise UnscorableError(
                f"{path} was written by this benchmark: asyncguard bench missions score {path}"
            )
    return score_published(options, options.rescore, partial(results_of, dialogues=dialogues))


def _play(options: Namespace, download: Download, dialogues: Sequence[Dialogue]) -> int:
    arms = options.arms or (EVERY_ARM if options.ablate else ("none", "all"))
    for arm in arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
        elif options.ablate:
            raise UnknownNameError(f"{ASK_HINT} has no guards to compare: play it without --ablate")
    unfit = {each.id: why for each in dialogues if (why := unplayable(each)) is not None}
    if unfit and not options.partial:
        told = "\n  ".join([f"{len(unfit)} dialogues:", *[*unfit.values()][:MOST_TOLD]])
        raise BrokenDownloadError(f"{told}\n--partial plays the others")
    for each in unfit.values():
        notice(f"left out: {each}")
    playable = [each for each in dialogues if each.id not in unfit]
    cells = _grid(options, download, playable, arms).cells()
    if not cells:
        raise NothingToPlayError(
            f"{download.path} holds no mission of the challenges {', '.join(options.challenges)}"
        )
    if options.ablate:
        return compare(options, cells, options.ablate, f"{options.kind}, {download.sha256[:12]}")
    rows = played_into(options.out, cells, options)
    say(scored(rows, ("agent", "player", "arm", "regime")), options, [str(options.out)])
    return 0


def _grid(
    options: Namespace, download: Download, dialogues: Sequence[Dialogue], arms: Sequence[str]
) -> Grid:
    chosen = [
        each.id
        for each in dialogues
        if not options.patterns or "".join(each.pattern) in options.patterns
    ]
    if not chosen:
        raise NothingToPlayError(
            f"{download.path} holds no dialogue of the patterns {', '.join(options.patterns)}"
        )
    return Grid(
        dialogues=chosen,
        challenges=options.challenges,
        agents=options.agents,
        players=options.players,
        arms=arms,
        histories=[History(each) for each in options.histories],
        regimes=[Regime(each) for each in options.regimes],
        observations=Observations.RECORDED,
        seeds=range(options.repeats),
        play_on=options.play_on,
        download=DownloadShelves(download),
    )
