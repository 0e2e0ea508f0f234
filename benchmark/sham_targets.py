"""Calls of personas that the sham refuses, and their outcome: why refusals at random change the result at all.

Plays every second persona on a few compositions at `fixed1`: the features of the runtime without guards, and the sham,
at compliance 1 and 0. A refused call is wrong if it is none of the calls of its task's ground truth.

    python benchmark/sham_targets.py --compositions 6
"""

import argparse
from collections import Counter
from collections.abc import Iterator

from asyncguard_benchmark.commands.output import print_json, with_progress
from asyncguard_benchmark.harness.arms import FEATURES, SHAM
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.protocol.actions import CallAction, read_text
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.scoring.canonical import canonical
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import tools_of

_REFUSED = "was not run."


def main() -> None:
    """Play, and print the counts as JSON."""
    given = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    given.add_argument(
        "--compositions", type=int, default=6, help="of the suite main, evenly (default 6)"
    )
    whole = shipped_compositions()
    chosen = whole[7 :: len(whole) // given.parse_args().compositions]
    pairs = [(kind, each) for kind in registry().personas[::2] for each in chosen]
    counts: Counter[str] = Counter()
    for found in with_progress((_counted(kind, each) for kind, each in pairs), len(pairs), "runs"):
        counts += found
    print_json(dict(sorted(counts.items())))


def _counted(kind: str, composition: Composition) -> Counter[str]:
    bare = score(_episode(kind, composition, FEATURES, 1.0)).overall
    counts = Counter({"runs": 1})
    for compliance in (1.0, 0.0):
        sham = _episode(kind, composition, SHAM, compliance)
        solved = score(sham).overall
        change = "the same" if solved == bare else "gained" if solved else "lost"
        calls = list(_refused(sham))
        wrong = sum(not _is_right(composition, call) for call in calls)
        counts[f"compliance {compliance:g}: {change}"] += 1
        counts[f"compliance {compliance:g}: calls refused"] += len(calls)
        counts[f"compliance {compliance:g}: of them wrong"] += wrong
        counts[f"compliance {compliance:g}: gained, and a wrong call was refused"] += (
            change == "gained" and wrong > 0
        )
    return counts


def _episode(kind: str, composition: Composition, arm: str, compliance: float) -> Episode:
    agent = AgentSpec(kind=kind, settings={} if compliance == 1 else {"compliance": compliance})
    condition = Condition(agent=agent, player="graph", arm=arm)
    return play(Cell(composition=composition, condition=condition)).episode


def _refused(episode: Episode) -> Iterator[CallAction]:
    """Yield the calls that were refused; what cannot be read as a call reaches no guard."""
    for said, heard in zip(episode.messages, episode.messages[1:], strict=False):
        if said["role"] == "assistant" and _REFUSED in str(heard["content"]):
            action = read_text(str(said["content"]), episode.composition.task_ids)
            if isinstance(action, CallAction):
                yield action


def _is_right(composition: Composition, call: CallAction) -> bool:
    task = next(each for each in composition.sub_tasks if each.id == call.task_id)
    tools = tools_of(task)
    gold = {canonical(each.tool, each.arguments, tools) for each in task.gold}
    return call.tool in tools and canonical(call.tool, call.arguments, tools) in gold


if __name__ == "__main__":
    main()
