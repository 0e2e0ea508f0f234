"""``bench missions provenance``: what the guard says of gold values and of invented ones in their places."""

from argparse import Namespace
from collections.abc import Iterator

from asyncguard import ToolSpec
from asyncguard_benchmark.commands.output import with_progress
from asyncguard_benchmark.commands.provenance import say_provenance
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.provenance import Judged, Telling, judged_call
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
    Split,
    bundles,
)
from asyncguard_benchmark.suites.missions.bundled.history import today_of


class NoSuchDomainError(BenchmarkError):
    """The suite has no domain of this name in the split."""


def execute(options: Namespace) -> int:
    """Run the command."""
    split = Split.HELD_OUT if options.held_out else Split.DEVELOPMENT
    known = {each.domain: each for each in bundles() if each.split is split}
    names = options.domains or tuple(known)
    if unknown := [name for name in names if name not in known]:
        raise NoSuchDomainError(
            f"--domains {unknown[0]!r}: the {split.value} domains are {', '.join(known)}"
        )
    todo = [(known[name], each) for name in names for each in known[name].dialogues]
    groups: dict[str, list[Judged]] = {name: [] for name in names}
    for bundle, dialogue in with_progress(todo, len(todo), what="dialogues"):
        groups[bundle.domain] += judged_dialogue(bundle, dialogue)
    say_provenance(groups, as_json=options.json)
    return 0


def judged_dialogue(bundle: Bundle, dialogue: BundledDialogue) -> Iterator[Judged]:
    """Yield the judged values of a dialogue: missions in turn, with all that was said and found before."""
    telling = Telling()
    telling.say(f"Current Date: {dialogue.time} {today_of(dialogue):%A}")
    specs = {
        name: ToolSpec(name=name, parameters=tool.parameters)
        for name, tool in bundle.tools_of(dialogue).items()
    }
    for number, mission in enumerate(dialogue.missions, 1):
        telling.say(mission.text)
        yield from _judged_mission(mission, specs, telling, f"{dialogue.id}.{number}")
        telling.answer(mission.summary)


def _judged_mission(
    mission: BundledMission, specs: dict[str, ToolSpec], telling: Telling, name: str
) -> Iterator[Judged]:
    """Yield the values of a mission whose calls are made as early as the gold allows."""
    steps: dict[int, int] = {}
    for number, node in enumerate(mission.nodes):
        steps[number] = 1 + max((steps[each] for each in node.needs), default=0)
    for step in sorted(set(steps.values())):
        nodes = [(n, mission.nodes[n]) for n in steps if steps[n] == step]
        for number, node in nodes:
            if node.name in specs:
                causes = {source.at: source.kind.value for source in node.sources}
                place = f"{name}.{number}"
                yield from judged_call(telling, specs[node.name], node.arguments, place, causes)
        for _, node in nodes:
            if node.name in specs:
                telling.find(node.observation)
                telling.make(node.arguments)
            elif node.reply is not None:
                telling.answer(str(node.observation))
                telling.say(node.reply)
