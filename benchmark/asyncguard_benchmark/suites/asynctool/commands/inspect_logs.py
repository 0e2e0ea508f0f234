"""``bench inspect-logs``: the episodes in logs of Inspect, as a file that every other command reads."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.output import notice, print_json
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import Journal


class InspectMissingError(BenchmarkError):
    """The extra of this command is not installed."""


class LogError(BenchmarkError):
    """A log of Inspect cannot be read, or holds no episode."""


def execute(options: Namespace) -> int:
    """Run the command."""
    read_log, episode_in, key = _inspect()
    added = known = 0
    unsolved: list[str] = []
    with Journal(options.out) as journal:
        for path, sample in _samples(options.logs, read_log):
            name = f"{path}: sample {sample.id}, epoch {sample.epoch}"
            if sample.error is not None or key not in sample.store:
                unsolved.append(name)
                continue
            episode = episode_in(sample.store[key], name)
            if key_of_episode(episode) in journal.keys:
                known += 1
                continue
            journal.add(episode)
            added += 1
    for name in unsolved:
        notice(f"left out: {name} ended in an error or holds no episode")
    if not added and not known:
        raise LogError(
            f"{', '.join(map(str, options.logs))}: no sample holds an episode; only the solvers "
            "asyncguard_benchmark/unguarded and asyncguard_benchmark/guarded leave one"
        )
    if options.json:
        counts = {"added": added, "known": known, "left_out": len(unsolved)}
        print_json({"file": str(options.out), **counts})
    else:
        notice(f"{added} episodes added to {options.out}; {known} were in it")
    return 0


def _samples(logs: list[Path], read_log: Any) -> Iterator[tuple[Path, Any]]:
    for path in logs:
        try:
            found = read_log(str(path)).samples or ()
        except Exception as problem:  # whatever its reader meets in a file of any kind
            raise LogError(
                f"{path} is not a log of Inspect: {type(problem).__name__}: {problem}"
            ) from problem
        for sample in found:
            yield path, sample


def _inspect() -> tuple[Any, Any, str]:
    try:
        import inspect_ai.log  # noqa: PLC0415 - an extra
    except ImportError as problem:
        raise InspectMissingError(
            "inspect-ai is not installed: pip install 'asyncguard[inspect]'"
        ) from problem
    from asyncguard_benchmark.harness.inspect_bridge.solvers import (  # noqa: PLC0415 - needs the extra
        EPISODE,
        episode_in,
    )

    return inspect_ai.log.read_eval_log, episode_in, EPISODE
